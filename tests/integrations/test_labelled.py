"""Labels of a torch data set belong to seed, epoch and item, whoever asks and in what order."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch
from torch.utils.data import DataLoader

from softlabel import Annotations, Index
from softlabel.aggregate import Mean
from softlabel.deliver import SLS, Aggregate, Draws, Hard, PerAnnotator, TrainingLabels
from softlabel.errors import DataError, SoftlabelError, UnknownName
from softlabel.integrations import LabelledDataset

M, K = 12, 3


@pytest.fixture
def teaching() -> TrainingLabels:
    """Twelve items, two people, three classes."""
    index = Index([f"i{i}" for i in range(M)], ["ann", "bob"], ["a", "b", "c"])
    rng = np.random.default_rng(0)
    item, person = np.repeat(np.arange(M), 2), np.tile([0, 1], M)
    each = Annotations(index, item, person, probs=rng.dirichlet(np.ones(K), 2 * M))
    return TrainingLabels.of(Mean()(each), each)


INPUTS = np.arange(M * 2, dtype=np.float32).reshape(M, 2)


def epochs(loader, data, count=3):
    """Inputs and targets in the order of the items, epoch by epoch."""
    for epoch in range(count):
        data.set_epoch(epoch)
        rows, targets = (torch.cat(part) for part in zip(*loader, strict=True))
        order = rows[:, 0].argsort()
        yield rows[order].numpy(), targets[order].numpy()


@pytest.mark.parametrize("deliver", [Hard(), Aggregate(), PerAnnotator(), SLS()])
def test_labels_are_those_of_the_delivery(teaching, deliver):
    data = LabelledDataset(INPUTS, teaching, deliver, seed=5)
    delivery = deliver(teaching, Draws(5))
    for epoch, (rows, targets) in enumerate(epochs(DataLoader(data, batch_size=5), data)):
        wanted = delivery.labels_for(epoch, np.arange(M), Draws(5))
        np.testing.assert_array_equal(rows, INPUTS)
        np.testing.assert_array_equal(targets, wanted.astype(np.float32))


@pytest.mark.parametrize(
    "options",
    [
        {"batch_size": 4},
        {"batch_size": 5, "shuffle": True},
        {"batch_size": 3, "num_workers": 1},
        {"batch_size": 2, "num_workers": 2, "persistent_workers": True, "shuffle": True},
    ],
    ids=["plain", "shuffled", "one worker", "persistent workers"],
)
def test_workers_batches_and_order_change_nothing(teaching, options):
    data = LabelledDataset(INPUTS, teaching, SLS(), seed=1)
    alone = [
        (data.set_epoch(epoch), np.stack([target for _, target in data]))[1] for epoch in range(3)
    ]
    assert not np.array_equal(alone[0], alone[1])  # it does draw anew
    found = [targets for _, targets in epochs(DataLoader(data, **options), data)]
    np.testing.assert_array_equal(found, alone)


def test_a_seed_is_a_run_and_a_resumed_run_goes_on(teaching):
    first, again, other = (
        LabelledDataset(INPUTS, teaching, SLS(), seed=seed) for seed in (3, 3, 4)
    )
    for data in (first, again, other):
        data.set_epoch(7)
    everything = list(range(M))
    assert torch.equal(first.targets(everything), again.targets(everything))
    assert not torch.equal(first.targets(everything), other.targets(everything))
    assert first.epoch == 7


def test_rows_that_are_mappings_keep_their_keys(teaching):
    texts = [{"input_ids": [i, i + 1]} for i in range(M)]
    row = LabelledDataset(texts, teaching, Aggregate())[2]
    assert row["input_ids"] == [2, 3]
    np.testing.assert_allclose(row["labels"].numpy(), teaching.pooled[2], rtol=1e-6)


def test_rows_of_pandas_go_by_their_place(teaching):
    """An index of numbers in another order, of text, and the columns of a table."""
    texts = [f"text {i}" for i in range(M)]
    for index in (range(M)[::-1], [f"i{i}" for i in range(M)]):
        table = pd.DataFrame({0: texts, "length": range(M)}, index=index)
        data = LabelledDataset(table[0], teaching, "hard")
        rows, targets = zip(*data, strict=True)
        assert list(rows) == texts
        np.testing.assert_array_equal(np.stack(targets), np.eye(K)[teaching.hard])
        assert LabelledDataset(table, teaching, "hard")[2][0].tolist() == ["text 2", 2]
    with pytest.raises(DataError, match="row 0 is item '11', and its label is that of item 'i0'"):
        LabelledDataset(texts, teaching, "hard", items=pd.Series(range(M)[::-1]))


def test_inputs_are_transformed_and_counted_from_the_end_too(teaching):
    pairs = [(f"picture {i}", 99) for i in range(M)]  # as of a data set with classes of its own
    data = LabelledDataset(pairs, teaching, Hard(), transform=lambda pair: pair[0])
    assert data[-1][0] == data[M - 1][0] == f"picture {M - 1}"
    assert data[-1][1].tolist() == np.eye(K)[teaching.hard[-1]].tolist()
    assert len(list(data)) == len(data) == M


def test_mistakes_are_named(teaching):
    with pytest.raises(DataError, match="11 inputs and labels of 12 items"):
        LabelledDataset(INPUTS[1:], teaching, Hard())
    data = LabelledDataset(INPUTS, teaching, Hard())
    with pytest.raises(IndexError, match="item 12 of 12"):
        data[M]
    with pytest.raises(DataError, match="epoch -1"):
        data.set_epoch(-1)
    with pytest.raises(UnknownName, match=r"no deliver called 'sl' \(did you mean 'sls'\?\)"):
        LabelledDataset(INPUTS, teaching, "sl")
    with pytest.raises(SoftlabelError, match=r"teaching is Label.*, not TrainingLabels; Train"):
        LabelledDataset(INPUTS, Mean()(teaching.each), Hard())


def test_a_network_learns_from_it(teaching):
    """A loop as people write it: the loss falls to the entropy of the labels and no further."""
    from softlabel.train.losses import soft_cross_entropy

    data = LabelledDataset(torch.eye(M), teaching, Aggregate())
    with torch.random.fork_rng():
        torch.manual_seed(0)
        net = torch.nn.Linear(M, K)
    optimiser = torch.optim.Adam(net.parameters(), lr=0.3)
    for epoch in range(60):
        data.set_epoch(epoch)
        for inputs, target in DataLoader(data, batch_size=M):
            loss = soft_cross_entropy(net(inputs), target)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    floor = -(teaching.pooled * np.log(teaching.pooled)).sum(axis=1).mean()
    assert floor - 1e-6 < loss.item() < floor + 1e-3


def test_rows_in_another_order_than_the_labels_are_refused(teaching):
    items = [f"i{i}" for i in range(M)]
    LabelledDataset(INPUTS, teaching, Aggregate(), items=items)
    with pytest.raises(DataError, match="row 2 is item 'i3', and its label is that of item 'i2'"):
        LabelledDataset(INPUTS, teaching, Aggregate(), items=["i0", "i1", "i3", "i2", *items[4:]])
    with pytest.raises(DataError, match="3 names of items and labels of 12 items"):
        LabelledDataset(INPUTS, teaching, Aggregate(), items=items[:3])
