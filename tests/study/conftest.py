"""Study folders written by hand: a small one that is right, and any number of wrong ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest

from softlabel import study
from softlabel.errors import StudyError
from softlabel.study import shapes

RIGHT = """\
[study]
labels = ["cat", "dog", "fox"]

[items]
source = "images"
"""


@pytest.fixture(scope="session")
def picture() -> bytes:
    """The smallest picture."""
    return shapes.encode_png(np.zeros((2, 2), np.uint8))


@pytest.fixture
def make(tmp_path, picture) -> Callable[..., Path]:
    """Write a folder: ``make(toml, {"labels.txt": "cat\\ndog"})``; a dozen pictures are in it."""

    def folder(toml: str | None = RIGHT, files: Mapping[str, str | bytes] | None = None) -> Path:
        root = tmp_path / "birds"
        for number in range(12):
            path = root / "images" / f"{number:02d}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(picture)
        if toml is not None:
            (root / "study.toml").write_text(toml, encoding="utf-8")
        for name, content in (files or {}).items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return root

    return folder


@pytest.fixture
def wrong() -> Callable[[Path], list[str]]:
    """Every mistake in a folder, as the lines that are printed."""

    def lines(folder: Path) -> list[str]:
        found = study.find_problems(folder)
        if found:
            with pytest.raises(StudyError) as caught:
                study.read(folder)
            assert str(caught.value) == "\n".join(map(str, found))
        else:
            study.read(folder)
        return [str(problem) for problem in found]

    return lines
