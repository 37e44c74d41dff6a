"""Training: ours against the plain recipe, and what the small network reaches in what time.

    python bench/train.py [--only step,data,processes,small] [--nets resnet34a,vgg11,resnet50]
                          [--rounds 3] [--steps 6] [--seeds 3] [--epochs 20] [--write]

Everything is measured in one run, in turns, on as many threads as torch takes; the figure is the
least wall time of all rounds, the spread is how much more the middle one took.  ``small`` reads
CIFAR-10 and CIFAR-10H from ``$SOFTLABEL_DATA``.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from results import circumstances, table, write_section
from torch.utils.flop_counter import FlopCounterMode
from training import ours, plain

from softlabel import datasets
from softlabel.metrics import cross_entropy, entropy_pearson
from softlabel.train import Config, estimate_cost, fit, networks
from softlabel.train.predict import predict_probs
from softlabel.train.worker import make_environment

TITLE = "Training on two cores"
BATCH = {"resnet34a": 128, "vgg11": 128, "resnet50": 64}
BARS = {"resnet34a": (0.95, 0.50), "vgg11": (0.85, 0.65), "resnet50": (0.88, 0.52)}
ITEMS = 7000
Rows = list[list[str]]


def pictures(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Noise and soft labels: a step takes as long on them as on photographs."""
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (count, 32, 32, 3), dtype=np.uint8)
    return images, rng.dirichlet(np.ones(10), count).astype(np.float32)


class Times:
    """Repeated wall times of one thing."""

    def __init__(self) -> None:
        self.all: list[float] = []

    @property
    def least(self) -> float:
        return min(self.all)

    @property
    def spread(self) -> str:
        return f"+{100 * (float(np.median(self.all)) / self.least - 1):.0f} % (n={len(self.all)})"


def in_turns(rounds: int, *measured: Callable[[], list[float]]) -> list[Times]:
    """Each in every round; the first of the times that one call gives is its warm-up."""
    times = [Times() for _ in measured]
    for _ in range(rounds):
        for kept, measure in zip(times, measured, strict=True):
            kept.all += measure()[1:]
    return times


def peak() -> float:
    """GFLOP/s of the fastest product of two matrices (sgemm) on these threads."""
    a, b = torch.randn(2048, 2048), torch.randn(2048, 2048)
    times = []
    for _ in range(40):  # a stranger on the other core for a moment must not lower it
        begun = time.perf_counter()
        a @ b
        times.append(time.perf_counter() - begun)
    return 2 * 2048**3 / min(times[1:]) / 1e9


def flops(name: str) -> int:
    """Of one picture, forward."""
    with torch.device("meta"), FlopCounterMode(display=False) as counter:
        networks.NETS[name](10).eval()(torch.zeros(1, 3, 32, 32))
    return counter.get_total_flops()


def step(options: argparse.Namespace) -> str:
    top = peak()
    heading = (
        "net|batch|plain ms/step|ours ms/step|spread plain, ours|ratio|bar|GFLOP/s|of sgemm|bar"
    )
    rows: Rows = [heading.split("|")]
    for name in options.nets:
        batch = BATCH[name]
        images, labels = pictures(batch * options.steps)
        usual, fast = in_turns(
            options.rounds,
            lambda a=(name, images, labels, batch, 3): plain.seconds(*a),
            lambda a=(name, images, labels, batch, 3): ours.seconds(*a),
        )
        speed = 3 * flops(name) * len(images) / fast.least / 1e9  # backward is two forwards
        ms = [f"{1000 * times.least / options.steps:.0f}" for times in (usual, fast)]
        wanted, share = BARS[name]
        ratio, part = fast.least / usual.least, speed / top
        row = [name, str(batch), *ms, f"{usual.spread}, {fast.spread}"]
        row += [f"**{ratio:.2f}**", f"≤ {wanted}", f"{speed:.0f}", f"**{part:.2f}**", f"≥ {share}"]
        rows.append(row)
        print(rows[-1], flush=True)
    return (
        f"A step with its pictures and labels, {options.steps} steps an epoch. sgemm: {top:.0f} "
        "GFLOP/s; of a network, the backward pass counts as two forward ones."
        f"\n\n{table(rows)}"
    )


def data(options: argparse.Namespace) -> str:
    images, labels = pictures(ITEMS)

    def by_item() -> list[float]:
        found = []
        for _ in range(3):
            begun = time.perf_counter()
            for _ in plain.loader(images, labels, 128):
                pass
            found.append(time.perf_counter() - begun)
        return found

    usual, fast = in_turns(options.rounds, by_item, lambda: ours.data_seconds(images, 128, 3))
    rows: Rows = [["pictures of an epoch of 7,000", "s", "spread"]]
    rows.append(["one by one in a DataLoader", f"{usual.least:.3f}", usual.spread])
    rows.append(["all at once, cut anew in every epoch", f"{fast.least:.3f}", fast.spread])
    ratio = fast.least / usual.least
    print(rows, ratio, flush=True)
    return f"{table(rows)}\n\nRatio **{ratio:.3f}** (bar: at most 0.2)."


def processes(options: argparse.Namespace) -> str:
    head = "1 process x 2 threads, s", "2 x 1, s", "2 x 1 as the runner starts them, s", "spread"
    rows: Rows = [["net", *head, "runs per hour", "for the memory"]]
    for name, items in (("small", 7000), ("resnet34a", 512)):

        def together(number: int, kept: bool, a: tuple[str, int] = (name, items)) -> list[float]:
            return [0.0, train_in(number, kept, *a)]

        one, two, ours = in_turns(
            options.rounds,
            lambda: together(1, kept=False),
            lambda: together(2, kept=False),
            lambda: together(2, kept=True),
        )
        spread = f"{one.spread}, {two.spread}, {ours.spread}"
        seconds = [f"{some.least:.1f}" for some in (one, two, ours)]
        ratios = 2 * one.least / ours.least, two.least / ours.least
        rows.append([name, *seconds, spread, *(f"**{ratio:.2f}** times" for ratio in ratios)])
        print(rows[-1], flush=True)
    return (
        "Two processes with one thread each, started together, against one with two (2 epochs; "
        "bar: at least 1.15 times the runs per hour). The runner's processes keep their memory "
        f"between steps.\n\n{table(rows)}"
    )


def train_in(number: int, kept: bool, name: str, items: int) -> float:
    """Seconds until the last of so many processes, on two threads in all, has trained."""
    threads = 2 // number
    words = [sys.executable, "-m", "training.worker", name, str(items), "2", str(threads)]
    here = Path(__file__).parent
    given = make_environment(os.environ) if kept else {**os.environ}
    given["OMP_NUM_THREADS"] = str(threads)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    workers = [subprocess.Popen(words, cwd=here, env=given, **pipes) for _ in range(number)]
    for worker in workers:
        assert worker.stdout.readline() == "ready\n"
    for worker in workers:
        worker.stdin.write("go\n")
        worker.stdin.flush()
    found = [float(worker.communicate()[0]) for worker in workers]
    return max(found)


def small(options: argparse.Namespace) -> str:
    images, counts = datasets.load("cifar10/test"), datasets.load("cifar10h").arrays["counts"]
    split = datasets.load("cifar10s").arrays
    train, test = np.sort(split["train_indices"]), np.sort(split["test_indices"])
    pictures, gold = images.arrays["images"], images.gold
    people = counts / counts.sum(axis=1, keepdims=True)
    config, told = Config(epochs=options.epochs), {"hard": np.eye(10)[gold], "soft": people}
    print(estimate_cost(config, len(train)), flush=True)
    found: dict[str, list[tuple[float, ...]]] = {"hard": [], "soft": []}
    for seed in range(options.seeds):
        for kind, labels in told.items():
            begun = time.perf_counter()
            net = fit(config, pictures[train], ours.Fixed(labels[train]), seed=seed).net
            probs = predict_probs(net, pictures[test])
            spent = time.perf_counter() - begun
            right = float((probs.argmax(axis=1) == gold[test]).mean())
            charged = float(cross_entropy(people[test], probs).mean())
            doubt = entropy_pearson(people[test], probs)
            found[kind].append((spent, right, charged, doubt))
            print(kind, seed, found[kind][-1], flush=True)
    rows: Rows = [["labels", "seconds, train and evaluate", "accuracy", "soft CE", "entropy r"]]
    for kind, values in found.items():
        mean, spread = np.mean(values, axis=0), np.std(values, axis=0, ddof=min(1, len(values) - 1))
        formats = zip(mean, spread, (1, 3, 3, 3), strict=True)
        rows.append([kind, *(f"{m:.{d}f} ± {s:.{d}f}" for m, s, d in formats)])
    gaps = [hard[2] - soft[2] for hard, soft in zip(found["hard"], found["soft"], strict=True)]
    parameters = networks.count_parameters(networks.make_network("small", 10, 0))
    return (
        f"The small network ({parameters:,} trained parameters), "
        f"{len(train):,} pictures with the class alone or with CIFAR-10H's vote shares, evaluated "
        f"on {len(test):,} others, {options.seeds} seeds, mean ± sd.\n\n{table(rows)}\n\nSoft CE, "
        f"hard minus soft: **{np.mean(gaps):.3f}** (least {min(gaps):.3f}). Bars: at most 60 s, "
        "accuracy at least 0.64, gap at least 0.3."
    )


PARTS = {"step": step, "data": data, "processes": processes, "small": small}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--nets", default=",".join(BATCH))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=Config().epochs, help="of the small network")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    options.nets = options.nets.split(",")
    parts = [PARTS[name](options) for name in options.only.split(",")]
    head = f"`python bench/train.py`: {torch.get_num_threads()} threads. " + circumstances(
        "torch", "numpy"
    )
    print("\n\n".join([head, *parts]))
    if options.write:
        write_section(TITLE, [head, *parts])


if __name__ == "__main__":
    main()
