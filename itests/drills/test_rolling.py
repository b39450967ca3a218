"""Row 32, broken on purpose: a step that is taken before its clients are ready, requests that fail
when nothing excuses it, a page without the steps."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from drills.clients.client import ENDED, UNREACHABLE, Client, Failure
from drills.hosts.safety import PLAIN, Manner
from drills.rounds import run_row
from drills.rows.rolling import (MOVED_MS, PAGE, Rolling, is_taken, judge_failures, moves_of,
                                 others_of, states_of, steps_of, wait_taken)
from harness.wait import wait_until
from judge.journal import Vip, now_ms

TLS = Manner(Path("ca"))
TOKEN = Manner(Path("ca"), Path("token"))
SHOWN = Manner(Path("ca"), Path("token"), ("cert", "key"))


class Hasty(Rolling):
    """Takes each step first, and tells its clients then."""

    number, title = "93", "clients are told too late"
    changes = 0
    leader_stays = True

    def _to_safe(self, drill, steps, states):
        clients = [each for each in drill.load.clients if not each.keeps]
        for step, state in zip(steps[:4], states[1:]):
            since_ms = now_ms()
            for node in drill.cluster.nodes:
                drill.cluster.configure(node, state)
                node.reload()
                wait_taken(drill.cluster, node, state)
            if step.ability:
                wait_until(lambda since_ms=since_ms: all(
                    any(failure.sent_ms >= since_ms for failure in each.failures)
                    for each in clients if step.number == 2 or isinstance(each, Client)), "they fail")
                self._change_over(drill, step.ability)

    @staticmethod
    def _ways_left(drill):
        return ()


def test_clients_that_are_told_too_late_are_seen_to_fail(needs_network, tmp_path):  # pylint: disable=unused-argument
    result = run_row(Hasty(), tmp_path, seed=1, rounds=1, variants=("to safe",))
    failed = [text for text in result.complaints if "requests failed" in text]
    assert len(failed) == 1
    assert all(word in failed[0] for word in ("tls_required", "unauthorized")), failed
    assert {each.rule for each in result.verdict.violations} == {"DENIED"}, \
        "they go on until they succeed"


MOVES = [Vip("n1", "leaving", 1000), Vip("n2", "held", 1010), Vip("n1", "away", 1020)]


@pytest.mark.parametrize("how, sent_ms, ended_ms, is_excused", [
    (ENDED, 1000, 1001, True),
    (UNREACHABLE, 1015, 1030, True),
    (ENDED, 400, 1001, True),           # it waited
    (ENDED, 900, 998, False),           # before
    (ENDED, 1021 + MOVED_MS, 1700, False),  # long after
    ("unavailable", 1000, 1001, False)])    # an answer is no end
def test_only_a_request_that_a_change_of_the_leader_crosses_may_fail(how, sent_ms, ended_ms,
                                                                     is_excused):
    failure = Failure(sent_ms, ended_ms, how, True, "")
    crossed, late, wrong = judge_failures([failure], moves_of(MOVES), [])
    assert (crossed.total(), late, wrong) == ((1, 0, []) if is_excused else (0, 0, [failure]))
    assert judge_failures([failure], [], [])[2] == [failure], "nobody handed the address over"


def test_a_leader_that_is_late_excuses_and_is_counted():
    failure = Failure(1000, 1001, ENDED, True, "")
    assert judge_failures([failure], [], [(900, 1100)]) == ({}, 1, [])
    assert judge_failures([failure], [], [(900, 999)]) == ({}, 0, [failure])


def complaints_of(failures=(), ended=(), events=()):
    """Of a round that left them; its cluster has no nodes to be looked at."""
    row, client = Rolling(), SimpleNamespace(failures=failures)
    row.since_ms, row.before, row.ended = 0, "n1", list(ended)
    cluster = SimpleNamespace(events=lambda: events, stalls=lambda: (), nodes=(), abilities={
        None: PLAIN, "have certificates": SHOWN})
    drill = SimpleNamespace(cluster=cluster, variant="to safe",
                            load=SimpleNamespace(clients=[client]))
    return [*row.check(drill, None), *row.check_times(drill)]


def test_what_went_wrong_is_said():
    crossed = Failure(1000, 1001, ENDED, True, "")
    assert complaints_of() == complaints_of([crossed], events=MOVES) == []
    assert len(complaints_of([crossed])) == 1
    assert len(complaints_of([crossed, crossed], events=MOVES)) == 1, "twice, in one change"
    assert len(complaints_of(ended=[(5, 6)])) == 1, "a connection, and nodes only read"


def test_the_page_leads_from_open_to_safe():
    """Each ability is asked for once; nobody is shut out before, and everybody else behind."""
    steps = steps_of(PAGE.read_text(encoding="utf-8"))
    states = states_of(steps)
    manners = {None: PLAIN, "speak TLS": TLS, "have tokens": TOKEN, "have certificates": SHOWN}
    assert [each.ability for each in steps if each.ability] == list(manners)[1:]
    able = PLAIN
    for step, before, state in zip(steps, states, states[1:]):
        able = manners.get(step.ability, able) if step.ability else able
        assert is_taken(before, able) and is_taken(state, able), step
    assert [is_taken(states[0], each) for each in manners.values()] == [True, False, False, False]
    assert [is_taken(states[-1], each) for each in manners.values()] == [False, False, False, True]


def test_a_page_without_steps_is_none():
    with pytest.raises(AssertionError):
        steps_of("## Another section\n\n```yaml\n# 1: reload\nhttp.tls: optional\n```\n")


def test_clients_that_are_left_are_in_the_numbers():
    metrics = {f'{name}{{protocol="{each}"}}': count for each in ("http", "gmq") for name, count in (
        ("dueq_connections_accepted_total", 7), ("dueq_tls_handshakes_total", 5),
        ("dueq_requests_without_token_total", 3))}
    node = SimpleNamespace(metrics=lambda: metrics)
    assert (others_of(node, "speak TLS"), others_of(node, "have tokens")) == (4, 3)
