"""The researcher's pages say what is in the store."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from softlabel.serve import compute_overview
from softlabel.serve.researcher import wording
from softlabel.serve.researcher.export import export_answers
from softlabel.study import Item, Media, Question, shapes

CLASSIC = {"top": "cat", "p1": 90, "second": "dog", "p2": 10, "impossible": ["fox", "hare"]}


@pytest.fixture
def served(visited_world, serve):
    return serve(visited_world(4))


def text_of(page):
    """What a reader reads, blanks made one."""
    plain = re.sub(r"<svg.*?</svg>", " ", page, flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]+>", " ", plain).split())


def test_the_first_look_does_not_wait_for_what_takes_time(served):
    client = served.researcher()
    assert "being computed" in client.get("/research").text
    page = text_of(served.computed(client))
    assert "Answers 24 of 48" in page
    assert "Items done 0 of 12" in page
    assert "People 4" in page
    assert "GBP 3.60 about GBP 7.20" in page
    assert "of 8 repeats changed their top label" in page


def test_a_rehearsal_says_so_on_every_page(make_world, serve):
    paths = ("", "/items", "/people", "/people/nobody-1", "/answers", "/export")
    world = make_world()
    world.visit("somebody")
    client = serve(world).researcher()
    assert not any("Rehearsal" in client.get(f"/research{path}").text for path in paths)
    world.store.rehearsal = True
    world.visit("nobody-1")
    client = serve(world).researcher()
    for path in paths:
        page = text_of(client.get(f"/research{path}").text)
        assert "Rehearsal: 1 of the people in this database are simulated." in page, path


def test_the_overview_is_that_of_the_command(served):
    found = compute_overview(served.world.study, served.world.store, served.world.now)
    page = text_of(served.computed(served.researcher()))
    alpha = found.insight.agreement.alpha
    assert f"Agreement {alpha.value:.2f} alpha 95 % interval {alpha.low:.2f}" in page
    assert f"Distance between two people {found.insight.agreement.variation:.2f}" in page
    seconds = found.insight.seconds[0]
    assert f"Seconds per answer {seconds.answer.median:.1f} s" in page
    for name, step in seconds.steps.items():
        assert f"{name} {step.median:.1f} {step.p10:.1f} {step.p90:.1f} {step.n}" in page


def test_a_study_that_nobody_has_seen(make_world, serve):
    served = serve(make_world(pay=None))
    client = served.researcher()
    page = text_of(served.computed(client))
    assert "Answers 0 of 48" in page
    assert "Nobody has come yet." in page
    assert "study.toml has no [pay]" in page
    for path in ("items", "people", "answers", "export"):
        assert client.get(f"/research/{path}").status_code == 200


def test_items_show_what_everybody_said(served):
    client = served.researcher()
    served.computed(client)
    page = client.get("/research/items").text
    shown = re.findall(r'<h3 dir="auto">(item-\d+)</h3>', page)
    rows = list(served.world.store.responses(served.world.study.name))
    apart = compute_overview(
        served.world.study, served.world.store, served.world.now
    ).insight.disagreement
    assert sorted(shown) == sorted(item.id for item in served.world.study.items)
    assert shown == sorted(shown, key=lambda item: -apart.get(item, -1))
    for item in shown:
        card = page.split(f">{item}</h3>")[1].split("</li>")[0]
        people = {row.annotator for row in rows if row.item == item}
        for name in people:
            assert f">{name[:8]}</text>" in card
        assert f"{len(people)} of 4 answers" in card


FOUND = {
    "order=given": [f"item-{n}" for n in range(12)],
    "order=checks": ["gold", "note", "try"],
    "find=item-1": ["item-1"],
    "find=ITEM-1": ["item-1", "item-10", "item-11"],
    "find=nowhere": [],
    "order=nonsense": None,
}


def test_items_can_be_found(served):
    client = served.researcher()
    for query, expected in FOUND.items():
        page = client.get(f"/research/items?{query}").text
        shown = re.findall(r'<h3 dir="auto">([^<]+)</h3>', page)
        assert expected is None or sorted(shown) == sorted(expected), query
        assert len(shown) == 12 or "No item fits." in page or expected, query


def test_items_by_number_of_answers(served):
    counted = served.world.store.answers_per_item(served.world.study.name)
    client = served.researcher()
    for order, sign in (("fewest", 1), ("most", -1)):
        page = client.get(f"/research/items?order={order}").text
        shown = re.findall(r'<h3 dir="auto">([^<]+)</h3>', page)
        assert [counted[item] for item in shown] == sorted(counted.values(), key=lambda n: sign * n)


def test_many_items_come_in_pages(make_world, serve):
    client = serve(make_world(items=60)).researcher()
    page = client.get("/research/items?order=given").text
    assert "1 to 24 of 60" in page
    following = re.search(r'rel="next" href="([^"]+)"', page).group(1).replace("&amp;", "&")
    second = client.get(following).text
    assert "25 to 48 of 60" in second
    assert '<h3 dir="auto">item-24</h3>' in second
    assert 'rel="next"' not in client.get("/research/items?order=given&page=3").text
    assert "No item fits." in client.get("/research/items?page=9").text


def test_pictures_are_shown_with_what_only_the_researcher_may_know(make_world, serve, tmp_path):
    path = tmp_path / "tabby-in-the-grass.png"
    path.write_bytes(shapes.encode_png(np.zeros((4, 4, 3), dtype=np.uint8)))
    world = make_world()
    picture = Item(
        "item-0", "target", image=Media(path, "image/png"), alt="fur", gold=(0.5, 0.5, 0, 0)
    )
    world.study = replace(world.study, items=(picture, *world.study.items[1:]))
    client = serve(world).researcher()
    page = client.get("/research/items?find=item-0").text
    assert "tabby-in-the-grass.png" in page
    assert "Reference: cat 50 %, dog 50 %" in page
    source = re.search(r'src="(/media/[0-9a-f]{64})" alt="fur"', page).group(1)
    assert client.get(source).content == path.read_bytes()


def test_people_with_their_flags(served):
    served.world.visit("careless", lambda shown: CLASSIC | {"top": "dog", "second": "cat"})
    client = served.researcher()
    served.computed(client)
    page = text_of(client.get("/research/people").text)
    assert page.index("careless") < page.index("person-0"), "those with flags first"
    assert "1 of 1 gold checks failed 1 of 1 attention checks failed" in page
    card = text_of(client.get("/research/people/careless").text)
    assert "Checks failed 2 of 2" in card
    assert "11 stored, newest first" in card
    assert "dog 90 %, cat 10 %" in card


def test_nobody_of_that_name(served):
    client = served.researcher()
    assert client.get("/research/people/nobody").status_code == 404
    assert client.get("/research/people/%00").status_code == 404


def test_answers_as_they_come_in(served):
    client = served.researcher()
    who = served.world.enter("late")
    shown = served.world.store.lease(who.id, served.world.plan, served.world.now).result().showings
    wrong = served.world.send(who, shown[0], CLASSIC)
    served.world.send(who, shown[0], CLASSIC, supersedes=wrong)
    served.world.send(who, shown[1], None)
    rows = re.findall(r"<tr>\n<td>.*?</tr>", client.get("/research/answers").text, re.DOTALL)
    newest = [text_of(row) for row in rows[:3]]
    assert "skipped: cannot judge" in newest[0]
    assert "training cat 90 %, dog 10 %" in newest[1]
    assert "training replaced cat" in newest[2]
    assert len(rows) == 47


def test_branches_are_shown_as_such(make_world, serve):
    labels = ("pet/cat", "pet/dog", "wild/fox", "wild/hare")
    world = make_world(mode="search", labels=labels)
    picks = [{"node": "pet", "chips": 12, "stop": True}, {"node": "wild/fox", "chips": 8}]
    said = {"n": 20, "picks": picks, "scope": [], "rest": "ruled_out"}
    world.visit("ann", lambda shown: said, most=3)
    client = serve(world).researcher()
    assert "somewhere in pet 60 %, wild/fox 40 %" in text_of(client.get("/research/answers").text)
    page = text_of(client.get("/research/items", params={"order": "most"}).text)
    assert "Named as a whole, and shared evenly by the labels in it: pet (by 1)." in page


@given(
    find=st.text(max_size=20), order=st.text(max_size=8), page=st.text("0123456789-x", max_size=4)
)
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_is_asked_for_is_answered(served, client, find, order, page):
    reply = client.get("/research/items", params={"find": find, "order": order, "page": page})
    assert reply.status_code in (200, 400)


@pytest.fixture
def client(served):
    return served.researcher()


NASTY = "<script>alert(1)</script>\"'&"


def test_what_people_and_files_say_is_text(make_world, world_of, serve):
    world = make_world(mode="hard", labels=(NASTY, "dog"), items=1, title=NASTY)
    items = (Item(NASTY, "target", text=NASTY, alt=NASTY),)
    world.study = replace(world.study, items=items, name="nasty")
    world = world_of(world.study, world.store)
    world.visit(NASTY.replace("/", ""), lambda shown: {"label": NASTY})
    served = serve(world)
    client = served.researcher()
    pages = [served.computed(client)]
    pages += [client.get(f"/research/{path}").text for path in ("items", "people", "answers")]
    for page in pages:
        assert "<script>alert" not in page
        assert "&lt;script&gt;alert(1)" in page


def test_pages_keep_to_the_policy(served):
    """No script, no style and no handler in the page itself: the policy would block them."""
    client, stranger = served.researcher(), served.browser()
    for path in ("", "/items", "/people", "/people/person-0", "/answers", "/export", "/login"):
        reply = (stranger if path == "/login" else client).get(f"/research{path}")
        assert reply.status_code == 200, path
        assert "script-src 'self'" in reply.headers["content-security-policy"], path
        assert reply.headers["cache-control"] == "no-store", path
        assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*src=)", reply.text), path


def test_platform_ids_are_nowhere(served):
    """They are not in the store; what is shown is the pseudonym it has."""
    client = served.researcher()
    everything = served.computed(client) + client.get("/research/people").text
    assert "PROLIFIC" not in everything


def test_downloads_are_the_exports(served, tmp_path):
    client, world = served.researcher(), served.world
    for name in ("responses.jsonl", "responses.csv", "responses.parquet"):
        export_answers(world.study, world.store, tmp_path / name)
        reply = client.get(f"/research/export/{name}")
        assert reply.status_code == 200
        kept = f'attachment; filename="animals-{name}"'
        assert reply.headers["content-disposition"] == kept
        if name.endswith("parquet"):
            again = pl.read_parquet(io.BytesIO(reply.content))
            assert again.equals(pl.read_parquet(tmp_path / name))
        else:
            assert reply.content == (tmp_path / name).read_bytes()
    assert (
        len(list(csv.reader(client.get("/research/export/responses.csv").text.splitlines()))) == 45
    )
    collins = client.get("/research/export/human_soft_labels_data.json").json()
    assert sum(map(len, collins.values())) == 24
    assert json.dumps(collins)


def test_the_table_of_people_and_their_last_words(make_world, serve):
    world = make_world(debrief=(Question("Anything else?", kind="text"),))
    for n in range(2):
        world.visit(f"person-{n}")
    world.store.event(world.study.name, "person-1", "debrief", {"Q0": "=fine"}, 0.0).result()
    client = serve(world).researcher()
    table = csv.DictReader(client.get("/research/export/people.csv").text.splitlines())
    first, second = table
    assert (first["Anything else?"], second["Anything else?"]) == ("", "'=fine")
    assert (second["answered"], second["attention"], second["flags"]) == ("11", "1", "")
    assert "At the end" not in client.get("/research/people/person-0").text
    assert "Anything else? =fine" in text_of(client.get("/research/people/person-1").text)


def test_downloads_that_are_not_there(make_world, serve):
    client = serve(make_world(mode="quick")).researcher()
    assert client.get("/research/export/human_soft_labels_data.json").status_code == 404
    assert client.get("/research/export/answers.db").status_code == 404
    assert client.get("/research/export/..%2Fsecret.json").status_code == 404
    assert "Not for this study" in client.get("/research/export").text


def test_a_sample_says_that_it_is_one(served):
    world = served.world
    part = compute_overview(world.study, world.store, world.now, most=20).insight
    assert "from a sample, the latest 20 of 44 answers" in wording.scope_note(part)
    assert wording.scope(part) == "the latest 20 answers"
    assert "all answers" in text_of(served.computed(served.researcher()))


def test_answers_that_cannot_be_read_any_more_are_told(served):
    world = served.world
    renamed = replace(world.study, labels=("tabby", *world.study.labels[1:]))
    found = compute_overview(renamed, world.store, world.now).insight
    assert f"{found.unreadable} answers cannot be read" in wording.scope_note(found)
    assert found.unreadable > 0
