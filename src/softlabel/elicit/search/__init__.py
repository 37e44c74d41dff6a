"""Search: a few classes or branches out of thousands, found by typing, with chips on them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from softlabel.elicit import fields
from softlabel.elicit.chips import ChipCount
from softlabel.elicit.fields import Tree
from softlabel.elicit.mode import Answer, Branch, Field, Labels, Payload, Rng, Seconds
from softlabel.errors import ResponseError
from softlabel.registry import check_parameters
from softlabel.tables import Floats, Ints

MOST_PICKS = 5


@dataclass(frozen=True)
class Search:
    """Up to five classes or branches with ``n`` chips on them, and which branches are possible.

    ``path`` separates the steps in the names of classes: of "animal/cat/tabby", "animal" and
    "animal/cat" are branches.  Chips on a branch are shared evenly by the classes in it.  No pick
    may lie in another, unless the outer one has ``"stop": true``: somewhere in this branch, I
    cannot say where.  If a name is both a class and a branch, ``stop`` means the branch.  With a
    ``scope`` everything outside its branches is impossible, everything in them possible; without
    one, ``rest`` decides about what was not picked.  A contradictory answer is refused.

    On the page the picks share the chips equally until somebody changes that; ``even`` records that
    nobody did.  Answers of versions 1 and 2, in which the first pick began with all chips, are read
    in the same way.
    """

    n: ChipCount = 20
    path: str = "/"

    name: ClassVar[str] = "search"
    version: ClassVar[int] = 3
    earlier: ClassVar[tuple[int, ...]] = (1, 2)
    paper: ClassVar[str] = "ours; the many classes that Collins, Bhatt & Weller 2022 leave open"
    fields: ClassVar[tuple[Field, ...]] = (
        Field("picks", "chips", True, "Which classes could it be, and how many chips on each?"),
        Field("scope", "subset", False, "Outside which branches is it definitely not?"),
        Field("rest", "rest", False, "And all the others?"),
    )
    recorded: ClassVar[tuple[str, ...]] = ("n", "queries", "repeated", "even")
    scripts: ClassVar[tuple[str, ...]] = ("finding.js", "matching.js", "picks.js", "browsing.js")
    seconds: ClassVar[Seconds] = Seconds(9.0)  # predicted by a keystroke-level model

    def rules(self) -> dict[str, Any]:
        check_parameters(self)
        return {"n": self.n, "picks": MOST_PICKS, "path": self.path}

    def read(self, payload: Payload, labels: Labels) -> Answer:
        check_parameters(self)
        fields.refuse_unknown_keys(payload, self.fields, self.recorded)
        fields.read_whole("n", payload.get("n"), self.n, self.n)
        fields.check_texts("queries", payload.get("queries"))
        fields.check_repeated(payload)
        fields.check_flag("even", payload.get("even"))
        tree = fields.build_tree(tuple(labels), self.path)
        picks = self._read_picks(payload["picks"], tree)
        laid = sum(picks.values())
        reason = f"exactly {self.n} chips must lie on the picks, not {laid}"
        fields.refuse_if(payload, (laid != self.n, "picks", reason))
        percent, first = np.zeros(len(labels)), np.zeros(len(labels))
        for number, (node, chips) in enumerate(picks.items()):
            codes = tree.below(node)
            first[codes] = np.where(percent[codes] > 0, first[codes], number)
            percent[codes] += fields.share_evenly(100 * chips / self.n, len(codes))
        # the likeliest first, then as picked, then by name; never by the order of the classes
        named = np.lexsort((tree.rank, first, -percent))[: np.count_nonzero(percent)]
        scope = fields.read_classes("scope", payload.get("scope"), tree.wholes, "class or branch")
        possible = np.full(len(labels), fields.read_rest(payload) != "ruled_out" and not scope)
        for node in scope:
            possible[tree.below(node)] = True
        reason = "a class that holds chips lies outside the branches that are still possible"
        fields.refuse_if(payload, (bool(scope) and not possible[named].all(), "scope", reason))
        possible[named] = True
        branches = tuple(
            Branch(tree.names[node], 100 * chips / self.n, tree.below(node))
            for node, chips in picks.items()
            if tree.branch[node]
        )
        shares = tuple(percent[named].tolist())
        return Answer(tuple(named.tolist()), shares, possible, branches=branches)

    def _read_picks(self, value: Any, tree: Tree) -> dict[int, int]:
        """Return the chips on each node, in the order picked."""
        entries = fields.read_list("picks", value, "picks")
        if not 1 <= len(entries) <= MOST_PICKS:
            raise ResponseError("picks", value, f"1 to {MOST_PICKS} classes can be picked")
        picks: list[tuple[int, int]] = []
        holders = set()  # names of picks that may hold another
        for entry in entries:
            if not isinstance(entry, Mapping) or not {"node", "chips"} <= set(entry):
                raise ResponseError("picks", entry, "a pick has a node and chips")
            if odd := set(entry) - {"node", "chips", "stop"}:
                raise ResponseError("picks", entry, f"a pick has no {min(map(str, odd))!r}")
            stop = entry.get("stop", False)
            if not isinstance(stop, bool):
                raise ResponseError("picks", entry, "stop must be true or false")
            nodes = tree.wholes if stop else tree.nodes
            node = fields.read_class("picks", entry["node"], nodes, "class or branch")
            picks.append((node, fields.read_whole("picks", entry["chips"], 1, self.n)))
            if stop or not tree.branch[node]:
                holders.add(tree.names[node])
        names = [tree.names[node] for node, _ in picks]
        for name in names:
            if names.count(name) > 1:
                raise ResponseError("picks", value, f"{name!r} is picked twice")
            inside = [other for other in names if name in fields.list_branches(other, self.path)]
            if inside and name not in holders:
                reason = f"{inside[0]!r} lies in {name!r}; only a pick with stop may hold another"
                raise ResponseError("picks", value, reason)
        return dict(picks)

    def simulate(self, belief: Floats, labels: Labels, rng: Rng) -> dict[str, Any]:
        """Open branches, the heaviest first, until five picks fit the belief best."""
        check_parameters(self)
        tree = fields.build_tree(tuple(labels), self.path)
        mass = tree.masses(belief)
        nudged = mass + rng.random(len(mass)) * 1e-12  # so that ties fall at random
        nodes = min(_frontiers(tree, nudged), key=lambda nodes: _misfit(tree, mass, nodes))
        laid = dict(zip(nodes, fields.apportion(mass[nodes], self.n, rng).tolist(), strict=True))
        picked = {node: chips for node, chips in laid.items() if chips}
        names = [tree.names[node] for node in picked]
        picks = []
        for (node, chips), name in zip(picked.items(), names, strict=True):
            stop = {} if tree.nodes[name] == node else {"stop": True}  # a branch, also a class
            picks.append({"node": name, "chips": chips, **stop})
        even = list(picked.values()) == split_evenly(self.n, len(picked))
        outermost = dict.fromkeys((*fields.list_branches(n, self.path), n)[0] for n in names)
        enough = mass[list(picked)].sum() > 0.95
        inside = not enough and mass[[tree.wholes[name] for name in outermost]].sum() > 0.98
        return {
            "n": self.n,
            "picks": picks,
            "scope": list(outermost) if inside else [],
            "rest": "ruled_out" if enough or inside else "possible",
            "queries": [name.rpartition(self.path or "/")[2][:3] for name in names],
            **({"even": True} if even and len(picked) > 1 else {}),
        }

    def operate(self, page: Any, answer: Payload, labels: Labels) -> None:
        """Find each pick by typing, write its chips where they are not equal shares, limit the
        branches, and click the rest."""
        picks = answer["picks"]
        for pick in picks:
            page.fill("#search-box", pick["node"].rpartition("/")[2])
            page.locator(f'#found [data-name="{pick["node"]}"]').first.click()
        wanted = [pick["chips"] for pick in picks]
        more = np.subtract(wanted, split_evenly(self.n, len(picks)))
        # the first one has what the others leave; whoever gives comes before who takes
        for place in sorted(range(1, len(picks)), key=lambda place: int(more[place])):
            if more.any():
                page.locator(".pick").nth(place).locator("button.count").click()
                page.locator("input.count").fill(str(wanted[place]))
                page.locator("input.count").press("Enter")
        for branch in answer["scope"]:
            page.locator(".scope button", has_text=branch.rpartition("/")[2]).first.click()
        fields.click_rest(page, answer["rest"])


def split_evenly(n: int, parts: int) -> list[int]:
    """Divide ``n`` chips equally; the first parts get what does not divide, as on the page."""
    return [n // parts + (place < n % parts) for place in range(parts)]


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
