"""A model against people: the same numbers by hand, in any form and order; ceilings; refusals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy.special import softmax

import softlabel
from softlabel import Annotations, DataError, Index, Predictions, SoftLabels, UnknownName, metrics
from softlabel.errors import SoftlabelError
from softlabel.metrics import intervals
from softlabel.sampling import votes_from_counts

RNG = np.random.default_rng(11)
M, LABELS = 120, ["no", "maybe", "yes"]
ITEMS = [f"t{i}" for i in range(M)]
TRUTH = RNG.dirichlet([0.5, 0.4, 0.6], M)
COUNTS = RNG.multinomial(5, TRUTH)
GUESS = 0.7 * TRUTH + 0.3 * RNG.dirichlet([1, 1, 1], M)
OTHER = 0.4 * TRUTH + 0.6 * RNG.dirichlet([1, 1, 1], M)
INDEX = Index(ITEMS, [], LABELS)
VOTES = votes_from_counts(INDEX, COUNTS)
FEW = {"draws": 60}


def moved(probs, items=ITEMS, labels=LABELS, seed=0):
    """The same predictions in another order of items and classes."""
    order, turn = np.random.default_rng(seed).permutation(len(items)), [2, 0, 1]
    index = Index([items[i] for i in order], [], [labels[j] for j in turn])
    return Predictions(index, probs[order][:, turn])


def as_frame(table):
    columns = dict(zip(table.index.labels.tolist(), table.probs.T, strict=True))
    return pl.DataFrame({"item": table.index.items.tolist()} | columns)


@pytest.fixture(scope="module")
def scores():
    return softlabel.score(moved(GUESS), VOTES, compare=moved(OTHER, seed=3), **FEW)


def test_values_and_differences_are_those_of_the_metrics(scores):
    shares = COUNTS / 5
    assert scores.n == M
    for name in scores:
        measure = metrics.METRICS[name]
        first, second = (np.mean(measure(shares, probs)) for probs in (GUESS, OTHER))
        one = scores[name]
        assert one.score.value == pytest.approx(first)
        assert one.other.value == pytest.approx(second)
        assert one.difference.value == pytest.approx(first - second)
        for part in (one.score, one.other, one.difference):
            assert part.low <= part.value <= part.high


def test_intervals_of_means_are_the_bootstrap_over_items(scores):
    values = metrics.kl(COUNTS / 5, GUESS), metrics.kl(COUNTS / 5, OTHER)
    expected = intervals.mean(values[0] - values[1], draws=60)
    assert str(scores["kl"].difference) == str(expected)
    assert scores["kl"].winner == "predictions"
    assert scores["accuracy"].winner in ("predictions", "")


def test_no_interval_reaches_beyond_the_range_of_its_metric():
    """As those of few items would whose draws are moved to the value."""
    ranges = {"worst-class-accuracy": (0, 1), "rms-calibration": (0, 1), "entropy-pearson": (-1, 1)}
    cut = 0
    for m, seed in ((3, 0), (5, 1), (12, 2), (12, 3)):
        rng = np.random.default_rng(seed)
        first, other = rng.dirichlet([1] * 3, (2, m))
        found = softlabel.score(first, COUNTS[:m], other, measures=list(ranges), draws=100)
        for name, (low, high) in ranges.items():
            one, wide = found[name], high - low
            assert low <= one.score.low <= one.score.value <= one.score.high <= high
            assert -wide <= one.difference.low <= one.difference.high <= wide
            cut += one.score.low == low or one.score.high == high
    assert cut, "some would have reached beyond it"


def test_all_metrics_but_those_of_a_scale_are_there(scores):
    assert set(scores) == set(metrics.METRICS) - {"w1-index"}
    ordered = softlabel.score(GUESS, COUNTS, ordered=True, **FEW)
    assert set(ordered) == set(metrics.METRICS)
    assert ordered["w1-index"].score.value == pytest.approx(
        metrics.w1_index(COUNTS / 5, GUESS).mean()
    )


def test_hard_labels_have_no_soft_metrics():
    classes = metrics.one_hot(COUNTS.argmax(axis=1), 3)
    found = softlabel.score(GUESS, classes, **FEW)
    assert "entropy-pearson" not in found.measured
    assert "soft-ece" not in found.measured
    assert found["accuracy"].score.value == pytest.approx(metrics.accuracy(classes, GUESS).mean())
    assert "how many people" in found.no_ceiling


PEOPLE = {
    "votes": VOTES,
    "counts": COUNTS,
    "a frame of counts": pl.DataFrame(
        {"item": ITEMS} | dict(zip(LABELS, COUNTS.T, strict=True))
    ).sample(M, shuffle=True, seed=1),
    "soft labels": SoftLabels(INDEX, COUNTS / 5, np.full(M, 5)),
    "a frame of votes": pl.DataFrame(
        {
            "task": [ITEMS[item] for item in VOTES.item],
            "worker": [f"p{row % 7}" for row in range(len(VOTES))],
            "label": [LABELS[label] for label in VOTES.label],
        }
    ),
}


@pytest.mark.parametrize("people", PEOPLE)
@pytest.mark.parametrize("model", ["array", "table", "frame", "logits"])
def test_every_form_gives_the_same_numbers(people, model):
    given = {"array": GUESS, "table": moved(GUESS), "frame": as_frame(moved(GUESS))}
    given["logits"] = np.log(GUESS) + 3
    named = model in ("table", "frame")  # rows of arrays have no names
    if people in ("counts", "a frame of counts"):
        people = "a frame of counts" if named else "counts"
    options = {"from_logits": True} if model == "logits" else {}
    options |= {} if named else {"labels": LABELS}  # nor have their columns
    found = softlabel.score(given[model], PEOPLE[people], measures=["kl", "ece"], **FEW, **options)
    shares = COUNTS / 5
    assert found["kl"].score.value == pytest.approx(metrics.kl(shares, GUESS).mean())
    assert found["ece"].score.value == pytest.approx(metrics.ece(shares, GUESS))
    assert found["kl"].ceiling is not None


def test_a_perfect_model_reaches_the_ceiling():
    """Against simulated votes, the model that knows the truth scores what the ceiling says."""
    rng = np.random.default_rng(2)
    truth = rng.dirichlet([0.6] * 4, 1500)
    counts = rng.multinomial(10, truth)
    names = ["kl", "brier", "total-variation", "accuracy", "entropy-pearson", "soft-ece"]
    found = softlabel.score(truth, counts, measures=names, draws=20)
    for name in names:
        one = found[name]
        assert one.ceiling.value == pytest.approx(one.score.value, rel=0.08, abs=0.012), name
    expected = metrics.noise_ceiling(counts).value
    assert found["entropy-pearson"].ceiling.value == pytest.approx(expected, abs=0.005)
    worse = softlabel.score(0.5 * truth + 0.125, counts, measures=["kl"], draws=20)["kl"]
    assert worse.score.low > worse.ceiling.high


def test_it_is_said_why_there_is_no_ceiling():
    pooled = SoftLabels(INDEX, softmax(np.log(GUESS), axis=1), np.full(M, 5))
    soft_votes = Annotations(INDEX, np.arange(M), np.full(M, -1), probs=TRUTH)
    one = votes_from_counts(INDEX, metrics.one_hot(COUNTS.argmax(axis=1), 3).astype(int))
    for people, why in (
        (pooled, "do not say how many"),
        (soft_votes, "answers are distributions"),
        (one, "no item has two votes"),
    ):
        found = softlabel.score(GUESS, people, measures=["kl"], **FEW)
        assert why in found.no_ceiling
        assert found["kl"].ceiling is None


def test_missing_items_are_refused_unless_asked_for():
    some = moved(GUESS[:100], ITEMS[:100])
    with pytest.raises(DataError, match=r"no prediction of item 't100' \(nor of 19 more\).*common"):
        softlabel.score(some, VOTES, **FEW)
    found = softlabel.score(some, VOTES, measures=["kl"], common=True, **FEW)
    assert found.n == 100
    assert found["kl"].score.value == pytest.approx(
        metrics.kl(COUNTS[:100] / 5, GUESS[:100]).mean()
    )
    assert any("20 items of people are left out: no prediction" in note for note in found.notes)
    with pytest.raises(DataError, match="none of the items of people"):
        softlabel.score(moved(GUESS[:2], ["a", "b"]), VOTES, **FEW)
    with pytest.raises(DataError, match="has 119 rows and people 120"):
        softlabel.score(GUESS[1:], VOTES, **FEW)


def test_the_index_of_pandas_names_items_also_if_it_counts_them():
    pd = pytest.importorskip("pandas")
    rows = [(item, who, LABELS[(item + who) % 3]) for item in (2, 0, 3, 1) for who in range(2)]
    votes = pd.DataFrame(rows, columns=["item", "annotator", "label"])
    frame = pd.DataFrame(GUESS[:4], columns=LABELS)
    shares = [np.eye(3)[[item % 3, (item + 1) % 3]].mean(axis=0) for item in range(4)]
    expected = metrics.kl(shares, GUESS[:4]).mean()
    for one in (frame, frame[::-1], frame.rename_axis("item").reset_index()):
        found = softlabel.score(one, votes, compare=frame, measures=["kl"], **FEW)["kl"]
        assert (found.score.value, found.difference.value) == pytest.approx((expected, 0))
    counts = pd.DataFrame(shares, columns=LABELS) * 2
    named = Predictions(Index(["3", "1", "0", "2"], [], LABELS), GUESS[[3, 1, 0, 2]])
    assert softlabel.score(named, counts, **FEW)["kl"].score.value == pytest.approx(expected)


def test_frames_without_items_are_not_matched_with_votes_by_place():
    pd = pytest.importorskip("pandas")
    columns = dict(zip(LABELS, GUESS.T, strict=True))
    reason = r"no names of items, and those of people \('t0', …\).*the column item or, in pandas"
    for frame in (pl.DataFrame(columns), pd.DataFrame(columns)):
        with pytest.raises(DataError, match=f"^predictions: the rows have {reason}"):
            softlabel.score(frame, PEOPLE["a frame of votes"], **FEW)
        with pytest.raises(DataError, match=f"^the other predictions: the rows have {reason}"):
            softlabel.score(GUESS, VOTES, compare=frame, **FEW)
        found = softlabel.score(frame, PEOPLE["soft labels"], measures=["kl"], **FEW)["kl"]
        assert found.score.value == pytest.approx(metrics.kl(COUNTS / 5, GUESS).mean())


@pytest.mark.parametrize("kind", [int, float, str])
def test_classes_may_be_numbers(kind):
    """In a frame of votes, in one of predictions, and where they are named."""
    pd = pytest.importorskip("pandas")
    people = PEOPLE["a frame of votes"].to_pandas()
    votes = people.assign(label=[kind(LABELS.index(one)) for one in people["label"]])
    expected = metrics.kl(COUNTS / 5, GUESS).mean()
    frame = pd.DataFrame(GUESS, index=ITEMS, columns=range(3))
    for model, options in (
        (frame, {}),
        (frame.rename(columns=str), {}),
        (frame[[2, 0, 1]], {"labels": [0, 1, 2]}),
        (GUESS, {"labels": [0, 1, 2]}),
    ):
        found = softlabel.score(model, votes, measures=["kl"], **options, **FEW)
        assert found["kl"].score.value == pytest.approx(expected)
        assert list(found.labels) == ["0", "1", "2"]
    with pytest.raises(DataError, match="value '2': no such class; the classes are 0, 1"):
        softlabel.score(frame[[0, 1]].div(frame[[0, 1]].sum(axis=1), axis=0), votes, **FEW)


def test_items_that_nobody_answered_are_left_out_and_counted():
    silent = Annotations(INDEX, VOTES.item[10:], VOTES.annotator[10:], label=VOTES.label[10:])
    found = softlabel.score(moved(GUESS), silent, measures=["kl"], **FEW)
    assert found.n == M - 2
    assert any("2 items of predictions are left out: nobody" in note for note in found.notes)


def test_other_classes_are_refused_by_name():
    with pytest.raises(DataError, match="only people has the class 'yes'"):
        softlabel.score(moved(GUESS, labels=["no", "maybe", "Yes"]), VOTES, **FEW)
    soft = SoftLabels(Index(ITEMS, [], ["no", "yes"]), COUNTS[:, 1:] * 0 + 0.5, np.full(M, 3))
    with pytest.raises(DataError, match="people does not have the class"):
        softlabel.score(moved(GUESS), soft, **FEW)
    with pytest.raises(DataError, match="has 2 columns for 3 classes"):
        softlabel.score(GUESS[:, :2] / GUESS[:, :2].sum(1, keepdims=True), VOTES, **FEW)


def test_a_class_that_nobody_chose_may_be_missing_among_votes():
    never = np.where(COUNTS[:, :2].sum(axis=1) > 0)[0]
    index = Index([ITEMS[i] for i in never], [], LABELS[:2])
    votes = votes_from_counts(index, COUNTS[never][:, :2])
    found = softlabel.score(moved(GUESS), votes, measures=["brier"], **FEW)
    shares = np.pad(
        COUNTS[never][:, :2] / COUNTS[never][:, :2].sum(1, keepdims=True), ((0, 0), (0, 1))
    )
    assert found["brier"].score.value == pytest.approx(metrics.brier(shares, GUESS[never]).mean())


def test_probability_zero_is_noted():
    sure = metrics.one_hot(GUESS.argmax(axis=1), 3)
    found = softlabel.score(sure, COUNTS, compare=sure, measures=["kl", "kl:floor=1e-6"], **FEW)
    assert found["kl"].score.value == np.inf
    assert np.isnan(found["kl"].difference.value)
    assert np.isfinite(found["kl:floor=1e-6"].score.value)
    assert any("probability 0 to a class that people chose" in note for note in found.notes)


def test_wrong_options_are_refused():
    with pytest.raises(UnknownName, match="no option of score called 'metric'"):
        softlabel.score(GUESS, COUNTS, metric=["kl"])
    with pytest.raises(UnknownName, match=r"no metric called 'klo' \(did you mean 'kl'\?\)"):
        softlabel.score(GUESS, COUNTS, measures=["klo"])
    with pytest.raises(UnknownName, match="no metric among these scores called 'ece'"):
        softlabel.score(GUESS, COUNTS, measures=["kl"], **FEW)["ece"]
    for draws in (0, 1, 20.5):
        with pytest.raises(SoftlabelError, match=f"draws = {draws}: a whole number of at least 2"):
            softlabel.score(GUESS, COUNTS, draws=draws)
    with pytest.raises(SoftlabelError, match="labels = 'no' must be a list of all classes"):
        softlabel.score(GUESS, COUNTS, labels="no")


def test_one_metric_may_be_given_as_text():
    assert list(softlabel.score(GUESS, COUNTS, measures="ece:bins=10", **FEW)) == ["ece:bins=10"]


@pytest.mark.parametrize("form", ["to_pandas", "to_polars"])
def test_a_frame_of_our_own_labels_is_read_as_the_labels(form):
    pytest.importorskip("pandas")
    labels = softlabel.label(PEOPLE["a frame of votes"], "dirichlet", intervals=True)
    labels = replace(labels, more={**labels.more, "people": np.full(len(labels), 0.3)})
    found = softlabel.score(labels, VOTES, measures=["kl"], **FEW)["kl"].score
    for options in ({}, {"normalise": True}):
        frame = getattr(labels, form)()
        again = softlabel.score(frame, VOTES, measures=["kl"], **options, **FEW)["kl"].score
        assert again.value == pytest.approx(found.value)
        np.testing.assert_allclose(metrics.kl(frame, labels), 0, atol=1e-12)


def test_a_scale_of_people_is_one_of_the_scores():
    """Its order is that of people, whatever order the predictions have."""
    scale = replace(VOTES, index=replace(INDEX, ordered=True))
    found = softlabel.score(moved(GUESS), scale, measures=["w1-index"], **FEW)
    assert (found.ordered, list(found.labels)) == (True, LABELS)
    expected = metrics.w1_index(COUNTS / 5, GUESS).mean()
    assert found["w1-index"].score.value == pytest.approx(expected)
    named = softlabel.score(moved(GUESS), VOTES, measures=["w1-index"], labels=LABELS, **FEW)
    assert named["w1-index"].score.value == pytest.approx(expected)
