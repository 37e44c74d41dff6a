"""What the task page receives: a few items ahead, how far the person is, and labels by typing."""

from __future__ import annotations

import json
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softlabel.serve.participant.fuzzy import FuzzyIndex
from softlabel.serve.participant.plans import LabelIndex

KEYS = {"position", "phase", "image", "audio", "text", "alt", "answered", "skipped"}
WHOLE = 1 + 60 + 1 + 3  # practice, items, a check, repeats


def many(folder, batch_size=3000, batch=""):
    """Sixty short texts for everybody, three of them twice."""
    rows = [f"text-{n},Text number {n}{batch}" for n in range(60)]
    head = "id,text,batch" if batch else "id,text"
    (folder / "items.csv").write_text("\n".join([head, *rows]) + "\n")
    file = folder / "study.toml"
    text = file.read_text().replace("repeats = 1", "repeats = 3")
    text = text.replace("repeat_positions = [1]", "repeat_positions = [5, 30, 59]")
    if batch:
        text = text.replace("per_annotator = 4\n", "").replace("batch_size = 3\n", "")
    text = text.replace("per_annotator = 4", "per_annotator = 60")
    file.write_text(text.replace("batch_size = 3", f"batch_size = {batch_size}"))


def in_batches(folder):
    many(folder, batch=",all")


@pytest.fixture(params=[many, in_batches])
def large(request, serving):
    """A study that is larger than what is sent at a time."""
    return serving(edit=request.param)


def plans(person):
    """Answer everything as the page does: it asks for more while it still has some."""
    told = []
    while not told or any(not one["answered"] for one in told[-1]["showings"]):
        told.append(person.plan())
        waiting = [one["position"] for one in told[-1]["showings"] if not one["answered"]]
        for position in waiting[:-8] if told[-1]["more"] and len(waiting) > 8 else waiting:
            assert person.give(position).status_code == 200
    return told


def test_a_plan_holds_a_few_items_and_says_how_many_there_are(large):
    told = plans(large.person().to_task())
    assert len(told) > 3
    assert {one["total"] for one in told} == {WHOLE}, "from the first moment to the last"
    assert max(len(one["showings"]) for one in told) <= 40
    answered = [one["answered"] for one in told]
    assert (answered[0], answered[-1]) == (0, WHOLE)
    assert answered == sorted(answered)
    assert [one["more"] for one in told[-1:]] == [False]
    places = {one["position"] for plan in told for one in plan["showings"]}
    assert places == set(range(WHOLE))


def test_repeats_cannot_be_told_from_a_plan(large):
    ann = large.person().to_task()
    told = plans(ann)
    repeats = [row for row in large.responses() if row.kind == "repeat"]
    assert [row.position for row in repeats] == [WHOLE - 3, WHOLE - 2, WHOLE - 1]
    for plan in told:
        assert all(set(one) == KEYS for one in plan["showings"])
        assert "repeat" not in json.dumps([plan[key] for key in plan if key != "texts"])
        seen = [(one["text"], one["image"]) for one in plan["showings"]]
        assert len(seen) == len(set(seen)), "an item and its repeat came in one plan"
    assert {one["phase"] for plan in told for one in plan["showings"]} == {"practice", "main"}


def test_the_gate_opens_after_the_last_portion_only(large):
    ann = large.person().to_task()
    first = ann.open_positions()
    for position in first:
        ann.give(position)
    gate = ann.post("/api/finish", json={}).json()
    assert gate["open"] is False
    assert gate["missing"]
    assert not set(gate["missing"]) & set(first)
    ann.answer_all()
    assert len(large.responses()) == WHOLE
    assert ann.post("/api/finish", json={}).json() == {"open": True, "next": "/"}


def test_the_last_answers_come_along_for_who_loads_the_page_again(large):
    ann = large.person().to_task()
    for position in ann.open_positions()[:10]:
        ann.give(position)
    plan = ann.plan()
    assert [(one["position"], one["answered"]) for one in plan["showings"][:4]] == [
        (7, True),
        (8, True),
        (9, True),
        (10, False),
    ]
    assert (plan["answered"], plan["total"]) == (10, WHOLE)


def test_people_are_turned_away_when_all_seats_are_taken(serving):
    """Most of the batch is given to nobody yet: it is kept for those who have begun."""
    running = serving(edit=in_batches, per_item=2)
    people = [running.person().to_task() for _ in range(2)]
    assert running.person().heading() == "There is nothing left to do"
    for one in people:
        one.answer_all()
    assert running.store.progress("birds").answered == 120


# ── labels ─────────────────────────────────────────────────────────────────────────────────────

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


def test_what_is_kept_is_what_was_found_at_first():
    """Beginnings that fit many labels are looked up once; the result does not change."""
    words = ("oak", "elm", "ash", "fir", "yew")
    labels = [f"{words[n % 5]}/{words[n % 3]} {n}" for n in range(3000)]
    index = LabelIndex(labels, {labels[7]: ["ordinary oak"]})
    for typed in ("", "o", "oak", "a", "elm 12", "ordinary", "OAK"):
        first = [index.find(typed, limit) for limit in (100, 20, 1)]
        assert [index.find(typed, limit) for limit in (100, 20, 1)] == first
        slow = slowly(index, typed)  # what only occurs inside of words comes after these
        assert [one[: len(slow)] for one in first] == [slow[:limit] for limit in (100, 20, 1)]
    assert index._cache.keys() == {"", "o", "oak", "a"}, "those with many results only"


def slowly(index, typed):
    """The best fit of every key, without any shortcut."""
    wanted = typed.casefold()
    fits = [(rank, place) for key, rank, place in index._sorted_keys if key.startswith(wanted)]
    order = dict.fromkeys(place for _, place in sorted(fits))
    return [index._describe(index._names[place]) for place in order]


def test_words_are_found_inside_of_others_and_in_any_order():
    assert names("apult") == ["tool/Catapult"]
    assert names("persian animal") == ["animal/cat/Persian"]
    assert names("ound") == ["animal/dog"], "a synonym"
    assert names("use c") == ["house_cat"]
    assert names("q") == [], "one letter inside of words would find nearly everything"


@pytest.mark.parametrize(
    "typed",
    ["prsian", "perssian", "pertian", "eprsian", "persina", "xpersi", "persiann", "anmal pers"],
)
def test_one_slip_of_the_keyboard_is_forgiven(typed):
    assert names(typed) == ["animal/cat/Persian"]


def test_two_slips_and_slips_in_short_words_are_not():
    assert names("prsiam") == names("dgo") == names("prsian zzzz") == []
    assert names("dogg") == ["animal/dog"], "four letters"
    assert "tool/Catapult" in names("cata"), "what fits without a slip"
    assert names("catap") == ["tool/Catapult"]


def test_accents_do_not_matter():
    index = LabelIndex(["crème brûlée", "café/thé", "Ελλάδα"], {})
    assert names("creme", index=index) == ["crème brûlée"]
    assert names("the", index=index) == names("THÉ", index=index) == ["café/thé"]
    assert names("ελλαδ", index=index) == ["Ελλάδα"]


@settings(max_examples=200, deadline=None)
@given(
    labels=st.lists(st.text("abcd ", min_size=1, max_size=12), min_size=1, max_size=12),
    typed=st.text("abcd ", min_size=1, max_size=8),
)
def test_slips_are_found_as_by_comparing_with_every_word(labels, typed):
    index = FuzzyIndex(labels)
    wanted = typed.split()

    def fits(word, text):
        if word in text:
            return True
        starts = [one[:end] for one in text.split() for end in range(len(one) + 1)]
        return len(word) >= 4 and any(distance(word, start) <= 1 for start in starts)

    near = [n for n, text in enumerate(labels) if all(fits(word, text) for word in wanted)]
    assert index.find_near(typed, 100) == (near if wanted else [])
    inside = [n for n, text in enumerate(labels) if all(word in text for word in wanted)]
    assert index.find_inside(typed, 100) == (inside if wanted and len(typed) > 1 else [])


def distance(a, b):
    """Optimal string alignment: wrong, missing, spare and swapped letters, by the textbook."""
    table = {(i, -1): i + 1 for i in range(-1, len(a))} | {(-1, j): j + 1 for j in range(len(b))}
    for i, j in product(range(len(a)), range(len(b))):
        table[i, j] = min(
            table[i - 1, j] + 1, table[i, j - 1] + 1, table[i - 1, j - 1] + (a[i] != b[j])
        )
        if i and j and a[i] == b[j - 1] and a[i - 1] == b[j]:
            table[i, j] = min(table[i, j], table[i - 2, j - 2] + 1)
    return table[len(a) - 1, len(b) - 1]


def test_branches_can_be_opened_one_by_one():
    index = LabelIndex(["animal/cat", "animal", "animal/dog/pug", "car"], {"animal/cat": ["puss"]})
    animal, car = {"name": "animal", "synonyms": []}, {"name": "car", "synonyms": []}
    assert index.list_under("") == [animal | {"branch": True}, car]
    cat = {"name": "animal/cat", "synonyms": ["puss"]}
    dog = {"name": "animal/dog", "synonyms": [], "branch": True}
    assert index.list_under("animal") == [animal, cat, dog], "the class lies in its branch"
    assert index.list_under("car") == index.list_under("nonsense") == []


def test_only_somebody_with_a_session_may_ask(running):
    stranger = running.person()
    reply = stranger.get("/api/labels", params={"q": "w"})
    assert (reply.status_code, reply.json()) == (401, {"error": "session"})
    stranger.cookies.set("softlabel", "x" * 43)
    assert stranger.get("/api/labels").status_code == 401
    stranger.cookies.clear()
    stranger.agree()
    assert stranger.get("/api/labels").status_code == 200


def test_the_page_can_ask(running):
    ann = running.person()
    ann.agree()
    assert ann.get("/api/labels", params={"q": "w"}).json() == {
        "labels": [{"name": "wren", "synonyms": []}]
    }
    assert len(ann.get("/api/labels").json()["labels"]) == 4
    assert len(ann.get("/api/labels", params={"limit": 2}).json()["labels"]) == 2
    assert ann.get("/api/labels", params={"under": "wren"}).json() == {"labels": []}
    assert len(ann.get("/api/labels", params={"under": ""}).json()["labels"]) == 4
    for wrong in ({"limit": 0}, {"limit": 101}, {"limit": "x"}, {"q": "x" * 101}):
        reply = ann.get("/api/labels", params=wrong)
        assert (reply.status_code, reply.json()) == (400, {"error": "request"})
