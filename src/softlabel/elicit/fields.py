"""What modes share: checks of the fields of an answer, exact shares, a tree of classes, and how a
simulated person enters a label or the rest on the page.

Each check raises ``ResponseError`` with the field, its value and the reason.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, islice
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from softlabel.elicit.mode import Field, Labels, Payload, Rng
from softlabel.errors import ResponseError, nearest
from softlabel.tables import Bools, Floats, Ints

Rest = Literal["ruled_out", "possible", "unsaid"]
REST: tuple[Rest, ...] = ("ruled_out", "possible", "unsaid")

SHOWN = 20  # classes that an error lists
MANY = 2000  # classes among which a nearest spelling is still found at once
LONGEST = 100  # characters of a name that may be a misspelt class


def refuse_unknown_keys(
    payload: Payload, fields: tuple[Field, ...], also: Collection[str] = ()
) -> None:
    """Refuse unknown keys (``also`` are known, but not asked for) and a missing required field."""
    if not isinstance(payload, Mapping):
        raise ResponseError("answer", payload, "an answer is a set of named fields")
    known = {*(field.name for field in fields), *also}
    for key in payload:
        if key not in known:
            raise ResponseError(str(key), payload[key], f"no such field; there are {sorted(known)}")
    for field in fields:
        if field.required and payload.get(field.name) in (None, ""):
            raise ResponseError(field.name, payload.get(field.name), "this field must be answered")


def number_classes(labels: Labels) -> Mapping[str, int]:
    """Return the code of each class."""
    return _number_classes(tuple(labels))


@lru_cache(maxsize=8)
def _number_classes(labels: tuple[str, ...]) -> Mapping[str, int]:
    return MappingProxyType({label: code for code, label in enumerate(labels)})


def read_class(field: str, value: Any, codes: Mapping[str, int], what: str = "class") -> int:
    """Return the code of a class; an unknown one is refused with the nearest spelling."""
    name = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if isinstance(name, str) and name in codes:
        return codes[name]
    misspelt = isinstance(name, str) and len(name) <= LONGEST and len(codes) <= MANY
    hint = nearest(name, codes) if misspelt else ""
    if not hint:
        more = ", …" if len(codes) > SHOWN else ""
        hint = f"; there are {', '.join(islice(codes, SHOWN))}{more}"
    raise ResponseError(field, value, f"no such {what}{hint}")


def read_list(field: str, value: Any, of: str = "classes") -> list[Any]:
    """Return a list; None is an empty one."""
    if value is None:
        return []
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise ResponseError(field, value, f"must be a list of {of}")
    return list(value)


def read_classes(
    field: str, value: Any, codes: Mapping[str, int], what: str = "class"
) -> list[int]:
    """Return the codes of a list of different classes."""
    classes = [read_class(field, entry, codes, what) for entry in read_list(field, value)]
    if len(set(classes)) != len(classes):
        raise ResponseError(field, value, f"holds a {what} twice")
    return classes


def check_texts(field: str, value: Any) -> None:
    """Check a list of texts that are recorded and not interpreted."""
    if not all(isinstance(entry, str) for entry in read_list(field, value, "texts")):
        raise ResponseError(field, value, "must be a list of texts")


def read_whole(field: str, value: Any, low: int, high: int) -> int:
    if type(value) is not int or not low <= value <= high:
        span = f"from {low} to {high}" if high > low else f"{low}"
        raise ResponseError(field, value, f"must be a whole number, {span}")
    return value


def check_repeated(payload: Payload) -> None:
    """Check ``repeated``: Enter repeated the rest of the item before.  It is only recorded."""
    check_flag("repeated", payload.get("repeated"))


def check_flag(field: str, value: Any) -> None:
    """Check what is true, false or left out, and only recorded."""
    if value is not None and not isinstance(value, bool):
        raise ResponseError(field, value, "must be true or false")


def refuse_if(payload: Payload, *checks: tuple[bool, str, str]) -> None:
    """Refuse an answer by the first (wrong, field, reason) that is wrong."""
    for wrong, field, reason in checks:
        if wrong:
            raise ResponseError(field, payload.get(field), reason)


def read_rest(payload: Payload) -> Rest:
    """Return what was said of everything not named; nothing is ``unsaid``."""
    value = payload.get("rest")
    if value is None:
        return "unsaid"
    if not isinstance(value, str) or value not in REST:
        raise ResponseError("rest", value, f"must be one of {', '.join(REST)}")
    return value


# Percents are whole multiples of this, so that their sums are exact in any order of adding: an
# answer that is complete sums to exactly 100, and no construction takes it for one that is not.
GRAIN = 2.0**-40


def round_down(percent: float) -> float:
    """Return the nearest number of percent below that adds up exactly."""
    return math.floor(percent / GRAIN) * GRAIN


def share_evenly(percent: float, parts: int) -> Floats:
    """Return ``parts`` equal shares; the first also gets what rounding leaves (under 1e-8)."""
    shares = np.full(parts, round_down(percent / parts))
    shares[0] += percent - shares.sum()
    return shares


def order_by_belief(belief: Floats, rng: Rng) -> Ints:
    """Return the classes (k,), the likeliest first; ties come in random order."""
    return np.lexsort((rng.random(len(belief)), -belief))


def apportion(weights: Sequence[float] | Floats, n: int, rng: Rng) -> Ints:
    """Divide ``n`` chips in proportion to weights: whole shares, then the largest remainders."""
    quota = n * np.asarray(weights, dtype=np.float64) / np.sum(weights)
    chips = np.floor(quota + 1e-9).astype(np.int64)
    short = n - int(chips.sum())
    chips[order_by_belief(quota - chips, rng)[:short]] += 1
    return chips


@dataclass(frozen=True, eq=False)
class Tree:
    """Classes whose names are paths ("animal/cat/tabby"), and the branches they lie on.

    Every class is a node, and so is every proper prefix of its path, a branch.  A name may be that
    of a class and of a branch; these are two nodes, the class below the branch.
    ``member[start[i] : start[i + 1]]`` are the classes at or below node i, by name.
    """

    names: tuple[str, ...]
    branch: Bools
    nodes: Mapping[str, int]  # by name; of a class and a branch, the class
    wholes: Mapping[str, int]  # by name; of a class and a branch, the branch
    children: Mapping[int, Ints]
    roots: Ints
    start: Ints
    member: Ints
    rank: Ints  # (k,) the place of each class in the order of names

    def below(self, node: int) -> Ints:
        """Return the codes of the classes at or below a node."""
        return self.member[self.start[node] : self.start[node + 1]]

    def masses(self, belief: Floats) -> Floats:
        """Return the belief in each node: the sum over its classes."""
        return np.asarray(np.add.reduceat(belief[self.member], self.start[:-1]))


@lru_cache(maxsize=8)
def build_tree(labels: tuple[str, ...], path: str) -> Tree:
    """Build the tree of these classes; ``path`` separates the steps of a name."""
    by_name = sorted(range(len(labels)), key=labels.__getitem__)
    inner: dict[str, list[int]] = {}
    for code in by_name:
        for name in list_branches(labels[code], path):
            inner.setdefault(name, []).append(code)
    for code in by_name:
        if labels[code] in inner:
            inner[labels[code]].insert(0, code)
    names = (*labels, *inner)
    branches = {name: len(labels) + number for number, name in enumerate(inner)}
    below = [*([code] for code in range(len(labels))), *inner.values()]
    children: dict[int, list[int]] = {}
    for node, name in enumerate(names):
        over = [name] if node < len(labels) and name in inner else list_branches(name, path)[-1:]
        children.setdefault(branches[over[0]] if over else -1, []).append(node)
    classes = {label: code for code, label in enumerate(labels)}
    rank = np.empty(len(labels), dtype=np.int64)
    rank[by_name] = np.arange(len(labels))
    return Tree(
        names=names,
        branch=np.arange(len(names)) >= len(labels),
        nodes=branches | classes,
        wholes=classes | branches,
        roots=np.array(children.pop(-1)),
        children={node: np.array(nodes) for node, nodes in children.items()},
        start=np.array([0, *accumulate(map(len, below))]),
        member=np.concatenate([np.array(codes) for codes in below]),
        rank=rank,
    )


def list_branches(name: str, path: str) -> list[str]:
    """Return the branches that a name lies on, the outermost first.

    >>> list_branches("animal/cat/tabby", "/")
    ['animal', 'animal/cat']
    """
    if not path:
        return []
    ends = [i for i in range(1, len(name)) if name.startswith(path, i)]
    return [name[:end] for end in ends if end + len(path) < len(name)]


def label_keys(label: str, labels: Labels) -> str:
    """Return the digits that choose a label: its place on this person's page."""
    place = labels.index(label) + 1
    return str(place % 10) if len(labels) <= 10 else f"{place:0{len(str(len(labels)))}d}"


def click_rest(page: Any, rest: str) -> None:
    """Click what is said of the classes not named; if there are none, click on to the next item."""
    choice = page.locator(f'[data-rest="{rest}"]')
    (choice if choice.is_visible() else page.locator('[data-rest="done"]')).click()
