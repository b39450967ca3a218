"""Something is away or hangs for a while: what clients notice of it, and what not."""

import os
import signal
from unittest.mock import patch

import pytest

from crash.faults import stored_ids
from harness.background import in_background
from harness.clock import wall_now_ms
from harness.gmq import GmqError
from harness.process import Process
from harness.redis_programs import RemovableRedis
from harness.wait import holds_for, wait_until


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


def test_requests_are_held_while_redis_is_away(make_node, redis):
    node = node_on(redis, make_node)
    with node.python_client() as client, node.python_client() as other:
        take_away(redis, node)
        pushed = in_background(client.push, "topic", "held-1")
        popped = in_background(other.pop, "topic")
        assert holds_for(lambda: not pushed.done() and not popped.done(), 0.3)
        redis.put_back()
        assert pushed.result(20) == "success"
        assert popped.result(20)["id"] == "held-1"


def test_a_redis_that_stays_away_is_a_clear_error_and_nothing_happened(make_node, redis):
    node = node_on(redis, make_node, {"store.hold": "300ms"})
    with node.python_client() as client:
        client.push("topic", "before-1", delay=60)
        take_away(redis, node)
        with pytest.raises(GmqError, match="^unavailable:"):
            client.push("topic", "during-1")
        redis.put_back()
        node.wait_ready()
    assert stored_ids(node) == {"before-1"}


def test_a_blocked_consumer_survives_a_restart_of_redis(make_node):
    node = make_node({"gmq.pop_wait": "20s"}).start()
    node.wait_settled()
    with node.raw_client() as waiting, node.python_client() as producer:
        waiting.send_request("Pop", ["topic"])
        wait_until(lambda: node.metrics()["dueq_consumers_waiting"] == 1, "it waits")
        node.kill("redis")
        wait_until(lambda: _push(producer, "after-1"), "the push is taken")
        assert waiting.reply()["result"]["id"] == "after-1"


def _push(client, id):
    """True once it is known to be there; Redis may die with the first answer."""
    try:
        return client.push("topic", id) == "success"
    except GmqError as error:
        assert str(error).startswith("unknown:") or "has exist" in str(error), error
        return "has exist" in str(error)


def test_jobs_that_fell_due_while_redis_was_away_come_at_once(make_node, redis):
    node = node_on(redis, make_node)
    with node.python_client() as client:
        client.push("topic", "missed-1", delay=1)
        due_ms = wall_now_ms() + 1000
        take_away(redis, node)
        wait_until(lambda: wall_now_ms() > due_ms, "its time passes")
        redis.put_back()
        assert client.pop("topic")["id"] == "missed-1"


def test_a_redis_that_hangs_is_an_unknown_answer(make_node):
    node = make_node({"store.command_timeout": "500ms", "store.hold": "500ms"}).start()
    node.wait_settled()
    redis_pid = node.redis_pid
    with node.python_client() as client:
        os.kill(redis_pid, signal.SIGSTOP)
        try:
            with pytest.raises(GmqError, match="^unknown:"):
                client.push("topic", "perhaps-1")
        finally:
            os.kill(redis_pid, signal.SIGCONT)
        node.wait_ready()
        wait_until(lambda: _push(client, "perhaps-1"), "repeating it is safe")
    assert stored_ids(node) == {"perhaps-1"}


def test_a_worker_that_hangs_is_replaced(make_node):
    node = make_node({"warden.hang_timeout": "1s"}).start()
    hung = node.worker_pid
    with node.python_client() as client:
        client.push("topic", "kept-1", "b")
    os.kill(hung, signal.SIGSTOP)
    wait_until(lambda: node.worker_pid not in (None, hung), "the warden replaces it")
    node.wait_ready()
    with node.python_client() as client:
        assert client.pop("topic")["id"] == "kept-1"


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
