"""Something is away or hangs for a while: what clients notice of it, and what not."""

import os
import signal
from unittest.mock import patch

import pytest

from crash.faults import stored_ids
from harness.clock import wall_now_ms
from harness.process import Process
from harness.redis_programs import RemovableRedis
from harness.wait import wait_until
from judge.stalls import told_stalls


@pytest.fixture
def redis(tmp_path):
    return RemovableRedis(tmp_path)


def node_on(redis, make_node, settings=None):
    settings = {"store.redis_server": redis.program, "warden.backoff_max": "100ms",
                **(settings or {})}
    return make_node(settings).start()


def take_away(redis, node):
    redis.remove()
    node.kill("redis")
    node.wait_store_lost()


def test_jobs_that_fell_due_while_redis_was_away_come_at_once(make_node, redis):
    node = node_on(redis, make_node)
    with node.python_client() as client:
        client.push("topic", "missed-1", delay=1)
        due_ms = wall_now_ms() + 1000
        take_away(redis, node)
        wait_until(lambda: wall_now_ms() > due_ms, "its time passes")
        redis.put_back()
        assert client.pop_patiently("topic")["id"] == "missed-1"


def test_a_worker_that_hangs_is_replaced(make_node):
    node = make_node({"warden.hang_timeout": "1s"}).start()
    hung = node.worker_pid
    with node.python_client() as client:
        client.push("topic", "kept-1", "b")
    os.kill(hung, signal.SIGSTOP)
    wait_until(lambda: node.worker_pid not in (None, hung), "the warden replaces it")
    node.wait_ready()
    with node.python_client() as client:
        assert client.pop_patiently("topic")["id"] == "kept-1"
    (stall,) = [each for each in told_stalls("n1", node.output()) if each.is_last]
    assert stall.ms >= 1000, "the log says for how long it gave no sign of life"


def test_connections_made_while_the_worker_is_away_are_served_by_the_next(make_node):
    """The warden holds the listening socket: a client waits, it is not refused."""
    node = make_node().start()
    for number in range(5):
        node.kill("worker")
        with node.python_client() as client:
            assert client.push("topic", f"patient-{number}") == "success"


def test_ctrl_c_in_a_terminal_stops_in_order(make_node):
    """The terminal sends SIGINT to the whole process group."""
    node = make_node()
    with patch.object(Process, "detached", True):  # a process group of its own, as in a terminal
        node.start()
    with node.python_client() as client:
        client.push("topic", "kept-2", delay=60)
    os.killpg(node.warden_pid, signal.SIGINT)
    assert node.process.wait() == 0
    node.process = None
    node.start()
    assert stored_ids(node) == {"kept-2"}
