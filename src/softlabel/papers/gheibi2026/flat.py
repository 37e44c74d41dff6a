"""How flat the loss is around a network, and how high it rises between two of one seed."""

from __future__ import annotations

from softlabel import metrics
from softlabel.papers.gheibi2026.look import Look
from softlabel.train import predicting, sharpness

FLAT = 250  # training pictures: a Hessian product of the small network is a quarter second then
ITERATIONS, VECTORS = 60, 50
SLICE = 11  # places along a random direction
ANEW = 500  # training pictures from which batch statistics are taken again between networks


def flatness(look: Look) -> dict[str, float]:
    """Curvature at the network, with the accuracy that it must be read beside."""
    inputs, full = look.lesson.inputs[:FLAT], look.full[:FLAT]
    on = sharpness.surface(look.net, inputs, full)
    top = sharpness.lambda_max(on, ITERATIONS)
    trace = sharpness.trace(on, VECTORS)
    line = sharpness.slice_1d(on, SLICE)
    right = metrics.accuracy(full, predicting.probs(look.net, inputs))
    return {
        "flat/lambda-max": top.value,
        "flat/lambda-max-change": top.change,
        "flat/trace": trace.value,
        "flat/trace-error": trace.error,
        "flat/sam": sharpness.sam(on),
        "flat/loss": on.loss(),
        "flat/accuracy": float(right.mean()),
        **{f"slice/{a:+.1f}": float(y) for a, y in zip(line.at, line.loss, strict=True)},
    }


def barrier(first: Look, second: Look, name: str) -> dict[str, float]:
    """The loss on the line from one network to another, with batch statistics mixed like weights
    and with statistics taken anew at every point."""
    inputs, full = first.lesson.inputs[:FLAT], first.full[:FLAT]
    mixed = sharpness.barrier(first.net, second.net, inputs, full)
    again = sharpness.barrier(
        first.net, second.net, inputs, full, reestimate=first.lesson.inputs[:ANEW]
    )
    return {
        f"barrier/{name}": mixed.height,
        f"barrier/{name}/re-estimated": again.height,
        **{
            f"between/{name}/{a:.1f}": float(y)
            for a, y in list(zip(again.at, again.loss, strict=True))[::2]
        },
    }
