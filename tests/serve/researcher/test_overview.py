"""The overview of a study whose answers are known."""

from __future__ import annotations

import math
import threading
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softlabel import io
from softlabel.annotators import alpha
from softlabel.annotators.agreement import pairwise_variation
from softlabel.construct import Clamp
from softlabel.elicit import Quick
from softlabel.metrics import Spread
from softlabel.sampling import one_per_annotator
from softlabel.serve import compute_overview, wording
from softlabel.serve.researcher import overview
from softlabel.serve.researcher.export import export_answers
from softlabel.serve.researcher.overview import (
    COMPUTE_EVERY,
    COUNT_EVERY,
    MOST_STRETCHES,
    VALID_FOR,
    LiveOverview,
    measure_speed,
    seconds_by_mode,
)
from softlabel.serve.researcher.sample import LatestAnswers, Throttle
from softlabel.study import Pay


def look(world, **options):
    return compute_overview(world.study, world.store, world.now, **options)


def test_an_untouched_study(make_world):
    found = look(make_world())
    here = found.counts
    assert (here.items, here.done, here.answers, here.wanted) == (12, 0, 0, 48)
    assert here.histogram == (12, 0, 0, 0, 0)
    assert (here.people, here.stages) == (0, {})
    assert math.isnan(found.hours_left)
    assert found.bill.earned == 0
    assert found.bill.projected == pytest.approx(8 * 0.9), "48 answers, 6 a session, 0.90 each"
    assert found.insight.agreement is None
    assert found.insight.people == ()


def test_counts_are_the_same_in_both_databases(make_world, both):
    world = make_world(db=both)
    for n in range(4):
        world.visit(f"person-{n}")
    world.visit("half-way", most=5)
    found, here = look(world), look(world).counts
    # a whole session: one for practice, two checks, six items, two repeats
    assert here.stored == 4 * 11 + 5
    assert here.stages == {"done": 4, "consent": 1}
    given = here.answers - 24
    assert 2 <= given <= 4, "of their five one was practice, and one or two were checks"
    assert sum(here.histogram) == 12
    assert sum(n * items for n, items in enumerate(here.histogram)) == here.answers
    assert found.bill.earned == pytest.approx((4 + 5 / 11) * 0.9)
    assert found.bill.projected == pytest.approx(found.bill.earned + (24 - given) / 6 * 0.9)
    assert found.insight.seconds[0].answer.n == 4 * 8 + given, "practice and checks are no answers"


def test_everything_is_there(make_world):
    world = make_world()
    for n in range(8):
        world.visit(f"person-{n}")
    found = look(world)
    assert (found.counts.done, found.counts.answers) == (12, 48)
    assert found.counts.histogram == (0, 0, 0, 0, 12)
    assert found.hours_left == 0
    assert found.bill.projected == found.bill.earned == pytest.approx(7.2)


def test_agreement_is_that_of_the_labels(make_world):
    world = make_world(mode="quick")
    for n in range(6):
        world.visit(f"person-{n}")
    study = world.study
    sample = LatestAnswers(study, world.store).refresh(Throttle())
    rows = [row for row in world.store.responses(study.name) if row.kind in ("target", "repeat")]
    each = one_per_annotator(Clamp()(sample.said))
    assert len(sample.said) == len(rows)
    found = look(world).insight
    assert found.agreement.alpha.value == pytest.approx(alpha(each))
    apart = pairwise_variation(each)
    assert found.agreement.variation == pytest.approx(np.nanmean(apart))
    assert found.disagreement == pytest.approx(
        dict(zip(each.index.items.tolist(), apart.tolist(), strict=True))
    )


def test_plain_votes_stay_votes(make_world):
    """Clamped, two equal votes would not quite agree: nothing was ruled out."""
    world = make_world(mode="hard", per_annotator=12)
    for n in range(3):
        world.visit(f"person-{n}", lambda shown: {"label": "cat"})
    world.visit("other", lambda shown: {"label": "dog"})
    found = look(world).insight
    assert found.agreement.observed.value == pytest.approx(0.5)
    assert found.agreement.variation == pytest.approx(0.5)
    cat, dog = found.people[0], found.people[-1]
    assert (cat.agreement, dog.agreement) == pytest.approx((2 / 3, 0))
    assert not cat.remarks, "a vote rules nothing out, which is no fault"


CLASSIC = {"top": "cat", "p1": 90, "second": "dog", "p2": 10, "impossible": ["fox", "hare"]}


def test_an_answer_that_came_late_is_no_repeat(make_world):
    world = make_world()
    who = world.enter("slow")
    plan = replace(world.plan, lease_seconds=60.0)
    first = world.store.lease(who.id, plan, world.now).result().showings
    world.now += 9999
    world.store.release_expired(world.study.name, world.now).result()
    again = world.store.lease(who.id, plan, world.now).result().showings
    old = next(s for s in first if s.kind == "target")
    new = next(s for s in again if (s.item, s.kind, s.state) == (old.item, "target", "open"))
    for shown in (new, old):
        world.send(who, shown, CLASSIC)
    found = look(world)
    assert (found.counts.answers, found.counts.late, found.counts.stored) == (1, 1, 2)
    assert found.insight.repeats.pairs == 0


def test_repeats_are_compared_with_the_first_answer(make_world):
    world = make_world()
    world.visit("steady", lambda shown: CLASSIC)
    changed = CLASSIC | {"top": "dog", "second": "cat"}
    world.visit("fickle", lambda shown: changed if shown.kind == "repeat" else CLASSIC)
    found = look(world).insight
    assert (found.repeats.pairs, found.repeats.changed) == (4, 2)
    assert found.repeats.variation == pytest.approx(0.4)
    steady, fickle = found.people
    assert steady.repeats.changed == 0
    assert (fickle.repeats.changed, fickle.repeats.variation) == (2, pytest.approx(0.8))
    assert "another top class on every repeat (2)" in fickle.remarks


def test_checks_gold_by_distance_attention_by_top_label(make_world):
    world = make_world()
    unsure = CLASSIC | {"p1": 55, "p2": 45}
    wrong = CLASSIC | {"top": "dog", "second": "cat"}
    world.visit("unsure", lambda shown: unsure)
    world.visit("wrong", lambda shown: wrong)
    unsure, wrong = look(world).insight.people
    assert (unsure.gold.failed, unsure.gold.variation) == (0, pytest.approx(0.45))
    assert unsure.attention.failed == 0
    assert (wrong.gold.failed, wrong.attention.failed) == (1, 1)
    assert wrong.gold.variation == pytest.approx(0.9)
    assert wrong.flags == ("1 of 1 gold checks failed", "1 of 1 attention checks failed")


def test_errors_of_the_published_rules_are_flags(make_world):
    world = make_world()
    world.visit("sloppy", lambda shown: CLASSIC | {"impossible": ["cat"]})
    (sloppy,) = look(world).insight.people
    assert any("errors" in flag for flag in sloppy.flags)


def test_whoever_hurries_or_stands_alone_is_flagged(make_world):
    world = make_world(per_annotator=12, per_item=8)
    for n in range(7):
        world.visit(f"person-{n}", lambda shown: CLASSIC | {"p1": 90 - shown.position})
    from_afar = CLASSIC | {"top": "hare", "second": "fox", "impossible": ["cat", "dog"]}
    who = world.enter("hasty")
    for shown in world.store.lease(who.id, world.plan, world.now).result().showings:
        own = CLASSIC if shown.kind != "target" else from_afar
        world.send(who, shown, own, timing={"active_ms": 300, "submit_ms": 300, "fields": {}})
    hasty = {one.annotator: one for one in look(world).insight.people}["hasty"]
    assert len(hasty.flags) == 2
    assert hasty.flags[0] == "fast: 0.3 s an answer, others 3.0 s"
    assert hasty.flags[1].startswith("agrees with the others by 0.08, under")


def test_who_withdrew_is_flagged(make_world):
    world = make_world()
    world.visit("stays")
    gone = world.visit("goes", most=3)
    world.store.withdraw(gone.id, False, world.now).result()
    first, second = look(world).people()
    assert (first.annotator, first.flags) == ("goes", ("withdrew",))
    assert not second.flags


def test_skips_are_in_no_number_of_answers(make_world):
    world = make_world()
    world.visit("silent", lambda shown: None)
    found = look(world)
    assert found.insight.agreement is None
    assert found.insight.seconds == ()
    assert found.insight.speed.per_hour == 0
    (silent,) = found.people()
    assert (silent.answers, silent.seconds.n) == (0, 0)
    assert silent.skips == {"cannot_judge": 10}  # practice is not among them
    here = found.counts
    assert (here.answers, here.done, here.shares, here.histogram[0]) == (0, 0, 0.0, 12)
    assert (here.skips, here.skipped) == ({"cannot_judge": 10}, {"silent": 10})


def test_a_superseded_answer_does_not_count(make_world):
    world = make_world()
    who = world.enter("corrects")
    for shown in world.store.lease(who.id, world.plan, world.now).result().showings:
        first = world.send(who, shown, CLASSIC | {"top": "hare", "second": "fox"})
        world.send(who, shown, CLASSIC, supersedes=first)
    found = look(world)
    assert found.insight.people[0].gold.failed == 0
    assert found.counts.answers == 6
    assert found.counts.stored == 22
    assert found.insight.read == 22


def test_times_while_the_tab_was_hidden_are_in_no_step(make_world):
    from_memory = {"active_ms": 2000, "submit_ms": 62_000, "hidden_ms": 60_000}
    world = make_world()
    who = world.enter("away")
    for shown in world.store.lease(who.id, world.plan, world.now).result().showings:
        timing = from_memory | {"first_input_ms": 1000, "fields": {"top": 1500}}
        world.send(who, shown, CLASSIC, timing=timing)
    (classic,) = look(world).insight.seconds
    assert (classic.answer.median, classic.first.median) == (2.0, 1.0)
    assert {name: step.median for name, step in classic.steps.items()} == {
        "top": 1.5,
        "submit": 0.5,
    }


def test_a_study_without_pay_costs_nothing_that_we_know_of(make_world):
    assert look(make_world(pay=None)).bill is None
    flat = look(make_world(pay=Pay("EUR", minutes=10, per_session=2.5))).bill
    assert (flat.session, flat.projected) == (2.5, 20.0)


def test_the_numbers_say_when_they_are_of_a_sample(make_world):
    world = make_world()
    for n in range(3):
        world.visit(f"person-{n}")
    part = look(world, most=12).insight
    assert (part.read, part.stored, part.whole) == (12, 33, False)
    assert {one.annotator for one in part.people} == {"person-1", "person-2"}
    assert look(world).insight.whole


def test_with_many_labels_fewer_answers_are_looked_at(make_world):
    labels = tuple(f"label-{n}" for n in range(5000))
    assert LatestAnswers(make_world(labels=labels).study, None).size == 400


def test_an_answer_that_the_study_cannot_read_any_more_is_no_answer(make_world):
    world = make_world()
    world.visit("early", lambda shown: CLASSIC)
    renamed = replace(world.study, labels=("tabby", "dog", "fox", "hare"))
    found = compute_overview(renamed, world.store, world.now).insight
    assert (found.people[0].answers, found.unreadable) == (0, 11)


def test_answers_of_an_earlier_version_of_the_mode_still_count(make_world, monkeypatch, tmp_path):
    """A study that ran before the page changed goes on, and loses nothing."""
    world = make_world(mode="quick")
    with monkeypatch.context() as before:
        before.setattr(Quick, "version", 1)
        world.visit("early")
    world.visit("late")
    found = look(world).insight
    assert (found.unreadable, [person.answers > 0 for person in found.people]) == (0, [True] * 2)
    export_answers(world.study, world.store, tmp_path / "answers.jsonl")
    exported = io.read_answers(tmp_path / "answers.jsonl").answers
    assert set(exported.index.annotators.tolist()) == {"early", "late"}


# ── live ──────────────────────────────────────────────────────────────────────────────────────


def test_a_live_overview_answers_at_once_and_computes_when_it_is_told(make_world):
    world = make_world()
    world.visit("first")
    live = LiveOverview(world.study, world.store, lambda: world.now)
    assert live.overview().insight is None
    assert live.overview().counts.stored == 11
    live.renew()
    assert live.overview().insight.read == 11


def test_a_live_overview_counts_and_computes_seldom(make_world, monkeypatch):
    counting = SimpleNamespace(perf_counter=lambda: 0.0)  # takes no time, however busy the machine
    monkeypatch.setattr(overview, "time", counting)
    world = make_world()
    now = [world.now]
    live = LiveOverview(world.study, world.store, lambda: now[0])
    live.renew()
    live.overview()
    world.visit("first")
    assert live.overview().counts.stored == 0, "counted a moment ago"
    now[0] += COUNT_EVERY
    assert live.overview().counts.stored == 11
    live.renew()
    assert live.overview().insight.read == 0, "computed a moment ago"
    now[0] += COMPUTE_EVERY
    live.renew()
    first = live.overview().insight
    assert first.read == 11
    now[0] += COMPUTE_EVERY
    live.renew()
    assert live.overview().insight is first, "there is nothing new"
    now[0] += VALID_FOR
    live.renew()
    assert live.overview().insight is not first, "but the latest hour is another one"


def test_two_pages_do_not_compute_the_same_thing_twice(make_world, monkeypatch):
    world = make_world()
    world.visit("first")
    live = LiveOverview(world.study, world.store, lambda: world.now)
    refresh, inside, go_on = live._latest.refresh, threading.Event(), threading.Event()

    def slow(throttle):
        inside.set()
        assert go_on.wait(60)
        return refresh(throttle)

    monkeypatch.setattr(live._latest, "refresh", slow)
    thread = threading.Thread(target=live.renew)
    thread.start()
    assert inside.wait(60)
    live.renew()  # comes back at once; it would wait for ever if it began to compute, too
    assert live.overview().insight is None
    go_on.set()
    thread.join()
    assert live.overview().insight.read == 11


# ── speed ─────────────────────────────────────────────────────────────────────────────────────

NOW = 1_800_000_000.0
HOUR = 3600.0


def test_of_a_young_study_the_time_since_its_first_answer_counts():
    assert measure_speed([NOW - 300 + 3 * n for n in range(100)], NOW).per_hour == pytest.approx(
        1200
    )


def test_of_an_old_study_only_the_latest_hour_counts():
    found = measure_speed([NOW - 5 * HOUR, NOW - 4 * HOUR, NOW - 1800, NOW - 60], NOW)
    assert found.per_hour == 2
    assert found.hours_left(10) == 5


def test_when_nobody_answers_nobody_knows_when_it_ends():
    found = measure_speed([NOW - 3 * HOUR], NOW)
    assert found.per_hour == 0
    assert math.isnan(found.hours_left(10))
    assert found.hours_left(0) == 0, "what is finished is finished"


def test_a_first_answer_a_second_ago_is_no_speed_record():
    assert measure_speed([NOW - 1], NOW).per_hour == 60


def test_no_answers():
    found = measure_speed([], NOW)
    assert (found.per_hour, found.stretches) == (0, ())


@given(st.lists(st.floats(0, 90 * 86400), min_size=1, max_size=50), st.booleans())
def test_every_answer_shown_is_counted_once(ages, whole):
    times = [NOW - age for age in ages]
    found = measure_speed(times, NOW, whole)
    assert len(found.stretches) <= MOST_STRETCHES + 2
    shown = sum(n for _, n in found.stretches)
    begin = found.stretches[0][0] if found.stretches else math.inf
    assert shown == sum(at >= begin for at in times)
    if whole and max(ages) < 30 * 86400:
        assert shown == len(times)


def test_where_the_sample_cuts_a_stretch_it_is_not_shown():
    """An incomplete stretch would look like a slow one."""
    times = [NOW - 60 * n for n in range(10)]
    assert measure_speed(times, NOW, whole=False).stretches[0][0] > times[-1]


# ── seconds ───────────────────────────────────────────────────────────────────────────────────


def test_modes_are_kept_apart_and_steps_are_in_the_order_of_asking():
    answers = [
        ("quick", 2.0, 1.0, (("rest", 0.5), ("top", 1.0), ("submit", 0.5), ("mystery", 0.1))),
        ("quick", 4.0, math.nan, ()),
        ("classic", 30.0, 3.0, (("submit", 30.0),)),
    ]
    quick, classic = seconds_by_mode(answers)
    assert (quick.mode, classic.mode) == ("quick", "classic"), "most answers first"
    assert quick.answer == Spread(2, 2.2, 3.0, 3.8)
    assert quick.first.n == 1, "a wait that is not known is left out"
    assert list(quick.steps) == ["top", "rest", "mystery", "submit"]
    assert classic.answer.median == 30.0


def test_a_mode_that_is_no_longer_known_is_shown_all_the_same():
    (gone,) = seconds_by_mode([("of-somebody-else", 1.0, 1.0, (("b", 0.5), ("a", 0.5)))])
    assert list(gone.steps) == ["a", "b"]


def test_moments_of_another_day_have_a_date():
    noon = 1_800_014_400.0 - 1_800_014_400.0 % 86_400 + 43_200
    assert wording.moment(noon - 60, noon) == "11:59:00"
    assert wording.moment(noon - 86_400, noon).endswith(" 12:00")
