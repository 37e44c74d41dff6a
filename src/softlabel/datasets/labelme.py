"""LabelMe: 1,000 photographs of eight kinds of scene, labelled by 59 people, 2.5 labels each.

Rodrigues & Pereira 2018, "Deep Learning from Crowds"; here with the averaged VGG16 features of
PyLearningCrowds.  No licence is stated for the data.  2,547 labels; 500 and 1,188 further
photographs for validation and test.
"""

from __future__ import annotations

import numpy as np

from softlabel.datasets.base import Dataset, File, Info, locate
from softlabel.datasets.reading import number_names, read_npz
from softlabel.tables import Annotations, Index, names

CLASSES = names(
    [
        "highway",
        "insidecity",
        "tallbuilding",
        "street",
        "forest",
        "coast",
        "mountain",
        "opencountry",
    ]
)

INFO = Info(
    name="labelme",
    title="LabelMe",
    home="http://fprodrigues.com/publications/deep-crowds/",
    licence="none stated for the data",
    files=(
        File("labelme.npz", "d0653323f1fe0a85628e56355267a47c782b9921e5f69a4005f97b703313573f"),
    ),
    by_hand="""\
Download the files answers.txt, LabelMe_Z_*.txt and
LabelMe_VGG_avg_*.npy of data/LabelMe from https://github.com/fmenat/PyLearningCrowds and run
beside them:

    import numpy as np
    answers = np.loadtxt("answers.txt", dtype=np.int8)
    data = {"answers": answers[:, (answers >= 0).any(axis=0)]}  # people who gave no answer go
    for part in ("train", "valid", "test"):
        data["x_" + part] = np.load(f"LabelMe_VGG_avg_{part}.npy").astype(np.float32)
        data["y_" + part] = np.loadtxt(f"LabelMe_Z_{part}.txt", dtype=np.uint8)
    np.savez_compressed("labelme.npz", **data)
""",
    cite="Rodrigues & Pereira 2018, Deep Learning from Crowds, AAAI",
)


def load() -> Dataset:
    """Load the votes; ``arrays`` hold ``x_train`` (m, 512) for the items, and ``x_`` and ``y_`` of
    ``valid`` and ``test``, which only the experts labelled."""
    arrays = [f"{x}_{part}" for x in "xy" for part in ("train", "valid", "test")]
    data = read_npz(locate(INFO, "labelme.npz"), "answers", *arrays)
    answers, gold = data.pop("answers"), data.pop("y_train")
    item, annotator = np.nonzero(answers >= 0)
    m, a = answers.shape
    index = Index(number_names(range(m)), number_names(range(a)), CLASSES)
    votes = Annotations(index, item, annotator, label=answers[item, annotator])
    return Dataset("labelme", INFO, index, annotations=votes, gold=gold, arrays=data)
