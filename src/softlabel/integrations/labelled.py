"""A torch data set whose labels are those of a delivery, epoch by epoch."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch.utils.data import Dataset

from softlabel.deliver import Deliver, Draws, TrainingLabels
from softlabel.errors import DataError
from softlabel.integrations.huggingface import start_delivery


class LabelledDataset(Dataset[Any]):
    """``inputs`` (m rows of anything) with the targets that ``deliver`` makes of ``teaching``.

    A row is a pair of input and target (k,) float32; a row that is a mapping (as of a Hugging Face
    data set) stays one, with the target under ``labels``.  Call ``set_epoch`` before each epoch,
    as for a ``DistributedSampler``: deliveries that draw, draw anew.  A draw belongs to seed,
    epoch and item, so workers, batches, shuffling and a resumed run change nothing; the epoch is
    kept in shared memory, so persistent workers see it too.  Rows of pandas are counted, whatever
    their index.  ``items`` are the names of the rows: another order than that of the labels is
    refused.
    """

    def __init__(
        self,
        inputs: Any,
        teaching: TrainingLabels,
        deliver: Deliver | str,
        seed: int = 0,
        transform: Callable[[Any], Any] | None = None,
        items: Sequence[Any] | None = None,
    ) -> None:
        self._draws = Draws(seed)
        self._delivery = start_delivery(teaching, deliver, self._draws)
        for rows, what in ((inputs, "inputs"), (items, "names of items")):
            if rows is not None and len(rows) != len(teaching):
                raise DataError(f"{len(rows)} {what} and labels of {len(teaching)} items")
        if items is not None:
            teaching.check_items(items)
        self.inputs, self.transform = inputs, transform
        self._epoch = torch.zeros(1, dtype=torch.int64).share_memory_()

    @property
    def epoch(self) -> int:
        """The epoch whose labels are handed out."""
        return int(self._epoch.item())

    def set_epoch(self, epoch: int) -> None:
        """Hand out the labels of this epoch from the next row on, in all workers."""
        if epoch < 0:
            raise DataError(f"epoch {epoch}: epochs are counted from 0")
        self._epoch[0] = epoch

    def targets(self, indices: Sequence[int]) -> torch.Tensor:
        """Return (b, k) float32, the targets of these items in this epoch."""
        rows = self._delivery.labels_for(self.epoch, np.asarray(indices, np.int64), self._draws)
        return torch.from_numpy(np.array(rows, dtype=np.float32))

    def __len__(self) -> int:
        return len(self.inputs)

    def __getitem__(self, index: int) -> Any:
        return self.__getitems__([index])[0]

    def __getitems__(self, indices: list[int]) -> list[Any]:
        """Return a whole batch for a ``DataLoader``, its labels made in one go."""
        m = len(self)
        places = [int(i) + m if i < 0 else int(i) for i in indices]
        outside = [i for i in places if not 0 <= i < m]
        if outside:  # a plain loop over the data set ends with this, as over a list
            raise IndexError(f"item {outside[0]} of {m}")
        targets = self.targets(places)
        inputs = getattr(self.inputs, "iloc", self.inputs)  # of pandas, [] takes names
        rows = [inputs[i] for i in places]
        if self.transform is not None:
            rows = [self.transform(row) for row in rows]
        return [
            {**row, "labels": target} if isinstance(row, Mapping) else (row, target)
            for row, target in zip(rows, targets, strict=True)
        ]
