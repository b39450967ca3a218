"""A Redis that comes back with an earlier state of its data: said once, with what is lost; who
waits looks again, and no id comes twice."""

import shutil

import pytest

from harness.background import in_background
from harness.wait import wait_until

OLDER = "this Redis has rolled back"
COUNTED = "jobs are left"


@pytest.fixture
def node(make_node, redis):
    node = make_node({"store.redis": redis.address, "log.format": "json", "store.hold": "60s"})
    return node.start()


def back_up(redis):
    shutil.copytree(redis.directory / "appendonlydir", redis.directory / "backup")


def restore(redis):
    redis.destroy()
    shutil.rmtree(redis.directory / "appendonlydir")
    shutil.copytree(redis.directory / "backup", redis.directory / "appendonlydir")
    redis.start()


def lines(node, words):
    return [each["message"] for each in node.log_records() if words in each["message"]]


def waiting(node):
    return sum(value for name, value in node.metrics().items() if "waiting" in name)


def test_what_is_lost_is_said_once_and_life_goes_on(node, redis, topic):
    with node.api() as api, node.api() as consumer:
        kept = [api.push(topic, "kept")["id"] for _ in range(3)]
        api.push(f"{topic}-again", "once more")
        back_up(redis)
        api.ack(api.pop_one(f"{topic}-again"))
        lost = [api.push(topic, "lost")["id"] for _ in range(2)]
        wait_until(lambda: node.metrics().get('dueq_jobs_by_state{state="ready"}') == 5,
                   "the jobs have been counted")
        popped = in_background(consumer.pop_one, f"{topic}-again")
        wait_until(lambda: waiting(node) == 1, "the consumer waits")
        restore(redis)
        assert popped.result()["body"] == "once more"
        assert [job["id"] for job in api.all_jobs(topic, state="ready")] == kept
        assert int(api.push(topic, "new")["id"]) > int(lost[-1])
        wait_until(lambda: lines(node, COUNTED), "the jobs have been counted again")
    (line,) = lines(node, OLDER)
    assert "of the last pushes of this node 2 are lost" in line
    (line,) = lines(node, COUNTED)
    assert "there were 5 when they were last counted" in line
    assert len(node.log_records()) == len(node.output().splitlines()), "each line is an object"
