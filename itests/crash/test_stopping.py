"""A stop when something is in its way: it ends in time, says so with its exit code, and every
client gets the answer that is true."""

import os
import signal
import time

import pytest

from crash.faults import end_of, stored_ids
from harness.background import in_background
from harness.gmq import GmqError
from harness.http_raw import RawHttp
from harness.redis_programs import RemovableRedis
from harness.wait import wait_until

STOP_S = 2
SLACK_S = 30  # for a busy machine; with the waits of started() it would take a minute
SOON_S = STOP_S + SLACK_S
NOT_IN_ORDER = 1
BIG, HOUR_MS = "x" * 1_000_000, 3_600_000
LATE_IDS = ("1", "2", "3")
READS_AFTER_S = 3  # of 8 s to stop in the store has 2.3 where it is away; a reader has 5
TRIES = 5


def started(make_node, settings=None):
    """A node with one job that must survive whatever is done to it."""
    node = make_node({"node.stop_timeout": f"{STOP_S}s", "store.hold": "1m",
                      "store.command_timeout": "1m", **(settings or {})}).start()
    with node.python_client() as client:
        client.push("topic", "kept-1", delay=3600)
    node.wait_settled()
    return node


def assert_nothing_was_lost(node, *others):
    assert stored_ids(node.start()) == {"kept-1", *others}


def test_a_second_signal_does_not_wait_for_the_worker(make_node):
    node = started(make_node, {"node.stop_timeout": "5m"})
    os.kill(node.worker_pid, signal.SIGSTOP)

    def killed():
        if node.worker_pid:
            node.process.signal(signal.SIGTERM)
        return not node.worker_pid

    wait_until(killed, "the worker is killed", interval_s=0.1)
    assert end_of(node, SOON_S) == NOT_IN_ORDER
    assert_nothing_was_lost(node)


def test_signals_that_come_together_are_one(make_node):
    node = started(make_node)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGTERM):
        node.process.signal(number)
    assert end_of(node, SOON_S) == 0


def test_a_worker_that_does_not_stop_is_killed_when_its_time_is_over(make_node):
    node = started(make_node)
    os.kill(node.worker_pid, signal.SIGSTOP)
    node.process.signal(signal.SIGTERM)
    assert end_of(node, SOON_S) == NOT_IN_ORDER
    assert "it does not stop" in node.output()
    assert_nothing_was_lost(node)


def test_what_a_redis_that_hangs_has_not_answered_is_unknown_over_http_as_well(make_node):
    node = started(make_node, {"node.stop_timeout": "4s"})
    redis_pid = node.redis_pid
    with node.python_client() as client, RawHttp(node.http_port) as http:
        os.kill(redis_pid, signal.SIGSTOP)
        pushed = in_background(client.push, "topic", "perhaps-1", "", 3600)
        http.request("POST", "/v1/topics/topic/jobs", b'{"body": "", "delay_ms": 3600000}')
        wait_until(lambda: node.metrics()["dueq_store_operations_in_flight"] >= 2, "both are sent")
        node.process.signal(signal.SIGTERM)
        with pytest.raises(GmqError, match="^unknown:"):
            pushed.result(4 + SLACK_S)
        assert http.error() == (504, "unknown")
    assert end_of(node, 4 + SLACK_S) == NOT_IN_ORDER, "Redis had to be killed"
    assert "has not answered" in node.output()
    stored = stored_ids(node.start())
    assert "kept-1" in stored and len(stored) <= 3


def test_what_waits_for_a_redis_that_is_away_is_refused(make_node, tmp_path):
    redis = RemovableRedis(tmp_path)
    node = started(make_node, {"store.redis_server": redis.program})
    redis.remove()
    node.kill("redis")
    node.wait_store_lost()
    with node.python_client() as client:
        pushed = in_background(client.push, "topic", "never-1")
        wait_until(lambda: node.metrics()["dueq_store_operations_held"] >= 1, "it waits")
        node.process.signal(signal.SIGTERM)
        with pytest.raises(GmqError, match="^shutting_down:"):
            pushed.result(SOON_S)
    assert end_of(node, SOON_S) == 0
    redis.put_back()
    assert_nothing_was_lost(node)


def test_what_is_read_late_while_the_node_stops_is_confirmed(make_node):
    """More than the kernel takes at once; later than a store that is away would be waited for, and
    sooner than the connection's time to read is over. A machine that is too slow for that tries
    again."""
    node = started(make_node, {"node.stop_timeout": "8s"})
    for topic in (f"late-{number}" for number in range(TRIES)):
        with node.raw_client(receive_buffer=65536) as client, node.api() as api:
            for id in LATE_IDS:
                api.push(topic, BIG, id=id, ttr_ms=HOUR_MS)
                client.send_request("Pop", [topic])
            wait_until(lambda: api.counts(topic) == (0, 0, len(LATE_IDS), 0), "it has the jobs")
            node.process.signal(signal.SIGTERM)
            time.sleep(READS_AFTER_S)
            were_read = (all(client.line().endswith(b"\n") for _ in LATE_IDS)
                         and client.is_closed_by_server())
        assert end_of(node, SOON_S) == 0
        node.start()
        if were_read:
            with node.api() as api:
                for id in LATE_IDS:
                    left_ms = api.get(topic, id)["deadline_ms"] - time.time() * 1000
                    assert left_ms > HOUR_MS / 2, "its delivery was not confirmed"
            return
    pytest.fail(f"{TRIES} times they could not be read in time")


def test_an_idle_node_stops_at_once_and_without_a_warning(make_node):
    """At once: long before the time that it would have."""
    node = started(make_node, {"log.level": "warn", "node.stop_timeout": "5m"})
    before = len(node.output())
    with node.python_client():
        node.process.signal(signal.SIGTERM)
        assert end_of(node, SOON_S) == 0
    assert node.output()[before:] == ""
