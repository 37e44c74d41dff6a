"""The demo's page: the text around the numbers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from softlabel import __version__, report
from softlabel.metrics import Cost, entropy, total_variation
from softlabel.report import Html, add_caption, el, figure, format_interval, format_number, table
from softlabel.study import shapes
from softlabel.tables import Floats, Score

from . import charts, findings
from .findings import ANNOTATORS, ITEMS, PER_ITEM, RICH, SEEDS, VOTES, Findings, Training

EXAMPLES, STRIP, PREDICTIONS = 8, 12, 6  # pictures with labels, in the top row, with predictions
SECONDS_RICH, SECONDS_VOTE = (Cost().answer(label) for label in ("t2-clamp", "hard"))
SOURCES = {"rich": "rich answers", "votes": "votes"}
INSTALL = "pip install 'softlabel[train]'"
COMMANDS = (
    "softlabel label answers.jsonl mine.npz --construct clamp --aggregate mean --repeats first",
    "softlabel label votes.csv shares.csv --aggregate share",
    "softlabel annotators answers.jsonl --output annotators.html",
)
# Measured on published answers by tests/reference/test_real_people.py.
REAL = {
    "agreement": 0.75,
    "change": 0.12,
    "rich kl": 0.19,
    "hard kl": 0.35,
    "rich tv": 0.16,
    "hard tv": 0.15,
}


def render(results: Findings, training: Training | None = None) -> str:
    """Return the document; without training results, it explains how to get them."""
    sections = [
        report.Section(heading, list(write(results, training)))
        for heading, write in SECTIONS.items()
    ]
    foot = f"Made by softlabel {__version__}, seed {results.study.seed}."
    return report.page("What a vote leaves out", list(introduce(results)), sections, foot)


# ── numbers in words ─────────────────────────────────────────────────────────────────────────


def points(value: float) -> str:
    """Format a share in percentage points."""
    return format_number(100 * value, 1)


def percent(score: Score) -> str:
    """12.3 % (11.0 to 13.6)."""
    return f"{points(score.value)}\u00a0% ({points(score.low)} to {points(score.high)})"


def compare(score: Score) -> str:
    """Describe a difference in percentage points, with its interval."""
    if score.low <= 0 <= score.high:
        return f"not significantly different ({points(score.low)} to {points(score.high)} points)"
    low, high = sorted((abs(score.low), abs(score.high)))
    word = "more" if score.value > 0 else "less"
    return f"{points(abs(score.value))} points {word} ({points(low)} to {points(high)})"


def difference(score: Score) -> str:
    """0.120 (0.100 to 0.140), and a remark if that is not significant."""
    ends = f"({format_number(score.low, 3)} to {format_number(score.high, 3)})"
    remark = ", not significantly different from 0" if score.low <= 0 <= score.high else ""
    return f"{format_number(score.value, 3)} {ends}{remark}"


def describe_worth(votes: Score) -> str:
    """Say how many votes a rich answer is worth, and whether it is worth its time."""
    if not math.isfinite(votes.value):
        return f"Here even {ANNOTATORS} votes are less accurate than one rich answer."
    price = SECONDS_RICH / SECONDS_VOTE
    high = format_number(votes.high, 0) if math.isfinite(votes.high) else f"over {ANNOTATORS}"
    saves = "annotators, but not time" if votes.value < price else "annotators and time"
    text = f"""For these annotators, one rich answer is as accurate as about
        {format_number(votes.value, 0)} votes ({format_number(votes.low, 0)} to {high}). In
        published studies, a form like this took about {SECONDS_RICH:g} s (Collins et al. 2022) and
        a vote {SECONDS_VOTE} s (Peterson et al. 2019), so one form takes as long as
        {format_number(price, 0)} votes. By these numbers, the form saves {saves}."""
    return report.unwrap(text)


# ── labels ───────────────────────────────────────────────────────────────────────────────────


def introduce(results: Findings) -> Iterator[str]:
    order = np.argsort(entropy(results.study.truth), kind="stable")
    shown = order[np.linspace(0, len(order) - 1, STRIP).round().astype(int)]
    yield charts.picture_strip(results, shown.tolist())
    yield f"""Some of these pictures show one shape; others blend two or three. {ANNOTATORS}
    annotators said what they see in {ITEMS} such pictures, in two ways: with one click (a vote),
    and on a short form that also asks how likely each shape is (a rich answer). A program generates
    both the pictures and the annotators, so the true distribution over shapes is known, and every
    label can be compared with it. The annotators filled in the form over HTTP, in a study served by
    softlabel. The votes were drawn without a server."""
    yield el(
        "p",
        f"With {PER_ITEM} annotators per picture, labels from rich answers put ",
        el("strong", percent(results.pooled[RICH].tv)),
        " of the probability on the wrong shapes. Shares of the same annotators’ votes put ",
        el("strong", percent(results.pooled[VOTES].tv)),
        f" on the wrong shapes: {compare(results.difference)}.",
        class_="result",
    )
    yield el(
        "p",
        "Numbers in brackets are 95 % confidence intervals over pictures. Everything here is "
        "simulated. The page shows what the tools do and that they recover what the simulation "
        "put in; it is ",
        el("a", "not evidence about real people", href="#limitations"),
        ".",
        class_="note",
    )


def show_examples(results: Findings, _: Training | None) -> Iterator[str]:
    truth = results.study.truth
    errors = [total_variation(truth, one.labels.probs) for one in results.pooled]
    chosen = choose_examples(truth, errors[VOTES] - errors[RICH], EXAMPLES)
    rich, votes = (points(results.pooled[place].tv.value) for place in (RICH, VOTES))
    yield f"""The {ITEMS} pictures are sorted by the entropy of their truth and split into
    {EXAMPLES} groups of equal size. From each group, one picture is shown: the one whose difference
    in error between votes and rich answers is closest to the median of its group, with preference
    for shapes not shown yet. Each bar is a label: the probability of each shape. The closer the
    second and third bars are to the first, the better. Shares of votes are multiples of 10 %,
    because {PER_ITEM} annotators voted. Over all pictures, the mean error is {rich} % for rich
    answers and {votes} % for votes."""
    key = (el("li", charts.shape_icon(i), name) for i, name in enumerate(shapes.LABELS))
    yield el("ul", *key, class_="keys")
    yield el("div", *(charts.example_card(results, item) for item in chosen), class_="grid")


def choose_examples(truth: Floats, values: Floats, count: int) -> list[int]:
    """Choose one item from each of ``count`` equal groups, from clear to ambiguous.

    It is the one whose value is closest to the median of its group, among the items whose main
    class was chosen least often before.
    """
    chosen: list[int] = []
    for group in np.array_split(np.argsort(entropy(truth), kind="stable"), count):
        used = Counter(truth[chosen].argmax(axis=1).tolist())
        times = np.array([used[top] for top in truth[group].argmax(axis=1).tolist()])
        apart = abs(values[group] - np.median(values[group]))
        chosen.append(int(group[np.lexsort((apart.round(9), times))[0]]))
    return chosen


def show_entropies(results: Findings, _: Training | None) -> Iterator[str]:
    yield f"""Entropy measures the uncertainty of a label: 0 if one shape has all the probability,
    {format_number(math.log(len(shapes.LABELS)))} if all {len(shapes.LABELS)} are equally likely.
    Each mark is a picture. On the dashed line, a label is exactly as uncertain as the truth. The
    correlation r tells whether uncertain pictures get uncertain labels; 1 is perfect."""
    yield add_caption(
        el("div", *charts.entropy_panels(results), class_="pair"),
        """Labels above the line are too uncertain. Annotators differ because of errors as well as
        because of uncertainty, and an average cannot separate the two.""",
    )


def show_recipes(results: Findings, _: Training | None) -> Iterator[str]:
    order = sorted(results.pooled, key=lambda one: one.tv.value)
    best = f"{order[0].recipe.steps}, from {SOURCES[order[0].recipe.source]}"
    yield f"""A recipe specifies which answers are used, how one answer becomes a label (before the
    arrow), and how {PER_ITEM} labels become one (after the arrow). The error is the total
    variation: the share of the probability on the wrong shapes. The most accurate recipe here is
    {best}."""
    yield figure(
        lambda width: charts.recipe_chart(order, width),
        """Dots are means over all pictures; lines are 95 % intervals. All recipes use the same
        annotators and pictures, so differences between recipes are more certain than the overlap of
        the intervals suggests.""",
    )
    yield f"""The table has two more measures. KL (Kullback-Leibler divergence, in nats) penalises
    labels that give almost no probability to a likely shape; probabilities below
    {findings.KL_FLOOR:g} count as {findings.KL_FLOOR:g}. r is the correlation of entropies from the
    previous section; it is undefined for majority labels, whose entropy is always 0."""
    rows = []
    for one in order:
        scores = (format_interval(one.tv), format_interval(one.kl))
        words = el("span", one.recipe.words, class_="words")
        rows.append((one.recipe.name, *scores, format_interval(one.entropy_r, 2), words))
    caption = "Error of each recipe, smallest first; small numbers are 95 % intervals"
    yield table(caption, ["recipe", "total variation", "KL", "r", "description"], rows)


def show_curves(results: Findings, _: Training | None) -> Iterator[str]:
    yield f"""Each point is the mean error over {findings.REDRAWS} random choices of that many
    annotators per picture. Rich answers are pooled by {findings.RECIPES[RICH].steps}, votes by
    their shares."""
    yield figure(
        lambda width: charts.annotator_curves(results, width),
        f"""Bands are 95 % intervals over pictures. {PER_ITEM} annotators per picture filled in the
        form; all {ANNOTATORS} voted.""",
    )
    yield describe_worth(results.worth)


# ── annotators ───────────────────────────────────────────────────────────────────────────────


def show_agreement(results: Findings, _: Training | None) -> Iterator[str]:
    yield """Observed agreement is the probability that two annotators of a picture mean the same
    shape. Krippendorff’s alpha compares labels and corrects for chance: 1 is perfect agreement, 0
    is chance. If all annotators say “50 % circle, 50 % square”, their labels agree perfectly,
    although their votes do not. Alpha of rich answers can therefore separate shared uncertainty
    from disagreement; alpha of votes cannot."""
    rows = [
        (SOURCES[source], *(format_interval(score, 2) for score in scores))
        for source, scores in results.agreement.items()
    ]
    caption = f"The same {PER_ITEM} annotators per picture, asked in two ways"
    yield table(caption, ["answers", "observed agreement", "alpha"], rows)
    text = "Observed agreement of rich answers, by picture."
    yield figure(lambda width: charts.agreement_chart(results, width), text)


def show_screening(results: Findings, _: Training | None) -> Iterator[str]:
    flagged, change = results.screening.flagged, results.screening.change
    attentive = results.study.attentive
    caught, wrong = int((flagged & ~attentive).sum()), int((flagged & attentive).sum())
    others = f"and {wrong} attentive ones, since low agreement has other causes too"
    yield f"""{findings.CARELESS} of the {ANNOTATORS} simulated annotators answer most items without
    looking. The answers alone flag {caught} of them {others if wrong else "and nobody else"}.
    Excluding the flagged annotators changes the error of rich answers
    ({findings.RECIPES[RICH].steps}) by {points(change.value)} percentage points
    ({points(change.low)} to {points(change.high)}). Everywhere else on this page, nobody is
    excluded."""
    yield figure(
        lambda width: charts.carelessness_chart(results, width),
        """Annotators are flagged if their agreement with the others is more than three robust
        standard deviations below the median.""",
    )
    yield f"""The report cards show what was measured next to what was simulated. Measured:
    agreement (1 minus the total variation between the annotator’s label and the mean of the others;
    the tick is the median annotator), entropy (mean entropy of their labels) and change (total
    variation between the two answers to {findings.REPEATS} pictures shown twice). Simulated:
    carelessness (share of answers given without looking), sharpness (overconfident above 1) and
    noise (standard deviation of the error in each log probability)."""
    yield report_cards(results)


def report_cards(results: Findings) -> Html:
    """One row per annotator, the lowest agreement first."""
    screening, agreement = results.screening, results.screening.agreement
    rows = []
    for a in np.argsort(agreement, kind="stable").tolist():
        card, person = screening.cards[a], results.study.persons[a]
        remarks = [el("span", "low agreement", class_="flag")] if screening.flagged[a] else []
        remarks += [el("span", remark, class_="remark") for remark in screening.remarks[a]]
        rows.append(
            (
                card.annotator,
                charts.spark(card.agreement, 0.3, 1.0, "agreement", float(np.median(agreement))),
                charts.spark(card.sharpness, 0, 1.5, "entropy"),
                charts.spark(float(screening.repeat_distance[a]), 0, 1, "change"),
                report.join(*remarks) or "–",
                *(person.carelessness, person.sharpness, person.noise),
            )
        )
    measured = ("annotator", "agreement", "entropy", "change", "flags")
    caption = "Report cards, lowest agreement first; the last three columns were simulated"
    return table(caption, [*measured, "carelessness", "sharpness", "noise"], rows)


# ── networks ─────────────────────────────────────────────────────────────────────────────────


def show_training(results: Findings, training: Training | None) -> Iterator[str]:
    if training is None:
        yield """No network was trained, because torch is not installed. With torch, the demo takes
        longer, but less than a minute on two cores."""
        yield report.command(INSTALL)
        return
    every = training.deliveries
    yield f"""A small network was trained on the {ITEMS} pictures and their rich answers, with
    {SEEDS} seeds for each of {len(findings.DELIVERIES)} deliveries of the same labels. A delivery
    determines what the network sees of a label in each epoch; the pooled label is that of
    {findings.RECIPES[RICH].steps}. The networks were then tested on {findings.UNSEEN} new pictures
    of the same kind, by comparing their predictions with the truth."""
    yield rank_deliveries(training)
    yield check_ranking(training)
    yield figure(
        lambda width: charts.distance_chart(training, width),
        f"""Dots are means over {SEEDS} runs; lines are 95 % intervals over runs (Student’s t),
        which show how much results vary between random initialisations.""",
    )
    yield f"""The order is by KL, the measure that training on soft labels minimises. The table adds
    total variation, the correlation r of entropies, the calibration error (the distance between
    confidence and the true probability of the predicted shape, in {findings.BINS} bins) and
    accuracy (how often the most likely shape is predicted)."""
    rows = []
    for one in every:
        scores = (format_interval(one.scores[name], 3) for name in findings.MEASURES)
        rows.append((one.name, *scores, el("span", findings.DELIVERIES[one.name], class_="words")))
    caption = "Results on unseen pictures, closest to the truth first; small numbers are 95 % "
    columns = ["delivery", *findings.MEASURES.values(), "the network sees"]
    yield table(f"{caption}intervals over runs", columns, rows)
    yield el("h3", "Are the networks calibrated?", class_="part")
    yield add_caption(
        el("div", *(charts.calibration_panel(training, one) for one in every), class_="panels"),
        f"""The true probability of the predicted shape against the network’s confidence in it, for
        all {SEEDS} runs together. Larger marks stand for more pictures. Networks are overconfident
        below the dashed line and underconfident above it.""",
    )
    yield el("h3", "Are they uncertain about ambiguous pictures?", class_="part")
    yield add_caption(
        el("div", *(charts.uncertainty_panel(training, one) for one in every), class_="panels"),
        f"""Each mark is one of {charts.DOTS} unseen pictures, with the prediction of the first run.
        r is the mean over runs.""",
    )
    yield el("h3", "Predictions for unseen pictures", class_="part")
    yield f"""One picture from each of {PREDICTIONS} groups, chosen as above, but by the median
    of the error, averaged over deliveries. The row “people” is the pooled label of {PER_ITEM}
    simulated annotators who were asked about the picture; no network was trained on these
    answers."""
    truth = training.truth.probs
    errors = [total_variation(truth, training.predictions(one)) for one in every]
    items = choose_examples(truth, np.mean(errors, axis=0), PREDICTIONS)
    people = findings.ask_about_unseen(training.truth, items, results.study.seed)
    cards = map(partial(charts.prediction_card, training), items, people)
    yield el("div", *cards, class_="grid")


def rank_deliveries(training: Training) -> Html:
    """Name the best delivery, and how far the others are behind it."""
    best = training.deliveries[0]
    value = format_number(best.scores[findings.MAIN].value, 3)
    others = [f"{one.name} by {difference(score)}" for one, score in training.differences()]
    return el(
        "p",
        "The networks closest to the truth were trained with ",
        el("strong", best.name),
        f" (KL {value} nats). The others are farther away: {'; '.join(others)}.",
        class_="result",
    )


def check_ranking(training: Training) -> str:
    """Say whether total variation gives the same winner."""
    measure = "total-variation"
    best = training.by(measure)[0]
    ties = [one.name for one, score in training.differences(measure) if score.low <= 0]
    tied = f", not significantly different from {' and '.join(ties)}" if ties else ""
    error = f"{points(best.scores[measure].value)} % of the probability on the wrong shapes{tied}"
    if best is training.deliveries[0]:
        return f"By total variation, {best.name} is closest as well ({error})."
    return f"By total variation, {best.name} is closest ({error}): the two measures disagree."


# ── the small print ──────────────────────────────────────────────────────────────────────────


def show_limitations(results: Findings, _: Training | None) -> Iterator[str]:
    screening, attentive = results.screening, results.study.attentive
    agreement = format_number(float(screening.agreement[attentive].mean()))
    change = format_number(float(screening.repeat_distance[attentive].mean()))
    yield f"""The “truth” is a definition. A picture blends shapes with known weights; its true
    distribution is these weights to the power of {shapes.SHARPNESS:g}, normalised, with
    {100 * shapes.LAPSE:g} % distributed equally over all shapes. It has not been measured how real
    people see these pictures."""
    yield f"""The simulated annotators know how uncertain they are: each one believes a noisy
    version of the truth and reports it in steps of 5 %. A vote is a random draw from this belief,
    which favours votes: the shares of very many votes would equal the mean belief. The noise was
    chosen so that attentive annotators agree with the others ({agreement}) and change their answers
    ({change}) about as much as the annotators of CIFAR-10S ({REAL["agreement"]:g} and
    {REAL["change"]:g})."""
    yield f"""Real people may be less aware of their uncertainty. For the 1,000 photographs of
    CIFAR-10S, the published answers can be compared with the votes of about fifty other people on
    each photograph (CIFAR-10H). Six rich answers are closer to these votes than the first choices
    of the same six people by KL ({REAL["rich kl"]:g} against {REAL["hard kl"]:g} nats), but not by
    total variation ({REAL["rich tv"]:g} against {REAL["hard tv"]:g}). Measure your own task before
    you choose."""


def explain_method(results: Findings, training: Training | None) -> Iterator[str]:
    study, rich = results.study, findings.RECIPES[RICH].steps
    yield f"""{ITEMS} pictures of {len(shapes.LABELS)} shapes; {ANNOTATORS} simulated annotators;
    {len(study.rich):,} rich answers ({PER_ITEM} annotators per picture and {findings.REPEATS}
    repeats per annotator) and {len(study.votes):,} votes; softlabel {__version__}; seed
    {study.seed}. The same seed gives the same page. Intervals are percentile bootstrap intervals
    over pictures."""
    yield """The rich answers were collected by a server on this machine. Each simulated annotator
    passed the consent page, the instructions and the quiz, received pictures, and sent answers over
    HTTP; the server acknowledged each answer after writing it to disk. Then the answers were
    exported from the database. The votes were drawn without a server: the same annotators, one
    click on every picture."""
    content = {
        "study/": "the study folder with its pictures, database and exported answers",
        "answers.jsonl": "all rich answers, with the annotators’ names on this page",
        "votes.csv": "all votes",
        "labels.npz": f"the labels of rich answers ({rich})",
        "shares.npz": f"the shares of all {ANNOTATORS} votes",
        "truth.npz": "the true distributions",
        "people.csv": "the simulated annotators: noise, sharpness, carelessness",
    }
    if training is not None:
        content["pictures.npz, unseen.npz"] = "the networks’ input, and the truth of the test set"
        content["training.toml, runs/"] = "what was trained, and the predictions of every network"
        yield f"""Each network (74 thousand parameters) was trained for {findings.EPOCHS} epochs on
        pictures of {findings.SIDE} × {findings.SIDE} pixels with random crops and flips, by
        softlabel’s recipe for small pictures. Its settings were chosen on studies with other seeds.
        The seed of a run determines its initial weights, the order of the pictures and all random
        draws; all deliveries use the same {SEEDS} seeds."""
    yield "The folder of this page also contains:"
    rows = (report.join(el("code", name), ": ", words) for name, words in content.items())
    yield report.listing(*rows)
    yield "To continue with these files, or with your own data:"
    yield report.command(*COMMANDS)
    yield """Collins, Bhatt and Weller 2022: Eliciting and Learning with Soft Labels from Every
    Annotator (CIFAR-10S), arXiv 2207.00810. Peterson, Battleday, Griffiths and Russakovsky 2019:
    Human Uncertainty Makes Classification More Robust (CIFAR-10H), ICCV."""


SECTIONS: dict[str, Callable[[Findings, Training | None], Iterator[str]]] = {
    "Examples, from clear to ambiguous": show_examples,
    "Do the labels preserve uncertainty?": show_entropies,
    "Which recipe is most accurate?": show_recipes,
    "How many annotators are needed?": show_curves,
    "Do annotators agree?": show_agreement,
    "Can careless annotators be detected?": show_screening,
    "What do networks learn from these labels?": show_training,
    "Limitations": show_limitations,
    "How this page was made": explain_method,
}
