"""Fill the marked spots of docs/what-we-learned.md with numbers from the stored results.

python tools/learned.py

A spot is a phrase between two comments: <!-- run: name -->the phrase<!-- end -->.  Its words are
below, so that no number of our own runs is typed by hand.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from softlabel.papers import PAPERS
from softlabel.papers.claims.claims import count, judge
from softlabel.papers.claims.papers import find
from softlabel.papers.claims.results import Results, read_shipped
from softlabel.papers.claims.tuning import pick_settings
from softlabel.papers.collins2022.conditions import (
    BETAS,
    CLAMP_EACH,
    CLAMP_MEAN,
    HARD,
    LONG,
    SMOOTHING,
    SMOOTHING_ALL,
    UNIFORM,
    VOTES_EACH,
    VOTES_MEAN,
    Condition,
)
from softlabel.papers.collins2022.numbers import (
    PRINTED,
    T1_CLAMP,
    choose,
    printed_difference,
)
from softlabel.papers.singh2025.data import LABELS, PICTURES, POPQUORN, SETS
from softlabel.papers.singh2025.data import Condition as Condition25
from softlabel.papers.singh2025.numbers import subtract_constant
from softlabel.tables import Score

PAGE = Path(__file__).parent.parent / "docs" / "what-we-learned.md"
TEXTS = [name for name in SETS if name != PICTURES]
STRENGTH = re.compile(r"strength=([\d.]+)")
SPOT = re.compile(r"(<!-- run: ([\w-]+) -->)(.*?)(<!-- end -->)", re.DOTALL)


def short(value: float, digits: int) -> str:
    """Write a number as the page does: .683."""
    return f"{value:.{digits}f}".removeprefix("0").replace("-0.", "-.").replace("-", "−")


def with_half(score: Score | None) -> str:
    """Write the size of a difference and half of its interval: .283 ± .060.

    The words around it give its direction, which tests/papers/test_learned.py checks.
    """
    assert score is not None, "it was run"
    return f"{short(abs(score.value), 3)} ± {short(score.half, 3)}"


def means(results: Results, cells: Iterable[str | Condition], score: str, digits: int) -> list[str]:
    """Write the means of several cells."""
    every = [results.mean(cell, score) for cell in cells]
    return [short(one.value, digits) for one in every if one is not None]


# ── Collins et al. 2022 ──────────────────────────────────────────────────────────────────────

C22 = read_shipped("collins2022")
CPU, FEATURES, PAPER = C22["cpu"], C22["features"], C22["paper"]
T1_NONE, T2_NONE = Condition("t1-none", "each"), Condition("t2-none", "each")


def redistribution() -> str:
    pairs = (T1_NONE, T1_CLAMP), (T2_NONE, CLAMP_EACH)
    one, two = (with_half(CPU.difference(*pair, "10h/ce")) for pair in pairs)
    apart = [
        CPU.difference(*pair, "10h/ce") for pair in ((T1_NONE, T2_NONE), (T1_CLAMP, CLAMP_EACH))
    ]
    none, clamp = (short(score.value, 3) for score in apart if score is not None)
    printed = short(printed_difference(T1_CLAMP, CLAMP_EACH, "10h", "ce").value, 3)
    return (
        f"their cross-entropy is higher than that of T1-clamp and T2-clamp by {one} (T1) and {two} "
        f"(T2). Without redistribution, T1 and T2 differ by {none}; with clamp they differ by "
        f"{clamp}, and the printed difference is {printed}"
    )


def fresh_hard() -> str:
    hard, fresh, soft = means(CPU, (HARD, replace(HARD, fresh=True), CLAMP_EACH), "10h/ce", 2)
    return (
        f"lower the soft cross-entropy of hard labels from {hard} to {fresh} (3,000 images, 20 "
        f"epochs). Frozen crops with any soft label do not get that far (T2-clamp: {soft})"
    )


def _gain(soft: Condition, **how: object) -> str:
    soft, hard = (replace(one, **how) for one in (soft, HARD))  # type: ignore[arg-type]
    return with_half(CPU.difference(soft, hard, "10h/ce"))


def fresh_gains() -> str:
    rich, votes = (
        f"from {_gain(one)} to {_gain(one, fresh=True)}" for one in (CLAMP_EACH, VOTES_EACH)
    )
    return (
        f"Fresh crops cut T2-clamp's gain over hard labels {rich}, and that of CIFAR-10H votes "
        f"{votes}"
    )


def fresh_long() -> str:
    (hard,) = means(CPU, [replace(HARD, fresh=True, epochs=LONG)], "10h/ce", 2)
    rich, votes = (_gain(one, fresh=True, epochs=LONG) for one in (CLAMP_EACH, VOTES_EACH))
    return (
        f"hard labels have become overconfident ({hard}), and soft labels gain {rich} and {votes}"
    )


def frozen_long() -> str:
    (hard,) = means(CPU, [replace(HARD, epochs=LONG)], "10h/ce", 2)
    rich, votes = (_gain(one, epochs=LONG) for one in (CLAMP_EACH, VOTES_EACH))
    return (
        f"With frozen crops for 65 epochs hard labels reach {hard}, and soft labels gain {rich} "
        f"and {votes}"
    )


def early_end() -> str:
    both = replace(HARD, fresh=True), replace(CLAMP_EACH, fresh=True, epochs=LONG)
    early, late = means(CPU, both, "10h/ce", 2)
    less, more = means(CPU, both, "10h/accuracy", 3)
    return (
        f"hard labels trained for 20 epochs ({early}) are as close to people as soft labels "
        f"trained for 65 ({late}), though less accurate ({less} against {more})"
    )


def same_time() -> str:
    ahead = []
    for scale in ("cpu", "features"):
        for claim in find("collins2022").claims(scale):
            if claim.where == "figure 10" and not claim.reason:
                score = claim.ours(C22[scale])
                assert score is not None, "it was run"
                ahead.append((score.high < 0) - (score.low > 0))
    return (
        f"votes are significantly better in {ahead.count(1)} of {len(ahead)} comparisons, rich "
        f"answers in {ahead.count(-1)}"
    )


def softness() -> str:
    cells = UNIFORM, CLAMP_MEAN, HARD
    uniform, people, hard = means(CPU, cells, "10s/ce", 2)
    features = "{}, {} and {}".format(*means(FEATURES, cells, "10s/ce", 2))
    return (
        f"is {uniform} with uniform labels, {people} with people's T2-clamp labels (aggregated) "
        f"and {hard} with hard labels; with frozen features it is {features}"
    )


def softness_10h() -> str:
    small, frozen = (one.difference(UNIFORM, CLAMP_MEAN, "10h/ce") for one in (CPU, FEATURES))
    return (
        f"by {with_interval(frozen, 2)} with frozen features and by {with_interval(small, 2)} with "
        "the small network"
    )


def paper_network() -> str:
    """Write each network's losses beside the printed ones, and how far hard labels are behind."""
    cells = HARD, VOTES_EACH, CLAMP_EACH, VOTES_MEAN, CLAMP_MEAN
    words = "hard labels", "votes", "T2-clamp labels", "aggregated votes", "aggregated T2-clamp"
    sentences = []
    for network, called in (("resnet34a", "ResNet-34A"), ("vgg11", "VGG-11")):
        own = {one: replace(one, network=network) for one in cells}
        known = [(one, said) for one, said in zip(cells, words, strict=True) if _runs(own[one])]
        numbers = means(PAPER, (own[one] for one, _ in known), "10h/ce", 3)
        each = [
            f"{number} with {said} ({_runs(own[one])} run{'s' * (_runs(own[one]) > 1)})"
            for number, (one, said) in zip(numbers, known, strict=True)
        ]
        behind = [
            f"{with_interval(gap, 2)} nats farther from people than {said}"
            for one, said in known
            if _runs(own[one]) > 1
            and one != HARD
            and (gap := PAPER.difference(own[HARD], own[one], "10h/ce"))
        ]
        sentences.append(f"{called}: {_list(each)}; hard labels are {_list(behind)}")
    printed = _list([f"{PRINTED[one, '10h', 'ce'].value:.3f}" for one in cells])
    return f"{'. '.join(sentences)}. Printed, as means of three networks: {printed}"


def _runs(cell: Condition) -> int:
    return len(PAPER.of_cell(cell))


def smoothing() -> str:
    fixed, betas, ahead, votes = [], [], [], []
    for results in (CPU, FEATURES):
        beta = choose(results, BETAS)
        gap = results.difference(SMOOTHING, CLAMP_EACH, "10h/ce")
        assert beta is not None, "it was run"
        assert gap is not None, "it was run"
        tuned = BETAS[beta.value]
        betas.append(short(beta.value, 1))
        fixed.append(short(gap.value, 3))
        ahead.append(with_half(results.difference(CLAMP_EACH, tuned, "10h/ce")))
        votes.append(with_half(results.difference(VOTES_EACH, tuned, "10h/ce")))
    return (
        f"With the printed β = .05 it is {fixed[0]} worse than T2-clamp labels (de-aggregated; "
        f"soft cross-entropy, 3,000 images; frozen features: {fixed[1]}). Our validation images "
        f"choose β = {betas[0]} (frozen features: {betas[1]}). With it, smoothing is {ahead[0]} "
        f"better (frozen features: {ahead[1]} worse) and better calibrated. Votes of CIFAR-10H are "
        f"{votes[0]} and {votes[1]} worse than it"
    )


# ── Uma et al. 2020 ──────────────────────────────────────────────────────────────────────────

U20 = read_shipped("uma2020")["paper"]


def labelme() -> str:
    (own,) = means(U20, ["labelme/softmax"], "cross-entropy", 2)
    names = ("shares", "crowd-layer-batches", "majority", "dawid-skene", "softmax")
    ways = (f"labelme/{way}" for way in names)
    shares, crowd, majority, skene, soft = means(U20, ways, "share/cross-entropy", 2)
    return (
        f"it scores {own} nats, and no other method comes close. By the plain shares of the same "
        f"votes, learning from shares ({shares}) and the crowd layer ({crowd}) are closest to "
        f"people, hard labels of the majority ({majority}) and of Dawid and Skene ({skene}) "
        f"follow, and the soft loss is far behind ({soft})"
    )


def pos() -> str:
    claims = [one for one in find("uma2020").claims("paper") if one.kind == "ordering"]
    orders = [one for one in claims if "POS" in one.where]
    counted = count(judge(one, U20) for one in orders)
    others = [(counted[one], one) for one in ("smaller", "undecided", "contradicted")]
    rest = "".join(f", {n} {'is' if n == 1 else 'are'} {one}" for n, one in others if n)
    (near,) = means(U20, ["pos/softmax"], "cross-entropy", 2)
    (unsure,) = means(U20, ["pos/softmax"], "entropy-pearson", 2)
    return (
        f"{counted['holds']} of the {len(orders)} orderings of Tables 2 and 3 hold{rest}: the soft "
        f"loss is closest to people ({near}), and unsure where they are ({unsure})"
    )


def pos_shares() -> str:
    ways = (f"pos/{way}" for way in ("shares", "crowd-layer", "softmax"))
    shares, crowd, soft = means(U20, ways, "share/cross-entropy", 2)
    first = f"learning from shares ({shares})"
    return f"{first}, then the crowd layer ({crowd}), then the soft loss ({soft})"


# ── Singh et al. 2025 ────────────────────────────────────────────────────────────────────────


def best_epoch() -> str:
    drops: list[tuple[str, int, int]] = []
    paper = find("singh2025")
    for scale, results in read_shipped("singh2025").items():
        for table in paper.tables(results) if scale != "paper" else []:  # type: ignore[attr-defined]
            if table.title.startswith("KL to people at the last"):
                for row in table.rows:
                    last, best = (int(cell.strip("%")) for cell in row[-2:])
                    drops.append((row[0], last, best))
    last, best = ([drop[place] for drop in drops] for place in (1, 2))
    inference = max(drop[2] for drop in drops if drop[0].startswith("chaosnli"))
    return (
        f"a drop of {min(last)} to {max(last)} % becomes one of {min(best)} to {max(best)} %, and "
        f"on ChaosNLI at most {inference} %"
    )


def early_epochs() -> str:
    """Say which sets the two models already differ in after three epochs, by over a tenth."""
    apart: dict[str, list[str]] = {}
    for scale in ("cpu", "features"):
        results = {str(key): some for key, some in read_shipped("singh2025").items()}[scale]
        for name in SETS:
            pair = (Condition25(name, way) for way in ("hard", "soft"))
            hard, soft = (results.mean(one, "held kl@3") for one in pair)
            assert hard is not None, "it was run"
            assert soft is not None, "it was run"
            if soft.value < 0.9 * hard.value:
                part = name.partition("/")[2] or name
                apart.setdefault(scale, []).append(
                    f"{part} ({short(soft.value, 2)} against {short(hard.value, 2)})"
                )
    return (
        "the model with soft labels is nearer to people by more than a tenth of KL on "
        f"{_list(apart['cpu'])} with the small network, and on {_list(apart['features'])} with "
        "frozen features; on the other sets the two are almost equally far"
    )


# ── Gheibi & Ghazizadeh 2026 ─────────────────────────────────────────────────────────────────

G26 = read_shipped("gheibi2026")
NLL = "10h/cross-entropy"


def flat() -> str:
    cells = ("all/shuffled", "all/soft", "all/sls", "all/multipass")
    shuffled, soft, sls, multipass = means(G26["cpu"], cells, "flat/lambda-max", 0)
    traces = means(G26["cpu"], cells[:2], "flat/trace", 0)
    return (
        f"largest eigenvalue {shuffled} against {soft} after soft training, trace {traces[0]} "
        f"against {traces[1]}). Single votes do give flatter networks, as claimed (SLS {sls}, "
        f"multipass {multipass})"
    )


def flat_far() -> str:
    cells = "k5/sls", "all/soft"
    flatter, soft = means(G26["cpu"], cells, "flat/lambda-max", 0)
    far, near = means(G26["cpu"], cells, NLL, 2)
    return (
        f"five single votes per image give a flatter network ({flatter}) than the soft labels of "
        f"all votes ({soft}), and one that is farther from people (soft NLL {far} against {near})"
    )


def few_votes() -> str:
    gains = {
        (k, way): G26["cpu"].difference(f"k{k}/soft", f"k{k}/{way}", NLL)
        for k in (5, 10, 50)
        for way in ("sls", "multipass", "control")
    }
    values = {key: gain.value for key, gain in gains.items() if gain is not None}
    few = [value for (k, way), value in values.items() if k < 50 and way != "sls"]
    drawn = " and ".join(with_interval(gains[k, "sls"]) for k in (5, 10))
    return (
        f"with 5 and with 10 votes, those in turn and the control are better than soft labels (by "
        f"{short(min(few), 3)} to {short(max(few), 3)}), and those drawn anew by {drawn}; with 50 "
        f"votes none is, and multipass is {short(-values[50, 'multipass'], 3)} worse"
    )


def stale() -> str:
    cells = (f"all/{way}" for way in ("sls", "stale-5", "stale-10", "stale-50", "majority"))
    every, five, ten, once, majority = means(G26["cpu"], cells, NLL, 2)
    return (
        f"give a soft NLL of {every}, every five epochs {five}, every ten {ten}, and once for the "
        f"whole run {once}, which equals that of majority votes ({majority})"
    )


def _lengths(scale: str) -> tuple[list[str], list[str]]:
    ways = ("soft", "sls", "multipass")
    results = {str(key): some for key, some in G26.items()}[scale]
    short_run, long_run = ([f"{start}/{way}" for way in ways] for start in ("all", "all-64"))
    return means(results, short_run, NLL, 3), means(results, long_run, NLL, 3)


def length_features() -> str:
    (soft, sls, multipass), later = _lengths("features")
    return (
        f"is {soft} (soft), {sls} (SLS) and {multipass} (multipass) after 20 epochs, and "
        f"{later[0]}, {later[1]} and {later[2]} after 64"
    )


def length_cpu() -> str:
    first, later = ("{}, {} and {}".format(*some) for some in _lengths("cpu"))
    return f"is {first} after 20 epochs, which is no difference, and {later} after 64"


# ── every arm tuned alike ────────────────────────────────────────────────────────────────────


def _both(paper: str, scale: str = "features") -> tuple[Results, Results]:
    """Return the results at a scale, untuned and of the settings that were chosen."""
    stored: dict[str, Results] = {**read_shipped(paper)}
    return stored[scale], pick_settings(stored[f"{scale}-tuned"])[0]


def with_interval(score: Score | None, digits: int = 3) -> str:
    """Write a difference with its interval: .021 [.013, .030]."""
    assert score is not None, "it was run"
    value, low, high = (short(x, digits) for x in (score.value, score.low, score.high))
    return f"{value} [{low}, {high}]"


def tuned_c22() -> str:
    parts = []
    for scale in ("features", "cpu"):
        untuned, tuned = _both("collins2022", scale)
        gaps = [some.difference(HARD, CLAMP_EACH, "10h/ce") for some in (untuned, tuned)]
        gaps += [tuned.difference(one, CLAMP_EACH, "10h/ce") for one in (SMOOTHING_ALL, VOTES_EACH)]
        parts.append([with_interval(gap) for gap in gaps])
    (before, after, smoothing, votes), small = parts
    return (
        f"hard labels are {before} nats farther from people than de-aggregated T2-clamp labels, "
        f"and {after} when both are tuned; tuned smoothing of all images is {smoothing} farther, "
        f"and de-aggregated votes are {votes} farther (3,000 images, frozen features). With the "
        f"small network these are {small[0]}, {small[1]}, {small[2]} and {small[3]}"
    )


def tuned_u20() -> str:
    parts = []
    pair = "cifar10h/gold", "cifar10h/shares"
    for scale in ("features", "cpu"):
        both = _both("uma2020", scale)
        losses = [with_interval(some.difference(*pair, "cross-entropy")) for some in both]
        parts.append([*losses, with_interval(both[1].difference(pair[1], pair[0], "accuracy"))])
    (before, after, right), small = parts
    return (
        f"true classes are {before} nats farther from people than shares of the votes, and {after} "
        f"when both are tuned; shares are more accurate by {right} (frozen features). With the "
        f"small network these are {small[0]}, {small[1]} and {small[2]}"
    )


def tuned_s25() -> str:
    drops = []
    for scale in ("features", "cpu"):
        for results in _both("singh2025", scale):
            pairs = [
                [results.mean(Condition25(one, way), "kl") for way in ("hard", "soft")]
                for one in SETS
            ]
            each = [1 - soft.value / hard.value for hard, soft in pairs if hard and soft]
            drops.append(f"{100 * sum(each) / len(each):.0f} %")
    return (
        f"the mean drop of KL over six sets is {drops[0]} untuned and {drops[1]} tuned (frozen "
        f"features); with the small network, {drops[2]} and {drops[3]}"
    )


def constants() -> str:
    """Say where a tuned model of texts is nearer to people than the constant."""
    near: dict[str, list[str]] = {}
    for scale in ("features-tuned", "cpu-tuned"):
        results = pick_settings(read_shipped("singh2025")[scale])[0]
        for labels in LABELS:
            words = near[f"{scale} {labels}"] = []
            for name in TEXTS:
                one = subtract_constant(Condition25(name, labels), results)
                if one is not None and one.high < 0:
                    gain = with_interval(Score(-one.value, -one.high, -one.low, one.n))
                    words.append(f"{name} by {gain}")
    soft, hard, small_soft, small_hard = (
        _list(near[f"{scale} {labels}"])
        for scale in ("features-tuned", "cpu-tuned")
        for labels in ("soft", "hard")
    )
    return (
        f"a head on MiniLM features is nearer to people than the constant on {soft} nats (soft "
        f"labels), and on {hard} (hard labels); the small network on {small_soft} (soft labels) "
        f"and {small_hard} (hard labels), and on no other set"
    )


def _list(words: Sequence[str]) -> str:
    *most, last = words or ["no set"]
    return f"{', '.join(most)} and {last}" if most else last


def tuned_g26() -> str:
    gaps = []
    for scale in ("features", "cpu"):
        for some in _both("gheibi2026", scale):
            gaps.append(with_interval(some.difference("k5/soft", "k5/sls", NLL)))
    return (
        f"with five votes per image soft labels are {gaps[0]} nats farther from people than single "
        f"votes drawn anew, and {gaps[1]} when both are tuned (frozen features). With the small "
        f"network these are {gaps[2]} and {gaps[3]}"
    )


def tuned_popquorn() -> str:
    """Write what soft labels of texts with few ratings still gain where both arms are tuned."""
    gains: dict[str, str] = {}
    for scale in ("features", "cpu"):
        tuned = _both("singh2025", scale)[1]
        each = []
        for name in POPQUORN:
            gap = tuned.difference(*(Condition25(name, way) for way in ("hard", "soft")), "kl")
            each.append(f"{with_interval(gap)} ({name.partition('/')[2]})")
        gains[scale] = " and ".join(each)
    return f"by {gains['features']} nats on frozen features and by {gains['cpu']} from scratch"


def tuned_turns() -> str:
    """Write what single votes gain over soft labels of five votes where all are tuned."""
    turns, drawn = (
        [_both("gheibi2026", scale)[1].difference("k5/soft", f"k5/{way}", NLL)
         for scale in ("features", "cpu")]
        for way in ("multipass", "sls")
    )  # fmt: skip
    fine = _fine_tuned("gheibi2026").difference("k5/soft", "k5/sls", NLL)
    return (
        f"those in turn are nearer by {with_interval(turns[0])} nats on frozen features and by "
        f"{with_interval(turns[1])} with the small network, and those drawn anew by "
        f"{with_interval(drawn[0])}, {with_interval(drawn[1])} and, where the network of the "
        f"features is trained further, {with_interval(fine)}"
    )


def edges() -> str:
    """Count the arms whose strength or weight decay is the smallest or largest that was tried."""
    strengths: Counter[str] = Counter()
    for scale in ("cpu-tuned", "features-tuned"):
        results = {str(key): some for key, some in C22.items()}[scale]
        tried = sorted({float(one[1]) for cell in results.cells if (one := STRENGTH.search(cell))})
        for setting in pick_settings(results)[1].values():
            if one := STRENGTH.search(setting):
                place = {tried[0]: "smallest", tried[-1]: "largest"}.get(float(one[1]), "inner")
                strengths[place] += 1
    outside = 0
    for scale in ("cpu-tuned", "features-tuned"):
        decays, chosen = count_decays(scale, texts=True)
        outside += chosen[decays[0]] + chosen[decays[-1]]
    arms = sum(strengths.values())
    least, most = strengths["smallest"], strengths["largest"]
    return (
        f"By that measure {outside} arms on texts are not tuned in their weight decay. Of the "
        f"{arms} arms with a strength of their own (β or γ from {_decay(tried[0])} to "
        f"{_decay(tried[-1])}) {least} chose the smallest and {most} the largest"
    )


def chosen_decays() -> str:
    parts = []
    for scale, network in (("cpu-tuned", "small network"), ("features-tuned", "frozen features")):
        for kind in ("pictures", "texts"):
            tried, chosen = count_decays(scale, kind == "texts")
            arms = ", ".join(
                f"{_decay(value)} by {number} arm{'s' * (number > 1)}"
                for value, number in sorted(chosen.items())
            )
            parts.append(f"{network}, {kind}: {arms} (tried: {', '.join(map(_decay, tried))})")
    return "; ".join(parts)


def count_decays(scale: str, texts: bool) -> tuple[list[float], Counter[float]]:
    """Return the weight decays that all arms of this scale tried, and how many arms chose each."""
    tried: set[float] = set()
    chosen: Counter[float] = Counter()
    for paper in PAPERS:
        stored: dict[str, Results] = {**read_shipped(paper)}
        for cell in stored[scale].cells:
            if cell.startswith(tuple(TEXTS)) == texts:
                tried.add(_read_decay(cell))
        for arm, setting in pick_settings(stored[scale])[1].items():
            if arm.startswith(tuple(TEXTS)) == texts:
                chosen[_read_decay(setting)] += 1
    return sorted(tried), chosen


def _read_decay(setting: str) -> float:
    return float(setting.rpartition("decay=")[2])


def _decay(value: float) -> str:
    return f"{value:g}".removeprefix("0")


def _fine_tuned(paper: str) -> Results:
    return pick_settings(read_shipped(paper)["fine-tuned"])[0]


def fine_tuned() -> str:
    c22, u20, s25, g26 = map(_fine_tuned, ("collins2022", "uma2020", "singh2025", "gheibi2026"))
    clamp, votes = (c22.difference(HARD, one, "10h/ce") for one in (CLAMP_EACH, VOTES_EACH))
    gold, shares = "cifar10h/gold", "cifar10h/shares"
    shares_gain = u20.difference(gold, shares, "cross-entropy")
    unsure = u20.difference(shares, gold, "entropy-pearson")
    kl = s25.difference(*(Condition25(PICTURES, way) for way in ("hard", "soft")), "kl")
    single = g26.difference("k5/sls", "k5/soft", NLL)
    runs = sorted({len(some.of_cell(cell)) for some in (c22, u20, s25, g26) for cell in some.cells})
    return (
        f"hard labels are {with_interval(clamp)} nats farther from people than de-aggregated "
        f"T2-clamp labels and {with_interval(votes)} farther than de-aggregated votes (Collins et "
        f"al.); true classes are {with_interval(shares_gain)} farther than shares of the votes "
        f"(Uma et al.), and majority labels {with_interval(kl)} farther (Singh et al.); with five "
        f"votes per image single votes drawn anew are {with_interval(single)} farther than soft "
        f"labels (Gheibi & Ghazizadeh, who find the opposite). Shares still teach where people are "
        f"unsure: the correlation of entropies is higher by {with_interval(unsure)} than with true "
        f"classes. There are "
        f"{' to '.join(map(str, dict.fromkeys((runs[0], runs[-1]))))} runs of each"
    )


def annotators() -> str:
    tuned = _both("singh2025")[1]
    parts = []
    for name in POPQUORN:
        known, anybody, constant = (
            short(one.value, 2)
            for score in ("nll", "nll-anybody", "nll-constant")
            if (one := tuned.mean(f"{name} annotators", f"rating/{score}"))
        )
        parts.append(
            f"{name.partition('/')[2]} {known} nats per rating with the annotator's offset, "
            f"{anybody} without knowing who rates, and {constant} with a constant"
        )
    return "; ".join(parts)


SPOTS: dict[str, Callable[[], str]] = {
    one.__name__.replace("_", "-"): one
    for one in (
        tuned_popquorn,
        tuned_turns,
        chosen_decays,
        edges,
        tuned_c22,
        tuned_u20,
        tuned_s25,
        tuned_g26,
        fine_tuned,
        redistribution,
        fresh_hard,
        fresh_gains,
        fresh_long,
        frozen_long,
        early_end,
        same_time,
        softness,
        softness_10h,
        paper_network,
        smoothing,
        labelme,
        pos,
        pos_shares,
        early_epochs,
        best_epoch,
        constants,
        annotators,
        flat,
        flat_far,
        few_votes,
        stale,
        length_features,
        length_cpu,
    )
}


def fill(text: str) -> str:
    """Return the page with all its spots filled."""
    return SPOT.sub(lambda spot: f"{spot[1]}{SPOTS[spot[2]]()}{spot[4]}", text)


if __name__ == "__main__":
    PAGE.write_text(fill(PAGE.read_text("utf-8")), "utf-8")
