"""The researcher's side, behind a login: progress, items, people, answers, export."""

from __future__ import annotations

from fastapi import APIRouter

from softlabel.serve.monitor import Watch
from softlabel.serve.research.door import Door
from softlabel.serve.research.downloads import Downloads
from softlabel.serve.research.pages import Pages
from softlabel.serve.site import Site


def router(site: Site) -> APIRouter:
    """All routes under ``/research``."""
    door, watch = Door(site), Watch(site.study, site.store, site.now)
    whole = APIRouter(include_in_schema=True)
    whole.include_router(door.router())
    whole.include_router(Downloads(site, door, watch).router())
    whole.include_router(Pages(site, door, watch).router())
    return whole


__all__ = ["router"]
