"""``demo``: run the script of ``examples/demo``."""

import importlib.util
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from softlabel.cli.shared import command
from softlabel.errors import SoftlabelError

PACKAGE = "softlabel._demo"
PLACES = (  # in a wheel; in a checkout of the repository
    Path(__file__).parents[1] / "_demo",
    Path(__file__).parents[3] / "examples" / "demo",
)


@command()
def demo(folder: Path = Path("softlabel-demo"), seed: int = 0) -> None:
    """Run a study with simulated annotators, label it, train on it, and write a page about it.

    Prints each command before running it. Training needs torch; without it, the page has all other
    sections.
    """
    load_demo().run(folder, seed)


def load_demo(name: str = "demo") -> Any:
    """Import one file of the demo, as a module of the private package ``softlabel._demo``.

    ``sys.path`` stays as it is, so that the demo's files cannot shadow modules of the user.
    """
    if PACKAGE not in sys.modules:
        folder = next((place for place in PLACES if (place / "demo.py").is_file()), None)
        if folder is None:
            raise SoftlabelError(f"the demo is not installed: {PLACES[0]} does not exist")
        spec = importlib.util.spec_from_file_location(
            PACKAGE, folder / "__init__.py", submodule_search_locations=[str(folder)]
        )
        assert spec is not None, "a Python file can be loaded"
        assert spec.loader is not None, "a Python file can be loaded"
        sys.modules[PACKAGE] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[PACKAGE])
    return import_module(f"{PACKAGE}.{name}")
