"""The architecture, as tests: floors, doors, homes of heavy packages, cycles, sizes.

Each rule is one test over all files; the small trees at the end show that each rule can fail.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "softlabel"

GROUND = {"errors", "tables", "randomness", "registry", "sampling", "_util"}
FLOORS: dict[str, float] = {
    # the ground is one room: its files build on each other
    **dict.fromkeys(GROUND, 0),
    # families of pure strategies, which do not know each other
    "elicit": 1,
    "construct": 1,
    "aggregate": 1,
    "metrics": 1,
    "deliver": 1,
    # one answer; files; the road from answers to labels
    "records": 2,
    "io": 2.2,
    "label": 2.4,
    "engine": 2.6,
    "annotators": 2,
    "datasets": 2.4,
    "study": 2.4,
    "testing": 2.4,
    # workshops
    "store": 3,
    "train": 3,
    "integrations": 3,
    "report": 3.2,
    # the street
    "serve": 4,
    "simulate": 4.5,
    "papers": 5,
    "cli": 6,
    "__main__": 7,
}
ROOT = 4.8  # softlabel/__init__.py names rooms, each of which is opened when it is entered
HOMES = {  # packages that only these rooms import
    "numba": {"aggregate"},
    "polars": {"io", "datasets", "engine", "_util"},
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
    "playwright": {"simulate"},
    "torch": {"train", "integrations"},
    "sklearn": {"integrations", "datasets"},
    "pandas": set(),
}


class House:
    """A source tree: its files, its rooms, and what each file imports."""

    def __init__(self, source: Path) -> None:
        self.source = source
        self.files = sorted(source.rglob("*.py"))

    def room_of(self, path: Path) -> str:
        return path.relative_to(self.source).with_suffix("").parts[0]

    @cache  # noqa: B019  # a few houses live as long as the tests
    def imports(self, path: Path) -> tuple[tuple[str, ...], ...]:
        """Dotted names imported anywhere in the file, as tuples."""
        names = set()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names |= {tuple(alias.name.split(".")) for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                assert not node.level, f"{path}: a relative import would pass the rules unseen"
                base = tuple((node.module or "").split("."))
                names |= {(*base, alias.name) for alias in node.names}
        return tuple(sorted(names))

    def ours(self, path: Path) -> list[tuple[str, ...]]:
        """What the file imports from this package, without the first word."""
        names = [name[1:] for name in self.imports(path) if name[0] == "softlabel"]
        return [name for name in names if name and name != ("__version__",)]

    def module(self, name: tuple[str, ...]) -> Path | None:
        """The file behind a dotted name: a module, a package's door, or the home of a symbol."""
        for words in (name, name[:-1]):
            path = self.source.joinpath(*words)
            for file in (path.with_suffix(".py"), path / "__init__.py"):
                if words and file.is_file():
                    return file
        return None

    def upward(self) -> list[str]:
        """Imports from the own floor or above."""
        wrong = []
        for path in self.files:
            room = self.room_of(path)
            floor = ROOT if room == "__init__" else FLOORS[room]
            for name in self.ours(path):
                if name[0][0].isupper():  # `from softlabel import Index`: shown by the root
                    continue
                same = name[0] == room or (name[0] in GROUND and room in GROUND)
                if not same and not FLOORS[name[0]] < floor:
                    wrong.append(f"{path.relative_to(self.source)} imports {'.'.join(name)}")
        return wrong

    def shown(self, room: str) -> set[str]:
        """The names in ``__all__`` at the door of a room."""
        tree = ast.parse((self.source / room / "__init__.py").read_text())
        for node in tree.body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
                return set(ast.literal_eval(node.value))
        return set()

    def past_doors(self) -> list[str]:
        """Imports from another room of what its door does not show."""
        wrong = []
        for path in self.files:
            for name in self.ours(path):
                is_room = (self.source / name[0] / "__init__.py").is_file()
                if not is_room or name[0] in {self.room_of(path), "_util"} or len(name) == 1:
                    continue
                if len(name) > 2 or name[1] not in self.shown(name[0]):
                    wrong.append(f"{path.relative_to(self.source)} imports {'.'.join(name)}")
        return wrong

    def away_from_home(self) -> list[str]:
        """Heavy packages imported in rooms that should do without."""
        return [
            f"{path.relative_to(self.source)} imports {name[0]}"
            for path in self.files
            for name in self.imports(path)
            if name[0] in HOMES and self.room_of(path) not in HOMES[name[0]]
        ]


HOUSE = House(SOURCE)


def test_every_room_has_a_floor():
    assert {HOUSE.room_of(path) for path in HOUSE.files} - {"__init__"} <= set(FLOORS)


def test_rooms_import_only_from_below():
    assert HOUSE.upward() == []


def test_heavy_packages_stay_at_home():
    assert HOUSE.away_from_home() == []


@pytest.mark.parametrize(
    ("room", "line"),
    [
        ("tables", "from softlabel.cli import main"),
        ("construct", "from softlabel.aggregate import Mean"),
        ("elicit", "from softlabel import records"),
        ("metrics", "from softlabel import io"),
    ],
)
def test_the_rule_of_floors_can_fail(tmp_path, room, line):
    (tmp_path / f"{room}.py").write_text(f"{line}\n")
    assert len(House(tmp_path).upward()) == 1


def test_the_rule_of_homes_can_fail(tmp_path):
    (tmp_path / "metrics.py").write_text("import pandas\n")
    assert len(House(tmp_path).away_from_home()) == 1
