"""One run to be made, as plain values that can be sent to another process, and many of them."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

from softlabel import registry
from softlabel.deliver import Deliver
from softlabel.errors import FileError, SoftlabelError, UnknownName, nearest
from softlabel.io import Tell, silent
from softlabel.train import Config
from softlabel.train.recipes import RECIPES, Recipe, features
from softlabel.train.recipes.base import begun, completed
from softlabel.train.recipes.lesson import Lesson, read
from softlabel.train.recipes.settings import changed
from softlabel.train.runs import Run

DELIVER = "aggregate"  # unless told: the pooled label
SEEDS = 5  # unless told: one run says nothing


@dataclass(frozen=True)
class Job:
    """What to train: a recipe with changed ``settings``, on what, taught how, from which seed.

    ``deliver`` None is the pooled label or, with a crowd layer for an objective, every vote itself.
    ``load`` is a Python file with strategies of the user's own.
    """

    recipe: str
    images: str
    labels: str | None = None
    against: str | None = None
    deliver: str | None = None
    seed: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)
    out: str = "runs"
    load: str | None = None

    def text(self) -> str:
        """As one line of JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def of(cls, text: str) -> Job:
        """What ``text`` wrote."""
        return cls(**json.loads(text))

    def anywhere(self) -> Job:
        """The same with whole paths, for a process that may be in another folder."""
        return replace(
            self,
            images=_whole(self.images) or self.images,
            labels=_whole(self.labels),
            against=_whole(self.against),
            out=str(Path(self.out).resolve()),
            load=_whole(self.load),
        )

    # ── what the words stand for ─────────────────────────────────────────────────────────────

    @property
    def made_by(self) -> Recipe:
        """The recipe of this name."""
        if self.recipe not in RECIPES:
            raise UnknownName("recipe", self.recipe, RECIPES)
        return RECIPES[self.recipe]

    @property
    def config(self) -> Config:
        """The recipe's configuration with the changes."""
        return changed(self.made_by.config, self.settings)

    @property
    def policy(self) -> Deliver | None:
        """How labels are delivered; None where the objective takes the votes themselves."""
        objective = self.config.objective
        if objective == "labels":
            policy: Deliver = registry.parse("deliver", self.deliver or DELIVER)
            return policy
        if self.deliver is not None:
            raise SoftlabelError(
                f"deliver {self.deliver!r} goes with objective 'labels'; {objective!r} learns from "
                "the votes themselves"
            )
        return None

    @property
    def takes(self) -> float | None:
        """Only a trial can say how long."""
        return None

    def size(self) -> tuple[tuple[int, ...], int]:
        """The shape of all inputs, and the number of classes."""
        lesson = self.lesson()
        return lesson.inputs.shape, lesson.teaching.pooled.shape[1]

    def lesson(self, tell: Tell = silent) -> Lesson:
        """What there is to learn; read once, although many jobs may share it."""
        return _remembered(self, tell)

    def _all(self, tell: Tell) -> tuple[Recipe, Config, Lesson, Any]:
        if self.load is not None:
            _loaded(self.load)
        return self.made_by, self.config, self.lesson(tell), self.policy

    def begun(self, tell: Tell = silent) -> Run:
        """Its folder; everything that can be wrong with the words is found here."""
        return begun(*self._all(tell), seed=self.seed, out=self.out)

    def completed(self, tell: Tell = silent) -> Run:
        """The run, finished."""
        return completed(*self._all(tell), seed=self.seed, out=self.out, tell=tell)


def _whole(text: str | None) -> str | None:
    """The whole path, if it is a file; else as it is."""
    return str(Path(text).resolve()) if text is not None and Path(text).is_file() else text


LESSONS: dict[tuple[object, ...], Lesson] = {}  # the last few that were read
MOST = 4


def _remembered(job: Job, tell: Tell) -> Lesson:
    """Read once, for as long as the files are the same."""
    kind = job.made_by.kind
    words = (job.images, job.labels, job.against)
    key = (kind, *(_which(text) for text in words))
    if key not in LESSONS:
        lesson = read(*words)
        while len(LESSONS) >= MOST:
            del LESSONS[next(iter(LESSONS))]
        LESSONS[key] = features.featured(lesson, tell=tell) if kind == "features" else lesson
    return LESSONS[key]


def _which(text: str | None) -> object:
    """A file by its place, size and time; anything else by its name."""
    if text is None or not Path(text).is_file():
        return text
    state = Path(text).stat()
    return _whole(text), state.st_size, state.st_mtime_ns


@cache
def _loaded(path: str) -> None:
    from softlabel import plugins, testing

    plugins.load_strategies(Path(path), testing.check_family)


# ── many ─────────────────────────────────────────────────────────────────────────────────────

SET = "set"  # the table of settings


def read_grid(path: Path) -> list[Job]:
    """The jobs that a grid file stands for: every combination of its lists, in their order.

    Keys are those of a job, with ``seeds`` (a number, or a list of them) for ``seed``, and a table
    ``[set]`` of settings.  A value that is a list is crossed with the other lists.
    """
    table = _toml(path)
    known = {one.name for one in fields(Job)} - {"seed", "settings"} | {"seeds", SET}
    for key in table:
        if key not in known:
            raise FileError(path, f"no key called {key!r}{nearest(key, known)}; {_keys(known)}")
    settings = table.pop(SET, {})
    if not isinstance(settings, dict):
        raise FileError(path, f"{SET} = {settings!r} is not a table; write [{SET}]")
    for key in ("recipe", "images"):
        if key not in table:
            raise FileError(path, f"has no {key}; {_keys(known)}")
    seeds = _seeds(path, table.pop("seeds", SEEDS))
    axes = {key: _many(path, key, value, str) for key, value in table.items()}
    inner = {key: _many(path, key, value) for key, value in settings.items()}
    jobs = []
    for outer in product(*axes.values()):
        for some in product(*inner.values()):
            words = dict(zip(axes, outer, strict=True))
            chosen = dict(zip(inner, some, strict=True))
            jobs += [Job(**words, settings=chosen, seed=seed) for seed in seeds]
    for job in jobs:
        _checked(path, job)
    return jobs


def _toml(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise FileError(path, "there is no such file")
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise FileError(path, f"is not TOML ({error})") from None


def _seeds(path: Path, given: Any) -> list[int]:
    seeds = list(range(given)) if type(given) is int else given
    if (
        not isinstance(seeds, list)
        or not seeds
        or not all(type(s) is int and s >= 0 for s in seeds)
    ):
        raise FileError(path, f"seeds = {given!r} is neither a number of seeds nor a list of them")
    return seeds


def _many(path: Path, key: str, value: Any, kind: type | None = None) -> list[Any]:
    """One value or a list of them."""
    values = value if isinstance(value, list) else [value]
    if not values:
        raise FileError(path, f"{key} = [] leaves nothing to run")
    for one in values:
        if kind is not None and type(one) is not kind:
            raise FileError(path, f"{key} = {one!r} is not text")
        if values.count(one) > 1:
            raise FileError(path, f"{key} names {one!r} twice")
    return values


def _checked(path: Path, job: Job) -> None:
    """Words that stand for nothing are found before anything is run."""
    try:
        if job.load is not None:
            _loaded(job.load)
        assert job.policy or job.config, "a configuration is made, and checks itself"
    except SoftlabelError as error:
        raise FileError(path, str(error)) from None


def _keys(known: set[str]) -> str:
    return f"the keys of a grid are {', '.join(sorted(known))}"
