"""A cheap and strong baseline: logistic regressions on words, letters and pairs, taught by shares.

Each target has a regression that minimises the cross-entropy to people's shares.  Which features it
sees, how much it is regularised and how much its shares are sharpened is chosen on dev, by the
measure of the task; then it learns from train and dev.  A person's answers are predicted by the
same score, moved and stretched for that person as far as their answers in train show it; somebody
who is not in train is predicted as everybody.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, hstack
from scipy.special import expit, logit

from softlabel.integrations import SoftLabelClassifier
from softlabel.papers.lewidi.tasks import Task
from softlabel.tables import Floats, Ints

STRENGTHS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)  # C of the regression
SHARPER = (1.0, 1.25, 1.5, 2.0, 3.0)  # factors of the score, where the measure rewards medians
SPREADS = (0.1, 0.3, 1.0)  # standard deviations of people's effects
FOLDS = 5
NEAREST = 1e-6  # scores belong to shares at least this far from 0 and 1
NEGATIONS = {"not", "no", "never", "nobody", "nothing", "none", "without"}

View = Callable[[Task, Ints], Any]  # features of all items, fitted to those in rows


# ── what a regression sees ───────────────────────────────────────────────────────────────────


def _vectorise(texts: Sequence[str], rows: Ints, letters: bool) -> Any:
    """Return TF-IDF (m, d) of words and pairs of words, or of two to five letters."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    options: dict[str, Any] = {"ngram_range": (1, 2)}
    if letters:
        options = {"analyzer": "char_wb", "ngram_range": (2, 5)}
    vectorizer = TfidfVectorizer(sublinear_tf=True, min_df=2, **options)
    vectorizer.fit([texts[row] for row in rows])
    return vectorizer.transform(texts)


def see_words(task: Task, rows: Ints) -> Any:
    """All columns as one text: words."""
    return _vectorise(_join(task.texts.values()), rows, letters=False)


def see_letters(task: Task, rows: Ints) -> Any:
    """All columns as one text: letters."""
    return _vectorise(_join(task.texts.values()), rows, letters=True)


def see_both(task: Task, rows: Ints) -> Any:
    """All columns as one text: words and letters.  This is plain TF-IDF."""
    return hstack([see_words(task, rows), see_letters(task, rows)]).tocsr()


def see_columns(task: Task, rows: Ints) -> Any:
    """Every column for itself: words and letters, the last column twice as heavy."""
    *_, last = task.texts
    parts = [
        (1.0 if name == last else 0.5) * _vectorise(texts, rows, letters)
        for name, texts in task.texts.items()
        for letters in (False, True)
    ]
    return hstack(parts).tocsr()


def see_pair(task: Task, rows: Ints) -> Any:
    """How the two texts of a pair differ: a few numbers, standardised."""
    first, second = task.texts.values()
    columns = []
    for letters in (False, True):
        both = _vectorise([*first, *second], np.concatenate([rows, rows + len(first)]), letters)
        u, v = both[: len(first)], both[len(first) :]
        columns += [u.multiply(v).sum(axis=1), abs(u - v).sum(axis=1), (u - v).maximum(0).sum(1)]
    columns += list(_compare_words(first, second).T)
    table = np.column_stack([np.asarray(column).ravel() for column in columns])
    centre, scale = table[rows].mean(axis=0), table[rows].std(axis=0)
    return csr_matrix((table - centre) / np.where(scale > 0, scale, 1))


def _compare_words(first: Sequence[str], second: Sequence[str]) -> Floats:
    """Return (m, 8): overlaps, lengths and negations of two texts."""
    rows = []
    for texts in zip(first, second, strict=True):
        u, v = (set(text.lower().replace("n't", " not").split()) for text in texts)
        long, short = (np.log1p(len(text)) for text in texts)
        shared = len(u & v)
        overlaps = (shared / max(len(u | v), 1), shared / max(len(u), 1), shared / max(len(v), 1))
        negated = (len(u & NEGATIONS), len(v & NEGATIONS))
        rows.append((*overlaps, long, short, abs(long - short), *negated))
    return np.array(rows, dtype=np.float64)


@lru_cache(maxsize=1)
def encode_sentences(task: Task) -> Floats:
    """Return what MiniLM makes of all texts, (m, d); of several columns, of the last one and of
    those before it, with their difference and their product.  Texts are encoded once: the features
    are kept here and on disk."""
    from softlabel import train

    encoder = train.text_encoders.MiniLM()
    *before, last = task.texts.values()
    sides = [_join(before), last] if before else [last]
    return np.asarray(train.text_encoders.encode_texts(sides, encoder), dtype=np.float64)


def see_sentences(task: Task, rows: Ints) -> Any:
    """Features of MiniLM, standardised."""
    features = encode_sentences(task)
    centre, scale = features[rows].mean(axis=0), features[rows].std(axis=0)
    return csr_matrix(0.1 * (features - centre) / np.where(scale > 0, scale, 1))


def _join(columns: Iterable[Sequence[str]]) -> list[str]:
    return [" \n ".join(texts) for texts in zip(*columns, strict=True)]


def list_views(task: Task, sentences: bool = False) -> dict[str, View]:
    """Return what a regression may see of this task; ``sentences`` needs the extra features."""
    views: dict[str, View] = {"letters": see_letters, "words and letters": see_both}
    if len(task.texts) > 1:
        views["columns"] = see_columns
    if task.year == "2025":
        views["pair"] = see_pair
    if sentences:
        views["sentences"] = see_sentences
    return views


# ── learning ─────────────────────────────────────────────────────────────────────────────────


def regress(features: Any, shares: Floats, rows: Ints, strength: float) -> Floats:
    """Return scores (m, t), logits of the shares, of regressions that learned these rows."""
    from sklearn.linear_model import LogisticRegression

    scores = np.empty(shares.shape)
    for target, wanted in enumerate(shares.T):
        known = wanted[rows]
        if known.min() == known.max() and known[0] in (0, 1):  # nobody disagrees
            scores[:, target] = logit(np.clip(known[0], NEAREST, 1 - NEAREST))
            continue
        model = SoftLabelClassifier(LogisticRegression(C=strength, max_iter=1000))
        model.fit(features[rows], np.column_stack([1 - known, known]))
        scores[:, target] = model.estimator_.decision_function(features)
    return scores


def to_shares(task: Task, scores: Floats, sharper: float = 1.0) -> Floats:
    """Return shares (m, t); of ordered classes they do not fall from one value to the next."""
    shares = np.asarray(expit(sharper * scores))
    return np.maximum.accumulate(shares, axis=1) if task.kind == "ordered" else shares


@dataclass(frozen=True)
class Choice:
    """What was chosen on dev: the views whose scores are averaged, with the strength of each."""

    strengths: Mapping[str, float]
    sharper: float
    dev: float


def choose(task: Task, views: Mapping[str, View]) -> Choice:
    """Choose on dev: for each view its strength; then one view or all, and how much to sharpen."""
    train, dev = task.rows["train"], task.rows["dev"]
    factors = SHARPER if task.kind != "yes or no" else (1.0,)
    best: dict[str, tuple[float, float, Floats]] = {}
    for name, see in views.items():
        features = see(task, train)
        tried = []
        for strength in STRENGTHS:
            scores = regress(features, task.shares, train, strength)
            tried.append((_dev_score(task, scores, 1.0), strength, scores))
        best[name] = min(tried, key=lambda one: one[0])
    candidates: list[tuple[str, ...]] = [(name,) for name in best]
    candidates += [tuple(best)] if len(best) > 1 else []
    chosen = None
    for names, sharper in product(candidates, factors):
        scores = np.mean([best[name][2] for name in names], axis=0)
        value = _dev_score(task, scores, sharper)
        if chosen is None or value < chosen.dev:
            chosen = Choice({name: best[name][1] for name in names}, sharper, value)
    assert chosen is not None, "there is a view"
    assert len(dev), "dev has items"
    return chosen


def _dev_score(task: Task, scores: Floats, sharper: float) -> float:
    dev = task.rows["dev"]
    return task.score(dev, to_shares(task, scores[dev], sharper))[task.measures[0]]


def learn(task: Task, views: Mapping[str, View], choice: Choice, rows: Ints) -> Floats:
    """Return the scores (m, t) of the chosen regressions, which learned these rows."""
    scores = [
        regress(views[name](task, rows), task.shares, rows, strength)
        for name, strength in choice.strengths.items()
    ]
    return np.asarray(np.mean(scores, axis=0))


# ── people ───────────────────────────────────────────────────────────────────────────────────


def predict_people(
    task: Task, views: Mapping[str, View], choice: Choice, scores: Floats
) -> tuple[Floats, float]:
    """Return each person's answer (n', t) to the test items, and the spread of people's effects
    that was chosen on dev.  ``scores`` (m, t) are of regressions that learned train and dev.

    A person's score is b + s z, where z is everybody's; b and s have normal priors around 0 and 1.
    They are learned from scores of folds that did not see the item.
    """
    train, dev, test = (task.rows[part] for part in ("train", "dev", "test"))
    apart = _cross_fit(task, views, choice, train)
    apart[dev] = learn(task, views, choice, train)[dev]

    def error(spread: float) -> float:
        said = _apply_effects(task, apart, fit_effects(task, apart, train, spread), dev)
        return next(iter(task.score_people(dev, said).values()))

    spread = min(SPREADS, key=error)
    known = np.concatenate([train, dev])
    effects = fit_effects(task, apart, known, spread)
    return _apply_effects(task, scores, effects, test), spread


def _cross_fit(task: Task, views: Mapping[str, View], choice: Choice, rows: Ints) -> Floats:
    """Return scores (m, t), of these rows by regressions that did not learn them."""
    fold = np.random.default_rng(0).permutation(len(rows)) % FOLDS
    scores = np.zeros(task.shares.shape)
    for number in range(FOLDS):
        held = rows[fold == number]
        scores[held] = learn(task, views, choice, rows[fold != number])[held]
    return scores


def fit_effects(task: Task, scores: Floats, rows: Ints, spread: float) -> Floats:
    """Return (a, t, 2), shift and slope of each person for each target, by Newton's method."""
    effects = np.zeros((len(task.people), scores.shape[1], 2))
    effects[:, :, 1] = 1
    answers = task.answers_of(rows)
    for person in np.unique(task.annotator[answers]):
        mine = answers[task.annotator[answers] == person]
        for target in range(scores.shape[1]):
            z, y = scores[task.item[mine], target], task.said[mine, target]
            effects[person, target] = _fit_person(z, y, spread)
    return effects


def _fit_person(z: Floats, y: Floats, spread: float, steps: int = 20) -> Floats:
    prior, precision = np.array([0.0, 1.0]), np.eye(2) / spread**2
    design, effect = np.column_stack([np.ones(len(z)), z]), np.array([0.0, 1.0])
    for _ in range(steps):
        share = expit(design @ effect)
        slope = design.T @ (y - share) - precision @ (effect - prior)
        bend = (design * (share * (1 - share))[:, None]).T @ design + precision
        step = np.linalg.solve(bend, slope)
        effect = effect + step / max(1.0, abs(step).max())  # no step beyond 1: it stays stable
        if abs(step).max() < 1e-8:
            break
    return effect


def _apply_effects(task: Task, scores: Floats, effects: Floats, rows: Ints) -> Floats:
    """Return the likeliest answers (n', t) of people to these items: of ordered classes, the median
    value, which is at or below the cuts whose share is above one half."""
    answers = task.answers_of(rows)
    shift, slope = np.moveaxis(effects[task.annotator[answers]], 2, 0)
    own = shift + slope * scores[task.item[answers]]
    return (to_shares(task, own) > 0.5).astype(np.float64)
