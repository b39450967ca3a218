"""What the rows check beside the judge, each broken on purpose: who leads when it should not, or
does not say what to do, or takes too long."""

from collections import Counter
from types import SimpleNamespace

import pytest

from drills.in_order import InOrder
from drills.journal import Role, Vip
from drills.matrix import MATRIX
from drills.view import Sight

T_MS = 2000
OLD, NEW = Role("n1", "leader", 0, "e:1"), Role("n2", "leader", 1, "e:2")


def checked(number, variant="", elected=None, failed_pushes=0, sight=None, events=(),
            **state):
    """The complaints of a row of its own, whose rounds left that state. Nobody looks at the virtual
    address: test_vip_row.py does."""
    row = type(MATRIX[number])()
    vars(row).update(state)
    drill = SimpleNamespace(variant=variant, leader=SimpleNamespace(name="n1"), since_ms=0,
                            session_ms=T_MS, answers=lambda outcome, since_ms: failed_pushes,
                            cluster=SimpleNamespace(view=None, events=lambda: events), sight=sight)
    return [*row.check(drill, elected), *row.check_times(drill)]


@pytest.mark.parametrize("number, variant", [
    ("6", "peers"), ("6", "client"), ("6", "a standby from redis"), ("6", "all from redis"),
    ("7", "to peers"), ("7", "from client"), ("8b", "cut"),
    ("8b", "reset"), ("17", "node forward"), ("18", "standbys"), ("25", "")])
def test_the_leader_changed_and_had_no_reason(number, variant):
    assert checked(number, variant) == []
    assert len(checked(number, variant, elected=NEW)) == 1


@pytest.mark.parametrize("number, variant", [
    ("6", "zookeeper"), ("6", "redis"), ("7", "to everybody"), ("8b", "cut, and from zookeeper"), ("18", "all")])
def test_the_leader_changed_and_had_a_reason(number, variant):
    assert checked(number, variant, elected=NEW) == []


def test_pushes_fail_in_a_switchover():
    assert checked("3", "switchover") == []
    assert len(checked("3", "switchover", failed_pushes=2)) == 1


@pytest.mark.parametrize("kind, complaints", [
    ("refused", 1), ("lost", 1), ("reset", 1), ("closed", 1), ("silent", 1), ("503", 1),
    ("crossed", 0)])  # the leader before had taken it
def test_new_connections_fail_when_the_lead_is_given_away(kind, complaints):
    for variant in ("SIGTERM", "switchover"):
        sight = Sight(failed=Counter({kind: 1}), broken=Counter(closed=1), popped=Counter(reset=1))
        assert len(checked("3", variant, sight=sight)) == complaints


@pytest.mark.parametrize("events, complaints", [
    ([Vip("n1", "leaving", 10), Vip("n1", "away", 1009)], 1),
    ([Vip("n1", "leaving", 10), Vip("n1", "away", 1010)], 0),  # there was no other yet
    ([Vip("n1", "leaving", 10), Vip("n1", "away", 1010), Vip("n2", "held", 1005)], 0),
    ([Vip("n1", "leaving", 10), Vip("n1", "away", 1010), Vip("n2", "held", 500)], 1),  # not heard
    ([Vip("n1", "away", 5000)], 1),  # it did not wait
    ([NEW, Role("n2", "offline", 2), Role("n2", "leader", 3, "e:2")], 0),  # its lease was over
    ([NEW, Role("n1", "offline", 2)], 1)])
def test_new_connections_may_fail_when_the_new_leader_is_late(events, complaints):
    sight = Sight(failed=Counter(lost=1))
    assert len(checked("3", "switchover", sight=sight, events=events)) == complaints


@pytest.mark.parametrize("rounds, late, crossed, complaints", [
    (2, 2, 3, 0), (200, 12, 28, 0), (200, 13, 0, 1), (2, 0, 4, 1), (200, 0, 29, 1),
    (200, 200, 200, 2)])
def test_what_is_excused_has_to_be_rare(rounds, late, crossed, complaints):
    judge, events = InOrder(), [Vip("n1", "leaving", 10), Vip("n1", "away", 1010)]
    for number in range(rounds):
        sight = Sight(failed=Counter(lost=int(number < late), crossed=0 if number else crossed))
        assert not list(judge.check(round_of(sight, events)))
    assert len(list(judge.check_end())) == complaints


def round_of(sight, events):
    return SimpleNamespace(leader=SimpleNamespace(name="n1"), since_ms=0, sight=sight,
                           cluster=SimpleNamespace(events=lambda: events))


def test_another_leads_after_a_quorum_was_lost():
    assert checked("10", "stop 1 s", elected=OLD, stood=[]) == []
    assert len(checked("10", "stop 1 s", elected=NEW, stood=[])) == 1
    assert checked("10", "stop at start", elected=NEW, stood=[]) == []


def test_due_jobs_stand_still_in_spite_of_failsafe():
    assert checked("10", "failsafe 3T", stood=[10, T_MS]) == []
    assert len(checked("10", "failsafe 3T", stood=[10, T_MS + 1])) == 1
    assert checked("10", "stop 3T", stood=[T_MS + 1]) == []


def test_a_wrong_set_up_is_not_refused_in_words():
    def spare(text):
        return SimpleNamespace(output=lambda: text)

    assert checked("19", "buckets", code=1, spare=spare("use store.buckets 64")) == []
    assert len(checked("19", "buckets", code=0, spare=spare("use store.buckets 64"))) == 1
    assert len(checked("19", "buckets", code=1, spare=spare("no"))) == 1
    assert len(checked("19", "buckets", NEW, code=1, spare=spare("use store.buckets 64"))) == 1


def test_an_upgrade_is_none():
    assert checked("20", builds=["1 of a", "2 of b"], cached=[3, 3]) == []
    assert checked("20", builds=["1 of a", "2 of b"], cached=[]) == [], "no script has changed"
    assert len(checked("20", builds=["1 of a"], cached=[3, 3])) == 1
    assert len(checked("20", builds=["1 of a", "2 of b"], cached=[0, 3])) == 1


def test_a_loop_stalls_while_names_are_slow():
    assert checked("23", stall_ms=10) == []
    assert len(checked("23", stall_ms=10.5)) == 1
