"""The outcome of a replay as a page in Markdown."""

from __future__ import annotations

from softlabel.papers.claims import Table
from softlabel.papers.pools.pooling import Outcome

HEAD = """\
# The pools, replayed

Votes of each item in random order: the first ones build the label, the others judge it.  KL is the
mean over items of KL(held-out shares || label), in nats; KL* subtracts the entropy of all votes
instead of that of the few held out.  "Other images": the prior was fitted on images outside the
fold (2 folds on all images, 5 on the 1,000); "same images": on the few votes themselves.
± is 1.96 standard errors over items.  Policies for whom to ask next are not part of this replay.
"""


def markdown(outcome: Outcome) -> str:
    """The whole page."""
    note = "\nA quick look: one split, a fifth of the images.\n" if outcome.quick else ""
    return "\n".join([HEAD + note, *map(_section, [target_table(outcome), *outcome.tables])])


def target_table(outcome: Outcome) -> Table:
    """Each target, ours beside it, and whether it is met."""
    rows: list[tuple[str, ...]] = [
        (one.what, one.target, one.ours, "pass" if one.met else "FAIL") for one in outcome.targets
    ]
    return Table("Targets", ("what", "target", "ours", ""), rows)


def _section(table: Table) -> str:
    lines = [table.columns, tuple("---" for _ in table.columns), *table.rows]
    text = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"## {table.title}\n\n{text}\n"
