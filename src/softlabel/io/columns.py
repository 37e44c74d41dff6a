"""What columns are called in the field: the one list of names by which a table is recognised.

A name counts in any spelling of its words, with or without ``id``: ``worker``, ``Worker_ID`` and
``workerId`` are one name.  The names of a role stand in groups, the plainest first, and a name of
an earlier group wins: a table with the columns ``item`` and ``id`` has its items in ``item``.  Two
names of one group could both be meant, and are refused.

>>> recognise(["worker_id", "id", "task", "answer", "seconds"])
{'item': 'task', 'annotator': 'worker_id', 'label': 'answer'}
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from softlabel.errors import DataError, UnknownName

ITEM, ANNOTATOR, LABEL, SECONDS = "item", "annotator", "label", "seconds"
Role = Literal[
    "item", "annotator", "label", "gold", "soft", "counts", "votes", "annotators", "count", "kind",
    "seconds", "when", "model", "sample", "score", "logprobs",
]  # fmt: skip

NAMES: Mapping[Role, tuple[tuple[str, ...], ...]] = {
    "item": (
        ("item", "task"),
        ("instance", "example", "sample", "question", "unit", "document", "doc", "uid", "hit"),
        ("id", "key", "index"),
    ),
    "annotator": (
        ("annotator", "worker"),
        ("user", "rater", "coder", "judge", "labeler", "labeller", "performer", "participant"),
        ("reviewer", "assessor", "expert", "person", "respondent", "contributor"),
    ),
    "label": (
        ("label",),
        ("answer", "choice", "vote", "response", "annotation", "judgment", "judgement"),
        ("rating", "class", "category", "value"),
    ),
    # the class that is known of an item
    "gold": (("gold", "gold_label", "true_label"), ("ground_truth", "truth"), ("label",)),
    # one cell holds a whole distribution, or the votes of all annotators by class
    "soft": (("soft_label", "soft_labels"), ("label_dist", "label_distribution", "probs")),
    "counts": (("label_counter", "label_count"),),
    # one cell is a list of all votes for an item, or of those who gave them.  Not ``labels``: there
    # a list is often one answer with several labels.
    "votes": (("annotations", "annotator_labels", "individual_human_scores"), ("votes",)),
    "annotators": (("annotators", "annotator_ids"), ("workers", "worker_ids"), ("users", "raters")),
    # how many annotators gave this row's label
    "count": (("count", "votes"), ("n", "n_votes", "num_votes", "frequency")),
    "kind": (("kind", "annotator_kind"),),
    "seconds": (("seconds",), ("duration", "lead_time", "time_taken", "work_time_in_seconds")),
    "when": (("when",), ("timestamp", "created_at", "submitted_at", "submit_time")),
    # of what models said: who, which of several answers, a number on a scale, and log-probabilities
    "model": (("model", "judge"), ("model_name", "llm")),
    "sample": (("sample",), ("sample_number", "draw")),
    "score": (("score",),),
    "logprobs": (("logprobs", "log_probs"),),
}

MACHINES = ("model", "machine", "llm", "ai", "bot")  # what a column of kinds calls models
APART = (
    "people's answers and models' are not pooled as if they were one; put what models said into a "
    "table of its own, and give it with --judges"
)
ONE_VOTE = (
    "must be 1, as the row names an annotator, who gives one vote; leave out the annotators if a "
    "row stands for several people, else leave out or rename this column"
)


def recognise(
    columns: Sequence[Any], roles: Sequence[str] = (ITEM, ANNOTATOR, LABEL), **given: Any
) -> dict[str, Any]:
    """Return the column that plays each of ``roles``, where there is one; ``given`` are columns
    that the caller named (``item="id"``), and they decide."""
    for role, name in given.items():
        if name not in columns:
            raise UnknownName(f"column for {role}", str(name), map(str, columns))
    taken = list(given.values())
    if len(set(taken)) < len(taken):
        twice = next(name for name in taken if taken.count(name) > 1)
        raise DataError(f"the column {twice!r} was given for two of {', '.join(given)}")
    found = dict(given)
    others = [name for name in columns if name not in taken]
    for role in roles:
        name = None if role in given else find(role, others)  # type: ignore[arg-type]
        if name is not None:
            found[role] = name
    return found


def find(role: Role, columns: Iterable[str]) -> str | None:
    """Return the column that plays a role, by its name; None if there is none."""
    spelled = {name: normalise(name) for name in columns if isinstance(name, str)}
    for group in NAMES[role]:
        wanted = {normalise(name) for name in group}
        present = [name for name, words in spelled.items() if words in wanted]
        if len(present) > 1:
            names = " and ".join(map(repr, present))
            raise DataError(f"both {names} are there, and each could be the {role}; name one")
        if present:
            return present[0]
    return None


def names_of(role: Role, columns: Iterable[str]) -> list[str]:
    """Return the columns whose names are among those of a role."""
    wanted = {normalise(name) for group in NAMES[role] for name in group}
    return [name for name in columns if normalise(name) in wanted]


def normalise(name: str) -> str:
    """Return a name without case, marks between its words, and an ``id`` at its end.

    >>> [normalise(name) for name in ("Worker ID", "workerId", "WORKER", "id", "uid")]
    ['worker', 'worker', 'worker', 'id', 'uid']
    """
    words = re.sub(r"[\W_]+", "", name.lower())
    return words if words in ("id", "uid") else words.removesuffix("id")
