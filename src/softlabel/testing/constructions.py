"""What every construction promises."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from softlabel.construct import Construct
from softlabel.tables import check_simplex
from softlabel.testing.examples import close, example_statements


def labels_are_on_the_simplex(construct: Construct) -> None:
    for seed in range(5):
        said = example_statements(seed)
        each = construct(said)
        assert len(each) == len(said), "a construction gives one label per answer"
        check_simplex(construct.name, each.soft())


def row_order_does_not_matter(construct: Construct) -> None:
    said = example_statements()
    order = np.random.default_rng(1).permutation(len(said))
    again = construct(said.take(order)).soft()
    close(again, construct(said).soft()[order], "the label depends on the order of the rows")


def renaming_classes_renames_the_label(construct: Construct) -> None:
    said = example_statements()
    order = np.array([2, 0, 3, 1])
    code = np.append(np.argsort(order), -1)  # -1 stays -1
    index = replace(said.index, labels=said.index.labels[order])
    moved = replace(said, index=index, named=code[said.named], possible=said.possible[:, order])
    close(
        construct(moved).soft(),
        construct(said).soft()[:, order],
        "classes in another order give another label",
    )


def ruled_out_classes_get_nothing(construct: Construct) -> None:
    if not construct.ruled_out_stays_zero:
        return
    for seed in range(5):
        said = example_statements(seed)
        some = said.take(said.possible.any(axis=1))  # with all ruled out there is no place to go
        mentioned = np.zeros(some.possible.shape, dtype=np.bool_)
        for column in some.named.T:
            mentioned[np.flatnonzero(column >= 0), column[column >= 0]] = True
        leaked = (construct(some).soft() > 0) & ~some.possible & ~mentioned
        assert not leaked.any(), "a class that was ruled out and not named got mass"


def same_input_same_label(construct: Construct) -> None:
    said = example_statements()
    close(construct(said).soft(), construct(said).soft(), "two calls differ", exact=True)


CONSTRUCT_CHECKS: tuple[Callable[[Construct], None], ...] = (
    labels_are_on_the_simplex,
    row_order_does_not_matter,
    renaming_classes_renames_the_label,
    ruled_out_classes_get_nothing,
    same_input_same_label,
)
