"""Inspection: whom the rules exclude and why, and how the labels change without them."""

from dataclasses import dataclass, replace
from math import nan

import numpy as np

from softlabel.aggregate import Aggregate
from softlabel.annotators.cards import compare_with_others
from softlabel.annotators.rules import FEW, Rules, Verdict, find_usual, judge
from softlabel.construct import Construct
from softlabel.errors import DataError
from softlabel.metrics import total_variation
from softlabel.sampling import one_per_annotator
from softlabel.tables import Annotations, Floats, Ints, SoftLabels, Statements


@dataclass(frozen=True, eq=False)
class Inspection:
    """The verdict on every annotator, and the labels with and without those who are excluded."""

    rules: Rules
    verdicts: list[Verdict]
    before: SoftLabels
    after: SoftLabels

    @property
    def out(self) -> list[Verdict]:
        """Those whom the rules exclude."""
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
        """How many items have another most probable class afterwards."""
        both = self.before.answered & self.after.answered
        tops = (labels.probs[both].argmax(axis=1) for labels in (self.before, self.after))
        return int(np.not_equal(*tops).sum())

    @property
    def lost(self) -> Ints:
        """Codes of the items that nobody who stays has answered."""
        return np.flatnonzero(self.before.answered & ~self.after.answered)


def inspect(
    answers: Statements | Annotations,
    rules: Rules,
    construct: Construct,
    aggregate: Aggregate,
    gold: Ints | None = None,
    seconds: Floats | None = None,
) -> Inspection:
    """Judge all annotators, repeats included; labels count each person once per item.  Votes are
    used as they are, and voters who agree unusually little with the others get a remark."""
    if answers.anonymous:
        raise DataError(
            "annotators cannot be inspected: some answers do not say who gave them; 'softlabel "
            "label' and 'softlabel agree' work without annotators"
        )
    verdicts = judge(answers, rules, gold, seconds)
    out = {verdict.annotator for verdict in verdicts if not verdict.keep}
    names = answers.index.annotators.tolist()
    stays = np.array([name not in out for name in names], dtype=np.bool_)
    if isinstance(answers, Annotations):
        agreement = {card.annotator: card.agreement for card in compare_with_others(answers)}
        usual = find_usual((), (agreement[one.annotator] for one in verdicts if one.answers >= FEW))
        for n, one in enumerate(verdicts):
            unusual = usual.flags(one.answers, nan, agreement[one.annotator])
            verdicts[n] = replace(one, remarks=(*one.remarks, *unusual))
    labels = answers if isinstance(answers, Annotations) else construct(answers)
    once = one_per_annotator(labels)
    return Inspection(rules, verdicts, aggregate(once), aggregate(once.take(stays[once.annotator])))
