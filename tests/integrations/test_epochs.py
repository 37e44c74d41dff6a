"""Trainers of others hand out the labels of each epoch, once each, where they are installed."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import torch

from softlabel.deliver import SLS, TrainingLabels
from softlabel.integrations import LabelledDataset

M, EPOCHS = 10, 3
TEACHING = TrainingLabels(np.zeros(M, dtype=np.int64), np.full((M, 2), 0.5))


class Recorded(LabelledDataset):
    """Remembers which items were asked for in which epoch."""

    def __init__(self, inputs):
        super().__init__(inputs, TEACHING, SLS(), seed=0)
        self.seen: Counter[tuple[int, int]] = Counter()

    def targets(self, indices):
        self.seen.update((self.epoch, index) for index in indices)
        return super().targets(indices)


ONCE = {(epoch, item): 1 for epoch in range(EPOCHS) for item in range(M)}


@pytest.mark.filterwarnings("default")  # of theirs
def test_in_a_trainer_of_hugging_face(tmp_path):
    pytest.importorskip("accelerate", reason="transformers cannot train without accelerate")
    transformers = pytest.importorskip("transformers", reason="transformers is large")
    data = Recorded([{"x": [float(i)]} for i in range(M)])

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(1, 2)

        def forward(self, x, labels=None):
            return {"logits": self.layer(x)}

    class Epochs(transformers.TrainerCallback):
        def on_epoch_begin(self, args, state, control, **kwargs):
            data.set_epoch(round(state.epoch))

    settings = transformers.TrainingArguments(
        str(tmp_path),
        num_train_epochs=EPOCHS,
        per_device_train_batch_size=4,
        report_to="none",
        use_cpu=True,
        disable_tqdm=True,
        save_strategy="no",
    )
    transformers.Trainer(
        Net(),
        settings,
        train_dataset=data,
        compute_loss_func=lambda outputs, labels, **_: (outputs["logits"] - labels).square().mean(),
        callbacks=[Epochs()],
    ).train()
    assert data.seen == ONCE


@pytest.mark.filterwarnings("default")  # of theirs
def test_in_a_trainer_of_lightning():
    lightning = pytest.importorskip("lightning", reason="lightning is large")
    data = Recorded([torch.tensor([float(i)]) for i in range(M)])

    class Net(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(1, 2)

        def train_dataloader(self):
            return torch.utils.data.DataLoader(data, batch_size=4, shuffle=True)

        def on_train_epoch_start(self):
            data.set_epoch(self.current_epoch)

        def training_step(self, batch, _):
            return (self.layer(batch[0]) - batch[1]).square().mean()

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.01)

    quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False}
    trainer = lightning.Trainer(
        max_epochs=EPOCHS, accelerator="cpu", enable_model_summary=False, **quiet
    )
    trainer.fit(Net())
    assert data.seen == ONCE
