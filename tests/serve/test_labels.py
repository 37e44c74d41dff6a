"""Finding labels by the beginning of their words."""

from __future__ import annotations

import time

from softlabel.serve.labels import LabelIndex

ANIMALS = ["animal/cat/tabby cat", "animal/cat/Persian", "animal/dog", "tool/Catapult", "house_cat"]
INDEX = LabelIndex(ANIMALS, {"animal/dog": ["hound", "cattle dog"]})


def names(typed, limit=20, index=INDEX):
    return [one["name"] for one in index.find(typed, limit)]


def test_the_best_fit_comes_first():
    found = names("cat")
    assert found[0] == "animal/cat", "the name itself begins so"
    assert set(found) == {
        "animal/cat",
        "animal/cat/tabby cat",
        "animal/cat/Persian",
        "tool/Catapult",
        "house_cat",
        "animal/dog",
    }
    assert found[-1] == "animal/dog", "which only a synonym makes fit"


def test_inner_nodes_can_be_found():
    assert names("anim")[0] == "animal"
    assert names("tool") == ["tool", "tool/Catapult"]


def test_letters_and_spaces_do_not_matter():
    assert names("PERS") == names("  pers ") == ["animal/cat/Persian"]
    assert names("tabby c") == ["animal/cat/tabby cat"]


def test_synonyms_are_shown():
    assert INDEX.find("hound") == [{"name": "animal/dog", "synonyms": ["hound", "cattle dog"]}]


def test_nothing_typed_gives_the_first_ones_and_nonsense_nothing():
    assert names("", limit=2) == ["animal", "animal/cat"]
    assert names("zzz") == []


def test_another_sign_may_separate_the_steps():
    index = LabelIndex(["animal > cat", "n/a"], {}, " > ")
    assert [one["name"] for one in index.find("")] == ["animal", "animal > cat", "n/a"]
    flat = LabelIndex(["animal/cat"], {}, "")
    assert [one["name"] for one in flat.find("")] == ["animal/cat"]


def test_ten_thousand_labels_take_a_moment_only():
    many = LabelIndex([f"kind{n % 50}/sort {n} of thing" for n in range(10_000)], {})
    start = time.perf_counter()
    for typed in ("s", "sort 12", "kind7", "thing", ""):
        assert many.find(typed)
    assert (time.perf_counter() - start) / 5 < 0.5, "generous: it is about 10 ms when all is quiet"


def test_the_page_can_ask(running):
    ann = running.person()
    assert ann.get("/api/labels", params={"q": "w"}).json() == {
        "labels": [{"name": "wren", "synonyms": []}]
    }
    assert len(ann.get("/api/labels").json()["labels"]) == 4
    assert len(ann.get("/api/labels", params={"limit": 2}).json()["labels"]) == 2
    for wrong in ({"limit": 0}, {"limit": 101}, {"limit": "x"}, {"q": "x" * 101}):
        reply = ann.get("/api/labels", params=wrong)
        assert (reply.status_code, reply.json()) == (400, {"error": "request"})
