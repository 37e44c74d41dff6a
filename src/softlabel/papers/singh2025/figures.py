"""What is measured on a finished run, and the tables and figures made of it: the paper's figures 2
to 5, and the table that its abstract sums up.  Figures 1 and 3 are also drawn from the data alone.

Scores are named here and read here; ``@`` stands before a rank, a bin or an epoch.  All are means
over the items held out, so that nothing is shown of a single item of a data set.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from softlabel import metrics
from softlabel.papers.claims import Figure, Published, Results, Table, show_score
from softlabel.papers.claims import figures as draw
from softlabel.papers.singh2025.data import LABELS, PICTURES, SETS, Condition, Labels, votes
from softlabel.papers.singh2025.numbers import PEARSON, SPEARMAN, drop
from softlabel.report import Line
from softlabel.tables import Floats
from softlabel.train import Run

SIDES = ("people", "model")
HIGH = 0.1  # the share of items, those with the highest entropy, that figure 5 is about
BINS = 10  # of normalised entropy, for figure 3
GROUPS = 10  # of items, by people's entropy
HELD = "held "  # prefix in the log of the scores on the items held out
WORDS, NOTES = draw.read_words(__file__)
DRAWN = ("curves", "entropies", "groups", "uncertain")  # with a panel for every set
ORDER = ("1st class", "2nd", "3rd")  # of people's classes, by their votes
WHOSE: tuple[tuple[str, Labels, str], ...] = (  # rows of figure 5: a cell, and whose scores of it
    ("people", "soft", "people"),
    ("soft", "soft", "model"),
    ("hard", "hard", "model"),
)
PRINTED_RIGHT: dict[Labels, float] = {"soft": 0.01, "hard": 0.08}  # of figure 2
COLUMNS = {"accuracy": "accuracy", "kl": "KL", PEARSON: "r", SPEARMAN: "rho"}


# ── scores ───────────────────────────────────────────────────────────────────────────────────


def score_run(run: Run) -> dict[str, float]:
    """Return all scores of a run by name."""
    people, model, _ = metrics.evaluate.matched(run.predictions, run.people)
    scores = score_items(people, model) | score_uncertain_items(people, model)
    scores |= score_entropies(people, model)
    for line in run.log:  # every epoch, if the run was watched
        epoch = int(line["epoch"]) + 1
        scores |= {f"{key}@{epoch}": float(x) for key, x in line.items() if key.startswith(HELD)}
    return scores


def score_items(people: Floats, model: Floats) -> dict[str, float]:
    """Return means over all items, and over those whose most probable class is the people's."""
    right = (metrics.mode(people, "first") * metrics.mode(model, "first")).sum(axis=1) > 0
    divergence = metrics.kl(people, model)
    return {
        "accuracy": float(metrics.accuracy(people, model).mean()),
        "kl": float(divergence.mean()),
        "cross-entropy": float(metrics.cross_entropy(people, model).mean()),
        "jsd": float(metrics.jsd(people, model).mean()),
        PEARSON: metrics.entropy_pearson(people, model),
        SPEARMAN: metrics.entropy_spearman(people, model),
        "right/kl": float(divergence[right].mean()) if right.any() else float("nan"),
    }


def score_uncertain_items(people: Floats, model: Floats) -> dict[str, float]:
    """Return KL on the tenth of items that people disagree on most, and the mean mass of the class
    that most people gave, of the second, and so on: ``people@1``, ``model@1``."""
    entropies = metrics.normalised_entropy(people)
    number = max(1, round(HIGH * len(entropies)))
    rows = np.argsort(-entropies, kind="stable")[:number]
    p, q = people[rows], model[rows]
    order = np.argsort(-p, axis=1, kind="stable")
    scores = {"high/kl": float(metrics.kl(p, q).mean()), "high/items": float(number)}
    for whose, probs in (("people", p), ("model", q)):
        mass = np.take_along_axis(probs, order, axis=1).mean(axis=0)
        scores |= {f"high/{whose}@{rank}": float(x) for rank, x in enumerate(mass, 1)}
    return scores


def score_entropies(people: Floats, model: Floats) -> dict[str, float]:
    """Return means of normalised entropies, the share of items in each of ten bins, and the means
    in ten groups of items, from those that people agree on most to those they agree on least."""
    entropies = {
        "people": metrics.normalised_entropy(people),
        "model": metrics.normalised_entropy(model),
    }
    groups = np.array_split(np.argsort(entropies["people"], kind="stable"), GROUPS)
    scores = {}
    for whose, values in entropies.items():
        share = np.histogram(np.clip(values, 0, 1), bins=BINS, range=(0, 1))[0] / len(values)
        means = {number: values[rows].mean() for number, rows in enumerate(groups) if len(rows)}
        scores[f"entropy/{whose}"] = float(values.mean())
        scores |= {f"entropy/{whose}@{number}": float(x) for number, x in enumerate(share)}
        scores |= {f"group/{whose}@{number}": float(x) for number, x in means.items()}
    return scores


def score_constant(taught: Floats, people: Floats) -> dict[str, float]:
    """Return the scores of a model that predicts the training items' mean label for every item:
    what can be had without reading."""
    same = np.tile(taught.mean(axis=0), (len(people), 1))
    return {
        "constant/kl": float(metrics.kl(people, same).mean()),
        "constant/accuracy": float(metrics.accuracy(people, same).mean()),
    }


# ── tables ───────────────────────────────────────────────────────────────────────────────────


def tables(results: Results) -> list[Table]:
    """Return both trainings on each set, KL by epoch, and the items people disagree on."""
    sets = _sets_run(results)
    return [_main(results, sets), _best_epoch(results, sets), _uncertain(results, sets)]


def _sets_run(results: Results) -> list[str]:
    return [name for name in SETS if Condition(name, "soft").name in results.cells]


def _main(results: Results, sets: Sequence[str]) -> Table:
    rows: list[tuple[str, ...]] = []
    for name in sets:
        for labels in LABELS:
            cell = Condition(name, labels).name
            scores = (show_score(results.mean(cell, score)) for score in COLUMNS)
            gains = _gains(results, name) if labels == "soft" else ""
            rows.append((name, labels, str(len(results.values(cell, "kl"))), *scores, gains))
        soft = Condition(name, "soft").name
        constant = (results.values(soft, f"constant/{score}") for score in ("accuracy", "kl"))
        means = (f"{values.mean():.3f}" if len(values) else "–" for values in constant)
        rows.append((name, "constant", "", *means, "–", "–", ""))
    return Table(
        "Hard and soft labels on the sets of Singh et al.",
        ("set", "labels", "runs", *COLUMNS.values(), "KL drop, r gain"),
        rows,
        NOTES["main"],
    )


def _gains(results: Results, name: str) -> str:
    """Show the drop of KL and, where hard labels are clearly above 0, the gain of the mean
    correlation, both relative to hard."""
    cells = [Condition(name, labels).name for labels in ("soft", "hard")]
    divergences = [results.values(cell, "kl") for cell in cells]
    if not all(map(len, divergences)):
        return "–"
    lower = float(drop(*(np.array([values.mean()]) for values in divergences))[0])
    soft, hard = (results.mean(cell, PEARSON) for cell in cells)
    if soft is None or hard is None or not hard.low > 0:
        return f"{lower:.0%}, undefined"
    return f"{lower:.0%}, {(soft.value - hard.value) / hard.value:+.0%}"


def _best_epoch(results: Results, sets: Sequence[str]) -> Table:
    """Show how much of the drop is left if both may stop where they are closest to people."""
    rows: list[tuple[str, ...]] = []
    for name in sets:
        lines = [_by_epoch(results, name, labels) for labels in LABELS]
        if not all(len(line.y) for line in lines):
            continue
        row, last, best = [name], [], []
        for line in lines:
            place = int(np.argmin(line.y))
            last.append(line.y[-1])
            best.append(line.y[place])
            row += [f"{last[-1]:.3f}", f"{best[-1]:.3f} (epoch {line.x[place]:.0f})"]
        row += [f"{1 - soft / hard:.0%}" for hard, soft in (last, best)]
        rows.append(tuple(row))
    return Table(
        "KL to people at the last epoch, and at best (an upper bound)",
        ("set", "hard", "hard, best", "soft", "soft, best", "drop", "drop, best"),
        rows,
        NOTES["best epoch"],
    )


def _by_epoch(results: Results, name: str, labels: Labels) -> Line:
    return draw.along(results, Condition(name, labels).name, f"{HELD}kl@", f"{labels} labels")


def _uncertain(results: Results, sets: Sequence[str]) -> Table:
    rows: list[tuple[str, ...]] = []
    for name in sets:
        hard, soft = (Condition(name, labels).name for labels in LABELS)
        items = results.values(soft, "high/items")
        if not len(items):
            continue
        models = (("people", soft, "people"), ("hard", hard, "model"), ("soft", soft, "model"))
        for whose, cell, side in models:
            masses = draw.along(results, cell, f"high/{side}@", side).y[:5]
            means = " ".join(f"{mass:.2f}" for mass in masses)
            divergence = show_score(results.mean(cell, "high/kl")) if side == "model" else ""
            rows.append((name, whose, f"{items[0]:.0f}", means, divergence))
    return Table(
        "The tenth of items that people disagree on most",
        ("set", "whose", "items", "mean mass of the people's 1st, 2nd, … class", "KL"),
        rows,
        NOTES["uncertain"],
    )


# ── figures ──────────────────────────────────────────────────────────────────────────────────


def figures(results: Results) -> list[Figure]:
    """Draw curves and entropy distributions, with a panel for every set that was run."""
    charts: dict[str, dict[str, Figure]] = {name: {} for name in DRAWN}
    for name in _sets_run(results):
        cells = {f"{labels} labels": Condition(name, labels).name for labels in LABELS}
        words = replace(WORDS["curves"], title=f"KL to people by epoch, {name}")
        by_epoch = [_by_epoch(results, name, labels) for labels in LABELS]
        charts["curves"][name] = draw.curve(words, by_epoch, zero=True)

        lines = [draw.along(results, Condition(name, "soft").name, "entropy/people@", "people")]
        lines += [
            draw.along(results, cell, "entropy/model@", title) for title, cell in cells.items()
        ]
        middles = [replace(line, x=[(number + 0.5) / BINS for number in line.x]) for line in lines]
        words = replace(WORDS["entropies"], title=f"Entropies, {name}")
        charts["entropies"][name] = draw.curve(words, middles, zero=True)

        series = {}
        for title, cell in cells.items():
            people, model = (draw.along(results, cell, f"group/{side}@", side).y for side in SIDES)
            series[title] = list(people), list(model)
        words = replace(WORDS["groups"], title=f"Entropies by group, {name}")
        charts["groups"][name] = draw.reliability(words, series)
        charts["uncertain"] |= _draw_uncertain(results, name)
    drawn = [draw.panels(WORDS[name], some) for name, some in charts.items() if some]
    return [*drawn, *_draw_right(results)]


def _draw_uncertain(results: Results, name: str) -> dict[str, Figure]:
    """Draw the mean label of the items that people disagree on most, class by class in the order
    of people's votes, and what the two models say of the same classes."""
    rows = {}
    for whose, labels, side in WHOSE:
        masses = draw.along(results, Condition(name, labels).name, f"high/{side}@", side).y
        if len(masses):
            rows[whose] = [float(mass) for mass in masses]
    if not rows:
        return {}
    most = max(map(len, rows.values()))
    parts = [*ORDER, *(f"{rank}th" for rank in range(len(ORDER) + 1, most + 1))]
    words = replace(WORDS["uncertain"], title=f"Predictions where people disagree most, {name}")
    return {name: draw.shares(words, rows, parts[:most])}


def _draw_right(results: Results) -> list[Figure]:
    """Draw KL on pictures that the model classifies correctly, beside the printed numbers."""
    rows = {}
    for labels, printed in PRINTED_RIGHT.items():
        ours = results.mean(Condition(PICTURES, labels).name, "right/kl")
        rows[f"{labels} labels"] = ours, Published(printed)
    known = any(ours is not None for ours, _ in rows.values())
    return [draw.beside(WORDS["right"], rows)] if known else []


# ── figures of the released data ─────────────────────────────────────────────────────────────


def draw_released() -> list[Figure]:
    """Draw the figures that need no training; they need the data."""
    shares = _share_votes(PICTURES)
    order = np.argsort(metrics.entropy(shares), kind="stable")
    ranked = -np.sort(-shares, axis=1)
    rows = {}
    for number, some in enumerate(np.array_split(order, GROUPS), start=1):
        mean = ranked[some].mean(axis=0)
        nats = metrics.entropy(shares[some]).mean()
        rows[f"{number}: {nats:.2f} nats"] = [*mean[: len(ORDER)], mean[len(ORDER) :].sum()]
    first = draw.shares(WORDS["figure-1"], rows, [*ORDER, "others"], legend=True)
    panels = {}
    for name in SETS:
        values = np.clip(metrics.normalised_entropy(_share_votes(name)), 0, 1)
        share = np.histogram(values, bins=BINS, range=(0, 1))[0] / len(values)
        line = Line("people", (np.arange(BINS) + 0.5) / BINS, share)
        words = replace(WORDS["figure-3"], title=f"Entropies of people's labels, {name}")
        panels[name] = draw.curve(words, [line], zero=True)
    return [first, draw.panels(WORDS["figure-3"], panels)]


def _share_votes(name: str) -> Floats:
    """Return (m, k) the share of people who gave each label."""
    counts = votes(name)
    return np.asarray(counts / counts.sum(axis=1, keepdims=True))
