"""ouqiang/delay-queue's HTTP at a whole node, over Redis. Each row by raw bytes, and wrong input:
protocol/ouqiang/tests/.
"""
import json
import urllib.request

from harness.page import Page
from harness.ports import free_port

PORT = free_port()
NODE_SETTINGS = {"ouqiang.listen": f"127.0.0.1:{PORT}"}


def ask(path, **body):
    with urllib.request.urlopen(f"http://127.0.0.1:{PORT}/{path}", json.dumps(body).encode(),
                                timeout=200) as reply:
        return json.load(reply)


def data_of(path, **body):
    reply = ask(path, **body)
    assert reply["code"] == 0, reply
    return reply["data"]


def test_every_example_answers_what_the_page_says(node):
    page = Page("ouqiang.md", {"H": f"http://127.0.0.1:{PORT}"})
    assert page.check() >= 20


def test_ids_are_one_space_over_all_topics(node, topic):
    other = topic + "-other"
    ids = [str(number) for number in range(20)] + [f"job-{number}" for number in range(20)]
    for id in ids:
        data_of("push", topic=topic, id=id, delay=3600, ttr=60, body="first")
    for id in ids:
        data_of("push", topic=other, id=id, delay=1, ttr=60, body="größe")
    popped = {data_of("pop", topic=f"{topic},{other}")["id"] for _ in ids}
    assert popped == set(ids)
    for id in ids:
        assert data_of("get", id=id)["topic"] == other
        data_of("finish", id=id)
        assert data_of("get", id=id) is None


def test_a_job_of_another_port_is_found_by_its_id(node, api, client, topic):
    api.push(topic, "over HTTP", id=topic + "-http")
    client.push(topic, topic + "-gmq", "over gmq", ttr=60)
    for id, body in ((topic + "-http", "over HTTP"), (topic + "-gmq", "over gmq")):
        assert data_of("get", id=id)["body"] == body
        data_of("delete", id=id)
    assert api.topic(topic)["ready"] == 0


def test_a_delay_may_have_all_of_its_range(node, topic):
    data_of("push", topic=topic, id=topic, delay=2 ** 31, ttr=86400)
    job = data_of("get", id=topic)
    assert job["ttr"] == 86400 and job["delay"] > 2 ** 31 + 1_700_000_000
    data_of("delete", id=topic)
