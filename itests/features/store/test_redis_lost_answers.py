"""Pushes whose answers are lost with the connection: Redis is silent for too long, and does what
it was sent when it goes on. The client gets a true answer, and each job exists once."""

import pytest

from harness.background import in_background
from harness.process import frozen
from harness.wait import wait_until


@pytest.fixture
def node(make_node, redis):
    node = make_node({"store.redis": redis.address, "store.command_timeout": "500ms",
                      "store.hold": "60s", "store.breaker.after": "60s",
                      "store.breaker.failures": "100"}).start()
    node.wait_settled()
    return node


def is_up(node):
    return node.metrics()["dueq_store_up"] == 1


def while_redis_is_silent(node, redis, call, *arguments):
    """What the call answers in the end; Redis goes on when the node has given up its link."""
    with frozen(redis.process.pid):
        answer = in_background(call, *arguments)
        wait_until(lambda: not is_up(node), "the link was given up")
        assert not answer.done()
    return answer.result()


def test_each_job_of_a_list_is_pushed_once(node, redis, topic):
    jobs = [{"body": f"{n}", "delay_ms": 0 if n % 2 else 3600000} for n in range(100)]
    with node.api() as api:
        results = while_redis_is_silent(node, redis, api.push_all, topic, jobs)
        assert len({each["id"] for each in results}) == 100
        assert api.counts(topic) == (50, 50, 0, 0)
        found = api.all_jobs(topic, state="delayed") + api.all_jobs(topic, state="ready")
        assert {job["id"] for job in found} == {each["id"] for each in results}
        assert {job["id"]: job["due_ms"] for job in found} == {each["id"]: each["due_ms"]
                                                              for each in results}


@pytest.mark.parametrize("mode", ["reject", "replace", "ignore"])
def test_an_id_of_the_client_is_pushed_once(node, redis, topic, mode):
    def push(api):
        return api.push(topic, "body", id="mine", mode=mode)

    with node.api() as api:
        assert while_redis_is_silent(node, redis, push, api)["id"] == "mine"
        assert api.counts(topic) == (0, 1, 0, 0)


def test_an_unmodified_client_of_gmq_gets_its_answer(node, redis, topic):
    with node.python_client() as client:
        while_redis_is_silent(node, redis, lambda: client.push(topic, "g-1", "b", ttr=60))
        assert client.pop(topic)["id"] == "g-1"
    with node.api() as api:
        assert api.counts(topic) == (0, 0, 1, 0)
