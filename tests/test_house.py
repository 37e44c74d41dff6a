"""The architecture, as tests: floors, doors, homes of heavy packages, cycles, sizes.

Each rule is one test over all files; the small trees at the end show that each rule can fail.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "softlabel"

GROUND = {"errors", "tables", "randomness", "registry", "sampling", "plugins", "_util"}
GROUND_NAME = dict.fromkeys(GROUND, "ground")
MOST_LINES = 72_000  # 42,000 before pay, data from everywhere, models and policies
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
    "frames": 2.3,
    "labelling": 2.4,
    "scoring": 2.5,
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
    "publish": 3.2,
    "allocate": 3.3,
    "judges": 3,
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
    "polars": {"io", "frames", "datasets", "engine", "publish", "papers", "_util"},
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
    "jinja2": {"serve", "publish"},
    "markdown_it": {"serve"},
    "httpx": {"serve", "judges"},
    "jwt": {"serve"},
    "cryptography": {"serve"},
    "playwright": {"simulate"},
    "torch": {"train", "integrations"},
    "sklearn": {"integrations", "datasets", "papers"},
    "pandas": {"frames"},
    "pyarrow": set(),  # Arrow tables are read through polars
    "datasets": {"frames", "integrations"},
    "PIL": {"study"},
}


class House:
    """A source tree: its files, its rooms, and what each file imports."""

    def __init__(self, source: Path) -> None:
        self.source = source
        self.files = sorted(source.rglob("*.py"))

    def room_of(self, path: Path) -> str:
        return path.relative_to(self.source).with_suffix("").parts[0]

    @cache  # noqa: B019  # a few houses live as long as the tests
    def tree(self, path: Path) -> ast.Module:
        return ast.parse(path.read_text())

    @cache  # noqa: B019
    def imports(self, path: Path) -> tuple[tuple[str, ...], ...]:
        """Dotted names imported anywhere in the file, as tuples."""
        names = set()
        for node in ast.walk(self.tree(path)):
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

    @cache  # noqa: B019
    def shown(self, room: str) -> set[str]:
        """The names in ``__all__`` at the door of a room."""
        for node in self.tree(self.source / room / "__init__.py").body:
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

    def cycles(self) -> list[list[str]]:
        """Modules that import each other, directly or in a circle.

        Imports inside functions count; imports for type checkers do not.
        """
        order, low, stack, circles = {}, {}, [], []

        def visit(path: Path) -> None:
            order[path] = low[path] = len(order)
            stack.append(path)
            for other in self.needs(path):
                if other not in order:
                    visit(other)
                if other in stack:
                    low[path] = min(low[path], low[other])
            if low[path] == order[path]:
                start = stack.index(path)
                circle = [str(one.relative_to(self.source)) for one in stack[start:]]
                del stack[start:]
                if len(circle) > 1:
                    circles.append(circle)

        for path in self.files:
            if path not in order:
                visit(path)
        return circles

    @cache  # noqa: B019
    def needs(self, path: Path) -> tuple[Path, ...]:
        """The files of this package that a file imports when it is used."""
        found, nodes = set(), [self.tree(path)]
        while nodes:
            node = nodes.pop()
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
                continue
            if (
                isinstance(node, ast.ImportFrom)
                and (node.module or "").split(".")[0] == "softlabel"
            ):
                base = tuple(node.module.split(".")[1:])
                found |= {self.module((*base, alias.name)) for alias in node.names}
            nodes += ast.iter_child_nodes(node)
        return tuple(sorted(found - {None, path}))


HOUSE = House(SOURCE)


def test_every_room_has_a_floor():
    assert {HOUSE.room_of(path) for path in HOUSE.files} - {"__init__"} <= set(FLOORS)


def test_rooms_import_only_from_below():
    assert HOUSE.upward() == []


def test_rooms_are_entered_by_their_doors():
    assert HOUSE.past_doors() == []


def test_no_modules_import_each_other():
    assert HOUSE.cycles() == []


def test_heavy_packages_stay_at_home():
    assert HOUSE.away_from_home() == []


def test_only_the_command_line_knows_the_papers():
    rooms = {
        HOUSE.room_of(path)
        for path in HOUSE.files
        for name in HOUSE.ours(path)
        if name[0] == "papers"
    }
    assert rooms == {"cli", "papers"}


# ── sizes ────────────────────────────────────────────────────────────────────────────────────


def test_the_house_stays_small():
    rooms = {HOUSE.room_of(path) for path in HOUSE.files} - GROUND - {"__init__", "__main__"}
    assert len(rooms) + 1 <= 27, "the ground is one room"  # 25 before models and policies
    # 300 before; formats of other programs, models, policies; items, tuning and pages of claims;
    # presets, batches, figures of released data
    assert len(HOUSE.files) <= 362
    lines = {path: path.read_text().count("\n") for path in HOUSE.files}
    assert sum(lines.values()) <= MOST_LINES
    assert max(lines.values()) <= 600


def test_functions_are_readable():
    """The 95th percentile of their lengths, without docstrings: starlette has 38."""
    sizes = []
    for path in HOUSE.files:
        for node in ast.walk(HOUSE.tree(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                doc = ast.get_docstring(node, clean=False)
                sizes.append(node.end_lineno - node.lineno - (doc.count("\n") + 1 if doc else 0))
    assert sorted(sizes)[int(0.95 * len(sizes))] <= 35


def walks() -> dict[str, list[str]]:
    """The walks of docs/design/house.md: a heading, and the files that are named under it."""
    page = (SOURCE.parents[1] / "docs" / "design" / "house.md").read_text()
    parts = re.split(r"^### ", page, flags=re.MULTILINE)[1:]
    return {
        part.splitlines()[0]: re.findall(r"`((?:src|tools)/[\w/.-]+)`", part.split("\n## ")[0])
        for part in parts
        if part.startswith("Walk")
    }


@pytest.mark.parametrize(
    ("walk", "files", "rooms"),
    [
        ("Walk 1: one answer, from the click to the report", 40, 12),
        ("Walk 2: one claim, from the paper to the page", 12, 3),
    ],
)
def test_walks_are_short(walk, files, rooms):
    path = walks()[walk]
    assert path == list(dict.fromkeys(path)), "each file once"
    assert len(path) <= files
    missing = [file for file in path if not (SOURCE.parents[1] / file).is_file()]
    assert missing == []
    inside = [Path(file).relative_to("src/softlabel") for file in path if file.startswith("src/")]
    assert (
        len({GROUND_NAME.get(one.with_suffix("").parts[0], one.parts[0]) for one in inside})
        <= rooms
    )


def test_the_page_about_the_house_names_every_room():
    page = (SOURCE.parents[1] / "docs" / "design" / "house.md").read_text()
    rooms = {HOUSE.room_of(path) for path in HOUSE.files} - {"__init__", "__main__"}
    assert [room for room in sorted(rooms) if f"`{room}`" not in page] == []


# ── each rule can fail ───────────────────────────────────────────────────────────────────────


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


def test_the_rule_of_doors_can_fail(tmp_path):
    (tmp_path / "io").mkdir()
    (tmp_path / "io" / "__init__.py").write_text('__all__ = ["shown"]\n')
    (tmp_path / "labelling.py").write_text(
        "from softlabel.io import shown, hidden\nfrom softlabel.io.inner import deep\n"
    )
    assert len(House(tmp_path).past_doors()) == 2


def test_the_rule_of_cycles_can_fail(tmp_path):
    (tmp_path / "tables.py").write_text("def f():\n    from softlabel.errors import g\n")
    (tmp_path / "errors.py").write_text("from softlabel.tables import f\n")
    assert House(tmp_path).cycles() == [["errors.py", "tables.py"]]
