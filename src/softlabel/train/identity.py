"""What makes a run the run it is: its name, the digests of its data and of the training code.

A run is named by a hash of its configuration, its labels and its seed.  The configuration holds
the digest of the training code, and hashes of all inputs and of the items held out.  These hashes
of the arrays themselves are the version of the data: they change with the file of a published data
set, with the way it is read, and with its split.
"""

import ast
import json
import os
import platform
import subprocess
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache, partial
from hashlib import sha256
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from softlabel.errors import SoftlabelError

NAMED = "named"  # what things were called, for readers: the same labels in another file are no news
CODE = "code"  # the key of the code digest in a configuration
LENGTH = 16  # hexadecimal digits: 64 bits, of which no two of a million runs share all

DESCRIBED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef  # by a docstring
PACKAGE = Path(__file__).parents[1]
# files and folders that decide what training computes, below the package
TRAINING_CODE = (
    *("deliver", "randomness.py"),  # the latter: order, crops and drawn labels
    *("train/config.py", "train/data.py", "train/encoders.py", "train/loop.py", "train/losses.py"),
    *("train/networks", "train/objectives.py", "train/ranks.py", "train/recipes.py"),
    *("train/schedules.py", "train/splits.py", "train/tagging.py", "train/text.py"),
    "train/text_encoders.py",
)


def run_name(config: Mapping[str, Any], labels_sha: str, seed: int) -> str:
    """Return sixteen hexadecimal digits; ``config`` is as JSON would keep it, less its names.

    >>> one = run_name({"net": "small", "lr": 0.1}, "ab12", 0)
    >>> one == run_name({"lr": 0.1, "net": "small"}, "ab12", 0)
    True
    >>> one == run_name({"lr": 0.1, "net": "small"}, "ab12", 1)
    False
    """
    decides = {key: value for key, value in config.items() if key != NAMED}
    text = as_json({"config": decides, "labels": labels_sha, "seed": seed})
    return sha256(text.encode()).hexdigest()[:LENGTH]


def as_json(value: Mapping[str, Any]) -> str:
    """Return one text per content, whatever the order of its keys."""
    try:
        return json.dumps(value, sort_keys=True, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise SoftlabelError(
            f"the configuration of a run holds something that JSON cannot keep ({error}); numbers, "
            "text, true, false, none, lists and tables of them are right"
        ) from None


def digest(arrays: Mapping[str, npt.NDArray[Any]]) -> str:
    """Return the sha256 of named arrays: their names, types, shapes and bytes.

    >>> digest({"a": np.zeros(2)}) == digest({"a": np.zeros(3)})
    False
    """
    sha = sha256()
    for key in sorted(arrays):
        array = np.ascontiguousarray(arrays[key])
        if array.dtype.kind not in "biufU":
            raise SoftlabelError(f"array {key!r} of type {array.dtype} has no fixed bytes to hash")
        sha.update(f"{key} {array.dtype.str} {array.shape}\n".encode())
        sha.update(array.view(np.uint8).data if array.size else b"")
    return sha.hexdigest()


# ── code ─────────────────────────────────────────────────────────────────────────────────────


@cache
def code_digest() -> str:
    """Return sixteen hexadecimal digits of the training code, as it is on the disk.

    Comments, docstrings and formatting do not change it, nor does the version of Python.  Of a
    strategy of the user's own (``--load``) only the name and the options are known to a run.
    """
    sha = sha256()
    for place in TRAINING_CODE:
        path = PACKAGE / place
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            tree = parse_code(file.read_text("utf-8"))
            sha.update(f"{file.relative_to(PACKAGE).as_posix()} {tree}\n".encode())
    return sha.hexdigest()[:LENGTH]


def parse_code(source: str) -> str:
    """Return what a source text computes, in one form whatever its comments and its layout.

    >>> parse_code("def f(x):\\n    '''Double.'''\\n    return 2 * x  # twice")
    "(Module body=[(FunctionDef name='f' args=(arguments args=[(arg arg='x')]) \
body=[(Return value=(BinOp left=(Constant value=2) op=(Mult) \
right=(Name id='x' ctx=(Load))))])])"
    """

    def form(node: Any) -> str:
        if isinstance(node, list):
            return f"[{', '.join(map(form, node))}]"
        if not isinstance(node, ast.AST):
            return repr(node)
        parts = [type(node).__name__]
        described = isinstance(node, DESCRIBED) and ast.get_docstring(node) is not None
        for key, value in ast.iter_fields(node):
            if key == "body" and described:
                value = value[1:]
            if value not in (None, []):  # fields that only some versions of Python have
                parts.append(f"{key}={form(value)}")
        return f"({' '.join(parts)})"

    return form(ast.parse(source))


@cache
def git_commit() -> str | None:
    """Return the commit of the checkout that the package lies in, with ``-dirty`` if files were
    changed since; None if the package lies in no checkout that tracks it."""
    run = partial(subprocess.run, cwd=PACKAGE, capture_output=True, timeout=10, check=True)
    try:
        run(["git", "ls-files", "--error-unmatch", "__init__.py"])
        words = ["git", "describe", "--always", "--abbrev=40", "--dirty", "--exclude=*"]
        done = run(words, text=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def describe_environment() -> str:
    """Return a paragraph on code, machine and packages, for each time a run starts or resumes."""
    threads = os.environ.get("OMP_NUM_THREADS", "not set")
    return (
        f"begun {datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC\n"
        f"code {code_digest()}, commit {git_commit() or 'null'}\n"
        f"python {sys.version.split()[0]} on {platform.platform()}\n"
        f"cores {os.cpu_count()}, OMP_NUM_THREADS {threads}\n"
        f"{_packages()}\n\n"
    )


@cache
def _packages() -> str:
    every = {(package.name or "?", package.version) for package in distributions()}
    return " ".join(f"{name}=={version}" for name, version in sorted(every))
