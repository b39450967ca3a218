"""Redis ends and comes back, or is silent for too long and does what it was sent when it goes on:
clients in the manner of the published ones see a pause, all get a true answer, and each job exists
once."""

import pytest

from crash.watch import WatchedLoad, assert_all_is_well, held, node_on, places
from harness.background import in_background
from harness.dueqctl import REFUSED, UNKNOWN, Dueqctl
from harness.gmq import GmqError
from harness.http_api import refused
from harness.process import frozen
from harness.wait import wait_until

MODES = ("reject", "replace", "ignore")


@pytest.mark.parametrize("end", ["stop", "destroy"])
def test_a_restart_under_load_is_a_pause_and_no_error(end, redis, make_node, dice):
    """In order, and by kill -9."""
    node = node_on(redis, make_node)
    with WatchedLoad(node.gmq_port, dice) as load:
        for _ in range(3):
            load.wait_for_more()
            getattr(redis, end)()
            wait_until(lambda: held(node) > 0, "requests wait")
            redis.start()
        load.wait_for_more()
    assert_all_is_well(redis, load)
    assert load.errors.seen() == set()


def test_past_its_time_it_is_refused_in_every_protocol(redis, make_node):
    node = node_on(redis, make_node, {"store.hold": "300ms"})
    redis.stop()
    node.wait_store_lost()
    with node.python_client() as client, node.api() as api:
        with pytest.raises(GmqError) as error:
            client.push("t", "1")
        assert str(error.value) == "unavailable: the store is unavailable; nothing happened"
        with refused("unavailable") as error:
            api.push("t", id="2")
        assert error.value.status == 503 and error.value.headers["retry-after"] == "1"
    done = Dueqctl(node.url())("push", "t", "x", "--id", "3")
    assert done.code == REFUSED and "nothing happened" in done.complaint
    assert "Try again in 1 s." in done.complaint
    redis.start()
    node.wait_ready()
    assert places(redis) == []


def test_past_the_queue_it_is_refused_in_every_protocol(redis, make_node):
    node = node_on(redis, make_node, {"store.hold_max": "1"})
    redis.stop()
    node.wait_store_lost()
    with node.python_client() as first, node.python_client() as client, node.api() as api:
        waiting = in_background(first.push, "t", "1")
        wait_until(lambda: held(node) == 1, "it waits")
        with pytest.raises(GmqError) as error:
            client.push("t", "2")
        assert str(error.value) == ("too_many: too many operations wait for the store "
                                    "(store.hold_max, or 256 MiB); try again later")
        with refused("too_many") as error:
            api.push("t", id="3")
        assert error.value.status == 503 and error.value.headers["retry-after"] == "1"
        done = Dueqctl(node.url())("push", "t", "x", "--id", "4")
        assert done.code == REFUSED and "Try again in 1 s." in done.complaint
        redis.start()
        assert waiting.result() == "success"
        assert client.pop("t")["id"] == "1" and client.pop_or_none("t") is None


def test_what_may_have_happened_says_so_in_every_protocol(redis, make_node):
    """A cancel is not said again by the node: the id may have begun a new life since."""
    node = node_on(redis, make_node, {"store.command_timeout": "1s"})
    with node.api() as api:
        for id in "12":
            api.push("t", id=id, delay_ms=3600000)
        with frozen(redis.process.pid):
            with refused("unknown") as error:
                api.cancel("t", "1")
            assert error.value.status == 504 and "retry-after" not in error.value.headers
        node.wait_ready()
        wait_until(lambda: api.counts("t")[0] == 1, "it has happened")
        with frozen(redis.process.pid):
            done = Dueqctl(node.url())("cancel", "t", "2")
            assert done.code == UNKNOWN and "may have happened" in done.complaint


def test_each_job_of_a_list_and_each_id_of_a_client_is_pushed_once(redis, make_node, topic):
    node = node_on(redis, make_node, {"store.command_timeout": "500ms",
                                      "store.breaker.failures": "100"})
    jobs = [{"body": f"{n}", "delay_ms": 0 if n % 2 else 3600000} for n in range(100)]
    apis = [node.api() for _ in MODES]
    with node.api() as api:
        with frozen(redis.process.pid):
            listed = in_background(api.push_all, topic, jobs)
            own = [in_background(lambda each=each, mode=mode: each.push(f"{topic}-{mode}", id="mine",
                                                                        mode=mode))
                   for each, mode in zip(apis, MODES)]
            node.wait_store_lost()
            assert not any(answer.done() for answer in (listed, *own))
        results = listed.result()
        assert [answer.result()["id"] for answer in own] == ["mine"] * len(MODES)
        assert [api.counts(f"{topic}-{mode}") for mode in MODES] == [(0, 1, 0, 0)] * len(MODES)
        assert len({each["id"] for each in results}) == 100
        assert api.counts(topic) == (50, 50, 0, 0)
        found = api.all_jobs(topic, state="delayed") + api.all_jobs(topic, state="ready")
        assert {job["id"]: job["due_ms"] for job in found} == {each["id"]: each["due_ms"]
                                                              for each in results}
    for each in apis:
        each.close()
