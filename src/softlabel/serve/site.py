"""What the handlers share: one per app, so that no handler needs a global."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import ParamSpec, TypeVar

from softlabel.serve.recruit import Recruiter
from softlabel.serve.render import Renderer
from softlabel.serve.secret import Secret
from softlabel.serve.texts import Catalogue
from softlabel.store import Store
from softlabel.study import Study

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True)
class Site:
    """The study, where its answers go, and the words and secrets of its pages."""

    study: Study
    store: Store
    secret: Secret
    texts: Catalogue
    render: Renderer
    recruiter: Recruiter
    now: Callable[[], float]
    secure: bool  # served under https


async def read(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Ask the store something without making everybody else wait."""
    return await asyncio.to_thread(function, *args, **kwargs)


async def written(promise: Future[T]) -> T:
    """What a write brought, once it is on the disk."""
    return await asyncio.wrap_future(promise)
