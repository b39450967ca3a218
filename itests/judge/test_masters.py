"""Where one of several masters has forgotten something, that excuses only what it had."""

from dataclasses import replace

import pytest

from harness.redis_cluster import bucket_of, slot_of
from judge.journal import OK, Ack, Delivered, Fault, HandOver, Journal, Older, Push, TakenBack
from judge.judge import judge

MINE, OTHERS = "drill-0", "drill-1"
OLDER = Older(1000, 2000, noticed=3, lost=1, buckets=(bucket_of(MINE),))


def push(id, topic, ended=1900):
    return Push(id, topic, 4000, 0, ended - 10, ended, OK, ended)


def done(id, topic, at):
    return [HandOver(id, topic, "1", 1, 0, at - 10, at, at, "n1"), Ack(id, at + 1, at + 2, OK)]


def rules(*events):
    journal = Journal()
    journal.add(Fault("kill", 1000, 3000), *events)
    verdict = judge(journal)
    return sorted(each.rule for each in verdict.violations), dict(verdict.explained)


def test_a_bucket_is_where_the_store_has_it():
    assert bucket_of(MINE) != bucket_of(OTHERS)
    assert slot_of(7) == 1716
    assert bucket_of("123456789", 16384) == 0x31C3  # the check value of the CRC


def test_a_push_that_its_master_may_have_forgotten_is_excused():
    assert rules(push("a", MINE), OLDER) == ([], {"LOST": 1})


def test_a_push_of_another_master_is_not():
    assert rules(push("a", OTHERS), replace(OLDER, lost=0)) == (["LOST"], {})


def test_what_other_masters_have_kept_proves_nothing():
    """Pushes of one Redis are forgotten from some moment on; those of another one live on."""
    later = [push("b", OTHERS, 1950), *done("b", OTHERS, 2500)]
    assert rules(push("a", MINE), *later, OLDER) == ([], {"LOST": 1})
    later = [push("b", MINE, 1950), *done("b", MINE, 3500)]
    assert rules(push("a", MINE), *later, replace(OLDER, lost=0)) == (["LOST"], {})


def test_what_was_not_confirmed_keeps_its_evidence():
    life = [replace(push("a", OTHERS), ttr_ms=60_000), *done("a", OTHERS, 2500)[:1],
            TakenBack("a", "n1", 7500), replace(done("a", OTHERS, 7600)[0], lease="2", attempt=2),
            done("a", OTHERS, 7600)[1]]
    assert rules(*life, replace(OLDER, lost=0)) == ([], {"UNCONFIRMED": 1})
    assert rules(*life, Delivered("a", "n1", 2600), replace(OLDER, lost=0))[0] == ["TWICE"]


def test_nodes_that_count_what_others_lost_are_seen():
    assert rules(push("a", MINE), *done("a", MINE, 3500),
                 replace(OLDER, lost=2)) == (["UNTOLD"], {})


@pytest.mark.parametrize("topic", [MINE, OTHERS])
def test_two_masters_that_forget_excuse_each_its_own(topic):
    other = replace(OLDER, since_ms=5000, at_ms=6000, lost=0, buckets=(bucket_of(OTHERS),))
    expected = ([], {"LOST": 1}) if topic == MINE else (["LOST"], {})
    assert rules(push("a", topic), replace(OLDER, lost=int(topic == MINE)), other) == expected
