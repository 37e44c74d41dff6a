"""All that is known of one paper: its facts, and its claims under each recipe, judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from softlabel.datasets import MissingData
from softlabel.io import Tell, silent
from softlabel.papers.claims import stored
from softlabel.papers.claims.claims import RECIPES, Claim, Judged, Recipe, judged, verdict
from softlabel.papers.claims.collecting import begun, collect
from softlabel.papers.claims.figures import Figure
from softlabel.papers.claims.papers import Paper
from softlabel.papers.claims.results import Results
from softlabel.papers.claims.scoring import Table
from softlabel.tables import Score

NOT_STORED = "not computed yet"


@dataclass(frozen=True, eq=False)
class Findings:
    """``facts`` of the released data; ``claims`` and ``results`` by recipe."""

    paper: Paper
    facts: Sequence[Judged] = ()
    results: Mapping[Recipe, Results] = field(default_factory=dict)
    claims: Mapping[Recipe, Sequence[Judged]] = field(default_factory=dict)

    @property
    def judged(self) -> dict[Recipe, Sequence[Judged]]:
        """Facts and claims under the name of what they were judged by."""
        facts: dict[Recipe, Sequence[Judged]] = {"data": self.facts} if self.facts else {}
        return facts | dict(self.claims)

    def figures(self) -> list[tuple[Recipe, Figure]]:
        """What the paper draws of each recipe's results."""
        draw = getattr(self.paper, "figures", None)
        if draw is None:
            return []
        return [(recipe, one) for recipe, some in self.results.items() for one in draw(some)]

    def tables(self) -> list[tuple[Recipe, Table]]:
        """Ours beside the paper's, as the paper's module lays them out."""
        lay = getattr(self.paper, "tables", None)
        if lay is None:
            return []
        return [(recipe, one) for recipe, some in self.results.items() for one in lay(some)]


def found(
    paper: Paper, results: Mapping[Recipe, Results], facts: Sequence[Judged] = ()
) -> Findings:
    """Every claim of the paper held against the results of each recipe."""
    known = {recipe: results[recipe] for recipe in RECIPES if recipe in results}
    claims = {
        recipe: [judged(claim, some) for claim in paper.claims(recipe)]
        for recipe, some in known.items()
    }
    return Findings(paper, facts, known, claims)


def shipped(paper: Paper, folder: str | Path = stored.SHIPPED) -> Findings:
    """As the files of results say that come with the package."""
    facts = stored.shipped_facts(paper.NAME, folder)
    told = [_fact(claim, facts.get(claim.id), NOT_STORED) for claim in paper.facts()]
    return found(paper, stored.shipped(paper.NAME, folder), told)


def in_folder(paper: Paper, out: str | Path, facts: Sequence[Judged] = ()) -> Findings:
    """As the runs in a folder say."""
    recipes = [recipe for name, recipe in begun(out) if name == paper.NAME]
    return found(paper, {one: collect(out, paper.NAME, one) for one in recipes}, facts)


def facts(paper: Paper, tell: Tell = silent) -> list[Judged]:
    """What the released data say, computed now; untested where they are not on this machine."""
    told = []
    every = paper.facts()
    for number, claim in enumerate(every):
        tell("facts of the data", number, len(every))
        try:
            told.append(judged(claim, Results([], paper.NAME, "data")))
        except MissingData as missing:
            told.append(_fact(claim, None, f"no data: {str(missing).splitlines()[0]}"))
    return told


def _fact(claim: Claim, score: Score | None, why: str) -> Judged:
    said = verdict(claim, score)
    return Judged(claim, score, said, (claim.reason or why) if said == "untested" else "")
