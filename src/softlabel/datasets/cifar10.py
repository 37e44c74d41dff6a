"""CIFAR-10, and the votes of CIFAR-10H and CIFAR-10N on its images.

CIFAR-10 are 60,000 colour images of 32 x 32 points in ten classes, 50,000 train and 10,000 test
(Krizhevsky 2009, "Learning Multiple Layers of Features from Tiny Images").  The authors state no
licence.  CIFAR-10H and CIFAR-10S number the test images, CIFAR-10N the train images.
"""

import io
import tarfile
import zipfile
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from softlabel.datasets.base import ABOUT, Dataset, Info, Source, find, locate
from softlabel.datasets.reading import (
    encode,
    explain_damage,
    number_names,
    read_bytes,
    read_npy,
    read_npz,
)
from softlabel.errors import FileError, UnknownName
from softlabel.sampling import votes_from_counts
from softlabel.tables import ANONYMOUS, Annotations, Index, Ints, names

CLASSES = names(ABOUT["classes"]["cifar10"])
ARCHIVE = "cifar-10-binary.tar.gz"
RECORD = 1 + 3 * 32 * 32  # a label, then the three colour planes

# split: how many images, the batches that hold them, and smaller .npz files that will do as well
SPLITS: dict[str, tuple[int, tuple[str, ...], tuple[str, ...]]] = {
    "test": (10_000, ("test_batch",), ("test.npz",)),
    "train": (50_000, tuple(f"data_batch_{i}" for i in range(1, 6)), ()),
    "train10k": (10_000, ("data_batch_1",), ("dev3k.npz", "train_3000_9999.npz")),
    "dev3k": (3_000, ("data_batch_1",), ("dev3k.npz",)),
}
INFO = Info.of("cifar10")


def load(split: str = "test") -> Dataset:
    """Load ``arrays["images"]`` uint8 (m, 32, 32, 3) and the class of each image as gold.

    ``train10k`` are the first 10,000 train images, ``dev3k`` the first 3,000.
    """
    count, _, _ = SPLITS[INFO.part(split)]
    pieces = list(_read_pieces(split, "images", "labels"))
    arrays = {
        name: np.concatenate([piece[name] for piece in pieces])[:count]
        for name in ("images", "labels")
    }
    before = "" if split == "test" else "train/"
    index = Index(number_names(range(count), before), names([]), CLASSES)
    return Dataset(f"cifar10/{split}", INFO, index, gold=arrays["labels"], arrays=arrays)


def gold_of_test() -> Ints | None:
    """Return the class of each test image if CIFAR-10 is here: gold for sets that relabel it."""
    if not any(find(INFO, name) for name in (ARCHIVE, "test.npz")):
        return None
    (part,) = _read_pieces("test", "labels")
    return part["labels"].astype(np.int64)


def _read_pieces(split: str, *wanted: str) -> Iterator[dict[str, npt.NDArray[Any]]]:
    """Read the arrays of a split, piece by piece, from the .npz files or else from the archive."""
    _, batches, files = SPLITS[split]
    here = [find(INFO, name) for name in files]
    if files and all(here):
        yield from (read_npz(path, *wanted) for path in here if path)
        return
    path = locate(INFO, ARCHIVE)
    with explain_damage(path), tarfile.open(path) as tape:
        for batch in batches:
            member = tape.extractfile(f"cifar-10-batches-bin/{batch}.bin")
            rows: npt.NDArray[np.uint8] = np.frombuffer(member.read() if member else b"", np.uint8)
            if len(rows) != 10_000 * RECORD:
                raise FileError(path, f"{batch}.bin has {len(rows)} bytes, not 10,000 images")
            rows = rows.reshape(-1, RECORD)
            planes = rows[:, 1:].reshape(-1, 3, 32, 32)
            yield {"labels": rows[:, 0], "images": planes.transpose(0, 2, 3, 1)}


# ── CIFAR-10H ────────────────────────────────────────────────────────────────────────────────

COUNTS, RAW = "cifar10h-counts.npy", "cifar10h-raw"


def load_cifar10h(source: Literal["best", "counts", "raw"] = "best") -> Dataset:
    """Load about 51 people's choice of class for each of the 10,000 CIFAR-10 test images.

    ``raw`` has annotators, ``counts`` has none, ``best`` is raw if it is here.
    ``arrays["counts"]`` (m, k) are the votes per image and class; raw votes also have ``rt_ms``.

    Peterson, Battleday, Griffiths & Russakovsky 2019, "Human uncertainty makes classification more
    robust".  CC BY-NC-SA 4.0.  The released counts hold 511,000 votes; the raw file 514,200 votes
    of 2,571 annotators, 200 each, besides attention checks.
    """
    if source not in ("best", "counts", "raw"):
        raise UnknownName("source of cifar10h", source, ("best", "counts", "raw"))
    here = find(cifar10h.INFO, f"{RAW}.csv") or find(cifar10h.INFO, f"{RAW}.zip")
    read = _read_raw if source == "raw" or (source == "best" and here) else _read_counts
    votes, arrays, notes = read()
    gold = gold_of_test()
    return Dataset("cifar10h", cifar10h.INFO, votes.index, None, votes, gold, arrays, notes=notes)


Votes10h = tuple[Annotations, dict[str, npt.NDArray[Any]], tuple[str, ...]]  # votes, arrays, notes


def _read_counts() -> Votes10h:
    path = locate(cifar10h.INFO, COUNTS)
    counts = read_npy(path)
    if counts.shape != (10_000, 10) or counts.dtype.kind != "i" or (counts < 0).any():
        raise FileError(path, f"{counts.dtype} {counts.shape} is not counts of 10,000 images")
    index = Index(number_names(range(10_000)), names([]), CLASSES)
    notes = (
        "The released counts, expanded to anonymous votes: nobody knows which annotator cast "
        "which, and methods that weigh annotators cannot be used.",
        "The paper tells of 511,400 judgements; the counts hold 511,000.",
    )
    return votes_from_counts(index, counts), {"counts": counts}, notes


def _read_raw() -> Votes10h:
    path = find(cifar10h.INFO, f"{RAW}.csv") or locate(cifar10h.INFO, f"{RAW}.zip")
    with explain_damage(path):
        data = read_bytes(path)
        if path.suffix == ".zip":
            with zipfile.ZipFile(io.BytesIO(data)) as box:
                data = box.read(f"{RAW}.csv")
        # its README calls the second column cifar10_test_set_idx
        wanted = ["annotator_id", "cifar10_test_test_idx", "chosen_label", "reaction_time"]
        header = data[: data.index(b"\n")].decode().strip().replace('"', "").split(",")
        frame = pl.read_csv(data, columns=[name for name in wanted if name in header])
        frame = frame.filter(pl.col("cifar10_test_test_idx") >= 0)  # attention checks are -99999
        annotators, annotator = encode(frame["annotator_id"].to_numpy())
        item = frame["cifar10_test_test_idx"].to_numpy()
        label = frame["chosen_label"].to_numpy()
    index = Index(number_names(range(10_000)), annotators, CLASSES)
    votes = Annotations(index, item, annotator, label=label)
    arrays = {"counts": votes.counts().astype(np.int64)}
    if "reaction_time" in frame:
        arrays["rt_ms"] = frame["reaction_time"].to_numpy()
    note = (
        "The raw votes with their annotators, attention checks left out: a little more than "
        "the released counts."
    )
    return votes, arrays, (note,)


cifar10h = Source(Info.of("cifar10h"), load_cifar10h)


# ── CIFAR-10N ────────────────────────────────────────────────────────────────────────────────


def load_cifar10n() -> Dataset:
    """Load three people's labels for each of the 50,000 CIFAR-10 train images, without their names:
    the released worker ids do not match the released label columns.

    ``arrays`` hold ``clean``, ``aggre`` (the majority), ``worse`` (a wrong one of the three if
    there is any) and ``random`` (m, 3).

    Wei, Zhu, Cheng, Liu, Niu & Liu 2022, "Learning with Noisy Labels Revisited".  CC BY-NC 4.0.
    """
    path = locate(cifar10n.INFO, "cifar10n.npz")
    labels = read_npz(path, "clean", "aggre", "worse", "random")
    m, gold = len(labels["clean"]), labels["clean"]
    index = Index(number_names(range(m), "train/"), names([]), CLASSES)
    item, nobody = np.repeat(np.arange(m), 3), np.full(3 * m, ANONYMOUS)
    votes = Annotations(index, item, nobody, label=labels["random"].ravel())
    notes = ("Who gave which label is not known: the released worker ids cannot be linked.",)
    return Dataset("cifar10n", cifar10n.INFO, index, None, votes, gold, labels, notes=notes)


cifar10n = Source(Info.of("cifar10n"), load_cifar10n)
