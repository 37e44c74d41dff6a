"""The architecture, as a test: a room imports only from floors below its own."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import softlabel

SOURCE = Path(__file__).parent.parent / "src" / "softlabel"

FLOORS: dict[str, float] = {
    # the ground (one room: its files build on each other)
    "errors": 0,
    "parameters": 0,
    "tables": 0,
    "randomness": 0,
    # the pure rooms: numpy, scipy and compiled kernels only, and they do not know each other
    "elicit": 1,
    "construct": 1,
    "aggregate": 1,
    "metrics": 1,
    "deliver": 1,
    "sampling": 1,
    "intervals": 1,
    "cost": 1,
    "pictures": 1,
    # the hall: what joins them, and above it what brings tables in and out
    "registry": 2,
    "reading": 2,
    "agree": 2,
    "quality": 2,
    "inspection": 2.5,
    "files": 2.5,
    "datasets": 2.5,
    "simulate": 2.5,
    "testing": 2.5,
    "study": 2.5,
    "cards": 2.5,
    "evaluate": 2.5,
    "runs": 2.5,
    "engine": 2.7,  # reads its partitions through files
    # workshops, street, door
    "report": 3,
    "train": 3,
    "bridges": 3,
    "store": 3,
    "monitor": 3.5,
    "reproduce": 3.5,
    "recipes": 3.5,
    "serve": 4,
    "crowd": 4.5,
    "demo": 5,
    "cli": 6,
    "__main__": 7,
}
ROOT = 2.9  # softlabel/__init__.py shows floors 0 to 2½, each opened when it is entered
GROUND = {"errors", "parameters", "tables", "randomness"}
HOMES = {  # packages that may be imported in these rooms only
    "numba": {"aggregate"},
    "polars": {"files", "datasets", "engine"},
    "dask": {"engine"},
    "distributed": {"engine"},
    "typer": {"cli"},
    "rich": {"cli"},
    "pydantic": {"study", "serve"},
    "sqlalchemy": {"store"},
    "alembic": {"store"},
    "psycopg": {"store"},
    "fastapi": {"serve"},
    "starlette": {"serve"},
    "uvicorn": {"serve"},
    "jinja2": {"serve"},
    "markdown_it": {"serve"},
    "playwright": {"crowd"},
    "torch": {"train", "recipes", "bridges"},
    "sklearn": {"bridges", "datasets"},
    "pandas": set(),
}
FILES = sorted(SOURCE.rglob("*.py"))


def room_of(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return parts[0]


def imports(path: Path) -> set[tuple[str, ...]]:
    """Dotted names imported anywhere in the file, as tuples."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {tuple(alias.name.split(".")) for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = tuple((node.module or "").split("."))
            found |= {(*base, alias.name) for alias in node.names}
    return found


def check_imports(room: str, names: set[tuple[str, ...]]) -> None:
    """Raise if the room imports from its own floor or above."""
    floor = ROOT if room == "__init__" else FLOORS[room]
    for name in names:
        if name[0] != "softlabel" or len(name) < 2 or name[1] == "__version__":
            continue
        target = name[1]
        if target in softlabel.TABLES + softlabel.ERRORS:  # `from softlabel import Index`
            target = "tables"
        assert target in FLOORS, f"{room} imports {target}, which is on no floor"
        same_room = target == room or (target in GROUND and room in GROUND)
        assert FLOORS[target] < floor or same_room, f"{room} ({floor}) imports {target}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_rooms_import_only_from_below(path):
    check_imports(room_of(path), imports(path))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_heavy_packages_stay_at_home(path):
    for name in imports(path):
        if name[0] in HOMES:
            assert room_of(path) in HOMES[name[0]], f"{path.name} imports {name[0]}"


@pytest.mark.parametrize(
    ("room", "line"),
    [
        ("tables", "from softlabel.cli import main"),
        ("construct", "from softlabel.aggregate import Mean"),
        ("elicit", "import softlabel.registry"),
        ("metrics", "from softlabel import files"),
        ("report", "from softlabel.attic import treasure"),
    ],
)
def test_the_rule_can_fail(tmp_path, room, line):
    (tmp_path / "wrong.py").write_text(f"{line}\n")
    with pytest.raises(AssertionError):
        check_imports(room, imports(tmp_path / "wrong.py"))


def test_there_are_no_relative_imports():
    """They would pass the rule unseen."""
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text())):
            assert not (isinstance(node, ast.ImportFrom) and node.level), path
