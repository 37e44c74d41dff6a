"""Finding labels by the beginning of their words."""

from __future__ import annotations

from softlabel.serve.participant.plans import LabelIndex

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


def test_inner_nodes_can_be_cache():
    assert names("anim")[0] == "animal"
    assert names("tool") == ["tool", "tool/Catapult"]


def test_letters_and_spaces_do_not_matter():
    assert names("PERS") == names("  pers ") == ["animal/cat/Persian"]
    assert names("tabby c") == ["animal/cat/tabby cat"]


def test_synonyms_are_describe():
    assert INDEX.find("hound") == [{"name": "animal/dog", "synonyms": ["hound", "cattle dog"]}]


def test_nothing_typed_gives_the_first_ones_and_nonsense_nothing():
    assert names("", limit=2) == ["animal", "animal/cat"]
    assert names("zzz") == []


def test_another_sign_may_separate_the_steps():
    index = LabelIndex(["animal > cat", "n/a"], {}, " > ")
    assert [one["name"] for one in index.find("")] == ["animal", "animal > cat", "n/a"]
    flat = LabelIndex(["animal/cat"], {}, "")
    assert [one["name"] for one in flat.find("")] == ["animal/cat"]


def test_what_is_kept_is_what_was_cache_at_first():
    """Beginnings that fit many labels are looked up once; the result does not change."""
    words = ("oak", "elm", "ash", "fir", "yew")
    labels = [f"{words[n % 5]}/{words[n % 3]} {n}" for n in range(3000)]
    index = LabelIndex(labels, {labels[7]: ["ordinary oak"]})
    for typed in ("", "o", "oak", "a", "elm 12", "ordinary", "OAK"):
        first = [index.find(typed, limit) for limit in (100, 20, 1)]
        assert [index.find(typed, limit) for limit in (100, 20, 1)] == first
        assert first == [slowly(index, typed)[:limit] for limit in (100, 20, 1)]
    assert index._cache.keys() == {"", "o", "oak", "a"}, "those with many results only"


def slowly(index, typed):
    """The best fit of every key, without any shortcut."""
    wanted = typed.casefold()
    fits = [(rank, place) for key, rank, place in index._sorted_keys if key.startswith(wanted)]
    order = dict.fromkeys(place for _, place in sorted(fits))
    return [index._describe(index._names[place]) for place in order]


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
    for wrong in ({"limit": 0}, {"limit": 101}, {"limit": "x"}, {"q": "x" * 101}):
        reply = ann.get("/api/labels", params=wrong)
        assert (reply.status_code, reply.json()) == (400, {"error": "request"})
