"""kill -9 at random moments under load: every promise that was made is kept.

Redis's fsync is made slow, so that there is always something between a write and the disk.
"""

import pytest

from crash.faults import kill_and_recover, kill_at_random_moments, stored_ids
from crash.judge import History, judge
from crash.load import Load
from harness.redis_programs import slow_redis
from harness.wait import wait_until

KILLS = 4
DRAIN_S = 40


def slow_node(make_node, tmp_path, sync_ms, appendfsync="always"):
    settings = {"store.redis_server": slow_redis(tmp_path, sync_ms),
                "store.appendfsync": appendfsync, "gmq.pop_wait": "500ms"}
    return make_node(settings).start()


def verdict(history, stored):
    found = judge(history, stored)
    return [f"{len(found)} violations", *found[:20]] if found else []


def drain(node):
    wait_until(lambda: stored_ids(node) == set(), "consumers empty the store", DRAIN_S)


@pytest.mark.parametrize("who", ["worker", "redis", "warden", "all"])
def test_kill_of(who, make_node, tmp_path, dice):
    node = slow_node(make_node, tmp_path, sync_ms=4)
    with Load(node.gmq_port, dice) as load:
        kill_at_random_moments(node, who, load.history, dice, KILLS)
    drain(node)
    history = load.finish()
    assert len(history.hand_overs) > 100, "there was no load to speak of"
    assert verdict(history, stored_ids(node)) == []


def test_kills_of_everything_in_turn(make_node, tmp_path, dice):
    node = slow_node(make_node, tmp_path, sync_ms=4)
    with Load(node.gmq_port, dice) as load:
        for who in dice.sample(["worker", "redis", "warden", "all"] * 2, 8):
            kill_at_random_moments(node, who, load.history, dice, 1)
    drain(node)
    assert verdict(load.finish(), stored_ids(node)) == []


def pushes_that_survive(node, dice, rounds):
    """Pushes only, due in an hour; Redis is killed in between. What the judge says."""
    found = []
    for _ in range(rounds):
        load = Load(node.gmq_port, dice, producers=8, consumers=0, delays_s=(3600,))
        before = stored_ids(node)
        with load:
            kill_at_random_moments(node, "redis", load.history, dice, 2)
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


def test_a_graceful_stop_under_load_loses_nothing(make_node, tmp_path, dice):
    node = slow_node(make_node, tmp_path, sync_ms=4)
    with Load(node.gmq_port, dice) as load:
        for _ in range(2):
            seen = len(load.history.hand_overs)
            wait_until(lambda: len(load.history.hand_overs) > seen + 200, "load is on")
            node.stop()  # asserts that it exits with 0 and leaves nothing running
            node.start()
    drain(node)
    assert verdict(load.finish(), stored_ids(node)) == []


def test_a_restart_without_load_keeps_every_state(make_node):
    node = make_node().start()
    with node.python_client() as client:
        client.push("delayed", "delayed-1", "d", delay=2)
        client.push("ready", "ready-1", "r")
        client.push("reserved", "reserved-1", "v", ttr=2)
        client.pop("reserved")
    kill_and_recover(node, "all", History())
    with node.python_client() as client:
        assert client.pop("ready")["body"] == "r"
        for topic, body in (("delayed", "d"), ("reserved", "v")):
            job = wait_until(lambda topic=topic: client.pop_or_none(topic), f"{topic} comes")
            assert job["body"] == body
