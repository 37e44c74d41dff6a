"""Classes whose names are paths ("animal/cat/tabby"), and the branches they lie on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

import numpy as np

from softlabel.tables import Bools, Floats, Ints


@dataclass(frozen=True, eq=False)
class Tree:
    """Nodes are numbered: a class has one, and so has every proper prefix of its path, a branch.

    A name may be that of a class and of a branch; then these are two nodes, the class below the
    branch.  ``member[start[i] : start[i + 1]]`` are the classes at or below node i, by name.
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
        """Codes of the classes at or below a node."""
        return self.member[self.start[node] : self.start[node + 1]]

    def masses(self, belief: Floats) -> Floats:
        """What is believed of each node, all its classes together."""
        return np.asarray(np.add.reduceat(belief[self.member], self.start[:-1]))


@lru_cache(maxsize=8)
def tree_of(labels: tuple[str, ...], path: str) -> Tree:
    """The tree of these classes; ``path`` separates the steps, and without it there are none."""
    by_name = sorted(range(len(labels)), key=labels.__getitem__)
    inner: dict[str, list[int]] = {}
    for code in by_name:
        for name in prefixes(labels[code], path):
            inner.setdefault(name, []).append(code)
    for code in by_name:
        if labels[code] in inner:
            inner[labels[code]].insert(0, code)
    names = (*labels, *inner)
    branches = {name: len(labels) + number for number, name in enumerate(inner)}
    below = [*([code] for code in range(len(labels))), *inner.values()]
    children: dict[int, list[int]] = {}
    for node, name in enumerate(names):
        over = [name] if node < len(labels) and name in inner else prefixes(name, path)[-1:]
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


def prefixes(name: str, path: str) -> list[str]:
    """The branches that a name lies on, from the outermost.

    >>> prefixes("animal/cat/tabby", "/")
    ['animal', 'animal/cat']
    """
    if not path:
        return []
    ends = [i for i in range(1, len(name)) if name.startswith(path, i)]
    return [name[:end] for end in ends if end + len(path) < len(name)]
