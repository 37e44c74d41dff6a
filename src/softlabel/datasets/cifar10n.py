"""CIFAR-10N: three people's labels for each of the 50,000 CIFAR-10 train images.

Wei, Zhu, Cheng, Liu, Niu & Liu 2022, "Learning with Noisy Labels Revisited".  CC BY-NC 4.0.
150,000 labels.  The released worker ids do not match the released label columns, so the labels
are anonymous.
"""

from __future__ import annotations

import numpy as np

from softlabel.datasets import cifar10
from softlabel.datasets.base import Dataset, File, Info, locate
from softlabel.datasets.reading import number_names, read_npz
from softlabel.tables import ANONYMOUS, Annotations, Index, names

INFO = Info(
    name="cifar10n",
    title="CIFAR-10N",
    home="https://github.com/UCSC-REAL/cifar-10-100n",
    licence="CC BY-NC 4.0",
    files=(
        File("cifar10n.npz", "43e1af7b6af8b8f3ab5f767f46a54837f5bdf0205c8db09ed67690d2b3f6a8ff"),
    ),
    by_hand="""\
The release is a pickle, which softlabel does not open. Download
data/CIFAR-10_human.pt from https://github.com/UCSC-REAL/cifar-10-100n and run beside it, with
torch installed:

    import numpy as np, torch
    human = torch.load("CIFAR-10_human.pt", weights_only=False)  # runs whatever is in the file
    def column(name): return np.asarray(human[name]).astype(np.uint8)
    three = np.stack([column(f"random_label{i}") for i in (1, 2, 3)], axis=1)
    np.savez_compressed("cifar10n.npz", clean=column("clean_label"),
                        aggre=column("aggre_label"), worse=column("worse_label"), random=three)
""",
    cite="Wei et al. 2022, Learning with Noisy Labels Revisited, ICLR",
)


def load() -> Dataset:
    """Load three anonymous votes per image; ``arrays`` hold ``clean``, ``aggre`` (the majority),
    ``worse`` (a wrong one of the three if there is any) and ``random`` (m, 3)."""
    labels = read_npz(locate(INFO, "cifar10n.npz"), "clean", "aggre", "worse", "random")
    m = len(labels["clean"])
    index = Index(number_names(range(m), "train/"), names([]), cifar10.CLASSES)
    item, nobody = np.repeat(np.arange(m), 3), np.full(3 * m, ANONYMOUS)
    votes = Annotations(index, item, nobody, label=labels["random"].ravel())
    notes = ("Who gave which label is not known: the released worker ids cannot be linked.",)
    return Dataset("cifar10n", INFO, index, None, votes, labels["clean"], labels, notes=notes)
