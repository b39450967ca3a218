"""The judge, with planted violations: a judge that acquits everybody is no judge. More of what it has
from judge/jobs.py: judge/test_judge.py."""

import pytest

from crash.judge import judge
from judge.journal import (DUPLICATE, OK, REFUSED, UNKNOWN, Ack, Fault, HandOver, Journal, Push)


# Times are seconds here.

def push(sent=1.0, outcome=OK, delay_s=0, ttr_s=2, body="b"):
    return Push("a", "t", ttr_s * 1000, delay_s * 1000, sent * 1000, sent * 1000 + 100, outcome,
                body=body)


def hand_over(received, asked=None, body="b"):
    asked_ms = received * 1000 - 100 if asked is None else asked * 1000
    return HandOver("a", "t", "", 1, None, asked_ms, received * 1000, None, "", body=body)


def ack(ended, outcome=OK):
    return Ack("a", ended * 1000 - 100, ended * 1000, outcome)


def fault(what, start, end):
    return Fault(what, start * 1000, end * 1000)


def rules(*events, stored=()):
    journal = Journal()
    journal.add(*events)
    return sorted({violation.rule for violation in judge(journal, set(stored))})


FAULT = fault("worker", 2.1, 2.5)

INNOCENT = {
    "a whole life": [push(), hand_over(2), ack(2.1)],
    "an unknown push that happened": [push(outcome=UNKNOWN), hand_over(2), ack(2.1)],
    "an unknown push that did not": [push(outcome=UNKNOWN)],
    "a refused push": [push(outcome=REFUSED)],
    "an unknown ack that happened": [push(), hand_over(2), ack(2.1, UNKNOWN)],
    "an unknown ack that did not": [push(), hand_over(2), ack(2.1, UNKNOWN), hand_over(4.2),
                                    ack(4.3)],
    "again when the lease was over": [push(), hand_over(2), hand_over(4), ack(4.1)],
    "again when the lease was over, and seen late before": [
        push(), hand_over(2.4, asked=2.0), hand_over(4.05), ack(4.1)],
    "again after a fault": [push(ttr_s=60), hand_over(2), FAULT, hand_over(6.9), ack(7)],
    "again after a long fault": [
        push(ttr_s=60), hand_over(2), fault("redis", 2.1, 30), hand_over(45), ack(45.1)],
    "pushed again after an unknown answer": [
        push(outcome=UNKNOWN), hand_over(2), ack(2.1), push(2.2), hand_over(3), ack(3.1)],
    "a duplicate after an unknown answer": [
        push(outcome=UNKNOWN), push(1.2, DUPLICATE), hand_over(2), ack(2.1)],
    "TTR 0, handed over": [push(ttr_s=0), hand_over(2)],
    "delayed": [push(delay_s=1), hand_over(2.0), ack(2.1)],
    "a late reply beside its own ack": [push(), hand_over(2), ack(4.1), hand_over(4.3, 3.0)],
}

GUILTY = {
    "never seen again": ("LOST", [push()]),
    "said to be alive, and gone": (
        "LOST", [push(outcome=UNKNOWN), push(1.2, DUPLICATE)]),
    "another body": ("INVENTED", [push(), hand_over(2, body="c"), ack(2.1)]),
    "a first push that is a duplicate": (
        "INVENTED", [push(outcome=DUPLICATE), hand_over(2), ack(2.1)]),
    "before it was pushed": ("INVENTED", [push(3.0), hand_over(2), ack(3.1)]),
    "before its delay was over": ("EARLY", [push(delay_s=1), hand_over(1.99), ack(2.1)]),
    "the same, by less than a millisecond": (
        "EARLY", [push(delay_s=1), hand_over(1.9995), ack(2.1)]),
    "received long after its ack": (
        "RETURNED", [push(), hand_over(2), ack(2.1), hand_over(5, 2.05), ack(5.1)]),
    "twice within its lease": (
        "TWICE", [push(ttr_s=60), hand_over(2), hand_over(3), ack(3.1)]),
    "a little too soon after it was asked for": (
        "TWICE", [push(), hand_over(2), hand_over(3.85), ack(3.9)]),
    "a little too soon after it was due, and asked for long before": (
        "TWICE", [push(delay_s=1), hand_over(2.1, asked=1.0), hand_over(3.9), ack(3.95)]),
    "twice too soon in spite of a fault": (
        "TWICE", [push(ttr_s=60), hand_over(2), FAULT, hand_over(6.7), ack(6.8)]),
    "the fault was over before, and asked for before": (
        "TWICE", [push(ttr_s=60), fault("redis", 1.1, 1.5), hand_over(2, asked=1.2), hand_over(6.1),
                  ack(6.2)]),
    "so long after a fault that nothing unconfirmed was held any more": (
        "TWICE", [push(ttr_s=60), hand_over(2), FAULT, hand_over(17.6), ack(17.7)]),
    "the fault came long after": (
        "TWICE", [push(ttr_s=60), hand_over(2), fault("redis", 9, 9.5), hand_over(10),
                  ack(10.1)]),
    "more hand-overs than lives": (
        "TWICE", [push(ttr_s=0), hand_over(2), hand_over(2.2)]),
}


@pytest.mark.parametrize("events", INNOCENT.values(), ids=INNOCENT)
def test_acquits(events):
    assert rules(*events) == []


@pytest.mark.parametrize("rule, events", GUILTY.values(), ids=GUILTY)
def test_convicts(rule, events):
    assert rule in rules(*events)


def test_what_is_still_stored_is_not_lost():
    assert rules(push(), stored=["a"]) == []


def test_what_is_stored_after_its_ack_was_undone():
    assert rules(push(), hand_over(2), ack(2.1), stored=["a"]) == ["RETURNED"]


def test_what_is_stored_and_was_never_pushed_was_invented():
    assert rules(stored=["a"]) == ["INVENTED"]
