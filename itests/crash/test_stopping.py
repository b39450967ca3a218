"""A stop when something is in its way: it ends in time, says so with its exit code, and every
client gets the answer that is true."""

import os
import signal

import pytest

from crash.faults import stored_ids
from harness.background import in_background
from harness.gmq import GmqError
from harness.http_raw import RawHttp
from harness.process import reap_orphans
from harness.redis_programs import RemovableRedis
from harness.wait import wait_until

STOP_S = 2
SLACK_S = 30  # for a busy machine; with the waits of started() it would take a minute
NOT_IN_ORDER = 1


def started(make_node, settings=None):
    """A node with one job that must survive whatever is done to it."""
    node = make_node({"node.stop_timeout": f"{STOP_S}s", "store.hold": "1m",
                      "store.command_timeout": "1m", **(settings or {})}).start()
    with node.python_client() as client:
        client.push("topic", "kept-1", delay=3600)
    node.wait_settled()
    return node


def end_of(node, timeout_s=STOP_S + SLACK_S):
    """The exit code of a node that is being stopped."""
    code = node.process.wait(timeout_s)
    node.process = None
    reap_orphans()
    return code


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
    assert end_of(node) == NOT_IN_ORDER
    assert_nothing_was_lost(node)


def test_signals_that_come_together_are_one(make_node):
    node = started(make_node)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGTERM):
        node.process.signal(number)
    assert end_of(node) == 0


def test_a_worker_that_does_not_stop_is_killed_when_its_time_is_over(make_node):
    node = started(make_node)
    os.kill(node.worker_pid, signal.SIGSTOP)
    node.process.signal(signal.SIGTERM)
    assert end_of(node) == NOT_IN_ORDER
    assert "it does not stop" in node.output()
    assert_nothing_was_lost(node)


def test_what_a_redis_that_hangs_has_not_answered_is_unknown(make_node):
    node = started(make_node)
    redis_pid = node.redis_pid
    with node.python_client() as client:
        os.kill(redis_pid, signal.SIGSTOP)
        pushed = in_background(client.push, "topic", "perhaps-1", "", 3600)
        wait_until(lambda: node.metrics()["dueq_store_operations_in_flight"] >= 1, "it is sent")
        node.process.signal(signal.SIGTERM)
        with pytest.raises(GmqError, match="^unknown:"):
            pushed.result(STOP_S + SLACK_S)
    assert end_of(node) == NOT_IN_ORDER, "Redis had to be killed"
    assert "has not answered" in node.output()
    stored = stored_ids(node.start())
    assert stored - {"perhaps-1"} == {"kept-1"}


def test_http_waits_for_the_store_as_long_as_gmq_does(make_node):
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


def test_what_waits_for_a_redis_that_is_away_is_refused(make_node, tmp_path):
    redis = RemovableRedis(tmp_path)
    node = started(make_node, {"store.redis_server": redis.program})
    redis.remove()
    node.kill("redis")
    wait_until(lambda: not node.is_ready(), "the node has noticed")
    with node.python_client() as client:
        pushed = in_background(client.push, "topic", "never-1")
        wait_until(lambda: node.metrics()["dueq_store_operations_held"] >= 1, "it waits")
        node.process.signal(signal.SIGTERM)
        with pytest.raises(GmqError, match="^shutting_down:"):
            pushed.result(STOP_S + SLACK_S)
    assert end_of(node) == 0
    redis.put_back()
    assert_nothing_was_lost(node)


def test_an_idle_node_stops_at_once_and_without_a_warning(make_node):
    """At once: long before the time that it would have."""
    node = started(make_node, {"log.level": "warn", "node.stop_timeout": "5m"})
    before = len(node.output())
    with node.python_client():
        node.process.signal(signal.SIGTERM)
        assert end_of(node) == 0
    assert node.output()[before:] == ""
