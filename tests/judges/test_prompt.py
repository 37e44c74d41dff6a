"""What a model is asked, and what its reply says."""

from __future__ import annotations

import base64
import math
import re

import numpy as np
import pytest

from softlabel import study as studies
from softlabel.errors import SoftlabelError
from softlabel.judges import Prompt
from softlabel.judges.prompt import Asked, make_codes, read_reply, read_tokens

CODES = {"A": "cat", "B": "dog", "C": "fox"}


def test_the_prompt_holds_what_the_study_says(make_study):
    study = make_study()
    asked = Prompt(study).ask(study.items[2], 1)
    assert asked.text.startswith("Which animal is it?\n\nAnimal 2\n\nA. ")
    assert ". fox: red, with a bushy tail\n" in f"{asked.text}\n"
    assert asked.text.endswith("Answer with the letter of one label, and nothing else.")
    assert asked == Prompt(study).ask(study.items[2], 1), "by the seed, not by chance"
    assert asked.digest != Prompt(study).ask(study.items[3], 1).digest


def test_own_instructions_are_sent_but_not_how_to_use_the_page(make_study):
    study = make_study()
    assert study.instructions
    assert Prompt(study).describe()["instructions"] == ""
    pages = "\n\n---\n\n".join([*study.instructions, "A fox is no dog."])
    (study.folder / "instructions.md").write_text(pages)
    toml = study.toml + '\n[pages]\ninstructions = "instructions.md"\n'
    changed = make_study(toml=toml)
    assert Prompt(changed).ask(changed.items[0], 1).text.startswith("A fox is no dog.\n\nWhich")
    assert Prompt(changed).digest != Prompt(study).digest


@pytest.mark.parametrize("mode", ["quick", "classic", "hard"])
def test_instructions_that_new_wrote_are_left_out_after_the_study_changed(tmp_path, mode):
    """They are of another mode, and of other numbers of items, than the study is now;
    what was added to one of their pages is sent alone."""
    studies.write_new(tmp_path, mode=mode)
    toml = (tmp_path / "study.toml").read_text()
    assert f'mode = "{mode}"' in toml
    other = toml.replace(f'mode = "{mode}"', 'mode = "chips"')
    (tmp_path / "study.toml").write_text(
        re.sub("(?m)^per_annotator = .*$", "per_annotator = 5", other)
    )
    study = studies.read(tmp_path)
    assert study.per_annotator == 5
    assert len(study.instructions) > 3
    assert Prompt(study).describe()["instructions"] == ""
    own = tmp_path / "instructions.md"
    own.write_text(own.read_text() + "\nA heart may lie on its side.\n")
    study = studies.read(tmp_path)
    assert Prompt(study).describe()["instructions"] == "A heart may lie on its side."


def test_pictures_are_sent_whole(tmp_path):
    (tmp_path / "images").mkdir()
    picture = studies.shapes.encode_png(np.zeros((2, 2), np.uint8))
    (tmp_path / "images" / "dot.png").write_bytes(picture)
    toml = '[study]\nlabels = ["dot", "none"]\n[items]\nsource = "images"\n'
    (tmp_path / "study.toml").write_text(toml)
    study = studies.read(tmp_path)
    item = study.items[0]
    text, sent = Prompt(study).ask(item, 1).messages[0]["content"]
    assert text["type"] == "text"
    kind, _, data = sent["image_url"]["url"].partition(",")
    assert kind == "data:image/png;base64"
    assert base64.b64decode(data) == picture


def test_a_scale_is_shown_up_or_down(make_study):
    study = make_study(20, '[study]\nlabels = ["1", "2", "3", "4"]\nordered = true\n'
                           '[items]\nsource = "items.csv"\n')  # fmt: skip
    orders = {tuple(Prompt(study).ask(item, 1).codes) for item in study.items}
    assert orders == {("1", "2", "3", "4"), ("4", "3", "2", "1")}
    assert "the number of one label" in Prompt(study).ask(study.items[0], 1).text


def test_a_template_must_have_its_places(make_study):
    with pytest.raises(SoftlabelError, match=r"must contain \{labels\}"):
        Prompt(make_study(), "{question} {item}")


def test_braces_of_an_item_are_left_alone(make_study):
    study = make_study(1)
    (study.folder / "items.csv").write_text("id,text\na,{labels} {x}\n")
    study = studies.read(study.folder)
    assert "\n{labels} {x}\n" in Prompt(study).ask(study.items[0], 1).text


def test_codes_do_not_look_like_labels():
    assert make_codes(["A", "bb"]) == ({"1": "A", "2": "bb"}, True)
    many = [f"label {number}" for number in range(27)]
    codes, single = make_codes(many)
    assert list(codes) == [str(number) for number in range(1, 28)]
    assert not single, "a number of two digits may be two tokens"


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("A", "cat"),
        (" b\n", "dog"),
        ("**B**", "dog"),
        ("B. dog", "dog"),
        ("(C)", "fox"),
        ("Answer: C", "fox"),
        ("The answer is C.", "fox"),
        ("Dog", "dog"),
        ('{"answer": "B"}', "dog"),
        ("<think>A? No, B.</think>C", "fox"),
        ("D", None),
        ("", None),
        ("A B", None),
        ("B. cat", None),
        ("A cat is not here", None),
        ('{"answer": "Z"}', None),
        ('{"answer": "A"', None),
        ("<think>A", None),
    ],
)
def test_replies_say_one_label_or_nothing(text, label):
    assert read_reply(text, CODES) == label


def ask_codes(single=True):
    return Asked("i", 1, 0, CODES, [], single)


def token(text, chance, **others):
    top = [{"token": name, "logprob": math.log(p)} for name, p in others.pop("top", {}).items()]
    return {"token": text, "logprob": math.log(chance), "top_logprobs": top}


def test_tokens_of_one_code_are_added_and_absent_codes_share_what_is_left():
    top = {"A": 0.5, " A": 0.1, "B": 0.2, "The": 0.15}
    chances = read_tokens([token("A", 0.5, top=top)], "cat", ask_codes())
    total = 0.6 + 0.2 + 0.05
    assert chances == pytest.approx({"cat": 0.6 / total, "dog": 0.2 / total, "fox": 0.05 / total})
    top = {"A": 0.5, "The": 0.001}  # none that is absent is likelier than one that is listed
    chances = read_tokens([token("A", 0.5, top=top)], "cat", ask_codes())
    assert chances["dog"] == chances["fox"] == pytest.approx(0.001 / 0.502)


def test_the_first_token_tells_if_its_chance_is_on_codes():
    """A rare token was drawn, and the reply is no answer; the chances are there all the same."""
    top = {"A": 0.6, "B": 0.2, "C": 0.1, "The": 0.1}
    chances = read_tokens([token("The", 0.1, top=top), token(" cat", 1.0)], None, ask_codes())
    assert chances == pytest.approx({"cat": 6 / 9, "dog": 2 / 9, "fox": 1 / 9})
    top = {"The": 0.6, "A": 0.4}
    assert read_tokens([token("The", 0.6, top=top)], None, ask_codes()) is None


def test_the_token_is_found_in_json_and_after_a_thought():
    wrong = token("A", 0.9, top={"A": 0.9})
    right = token('"B', 0.7, top={'"B': 0.7, '"A': 0.3})
    tokens = [wrong, token('{"answer":', 1.0), right, token('"}', 1.0)]
    chances = read_tokens(tokens, "dog", ask_codes())
    assert chances["dog"] == pytest.approx(0.7)
    assert read_tokens(tokens, "fox", ask_codes()) is None
    assert read_tokens(tokens, "dog", ask_codes(single=False)) is None
    assert read_tokens(None, "dog", ask_codes()) is None
