"""Load and judge together, on a real node: what is done to it is survived and acquitted, and what
is done to its Redis behind its back is seen."""

import socket
import threading
from random import Random
from unittest.mock import ANY

import pytest

from drills.clients.client import Client
from drills.clients.load import POP_COUNT, TOPICS, Load
from harness.ports import free_port
from harness.wait import wait_until
from judge.journal import OK, UNKNOWN, Ack, HandOver, Journal, Push, Unanswered, now_ms
from judge.judge import judge


HOUR_MS, TTR_MS = 3_600_000, 4_000


@pytest.fixture
def started(make_node, tmp_path, dice):
    """(node, load, journal) while the load is on; the first address is of nobody."""
    node = make_node().start()
    journal = Journal(tmp_path / "journal")
    load = Load(journal, [("127.0.0.1", free_port()), ("127.0.0.1", node.http_port)], dice)
    with load:
        load.wait_flowing()
        yield node, load, journal
    load.finish()
    journal.close()


def rules_after(load, journal):
    load.__exit__()
    load.drain()
    load.finish()
    print(journal.summary())
    return sorted({violation.rule for violation in judge(journal).violations})


def test_a_quiet_time_is_without_blame_and_everything_happens_in_it(started):
    _, load, journal = started
    wait_until(lambda: len(journal.of(HandOver)) > 400, "enough has happened")
    assert rules_after(load, journal) == []
    assert all(push.outcome == OK for push in journal.of(Push) if push.due_ms)
    assert {type(each) for kind in journal.events.values() for each in kind} >= {
        Push, HandOver, Ack}
    assert len({each.id for each in journal.of(HandOver)}) > 350


STEAL = """
if redis.call('ZREM', KEYS[1], ARGV[1]) == 0 then return 0 end
return redis.call('HDEL', KEYS[2], ARGV[1])
"""


def steal_delayed(client):
    """Deletes a job that is not due yet, behind everybody's back. False when it found none."""
    for key in client.scan_iter(match="dq:{*}:d:drill-*"):
        for member in client.zrange(key, -1, -1):
            if client.eval(STEAL, 2, key, key.replace(b":d:", b":j:"), member):
                return True
    return False


def test_jobs_deleted_behind_its_back_are_lost(started):
    node, load, journal = started
    client = node.redis()
    for _ in range(3):
        wait_until(lambda: steal_delayed(client), "a job is delayed")
    assert rules_after(load, journal) == ["LOST"]


def test_jobs_that_nobody_of_the_load_pushed_are_invented(started):
    node, load, journal = started
    with node.api() as api:
        api.push(TOPICS[0], "x", id="stranger")
    wait_until(lambda: any(each.id == "stranger" for each in journal.of(HandOver)), "it comes")
    assert rules_after(load, journal) == ["INVENTED"]


def test_jobs_that_are_made_due_behind_its_back_are_early(started):
    """One that it would get in an hour, however slow the machine is."""
    node, load, journal = started
    client = Client([("127.0.0.1", node.http_port)])
    sent = now_ms()
    outcome, due_ms = client.push(TOPICS[0], "hurried", HOUR_MS, TTR_MS)
    journal.add(Push("hurried", TOPICS[0], TTR_MS, HOUR_MS, sent, now_ms(), outcome, due_ms))
    client.close()
    with node.api() as api:
        assert api.ask("POST", f"/v1/topics/{TOPICS[0]}/jobs/hurried/run").status == 200
    wait_until(lambda: any(each.id == "hurried" for each in journal.of(HandOver)), "it comes")
    assert "EARLY" in rules_after(load, journal)


class Roaming:
    """A client that goes from node to node: its pop has no answer, then jobs; each ack fails."""

    def __init__(self, load):
        self._load, self._replies, self.number = load, [None, [job("a"), job("b")]], 1

    @property
    def node(self):
        return f"n{self.number}"

    def pop(self, *unused):
        jobs = self._replies.pop(0)
        self.number += jobs is None
        if not self._replies:
            self._load.is_over.set()
        return jobs

    def settle(self, *unused):
        self.number += 1
        return UNKNOWN


def job(id):
    return {"id": id, "topic": "t", "lease": id, "tries": 1, "due_ms": 0, "delay_ms": 0,
            "ttr_ms": 1000}


def test_what_a_consumer_writes_down_is_of_the_node_that_it_popped_from():
    journal = Journal()
    load = Load(journal, [("127.0.0.1", 1)], Random(1), consumers=1, proxies=("n1",))
    (consumer,) = load._consumers  # pylint: disable=protected-access
    consumer.client = Roaming(load)
    consumer.work()
    assert [(each.id, each.node) for each in journal.of(HandOver)] == [("a", "n2"), ("b", "n2")]
    assert journal.of(Unanswered) == [Unanswered("n1", ANY, ANY, POP_COUNT, is_proxied=True)]
    assert all(each.outcome == UNKNOWN for each in journal.of(Ack))


def test_a_pop_has_no_answer_or_is_not_sent():
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = server.getsockname()
        client = Client([address])
        found = []
        thread = threading.Thread(target=lambda: found.append(client.pop(["t"], 1, 0)))
        thread.start()
        server.accept()[0].close()
        thread.join()
    assert found == [None]
    assert Client([address]).pop(["t"], 1, 0) == [], "nobody listens any more"
