"""Several processes that train as one: what ``torchrun`` started, and sums over all of them.

Every process holds all data and draws the same order, labels and crops (they are keyed, not
sequential); it works on its slice of each batch, and gradients are summed.  Without ``torchrun``
there is one process, and nothing here has any effect.
"""

import atexit
import os
from typing import Any, cast

import torch
import torch.distributed as dist
from torch import Tensor

from softlabel.errors import SoftlabelError


def join() -> None:
    """Join the other processes, if there are any, once."""
    if int(os.environ.get("WORLD_SIZE", "1")) > 1 and not dist.is_initialized():
        dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
        atexit.register(leave)


def leave() -> None:
    """Leave the other processes."""
    if dist.is_initialized():
        dist.destroy_process_group()


def size() -> int:
    """Return the number of processes."""
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def rank() -> int:
    """Return the number of this process; number 0 writes files and reports progress."""
    return dist.get_rank() if size() > 1 else 0


def own_part(count: int) -> slice:
    """Return this process's part of ``count`` rows: contiguous, of nearly the same size in each."""
    world = size()
    if count < world:
        raise SoftlabelError(
            f"a batch of {count} cannot be divided among {world} processes; "
            "use fewer processes, or another batch size"
        )
    return slice(rank() * count // world, (rank() + 1) * count // world)


class _Total(torch.autograd.Function):
    """A sum over all processes; its gradient is one too, since each of them uses the sum."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        x = x.clone()
        dist.all_reduce(x)
        return x

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:  # type: ignore[override]
        grad = grad.clone()
        dist.all_reduce(grad)
        return grad


def total(x: Tensor) -> Tensor:
    """Return the sum of ``x`` over all processes, differentiable."""
    return cast(Tensor, _Total.apply(x)) if size() > 1 else x


def sum_gradients(gradients: list[Tensor]) -> None:
    """Replace each gradient by its sum over all processes, in one exchange."""
    if size() > 1:
        flat = torch.cat([each.flatten() for each in gradients])
        dist.all_reduce(flat)
        parts = flat.split([each.numel() for each in gradients])
        for each, part in zip(gradients, parts, strict=True):
            each.copy_(part.view_as(each))


def broadcast(value: Any) -> Any:
    """Return what process 0 has: a state of which only that process has the file."""
    if size() == 1:
        return value
    box = [value]
    dist.broadcast_object_list(box, src=0)
    return box[0]
