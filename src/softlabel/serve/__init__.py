"""A study as a website: pages, a small JSON interface, and the process that serves them."""

from softlabel.errors import MissingExtra

try:
    from softlabel.serve.app import make_app
    from softlabel.serve.run import run
except ModuleNotFoundError as missing:
    if (missing.name or "").startswith("softlabel"):
        raise
    raise MissingExtra("serving a study", "serve") from missing

__all__ = ["make_app", "run"]
