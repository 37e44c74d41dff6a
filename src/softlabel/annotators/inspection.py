"""Looking at people: who would fall out, why, what that would change; and how far they agree."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import nan

import numpy as np

from softlabel.aggregate import Aggregate
from softlabel.annotators.agree import Card, Distance, alpha_score, cards, observed_agreement
from softlabel.annotators.quality import FEW, Rules, Verdict, judge, usual
from softlabel.construct import Construct
from softlabel.errors import DataError
from softlabel.metrics import mean, total_variation
from softlabel.sampling import one_per_annotator
from softlabel.tables import Annotations, Floats, Ints, Score, SoftLabels, Statements


@dataclass(frozen=True, eq=False)
class Inspection:
    """The verdict on every annotator, and the labels with and without those who fall out."""

    rules: Rules
    verdicts: list[Verdict]
    before: SoftLabels
    after: SoftLabels

    @property
    def out(self) -> list[Verdict]:
        """Those who would fall out."""
        return [verdict for verdict in self.verdicts if not verdict.keep]

    @property
    def moved(self) -> Floats:
        """(m,) total variation between the labels before and after; NaN where either is missing."""
        moved = np.full(len(self.before), np.nan)
        both = self.before.answered & self.after.answered
        moved[both] = total_variation(self.before.probs[both], self.after.probs[both])
        return moved

    @property
    def worst(self) -> tuple[str, float] | None:
        """The item whose label moves most, and how far; None if no item has both labels."""
        if np.isnan(self.moved).all():
            return None
        code = int(np.nanargmax(self.moved))
        return str(self.before.index.items[code]), float(self.moved[code])

    @property
    def top_changed(self) -> int:
        """Items whose most probable class is another one afterwards."""
        both = self.before.answered & self.after.answered
        tops = (labels.probs[both].argmax(axis=1) for labels in (self.before, self.after))
        return int(np.not_equal(*tops).sum())

    @property
    def lost(self) -> Ints:
        """Codes of items that nobody who stays has answered."""
        return np.flatnonzero(self.before.answered & ~self.after.answered)


def inspect(
    said: Statements | Annotations,
    rules: Rules,
    construct: Construct,
    aggregate: Aggregate,
    gold: Ints | None = None,
    seconds: Floats | None = None,
) -> Inspection:
    """Judge all annotators, repeats included; labels count each person once per item.

    Votes are not constructed, and of voters it is remarked besides who is alone with their opinion.
    """
    if said.anonymous:
        raise DataError("annotators cannot be inspected: some answers are anonymous")
    verdicts = judge(said, rules, gold, seconds)
    out = {verdict.annotator for verdict in verdicts if not verdict.keep}
    stays = np.array([name not in out for name in said.index.annotators.tolist()], dtype=np.bool_)
    if isinstance(said, Annotations):
        verdicts = _beside(verdicts, said)
    each = one_per_annotator(said if isinstance(said, Annotations) else construct(said))
    return Inspection(rules, verdicts, aggregate(each), aggregate(each.take(stays[each.annotator])))


def _beside(verdicts: list[Verdict], votes: Annotations) -> list[Verdict]:
    """With a remark on those who agree unusually little with the others."""
    agreement = {card.annotator: card.agreement for card in cards(votes)}
    common = usual((), (agreement[one.annotator] for one in verdicts if one.answers >= FEW))
    return [
        replace(
            one, remarks=(*one.remarks, *common.flags(one.answers, nan, agreement[one.annotator]))
        )
        for one in verdicts
    ]


@dataclass(frozen=True, eq=False)
class Agreement:
    """How far people agree: chance of naming the same class, alpha, and a card per annotator."""

    items: int
    shared: int  # items with two answers or more; the scores are over these
    observed: Score
    alpha: Score
    cards: list[Card]  # who agrees least with the others first; empty for anonymous answers


def agreement(each: Annotations, distance: Distance = "brier", draws: int = 500) -> Agreement:
    """All of it, with bootstrap intervals over the items that have two answers or more."""
    count = each.votes_per_item()
    if not (count > 1).any():
        raise DataError("no item has two answers, so there is nothing to compare")
    people = [] if each.anonymous else [card for card in cards(each) if card.answers]
    return Agreement(
        items=int((count > 0).sum()),
        shared=int((count > 1).sum()),
        observed=mean(observed_agreement(each)[count > 1], draws=draws),
        alpha=alpha_score(each, distance, draws=draws),
        cards=sorted(people, key=lambda card: (np.isnan(card.agreement), card.agreement)),
    )
