"""Adversarial attacks: how a network copes with pictures changed by at most ``eps`` per point.

Attacks are made in pixel space, points in [0, 1], with the normalisation as part of the attacked
model: "4" in the papers is 4/255 here.  Targets are soft labels (m, k) or classes (m,); a table
must name which of them it was scored against, because the numbers differ.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from softlabel.errors import DataError
from softlabel.metrics import accuracy
from softlabel.tables import Floats, Ints
from softlabel.train import data
from softlabel.train.data import CIFAR, Array, Model
from softlabel.train.losses import soft_cross_entropy

BATCH = 250


@dataclass(frozen=True, eq=False)
class Attack:
    """What an attack did to m items.

    ``clean`` (m,) soft cross-entropy before, ``loss`` (m,) after; ``correct`` (m,) whether the
    class is still right (its mean is the robust accuracy); ``images`` as attacked, in [0, 1].
    """

    clean: Floats
    loss: Floats
    correct: Floats
    images: Array


@dataclass(frozen=True)
class Walk:
    """Projected gradient ascent: the size and number of steps, and of random starts."""

    step: float = 2 / 255
    steps: int = 10
    restarts: int = 1
    seed: int = 0


def choose_items(m: int, most: int = 1000, seed: int = 0) -> Ints:
    """Draw at most ``most`` of m items without replacement, in rising order; the papers attack
    1,000.

    >>> choose_items(3), len(choose_items(5000))
    (array([0, 1, 2]), 1000)
    """
    if m <= most:
        return np.arange(m)
    return np.sort(np.random.default_rng(seed).choice(m, most, replace=False))


def fgsm(
    net: Model,
    images: Array,
    target: Array,
    eps: float = 4 / 255,
    *,
    normalise: Model | None = CIFAR,
) -> Attack:
    """Attack with one step along the sign of the gradient (Goodfellow et al. 2015).

    ``images`` (m, h, w, c), bytes or numbers in [0, 1]; with ``normalise=None`` the net takes
    them as they are.
    """
    moves: list[Move] = [lambda x, gradient: (x + eps * gradient(x).sign()).clamp(0, 1)]
    return _attack(net, images, target, normalise, moves)


def pgd(
    net: Model,
    images: Array,
    target: Array,
    eps: float = 4 / 255,
    *,
    walk: Walk | None = None,
    normalise: Model | None = CIFAR,
) -> Attack:
    """Attack by projected gradient ascent from a random start (Madry et al. 2018); the result is
    the final point, not the points passed.

    With several restarts the loss is the largest of the final ones, and an item counts as correct
    if it is so at all of them.
    """
    walk = walk or Walk()
    if walk.steps < 0 or walk.restarts < 1:
        raise DataError(f"{walk}: steps are at least 0 and restarts at least 1")
    rng = np.random.default_rng(walk.seed)

    def go(x: Tensor, gradient: Model) -> Tensor:
        low, high = (x - eps).clamp(0, 1), (x + eps).clamp(0, 1)
        start = torch.from_numpy(rng.uniform(-eps, eps, tuple(x.shape))).to(x.device, x.dtype)
        at = torch.clamp(x + start, low, high)
        for _ in range(walk.steps):
            at = torch.clamp(at + walk.step * gradient(at).sign(), low, high)
        return at

    return _attack(net, images, target, normalise, [go] * walk.restarts)


Move = Callable[[Tensor, Model], Tensor]  # from points and their gradient to other points


def _attack(
    net: Model, images: Array, target: Array, normalise: Model | None, moves: list[Move]
) -> Attack:
    """Return the worst that any of the moves does to each item."""
    like = data.first_parameter(net)
    pixels = data.as_pixels(images, like)
    if len(pixels) and not (float(pixels.min()) >= 0 and float(pixels.max()) <= 1):
        low, high = float(pixels.min()), float(pixels.max())
        raise DataError(f"points are from {low:.3g} to {high:.3g}; attacks need them in [0, 1]")

    def logits(x: Tensor) -> Tensor:
        return net(x if normalise is None else normalise(x))

    def attack(move: Move, x: Tensor, goal: Tensor) -> Tensor:
        def gradient(x: Tensor) -> Tensor:  # of each item's loss in its own points
            at = x.detach().requires_grad_(True)
            with torch.enable_grad():
                return torch.autograd.grad(soft_cross_entropy(logits(at), goal, "sum"), at)[0]

        return move(x, gradient)

    with data.evaluation_mode(net):
        clean = _in_batches(logits, pixels)
        soft = data.as_targets(target, len(pixels), clean.shape[1])
        goal = torch.from_numpy(soft).to(like.device, like.dtype)
        before = soft_cross_entropy(clean, goal, "none")
        worst, right, kept = None, np.ones(len(pixels)), pixels.clone()
        for move in moves:
            batches = zip(torch.split(pixels, BATCH), torch.split(goal, BATCH), strict=True)
            moved = torch.cat([attack(move, x, p) for x, p in batches])
            scores = _in_batches(logits, moved)
            loss = soft_cross_entropy(scores, goal, "none")
            harder = torch.ones_like(loss, dtype=torch.bool) if worst is None else loss > worst
            kept[harder] = moved[harder]
            worst = loss if worst is None else torch.maximum(worst, loss)
            right = np.minimum(right, accuracy(soft, _numbers(scores.double().softmax(dim=1))))
    assert worst is not None, "an attack has at least one move"
    return Attack(_numbers(before), _numbers(worst), right, data.as_images(kept))


def _in_batches(logits: Model, x: Tensor) -> Tensor:
    with torch.no_grad():
        return torch.cat([logits(part) for part in torch.split(x, BATCH)])


def _numbers(values: Tensor) -> Floats:
    array: Floats = values.detach().double().cpu().numpy()
    return array
