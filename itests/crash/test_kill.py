"""kill -9 at random moments under load: every promise that was made is kept, over gmq, and over HTTP
with leases and long polls.

Redis's fsync is made slow, so that there is always something between a write and the disk.
"""

import pytest

from crash.faults import kill_at_random_moments, stored_ids
from crash.http_load import HttpClient
from crash.judge import judge
from crash.load import Load
from harness.gmq import PythonClient
from harness.redis_programs import slow_redis
from harness.wait import wait_until
from judge.journal import HandOver

KILLS = 4
DRAIN_S = 40


def slow_node(make_node, tmp_path, sync_ms, appendfsync="always"):
    settings = {"store.redis_server": slow_redis(tmp_path, sync_ms),
                "store.appendfsync": appendfsync, "gmq.pop_wait": "500ms"}
    return make_node(settings).start()


def load_over(protocol, node, dice):
    if protocol == "http":
        return Load(node.http_port, dice, connect=HttpClient)
    return Load(node.gmq_port, dice, connect=PythonClient)


def verdict(journal, stored):
    found = judge(journal, stored)
    return [f"{len(found)} violations", *found[:20]] if found else []


def drain(node):
    wait_until(lambda: stored_ids(node) == set(), "consumers empty the store", DRAIN_S)


@pytest.mark.parametrize("protocol, who", [
    ("gmq", "worker"), ("gmq", "redis"), ("gmq", "warden"), ("gmq", "all"),
    ("http", "worker"), ("http", "redis"), ("http", "all")])
def test_kill_of(protocol, who, make_node, tmp_path, dice):
    node = slow_node(make_node, tmp_path, sync_ms=4)
    with load_over(protocol, node, dice) as load:
        kill_at_random_moments(node, who, load.journal, dice, KILLS)
        wait_until(lambda: len(load.journal.of(HandOver)) > 100, "there was load to speak of")
    drain(node)
    assert verdict(load.finish(), stored_ids(node)) == []


def test_kills_of_everything_in_turn(make_node, tmp_path, dice):
    node = slow_node(make_node, tmp_path, sync_ms=4)
    with Load(node.gmq_port, dice) as load:
        for who in dice.sample(["worker", "redis", "warden", "all"] * 2, 8):
            kill_at_random_moments(node, who, load.journal, dice, 1)
    drain(node)
    assert verdict(load.finish(), stored_ids(node)) == []


def pushes_that_survive(node, dice, rounds):
    """Pushes only, due in an hour; Redis is killed in between. What the judge says."""
    found = []
    for _ in range(rounds):
        load = Load(node.gmq_port, dice, producers=8, consumers=0, delays_s=(3600,))
        before = stored_ids(node)
        with load:
            kill_at_random_moments(node, "redis", load.journal, dice, 2)
        new = stored_ids(node) - before
        found += judge(load.finish(), new)
    return found


def test_every_acknowledged_push_survives_with_appendfsync_always(make_node, tmp_path, dice):
    node = slow_node(make_node, tmp_path, sync_ms=4)
    assert pushes_that_survive(node, dice, rounds=3) == []


def test_with_appendfsync_everysec_the_judge_sees_acknowledged_pushes_lost(
        make_node, tmp_path, dice):
    """What the test above could not fail on would prove nothing."""
    node = slow_node(make_node, tmp_path, sync_ms=1500, appendfsync="everysec")

    def losses():
        return {each.rule for each in pushes_that_survive(node, dice, rounds=1)}

    assert wait_until(losses, "everysec loses something", timeout_s=60) == {"LOST"}


@pytest.mark.parametrize("protocol", ["gmq", "http"])
def test_a_graceful_stop_under_load_loses_nothing(protocol, make_node, tmp_path, dice):
    node = slow_node(make_node, tmp_path, sync_ms=4)
    with load_over(protocol, node, dice) as load:
        for _ in range(2):
            seen = len(load.journal.of(HandOver))
            wait_until(lambda: len(load.journal.of(HandOver)) > seen + 200, "load is on")
            node.stop()  # asserts that it exits with 0 and leaves nothing running
            node.start()
    drain(node)
    assert verdict(load.finish(), stored_ids(node)) == []
