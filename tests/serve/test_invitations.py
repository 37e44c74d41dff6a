"""Inviting, revoking and forgetting people, from the command line."""

from __future__ import annotations

import io
import re
import sqlite3

import pytest

from softlabel.cli import main

INVITED = 'kind = "invitation"'
URL = """kind = "url"
id_param = "who"
complete_url = "https://x.example/done"
screenout_url = "https://x.example/out"
"""


@pytest.fixture
def command(capsys):
    def run(*words):
        code = main([str(word) for word in words])
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


def path_of(line):
    return re.search(r"http://127\.0\.0\.1:8000(/i/\S+)", line)[1]


def test_a_link_opens_the_study_once_per_name(serving, command):
    running = serving(recruit=INVITED)
    code, out, err = command("invite", running.folder, "ann", "bob")
    assert (code, err) == (0, "")
    assert [line.split()[0] for line in out.splitlines()] == ["ann", "bob"]
    paths = [path_of(line) for line in out.splitlines()]
    assert all(re.fullmatch(r"/i/[A-Za-z0-9_-]{43}", path) for path in paths)

    ann = running.person()
    reply = ann.get(paths[0])
    assert (reply.status_code, reply.headers["location"]) == (303, "/")
    ann.to_task().give(0)
    phone = running.person()
    phone.get(paths[0])
    assert phone.plan()["answered"] == 1, "the same link continues on another device"
    assert running.session().annotator == running.secret.pseudonym("invitation", "ann")
    with sqlite3.connect(running.folder / ".softlabel" / "answers.db") as connection:
        dump = "\n".join(connection.iterdump())
    connection.close()
    assert not any(path.removeprefix("/i/") in dump for path in paths), "only hashes are kept"


def test_without_a_link_nobody_comes_in(serving, command):
    running = serving(recruit=INVITED)
    command("invite", running.folder, "ann")
    stranger = running.person()
    assert "This study is by invitation" in stranger.get("/").text
    for path in ("/i/x", "/i/" + "A" * 43, "/i/%00", "/i/" + "x" * 5000):
        reply = stranger.get(path)
        assert (reply.status_code, "This invitation is not valid" in reply.text) == (404, True)
    assert running.store.sessions("birds") == ()


def test_a_revoked_link_opens_nothing_and_ends_what_it_opened(serving, command):
    running = serving(recruit=INVITED)
    path = path_of(command("invite", running.folder, "ann")[1])
    ann = running.person()
    ann.get(path)
    ann.to_task().give(0)
    assert command("invite", running.folder, "--revoke", "ann")[:2] == (
        0,
        "ann  the link is revoked; a new link needs another name\n",
    )
    assert running.person().get(path).status_code == 404
    assert ann.heading() == "This study is closed for you"
    assert ann.get("/api/plan").json() == {"error": "stage", "stage": "closed"}
    assert len(running.responses()) == 1, "what was given is kept"
    assert command("invite", running.folder, "--list")[1] == "ann  revoked\n"


def test_what_is_sent_after_a_link_was_revoked_is_not_stored(serving, command, answer_body):
    running = serving(recruit=INVITED)
    ann = running.person()
    ann.get(path_of(command("invite", running.folder, "ann")[1]))
    first = answer_body(0)
    ann.to_task().post("/api/answers", json=first)
    command("invite", running.folder, "--revoke", "ann")
    revised = answer_body(0, supersedes=first["response_uuid"])
    for body in (answer_body(1), revised):
        reply = ann.post("/api/answers", json=body)
        assert (reply.status_code, reply.json()) == (409, {"error": "left"})
    assert ann.post("/api/answers", json=first).status_code == 200, "what is stored is stored"
    assert [row.id for row in running.responses()] == [first["response_uuid"]]


def test_commands_about_people_do_not_change_the_study(serving, command):
    running = serving(recruit=INVITED)
    file = running.folder / "study.toml"
    running.person().to_task()
    before = running.store.study("birds")
    file.write_text(file.read_text().replace("per_item = 3", "per_item = 9"))
    for words in (["invite", "ann", "bob"], ["invite", "--revoke", "bob"], ["forget", "ann"]):
        name, *rest = words
        sure = ["--yes"] if name == "forget" else []
        assert command(name, running.folder, *rest, *sure)[0] == 0
    assert running.store.study("birds") == before


def test_mistakes_of_inviting_are_named(serving, command):
    running = serving(recruit=INVITED)
    command("invite", running.folder, "ann")
    assert "'ann' is invited to 'birds' already" in command("invite", running.folder, "ann")[2]
    assert (
        "nobody called 'bob' is invited" in command("invite", running.folder, "--revoke", "bob")[2]
    )
    code, _, err = command("invite", running.folder)
    assert (code, "give names, --revoke NAME or --list" in err) == (1, True)
    assert command("invite", running.folder, "--list")[1] == "ann  open\n"


def test_an_open_study_has_no_invitations(study_folder, command):
    code, _, err = command("invite", study_folder(), "ann")
    assert code == 1
    assert "study 'birds' recruits by 'open'; [recruit] kind = \"invitation\"" in err


def test_links_can_be_made_before_the_server_first_runs(study_folder, command):
    folder = study_folder(recruit=INVITED)
    code, out, _ = command("invite", folder, "ann", "--url", "https://birds.example.org/")
    assert code == 0
    assert out.startswith("ann  https://birds.example.org/i/")


@pytest.mark.parametrize("by", ["pseudonym", "platform id"])
def test_a_person_is_forgotten(serving, command, by):
    running = serving(recruit=URL)
    for who in ("ann", "bob"):
        person = running.person()
        person.get("/", params={"who": who})
        person.to_done()
    pseudonym = running.secret.pseudonym("url", "ann")
    before = running.store.counts("birds")
    code, out, err = command(
        "forget", running.folder, pseudonym if by == "pseudonym" else "ann", "--yes"
    )
    assert (code, err) == (0, "")
    assert re.search(r"response +7 deleted", out)
    after = running.store.counts("birds")
    assert (before["response"], after["response"], after["session"]) == (14, 7, 1)
    assert all(row.annotator != pseudonym for row in running.responses())


def test_nobody_is_no_name(serving, command):
    running = serving(recruit=INVITED)
    for name in ("", " "):
        code, said, wrong = command("invite", running.folder, name)
        assert (code != 0, said) == (True, "")
        assert "is not a name" in wrong
    assert running.store.invitations("birds") == ()


def test_an_invited_person_is_forgotten_by_name(serving, command):
    running = serving(recruit=INVITED)
    command("invite", running.folder, "ann")
    assert "invitation  1 deleted" in command("forget", running.folder, "ann", "--yes")[1]
    assert command("invite", running.folder, "--list")[1] == ""


def test_forgetting_asks_first(serving, command, monkeypatch):
    running = serving(recruit=INVITED)
    command("invite", running.folder, "ann")
    monkeypatch.setattr("sys.stdin", io.StringIO("\n"))  # nobody says yes
    assert command("forget", running.folder, "ann")[0] == 1
    assert command("invite", running.folder, "--list")[1] == "ann  open\n"


def test_forgetting_nobody_says_so(running, command):
    code, _, err = command("forget", running.folder, "zoe", "--yes")
    assert (code, "study 'birds' has nobody called 'zoe'" in err) == (1, True)


CODE = re.compile(r"code for deletion: <strong><bdi>([A-Z2-7]{5}-[A-Z2-7]{5})</bdi>")


def leave_keeping(person):
    person.to_task()
    person.give(person.open_positions()[0])
    person.post("/withdraw", data={"keep": "yes"})


WAYS_OUT = {"done": lambda person: person.to_done(), "left, answers kept": leave_keeping}


@pytest.mark.parametrize("way", WAYS_OUT)
def test_the_code_that_an_open_study_shows_deletes_the_answers(serving, command, way):
    running = serving(recruit='kind = "open"')
    other, person = running.person(), running.person()
    other.to_done()
    (kept,) = running.store.sessions("birds")
    assert "you are shown a code" in person.get("/").text, "what consent promises"
    WAYS_OUT[way](person)
    (code,) = CODE.findall(person.get("/").text)
    assert {row.annotator for row in running.responses()} > {kept.annotator}
    typed = code.lower().replace("-", " ")  # as it is read out on the phone
    assert command("forget", running.folder, typed, "--yes")[0] == 0
    assert {row.annotator for row in running.responses()} == {kept.annotator}
    assert running.session() == kept


def test_the_code_for_deletion_is_there_from_the_first_page_on(serving):
    """Whoever closes the page half-way has seen it; the published pseudonym does not give it."""
    running = serving(recruit='kind = "open"')
    person = running.person()
    assert CODE.findall(person.get("/").text) == [], "nobody is known yet"
    person.agree()
    (code,) = CODE.findall(person.get("/").text)
    assert code == running.secret.deletion_code(running.session().annotator)
    person.post("/instructions")
    assert CODE.findall(person.get("/").text) == [code]
    assert CODE.findall(person.get("/withdraw").text) == [code]
    person.post("/withdraw", data={"keep": "no"})
    assert CODE.findall(person.get("/left").text) == [], "there is nothing left to delete"


def test_who_was_sent_by_a_recruiter_has_an_id_and_needs_no_code(serving):
    running = serving(recruit=URL)
    person = running.person()
    person.get("/", params={"who": "ann"})
    assert "you are shown a code" not in person.get("/").text
    person.to_done()
    assert CODE.findall(person.get("/").text) == []
