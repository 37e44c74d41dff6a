"""Money through Prolific: everybody is paid once, whatever breaks in between."""

from __future__ import annotations

import re

import pytest

from softlabel.cli import main
from softlabel.errors import Conflict, SoftlabelError
from softlabel.serve.fake_prolific import Fault
from softlabel.serve.recruit import bonuses
from softlabel.serve.recruit.prolific import Client, ProlificError, Unclear
from softlabel.store import NewPayment


@pytest.fixture
def study(announce):
    """Two people are done, and a bonus of each is approved."""
    announced = announce(pay="screenout = 0.4\n")
    announced.people = [announced.finish() for _ in range(2)]
    desk = announced.desk
    rows = [
        NewPayment("birds", desk.pseudonym(one.person), "bonus", 105 + n, "GBP")
        for n, one in enumerate(announced.people)
    ]
    planned = desk.store.plan_payments(rows, 0.0, "ann").result()
    ids = [row.id for row in planned]
    desk.store.move_payments(ids, "planned", "approved", None, 0.0, "ann").result()
    return announced


def states(announced):
    return sorted(row.state for row in announced.desk.store.payments("birds"))


def paid(announced):
    return sorted(announced.fake.paid.values())


def test_bonuses_are_sent_and_confirmed_once_prolific_shows_them(study):
    assert bonuses.send_bonuses(study.desk) == (2, 211)
    assert states(study) == ["sent", "sent"]
    assert bonuses.settle(study.desk) == (2, ())
    assert states(study) == ["confirmed", "confirmed"]
    assert paid(study) == [105, 106]
    assert bonuses.send_bonuses(study.desk) == (0, 0)
    assert paid(study) == [105, 106]


def test_payments_take_their_time(study):
    study.fake.pays_later = True
    bonuses.send_bonuses(study.desk)
    confirmed, waiting = bonuses.settle(study.desk)
    assert confirmed == 0
    assert [(one.payments, one.amount) for one in waiting] == [(2, 211)]
    with pytest.raises(Conflict, match="not confirmed"):
        bonuses.send_bonuses(study.desk)
    study.fake.pay_now()
    assert bonuses.settle(study.desk)[0] == 2


@pytest.mark.parametrize(("status", "acted"), [(500, True), (0, True), (500, False), (0, False)])
def test_after_a_cut_connection_nobody_is_paid_twice(study, status, acted):
    study.fake.faults.append(Fault("/pay/", status, acted=acted))
    with pytest.raises(Unclear):
        bonuses.send_bonuses(study.desk)
    for _ in range(2):  # whoever tries again is refused until it is known
        _, waiting = bonuses.settle(study.desk)
        if waiting:
            with pytest.raises(Conflict):
                bonuses.send_bonuses(study.desk)
    if not acted:
        (one,) = bonuses.list_open(study.desk)
        with pytest.raises(SoftlabelError, match="may still be paying"):
            bonuses.release(study.desk, one.transfer)
        study.ahead = bonuses.PROOF + 1
        assert bonuses.release(study.desk, one.transfer) == 2
        assert states(study) == ["approved", "approved"]
        bonuses.send_bonuses(study.desk)
        bonuses.settle(study.desk)
    assert states(study) == ["confirmed", "confirmed"]
    assert paid(study) == [105, 106]
    assert set(study.fake.times_paid.values()) == {1}


class Stop(Exception):
    pass


STEPS = [
    (Client, "prepare_bonuses"),
    (bonuses, "_write_sent"),
    (Client, "pay_bonuses"),
]


@pytest.mark.parametrize(("home", "name"), STEPS, ids=[name for _, name in STEPS])
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_crash_at_any_step_never_pays_twice(study, monkeypatch, home, name, after):
    real = getattr(home, name)

    def crash(*args, **kwargs):
        if after:
            real(*args, **kwargs)
        raise Stop

    with monkeypatch.context() as patch:
        patch.setattr(home, name, crash)
        with pytest.raises(Stop):
            bonuses.send_bonuses(study.desk)
    study.ahead = bonuses.PROOF + 1
    _, waiting = bonuses.settle(study.desk)
    for one in waiting:
        bonuses.release(study.desk, one.transfer)
    bonuses.send_bonuses(study.desk)
    bonuses.settle(study.desk)
    assert states(study) == ["confirmed", "confirmed"]
    assert paid(study) == [105, 106]


def test_the_fake_does_pay_twice_if_it_is_asked_twice(study):
    """The trap of the tests above works."""
    study.desk.client.prepare_bonuses(study.id, {study.people[0].person: "1.00"})
    (bulk,) = study.fake.bulks
    for _ in range(2):
        study.desk.client.pay_bonuses(bulk)
    assert paid(study) == [200]
    assert study.fake.times_paid[bulk] == 2


def test_a_refusal_leaves_everything_as_it_was(study):
    study.fake.faults.append(Fault("/pay/", 402))
    with pytest.raises(ProlificError, match="402"):
        bonuses.send_bonuses(study.desk)
    assert states(study) == ["approved", "approved"]
    assert bonuses.send_bonuses(study.desk) == (2, 211)


def test_a_bonus_from_before_is_not_taken_for_ours(study):
    for one in study.people:
        study.fake.submissions[one.id].bonuses.append(500)
    study.fake.pays_later = True
    bonuses.send_bonuses(study.desk)
    assert bonuses.settle(study.desk)[0] == 0
    study.fake.pay_now()
    assert bonuses.settle(study.desk)[0] == 2


def test_a_sum_that_prolific_understands_differently_is_not_paid(study, monkeypatch):
    real = Client.prepare_bonuses

    def misread(*args):
        return real(*args) | {"amount": 21100}

    monkeypatch.setattr(Client, "prepare_bonuses", misread)
    with pytest.raises(SoftlabelError, match="21,100 instead of 211"):
        bonuses.send_bonuses(study.desk)
    assert states(study) == ["approved", "approved"]


def test_bonuses_of_people_whom_prolific_does_not_know_stop_everything(study):
    rows = [NewPayment("birds", "somebody", "bonus", 5, "GBP")]
    (row,) = study.desk.store.plan_payments(rows, 0.0, "ann").result()
    study.desk.store.move_payments([row.id], "planned", "approved", None, 0.0, "ann").result()
    with pytest.raises(SoftlabelError, match="whom Prolific does not list"):
        bonuses.send_bonuses(study.desk)
    assert paid(study) == []


def test_many_people_are_paid_in_portions(study, monkeypatch):
    monkeypatch.setattr(bonuses, "MOST_PAID", 1)
    bonuses.send_bonuses(study.desk)
    assert len(study.fake.bulks) == 2
    assert bonuses.settle(study.desk)[0] == 2
    assert paid(study) == [105, 106]


def test_people_who_were_screened_out_are_paid_once(study):
    out = study.fail_quiz()
    assert bonuses.pay_screened_out(study.desk) == 1
    assert study.fake.submissions[out.id].status == "SCREENED OUT"
    assert bonuses.pay_screened_out(study.desk) == 0
    assert study.fake.paid[out.person] == 40


def test_screen_outs_count_towards_the_cap_of_the_study(announce):
    """Two base payments of 1.50 by Prolific and two screen-outs of 0.40 are more than 3.50."""
    announced = announce(pay="screenout = 0.4\ncap_total = 3.5\n")
    for _ in range(2):
        announced.finish()
    announced.fail_quiz()
    assert bonuses.pay_screened_out(announced.desk) == 1
    announced.fail_quiz()
    with pytest.raises(SoftlabelError, match=r"together is 3.80 GBP, and .* allows 3.50 GBP"):
        bonuses.pay_screened_out(announced.desk)
    assert paid(announced) == [40]


def test_screen_outs_count_towards_the_cap_of_a_person(announce, capsys):
    """Three people were turned away after a bonus was planned for two of them."""
    announced = announce(pay="screenout = 0.4\ncap_per_person = 1.6\n")
    some, much, none = (announced.fail_quiz() for _ in range(3))
    desk = announced.desk
    rows = [
        NewPayment("birds", desk.pseudonym(one.person), "bonus", units, "GBP")
        for one, units in ((some, 145), (much, 160))
    ]
    desk.store.plan_payments(rows, 0.0, "ann").result()
    assert main(["prolific", "screenout", str(announced.running.folder), "--yes"]) == 0
    told = capsys.readouterr().out
    assert "cut to [pay] cap_per_person" in told
    assert re.search(rf"{desk.pseudonym(some.person)}\s.*0\.15 GBP", told)
    assert re.search(rf"{desk.pseudonym(much.person)}\s.*0\.00 GBP", told)
    assert desk.pseudonym(none.person) not in told
    assert told.endswith("paid 2 people\n")
    people = (some, much, none)
    assert [announced.fake.paid[one.person] for one in people] == [15, 0, 40]


@pytest.mark.parametrize("acted", [True, False])
def test_a_cut_screen_out_is_settled_by_looking(study, acted):
    out = study.fail_quiz()
    study.fake.faults.append(Fault("screen-out", 0, acted=acted))
    with pytest.raises(Unclear):
        bonuses.pay_screened_out(study.desk)
    bonuses.pay_screened_out(study.desk)  # touches nothing that is sent
    confirmed, waiting = bonuses.settle(study.desk)
    assert (confirmed, len(waiting)) == ((1, 0) if acted else (0, 1))
    if waiting:
        study.ahead = bonuses.PROOF + 1
        bonuses.release(study.desk, waiting[0].transfer)
        assert bonuses.pay_screened_out(study.desk) == 1
    assert study.fake.paid[out.person] == 40


def test_only_transfers_through_prolific_are_settled_here(study):
    ids = [row.id for row in study.desk.store.payments("birds")]
    study.desk.store.move_payments(ids, "approved", "sent", "by-file", 0.0, "ann").result()
    assert bonuses.list_open(study.desk) == ()
    assert bonuses.send_bonuses(study.desk) == (0, 0)
