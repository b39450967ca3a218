"""Jobs so large that one answer has room for few: a pop of many brings some, the rest stays
ready, and nobody is told that there is nothing.
"""

from contextlib import ExitStack

import pytest

from harness.http_api import path_of
from harness.http_raw import RawHttp

MIB = 1 << 20
SMALL = 1024  # the largest body that takes no room
COUNT = 64


def push_large(api, topic, count, body):
    for number in range(count):
        api.push(topic, body, id=f"{number}")


def drain(api, topic):
    """The ids of each answer, until there is none."""
    answers = []
    while jobs := api.pop(topic, count=COUNT):
        answers.append([job["id"] for job in jobs])
        assert sum(len(job["body"]) for job in jobs) <= MIB + (COUNT - 1) * SMALL
        for job in jobs:
            api.ack(job)
    return answers


def test_smaller_ones_share_an_answer_and_the_rest_stays_ready(api, topic):
    push_large(api, topic, 9, body="x" * (MIB // 4))
    api.push(topic, "small", id="9")
    assert [job["id"] for job in api.pop(topic, count=COUNT)] == ["0", "1", "2", "3"]
    assert api.counts(topic) == (0, 6, 4, 0)
    assert drain(api, topic) == [["4", "5", "6", "7"], ["8", "9"]]


def ask_http(stack, node, topic):
    """A consumer's request, and how its job's id is read."""
    raw = stack.enter_context(RawHttp(node.http_port))
    raw.request("POST", path_of("topics", topic, "pop"))
    return lambda: raw.reply().json["jobs"][0]["id"]


def ask_gmq(stack, node, topic):
    raw = stack.enter_context(node.raw_client())
    raw.send_request("Pop", [topic])
    return lambda: raw.reply()["result"]["id"]


@pytest.mark.parametrize("ask", [ask_http, ask_gmq])
def test_consumers_popped_for_together_are_all_served(node, api, topic, ask):
    """None of them waits: too little room in an answer must not read as an empty topic."""
    push_large(api, topic, 40, body="x" * (MIB // 2))
    with ExitStack() as stack:
        consumers = [ask(stack, node, topic) for _ in range(40)]
        assert {job_id() for job_id in consumers} == {f"{number}" for number in range(40)}
