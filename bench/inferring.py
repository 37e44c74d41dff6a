"""How each library is asked for the truth behind votes: one function per method.

A function takes a data set with votes and returns (m, k) scores, of which the best per item counts.
Peers are imported where they are called, so that those who lack one can still run the others.
"""

from __future__ import annotations

import contextlib
import io
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from softlabel import Annotations, registry
from softlabel.datasets import Dataset

Scores = np.ndarray[Any, np.dtype[np.float64]]
Infer = Callable[[Dataset], Scores]


def votes(data: Dataset) -> Annotations:
    assert data.annotations is not None, "all these sets hold votes"
    return data.annotations


def ours(text: str) -> Infer:
    """``softlabel``'s aggregator of this name and options."""

    def infer(data: Dataset) -> Scores:
        return registry.parse("aggregate", text)(votes(data)).probs

    return infer


# ── crowd-kit ────────────────────────────────────────────────────────────────────────────────


def _frame(data: Dataset, in_order: bool = False) -> Any:
    """Long table of votes; ``in_order`` names people and classes as they first appear."""
    import pandas as pd

    said = votes(data)
    worker, label = said.annotator.astype(int), said.label.astype(int)
    if in_order:
        worker = pd.factorize(worker)[0]
    return pd.DataFrame({"task": said.item.astype(int), "worker": worker, "label": label})


def crowdkit(kind: str, **options: Any) -> Infer:
    """A classification aggregator of crowd-kit, as shipped."""

    def infer(data: Dataset) -> Scores:
        from crowdkit import aggregation

        method = getattr(aggregation, kind)(**options)
        if not hasattr(method, "fit_predict_proba"):
            return _one_hot(data, method.fit_predict(_frame(data)))
        return _spread(data, method.fit_predict_proba(_frame(data)))

    return infer


def stopped_as_crowdkit(kind: str, text: str) -> Infer:
    """Ours, for as many steps as crowd-kit makes before its own rule stops it."""

    def infer(data: Dataset) -> Scores:
        from crowdkit import aggregation

        peer = getattr(aggregation, kind)()
        peer.fit(_frame(data))
        return ours(f"{text},tol=0,n_iter={len(peer.loss_history_)}")(data)

    return infer


def crowdkit_mace_renamed(data: Dataset) -> Scores:
    """crowd-kit's MACE where names are such that its two orders of people and classes agree."""
    import pandas as pd
    from crowdkit.aggregation import MACE

    frame = _frame(data, in_order=True)
    codes, names = pd.factorize(frame["label"])
    found = MACE().fit_predict_proba(frame.assign(label=codes))
    return _spread(data, found.rename(columns=dict(enumerate(names))))


def _spread(data: Dataset, found: Any) -> Scores:
    """Rows by item and columns by label, whatever order the peer has them in."""
    m, _, k = data.index.shape
    scores = np.zeros((m, k))
    rows, columns = found.index.to_numpy().astype(int), found.columns.to_numpy().astype(int)
    scores[np.ix_(rows, columns)] = found.to_numpy(dtype=float, na_value=0.0)
    return scores


def _one_hot(data: Dataset, found: Any) -> Scores:
    m, _, k = data.index.shape
    scores = np.zeros((m, k))
    scores[found.index.to_numpy().astype(int), found.to_numpy().astype(int)] = 1
    return scores


# ── peerannot ────────────────────────────────────────────────────────────────────────────────


def peerannot(kind: str, writes: bool = False) -> Infer:
    """An aggregation of peerannot, as shipped but for a seed: it breaks ties by lot, prints, and
    some of it ``writes`` files."""

    def infer(data: Dataset) -> Scores:
        with (
            warnings.catch_warnings(),
            contextlib.redirect_stdout(io.StringIO()),
            tempfile.TemporaryDirectory() as folder,
        ):
            warnings.simplefilter("ignore")
            import peerannot.models

            np.random.seed(0)  # noqa: NPY002  # the generator that it draws from
            m, a, k = data.index.shape
            answers = _nested(votes(data))
            options = {"dataset": Path(folder)} if writes else {}
            method = getattr(peerannot.models, kind)(answers, n_classes=k, n_workers=a, **options)
            if hasattr(method, "run"):
                method.run()
            found = np.asarray(method.get_answers(), dtype=int)
            if kind == "Wawa":  # the others give labels, this one codes
                found = np.vectorize(method.inv_labels.get)(found)
            scores = np.zeros((m, k))
            scores[np.array(list(answers)), found] = 1
            return scores

    return infer


def _nested(said: Annotations) -> dict[int, dict[int, int]]:
    """Item -> worker -> label; the last vote of somebody with several on one item."""
    assert said.label is not None, "votes are hard"
    answers: dict[int, dict[int, int]] = {}
    for item, worker, label in zip(said.item, said.annotator, said.label, strict=True):
        answers.setdefault(int(item), {})[int(worker)] = int(label)
    return {item: answers[item] for item in sorted(answers)}


# ── cleanlab ─────────────────────────────────────────────────────────────────────────────────


def _wide(data: Dataset) -> Scores:
    """Items by annotators; the last vote of somebody with several on one item."""
    m, a, _ = data.index.shape
    said = votes(data)
    wide = np.full((m, a), np.nan)
    wide[said.item, said.annotator] = said.label
    return wide


def cleanlab_majority(data: Dataset) -> Scores:
    from cleanlab.multiannotator import get_majority_vote_label

    m, _, k = data.index.shape
    scores = np.zeros((m, k))
    scores[np.arange(m), get_majority_vote_label(_wide(data)).astype(int)] = 1
    return scores


def cleanlab_crowdlab(data: Dataset) -> Scores:
    """CROWDLAB with a logistic regression on the features, cross-validated on the vote."""
    import pandas as pd
    from cleanlab.multiannotator import get_label_quality_multiannotator
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_predict

    vote = cleanlab_majority(data).argmax(axis=1)
    model = LogisticRegression(C=0.1, max_iter=2000)
    predicted = cross_val_predict(model, data.arrays["x_train"], vote, cv=5, method="predict_proba")
    found = get_label_quality_multiannotator(pd.DataFrame(_wide(data)), predicted, verbose=False)
    m, _, k = data.index.shape
    scores = np.zeros((m, k))
    scores[np.arange(m), found["label_quality"]["consensus_label"].to_numpy().astype(int)] = 1
    return scores


# ── who has what ─────────────────────────────────────────────────────────────────────────────

OURS, CROWDKIT, PEERANNOT, CLEANLAB = "softlabel", "crowd-kit", "peerannot", "cleanlab"
STOPPED = f"{OURS}, stopped as {CROWDKIT}"
RARE = f"{OURS}, with ties=rare"
UNSMOOTHED = f"{OURS}, smoothing=0"
PACKAGES = {CROWDKIT: "crowdkit", PEERANNOT: "peerannot", CLEANLAB: "cleanlab"}

METHODS: dict[str, dict[str, Infer]] = {
    "majority": {
        OURS: ours("majority:ties=split"),
        RARE: ours("majority:ties=rare"),
        f"{OURS}, with ties=trusted": ours("majority:ties=trusted"),
        CROWDKIT: crowdkit("MajorityVote"),
        PEERANNOT: peerannot("MajorityVoting"),
        CLEANLAB: cleanlab_majority,
    },
    "wawa": {OURS: ours("wawa"), CROWDKIT: crowdkit("Wawa"), PEERANNOT: peerannot("Wawa")},
    "zero-based-skill": {OURS: ours("zero-based-skill"), CROWDKIT: crowdkit("ZeroBasedSkill")},
    "dawid-skene": {
        OURS: ours("dawid-skene"),
        UNSMOOTHED: ours("dawid-skene:smoothing=0,tol=1e-6"),
        STOPPED: stopped_as_crowdkit("DawidSkene", "dawid-skene:smoothing=0"),
        CROWDKIT: crowdkit("DawidSkene"),
        PEERANNOT: peerannot("DawidSkene"),
    },
    "one-coin": {
        OURS: ours("one-coin"),
        STOPPED: stopped_as_crowdkit("OneCoinDawidSkene", "one-coin:smoothing=0"),
        CROWDKIT: crowdkit("OneCoinDawidSkene"),
    },
    "glad": {
        OURS: ours("glad"),
        STOPPED: stopped_as_crowdkit("GLAD", "glad:"),
        CROWDKIT: crowdkit("GLAD"),
        PEERANNOT: peerannot("GLAD", writes=True),
    },
    "mace": {
        OURS: ours("mace"),
        CROWDKIT: crowdkit("MACE"),
        f"{CROWDKIT}, renamed": crowdkit_mace_renamed,
    },
    "kos": {OURS: ours("kos"), CROWDKIT: crowdkit("KOS")},
    "crowdlab": {CLEANLAB: cleanlab_crowdlab},
    "no peer has": {
        name: ours(name) for name in ("fast-dawid-skene", "bayes-dawid-skene", "zencrowd", "catd")
    },
}
