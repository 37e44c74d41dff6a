"""The commands ``pay`` and ``who``, from the dry run to the confirmed transfer."""

from __future__ import annotations

import re
import stat
from fractions import Fraction

import pytest

from softlabel import study as studies
from softlabel.cli import main
from softlabel.serve.pay import make_bill
from softlabel.store import NewPayment
from softlabel.study import money

PAY = 'currency = "GBP"\nminutes = 6\nper_hour = 10\n'
FIXED = PAY + 'bonus_rule = "fixed"\nbonus_amount = 0.5\n'
SCORE = PAY + 'bonus_rule = "score"\nbonus_max = 2.0\nbonus_floor = 0.1\nbonus = "closer is more"\n'
ALL = {f"item-{n}": (20, 0, 0) for n in range(4)}


@pytest.fixture
def run(capsys):
    def command(*words):
        code = main([str(word) for word in words])
        return code, *capsys.readouterr()

    return command


def lines_of(payroll, own=None, kinds=()):
    bill = make_bill(payroll.study, payroll.store, own, kinds)
    return bill, {line.annotator: line for line in bill.lines}


def annotator(payroll, id):
    return payroll.secret.pseudonym(payroll.study.recruit.kind, id)


# ── amounts ──────────────────────────────────────────────────────────────────────────────────


def test_base_pay_is_by_measured_minutes_and_never_less_than_promised(payroll):
    """Seven answers of 100 active seconds and 2 minutes for pages; seven of 10 seconds."""
    one = payroll(pay=FIXED)
    one.work("slow", ALL, seconds=100)
    one.work("fast", ALL, seconds=10)
    one.work("boasts", ALL, seconds=10**6)
    one.work("left", ALL, stage="withdrawn")
    bill, lines = lines_of(one)
    slow, fast, boasts, left = (
        lines[annotator(one, id)] for id in ("slow", "fast", "boasts", "left")
    )
    assert slow.minutes == pytest.approx((7 * 100 + 120) / 60)
    assert slow.base == 228  # 10.00 an hour for 13.67 minutes
    assert fast.base == 100, "people were told 6 minutes and 1.00"
    assert boasts.minutes == pytest.approx((1000 + 120) / 60), "no more than passed at the server"
    assert "19 minutes instead of 6" in boasts.why
    assert (left.total, left.why) == (0, ("not done: withdrawn",))
    assert [line.bonus for line in (slow, fast, boasts)] == [50, 50, 50]
    assert (
        sum(bill.totals.values()) == sum(line.total for line in bill.lines) == 228 + 100 + 311 + 150
    )


def test_the_session_screenout_and_caps(payroll):
    pay = 'currency = "GBP"\nminutes = 6\nper_session = 1.25\nscreenout = 0.14\n'
    one = payroll(pay=pay + 'cap_per_person = 1.5\nbonus_rule = "fixed"\nbonus_amount = 0.5\n')
    one.work("done", ALL)
    one.work("out", {}, stage="screened-out")
    one.work("full", {}, stage="full")
    _, lines = lines_of(one)
    done, out, full = (lines[annotator(one, id)] for id in ("done", "out", "full"))
    assert (done.base, done.bonus, done.why) == (125, 25, ("bonus cut to the cap",))
    assert (out.total, full.total) == (14, 14)


def test_the_caps_hold_for_everything_together_and_the_dry_run_says_for_whom(payroll, run):
    pay = 'currency = "GBP"\nminutes = 6\nper_session = 1.25\nscreenout = 0.14\n'
    one = payroll(pay=pay + "cap_per_person = 1.5\ncap_total = 2.8\n")
    one.work("done", ALL)
    for id in ("out", "full"):
        one.work(id, {}, stage="screened-out")
    out, full = (annotator(one, id) for id in ("out", "full"))
    rows = [NewPayment("animals", out, "bonus", 140, "GBP")]
    one.store.plan_payments(rows, 0.0, "ann").result()
    _, lines = lines_of(one)
    assert (lines[out].screenout, lines[out].total, lines[full].total) == (10, 150, 14)
    code, told, err = run("pay", one.folder)
    assert code == 0
    assert re.search(rf"{out}\s.*screenout cut to the cap", told)
    assert re.search(r"cut to the cap +1 people", told)
    assert "cap_total allows 2.80 GBP; --plan refuses more" in err
    assert run("pay", one.folder, "--plan")[0] == 1, "2.89 in all"
    assert len(one.store.payments("animals")) == 1


def test_the_bonus_by_score_lies_between_floor_and_max(payroll):
    one = payroll(pay=SCORE)
    split = {
        "item-0": (20, 0, 0),
        "item-1": (0, 20, 0),
        "item-2": (0, 0, 20),
        "item-3": (10, 10, 0),
    }
    for id in ("ann", *map(str, range(6))):
        one.work(id, split)
    one.work("blind", dict.fromkeys(split, (8, 7, 5)))
    one.work("wrong", dict.fromkeys(split, (0, 0, 20)))
    one.work("alone", {})
    _, lines = lines_of(one)
    for line in lines.values():
        if line.score is not None:
            exact = 10 + 190 * line.score.share
            assert line.bonus == int(exact + Fraction(1, 2))
    assert 100 < lines[annotator(one, "ann")].bonus < 200
    assert lines[annotator(one, "wrong")].bonus == 10
    assert lines[annotator(one, "blind")].bonus < 30
    assert lines[annotator(one, "alone")].why == ("no item that two others answered",)
    assert lines[annotator(one, "alone")].bonus == 10


@pytest.mark.parametrize(("currency", "base"), [("JPY", 1), ("KWD", 1000), ("USD", 100)])
def test_sums_are_whole_numbers_of_the_smallest_unit(payroll, currency, base):
    one = payroll(pay=f'currency = "{currency}"\nminutes = 6\nper_hour = 10\n')
    one.work("ann", ALL, seconds=1)
    _, lines = lines_of(one)
    assert [line.base for line in lines.values()] == [base]
    assert type(base) is int


def test_halves_are_rounded_up_once():
    third = Fraction(1, 3)
    assert [money.round_half_up(Fraction(n, 2)) for n in range(4)] == [0, 1, 1, 2]
    assert money.round_half_up(money.to_units(0.145, "GBP")) == 15  # binary 0.145 is below it
    assert money.round_half_up(3 * money.to_units(third, "GBP")) == 100


# ── the way of money ─────────────────────────────────────────────────────────────────────────


@pytest.fixture(params=["sqlite", "postgres"])
def paid(request, payroll, tmp_path):
    """Three people who are done and one who left; the platform's list; and --db if needed."""
    url = request.getfixturevalue("postgres_url") if request.param == "postgres" else None
    one = payroll(pay=FIXED, db=url)
    for id in ("w-ann", "w-bob", "w-cleo"):
        one.work(id, ALL, seconds=1)
    one.work("w-dan", {}, stage="withdrawn")
    (tmp_path / "ids.csv").write_text(
        "Status,Worker\nok,w-ann\nok,w-bob\nok,w-dan\nreturned,w-nobody\nodd,\n"
    )
    one.words = (one.folder, *(["--db", url] if url else []))
    return one


def test_the_whole_way_and_no_second_time(paid, run, tmp_path):
    words, ids, file = paid.words, tmp_path / "ids.csv", tmp_path / "bonus.csv"
    code, out, _ = run("pay", *words)
    assert code == 0
    assert re.search(r"^total +4\.50 GBP$", out, re.MULTILINE)
    assert "nothing was written" in out
    assert paid.store.payments("animals") == ()
    assert "planned 6 payments, 4.50 GBP" in run("pay", *words, "--plan")[1]
    assert "nothing to plan" in run("pay", *words, "--plan")[1]
    refused = run("pay", *words, "--send", file, "--ids", ids)
    assert (refused[0], file.exists()) == (1, False)
    assert "wait for --approve NAME" in refused[2]
    approved = run("pay", *words, "--approve", "Ann Lee", "--yes")
    assert "approved 6 payments, 4.50 GBP, by Ann Lee" in approved[1]
    code, out, err = run("pay", *words, "--send", file, "--ids", ids)
    assert code == 0
    lines = file.read_text().splitlines()
    assert sorted(lines) == ["w-ann,1.50", "w-bob,1.50"]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "2 approved payments have no id" in err, "cleo is not in the list"
    transfer = re.search(r"as transfer (\w+);", out)[1]
    again = run("pay", *words, "--send", tmp_path / "again.csv", "--ids", ids)
    assert again[0] == 1
    assert "none of the 2 approved payments belongs to an id" in again[2]
    assert not (tmp_path / "again.csv").exists()
    assert "confirmed 4 payments, 3.00 GBP" in run("pay", *words, "--confirm", transfer)[1]
    assert run("pay", *words, "--confirm", transfer)[0] == 1
    assert run("pay", *words, "--undo", transfer, "--because", "lost", "--yes")[0] == 1
    (tmp_path / "ids.csv").write_text("worker\nw-cleo\n")
    assert run("pay", *words, "--send", tmp_path / "rest.csv", "--ids", ids)[0] == 0
    out = run("pay", *words, "--ledger")[1]
    assert re.search(r"^sent +2 payments, 1\.50 GBP$", out, re.MULTILINE)
    assert re.search(r"^confirmed +4 payments, 3\.00 GBP$", out, re.MULTILINE)
    assert "base confirmed; bonus confirmed" in run("pay", *words)[1]


def test_who_is_left_out_later_keeps_the_bonus_that_was_planned(payroll, run):
    """Nothing in the ledger is taken back; the column why says which of the two it is."""
    one = payroll(pay=FIXED)
    early, late = (one.work(id, ALL, seconds=1) for id in ("w-ann", "w-bob"))
    leave_out = "UPDATE session SET excluded_at = 1.0 WHERE annotator = '{}'".format

    def write(sql):
        one.store._writer.submit(lambda connection: connection.exec_driver_sql(sql)).result()

    write(leave_out(early.annotator))
    assert run("pay", one.folder, "--plan")[0] == 0
    write(leave_out(late.annotator))
    rows = {line.split()[0]: line for line in run("pay", one.folder)[1].splitlines() if line}
    assert "left out of the study: no bonus" in rows[early.annotator]
    assert "bonus planned" not in rows[early.annotator]
    kept = "left out after the bonus was planned: it stays; bonus planned"
    assert kept in rows[late.annotator]


def test_a_transfer_that_was_never_uploaded_is_undone(paid, run, tmp_path, monkeypatch):
    words, ids, file = paid.words, tmp_path / "ids.csv", tmp_path / "bonus.csv"
    run("pay", *words, "--plan", "--kind", "bonus")
    run("pay", *words, "--approve", "Ann", "--yes")
    file.write_text("older")
    assert "is there already" in run("pay", *words, "--send", file, "--ids", ids)[2]
    assert {row.state for row in paid.store.payments("animals")} == {"approved"}
    file.unlink()

    def fail(*args, **options):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("softlabel.serve.pay.ledger.write_private", fail)
        code, _, err = run("pay", *words, "--send", file, "--ids", ids)
    assert code == 1
    undo = re.search(r"--undo (\w+)", err)[1]
    assert not file.exists()
    assert run("pay", *words, "--send", file, "--ids", ids)[0] == 1, "they may be under way"
    assert "--because" in run("pay", *words, "--undo", undo)[2]
    assert run("pay", *words, "--undo", undo, "--because", "disk full", "--yes")[0] == 0
    assert run("pay", *words, "--send", file, "--ids", ids)[0] == 0
    assert sorted(file.read_text().splitlines()) == ["w-ann,0.50", "w-bob,0.50"]


def test_ids_stay_out_of_the_database(paid, run, tmp_path):
    run("who", *paid.words[:1], tmp_path / "ids.csv", *paid.words[1:])
    run("pay", *paid.words, "--plan")
    run("pay", *paid.words, "--approve", "Ann", "--yes")
    run("pay", *paid.words, "--send", tmp_path / "bonus.csv", "--ids", tmp_path / "ids.csv")
    assert (tmp_path / "bonus.csv").exists()
    if len(paid.words) == 1:
        held = b"".join(file.read_bytes() for file in paid.folder.rglob(".softlabel/*"))
    else:
        with paid.store._engines.read.connect() as connection:
            query = "SELECT string_agg(t::text, '') FROM {} t"
            tables = ("audit", "payment", "event", "response")
            held = "".join(
                connection.exec_driver_sql(query.format(table)).scalar() or "" for table in tables
            ).encode()
    assert annotator(paid, "w-ann").encode() in held
    for id in (b"w-ann", b"w-bob", b"w-dan", b"w-nobody"):
        assert id not in held


def test_confirmation_is_asked_for(paid, run):
    run("pay", *paid.words, "--plan")
    code, _, err = run("pay", *paid.words, "--approve", "Ann")  # nobody answers
    assert code == 1
    assert "Approve 6 payments, 4.50 GBP, as Ann?" in err
    assert {row.state for row in paid.store.payments("animals")} == {"planned"}
    assert run("pay", *paid.words, "--drop")[0] == 1
    assert len(paid.store.payments("animals")) == 6
    assert "deleted 6 payments" in run("pay", *paid.words, "--drop", "--yes")[1]
    assert paid.store.payments("animals") == ()


def test_a_total_above_the_cap_is_not_planned(payroll, run):
    one = payroll(pay=FIXED + "cap_total = 4.0\n")
    for id in ("ann", "bob"):
        one.work(id, ALL, seconds=1)
    assert run("pay", one.folder, "--plan")[0] == 0
    one.work("cleo", ALL, seconds=1)
    code, _, err = run("pay", one.folder, "--plan")
    assert (code, "all pay together is 4.50 GBP, and [pay] cap_total allows 4.00 GBP" in err) == (
        1,
        1,
    )
    assert len(one.store.payments("animals")) == 4


def test_prolific_pays_the_base_itself(payroll, prolific, run, tmp_path):
    one = payroll(pay=FIXED, recruit=prolific)
    one.work("a" * 24, ALL, seconds=1)
    out = run("pay", one.folder, "--plan")[1]
    assert re.search(r"^base +1\.00 GBP, paid by prolific, not by this ledger$", out, re.MULTILINE)
    assert [(row.kind, row.amount) for row in one.store.payments("animals")] == [("bonus", 50)]
    run("pay", one.folder, "--approve", "Ann", "--yes")
    table = tmp_path / "export.csv"
    table.write_text(f"Submission id,Participant id,Status\n{'b' * 24},{'a' * 24},APPROVED\n")
    run("pay", one.folder, "--send", tmp_path / "bonus.csv", "--ids", table)
    assert (tmp_path / "bonus.csv").read_text() == f"{'a' * 24},0.50\n"


def test_a_column_of_ones_own(payroll, run, tmp_path):
    one = payroll(pay=PAY + 'bonus_rule = "column"\n')
    ann, dan = one.work("ann", ALL, seconds=1), one.work("dan", {}, stage="withdrawn")
    table = tmp_path / "own.csv"
    table.write_text(f"annotator,bonus,why\n{ann.annotator},0.75,kind\n{dan.annotator},0.2,\n")
    assert "needs --bonus FILE.csv" in run("pay", one.folder)[2]
    out = run("pay", one.folder, "--bonus", table)[1]
    assert re.search(r"^bonus +0\.95 GBP$", out, re.MULTILINE)
    assert "kind" in out
    for bad, wanted in [
        ("annotator,bonus\nnobody,1\n", "nobody in 'animals' is called 'nobody'"),
        (f"annotator,bonus\n{ann.annotator},0.005\n", "line 2, column 'bonus', value '0.005'"),
        (f"annotator,bonus\n{ann.annotator},-1\n", "such as 1.50"),
        (f"annotator,bonus\n{ann.annotator},1/0\n", "such as 1.50"),
        (f"annotator,bonus\n{ann.annotator},1\n{ann.annotator},1\n", "is there twice"),
        ("id,bonus\nann,1\n", "needs the columns annotator and bonus; it has id, bonus"),
    ]:
        table.write_text(bad)
        code, _, err = run("pay", one.folder, "--bonus", table)
        assert (code, wanted in err) == (1, True), err


def test_steps_that_do_not_go_together_are_refused(payroll, run, tmp_path):
    one = payroll()
    (tmp_path / "ids.csv").write_text("id\nw\n")
    for words, wanted in [
        (["--plan", "--drop"], "one step at a time: give --plan or --drop"),
        (["--send", "x.csv"], "--send FILE.csv and --ids IDS.csv go together"),
        (["--approve", " ", "--yes"], "nothing is planned"),
        (["--kind", "bonsu"], "no kind of payment called 'bonsu' (did you mean 'bonus'?)"),
        (["--confirm", "t"], "no transfer 't' is waiting; no transfer waits for confirmation"),
        (["--undo", "t", "--because", "b", "--yes"], "there is no transfer 't'"),
        (["--drop"], "everything in the ledger was sent"),
        (["--send", tmp_path / "x.csv", "--ids", tmp_path / "ids.csv"], "nothing is approved"),
    ]:
        code, _, err = run("pay", one.folder, *words)
        assert (code, wanted in err) == (1, True), err
    assert "the ledger is empty" in run("pay", one.folder, "--ledger")[1]


def test_a_study_without_pay_says_so(payroll, run):
    one = payroll()
    file = one.folder / "study.toml"
    file.write_text(file.read_text().split("[pay]")[0])
    assert "has no table [pay]" in run("pay", one.folder)[2]


# ── who is who ───────────────────────────────────────────────────────────────────────────────


def test_ids_become_pseudonyms_and_back(payroll, run, tmp_path):
    one = payroll()
    ann = one.work("w-ann", ALL)
    one.work("w-cleo", ALL)
    ids, out = tmp_path / "ids.csv", tmp_path / "out.csv"
    ids.write_text("\ufeffworker;note\nw-ann;first, and only\nw-new;\nno id!;\n", "utf-8")
    code, printed, err = run("who", one.folder, ids)
    new = annotator(one, "w-new")
    assert code == 0
    assert printed == (
        "worker,note,annotator,stage,answered\n"
        f'w-ann,"first, and only",{ann.annotator},done,7\nw-new,,{new},,\nno id!,,,,\n'
    )
    assert "2 ids: 1 took part" in err
    assert "1 people in the study are not in" in err
    assert run("who", one.folder, ids, out)[1] == ""
    assert (out.read_text(), stat.S_IMODE(out.stat().st_mode)) == (printed, 0o600)
    people = tmp_path / "people.csv"
    people.write_text(f"annotator,flags\n{ann.annotator},fast\nunknown,\n")
    back = run("who", one.folder, ids, "--back", people)[1]
    assert back == f"annotator,flags,id\n{ann.annotator},fast,w-ann\nunknown,,\n"


def test_what_people_told_the_platform_is_written_without_ids(payroll, run, tmp_path):
    """The header is that of an export of Prolific; one person began twice, one did not come."""
    one = payroll()
    ann, cleo = one.work("w-ann", ALL), one.work("w-cleo", ALL)
    head = "Submission id,Participant id,Status,Started at,Time taken,Completion code,"
    head += "Total approvals,Age,Sex,Language\n"
    rows = [
        "s1,w-ann,RETURNED,2026-11-16,9,,12,DATA_EXPIRED,Female,Welsh\n",
        "s2,w-ann,APPROVED,2026-11-16,300,C1,12,34,Female,Welsh\n",
        "s3,w-cleo,APPROVED,2026-11-16,280,C1,7,70,Prefer not to say,CONSENT_REVOKED\n",
        "s4,w-new,APPROVED,2026-11-16,280,C1,7,17,Male,Dutch\n",
    ]
    ids, out = tmp_path / "export.csv", tmp_path / "attributes.csv"
    ids.write_text(head + "".join(rows))
    code, _, err = run("who", one.folder, ids, out, "--attributes")
    assert code == 0
    assert "3 ids: 2 took part; ids are left out; wrote" in err
    first, *others = out.read_text().splitlines()
    assert first == "annotator,Age,Sex,Language"
    people = [f"{ann.annotator},25-34,Female,Welsh", f"{cleo.annotator},65 and over,,"]
    assert others == sorted(people)
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    both = run("who", one.folder, ids, "--attributes", "--back", out)[2]
    assert "do not give --back as well" in both
    for value, words in (("35", "has '35-44' in another row"), ("old", "an age in whole years")):
        ids.write_text(head + "".join(rows).replace("DATA_EXPIRED", value))
        assert words in run("who", one.folder, ids, "--attributes")[2]
    ids.write_text("Participant id,Status\nw-ann,APPROVED\n")
    assert "no column about people" in run("who", one.folder, ids, "--attributes")[2]


def test_a_list_without_a_header_and_a_named_column(payroll, run, tmp_path):
    one = payroll()
    ann = one.work("w-ann", ALL)
    ids = tmp_path / "ids.csv"
    ids.write_text("w-ann\nw-bob\n")
    assert f"w-ann,{ann.annotator},done,7" in run("who", one.folder, ids)[1]
    ids.write_text("Who,More\nw-ann,1\n")
    code, _, err = run("who", one.folder, ids)
    assert code == 1
    assert "no column with people's ids; name it with --column; there are: 'Who', 'More'" in err
    assert f"w-ann,1,{ann.annotator}" in run("who", one.folder, ids, "--column", "Who")[1]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", "is empty"),
        ("worker,more\nw-ann\n", "line 2: has 1 cells, and the first line has 2"),
        ("worker\n!\n", "no value looks like an id"),
        ("worker,stage\nw-ann,1\n", "column 'stage': is there already"),
    ],
)
def test_lists_that_cannot_be_used(payroll, run, tmp_path, text, wanted):
    one, ids = payroll(), tmp_path / "ids.csv"
    ids.write_text(text)
    code, _, err = run("who", one.folder, ids)
    assert (code, wanted in err) == (1, True), err


def test_another_key_is_refused(payroll, run, tmp_path):
    one, ids = payroll(), tmp_path / "ids.csv"
    ids.write_text("worker\nw-ann\n")
    key = one.folder / ".softlabel" / "secret.json"
    text = key.read_text()
    digit = text[9]
    key.write_text(text[:9] + ("0" if digit != "0" else "1") + text[10:])
    assert "is not the one that the pseudonyms" in run("who", one.folder, ids)[2]
    key.unlink()
    assert "nobody's pseudonym is known" in run("who", one.folder, ids)[2]
    assert not key.exists(), "no new key is made"


def test_an_open_study_has_no_ids(payroll, run, tmp_path):
    one, ids = payroll(recruit='kind = "open"'), tmp_path / "ids.csv"
    ids.write_text("worker\nw-ann\n")
    assert "is open: people came without ids" in run("who", one.folder, ids)[2]
    assert studies.read(one.folder).recruit.kind == "open"
