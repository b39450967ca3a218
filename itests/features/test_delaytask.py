"""The delay/task service's add and pull at a whole node, over Redis. Each row by raw bytes, and wrong
input: protocol/delaytask/tests/.
"""
import json
import time
import urllib.request

from harness.page import Page
from harness.ports import free_port
from harness.wait import wait_until

PORT = free_port()
NODE_SETTINGS = {"delaytask.listen": f"127.0.0.1:{PORT}"}


def ask(path, **body):
    with urllib.request.urlopen(f"http://127.0.0.1:{PORT}/delay/task/{path}",
                                json.dumps(body).encode(), timeout=20) as reply:
        return json.load(reply)


def add(topic, content, moment):
    reply = ask("add", topic=topic, content=content, timing_moment=moment)
    assert reply["dm_error"] == 0, reply
    return reply["task_id"]


def test_every_example_answers_what_the_page_says(node):
    page = Page("delaytask.md", {"H": f"http://127.0.0.1:{PORT}"})
    assert page.check() >= 15


def test_tasks_come_when_they_are_due_and_once(node, topic):
    moment = int(time.time()) + 2
    ids = [add(topic, f"größe {number}", moment) for number in range(20)]
    assert len(set(ids)) == 20
    pulled = []

    def pull():
        reply = ask("pull", topic=topic)
        if reply["dm_error"] == 0:
            assert time.time() >= moment
            pulled.append(reply["content"])
        return len(pulled) == 20

    wait_until(pull, "all are pulled")
    assert sorted(pulled) == sorted(f"größe {number}" for number in range(20))
    assert ask("pull", topic=topic)["dm_error"] == 404
    assert {ask("pull", topic=topic, task_id=id)["dm_error"] for id in ids} == {404}


def test_a_task_can_be_pulled_by_its_id(node, api, topic):
    ids = [add(topic, str(number), 1_700_000_000) for number in range(5)]
    assert ask("pull", topic=topic, task_id=ids[3])["content"] == "3"
    assert [ask("pull", topic=topic)["content"] for _ in range(4)] == ["0", "1", "2", "4"]
    assert api.topic(topic)["ready"] == 0
