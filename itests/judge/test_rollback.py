"""What a Redis that rolled back excuses: each excuse where it holds, and, planted, each thing
that looks like it and is none."""

import math
from dataclasses import replace

import pytest

from judge.journal import OK, REFUSED, UNKNOWN, Ack, Cancel, Older, Push, Release, Rest
from judge.test_judge import TTR_MS, ack, again, hand_over, push, verdict

LONG_MS = 60_000
ENDED = 3000
SYNCED = Older(since_ms=1000, at_ms=ENDED)                 # appendfsync everysec
NOTHING_KEPT = Older(since_ms=-math.inf, at_ms=ENDED)      # no append-only file
CERTAIN = push(1000, ttr_ms=LONG_MS)


def duplicate(sent):
    return Push("a", "t", TTR_MS, 500, sent, sent + 10, "duplicate")


EXCUSED = {
    "acknowledged just before": ("LOST", [push(2980)]),
    "acknowledged two seconds before": ("LOST", [push(991)]),
    "its answer was read a moment later": ("LOST", [
        Push("a", "t", TTR_MS, 500, 2995, 3200, OK, 3495)]),
    "unknown, and a duplicate when it was repeated": ("LOST", [
        push(2000, UNKNOWN), duplicate(2100)]),
    "its ack is forgotten": ("RETURNED", [
        push(1000, ttr_ms=1000), hand_over(1501), ack(2900), again(3500), ack(3600)]),
    "its cancel is forgotten": ("RETURNED", [push(900), ack(2900, kind=Cancel), hand_over(3500),
                                             ack(3600)]),
    "acknowledged, and in the store at the end": ("RETURNED", [
        push(), hand_over(1501), ack(2900), Rest("a", "tries")]),
    "its lease is forgotten": ("TWICE", [CERTAIN, hand_over(1501), again(3500), ack(3600)]),
    "its confirmation is forgotten": ("TWICE", [
        push(0, ttr_ms=LONG_MS, delay_ms=100), hand_over(500, due=100), again(5500, due=100),
        ack(5600)]),
}

SAID_AGAIN = Push("a", "t", TTR_MS, 0, 2900, 3300, OK, 3295)  # by its node, when Redis was back
EXCUSED["handed over before it was said again"] = ("EARLY", [
    SAID_AGAIN, hand_over(2950, due=2905), ack(3400)])

NO_EXCUSE = {
    "acknowledged long before": ("LOST", [push(900)], SYNCED),
    "acknowledged by the Redis that came back": ("LOST", [push(3001)], SYNCED),
    "held, and acknowledged when it was back": ("LOST", [
        Push("a", "t", TTR_MS, 500, 2995, ENDED + 1001, OK, 3495)], SYNCED),
    "acknowledged again when it was back": ("LOST", [push(2900), push(3100)], SYNCED),
    "a duplicate when it was back": ("LOST", [push(2900), duplicate(3100)], SYNCED),
    "handed over by the Redis that came back": ("LOST", [
        CERTAIN, hand_over(5000, asked=4900)], SYNCED),
    "the same, asked for before": ("LOST", [CERTAIN, hand_over(9000, asked=2900)], SYNCED),
    "released at the Redis that came back": ("LOST", [
        CERTAIN, hand_over(2900), ack(5100, kind=Release)], SYNCED),
    "due long before the end, and nobody had it": ("LOST", [push(-500_000)], NOTHING_KEPT),
    "a later push is not forgotten": ("LOST", [
        push(2000), push(2500, id="b"), hand_over(3500, due=3000, asked=3400, id="b"),
        ack(3600, id="b")], SYNCED),
    "lost by another fault": ("LOST", [push(9000)], NOTHING_KEPT),
    "its ack was long before": ("RETURNED", [
        push(0, delay_ms=100), hand_over(200, due=100), ack(900), again(3500), ack(3600)], SYNCED),
    "its ack is forgotten, but it came again before that": ("RETURNED", [
        push(1000, ttr_ms=1), hand_over(1501), ack(1600), again(2000), ack(2100)], SYNCED),
    "the same with a cancel": ("RETURNED", [
        push(), ack(1500, kind=Cancel), hand_over(2500), ack(2600)], SYNCED),
    "it came again before the Redis before": ("RETURNED", [
        push(-9000, ttr_ms=1), hand_over(-8000, due=-8500), ack(-7500),
        again(-7000, due=-8500), ack(-6900)], NOTHING_KEPT),
    "handed over twice, and the Redis that came back was empty": ("TWICE", [
        CERTAIN, hand_over(1501), again(3500), ack(3600)],
        Older(since_ms=-math.inf, at_ms=ENDED, keeps_nothing=True)),
    "its second ack is not forgotten": ("RETURNED", [
        CERTAIN, hand_over(1501), ack(2900), again(3500), ack(3600),
        hand_over(4000, lease="3", attempt=3)], SYNCED),
    "its lease was long before": ("TWICE", [
        push(-500, ttr_ms=LONG_MS), hand_over(-1), again(4500), ack(4600)], SYNCED),
    "its lease is of the Redis that came back": ("TWICE", [
        push(2000, ttr_ms=LONG_MS), hand_over(3200), again(3500), ack(3600)], SYNCED),
    "its lease is of the Redis that came back, asked for before": ("TWICE", [
        CERTAIN, hand_over(9000, asked=2900), again(9100), ack(9200)], SYNCED),
    "its lease is of the Redis that came back, for it was not due before": ("TWICE", [
        CERTAIN, hand_over(3100, due=3050, asked=2900), again(3500, due=3050), ack(3600)], SYNCED),
    "it was due when Redis was back, and had it": ("LOST", [
        push(2000, ttr_ms=LONG_MS, delay_ms=1050), hand_over(3100, due=3050, asked=2900)], SYNCED),
    "the same, with replicas": ("TWICE", [
        CERTAIN, hand_over(9000, asked=2900), again(9100), ack(9200)],
        Older(since_ms=1000, at_ms=ENDED, keeps_answers=True)),
    "both before": ("TWICE", [CERTAIN, hand_over(1501), again(1700), ack(3600)], SYNCED),
    "a lease is given again": ("TWICE", [
        CERTAIN, hand_over(1501), hand_over(3500), ack(3600)], SYNCED),
    "early": ("EARLY", [push(), hand_over(1499), ack(1600)], SYNCED),
    "early by what was told before": ("EARLY", [
        Push("a", "t", TTR_MS, 0, 2900, 2940, OK, 2960), hand_over(2950, due=2905), ack(3400)],
        SYNCED),
    "early by the Redis that came back": ("EARLY", [
        SAID_AGAIN, hand_over(3280, due=3290, asked=3250), ack(3400)], SYNCED),
    "nobody pushed it": ("INVENTED", [push(outcome=REFUSED), hand_over(1501), ack(1600)], SYNCED),
}


@pytest.mark.parametrize("rule, events", EXCUSED.values(), ids=EXCUSED)
def test_what_redis_has_forgotten_is_counted_apart(rule, events):
    assert {each.rule for each in verdict(*events).violations} == {rule}, "without it, it is one"
    found = verdict(*events, SYNCED)
    assert (found.violations, found.explained) == ([], {rule: 1})
    assert not verdict(*events, NOTHING_KEPT).violations


@pytest.mark.parametrize("rule, events, older", NO_EXCUSE.values(), ids=NO_EXCUSE)
def test_what_redis_must_know_is_not_excused(rule, events, older):
    assert rule in {each.rule for each in verdict(*events, older).violations}


def test_how_long_before_the_end_a_lost_push_was_acknowledged():
    found = verdict(push(2980), push(1990, id="b"), push(1500, UNKNOWN, id="c"), SYNCED)
    assert sorted(found.lost_before_ms) == [10, 1000]


def told(noticed, lost):
    return Older(SYNCED.since_ms, ENDED, noticed, lost)


TWO_LOST = [push(2000), push(2100, id="b"), push(2200, UNKNOWN, id="c")]
CONSUMED = [event for id in "cde" for event in (
    push(1600, delay_ms=0, id=id), hand_over(1700, due=1600, id=id), ack(1800, id=id))]
ACK_FORGOTTEN = EXCUSED["its ack is forgotten"][1]
RETURNED = [CERTAIN, hand_over(1501), ack(2900), again(3500), ack(3600)]


@pytest.mark.parametrize("events, older, count", [
    (TWO_LOST, told(1, 2), 0),
    (TWO_LOST, told(3, 3), 0),             # the node knows what became of the third
    (TWO_LOST, told(None, None), 0),       # not asked
    (TWO_LOST, told(1, 1), 1),             # one was not counted
    (TWO_LOST, told(1, 4), 1),             # more than there are
    (TWO_LOST, told(0, 2), 1),             # counted, not said
    ([push(1500), *CONSUMED], told(1, 3), 1),  # its own is not among them
    ([push(1500), *CONSUMED], told(1, 4), 0),
    ([*CONSUMED, push(2500), hand_over(3500, due=3000, asked=3400), ack(3600)], told(1, 1), 1),
    (RETURNED, told(1, 0), 0),
    (RETURNED, told(0, 0), 1),             # a job comes again, and nobody says why
    (ACK_FORGOTTEN, told(0, 0), 0),        # which nobody can see
    ([CERTAIN, hand_over(1501), ack(1600)], told(0, 0), 0),
    ([CERTAIN, hand_over(1501), ack(1600)], told(1, 2), 1),
])
def test_what_is_forgotten_must_be_told(events, older, count):
    assert [each.rule for each in verdict(*events, older).violations] == ["UNTOLD"] * count


def test_each_fault_excuses_and_tells_its_own():
    first, second = told(1, 1), Older(8000, 10_000, 1, 1)
    assert not verdict(push(2000), push(9000, id="b"), first, second).violations
    found = verdict(push(2000), push(2100, id="b"), first, second).violations
    assert {each.rule for each in found} == {"UNTOLD"}


def test_a_push_that_an_end_has_interrupted_may_be_lost_by_the_next_one():
    """Its node has pushed it again, to the Redis that was empty."""
    first = replace(told(1, 1), keeps_nothing=True)
    second = Older(ENDED, ENDED + 700, 1, 1, keeps_nothing=True)
    interrupted = replace(push(ENDED - 10, id="b"), ended_ms=ENDED + 60)
    assert not verdict(push(2000), interrupted, first, second).violations
    assert verdict(push(2000), interrupted, replace(first, lost=0), second).violations
    assert verdict(push(2000), interrupted, first, replace(second, lost=0)).violations
    for other in ((), (Older(8000, 10_000, 1, 1),), (replace(second, keeps_answers=True),)):
        assert verdict(push(2000), interrupted, first, *other).violations, "the first has lost it"


def test_an_end_that_forgot_nothing_is_not_asked_for_what_the_next_one_forgot():
    first = replace(told(0, 0), keeps_nothing=True)
    second = Older(ENDED, ENDED + 700, 1, 1, keeps_nothing=True)
    interrupted = replace(push(ENDED - 10, id="b"), ended_ms=ENDED + 60)
    assert not verdict(interrupted, first, second).violations
    assert verdict(interrupted, first, replace(second, noticed=0)).violations


@pytest.mark.parametrize("other", [
    Older(8000, 10_000, 1, 0), Older(8000, 10_000, 1, 0, keeps_answers=True),
    Older(8000, 10_000)])
@pytest.mark.parametrize("events", [
    RETURNED, [CERTAIN, hand_over(1501), again(3500), ack(3600)]], ids=["RETURNED", "TWICE"])
def test_what_comes_again_is_told_by_those_who_saw_that_fault(events, other):
    assert not verdict(*events, told(1, 0), other).violations
    found = verdict(*events, told(0, 0), other).violations
    assert [each.rule for each in found] == ["UNTOLD"]


def test_an_empty_redis_has_what_its_node_pushed_again():
    said_again = Push("a", "t", LONG_MS, 500, 2400, 3100, OK, 2900)
    life = [said_again, hand_over(2950, due=2900), again(3700, due=2900), ack(3800)]
    empty = Older(since_ms=-math.inf, at_ms=ENDED, keeps_nothing=True)
    assert verdict(*life, empty).explained == {"TWICE": 1}


SPLIT = Older(since_ms=1000, at_ms=ENDED, split_ms=1500)
SAME_LEASE = [CERTAIN, hand_over(1650), hand_over(2400), ack(2500)]


def test_two_masters_at_once_may_give_the_same_lease():
    assert verdict(*SAME_LEASE, SPLIT).explained == {"TWICE": 2}
    two_leases = [CERTAIN, hand_over(1650), again(2400), ack(2500)]
    assert verdict(*two_leases, SPLIT).explained == {"TWICE": 1}


@pytest.mark.parametrize("events, older", [
    (SAME_LEASE, SYNCED),                                                # there was one only
    ([CERTAIN, hand_over(1499), hand_over(2400), ack(2500)], SPLIT),     # before there were two
    ([CERTAIN, hand_over(1650), hand_over(3200, asked=3100), ack(3300)], SPLIT),  # and after
    ([push(100, ttr_ms=LONG_MS), hand_over(610, due=600), again(900, due=600), ack(950)], SPLIT),
])
def test_one_master_gives_a_lease_once(events, older):
    assert "TWICE" in {each.rule for each in verdict(*events, older).violations}


CONFIRMED = Older(since_ms=1000, at_ms=ENDED, keeps_answers=True)


@pytest.mark.parametrize("name", EXCUSED)
def test_what_replicas_have_is_not_forgotten_but_leases_are(name):
    rule, events = EXCUSED[name]
    left = {each.rule for each in verdict(*events, CONFIRMED).violations}
    assert left == ({rule} if rule in ("LOST", "RETURNED") else set())


def test_releases_that_redis_forgot_may_or_may_not_have_happened():
    life = [CERTAIN, hand_over(1501), ack(2900, kind=Release), again(3500), ack(3600)]
    assert not verdict(*life, SYNCED).violations
    assert verdict(*life, ack(2950, kind=Ack), SYNCED).explained == {"RETURNED": 1}
