"""The forms of the dashboard: each asks, acts, and is logged; and the pages of what was written."""

from __future__ import annotations

import csv
import html
import io
import json
import re
from datetime import datetime
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

import pytest

from softlabel.serve.researcher.actions import read_upload, word_entry
from softlabel.serve.researcher.answers import read_moment, read_zone
from softlabel.store import Act, AuditEntry, Filters
from softlabel.study import Question

TOKEN = "the-token-that-was-printed-once"
ITEMS = "id,text\nnew-1,A lynx\nnew-2,<b>A stoat</b>\n"


def confirm(client, action, **fields):
    """Read the question, and send its form."""
    page = client.post(f"/research/run/{action}", data=fields)
    assert page.status_code == 200, page.text
    return page, client.post(address_of(page.text), data=fields_of(page.text))


def address_of(page: str) -> str:
    return re.search(r'<form method="post" action="(/research/run/[a-z-]+)">', page)[1]


def fields_of(page: str) -> dict[str, str]:
    found = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', page)
    return {name: html.unescape(value) for name, value in found} | {"confirm": "yes"}


@pytest.fixture
def served(visited_world, serve):
    return serve(visited_world(3))


@pytest.fixture
def client(served):
    client = served.browser()
    client.post("/research/login", data={"token": TOKEN, "name": "Zoë B."})
    return client


def test_an_action_asks_first_and_is_logged_under_the_name_of_the_login(served, client):
    store = served.world.store
    question, done = confirm(client, "pause")
    assert "<h2>Pause the study?</h2>" in question.text
    assert "nobody gets further items" in question.text
    assert "Zoë B." in question.text
    assert (done.status_code, done.headers["location"]) == (303, "/research/run")
    assert store.control("animals").state == "paused"
    (entry,) = store.audit("animals")
    assert (entry.actor, entry.action) == ("Zoë B.", "pause")
    page = client.get("/research/run").text
    assert "The study is paused" in page
    assert '<strong class="state">paused</strong>' in client.get("/research/export").text
    assert "paused the study" in client.get("/research/audit").text
    assert "paused the study" in page


def test_asking_alone_changes_nothing(served, client):
    for action, fields in (("close", {}), ("quota", {"number": "9"}), ("cap", {"number": "9"})):
        assert client.post(f"/research/run/{action}", data=fields).status_code == 200
    control = served.world.store.control("animals")
    assert (control.state, control.revision) == ("open", 0)


def test_nobody_acts_without_a_login_or_from_a_foreign_page(served):
    stranger = served.browser()
    foreign = served.browser(**{"sec-fetch-site": "cross-site"})
    for who, status in ((stranger, 303), (foreign, 403)):
        for action in ("pause", "exclude", "add-items"):
            data = {"confirm": "yes", "revision": "0", "annotator": "person-0", "reason": "x"}
            assert who.post(f"/research/run/{action}", data=data).status_code == status
        files = {"table": ("x.csv", ITEMS)}
        assert who.post("/research/run/add", files=files).status_code == status
    assert served.world.store.control("animals").revision == 0


def test_a_question_that_was_overtaken_is_asked_again(served, client):
    page = client.post("/research/run/close").text
    served.world.store.set_people_cap(Act("animals", "x", 1.0), 9).result()
    again = client.post("/research/run/close", data=fields_of(page))
    assert "Something else was done to the study meanwhile" in again.text
    assert served.world.store.control("animals").state == "open"
    assert client.post("/research/run/close", data=fields_of(again.text)).status_code == 303
    assert served.world.store.control("animals").state == "closed"


@pytest.mark.parametrize(
    ("action", "fields", "why"),
    [
        ("resume", {"confirm": "yes", "revision": "0"}, "is open; resume needs"),
        ("quota", {"number": "many"}, "write a whole number from 1 on"),
        ("exclude", {"annotator": "nobody", "reason": "x"}, "has no session of"),
        ("exclude", {"annotator": "person-0", "reason": " "}, "say why"),
        (
            "include",
            {"annotator": "person-0", "confirm": "yes", "revision": "0"},
            "is not left out",
        ),
        ("end", {"annotator": "person-0", "confirm": "yes", "revision": "0"}, "has ended already"),
        ("end", {"annotator": "per\0son"}, None),
        ("vanish", {}, "there is no action"),
        ("add-items", {"upload": "../../x.csv", "called": "x.csv"}, "not here any more"),
    ],
)
def test_what_cannot_be_done_is_refused_with_the_reason(served, client, action, fields, why):
    reply = client.post(f"/research/run/{action}", data=fields)
    assert reply.status_code == (400 if why is None else 409)
    assert why is None or why in html.unescape(reply.text)
    assert served.world.store.control("animals").revision == 0


def test_quota_and_cap_are_set(served, client):
    question, done = confirm(client, "quota", number="6")
    assert "Each item gets 6 answers; now it is 4." in question.text
    assert done.status_code == 303
    confirm(client, "cap", number="10")
    page = client.get("/research/run").text
    assert "Now 6;" in page
    assert "Now 10." in page
    assert "6 are wanted for each of the 12 items" in client.get("/research").text
    confirm(client, "quota", number="")
    control = served.world.store.control("animals")
    assert (control.per_item, control.per_item_set, control.people_cap) == (4, None, 10)


def test_a_person_is_left_out_and_taken_back(served, client):
    store = served.world.store
    assert "Leave out" in client.get("/research/people/person-1").text
    question, done = confirm(client, "exclude", annotator="person-1", reason="<i>bot</i>")
    assert "stay stored and are marked" in question.text
    assert done.headers["location"] == "/research/people/person-1"
    page = client.get("/research/people/person-1").text
    assert "This person is left out: <bdi>&lt;i&gt;bot&lt;/i&gt;</bdi>" in page
    assert 'class="tag">left out' in page
    people = client.get("/research/people").text
    assert "<h2>Left out</h2>" in people
    assert "left out person-1: &lt;i&gt;bot&lt;/i&gt;" in client.get("/research/audit").text
    assert store.progress("animals").answered == 12, "two people with six each"
    rows = [
        json.loads(line)
        for line in client.get("/research/export/responses.jsonl").text.splitlines()
    ]
    marked = {row["annotator"] for row in rows if row.get("excluded") == "<i>bot</i>"}
    assert marked == {"person-1"}
    table = list(csv.DictReader(io.StringIO(client.get("/research/export/responses.csv").text)))
    assert len(table) == len(rows)
    assert {row["annotator"] for row in table if row["excluded"] == "True"} == {"person-1"}
    assert {row["excluded_because"] for row in table} == {"", "<i>bot</i>"}
    roster = list(csv.DictReader(io.StringIO(client.get("/research/export/people.csv").text)))
    assert [row["excluded"] for row in roster] == ["False", "True", "False"]
    confirm(client, "include", annotator="person-1")
    assert store.progress("animals").answered == 18
    assert "<h2>Left out</h2>" not in client.get("/research/people").text


def test_numbers_leave_out_whoever_is_left_out(served, client):
    served.world.store.exclude(Act("animals", "x", 1.0), "person-1", "no").result()
    served.ahead += 100
    page = served.computed(client)
    assert "a sample, the latest" not in page, "all that counts was read"
    client.get("/research/people")
    people = client.get("/research/people").text
    assert people.count("/research/people/person-") == 3, "two rows, and one left out"


def test_a_session_under_way_is_ended(served, client):
    served.world.visit("late", most=2)
    assert "End the session" in client.get("/research/people/late").text
    confirm(client, "end", annotator="late")
    assert served.world.store.session_of("animals", "late").stage == "closed"
    assert "End the session" not in client.get("/research/people/late").text


def test_items_are_uploaded_checked_confirmed_and_served(serving):
    running = serving()
    client = running.person()
    client.post("/research/login", data={"token": running.token})
    wrong = client.post("/research/run/add", files={"table": ("more.csv", "id;text\na;b\n")})
    assert wrong.status_code == 409
    assert "more.csv" in wrong.text
    question = client.post("/research/run/add", files={"table": ("my more.csv", ITEMS)})
    assert question.status_code == 200, question.text
    assert "2 items of my more.csv will join the 6 of the study: new-1, new-2." in question.text
    assert not list(running.folder.glob("added/*"))
    done = client.post(address_of(question.text), data=fields_of(question.text))
    assert (done.status_code, done.headers["location"]) == (303, "/research/run")
    (kept,) = running.folder.glob("added/*")
    assert (kept.name, kept.read_text()) == ("0001-my-more.csv", ITEMS)
    assert not list((running.folder / ".softlabel" / "incoming").iterdir())
    page = client.get("/research/items", params={"find": "new-2"}).text
    assert "&lt;b&gt;A stoat&lt;/b&gt;" in page
    assert "8 items" in page
    twice = client.post("/research/run/add", files={"table": ("more.csv", ITEMS)})
    assert twice.status_code == 409
    assert "is the id of another item, too" in twice.text
    assert client.post("/research/run/add", files={"table": ("x.txt", ITEMS)}).status_code == 409
    assert client.post("/research/run/add", files={"table": ("x.csv", "")}).status_code == 409
    assert client.post("/research/run/add", data={"a": "b"}).status_code == 400
    large = b"x" * (5 * 1024 * 1024 + 100 * 1024)
    assert client.post("/research/run/add", files={"table": ("x.csv", large)}).status_code == 413
    assert len(list(running.folder.glob("added/*"))) == 1


def test_a_form_with_a_file_is_read():
    head = 'Content-Disposition: form-data; name="table"; filename='
    body = f'--x\r\n{head}"C:\\\\a\\\\b.csv"\r\n\r\nid,text\r\na,é\r\n\r\n--x--\r\n'.encode()
    assert read_upload(body, "multipart/form-data; boundary=x") == (
        "b.csv",
        "id,text\r\na,é\r\n".encode(),
    )
    for text, kind in ((b"", "text/csv"), (b"", "multipart/form-data"), (b"--x--", "multipart/x")):
        with pytest.raises(ValueError, match=r"no form|no file"):
            read_upload(text, kind)


def test_answers_are_filtered(served, client):
    def shown(**filters):
        reply = client.get(f"/research/answers?{urlencode(filters)}")
        assert reply.status_code == 200
        return re.findall(r'<a href="/research/people/([^"]+)"><code>', reply.text), reply.text

    everybody, page = shown()
    assert set(everybody) == {"person-0", "person-1", "person-2"}
    assert set(shown(person="person-2")[0]) == {"person-2"}
    stored = served.world.store.responses_to("animals", "item-3")
    assert len(shown(item="item-3")[0]) == len(stored)
    tops = {label: len(shown(label=label)[0]) for label in served.world.study.labels}
    assert sum(tops.values()) >= len(everybody), "every answer has a most likely label"
    assert all(n < len(everybody) for n in tops.values())
    repeats, page = shown(flag="repeat")
    assert len(repeats) == 6
    assert "<td>target" not in page
    assert shown(flag="late")[0] == []
    for wrong in ({"flag": "odd"}, {"from": "noon"}, {"label": "yeti"}):
        assert 'class="error" role="alert"' in shown(**wrong)[1], wrong
    rows = served.world.store.find_responses("animals", Filters())
    middle = rows[len(rows) // 2].received_at
    at = read_at(middle, "Asia/Tokyo")
    since = shown(**{"from": at, "zone": "Asia/Tokyo"})[0]
    assert len(since) == sum(row.received_at >= middle for row in rows)
    until = shown(to=at, zone="Asia/Tokyo")[0]
    assert len(since) + len(until) == len(rows)


def read_at(at: float, zone: str) -> str:
    return datetime.fromtimestamp(at, ZoneInfo(zone)).strftime("%Y-%m-%dT%H:%M:%S")


def test_pages_of_answers_go_back_to_the_first(visited_world, serve):
    world = visited_world(12, items=40, per_annotator=10)
    client = serve(world).researcher()
    stored = [row.id for row in world.store.responses("animals")]
    assert len(stored) > 150
    path, seen = "/research/answers", 0
    while path:
        page = client.get(path).text
        seen += page.count("<time ")
        link = re.search(r'rel="next" href="([^"]+)"', page)
        path = html.unescape(link[1]) if link else ""
    assert seen == len(stored)
    label = world.study.labels[0]
    path, tops = f"/research/answers?label={label}", 0
    while path:
        page = client.get(path).text
        tops += page.count("<time ")
        link = re.search(r'rel="next" href="([^"]+)"', page)
        path = html.unescape(link[1]) if link else ""
    assert 0 < tops < len(stored)


def test_what_people_wrote_is_a_list(make_world, serve):
    debrief = (Question("Was it clear?"), Question("Anything <else>?", kind="text"))
    world = make_world(debrief=debrief)
    for name in ("ann", "bob"):
        world.visit(name, comment=f"about <{name}>")
        detail = {"Q0": "yes", "Q1": f"thanks from {name}"} if name == "ann" else {}
        world.store.event("animals", name, "debrief", detail, world.now).result()
    client = serve(world).researcher()
    page = client.get("/research/comments").text
    assert "about &lt;ann&gt;" in page
    assert "Anything &lt;else&gt;?" in page
    assert page.index("Left everything empty.") < page.index("thanks from ann"), "newest first"
    assert "2 people reached the last questions" in page
    assert "about &lt;bob&gt;" in client.get("/research/answers?person=bob").text


def test_skips_and_minutes_are_shown(make_world, serve):
    world = make_world()
    world.visit("ann")
    world.visit("bob", answer=lambda shown: None)
    served = serve(world)
    client = served.researcher()
    page = served.computed(client)
    assert re.search(r"2 finished sessions took \d+\.\d minutes at the median", page)
    assert "Skipped items by reason: cannot judge" in client.get("/research/answers").text
    assert "looking at items)" in client.get("/research/people/ann").text


def test_the_log_is_worded_and_goes_back_to_the_first(served, client):
    store = served.world.store
    for n in range(1, 106):
        store.set_people_cap(Act("animals", f"u{n}", float(n)), n).result()
    page = client.get("/research/audit").text
    assert page.count("<time ") == 100
    assert "set the largest number of people from 104 to 105" in page
    link = html.unescape(re.search(r'rel="next" href="([^"]+)"', page)[1])
    rest = client.get(link).text
    assert rest.count("<time ") == 5
    assert "from none to 1" in rest
    entry = AuditEntry(1, 1.0, "x", "paid", {"sum": 3})
    assert word_entry(entry) == 'paid {"sum": 3}', "what others log is shown as it is"
    assert word_entry(entry._replace(action="quota")) == 'quota {"sum": 3}'


def test_times_of_a_form():
    assert read_moment("", read_zone("")) is None
    tokyo = read_zone("Asia/Tokyo")
    assert read_moment("1970-01-01T09:00", tokyo) == 0.0
    for strange in ("../../etc/passwd", "Nowhere/Land", "\0"):
        assert read_moment("1970-01-01T01:00", read_zone(strange)) == 3600.0
