"""What a mode is: what it asks, how its answers are read, and what stands beside it.

A mode has a folder of its own.  Next to the Python module that defines the mode stand its script
for the browser (``NAME.js``) and the sentences of its page (``NAME.json``).  The functions at the
end find them for any registered mode, also for one from a user's own file.
"""

import inspect
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, Protocol

import numpy as np

from softlabel.errors import FileError, SoftlabelError
from softlabel.tables import Bools, Floats, Ints

Payload = Mapping[str, Any]
Labels = Sequence[str]
Rng = np.random.Generator

# a class; a chance in percent; a set of classes; classes in order; whole numbers on classes;
# a step on a scale, from 1; a statement about everything not named
Kind = Literal["choice", "percent", "subset", "choices", "chips", "scale", "rest"]

FORM = Path(__file__).parent / "form.js"  # draws the page of any mode from its fields


@dataclass(frozen=True)
class Field:
    """One question: the key under which the answer is recorded, its kind, and how it asks about a
    person's own belief (other wordings belong to the texts of the page)."""

    name: str
    kind: Kind
    required: bool
    asks: str


class Branch(NamedTuple):
    """A branch of classes, the percent that was said of it as a whole, and its classes."""

    name: str
    percent: float
    classes: Ints


class Answer(NamedTuple):
    """One answer after reading: a row of ``Statements``.

    ``branches`` were named as wholes; in ``percent`` their classes share what was said of them.
    """

    named: tuple[int, ...]
    percent: tuple[float, ...]
    possible: Bools
    repairs: tuple[str, ...] = ()
    branches: tuple[Branch, ...] = ()


class Seconds(NamedTuple):
    """Expected seconds of an answer, whether people were timed, and how many times slower than a
    key press each step of a simulated person is."""

    answer: float
    measured: bool = False
    slower: float = 1.0


class Speech(NamedTuple):
    """What the words of a mode are bound to, and the option that chose them; None: to nothing."""

    option: str = ""
    language: str | None = None
    frame: str | None = None
    channel: str | None = None  # image, audio or video: what the words speak of


class Mode(Protocol):
    """A way of asking.  ``version`` is written into every answer given through it.

    Its page is ``NAME.js`` beside the module that defines the mode.  Without this file,
    ``form.js`` draws the page from the fields.  A mode may also have the following attributes:

    ``earlier``: the older versions whose answers ``read`` accepts.  Default: none.
    ``scripts``: file names of scripts that its page ``NAME.js`` imports.  Default: none.
    ``texts``: sentences of its page by language.  Default: ``NAME.json`` beside the module, if any.
    ``seconds``: the expected ``Seconds`` of an answer.  Default: unknown.
    ``speaks``: the ``Speech`` to which its words are bound.  Default: they fit every study.
    ``operate(page, answer, labels)``: enter an answer on the real page as a person would, by keys
    and clicks.  ``page`` is a Playwright page, ``labels`` are in the order shown.  Default:
    none, so that simulated people can answer over HTTP only.
    """

    name: ClassVar[str]
    version: ClassVar[int]
    fields: ClassVar[tuple[Field, ...]]

    def rules(self) -> dict[str, Any]:
        """Return the options that the page needs in order to ask, as JSON."""

    def read(self, payload: Payload, labels: Labels) -> Answer:
        """Read one recorded answer; raise ``ResponseError`` with field and reason if impossible."""

    def simulate(self, belief: Floats, labels: Labels, rng: Rng) -> dict[str, Any]:
        """Return the answer that a person with the belief ``belief[k]`` would send."""


ModeLike = Mode | type[Mode]


def readable_versions(mode: ModeLike) -> tuple[int, ...]:
    """Return the versions whose answers a mode reads: the earlier ones it lists, and its own."""
    return (*getattr(mode, "earlier", ()), mode.version)


def find_scripts(mode: ModeLike) -> tuple[Path, ...]:
    """Return a mode's page ``NAME.js`` and what it imports; none if it is drawn from the fields."""
    page = _beside(mode, f"{mode.name}.js")
    paths = [] if page is None else [page]
    for name in getattr(mode, "scripts", ()):
        path = _beside(mode, name) if Path(name).name == name and name.endswith(".js") else None
        if path is None:
            reason = "is no .js file beside the module of the mode"
            raise SoftlabelError(f"mode {mode.name!r}: scripts: {name!r} {reason}")
        paths.append(path)
    return tuple(paths)


def find_texts(mode: ModeLike, language: str) -> Mapping[str, Any]:
    """Return the sentences of a mode's page in a language, or else in English, or else in any."""
    texts = getattr(mode, "texts", None)
    if texts is None:
        file = _beside(mode, f"{mode.name}.json")
        if file is None:
            return {}
        try:
            texts = json.loads(file.read_text("utf-8"))
        except ValueError as error:
            raise FileError(file, f"is not JSON: {error}") from None
        if not isinstance(texts, dict) or not all(isinstance(one, dict) for one in texts.values()):
            raise FileError(file, 'must map languages to texts, as in {"en": {"question": "Why?"}}')
    for code in (language, "en", *texts):
        if code in texts:
            return dict(texts[code])
    return {}


def expected_seconds(mode: ModeLike) -> Seconds | None:
    """Return how long an answer takes; None if the mode does not know."""
    return getattr(mode, "seconds", None)


def find_speech(mode: ModeLike) -> Speech:
    """Return what the words of a mode are bound to."""
    return getattr(mode, "speaks", Speech())


def _beside(mode: ModeLike, name: str) -> Path | None:
    """Return a file in the folder of the module that defines a mode, or None."""
    try:
        path = Path(inspect.getfile(mode if isinstance(mode, type) else type(mode))).parent / name
    except (OSError, TypeError):  # defined in a notebook or a shell
        return None
    return path if path.is_file() else None
