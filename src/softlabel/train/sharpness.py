"""How sharp the minimum is that a network has found.

All of these are taken at one ``surface`` (the same items and the same loss for all networks that
are compared).  None but the filter-normalised slice is free of the scale of the weights, and a
network that has learned nothing can be the flattest of all: print its accuracy beside them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from softlabel.errors import DataError
from softlabel.train.slices import Barrier, Curve, barrier, slice_1d
from softlabel.train.surface import Surface, surface

__all__ = [
    "Barrier",
    "Curve",
    "Eigenvalue",
    "Trace",
    "barrier",
    "keskar",
    "lambda_max",
    "sam",
    "slice_1d",
    "surface",
    "trace",
]


@dataclass(frozen=True)
class Eigenvalue:
    """A value, the products it took, and the last relative change: small if it has converged."""

    value: float
    iterations: int
    change: float


@dataclass(frozen=True)
class Trace:
    """A value with its standard error over the probes."""

    value: float
    error: float
    probes: int


def lambda_max(
    on: Surface, iterations: int = 100, tolerance: float = 1e-3, seed: int = 0
) -> Eigenvalue:
    """The largest eigenvalue of the Hessian, by power iteration.

    Power iteration finds the eigenvalue of largest size; if that is a negative one, the Hessian
    is shifted by it and the search goes on for the largest.
    """
    start = _random(on, seed, torch.randn)
    top = _power(on.curvature, start, iterations, tolerance)
    if top.value >= 0:
        return top
    shift = -top.value
    rest = _power(lambda v: on.curvature(v) + shift * v, start, iterations, tolerance)
    return Eigenvalue(rest.value - shift, top.iterations + rest.iterations, rest.change)


def trace(on: Surface, probes: int = 50, seed: int = 0) -> Trace:
    """The trace of the Hessian by Hutchinson's estimate: the mean of v'Hv over random signs v."""
    if probes < 2:
        raise DataError(f"probes = {probes}: a standard error needs at least 2")
    found = []
    for probe in range(probes):
        v = _random(on, (seed, probe), _signs)
        found.append(_dot(v, on.curvature(v)))
    values = torch.tensor(found, dtype=torch.float64)
    return Trace(float(values.mean()), float(values.std() / probes**0.5), probes)


def sam(on: Surface, rho: float = 0.05) -> float:
    """How much the loss rises at distance ``rho`` along the gradient (Foret et al. 2021); 0 where
    there is no gradient."""
    slope = on.gradient()
    length = slope.norm()
    if not length > 0:
        return 0.0
    base = on.loss()
    with on.moved() as here:
        on.put(here + rho * slope / length)
        return on.loss() - base


def keskar(
    on: Surface, eps: float = 1e-3, steps: int = 20, restarts: int = 3, seed: int = 0
) -> float:
    """100 (max L - L) / (1 + L) over the box |step_i| <= eps (|w_i| + 1) (Keskar et al. 2017).

    The maximum is searched by sign-gradient ascent from random points of the box, so the value is
    a lower bound that more steps and restarts raise.
    """
    base = best = on.loss()
    with on.moved() as here:
        box = eps * (here.abs() + 1)
        for restart in range(restarts):
            share = _random(on, (seed, restart), torch.rand) * 2 - 1  # of the box, in [-1, 1]
            for _ in range(steps):
                on.put(here + box * share)
                share = (share + 2.5 / steps * on.gradient().sign()).clamp(-1, 1)
            on.put(here + box * share)
            best = max(best, on.loss())
    return 100 * (best - base) / (1 + base)


def _power(
    product: Callable[[Tensor], Tensor], start: Tensor, iterations: int, tolerance: float
) -> Eigenvalue:
    if iterations < 1:
        raise DataError(f"iterations = {iterations}: at least one is needed")
    v = start / start.norm()
    value, change = 0.0, float("inf")
    for done in range(1, iterations + 1):
        made = product(v)
        before, value = value, _dot(v, made)
        length = made.norm()
        if not length > 0:
            return Eigenvalue(0.0, done, 0.0)
        change = abs(value - before) / max(abs(value), 1e-30)
        if done > 1 and change <= tolerance:
            break
        v = made / length
    return Eigenvalue(value, done, change)


def _dot(first: Tensor, second: Tensor) -> float:
    return float(first.double() @ second.double())


def _random(on: Surface, seed: int | tuple[int, int], draw: Callable[..., Tensor]) -> Tensor:
    """(d,) drawn on the CPU, so that a seed means the same on every device."""
    key = seed if isinstance(seed, int) else seed[0] * 1_000_003 + seed[1]
    here = on.point()
    return draw(len(here), generator=torch.Generator().manual_seed(key)).to(here)


def _signs(count: int, generator: torch.Generator) -> Tensor:
    return torch.randint(0, 2, (count,), generator=generator) * 2.0 - 1
