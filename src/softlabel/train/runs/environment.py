"""What a run ran on: machine, interpreter, packages."""

from __future__ import annotations

import os
import platform
import sys
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import distributions


def environment() -> str:
    """A paragraph for each time the run was begun or resumed."""
    threads = os.environ.get("OMP_NUM_THREADS", "not set")
    return (
        f"begun {datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC\n"
        f"python {sys.version.split()[0]} on {platform.platform()}\n"
        f"cores {os.cpu_count()}, OMP_NUM_THREADS {threads}\n"
        f"{_packages()}\n\n"
    )


@cache
def _packages() -> str:
    found = {(one.name or "?", one.version) for one in distributions()}
    return " ".join(f"{name}=={version}" for name, version in sorted(found))
