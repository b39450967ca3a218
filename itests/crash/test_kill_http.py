"""The promises of test_kill.py, made over HTTP: kill -9 under load, with leases and long polls."""

import pytest

from crash.faults import kill_at_random_moments, stored_ids
from crash.http_load import HttpClient
from crash.load import Load
from crash.test_kill import KILLS, drain, slow_node, verdict
from harness.wait import wait_until


@pytest.mark.parametrize("who", ["worker", "redis", "all"])
def test_kill_of(who, make_node, tmp_path, dice):
    node = slow_node(make_node, tmp_path, sync_ms=4)
    with Load(node.http_port, dice, connect=HttpClient) as load:
        kill_at_random_moments(node, who, load.history, dice, KILLS)
    drain(node)
    history = load.finish()
    assert len(history.hand_overs) > 100, "there was no load to speak of"
    assert verdict(history, stored_ids(node)) == []


def test_a_graceful_stop_under_load_loses_nothing(make_node, tmp_path, dice):
    node = slow_node(make_node, tmp_path, sync_ms=4)
    with Load(node.http_port, dice, connect=HttpClient) as load:
        for _ in range(2):
            seen = len(load.history.hand_overs)
            wait_until(lambda: len(load.history.hand_overs) > seen + 200, "load is on")
            node.stop()
            node.start()
    drain(node)
    assert verdict(load.finish(), stored_ids(node)) == []
