"""mykit-delay's REST routes at a whole node, over Redis. Each row by raw bytes, and wrong input:
protocol/mykit/tests/.
"""
import json
import urllib.request

from harness.page import Page
from harness.ports import free_port
from harness.wait import wait_until

PORT = free_port()
NODE_SETTINGS = {"mykit.listen": f"127.0.0.1:{PORT}", "mykit.clear_all": "true",
                 "mykit.pop_wait": "1s"}


def ask(path, job=None):
    body = None if job is None else json.dumps(job).encode()
    with urllib.request.urlopen(f"http://127.0.0.1:{PORT}{path}", body, timeout=20) as reply:
        return json.load(reply)


def data_of(path, job=None):
    reply = ask(path, job)
    assert reply["success"] and reply["code"] == 200, reply
    return reply["data"]


def test_every_example_answers_what_the_page_says(node):
    page = Page("mykit.md", {"H": f"http://127.0.0.1:{PORT}"}, patterns=[r"\d+ ms"])
    assert page.check() >= 17


def test_ids_are_one_space_over_all_topics(node, topic):
    other = topic + "-other"
    for number in range(20):
        assert data_of("/push", {"topic": topic, "id": f"job-{number}", "delay": 60000,
                                 "bizKey": "größe", "subtopic": "s"}) == f"job-{number}"
    for number in range(20):
        data_of("/push", {"topic": other, "id": f"job-{number}", "bizKey": "größe"})
    for _ in range(20):
        job = data_of(f"/get/topic?topic={topic},{other}")
        assert (job["topic"], job["bizKey"], job["subtopic"]) == (other, "größe", None)
        data_of("/finish?jobId=" + job["id"])
    assert data_of(f"/get/topic?topic={topic},{other}") is None
    assert "删除 0 行" in data_of("/clearAll")


def test_a_job_goes_between_the_protocols(node, api, topic):
    data_of("/push", {"topic": topic, "id": "a", "body": "over REST", "subtopic": "s"})
    assert api.get(topic, "a")["attributes"] == [{"name": "subtopic", "value": "s"}]
    job = api.pop_one(topic)
    assert (job["id"], job["body"]) == ("a", "over REST")
    data_of("/delete?jobId=a")
    api.push(topic, "native", id="b")
    assert data_of("/get/topic?topic=" + topic)["body"] == "native"
    data_of("/finish?jobId=b")


def test_a_job_that_was_fetched_before_a_crash_is_finished_after_it(node, topic):
    data_of("/push", {"topic": topic, "id": "held-1"})
    data_of("/push", {"topic": topic, "id": "kept-1", "delay": 60000})
    assert data_of("/get/topic?topic=" + topic)["id"] == "held-1"
    wait_until(lambda: node.metrics()["dueq_deliveries_unconfirmed"] == 0, "the store knows of it")
    node.kill("worker")
    node.wait_ready()
    data_of("/finish?jobId=held-1")
    assert ask("/finish?jobId=held-1")["message"] == "Job不存在!"
    data_of("/push", {"topic": topic + "-2", "id": "kept-1"})
    assert data_of(f"/get/topic?topic={topic},{topic}-2")["topic"] == topic + "-2"
