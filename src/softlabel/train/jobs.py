"""One run to be made, as plain values that can be sent to another process, and grids of them.

A job names its recipe, its settings, its delivery, its seed and its folder, and has a ``Source``:
where its split comes from.  ``FileSource`` is a split of files; the papers' cells are another
source, in their own room.
"""

import json
import shlex
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cache
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any, Protocol, Self

from softlabel import registry
from softlabel.deliver import Deliver
from softlabel.errors import DataError, FileError, SoftlabelError, UnknownName, nearest
from softlabel.io import Progress, silent
from softlabel.train.config import Config, change_settings
from softlabel.train.encoders import encode_split
from softlabel.train.identity import code_digest
from softlabel.train.predict import refuse_objects
from softlabel.train.recipes import RECIPES, Recipe
from softlabel.train.runs import README, Run, write_readme
from softlabel.train.splits import Split, read_split

SEEDS = 5  # unless given: one run shows nothing
SET = "set"  # the table of settings in a grid file


class Trainer(Protocol):
    """A way to make a run that no recipe has; ``seconds`` is about what one run takes."""

    seconds: float

    def start_run(self, seed: int, out: str) -> Run: ...

    def complete_run(self, seed: int, out: str, tell: Progress) -> Run: ...


@dataclass(frozen=True)
class Source:
    """Where the split of a job comes from: a frozen dataclass of values that JSON can keep."""

    def read(self) -> Split:
        """Read the split."""
        raise NotImplementedError

    def key(self) -> tuple[object, ...]:
        """Return what tells this split from others; it changes when a file does."""
        raise NotImplementedError

    def resolve(self) -> Self:
        """Return the same source with absolute paths."""
        return self

    def trainer(self) -> Trainer | None:
        """Return what makes the run, if it is not the recipe."""
        return None

    def command(self, job: "Job") -> str:
        """Return the command that makes the run, as it is typed; "" if there is none."""
        return ""

    def is_probed(self, run: Run) -> bool:
        """Return True if nothing is left to measure on a finished run."""
        return True

    def probe(self, run: Run, tell: Progress) -> None:
        """Measure what is left to measure on a finished run, and keep it in its folder."""


@dataclass(frozen=True)
class FileSource(Source):
    """The options of ``softlabel train``; see ``read_split``."""

    images: str
    labels: str | None = None
    against: str | None = None

    def read(self) -> Split:
        refuse_objects(self.images)
        try:
            return read_split(self.images, self.labels, self.against)
        except DataError as error:
            reason, found, _ = str(error).partition("say what to do with --repeats")
            if not found:
                raise
            made = shlex.join(["softlabel", "label", str(self.labels), "labels.npz"])
            remedy = f"make labels, and train on these: {made} --repeats first (or last, mean, all)"
            raise DataError(reason + remedy) from None

    def key(self) -> tuple[object, ...]:
        """A file goes by its place, size and time, anything else by its name."""

        def identify(text: str | None) -> object:
            if text is None or not Path(text).is_file():
                return text
            state = Path(text).stat()
            return _absolute(text), state.st_size, state.st_mtime_ns

        return tuple(identify(text) for text in asdict(self).values())

    def command(self, job: "Job") -> str:
        """Return the command; it makes the runs of lower seeds, too, unless they are there."""
        words = ["softlabel", "train", job.recipe]
        options = asdict(self) | {"deliver": job.deliver, "load": job.load, "out": job.out}
        for key, value in options.items():
            words += [] if value is None else [f"--{key}", value]
        for key, value in job.settings.items():
            words += ["--set", f"{key}={json.dumps(value) if isinstance(value, bool) else value}"]
        return shlex.join([*words, "--seeds", str(job.seed + 1)])

    def resolve(self) -> Self:
        absolute: dict[str, Any] = {key: _absolute(text) for key, text in asdict(self).items()}
        return replace(self, **absolute)


def _absolute(text: str | None) -> str | None:
    """Return the absolute path of a file; any other text as it is."""
    return str(Path(text).resolve()) if text is not None and Path(text).is_file() else text


@dataclass(frozen=True)
class Job:
    """What to train: a recipe with changed ``settings``, on what, taught how, from which seed.

    ``deliver`` None is the pooled label or, with a crowd layer for an objective, every vote itself.
    ``load`` is a Python file with strategies of the user's own.
    """

    recipe: str
    source: Source
    deliver: str | None = None
    seed: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)
    out: str = "runs"
    load: str | None = None

    def to_json(self) -> str:
        """Return the job as one line of JSON; the source goes with the name of its class."""
        kind = type(self.source)
        source = {"class": f"{kind.__module__}:{kind.__qualname__}", **asdict(self.source)}
        return json.dumps(vars(self) | {"source": source, "code": code_digest()})

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what ``to_json`` wrote; this process must have the same training code."""
        words = json.loads(text)
        if (code := words.pop("code")) != code_digest():
            raise SoftlabelError(
                f"the job is of training code {code}, and this process has {code_digest()}: the "
                "code changed meanwhile, or a worker has another version; start again"
            )
        module, _, name = words["source"].pop("class").partition(":")
        kind = getattr(import_module(module), name)
        assert issubclass(kind, Source), f"{kind} is no source of a job"
        return cls(**words | {"source": kind(**words["source"])})

    def resolve(self) -> Self:
        """Return the same job with absolute paths, for a process in another folder."""
        out = str(Path(self.out).resolve())
        return replace(self, source=self.source.resolve(), out=out, load=_absolute(self.load))

    # ── what the values stand for ────────────────────────────────────────────────────────────

    def find_recipe(self) -> Recipe:
        """Return the recipe of this name."""
        if self.recipe not in RECIPES:
            raise UnknownName("recipe", self.recipe, RECIPES)
        return RECIPES[self.recipe]

    @property
    def config(self) -> Config:
        """The recipe's configuration with the changes."""
        return change_settings(self.find_recipe().config, self.settings)

    @property
    def policy(self) -> Deliver | None:
        """How labels are delivered; None where the objective takes the votes themselves."""
        objective = self.config.objective
        policy: Deliver | None = None
        if objective == "labels":
            policy = registry.parse("deliver", self.deliver or "aggregate")
        elif self.deliver is not None:
            raise SoftlabelError(
                f"deliver {self.deliver!r} goes with objective 'labels'; {objective!r} learns from "
                "the votes themselves"
            )
        return policy

    @property
    def seconds(self) -> float | None:
        """How long the run takes, where that is known without a trial."""
        trainer = self.source.trainer()
        return None if trainer is None else trainer.seconds

    def split(self, tell: Progress = silent) -> Split:
        """Return what to learn from; read once, although many jobs may share it."""
        key = self._key()
        if key not in _SPLITS:
            split = self.source.read()
            if self.find_recipe().kind == "features":
                split = encode_split(split, tell=tell)
            while len(_SPLITS) >= 4:  # so many are kept in memory
                del _SPLITS[next(iter(_SPLITS))]
            _SPLITS[key] = split
            _SIZES[key] = split.inputs.shape, split.teaching.pooled.shape[1]
        return _SPLITS[key]

    def size(self) -> tuple[tuple[int, ...], int]:
        """Return the shape of all inputs, and the number of classes."""
        key = self._key()
        if key not in _SIZES:
            self.split()
        return _SIZES[key]

    def _key(self) -> tuple[object, ...]:
        return (type(self.source), self.find_recipe().kind, *self.source.key())

    # ── the run ──────────────────────────────────────────────────────────────────────────────

    def start_run(self, tell: Progress = silent) -> Run:
        """Return the run, new, interrupted or finished; every wrong value is an error here."""
        if (trainer := self.source.trainer()) is not None:
            return trainer.start_run(self.seed, self.out)
        return self.find_recipe().start_run(*self._words(tell), seed=self.seed, out=self.out)

    def complete_run(self, tell: Progress = silent) -> Run:
        """Return the run, finished and probed."""
        if (trainer := self.source.trainer()) is not None:
            run = trainer.complete_run(self.seed, self.out, tell)
        else:
            recipe, words = self.find_recipe(), self._words(tell)
            run = recipe.complete_run(*words, seed=self.seed, out=self.out, tell=tell)
        self.source.probe(run, tell)
        if not (run.path / README).exists():
            write_readme(run, self.source.command(self))
        return run

    def is_complete(self, run: Run) -> bool:
        """Return True if nothing is left to do."""
        return run.finished and self.source.is_probed(run)

    def _words(self, tell: Progress) -> tuple[Config, Split, Deliver | None]:
        if self.load is not None:
            _load_strategies(self.load)
        return self.config, self.split(tell), self.policy


_SPLITS: dict[tuple[object, ...], Split] = {}  # the last few that were read
_SIZES: dict[tuple[object, ...], tuple[tuple[int, ...], int]] = {}  # of all that were


def file_job(
    recipe: str, images: str, labels: str | None = None, against: str | None = None, **others: Any
) -> Job:
    """Make a job on files or published data; ``others`` are fields of ``Job``."""
    return Job(recipe, FileSource(images, labels, against), **others)


@cache
def _load_strategies(path: str) -> None:
    from softlabel import plugins, testing

    plugins.load_strategies(Path(path), testing.check_family)


# ── grids ────────────────────────────────────────────────────────────────────────────────────


def read_grid(path: Path) -> list[Job]:
    """Read the jobs of a grid file: every combination of its lists, in their order.

    Keys are those of ``file_job``, with ``seeds`` (a number, or a list of them) for ``seed``, and a
    table ``[set]`` of settings.  A value that is a list is crossed with the other lists.
    """
    table = _read_toml(path)
    known = {field.name for kind in (Job, FileSource) for field in fields(kind)}
    known = known - {"seed", "settings", "source"} | {"seeds", SET}
    keys = f"the keys of a grid are {', '.join(sorted(known))}"
    for key in table:
        if key not in known:
            raise FileError(path, f"no key called {key!r}{nearest(key, known)}; {keys}")
    settings = table.pop(SET, {})
    if not isinstance(settings, dict):
        raise FileError(path, f"{SET} = {settings!r} is not a table; write [{SET}]")
    for key in ("recipe", "images"):
        if key not in table:
            raise FileError(path, f"has no {key}; {keys}")
    given = table.pop("seeds", SEEDS)
    seeds = list(range(given)) if type(given) is int else given
    right = isinstance(seeds, list) and all(type(seed) is int and seed >= 0 for seed in seeds)
    if not right or not seeds:
        raise FileError(path, f"seeds = {given!r} is neither a number of seeds nor a list of them")
    seeds = _read_axis(path, "seeds", seeds)
    axes = {key: _read_axis(path, key, value, str) for key, value in table.items()}
    inner = {key: _read_axis(path, key, value) for key, value in settings.items()}
    jobs = [
        file_job(
            **dict(zip(axes, outer, strict=True)),
            settings=dict(zip(inner, values, strict=True)),
            seed=seed,
        )
        for outer, values, seed in product(product(*axes.values()), product(*inner.values()), seeds)
    ]
    try:
        for job in jobs:
            if job.load is not None:
                _load_strategies(job.load)
            assert job.policy or job.config, "a configuration is made, and checks itself"
    except SoftlabelError as error:
        raise FileError(path, str(error)) from None
    return jobs


def _read_toml(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise FileError(path, "there is no such file")
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise FileError(path, f"is not TOML ({error})") from None


def _read_axis(path: Path, key: str, value: Any, kind: type | None = None) -> list[Any]:
    """Return one value or several as a list."""
    values = value if isinstance(value, list) else [value]
    if not values:
        raise FileError(path, f"{key} = [] leaves nothing to run")
    for each in values:
        if kind is not None and type(each) is not kind:
            raise FileError(path, f"{key} = {each!r} is not text")
        if values.count(each) > 1:
            raise FileError(path, f"{key} names {each!r} twice")
    return values
