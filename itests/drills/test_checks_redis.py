"""What the rows about Redis check beside the judge, each broken on purpose."""

import math
from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from drills.hosts.troubles import TROUBLES
from drills.rows.matrix import MATRIX
from drills.rows.redis_row import Told, damage_of, first_handed_over, overdue, unfenced
from judge.journal import (OK, REFUSED, UNKNOWN, Cancel, HandOver, Journal, Older, Push,
                            Role)

TOKEN = "e:1"
LED = Role("n1", "leader", 0, TOKEN)


class Node:
    """As much of one as the checks look at."""

    def __init__(self, log="", **metrics):
        self.name, self.log = "n1", log
        self.numbers = {**dict.fromkeys(Told.NAMES, 0), **metrics}

    def role(self):
        return LED

    def output(self):
        return self.log

    def metrics(self):
        """A walk of the reconciler is over each time somebody looks."""
        self.numbers["dueq_audit_walks_total"] = self.numbers.get("dueq_audit_walks_total", 0) + 1
        return dict(self.numbers)


def cluster_of(*nodes, fences=64 * (TOKEN.encode(),), redis_says="", missed=1):
    errors = {"errorstat_NOSCRIPT": f"count={missed}"} if missed else {}
    redis = nullcontext(SimpleNamespace(mget=lambda keys: list(fences),
                                        info=lambda section: errors))
    return SimpleNamespace(
        nodes=nodes, elects=True, leader=lambda: nodes[0], roles=lambda: [LED],
        redis=SimpleNamespace(client=lambda: redis,
                              process=SimpleNamespace(output=lambda: redis_says)))


def checked(number, variant, cluster=None, elected=None, failed=(), journal=None, **state):
    """The complaints of a row of its own, whose rounds left that state; failed: outcomes of
    pushes, one each."""
    row = type(MATRIX[number])()
    vars(row).update(state)
    drill = SimpleNamespace(variant=variant, since_ms=100, cluster=cluster or cluster_of(Node()),
                            journal=journal or Journal(),
                            answers=lambda outcome, since_ms: list(failed).count(outcome))
    return [*row.check(drill, elected), *row.check_times(drill)]


QUIET = {"since_ms": None, "back_ms": 1000}


@pytest.mark.parametrize("variant, state, count", [
    ("killed, always", {}, 0), ("killed, always", {"elected": LED}, 1),
    ("killed, none", {"failed": [REFUSED]}, 1),
    ("killed, always", {"failed": [UNKNOWN]}, 1),  # by a Redis that forgets nothing
    ("killed, none", {"back_ms": 1001}, 1)])
def test_a_restart_of_redis_costs_a_lead_a_push_or_time(variant, state, count):
    assert len(checked("12", variant, **{**QUIET, **state})) == count


def test_a_bucket_has_another_token_or_none():
    assert not list(unfenced(cluster_of(Node())))
    for wrong in (b"e:0", None):
        (text,) = unfenced(cluster_of(Node(), fences=63 * (TOKEN.encode(),) + (wrong,)))
        assert "1 of 64" in text


def test_what_may_be_forgotten_is_written_down_with_what_was_told():
    node, journal = Node(dueq_store_rollbacks_total=1, dueq_store_lost_pushes_total=5), Journal()
    told = Told(cluster_of(node))
    node.numbers.update(dueq_store_rollbacks_total=2, dueq_store_lost_pushes_total=8)
    checked("13", "", cluster_of(node, redis_says="Truncating the AOF"), journal=journal,
            since_ms=3, ended_ms=9, back_ms=0, told=told, found_before=0)
    assert journal.of(Older) == [Older(3, 9, 1, 3)]
    assert Told(cluster_of(node)).since() == (0, 0)


def test_a_redis_forgets_nothing_of_the_one_before():
    journal, row = Journal(), type(MATRIX["12"])()
    kept = []
    drill = SimpleNamespace(variant="killed, none", cluster=cluster_of(Node()), journal=journal,
                            keep_history=lambda: kept.append(drill.variant))
    row.begin(drill)
    assert row.since_ms == -math.inf
    assert kept == ["killed, none"], "its history goes with it"
    journal.add(Older(1, 9))
    row.begin(drill)
    assert row.since_ms == 9


@pytest.mark.parametrize("noticed, count", [(1, 0), (0, 1)])
def test_a_node_does_not_see_that_redis_came_back_empty(noticed, count):
    node = Node()
    told = Told(cluster_of(node))
    node.numbers.update(dueq_store_rollbacks_total=noticed)
    assert len(checked("12", "killed, none", cluster_of(node), since_ms=3, ended_ms=9, back_ms=0,
                       told=told)) == count


@pytest.mark.parametrize("number, variants, must", [
    ("12", ["killed, none"], True), ("12", ["killed, always"] * 10, False),
    ("12", ["killed, everysec"] * 9, False), ("12", ["killed, everysec"] * 10, True),
    ("14", ["by hand"] * 10, True), ("14", ["killed"] * 10, False)])
def test_which_rounds_prove_nothing_when_nothing_is_lost(number, variants, must):
    assert MATRIX[number].must_lose(variants) is must


def checked_promotion(failovers=5, tilts=0, refused=0, back_ms=0):
    """(the complaints of row 14, what it wrote down, its note); before it, one failover fewer and
    no TILT."""
    cluster, journal = cluster_of(Node()), Journal()
    cluster.store = SimpleNamespace(failovers=lambda: failovers, tilts=lambda: tilts)
    row = type(MATRIX["14"])()
    vars(row).update(since_ms=1, began_ms=2, ended_ms=9, failovers=4, tilts=0, back_ms=back_ms,
                     told=Told(cluster))
    drill = SimpleNamespace(variant="killed", since_ms=2, cluster=cluster, journal=journal,
                            answers=lambda outcome, since_ms: refused * (outcome == REFUSED))
    return [*row.check(drill, None), *row.check_times(drill)], journal.of(Older), row.note


@pytest.mark.parametrize("failovers, ended_ms, split_ms, note", [
    (5, 9, math.inf, ""), (6, 1000, 2, "rounds with more failovers, of the Sentinels' own: 1")])
def test_a_failover_of_the_sentinels_own_forgets_too(monkeypatch, failovers, ended_ms, split_ms,
                                                     note):
    monkeypatch.setattr("drills.rows.sentinel.now_ms", lambda: 1000)
    assert checked_promotion(failovers) == ([], [Older(1, ended_ms, 0, 0, split_ms)], note)


@pytest.mark.parametrize("tilts, count, note", [
    (0, 2, ""), (1, 0, "rounds with Sentinels that saw the machine stand still: 1")])
def test_sentinels_that_saw_the_machine_stand_still_excuse_the_time_it_takes(tilts, count, note):
    complaints, older, told = checked_promotion(tilts=tilts, refused=7, back_ms=30_000)
    assert (len(complaints), told) == (count, note)
    assert older == [Older(1, 9, 0, 0, math.inf)], "what may be forgotten is judged all the same"


def test_redis_finds_nothing_wrong_with_the_file_that_was_cut():
    for found_before in (0, 1):  # or only in the round before
        cluster = cluster_of(Node(), redis_says=found_before * "Truncating the AOF\n")
        assert len(checked("13", "", cluster, since_ms=3, ended_ms=9, back_ms=0,
                           told=Told(cluster), found_before=found_before)) == 1


def test_what_is_half_done_is_found():
    assert not list(damage_of(cluster_of(Node(**{'dueq_repaired_total{damage="no_job"}': 0}))))
    (text,) = damage_of(cluster_of(Node(), Node(**{'dueq_repaired_total{damage="no_job"}': 2})))
    assert "no_job" in text


@pytest.mark.parametrize("variant, failed, taken, log, count", [
    ("out of memory", [REFUSED], 0, "OOM", 0),
    ("out of memory", [REFUSED], 3, "OOM", 1),
    ("out of memory", [REFUSED, UNKNOWN], 0, "OOM", 1),
    ("out of memory", [REFUSED], 0, "", 1),
    ("read-only", [], 9, TROUBLES["read-only"].says, 0),
    ("read-only", [REFUSED], 9, TROUBLES["read-only"].says, 1),
    ("read-only", [UNKNOWN], 9, TROUBLES["read-only"].says, 1),
    ("read-only", [], 9, "", 1),
    ("without scripts", [], 9, "", 0),
    ("without scripts", [UNKNOWN], 9, "", 1),
])
def test_an_unwilling_redis_is_not_told_as_it_is(variant, failed, taken, log, count):
    assert len(checked("15", variant, cluster_of(Node(log)), failed=failed, taken=taken, said=0,
                       missed=0, trouble=TROUBLES[variant])) == count


@pytest.mark.parametrize("before, after, count", [(0, 1, 0), (0, 0, 1), (3, 3, 1), (3, 4, 0)])
def test_nobody_asked_for_a_script_that_redis_has_no_more(before, after, count):
    assert len(checked("15", "without scripts", cluster_of(Node(), missed=after), taken=9, said=0,
                       missed=before, trouble=TROUBLES["without scripts"])) == count


def test_a_slow_redis_costs_a_push_or_a_role():
    assert checked("16", "slow by 100 ms") == []
    assert len(checked("16", "slow by 100 ms", failed=[UNKNOWN])) == 1
    cluster = cluster_of(Node())
    cluster.roles = lambda: [LED, Role("n1", "offline", 101, "", "expired"),
                             Role("n1", "leader", 102, TOKEN, "resumed")]
    assert len(checked("16", "slow by 100 ms", cluster)) == 2


def handed_over(due_ms, received_ms):
    return HandOver("a", "t", "1", 1, due_ms, received_ms - 1, received_ms, received_ms, "n1")


def test_the_first_job_is_one_that_became_due_when_redis_had_ended():
    journal = Journal()
    journal.add(handed_over(90, 130), handed_over(101, 150), handed_over(102, 140))
    assert first_handed_over(SimpleNamespace(journal=journal), 100, 120) == 140
    assert first_handed_over(SimpleNamespace(journal=journal), 102, 120) is None


@pytest.mark.parametrize("event, left", [
    (Cancel("a", 20, 30, OK), set()), (handed_over(25, 30), set()),
    (handed_over(3, 4), set()),  # its answer was read later
    (Cancel("b", 20, 30, OK), {"a"})])
def test_all_that_was_due_must_have_come(event, left):
    journal = Journal()
    journal.add(Push("a", "t", 4000, 10, 10, 15, OK, 25), Push("c", "t", 0, 10, 10, 15, OK, 25),
                Push("d", "t", 4000, 100, 10, 15, OK, 115), event)
    assert overdue(journal, since_ms=5, due_before_ms=100) == left
