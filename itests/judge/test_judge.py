"""The judge of the drills, with planted violations: each rule is broken on purpose and seen, and
what only looks like a violation is acquitted."""

import json
from dataclasses import replace

import pytest

from judge.journal import (OK, REFUSED, UNKNOWN, Ack, Cancel, Clock, Delivered, Denied, Empty, Entry,
                           Fault, Fenced, HandOver, Journal, Lease, LockedMove, Move, Older, Push, Release,
                           Rest, Role, Stall, TakenBack, Unanswered, read_events)
from judge.judge import judge
from judge.lateness import Limits

LATE = Limits(tick_ms=500, outside_p99_ms=50)
TTR_MS = 4000
NODE, OTHER = "10.0.0.1:8000", "10.0.0.2:8000"


def push(sent=1000, outcome=OK, delay_ms=500, ttr_ms=TTR_MS, id="a"):
    due = sent + delay_ms if outcome == OK else None
    return Push(id, "t", ttr_ms, delay_ms, sent, sent + 10, outcome, due)


def hand_over(received, lease="1", due=1500, asked=None, redis=None, attempt=1, id="a"):
    """Redis's clock is that of the journals here."""
    asked = received - 100 if asked is None else asked
    return HandOver(id, "t", lease, attempt, due, asked, received,
                    received if redis is None else redis, NODE, delay_ms=500)


def again(received, **options):
    return hand_over(received, lease="2", attempt=2, **options)


def ack(ended, outcome=OK, kind=Ack, id="a"):
    return kind(id, ended - 10, ended, outcome)


def back(at):
    """It was taken back, by the history."""
    return TakenBack("a", "n1", at)


def sent(at, node=NODE, id="a"):
    """It was confirmed, by the history."""
    return Delivered(id, node, at)


def token(epoch, ensemble="e"):
    return f"{ensemble}:{epoch:016x}"


def leads(node, epoch, at, ensemble="e"):
    return Role(node, "leader", at, token(epoch, ensemble))


def stands_by(node, at):
    return Role(node, "standby", at)


def lease(node, epoch, begin, end):
    return Lease(node, token(epoch), begin, end)


def fenced(node, epoch, fence, at, ensemble="e"):
    return Fenced(node, token(epoch), token(fence, ensemble), at)


def verdict(*events, limits=None):
    journal = Journal()
    journal.add(*events)
    return judge(journal, limits)


def rules(*events, limits=None):
    return sorted({violation.rule for violation in verdict(*events, limits=limits).violations})


KILL = Fault("kill", 2000, 2200)
KILL_HERE, KILL_THERE = (replace(KILL, nodes=("n1", node)) for node in (NODE, OTHER))
FIRST = [leads("n1", 1, 0), lease("n1", 1, 0, 3000)]

ON_ITS_WAY = [push(), hand_over(2599, asked=1000), sent(1750), ack(1600, kind=Cancel)]

INNOCENT = {
    "a whole life": [push(), hand_over(1501), ack(1600)],
    "handed over as soon as its delay is over, to the microsecond": [
        push(1000.6), hand_over(1500.6), ack(1600)],
    "handed over at the moment it is due": [push(), hand_over(1500), ack(1600)],
    "an unknown push that happened": [push(outcome=UNKNOWN), hand_over(1501), ack(1600)],
    "an unknown push that did not": [push(outcome=UNKNOWN)],
    "an unknown ack": [push(), hand_over(1501), ack(1600, UNKNOWN)],
    "dead with a reason": [push(), hand_over(1501), Rest("a", "tries")],
    "cancelled before it was due": [push(), ack(1200, kind=Cancel)],
    "TTR 0, cancelled": [push(ttr_ms=0), ack(1200, kind=Cancel)],
    "TTR 0": [push(ttr_ms=0), hand_over(1501)],
    "again when its lease ran out": [push(), hand_over(1501), again(5502), ack(5600)],
    "again when a short lease ran out": [
        push(ttr_ms=1000), hand_over(1501), again(2502), ack(2600)],
    "again after a release": [push(), hand_over(1501), ack(1600, kind=Release),
                              again(1700, due=1600), ack(1800)],
    "again after a release without an answer": [
        push(), hand_over(1501), ack(1600, UNKNOWN, Release), again(1700), ack(1800)],
    "again after an unconfirmed delivery": [
        push(ttr_ms=60000), hand_over(1990), KILL_HERE, back(6990), again(6995), ack(7100)],
    "the same, as told by a node whose estimate of Redis's clock is wrong": [
        push(ttr_ms=60000), hand_over(1990), KILL_HERE, back(7040), again(6995), ack(7100)],
    "the same, and it was confirmed when the fault was made": [
        push(ttr_ms=60000), hand_over(1990), KILL_HERE, sent(2100), back(6990), again(6995),
        ack(7100)],
    "again after an unconfirmed delivery, and Redis was in trouble": [
        push(ttr_ms=60000), hand_over(1990), KILL, back(6990), again(6995), ack(7100)],
    "again after an unconfirmed delivery, when the fault was over": [
        push(ttr_ms=60000), hand_over(1990), Fault("cut", 2000, 30_000, nodes=(NODE,)),
        back(39_890), again(39_900), ack(40_000)],
    "again when its lease ran out, asked for long before": [
        push(), hand_over(1501, asked=0), again(5500), ack(5600)],
    "pushed again after an unknown answer": [
        push(outcome=UNKNOWN), hand_over(1501), ack(1600), push(1700),
        hand_over(2201, lease="2", due=2200), ack(2300)],
    "leaders one after the other": [
        *FIRST, stands_by("n1", 2000), leads("n2", 2, 3000), lease("n2", 2, 3000, 5000), KILL],
    "a lease that its holder gave back": [
        *FIRST, Role("n1", "draining", 2000), KILL, leads("n2", 2, 2001),
        lease("n2", 2, 2001, 5000)],
    "a lease whose holder was killed": [
        *FIRST, Fault("kill", 2000, 2200, dead=("n1",)), leads("n2", 2, 2001),
        lease("n2", 2, 2001, 5000)],
    "a lease whose holder the warden found dead": [
        *FIRST, Role("n1", "offline", 2005, reason="died"), KILL, leads("n2", 2, 2010),
        lease("n2", 2, 2010, 5000)],
    "a lease that got longer": [*FIRST, lease("n1", 1, 500, 3500), lease("n1", 1, 1000, 4000)],
    "an old leader is fenced": [
        *FIRST, KILL, leads("n2", 2, 3000), lease("n2", 2, 3000, 5000),
        fenced("n1", 1, 2, 3100), stands_by("n1", 3101), lease("n2", 2, 3200, 5200)],
    "another ensemble begins anew": [
        leads("n1", 9, 0), stands_by("n1", 1000), KILL, leads("n2", 1, 2100, ensemble="f")],
    "another ensemble, whose name stands before": [
        leads("n1", 9, 0), stands_by("n1", 1000), KILL, leads("n2", 1, 2100, ensemble="d")],
    "fenced by another ensemble, and on with its own token when that was adopted": [
        leads("n1", 1, 0), fenced("n1", 1, 9, 100, ensemble="f"), stands_by("n1", 101),
        leads("n1", 1, 5101), lease("n1", 1, 5101, 6000)],
    "a reply that was on its way while the job was cancelled": ON_ITS_WAY,
    "no change at all": [*FIRST, KILL],
    "a change just after the heal": [leads("n1", 1, 0), KILL, leads("n2", 2, 4199)],
    "a lead that is resumed": [
        *FIRST, Role("n1", "offline", 2000), KILL, leads("n1", 1, 2500),
        lease("n1", 1, 2500, 4000), Role("n1", "offline", 4000), leads("n2", 2, 4000),
        lease("n2", 2, 4000, 5000)],
    "a lease that is written just before the role": [
        lease("n1", 1, 0, 3000), leads("n1", 1, 1), stands_by("n1", 500), KILL,
        leads("n2", 2, 2100), lease("n2", 2, 2100, 4000)],
    "two faults at once, two changes": [
        leads("n1", 1, 0), KILL, Fault("cut", 2100, 2500), leads("n2", 2, 2300),
        leads("n3", 3, 2400)],
}

FLOORED = replace(push(1000.6), due_ms=1500)  # by a node that cuts its clock to whole ms

GUILTY = {
    "a lost push": ("LOST", [push()]),
    "handed over, never acknowledged, gone": ("LOST", [push(), hand_over(1501)]),
    "its ack was refused, and it is gone": ("LOST", [push(), hand_over(1501), ack(1600, REFUSED)]),
    "its cancel was refused, and it is gone": ("LOST", [push(), ack(1200, REFUSED, Cancel)]),
    "TTR 0, never handed over": ("LOST", [push(ttr_ms=0)]),
    "dead without a reason": ("LOST", [push(), hand_over(1501), Rest("a", "")]),
    "nobody pushed it": ("INVENTED", [hand_over(1501), ack(1600)]),
    "a refused push that happened": (
        "INVENTED", [push(outcome=REFUSED), hand_over(1501), ack(1600)]),
    "in the store, never pushed": ("INVENTED", [Rest("a", "tries")]),
    "a millisecond early": ("EARLY", [push(), hand_over(1499), ack(1600)]),
    "early by what its push was told": (
        "EARLY", [push(), hand_over(1499, due=1400), ack(1600)]),
    "early, and another push of it was refused": (
        "EARLY", [push(900, REFUSED), push(), hand_over(1499, due=1400), ack(1600)]),
    "early, and pushed again afterwards": (
        "EARLY", [push(), hand_over(1499, due=1400), ack(1600), push(1700, UNKNOWN)]),
    "early by the clock of its producer alone": (
        "EARLY", [FLOORED, hand_over(1500.5, due=1500), ack(1600)]),
    "the same of the later of its hand-overs": (
        "EARLY", [replace(FLOORED, ttr_ms=0.1), hand_over(1500.4, due=1500, asked=1000.7),
                  again(1500.5, due=1500), ack(1600)]),
    "the same, and pushed again later": (
        "EARLY", [replace(FLOORED, outcome=UNKNOWN), push(1100, UNKNOWN),
                  hand_over(1500.5, due=1500), ack(1600)]),
    "TTR 0 and early, in a fault": (
        "EARLY", [push(1500, ttr_ms=0), hand_over(1999, due=2000), KILL]),
    "early by Redis's clock alone": ("EARLY", [push(), hand_over(1501, redis=1499), ack(1600)]),
    "twice within its lease": ("TWICE", [push(), hand_over(1501), again(3000), ack(3100)]),
    "twice, and its release was refused": (
        "TWICE", [push(), hand_over(1501), ack(1600, REFUSED, Release), again(1700), ack(1800)]),
    "twice, released before": (
        "TWICE", [push(), ack(1400, kind=Release), hand_over(1501), again(1700), ack(1800)]),
    "twice, and there is no lease to run out": (
        "TWICE", [push(ttr_ms=0), hand_over(1501), again(9000)]),
    "twice, and the fault was over before": (
        "TWICE", [Fault("kill", 500, 600), push(ttr_ms=60000), hand_over(1501), back(6990),
                  again(7000), ack(7100)]),
    "twice, and the fault came when the first was long confirmed": (
        "TWICE", [push(ttr_ms=60000), hand_over(1501), Fault("kill", 12_000, 12_200),
                  back(12_990), again(13_000), ack(13_100)]),
    "twice, and the TTR was over since it was asked for alone": (
        "TWICE", [push(), hand_over(1501, asked=0), again(5498), ack(5600)]),
    "twice, and the fault was another node's": (
        "TWICE", [push(ttr_ms=60000), hand_over(1990), KILL_THERE, back(6990), again(6995),
                  ack(7100)]),
    "twice, and the fault was over when it became due": (
        "TWICE", [Fault("kill", 500, 1400, nodes=(NODE,)), push(ttr_ms=60000),
                  hand_over(1501, asked=1300), back(6990), again(7000), ack(7100)]),
    "twice, so late that nothing unconfirmed was held any more": (
        "TWICE", [push(ttr_ms=60000), hand_over(1990), KILL_HERE, back(16_990),
                  again(16_991), ack(17_000)]),
    "twice, and what was unconfirmed is held since it was due": (
        "TWICE", [push(ttr_ms=60000), hand_over(2100, due=2099, asked=100), KILL_HERE,
                  back(6097), again(6098), ack(7100)]),
    "twice, unconfirmed, and by no line was it taken back": (
        "TWICE", [push(ttr_ms=60000), hand_over(1990), KILL_HERE, again(6995), ack(7100)]),
    "twice, unconfirmed, and it was taken back before": (
        "TWICE", [push(ttr_ms=60000), back(1400), hand_over(1990), KILL_HERE, again(6995),
                  ack(7100)]),
    "twice, unconfirmed, and it was taken back behind that": (
        "TWICE", [push(ttr_ms=60000), hand_over(1990), KILL_HERE, again(6995), back(7046),
                  ack(7100)]),
    "twice, and long before the fault it was confirmed": (
        "TWICE", [push(ttr_ms=60000), hand_over(1700), KILL_HERE, sent(1799), back(6990),
                  again(6995), ack(7100)]),
    "twice, and long after the fault was made it was confirmed": (
        "TWICE", [push(ttr_ms=60000), hand_over(1990), KILL_HERE, sent(2201), back(6990),
                  again(6995), ack(7100)]),
    "twice with one lease": (
        "TWICE", [push(), hand_over(1501), hand_over(5600), ack(5700)]),
    "twice too soon after a fault": (
        "TWICE", [push(ttr_ms=60000), hand_over(1990), KILL, back(3999), again(4000), ack(4100)]),
    "after its ack": ("RETURNED", [push(), hand_over(1501), ack(1600), again(6000), ack(6100)]),
    "its reply was on its way for too long": (
        "RETURNED", [push(), hand_over(2501, asked=1000), sent(1502), ack(1500, kind=Cancel)]),
    "its reply was on its way, and by no line had its consumer it before": (
        "RETURNED", [push(), hand_over(1900, asked=1000), ack(1600, kind=Cancel)]),
    "its reply was on its way, and by the history only since then": (
        "RETURNED", [push(), hand_over(1900, asked=1000), sent(1751), ack(1600, kind=Cancel)]),
    "twice, and it was held for less than that": (
        "TWICE", [push(ttr_ms=60000), hand_over(1990), KILL_HERE, back(6780), again(6789),
                  ack(7100)]),
    "after its cancel": ("RETURNED", [push(), ack(1200, kind=Cancel), hand_over(1501)]),
    "acknowledged, and still in the store": (
        "RETURNED", [push(), hand_over(1501), ack(1600), Rest("a", "tries")]),
    "two leases that overlap by a millisecond": ("TWO_LEADERS", [
        *FIRST, KILL, leads("n2", 2, 2999), lease("n2", 2, 2999, 5000)]),
    "a lease within another": ("TWO_LEADERS", [
        *FIRST, KILL, leads("n2", 2, 2000), lease("n2", 2, 2000, 2100)]),
    "one node with two tokens at once": ("TWO_LEADERS", [
        lease("n1", 1, 0, 3000), lease("n1", 2, 2000, 4000)]),
    "a lease that got longer and then overlaps": ("TWO_LEADERS", [
        *FIRST, lease("n1", 1, 1000, 4000), KILL, leads("n2", 2, 3500),
        lease("n2", 2, 3500, 5000)]),
    "another node was killed, not the holder": ("TWO_LEADERS", [
        *FIRST, Fault("kill", 2000, 2200, dead=("n3",)), leads("n2", 2, 2001),
        lease("n2", 2, 2001, 5000)]),
    "the holder was killed before it led": ("TWO_LEADERS", [
        Fault("kill", 100, 200, dead=("n1",)), leads("n1", 1, 500), lease("n1", 1, 500, 3000),
        KILL, leads("n2", 2, 2001), lease("n2", 2, 2001, 5000)]),
    "only another's reign is over": ("TWO_LEADERS", [
        leads("n2", 1, 0), stands_by("n2", 500), leads("n1", 2, 400), lease("n1", 2, 400, 3000),
        leads("n3", 3, 600), lease("n3", 3, 600, 900)]),
    "killed only after the other leads": ("TWO_LEADERS", [
        *FIRST, leads("n2", 2, 1900), lease("n2", 2, 1900, 5000),
        Fault("kill", 2000, 2200, dead=("n1",))]),
    "a token goes back": ("TOKEN_BACK", [
        leads("n1", 2, 0), stands_by("n1", 1000), KILL, leads("n2", 1, 2100)]),
    "a token is given twice": ("TOKEN_BACK", [
        leads("n1", 1, 0), stands_by("n1", 1000), KILL, leads("n2", 1, 2100)]),
    "a lead that is resumed too late": ("TOKEN_BACK", [
        *FIRST, Role("n1", "offline", 1000), KILL, leads("n2", 2, 2100), leads("n1", 1, 2200)]),
    "a lead that is resumed while another leads": ("TWO_LEADERS", [
        *FIRST, Role("n1", "offline", 1000), KILL, leads("n2", 2, 2100),
        lease("n2", 2, 2100, 4000), leads("n1", 1, 2200), lease("n1", 1, 2200, 3000)]),
    "a lease of an older token gets longer": ("TOKEN_BACK", [
        *FIRST, stands_by("n1", 1000), KILL, leads("n2", 2, 2100), lease("n1", 1, 2200, 2300)]),
    "the leader is fenced": ("FENCED", [*FIRST, KILL, leads("n2", 2, 3000),
                                        fenced("n2", 2, 1, 3100)]),
    "fenced for a token that nobody had": ("FENCED", [*FIRST, fenced("n1", 1, 7, 100)]),
    "fenced, and it goes on": ("FENCED", [
        *FIRST, KILL, leads("n2", 2, 3000), fenced("n1", 1, 2, 3100),
        lease("n1", 1, 3200, 3300)]),
    "nobody leads when all is healed": ("NO_LEADER", [*FIRST, KILL, stands_by("n1", 2100)]),
    "the last leader was killed": ("NO_LEADER", [
        *FIRST, Fault("kill", 2000, 2200, dead=("n1",))]),
    "a change without a fault": ("STORM", [leads("n1", 1, 0), leads("n2", 2, 500)]),
    "two changes for one fault": ("STORM", [
        leads("n1", 1, 0), KILL, leads("n2", 2, 2100), leads("n1", 3, 9000)]),
    "two changes for one fault, and none for the one before": ("STORM", [
        leads("n1", 1, 0), KILL, Fault("cut", 8000, 8200), leads("n2", 2, 8100),
        leads("n1", 3, 9000)]),
    "a change long after the heal": ("STORM", [leads("n1", 1, 0), KILL, leads("n2", 2, 4200)]),
    "a change long after the heal, before another fault": ("STORM", [
        leads("n1", 1, 0), KILL, leads("n2", 2, 4200), Fault("cut", 9000, 9200)]),
    "a client that is not known any more": ("DENIED", [FIRST[0], Denied("n1", 2100, "unauthorized")]),
    "a change for a fault that explains none": ("STORM", [
        leads("n1", 1, 0), Fault("busy", 2000, 2200, changes=0), leads("n2", 2, 2100)]),
}


@pytest.mark.parametrize("events", INNOCENT.values(), ids=INNOCENT)
def test_acquits(events):
    assert rules(*events) == []


@pytest.mark.parametrize("rule, events", GUILTY.values(), ids=GUILTY)
def test_convicts(rule, events):
    assert rule in rules(*events)


def ends(node, reason, at, role="offline"):
    return Role(node, role, at, reason=reason)


def stall(node, until, ms, is_last=False):
    """By its log: it stood still, and until then."""
    return Stall(node, until, ms, is_last)


ONE, TWO = leads("n1", 1, 0), leads("n2", 2, 9000)
OVER = lease("n1", 1, 0, 8990)
OF_OTHER = Fault("another node joins", 8000, 9500, changes=0, deposes=("x1",))

BY_THE_MACHINE = {
    "its lease was over": (1, [ONE, OVER, ends("n1", "lease_over", 8990), TWO]),
    "twice": (2, [ONE, OVER, ends("n1", "lease_over", 8990), TWO, lease("n2", 2, 9000, 9500),
                  ends("n2", "lease_over", 9500), leads("n1", 3, 9600)]),
    "it had resumed before": (1, [ONE, ends("n1", "disconnected", 5000), leads("n1", 1, 5100), OVER,
                                  ends("n1", "lease_over", 8990), TWO]),
    "it saw that 500 ms late": (1, [ONE, replace(OVER, until_ms=8490),
                                    ends("n1", "lease_over", 8990), TWO]),
    "it slept until its session had ended": (
        1, [ONE, TWO, stall("n1", 9400, 4000), ends("n1", "deposed", 9401, "standby")]),
    "it slept, and its lease was over meanwhile": (
        1, [ONE, TWO, stall("n1", 9400, 4000), ends("n1", "lease_over", 9401)]),
    "it slept, and lost its session when it woke": (
        1, [ONE, stall("n1", 8500, 4000), ends("n1", "expired", 8501), TWO]),
    "a fault that deposes others": (1, [ONE, OF_OTHER, OVER, ends("n1", "lease_over", 8990), TWO]),
    "the same, that explains a change of others": (
        1, [ONE, replace(OF_OTHER, changes=1), OVER, ends("n1", "lease_over", 8990), TWO]),
    "the same, beside the change that it may cause": (
        1, [leads("x1", 1, 0), replace(OF_OTHER, changes=1), ends("x1", "switchover", 8100),
            leads("n1", 2, 8200), lease("n1", 2, 8200, 8990), ends("n1", "lease_over", 8990),
            leads("n2", 3, 9000)]),
    "it hung until its warden ended it": (
        1, [ONE, stall("n1", 8500, 1200, is_last=True), stall("n3", 8000, 600),
            ends("n1", "died", 8501), TWO]),
    "long after the heal": (1, [ONE, KILL, OVER, ends("n1", "lease_over", 8990), TWO]),
}

NOT_BY_THE_MACHINE = {
    "it wrote no lease": [ONE, ends("n1", "lease_over", 8990), TWO],
    "its lease was not over": [ONE, replace(OVER, until_ms=9490), ends("n1", "lease_over", 8990),
                               TWO],
    "its lease was over long before": [ONE, replace(OVER, until_ms=8489),
                                       ends("n1", "lease_over", 8990), TWO],
    "the lease of another token": [ONE, lease("n1", 2, 0, 8990), ends("n1", "lease_over", 8990), TWO],
    "it slept when its session had ended": [ONE, ends("n1", "expired", 8500), TWO,
                                            stall("n1", 9400, 500)],
    "it slept for too short a time to say so": [ONE, stall("n1", 8600, 499),
                                                ends("n1", "expired", 8601), TWO],
    "no reason": [ONE, TWO],
    "another reason": [ONE, ends("n1", "preferred", 8990, "draining"), TWO],
    "its worker has died": [ONE, ends("n1", "died", 8990), TWO],
    "its worker slept, and died": [ONE, stall("n1", 8500, 1200), ends("n1", "died", 8501), TWO],
    "its worker hung, and is said to have lost its session": [
        ONE, stall("n1", 8500, 1200, is_last=True), stall("n3", 8000, 600),
        ends("n1", "expired", 8501), TWO],
    "its worker hung, and nothing else stood still": [
        ONE, stall("n1", 8500, 1200, is_last=True), stall("n3", 7300, 600),
        ends("n1", "died", 8501), TWO],
    "two workers hung": [
        ONE, *(stall(name, 8500, 1200, is_last=True) for name in ("n1", "n3")),
        ends("n1", "died", 8501), TWO],
    "of another node": [ONE, stands_by("n1", 8990), ends("n3", "lease_over", 8991), TWO],
    "of its successor": [ONE, OVER, stands_by("n1", 8990), ends("n2", "lease_over", 8991), TWO],
    "of another time, and it led again": [ONE, ends("n1", "lease_over", 5000), leads("n1", 1, 5100),
                                          ends("n1", "deposed", 8990, "standby"), TWO],
    "of a reign that was over": [ONE, ends("n1", "lease_over", 5000), TWO,
                                 leads("n3", 3, 9900)],
    "only when another led": [ONE, TWO, ends("n1", "lease_over", 9001)],
    "in a fault, and the change is of after it": [
        ONE, KILL, lease("n1", 1, 0, 2100), ends("n1", "lease_over", 2100), TWO],
    "in a fault that may depose anybody": [
        ONE, OVER, Fault("busy", 8000, 9500, changes=0), ends("n1", "lease_over", 8990), TWO],
    "in a fault that deposes it": [
        ONE, OVER, replace(OF_OTHER, deposes=("n1",)), ends("n1", "lease_over", 8990), TWO],
    "in two faults at once": [ONE, OVER, OF_OTHER, Fault("busy", 8100, 8200, changes=0),
                              ends("n1", "lease_over", 8990), TWO],
    "in two that depose some": [ONE, OVER, OF_OTHER, Fault("b", 8100, 8200, changes=0, deposes=("n1",)),
                                ends("n1", "lease_over", 8990), TWO],
    "another slept": [ONE, TWO, stall("n2", 9400, 4000), ends("n1", "deposed", 9401, "standby")],
    "it slept long before": [ONE, stall("n1", 7400, 4000), ends("n1", "expired", 8501), TWO],
    "it slept only afterwards": [
        ONE, ends("n1", "expired", 8501), TWO, stall("n1", 19_001, 10_000)],
    "it was killed, and says so of its next life": [
        ONE, replace(OF_OTHER, dead=("n1",)), ends("n1", "lease_over", 8600), TWO],
    "it slept in a fault": [ONE, KILL, stall("n1", 8501, 4302), ends("n1", "expired", 8502), TWO],
    "it slept, and gave the lead away": [
        ONE, stall("n1", 8500, 4000), ends("n1", "switchover", 8501, "draining"), TWO],
    "it slept, and says nothing of its role": [ONE, stall("n1", 8500, 4000), TWO],
}


@pytest.mark.parametrize("count, events", BY_THE_MACHINE.values(), ids=BY_THE_MACHINE)
def test_a_change_that_the_machine_explains_is_counted(count, events):
    found = verdict(*events)
    assert (found.violations, found.explained) == ([], {"STORM": count})


@pytest.mark.parametrize("events", NOT_BY_THE_MACHINE.values(), ids=NOT_BY_THE_MACHINE)
def test_a_change_that_nothing_shows_to_be_the_machines_is_a_storm(events):
    assert rules(*events) == ["STORM"]


def test_a_change_that_a_fault_may_cause_needs_no_excuse():
    fault = replace(OF_OTHER, changes=1, deposes=("n1",))
    found = verdict(ONE, fault, OVER, ends("n1", "lease_over", 8990), TWO)
    assert (found.violations, found.explained) == ([], {})


def test_a_fault_that_deposes_one_explains_no_change_of_another():
    assert rules(ONE, replace(OF_OTHER, changes=1), ends("n1", "switchover", 8990), TWO) == ["STORM"]


@pytest.mark.parametrize("changes, rounds, is_storm", [(2, 0, False), (3, 0, True), (3, 20, False),
                                                       (4, 20, True)])
def test_the_machine_explains_few_changes(changes, rounds, is_storm):
    events = [ONE]
    for number in range(1, changes + 1):
        node, until = f"n{number}", number * 10_000
        events += [lease(node, number, until - 9000, until), ends(node, "lease_over", until),
                   leads(f"n{number + 1}", number + 1, until + 10)]
    since = (changes + 1) * 10_000
    events += [Fault("x", since + 100 * each, since + 100 * each + 1, changes=0, deposes=("x1",))
               for each in range(rounds)]
    assert rules(*events, limits=LATE) == (["STORM"] if is_storm else [])
    assert not rules(*events), "how busy a machine is, CI does not judge"


def test_an_excuse_is_for_one_change():
    found = verdict(ONE, OVER, ends("n1", "lease_over", 8990), TWO, stands_by("n2", 9100),
                    leads("n3", 3, 9200))
    assert [each.rule for each in found.violations] == ["STORM"]
    assert "1 allowed, 1 more by the machine" in found.violations[0].why
    assert "n1 from 0 until 8990 (lease_over), n2 from" in found.violations[0].why


@pytest.mark.parametrize("round_trip_ms, expected", [(0, ["RETURNED"]), (75, []), (74, ["RETURNED"])])
def test_a_slow_network_may_bring_what_was_done_meanwhile(round_trip_ms, expected):
    journal = Journal()
    journal.add(push(), hand_over(2100, asked=1000), sent(2050), ack(1600, kind=Cancel))
    found = judge(journal, round_trip_ms=round_trip_ms)
    assert [each.rule for each in found.violations] == expected


def due(number, late_ms, at):
    """A job that is due `at` and late."""
    id = f"job-{number}"
    return [push(at - 500, id=id), hand_over(at + late_ms, due=at, id=id),
            ack(at + late_ms + 10, id=id)]


OUTAGE = Fault("kill", 10_000, 20_000, served_ms=11_000)


@pytest.mark.parametrize("events, expected", [
    ([*due(1, 1400, 10_050)], []),                # 450 ms after the outage
    ([*due(1, 1600, 10_050)], ["LATE"]),          # 650 ms
    ([*due(1, 1600, 9_900)], []),                 # due just before, not moved yet
    ([*due(1, 2900, 4_900), Fault("short", 4_950, 7_400, 5_500)], ["LATE"]),  # nobody knows why
    ([*due(1, 600, 15_000)], ["LATE"]),           # of the same fault, but served again
    ([*due(1, 1400, 10_050), Fault("before", 9_900, 9_950)], []),  # the later fault counts
    ([push(4_500, id="b"), hand_over(5_040, due=5_000, id="b"),  # the first counts
      hand_over(9_900, lease="2", due=5_000, id="b"), ack(9_910, id="b")], []),
    ([*due(1, 5100, 31_100), Fault("long", 30_000, 31_000)], ["LATE"]),  # due when it was over
    ([push(4_500), again(9_000, due=5_000), ack(9_100)], []),  # nobody saw the first hand-over
    ([push(4_500), replace(hand_over(9_000, due=5_000), delay_ms=0),  # no scanner moved it
      ack(9_100)], []),
    ([push(4_500), replace(hand_over(9_000, due=5_000), redis_ms=None), ack(9_100)], []),
    ([*due(1, 40, 5_000)], []),
    ([*due(1, 60, 5_000)], []),                   # too few for a p99
    ([each for number in range(100) for each in due(number, 60, 5_000 + number)], ["LATE"]),
    ([each for number in range(200) for each in due(number, 10, 5_000 + number)]
     + due(200, 60, 6_000), []),                  # one in two hundred
])
def test_lateness(events, expected):
    assert rules(*events, OUTAGE, limits=LATE) == expected
    assert rules(*events, OUTAGE) == [], "nothing fails by the clock where no limits are given"


def moves(node, at, bucket="b1", id="a"):
    return Move(bucket, id, node, at)


# Of the outage from 10,000 to 11,000: job-1 is due in it, moved in time, and later than a tick.
NO_ANSWER = Unanswered(NODE, 10_100, 11_200, count=2)
BACK = TakenBack("job-1", "n1", 16_000)
MOVED = moves("n1", 11_050, id="job-1")
LED = [leads("n1", 1, 0), lease("n1", 1, 0, 99_000)]


UNDER_WAY = [push(9_490, id="b"), hand_over(20_100, due=9_990, asked=9_900, id="b"),
             ack(20_200, id="b"), moves("n1", 9_995, id="b")]  # to a pop of before the fault


@pytest.mark.parametrize("events", [
    [*due(1, 6100, 10_050), MOVED, BACK, NO_ANSWER],
    [*due(1, 6450, 10_050), MOVED, BACK, NO_ANSWER],
    [*due(1, 6950, 10_050), MOVED, replace(BACK, boot_ms=16_500), NO_ANSWER], UNDER_WAY])
def test_lateness_behind_an_outage_is_excused_by_evidence_and_counted(events):
    fault = replace(OUTAGE, nodes=("n1", NODE))
    found = verdict(fault, *LED, *events, limits=LATE)
    assert (found.violations, found.explained) == ([], {"UNDELIVERED": 1})


def test_a_node_that_stood_still_writes_with_the_time_of_before():
    """It gave the job back when it went on, and then a consumer asked for it."""
    fault = replace(OUTAGE, nodes=("n1", NODE), struck_ms=10_080)
    events = [*LED, *due(1, 6440, 10_050), moves("n1", 10_060, id="job-1"),
              replace(NO_ANSWER, asked_ms=10_000)]
    line = replace(BACK, boot_ms=10_100, has_left=True)
    found = verdict(fault, *events, line, limits=LATE)
    assert (found.violations, found.explained) == ([], {"UNDELIVERED": 1})
    for other in (replace(line, has_left=False), replace(line, node="n2"),
                  replace(line, boot_ms=10_700)):
        assert rules(fault, *events, other, limits=LATE) == ["LATE"]
    assert rules(replace(fault, end_ms=15_000), *events, line, limits=LATE) == ["LATE"]


# Of the same job: consumers waited for answers to their acks.
SLOW = Ack("other", 10_900, 16_300, UNKNOWN)


def test_a_job_that_no_consumer_asked_for_is_counted_apart():
    found = verdict(OUTAGE, *LED, *due(1, 6440, 10_050), MOVED, SLOW, limits=LATE)
    assert (found.violations, found.explained) == ([], {"UNASKED": 1})


@pytest.mark.parametrize("events", [
    [MOVED, replace(SLOW, ended_ms=11_300)],                     # no ack was slow
    [MOVED, replace(SLOW, sent_ms=9_000, ended_ms=11_049)],      # nor when it was ready
    [MOVED, SLOW, Empty(NODE, 11_000, 11_100)],                  # one went away without it
    [MOVED, SLOW, Unanswered(NODE, 11_000, 11_600, count=2)],    # one waited
    [MOVED, SLOW, push(9_000, id="b"), hand_over(11_600, asked=11_000, due=9_500, id="b"),
     ack(11_610, id="b")],
    [MOVED, SLOW, push(9_600, id="b"), moves("n1", 11_060, id="b"),          # a later one came first
     hand_over(12_000, asked=11_900, due=10_100, id="b"), ack(12_010, id="b")],
    [SLOW]])
def test_a_job_that_a_consumer_asked_for_is_late(events):
    assert "LATE" in rules(OUTAGE, *LED, *due(1, 6440, 10_050), *events, limits=LATE)


@pytest.mark.parametrize("events, expected", [([], ["LATE"]), ([OUTAGE], [])])
def test_slow_acks_of_no_fault_excuse_nothing(events, expected):
    late = [*due(1, 6000, 21_600), moves("n1", 21_700, id="job-1"),
            replace(SLOW, sent_ms=19_900, ended_ms=27_400)]
    assert rules(*LED, *late, *events, limits=LATE) == expected


def test_a_pop_that_waits_for_a_ready_job_is_late():
    slow_pop = [push(9_550, id="job-1"), hand_over(16_490, asked=15_900, due=10_050, id="job-1"),
                ack(16_500, id="job-1")]
    assert rules(OUTAGE, *LED, *slow_pop, MOVED, SLOW, limits=LATE) == ["LATE"]


@pytest.mark.parametrize("events", [
    [MOVED, NO_ANSWER],                                      # ready, and no consumer was sent it
    [MOVED, BACK],                                           # no pop was without an answer
    [MOVED, BACK, replace(NO_ANSWER, node=OTHER)],
    [MOVED, BACK, replace(NO_ANSWER, asked_ms=20_001, ended_ms=20_100)],   # long after the fault
    [MOVED, BACK, replace(NO_ANSWER, asked_ms=16_051, ended_ms=16_060)],   # when it was back
    [replace(MOVED, boot_ms=20_001), BACK, NO_ANSWER],       # moved when the fault was over
    [moves("n1", 11_501, id="job-1"), BACK, NO_ANSWER],      # a scan that has left it
    [BACK, NO_ANSWER],                                       # by no line was it ready
    [MOVED, BACK, replace(BACK, boot_ms=16_010), replace(NO_ANSWER, count=1)],
])
def test_a_node_that_holds_jobs_back_in_a_fault_is_seen(events):
    fault = replace(OUTAGE, nodes=("n1", NODE))
    assert rules(fault, *LED, *due(1, 6440, 10_050), *events, limits=LATE) == ["LATE"]


@pytest.mark.parametrize("fault, events", [
    (replace(OUTAGE, nodes=("n2", OTHER)), UNDER_WAY), (replace(OUTAGE, end_ms=19_599), UNDER_WAY),
    (replace(OUTAGE, start_ms=9_800, struck_ms=9_899), UNDER_WAY), (OUTAGE, UNDER_WAY[:-1]),
    (OUTAGE, [*due(1, 6451, 10_050), MOVED, BACK, NO_ANSWER]),             # ready, and not had
    (OUTAGE, [*due(1, 6460, 10_050), MOVED, replace(BACK, boot_ms=16_501), NO_ANSWER])])  # held
def test_what_was_not_under_way_in_a_fault_is_late(fault, events):
    assert rules(fault, *LED, *events, limits=LATE) == ["LATE"]


def test_five_hundred_late_jobs_are_not_excused_by_a_pop_that_asked_for_two():
    late = [event for number in range(500) for event in (
        *due(number, 6100, 10_050), moves("n1", 11_050, id=f"job-{number}"),
        TakenBack(f"job-{number}", "n1", 16_000))]
    found = verdict(OUTAGE, *LED, *late, NO_ANSWER, limits=LATE)
    assert (len(found.violations), found.explained) == (498, {"UNDELIVERED": 2})


def test_where_all_nodes_scan_nothing_excuses_a_move_that_is_late():
    locked = LockedMove(("r", 1, 1), "b1", "t", "job-1", "n1", 11_550, due_ms=10_050,
                        boot_ms=11_550)
    assert rules(OUTAGE, *LED, *due(1, 1700, 10_050), locked, BACK, NO_ANSWER,
                 limits=LATE) == ["LATE"]


CHANGE = [leads("n1", 1, 0), lease("n1", 1, 0, 5500), stands_by("n1", 5000), leads("n2", 2, 6000),
          lease("n2", 2, 6000, 9000), Fault("kill", 4900, 6100)]
DUE = push(4_000)  # at 4,500, and so while n1 has its lease


@pytest.mark.parametrize("events, expected", [
    ([moves("n1", 10), moves("n1", 5000), moves("n2", 6001)], []),
    ([moves("n1", 10), moves("n1", 5503), moves("n2", 6200)], []),     # not fenced there yet
    ([moves("n1", 10), moves("n1", 5504), moves("n2", 6200)], ["DEPOSED"]),  # sent without a lease
    ([moves("n1", 10), moves("n1", 6100)], ["DEPOSED"]),               # nobody has moved there yet
    ([moves("n1", 10), moves("n1", 5500, bucket="b2")], []),
    ([moves("n2", 9503)], []),
    ([moves("n2", 9504)], ["DEPOSED"]),                                # its own lease ran out
    ([moves("n2", 6001), moves("n1", 6001)], ["DEPOSED"]),
    ([moves("n2", 6001), moves("n1", 5503, bucket="b2")], []),
    ([moves("n2", 6001), moves("n1", 6001, bucket="b2")], ["DEPOSED"]),
    ([moves("n2", 10)], ["DEPOSED"]),                                  # before it led
    ([moves("n2", 5998)], []),                                         # clocks
    ([moves("x1", 10)], ["DEPOSED"]),                                  # never a leader
    ([moves("n2", 6001), moves("n1", 9001), leads("n1", 3, 9000), lease("n1", 3, 9000, 9900),
      stands_by("n2", 8000), Fault("kill", 7900, 9100)], []),
    ([moves("n2", 6001), moves("n1", 9001), leads("n1", 3, 9000), stands_by("n2", 8000),
      Fault("kill", 7900, 9100)], ["DEPOSED"]),                        # it leads, without a lease
    ([moves("n2", 6001), moves("n1", 8000), leads("n1", 3, 9000), lease("n1", 3, 9000, 9900),
      stands_by("n2", 8500), Fault("kill", 8400, 9100)], ["DEPOSED"]),
])
def test_a_deposed_leader_has_no_effect(events, expected):
    assert set(rules(*CHANGE, DUE, *events)) - {"LOST"} == set(expected)
    assert rules(*(each for each in events if isinstance(each, Move))) == [], "nobody is elected"


def test_who_is_killed_moves_until_the_fault_is_made():
    killed = replace(KILL, struck_ms=2100, dead=("n1",))
    reign = [leads("n1", 1, 0), lease("n1", 1, 0, 4000), killed, leads("n2", 2, 3000),
             lease("n2", 2, 3000, 5000)]
    life = [push(), hand_over(2700), ack(2800)]
    assert verdict(*reign, *life, moves("n1", 2100)).explained == {}
    assert verdict(*reign, *life, moves("n1", 2104)).explained == {"DEPOSED": 1}
    assert rules(*reign, *life, moves("n1", 2604)) == ["DEPOSED"]


def test_moves_behind_a_lease_are_counted():
    found = verdict(*CHANGE, push(4_000), hand_over(6_100, due=4_500), ack(6_200),
                    moves("n1", 5000), moves("n1", 5400), moves("n2", 6001))
    assert (found.violations, found.explained) == ([], {"DEPOSED": 1})


AT_MS = 5200  # 200 ms after n1's lease, which ended at 5000


@pytest.mark.parametrize("due_ms, events, count", [
    (4500, [moves("n1", AT_MS)], 0),
    (4500, [moves("n1", AT_MS), moves("n1", AT_MS, id="b")], 0),          # one scan, two jobs
    (4500, [moves("n1", AT_MS), moves("n1", AT_MS + 1, bucket="b2")], 0),  # one scan in each bucket
    (4500, [moves("n1", AT_MS), moves("n1", AT_MS + 1, id="b")], 1),      # sent behind it
    (4500, [moves("n1", AT_MS + number, id="b") for number in range(100)], 100),
    (5049, [moves("n1", AT_MS)], 0),                                      # by the node's estimate
    (5051, [moves("n1", AT_MS)], 1),                                      # nothing to send for
    (4500, [moves("n1", AT_MS, id="b")], 1),                              # not of what was due
])
def test_one_scan_of_a_bucket_can_be_behind_its_lease(due_ms, events, count):
    """A deposed leader that goes on, for less than half a second."""
    later = push(4_990, delay_ms=1_000, id="b")
    found = verdict(*CHANGE, push(due_ms - 500), later, *events)
    assert sum(each.rule == "DEPOSED" for each in found.violations) == count
    assert found.explained["DEPOSED"] == len(events) - count


@pytest.mark.parametrize("at_ms, lines_ms, is_wrong", [
    (5862, [4990, 5860], False),                                  # Redis stood still in between
    (5862, range(4990, 5862, 150), True),                         # it did not
    (5862, [4990, 5300, 5499, 5698, 5860], True),                 # not for all of that time
    (8490, [4990, 8490], False), (9490, [4990, 9490], True)])     # it has an end
def test_what_was_sent_within_a_lease_may_wait_for_a_redis_that_stands_still(at_ms, lines_ms, is_wrong):
    lines = [Entry("x", 3, "n9", "", each) for each in lines_ms]
    found = verdict(leads("n1", 1, 0), lease("n1", 1, 0, 5000), leads("n1", 1, 9600),
                    lease("n1", 1, 9600, 12_000), push(4_000), moves("n1", at_ms), *lines)
    assert ("DEPOSED" in {each.rule for each in found.violations}) == is_wrong


def test_of_what_came_twice_all_is_told_that_is_known():
    found = verdict(push(), moves("n1", 1500), hand_over(1501),
                    Entry("a", 3, "n1", "http 10.0.0.9:5", 1600), ack(1700, UNKNOWN), again(3000),
                    ack(3100), Entry("a", 8, "n2", "", 3090), *due(1, 40, 5_000), Fault("cut", 1550, 2000), leads("n2", 2, 2000))
    (text,) = [line for line in found.lines() if line.startswith("TWICE")]
    assert [line.split(maxsplit=1)[1] for line in text.splitlines()[1:]] == [
        "push to t, delay 500, TTR 4000", "push answered ok, due 1500",
        f"pop sent to {NODE}, which is to bring it", f"received from {NODE}, lease 1, attempt 1",
        "fault begins: cut", "history: delivered by n1, client http 10.0.0.9:5", "ack sent",
        "ack answered unknown", "fault is over: cut", "n2 is leader",
        f"pop sent to {NODE}, which is to bring it", f"received from {NODE}, lease 2, attempt 2",
        "ack sent", "history: acked by n2", "ack answered ok"]


def test_of_what_nobody_had_the_pops_without_an_answer_are_told():
    pops = [Unanswered(NODE, 1900, 3900, 4), Unanswered(OTHER, 4500, 5000, 4)]
    (text,) = [line for line in verdict(push(), *pops, Fault("cut", 900, 2000)).lines()
               if line.startswith("LOST")]
    assert [line.split(maxsplit=1)[1] for line in text.splitlines()[1:]] == [
        "fault begins: cut", "push to t, delay 500, TTR 4000", "push answered ok, due 1500",
        f"pop sent to {NODE}, which had no answer", "fault is over: cut",
        f"end of a pop sent to {NODE}, which had no answer"]


def test_second_hand_overs_that_a_fault_alone_explains_are_counted():
    """Not those that were free again anyway."""
    unconfirmed = [push(ttr_ms=60000), hand_over(1990), back(6990), again(6995), ack(7100)]
    assert verdict(*unconfirmed, KILL_HERE).explained == {"UNCONFIRMED": 1}
    assert verdict(*unconfirmed, KILL_HERE, ack(2100, kind=Release)).explained == {}
    assert verdict(push(), *unconfirmed[1:], KILL_HERE).explained == {}, "its TTR was over"


def test_who_has_left_in_a_fault_has_its_job_handed_over_again_at_once():
    cut = Fault("cut", 1900, 5000, struck_ms=1950, nodes=("n1", NODE))
    events = [push(ttr_ms=60000), hand_over(1990), again(3995), ack(4100)]
    left = TakenBack("a", "n1", 3990, has_left=True)
    assert verdict(*events, left, cut).explained == {"UNCONFIRMED": 1}
    assert rules(*events, replace(left, has_left=False), cut) == ["TWICE"], "it was held"
    assert rules(*events, left, Delivered("a", NODE, 2500), replace(cut, nodes=("n2", OTHER))) == [
        "TWICE"], "and it was not this node's fault"


def test_a_line_that_seems_late_is_the_seconds_where_that_consumer_may_have_left():
    cut = Fault("cut", 1900, 5000, struck_ms=1950, nodes=("n1", NODE))
    events = [push(ttr_ms=60000), hand_over(1990), again(3995), ack(4100), cut]
    left = TakenBack("a", "n1", 4025, has_left=True)
    assert rules(*events, left) == ["TWICE"]
    assert verdict(*events, left, replace(left, boot_ms=4030)).explained == {"UNCONFIRMED": 1}


def test_the_seconds_own_confirmation_does_not_convict():
    events = [push(ttr_ms=60000), hand_over(1990), KILL_HERE, again(6995), sent(7000), ack(7100)]
    assert verdict(*events, back(7035)).explained == {"UNCONFIRMED": 1}


def test_a_confirmation_that_a_later_fault_kept_from_redis_is_none():
    events = [push(ttr_ms=0), hand_over(1990), back(10_990), again(10_995), ack(11_100),
              Delivered("a", NODE, 8000), Fault("cut", 1900, 7000, struck_ms=1950, nodes=("n1", NODE))]
    later = Fault("redis", 7100, 9000, struck_ms=7150, nodes=("n1", NODE))
    assert verdict(*events, later).explained == {"UNCONFIRMED": 1}
    assert rules(*events, replace(later, nodes=("n2", OTHER))) == ["TWICE"]
    assert rules(*events, replace(later, end_ms=7900)) == ["TWICE"]
    assert rules(*events, replace(later, nodes=None)) == ["TWICE"], "whoever it hit"


# ---- jobs without a TTR, on their way in a fault ----

CUT = Fault("cut", 2000, 9000, struck_ms=2100, nodes=("n1", NODE))
DIRECT = Unanswered(NODE, 1900, 3400, count=2)
BROKEN = replace(DIRECT, is_proxied=True)


def gone(at=1600, delay_ms=500, id="a"):
    """A job that nobody had."""
    return push(at, ttr_ms=0, delay_ms=delay_ms, id=id)


def ready(at, id="a"):
    return Move("b1", id, "n1", at)


@pytest.mark.parametrize("events", [
    [gone(), BROKEN, sent(2200)],
    [gone(), BROKEN, sent(1850)],                       # by a node's estimate of the time
    [gone(), BROKEN, sent(9000)],                       # read from a connection long gone
    [gone(), BROKEN, sent(2200, node="")],              # which node it was cannot be told
    [gone(), replace(BROKEN, asked_ms=9000, ended_ms=9900), sent(9000)],
    [gone(), BROKEN, ready(1800)],                      # the node had no time to write it down
    [gone(), BROKEN, ready(2300)],
    [gone(), BROKEN, LockedMove(("r", 1, 1), "b1", "t", "a", "n1", 0, boot_ms=2200)],
    [gone(2000, delay_ms=0), BROKEN],                   # ready when it was pushed
    [replace(gone(1500, delay_ms=0), ended_ms=2290), BROKEN],  # when a push is held, in between
    [replace(gone(2000, delay_ms=0), outcome=UNKNOWN),
     replace(gone(3500, delay_ms=0), outcome="duplicate"), BROKEN],
    [gone(), sent(2200), gone(id="b"), sent(2200, id="b"), BROKEN],
    [gone(), sent(2200), gone(id="b"), sent(2200, id="b"), gone(id="c"), sent(8000, id="c"),
     BROKEN, replace(BROKEN, asked_ms=7000, ended_ms=8500)],
    [gone(), DIRECT, sent(2900)],                       # given up when its kernel had it
    [gone(), DIRECT, sent(3900)],
])
def test_a_job_without_a_ttr_may_be_lost_on_its_way_in_a_fault(events):
    lost = verdict(CUT, *events)
    assert (lost.violations, set(lost.explained)) == ([], {"LOST"})


@pytest.mark.parametrize("events", [
    [gone()],                                           # nothing but the time
    [gone(), BROKEN],
    [gone(), sent(2200)],                               # every pop was answered
    [gone(), BROKEN, sent(2200, node=OTHER)],
    [gone(), replace(BROKEN, node=OTHER), sent(2200)],
    [gone(), replace(BROKEN, node=OTHER), sent(2200, node=OTHER)],  # the fault was not its node's
    [gone(), BROKEN, sent(1849)],                       # before that pop was asked for
    [gone(), BROKEN, sent(9001)],                       # when the fault was over
    [gone(), replace(BROKEN, asked_ms=1000, ended_ms=1999), sent(1500)],   # before it was made
    [gone(), replace(BROKEN, asked_ms=9001, ended_ms=9900), sent(9002)],
    [push(1600, delay_ms=500), BROKEN, sent(2200)],     # it has a TTR, and comes again
    [gone(), BROKEN, ready(1799)],                      # there was time enough to write it down
    [gone(), BROKEN, ready(2301)],
    [gone(), BROKEN, ready(2200), sent(1700)],          # it was written down, and is another's
    [gone(), replace(BROKEN, node=OTHER), ready(2200)],  # no fault of that node
    [gone(), replace(BROKEN, ended_ms=2150), ready(2200)],
    [gone(2000, delay_ms=500), BROKEN],                 # nobody made it ready
    [gone(1789, delay_ms=0), BROKEN],                   # it was ready long before
    [gone(2301, delay_ms=0), BROKEN],                   # or after
    [gone(), sent(2200), gone(id="b"), sent(2200, id="b"), gone(id="c"), sent(2200, id="c"),
     BROKEN],                                           # more than it asked for
    [gone(), DIRECT, sent(2200)],                       # nobody's kernel has acknowledged that
    [gone(), DIRECT, sent(2899)],
    [gone(), DIRECT, sent(3901)],
    [gone(), DIRECT, ready(2200)],
    [gone(2000, delay_ms=0), DIRECT],
])
def test_what_is_lost_without_evidence_is_lost(events):
    assert "LOST" in rules(CUT, *events)


@pytest.mark.parametrize("pop, line_ms, is_lost", [
    (BROKEN, 2200, False),
    (BROKEN, 1850, False),
    (BROKEN, 3600, False),                           # written a little later
    (BROKEN, 3601, True),
    (replace(BROKEN, ended_ms=2000), 1990, False),   # when the lease was over
    (replace(BROKEN, ended_ms=1999), 1990, True),    # it ended before the change
    (replace(BROKEN, ended_ms=5400), 5400, False),
    (replace(BROKEN, ended_ms=5401), 2200, True),    # or long after it
    (BROKEN, 1849, True),                            # before that pop was asked for
    (BROKEN, None, True),                            # no line: the node had time to write it
    (DIRECT, 3300, True),                            # no proxy: nobody ends its connection
])
def test_a_proxy_ends_its_sessions_when_the_leader_changes(pop, line_ms, is_lost):
    """Whatever changed it."""
    lines = [] if line_ms is None else [sent(line_ms)]
    led = [leads("n1", 1, 0), lease("n1", 1, 0, 2000), Stall("n1", 2300, 900),
           Role("n1", "standby", 2300, token(1), "lease_over"), leads("n2", 2, 2400),
           lease("n2", 2, 2400, 9000)]
    found = verdict(*led, gone(), ready(1800), pop, *lines)
    assert ("LOST" in {each.rule for each in found.violations}) == is_lost
    assert "LOST" in rules(*led[:2], gone(), ready(1800), pop, *lines), "the leader is the same"


def test_five_hundred_jobs_due_in_a_fault_are_not_excused_by_it():
    """What a scan does that deletes them."""
    jobs = [gone(1500 + number, id=f"job-{number}") for number in range(500)]
    assert len(verdict(CUT, BROKEN, *jobs).violations) == 500
    found = verdict(CUT, BROKEN, *jobs, *(ready(2100, each.id) for each in jobs))
    assert (len(found.violations), found.explained) == (498, {"LOST": 2})


# ---- Redis's clock, set on purpose ----

HOUR_MS = 3_600_000
FORWARD, SET_BACK = Clock(3000, HOUR_MS), Clock(9000, 0)


@pytest.mark.parametrize("rule, events", [
    ("EARLY", [push(2500, delay_ms=HOUR_MS), hand_over(3100, due=2500 + HOUR_MS,
                                                       redis=3100 + HOUR_MS), ack(3200)]),
    ("EARLY", [push(8000, delay_ms=0), hand_over(9100, due=8000 + HOUR_MS, redis=9100),
               ack(9200)]),
    ("TWICE", [push(2000, ttr_ms=60_000), hand_over(2600, due=2500), again(3100, due=2500),
               ack(3200)]),
    ("TWICE", [push(2000, ttr_ms=0), hand_over(2600, due=2500), again(3100, due=2500)]),
])
def test_what_a_clock_that_was_set_explains_is_counted(rule, events):
    assert rules(*events) == [rule]
    found = verdict(*events, FORWARD, SET_BACK)
    assert (found.violations, found.explained) == ([], {rule: 1})


def test_a_clock_that_is_set_while_a_job_is_asked_for_ends_its_hold():
    """The job became ready while the clock was ahead: by the true time it is not due for an hour."""
    ahead = {"due": 1400 + HOUR_MS}
    events = [push(1000, delay_ms=400, ttr_ms=0), hand_over(3010, asked=2990, **ahead),
              again(3500, **ahead)]
    clocks = [Clock(500, HOUR_MS), Clock(2000, -HOUR_MS), Clock(3000, 0)]
    assert "TWICE" in rules(*events)
    found = verdict(*events, *clocks)
    assert (found.violations, found.explained["TWICE"]) == ([], 1)
    assert rules(*events, *clocks[:2], Clock(2989, 0)) == ["TWICE"]  # it was set before


def test_a_clock_that_was_set_while_a_consumer_waited_ends_no_hold_that_began_later():
    events = [push(2500, delay_ms=500, ttr_ms=0), hand_over(3010, asked=2600, due=3000),
              again(3500, due=3000)]
    assert rules(*events, Clock(2700, HOUR_MS)) == ["TWICE"]


@pytest.mark.parametrize("rule, events", [
    ("EARLY", [push(2500, delay_ms=HOUR_MS + 601),  # a moment more than it gained
               hand_over(3100, due=2500, redis=3100 + HOUR_MS), ack(3200)]),
    ("EARLY", [push(4001), hand_over(4500, due=4501, redis=4500 + HOUR_MS), ack(4600)]),  # it stood
    ("EARLY", [push(20_000), hand_over(20_400, due=20_500), ack(20_600)]),  # long after
    ("TWICE", [push(4100, ttr_ms=60_000), hand_over(4700, due=4600, redis=4700 + HOUR_MS),
               again(5100, due=4600), ack(5200)]),
    ("TWICE", [push(1300, ttr_ms=2 * HOUR_MS), hand_over(1900, due=1800), again(3100, due=1800),
               ack(3200)]),
    ("TWICE", [push(2000, ttr_ms=60_000), hand_over(2600), hand_over(3100), ack(3200)]),
    ("TWICE", [push(1400, ttr_ms=0), hand_over(1999, due=1900),  # which is sure by then
               again(3100, due=1900)]),
    ("RETURNED", [push(2000), hand_over(2600), ack(2700), again(3500), ack(3600)]),
    ("LOST", [push(2500)]),
])
def test_a_clock_that_was_set_explains_no_more_than_it_gained(rule, events):
    assert rule in rules(*events, FORWARD, SET_BACK)


def test_lateness_is_judged_where_the_clock_was_not_set():
    late = due(1, 5000, 20_000)
    of_set_clock = [push(2900, id="b"), hand_over(3500, due=3400, redis=3500 + HOUR_MS, id="b"),
                    ack(3600, id="b")]
    assert rules(*late, FORWARD, SET_BACK, limits=LATE) == ["LATE"]
    assert rules(*of_set_clock, limits=LATE) == ["LATE"]
    found = verdict(*of_set_clock, FORWARD, SET_BACK, limits=LATE)
    assert (found.violations, found.explained) == ([], {"LATE": 1})


def test_a_journal_is_read_as_it_was_written(tmp_path):
    events = [push(), hand_over(1501), ack(1600), ack(1, kind=Cancel), ack(1, kind=Release),
              Rest("b", "tries"), leads("n1", 1, 0), lease("n1", 1, 0, 1), fenced("n1", 1, 2, 3),
              moves("n1", 4), sent(5), BROKEN, FORWARD, BACK,
              Fault("kill", 1, 2, 1.5, 2, ("n1",), 1.2, ("n1", NODE)), Older(1, 2)]
    written = Journal(tmp_path / "journal")
    written.add(*events)
    written.close()
    assert read_events(tmp_path / "journal") == events


def test_what_a_node_may_write_beside_and_half_a_line_are_passed_over(tmp_path):
    path = tmp_path / "ha.journal"
    line = {"event": "lease", "node": "n1", "token": token(1), "from_ms": 0, "until_ms": 1}
    path.write_text(json.dumps({**line, "more": 1}) + '\n{"event":"unheard of"}\n{"event":"le')
    assert read_events(path) == [lease("n1", 1, 0, 1)]
    assert read_events(tmp_path / "none") == []
