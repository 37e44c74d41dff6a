"""Each integration needs its own package alone."""

from __future__ import annotations

import subprocess
import sys

import pytest

import softlabel.integrations


def test_every_name_is_there_and_no_other():
    for name in ("LabelledDataset", "SoftLabelClassifier", "neg_cross_entropy"):
        assert callable(getattr(softlabel.integrations, name))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = softlabel.integrations.nothing


def run(code: str) -> str:
    """What a fresh interpreter prints."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_scikit_learn_is_used_without_torch():
    code = "from softlabel.integrations import SoftLabelClassifier"
    assert run(f"{code}; import sys; print('torch' in sys.modules)") == "False"


ABSENT = """
import sys
sys.modules[{package!r}] = None  # as if it were not installed
from softlabel import integrations
from softlabel.errors import MissingExtra
try:
    integrations.{name}
except MissingExtra as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("name", "package", "extra"),
    [
        ("LabelledDataset", "torch", "train"),
        ("SoftLabelClassifier", "sklearn", "sklearn"),
        ("to_huggingface", "datasets", "huggingface"),
    ],
)
def test_what_is_not_installed_is_named(name, package, extra):
    said = run(ABSENT.format(name=name, package=package))
    assert said.startswith(f"{name} needs more packages")
    assert said.endswith(f"pip install 'softlabel[{extra}]'")
