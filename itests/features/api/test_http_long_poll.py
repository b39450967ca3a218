"""Waiting for a job: answered at once when there is one, and nothing lost to who left."""

import signal
from contextlib import ExitStack, contextmanager

import pytest

from harness.background import in_background
from harness.clock import wall_now_ms
from harness.http_api import new_job
from harness.http_raw import RawHttp
from harness.wait import holds_for, wait_until

POP = "/v1/topics/%s/pop?wait_ms=600000"


def waiting(node):
    return node.metrics()["dueq_consumers_waiting"]


@contextmanager
def pollers(node, topic, count):
    """So many consumers that wait."""
    with ExitStack() as stack:
        all_of_them = [stack.enter_context(RawHttp(node.http_port)) for _ in range(count)]
        for each in all_of_them:
            each.request("POST", POP % topic)
        wait_until(lambda: waiting(node) == count, "they wait")
        yield all_of_them


@pytest.fixture
def poller(node, topic):
    with pollers(node, topic, 1) as (raw,):
        yield raw
    wait_until(lambda: waiting(node) == 0, "nobody waits when the test is over")


def test_a_job_that_is_pushed_answers_it(api, topic, poller):
    api.push(topic, id="pushed")
    reply = poller.reply().json
    assert reply["topic"] == topic and reply["jobs"][0]["id"] == "pushed"


def test_a_job_that_falls_due_answers_it(api, topic, poller):
    due_ms = api.push(topic, id="due", delay_ms=300)["due_ms"]
    assert poller.reply().json["jobs"][0]["id"] == "due"
    assert wall_now_ms() >= due_ms


def test_a_job_that_is_released_answers_it(api, node, topic):
    api.push(topic, id="back")
    job = api.pop_one(topic)
    with pollers(node, topic, 1) as (raw,):
        api.release(job)
        assert raw.reply().json["jobs"][0]["id"] == "back"


def test_a_job_whose_time_ran_out_answers_it(api, topic):
    api.push(topic, id="expired", ttr_ms=300)
    api.pop_one(topic)
    assert api.pop_one(topic)["tries"] == 1


def test_a_list_that_is_pushed_goes_to_all_who_wait(api, node, topic):
    with pollers(node, topic, 20) as all_of_them:
        api.push_all(topic, [new_job(id=f"{number}") for number in range(20)])
        ids = {each.reply().json["jobs"][0]["id"] for each in all_of_them}
    assert ids == {f"{number}" for number in range(20)}


# ---- who leaves ----


def test_two_hundred_that_leave_are_noticed_and_get_no_job(api, node, topic):
    with pollers(node, topic, 200) as all_of_them:
        for number, each in enumerate(all_of_them):
            each.reset() if number % 2 else each.close()
        wait_until(lambda: waiting(node) == 0, "they are not waited for any more")
    api.push(topic, id="kept")
    assert api.counts(topic) == (0, 1, 0, 0)
    assert api.pop_one(topic, wait_ms=0)["tries"] == 0


def test_jobs_are_not_lost_to_those_who_leave_the_moment_they_come(api, node, topic):
    """Pollers that leave race with jobs that come: each job is still had, at once or again."""
    ids = {f"raced-{number}" for number in range(60)}
    for id in ids:
        raw = RawHttp(node.http_port)
        raw.request("POST", POP % topic)
        api.push(topic, id=id, ttr_ms=1000)
        raw.reset()
    while ids:
        job = api.pop_one(topic)
        api.ack(job)
        ids.discard(job["id"])
    assert api.counts(topic) == (0, 0, 0, 0)


# ---- bytes behind it ----


def test_a_lot_of_bytes_behind_a_long_poll_does_no_harm(api, node, topic, poller):
    sent = in_background(_send_much, poller)
    assert holds_for(lambda: waiting(node) == 1 and node.is_ready(), 0.3)
    api.push(topic, id="one")
    assert poller.reply().json["jobs"][0]["id"] == "one"
    assert sent.result(20) > 0
    for _ in range(20000):
        assert poller.reply().status == 200


def _send_much(raw):
    text = b"GET /health/live HTTP/1.1\r\nHost: h\r\n\r\n" * 20000
    raw.send(text)
    return len(text)


def test_nonsense_behind_a_long_poll_is_told_after_it(api, topic, poller):
    poller.send(b"\0\1\2 nonsense\r\n\r\n")
    assert poller.is_silent_for(0.2)
    api.push(topic, id="one")
    assert poller.reply().json["jobs"][0]["id"] == "one"
    assert poller.error() == (400, "bad_request")
    assert poller.is_closed_by_server()


# ---- the node's own troubles ----


def test_a_node_that_stops_answers_those_who_wait(make_node):
    node = make_node().start()
    with pollers(node, "topic", 1) as (raw,):
        node.stop()
        assert raw.reply().json == {"topic": None, "jobs": []}


def connects(node):
    return node.metrics()["dueq_store_connects_total"]


def test_a_consumer_goes_on_waiting_through_a_restart_of_redis(make_node):
    node = make_node().start()
    with pollers(node, "topic", 1) as (raw,), node.api() as api:
        before = connects(node)
        node.kill("redis")
        wait_until(lambda: connects(node) > before, "Redis is back")
        api.push("topic", id="after")
        assert raw.reply().json["jobs"][0]["id"] == "after"


def test_a_reload_does_not_disturb_those_who_wait(make_node):
    node = make_node().start()
    with pollers(node, "topic", 1) as (raw,), node.api() as api:
        node.process.signal(signal.SIGHUP)
        wait_until(lambda: "reload" in node.output(), "it was read again")
        api.push("topic", id="after")
        assert raw.reply().json["jobs"][0]["id"] == "after"
