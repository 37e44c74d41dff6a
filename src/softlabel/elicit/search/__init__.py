"""Search: a few classes or branches out of thousands, found by typing, with chips on them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from softlabel.elicit.chips import ChipCount
from softlabel.elicit.fields import (
    Tree,
    apportion,
    build_tree,
    check_repeated,
    check_texts,
    click_rest,
    list_branches,
    read_class,
    read_classes,
    read_list,
    read_rest,
    read_whole,
    refuse_unknown_keys,
    share_evenly,
)
from softlabel.elicit.mode import Answer, Field, Labels, Payload, Rng, Seconds
from softlabel.errors import ResponseError
from softlabel.registry import check_parameters
from softlabel.tables import Bools, Floats, Ints

MOST_PICKS = 5


class Pick(NamedTuple):
    """A node of the tree, the chips on it, and whether others may lie below it."""

    node: int
    chips: int
    stop: bool


@dataclass(frozen=True)
class Search:
    """Up to five classes or branches with ``n`` chips on them, and which branches are possible.

    ``path`` separates the steps in the names of classes: of "animal/cat/tabby", "animal" and
    "animal/cat" are branches.  Chips on a branch are shared evenly by the classes in it.  No pick
    may lie in another, unless the outer one has ``"stop": true``: somewhere in this branch, I
    cannot say where.  If a name is both a class and a branch, ``stop`` means the branch.  With a
    ``scope`` everything outside its branches is impossible, everything in them possible; without
    one, ``rest`` decides about what was not picked.  A contradictory answer is refused.
    """

    n: ChipCount = 20
    path: str = "/"

    name: ClassVar[str] = "search"
    version: ClassVar[int] = 2
    earlier: ClassVar[tuple[int, ...]] = (1,)
    paper: ClassVar[str] = "ours; the many classes that Collins, Bhatt & Weller 2022 leave open"
    fields: ClassVar[tuple[Field, ...]] = (
        Field("picks", "chips", True, "Which classes could it be, and how many chips on each?"),
        Field("scope", "subset", False, "Outside which branches is it definitely not?"),
        Field("rest", "rest", False, "And all the others?"),
    )
    recorded: ClassVar[tuple[str, ...]] = ("n", "queries", "repeated")
    scripts: ClassVar[tuple[str, ...]] = ("finding.js",)
    seconds: ClassVar[Seconds] = Seconds(9.0)  # predicted by a keystroke-level model

    def rules(self) -> dict[str, Any]:
        check_parameters(self)
        return {"n": self.n, "picks": MOST_PICKS, "path": self.path}

    def read(self, payload: Payload, labels: Labels) -> Answer:
        check_parameters(self)
        refuse_unknown_keys(payload, self.fields, self.recorded)
        read_whole("n", payload.get("n"), self.n, self.n)
        check_texts("queries", payload.get("queries"))
        check_repeated(payload)
        tree = build_tree(tuple(labels), self.path)
        picks = self._read_picks(payload["picks"], tree)
        percent, first = np.zeros(len(labels)), np.zeros(len(labels))
        for number, pick in enumerate(picks):
            codes = tree.below(pick.node)
            first[codes] = np.where(percent[codes] > 0, first[codes], number)
            percent[codes] += share_evenly(100 * pick.chips / self.n, len(codes))
        # the likeliest first, then as picked, then by name; never by the order of the classes
        named = np.lexsort((tree.rank, first, -percent))[: np.count_nonzero(percent)]
        possible = _read_possible(payload, tree, percent > 0)
        return Answer(tuple(named.tolist()), tuple(percent[named].tolist()), possible)

    def _read_picks(self, value: Any, tree: Tree) -> list[Pick]:
        entries = read_list("picks", value, "picks")
        if not 1 <= len(entries) <= MOST_PICKS:
            raise ResponseError("picks", value, f"1 to {MOST_PICKS} classes can be picked")
        picks = [self._read_pick(entry, tree) for entry in entries]
        names = [tree.names[pick.node] for pick in picks]
        for pick, name in zip(picks, names, strict=True):
            if names.count(name) > 1:
                raise ResponseError("picks", value, f"{name!r} is picked twice")
            inside = [other for other in names if name in list_branches(other, self.path)]
            if inside and tree.branch[pick.node] and not pick.stop:
                reason = f"{inside[0]!r} lies in {name!r}; only a pick with stop may hold another"
                raise ResponseError("picks", value, reason)
        laid = sum(pick.chips for pick in picks)
        if laid != self.n:
            raise ResponseError(
                "picks", value, f"exactly {self.n} chips must lie on the picks, not {laid}"
            )
        return picks

    def _read_pick(self, entry: Any, tree: Tree) -> Pick:
        if not isinstance(entry, Mapping) or not {"node", "chips"} <= set(entry):
            raise ResponseError("picks", entry, "a pick has a node and chips")
        if odd := set(entry) - {"node", "chips", "stop"}:
            raise ResponseError("picks", entry, f"a pick has no {min(map(str, odd))!r}")
        stop = entry.get("stop", False)
        if not isinstance(stop, bool):
            raise ResponseError("picks", entry, "stop must be true or false")
        node = read_class(
            "picks", entry["node"], tree.wholes if stop else tree.nodes, "class or branch"
        )
        return Pick(node, read_whole("picks", entry["chips"], 1, self.n), stop)

    def simulate(self, belief: Floats, labels: Labels, rng: Rng) -> dict[str, Any]:
        """Open branches, the heaviest first, until five picks fit the belief best."""
        check_parameters(self)
        tree = build_tree(tuple(labels), self.path)
        mass = tree.masses(belief)
        nudged = mass + rng.random(len(mass)) * 1e-12  # so that ties fall at random
        nodes = min(_frontiers(tree, nudged), key=lambda nodes: _misfit(tree, mass, nodes))
        laid = dict(zip(nodes, apportion(mass[nodes], self.n, rng).tolist(), strict=True))
        picked = {node: chips for node, chips in laid.items() if chips}
        scope, rest = _limit(tree, mass, list(picked), self.path)
        return {
            "n": self.n,
            "picks": [_entry(tree, node, chips) for node, chips in picked.items()],
            "scope": scope,
            "rest": rest,
            "queries": [tree.names[node].rpartition(self.path or "/")[2][:3] for node in picked],
        }

    def operate(self, page: Any, answer: Payload, labels: Labels) -> None:
        """Find each pick by typing, give it its chips, limit the branches, and click the rest."""
        for place, pick in enumerate(answer["picks"]):
            page.fill("#search-box", pick["node"].rpartition("/")[2])
            page.locator(f'#found [data-name="{pick["node"]}"]').click()
            for _ in range(pick["chips"] if place else 0):
                page.locator(".pick").nth(place).locator("button.step").last.click()
        for branch in answer["scope"]:
            page.locator(".scope button", has_text=branch.rpartition("/")[2]).first.click()
        click_rest(page, answer["rest"])


def _read_possible(payload: Payload, tree: Tree, picked: Bools) -> Bools:
    """Return the possible classes: those picked, and the scope or else what ``rest`` leaves."""
    scope = read_classes("scope", payload.get("scope"), tree.wholes, "class or branch")
    rest = read_rest(payload)
    if not scope:
        return picked | (rest != "ruled_out")
    possible = np.zeros_like(picked)
    for node in scope:
        possible[tree.below(node)] = True
    if not possible[picked].all():
        reason = "a class that holds chips lies outside the branches that are still possible"
        raise ResponseError("scope", payload["scope"], reason)
    return possible


# ── a simulated person ───────────────────────────────────────────────────────────────────────


def _entry(tree: Tree, node: int, chips: int) -> dict[str, Any]:
    """Return a pick as it is recorded; ``stop`` marks a branch that is also a class."""
    name = tree.names[node]
    return {"node": name, "chips": chips} | ({} if tree.nodes[name] == node else {"stop": True})


def _frontiers(tree: Tree, mass: Floats) -> Iterator[list[int]]:
    """Yield the five heaviest nodes, none inside another: first the outermost, then with ever more
    branches opened, until only classes are left."""

    def heaviest(nodes: Ints) -> list[int]:
        return [int(node) for node in nodes[np.argsort(-mass[nodes])][:MOST_PICKS]]

    nodes = heaviest(tree.roots)
    yield nodes
    while closed := [node for node in nodes if tree.branch[node]]:
        fullest = max(closed, key=lambda node: float(mass[node]))
        others = np.array([node for node in nodes if node != fullest], dtype=np.int64)
        nodes = heaviest(np.concatenate([others, tree.children[fullest]]))
        yield nodes


def _misfit(tree: Tree, mass: Floats, nodes: list[int]) -> float:
    """Return the distance between chips on these nodes and the belief."""
    belief = mass[~tree.branch]
    label = np.zeros_like(belief)
    for node in nodes:
        codes = tree.below(node)
        label[codes] = mass[node] / len(codes)
    return float(abs(label / max(label.sum(), 1e-300) - belief).sum())


def _limit(tree: Tree, mass: Floats, nodes: list[int], path: str) -> tuple[list[str], str]:
    """Return the scope and the rest that a person with this belief would give."""
    if mass[nodes].sum() > 0.95:
        return [], "ruled_out"
    outermost = dict.fromkeys(
        (*list_branches(tree.names[node], path), tree.names[node])[0] for node in nodes
    )
    if mass[[tree.wholes[name] for name in outermost]].sum() > 0.98:
        return list(outermost), "ruled_out"
    return [], "possible"
