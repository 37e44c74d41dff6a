"""Asking a real server, which fails in the ways that servers fail; the log, and going on."""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
import time
from collections import Counter

import numpy as np
import pytest

from softlabel import study as studies
from softlabel.errors import FileError, SoftlabelError
from softlabel.judges import Command, Endpoint, Prompt, ask, estimate, read_judges
from softlabel.judges.asking import PATIENCE
from softlabel.judges.endpoint import TRIES, Pace, complete_url, retry_after


def ask_server(study, server, *, waits=None, timeout=5.0, **options):
    waits = [] if waits is None else waits
    with Endpoint(server.url, "m", timeout=timeout, wait=waits.append) as endpoint:
        return ask(study, endpoint, "m", **options)


def read_lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


# ── answers ──────────────────────────────────────────────────────────────────────────────────


def test_log_probabilities_are_the_beliefs_of_the_model(make_study, server, actions):
    study = make_study()
    bill = ask_server(study, server, concurrency=3)
    assert (bill.items, bill.requests, bill.unreadable) == (6, 6, 0)
    assert bill.tokens == (300, 6)
    assert bill.ways == {"logprobs": 6}
    said = read_judges(study.folder)
    assert said.index.annotators.tolist() == ["m"]
    for row, item in enumerate(said.item):
        truth = actions.opinion_of(study.find(said.index.items[item]).text)
        for label, chance in zip(said.index.labels.tolist(), said.soft()[row], strict=True):
            assert chance == pytest.approx(truth[label])


def test_without_log_probabilities_samples_become_shares(make_study, server, actions):
    server.logprobs = False
    study = make_study(3)
    bill = ask_server(study, server, samples=4)
    assert (bill.items, bill.requests, bill.ways) == (3, 12, {"reply": 12})
    seeds = [one["body"]["seed"] for one in server.seen]
    assert len(set(seeds)) == 12
    assert all(one["body"]["temperature"] == 1 for one in server.seen)
    given = Counter()
    for line in read_lines(bill.log)[1:]:
        code = line["raw"]["choices"][0]["message"]["content"]
        given[line["item"], line["codes"][code]] += 1
    said = read_judges(bill.log)
    for row, item in enumerate(said.item):
        name = said.index.items[item]
        shares = [given[name, label] / 4 for label in said.index.labels.tolist()]
        assert said.soft()[row].tolist() == shares


def test_each_request_has_its_own_order_of_labels(make_study, server, actions):
    server.logprobs = False
    ask_server(make_study(20), server, samples=3, concurrency=4)
    first = Counter(actions.prompt_of(one["body"]).split("A. ")[1].split("\n")[0].split(":")[0]
                    for one in server.seen)  # fmt: skip
    assert set(first) == {"cat", "dog", "fox"}
    assert min(first.values()) >= 10  # of 60; each is first in 20 of them on average


def test_what_a_reply_does_not_say_is_kept_and_not_used(make_study, server, actions):
    server.logprobs = False
    server.actions = {1: actions.say("Q"), 2: actions.say(""), 3: actions.say("a cat or a dog")}
    study = make_study(2)
    bill = ask_server(study, server, samples=3)
    assert (bill.requests, bill.unreadable, bill.items) == (6, 3, 2)
    lines = read_lines(bill.log)[1:]
    unread = [line for line in lines if line["chances"] is None]
    assert [line["raw"]["choices"][0]["message"]["content"] for line in unread] == [
        "Q",
        "",
        "a cat or a dog",
    ]
    said = read_judges(bill.log, studies_index(study))
    assert said.index.items[said.item].tolist() == ["i1"]
    assert ask_server(study, server, samples=3).requests == 0  # they were asked


def studies_index(study):
    from softlabel import Index

    return Index([item.id for item in study.items], ["someone"], list(study.labels))


@pytest.mark.parametrize(
    ("field", "name"),
    [
        ("response_format", None),
        ("response_format", "json_schema"),
        ("logprobs", None),
        ("top_logprobs", None),
        ("seed", None),
        ("temperature", None),
        ("seed", ""),
    ],
)
def test_a_refused_field_is_left_out_from_then_on(make_study, server, actions, field, name):
    server.always = actions.refuse(field, 400 if name is None else 422, name)
    if field == "top_logprobs":  # fewer are allowed
        server.always = lambda handler, body: (
            body.get("top_logprobs", 0) > 5 and actions.refuse(field)(handler, body)
        )
    server.logprobs = "logprobs" in field
    bill = ask_server(make_study(3), server, samples=2)
    assert bill.items == 3
    assert not bill.failed
    accepted = server.seen[-1]["body"]
    if field == "top_logprobs":
        assert accepted["top_logprobs"] == 5
    else:
        assert field not in accepted
    refused = len(server.seen) - bill.requests
    assert refused == (3 if name == "" else 1), "one by one if the server names none"
    assert bill.ways.keys() == {"logprobs" if field == "top_logprobs" else "reply"}
    assert field in read_lines(bill.log)[-1]["given_up"]


def test_newer_models_have_another_name_for_the_length(make_study, server, actions):
    server.always = actions.refuse("max_tokens")
    ask_server(make_study(1), server)
    assert "max_completion_tokens" in server.seen[-1]["body"]


# ── failures ─────────────────────────────────────────────────────────────────────────────────


def test_a_busy_server_is_asked_again_when_it_says(make_study, server, actions):
    server.actions = {1: actions.fail(429, Retry_After="7"), 2: actions.fail(503)}
    waits: list[float] = []
    bill = ask_server(make_study(2), server, waits=waits)
    assert (bill.items, bill.failed) == (2, {})
    assert 7 <= waits[0] < 9
    assert len(waits) == 2
    assert read_lines(bill.log)[1]["tries"] == 3


def test_nobody_waits_for_hours(make_study, server, actions):
    server.actions = {2: actions.fail(429, Retry_After="7200")}
    study = make_study(3)
    with pytest.raises(SoftlabelError, match="asks to come back in 7,200 seconds"):
        ask_server(study, server)
    assert ask_server(study, server).items == 2


def test_broken_replies_are_asked_for_again(make_study, server, actions):
    server.actions = {
        1: actions.fail(500),
        2: actions.cut,
        3: actions.fail(200, b"<html>"),
        4: actions.fail(200, {"choices": []}),
        5: actions.sleep(1.0),
    }
    bill = ask_server(make_study(2), server, timeout=0.3)
    assert (bill.items, bill.requests, bill.failed) == (2, 2, {})
    assert read_lines(bill.log)[1]["tries"] == 6


def test_an_item_that_fails_is_left_for_the_next_time(make_study, server, actions):
    server.actions = {number: actions.fail(500, b"out of memory") for number in range(1, TRIES + 1)}
    study = make_study(3)
    bill = ask_server(study, server)
    assert bill.items == 2
    assert list(bill.failed) == ["i0"]
    assert "out of memory" in bill.failed["i0"]
    assert ask_server(study, server).items == 1


def test_a_server_that_only_fails_is_left_alone(make_study, server, actions):
    server.always = actions.fail(500)
    study = make_study(20)
    with pytest.raises(SoftlabelError, match=r"stopped after 5 failures in a row.*goes on there"):
        ask_server(study, server)
    assert len(server.seen) == PATIENCE * TRIES
    server.always = None
    assert ask_server(study, server).items == 20


def test_a_refused_key_stops_at_once_and_is_never_told(make_study, server, actions, capfd):
    server.always = actions.fail(401, f"bad key {actions.key}".encode())
    study = make_study()
    with pytest.raises(SoftlabelError, match=r"status 401.*SOFTLABEL_JUDGE_KEY") as caught:
        ask_server(study, server)
    assert actions.key not in str(caught.value)
    assert len(server.seen) == 1
    server.always = None
    log = ask_server(study, server).log
    assert server.seen[-1]["headers"]["authorization"] == f"Bearer {actions.key}"
    assert actions.key not in log.read_text()
    assert actions.key not in "".join(capfd.readouterr())


def test_the_key_is_sent_to_safe_addresses_only(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    with pytest.raises(SoftlabelError, match="https:// addresses only"):
        Endpoint("http://example.org", "m")
    monkeypatch.setenv("SOFTLABEL_JUDGE_KEY", "sk-\u00e9")
    with pytest.raises(SoftlabelError, match="SOFTLABEL_JUDGE_KEY in the environment is no key"):
        Endpoint("https://example.org", "m")
    for url in ("http://me:hidden@localhost", "http://localhost?key=1", "ftp://localhost", "local"):
        with pytest.raises(SoftlabelError, match="--endpoint") as caught:
            complete_url(url)
        assert "hidden" not in str(caught.value)


def test_dates_are_understood_as_well_as_seconds():
    assert retry_after("3") == 3
    assert retry_after(None) == retry_after("soon") == 0
    assert retry_after("Wed, 21 Oct 2015 07:28:00 GMT") == 0
    assert retry_after("Wed, 21 Oct 2115 07:28:00 GMT") > 1e9


def test_requests_begin_at_the_rate():
    waits: list[float] = []
    pace = Pace(600, waits.append)  # one in .1 s
    for _ in range(5):
        pace.take()
    assert np.allclose(waits, [0, 0.1, 0.2, 0.3, 0.4], atol=0.02)


# ── the log ──────────────────────────────────────────────────────────────────────────────────


def test_going_on_after_half_a_line(make_study, server):
    study = make_study()
    log = ask_server(study, server).log
    whole = log.read_bytes()
    lines = whole.splitlines(keepends=True)
    log.write_bytes(b"".join(lines[:4]) + lines[4][:50])
    assert len(read_judges(log)) == 3  # a log may be read while it is written
    server.seen.clear()
    assert ask_server(study, server).items == 3
    assert len(server.seen) == 3
    assert log.read_bytes().splitlines()[:4] == whole.splitlines()[:4]
    assert sorted(line["item"] for line in read_lines(log)[1:]) == [f"i{n}" for n in range(6)]
    log.write_bytes(lines[0][:20])  # not even the head
    assert ask_server(study, server).items == 6


def test_a_distribution_counts_alone(make_study):
    """A model that first named a label, and then stated chances, is taken by its chances."""
    study = make_study(1)
    said = {1: "dog", 2: {"chances": {"cat": 0.75, "dog": 0.25}}}
    bill = ask(study, lambda asked: said[asked["sample"]], "m", samples=3)
    assert bill.requests == 2
    assert read_judges(bill.log).soft().tolist() == [[0.75, 0.25, 0]]


def test_a_damaged_log_is_named(make_study, server):
    study = make_study()
    log = ask_server(study, server).log
    lines = log.read_text().splitlines()
    log.write_text("\n".join([lines[0], lines[1].replace('"shown"', '"seen"'), *lines[2:], ""]))
    with pytest.raises(FileError, match=r"m\.jsonl, line 2, column 'shown': this key is missing"):
        ask_server(study, server)
    log.write_text("{}\n")
    with pytest.raises(FileError, match=r"m\.jsonl, line 1: is no log of softlabel judge"):
        ask_server(study, server)


def test_more_samples_are_added_to_those_there(make_study, server):
    server.logprobs = False
    study = make_study(2)
    ask_server(study, server, samples=2)
    assert ask_server(study, server, samples=5).requests == 6
    assert estimate(study, "m", samples=5).items == 0
    assert estimate(study, "m", samples=7).requests == (2, 4)


def test_another_prompt_has_another_log(make_study, server):
    ask_server(make_study(), server)
    changed = make_study()
    other = Prompt(changed, "{question}\n{item}\n{labels}\nSay one letter.")
    bill = ask_server(changed, server, prompt=other)
    assert bill.log.name == "m-2.jsonl"
    assert bill.items == 6
    assert read_judges(changed.folder).index.annotators.tolist() == ["m-2", "m"]
    again = ask_server(changed, server, prompt=other)
    assert (again.log, again.requests) == (bill.log, 0)


def test_new_items_are_asked_and_changed_ones_refused(make_study, server):
    ask_server(make_study(3), server)
    study = make_study(5)
    assert ask_server(study, server).items == 2
    items = study.folder / "items.csv"
    items.write_text(items.read_text().replace("Animal 2", "Animal 77"))
    with pytest.raises(FileError, match=r"m\.jsonl: item 'i2' shows something else"):
        ask_server(studies.read(study.folder), server)


def test_a_log_has_one_writer(make_study, server):
    from softlabel.judges.asking import open_log

    study = make_study()
    log = ask_server(study, server).log
    with open_log(log, {}), pytest.raises(FileError, match="another softlabel judge writes"):
        ask_server(study, server)


def test_killed_in_the_middle_nothing_is_lost_or_asked_twice(
    make_study, server, actions, start_softlabel, run_softlabel
):
    """Only requests on their way when the process was killed are sent a second time."""
    study, running = make_study(40), 3
    server.always = actions.sleep(0.02)
    log = study.folder / "judges" / "m.jsonl"
    words = ["judge", str(study.folder), "--endpoint", server.url, "--model", "m", "--yes"]
    words += ["--concurrency", str(running)]
    with tempfile.TemporaryFile("w+") as errors:
        process = start_softlabel(words, errors)
        while not log.exists() or log.read_bytes().count(b"\n") < 9:
            assert process.poll() is None
            time.sleep(0.005)
        os.kill(process.pid, signal.SIGKILL)
        process.wait(30)
        process.stdout.close()
    kept = log.read_bytes()
    whole = kept[: kept.rfind(b"\n") + 1]
    done = {json.loads(line)["item"] for line in whole.splitlines()[1:]}
    assert 8 <= len(done) < 40
    end = run_softlabel(*words)
    assert end.returncode == 0, end.stderr
    assert log.read_bytes().startswith(whole)
    assert Counter(line["item"] for line in read_lines(log)[1:]) == {f"i{n}": 1 for n in range(40)}
    asked = Counter(actions.text_of(one["body"]) for one in server.seen)
    twice = {text for text, number in asked.items() if number > 1}
    assert len(twice) <= running
    assert not twice & {study.find(item).text for item in done}


# ── models of one's own ──────────────────────────────────────────────────────────────────────


def test_a_function_is_asked(make_study):
    study = make_study(4)

    def answer(asked):
        assert asked["labels"].keys() == {"A", "B", "C"}
        return {
            "i0": {"chances": {"cat": 0.25, "dog": 0.75}},
            "i1": {"logprobs": {"fox": float(np.log(0.5))}},
            "i2": "dog",
            "i3": {"chances": {"cat": 0.9, "wolf": 0.1}},
        }[asked["item"]]

    bill = ask(study, answer, "mine", samples=2)
    assert (bill.requests, bill.unreadable) == (6, 2)
    said = read_judges(bill.log, studies_index(study))
    assert said.soft().tolist() == [[0.25, 0.75, 0], [0.25, 0.25, 0.5], [0, 1, 0]]


def test_a_program_that_ends_is_named(make_study, tmp_path):
    program = tmp_path / "model.py"
    program.write_text("import sys\nsys.stdin.readline()\nprint('dog', flush=True)\nsys.exit(3)\n")
    line = f"{sys.executable} {program}"
    with (
        Command(line) as command,
        pytest.raises(SoftlabelError, match="ended with code 3 before it answered"),
    ):
        ask(make_study(), command, "mine", samples=1)
    with pytest.raises(SoftlabelError, match="--command 'no-such-program' cannot be started"):
        Command("no-such-program")
