"""What stands beside a mode: its scripts, its texts, its seconds."""

from __future__ import annotations

import json
import sys
from importlib.util import module_from_spec, spec_from_file_location
from itertools import combinations
from pathlib import Path
from string import Formatter

import pytest

from softlabel import elicit, metrics
from softlabel.elicit import MODES, Seconds, find_texts
from softlabel.elicit.mode import expected_seconds, find_scripts
from softlabel.errors import FileError, SoftlabelError

LANGUAGES = ("en", "ar", "de", "es", "fr", "zh")


def shape(value):
    """Keys all the way down, with the blanks of each text."""
    if isinstance(value, dict):
        if "other" in value:  # one text per plural form, of which languages have their own number
            return shape(value["other"])
        return {key: shape(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [shape(inner) for inner in value]
    return {name for _, name, _, _ in Formatter().parse(value) if name is not None}


@pytest.mark.parametrize("mode", MODES.values(), ids=MODES)
def test_every_mode_has_all_its_parts_in_its_folder(mode):
    folder = Path(sys.modules[mode.__module__].__file__).parent
    assert folder.name == mode.name
    page, *others = find_scripts(mode)
    assert page == folder / f"{mode.name}.js"
    assert {page, *others} == set(folder.glob("*.js")), "a script is not listed"
    assert callable(mode().operate)
    assert expected_seconds(mode()).answer > 0


@pytest.mark.parametrize("mode", MODES.values(), ids=MODES)
def test_every_mode_says_the_same_in_every_language(mode):
    first, *others = (shape(find_texts(mode, language)) for language in LANGUAGES)
    assert first
    assert all(other == first for other in others)
    said = [find_texts(mode, language) for language in LANGUAGES]
    assert all(one != other for one, other in combinations(said, 2))


@pytest.mark.parametrize("mode", MODES.values(), ids=MODES)
def test_every_text_of_a_mode_is_used(mode):
    used = "\n".join(path.read_text() for path in find_scripts(mode))
    texts = find_texts(mode, "en")
    for key in {*texts, *texts["self"], *texts["help"]} - {"self", "third_person"}:
        assert key in used, f"{key} is said nowhere"


def test_measured_seconds_are_those_of_the_metrics():
    cost = metrics.Cost()
    assert expected_seconds(elicit.Classic()) == (cost.answer("t2-clamp"), True, 5.0)
    assert expected_seconds(elicit.Hard()) == (cost.answer("hard"), True, 1.0)


# ── a mode from elsewhere ────────────────────────────────────────────────────────────────────


@pytest.fixture
def load(tmp_path, monkeypatch):
    """Load a mode of one's own from a file, with these attributes."""

    def make(**attributes):
        lines = "".join(f"    {name} = {value!r}\n" for name, value in attributes.items())
        path = tmp_path / "mine.py"
        path.write_text(f"class Mine:\n    name = 'mine'\n    version = 1\n{lines}")
        spec = spec_from_file_location("mine_of_test", path)
        module = module_from_spec(spec)
        monkeypatch.setitem(sys.modules, spec.name, module)
        spec.loader.exec_module(module)
        return module.Mine

    return make


def test_a_mode_without_files_has_no_parts(load):
    mine = load()
    assert (find_scripts(mine), find_texts(mine, "en"), expected_seconds(mine)) == ((), {}, None)


def test_files_beside_a_mode_are_found(load, tmp_path):
    for name in ("mine.js", "more.js", "other.js"):
        (tmp_path / name).write_text("")
    (tmp_path / "mine.json").write_text(json.dumps({"en": {"question": "Which?"}}))
    mine = load(scripts=("more.js",), seconds=(3.0,))
    assert find_scripts(mine()) == (tmp_path / "mine.js", tmp_path / "more.js")
    assert find_texts(mine, "en") == find_texts(mine, "ar") == {"question": "Which?"}
    assert Seconds(*expected_seconds(mine)) == (3.0, False, 1.0)


@pytest.mark.parametrize("name", ["../secret.js", "/etc/x.js", "mine.py", "nowhere.js", ""])
def test_scripts_come_from_the_folder_of_the_mode_alone(load, tmp_path, name):
    (tmp_path.parent / "secret.js").write_text("")
    with pytest.raises(SoftlabelError, match=r"mode 'mine': scripts: .* beside the module"):
        find_scripts(load(scripts=(name,)))


@pytest.mark.parametrize("text", ["{", "[]", '{"en": "Which?"}'])
def test_texts_that_are_none_are_refused_with_their_file(load, tmp_path, text):
    (tmp_path / "mine.json").write_text(text)
    with pytest.raises(FileError, match=r"mine\.json"):
        find_texts(load(), "en")


def test_texts_can_also_be_written_in_the_class(load):
    mine = load(texts={"ar": {"question": "A"}, "de": {"question": "D"}})
    assert find_texts(mine, "de") == {"question": "D"}
    assert find_texts(mine, "en") == {"question": "A"}, "the first one there is"
