"""Lazy doors: import the names of a room when they are first used."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from softlabel.errors import MissingExtra


def lazy_names(
    room: str, homes: Mapping[str, str], extra: tuple[str, str] | None = None
) -> Callable[[str], Any]:
    """Make a module's ``__getattr__`` that imports each name when it is first used.

    ``homes`` maps a name to the module below ``room`` that holds it.  For a module it is "", or the
    package below ``room`` with a dot at the end.  ``extra`` is what needs optional packages, and
    the name of the extra that installs them: ("training", "train").
    """

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {room!r} has no attribute {name!r}")
        try:
            home = homes[name]
            if not home or home.endswith("."):
                return import_module(f"{room}.{home}{name}")
            return getattr(import_module(f"{room}.{home}"), name)
        except ModuleNotFoundError as missing:
            if extra is None or (missing.name or "").startswith("softlabel"):
                raise
            raise MissingExtra(*extra) from missing

    return get
