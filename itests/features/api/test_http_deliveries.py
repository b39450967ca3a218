"""Following what a node hands out, as `dueqctl tail` does."""

import pytest

from harness.background import in_background
from harness.clock import wall_now_ms
from harness.http_api import new_job, refused
from harness.http_raw import RawHttp
from harness.wait import wait_until

FOLLOWERS_MAX = 100


@pytest.fixture
def follow(node):
    """follow(**query): everything since the last call, or since the start of the test."""
    with node.api() as api:
        after = [api.deliveries()["next"]]

        def more(**query):
            page = api.deliveries(after=after[0], **query)
            after[0] = page["next"]
            assert page["missed"] == 0
            return page["deliveries"]

        yield more


def all_of(follow, count, **query):
    found = []
    wait_until(lambda: found.extend(follow(wait_ms=1000, **query)) or len(found) >= count,
               f"{count} deliveries are told")
    assert len(found) == count
    return found


def test_a_job_that_was_handed_over_is_told(api, topic, follow):
    before_ms = wall_now_ms()
    api.push(topic, id="seen")
    api.pop_one(topic)
    (seen,) = all_of(follow, 1)
    assert (seen["topic"], seen["id"], seen["tries"]) == (topic, "seen", 1)
    assert int(before_ms) <= seen["at_ms"] <= wall_now_ms() + 1
    assert "127.0.0.1" in seen["client"]


def test_lateness_is_told_where_the_consumer_was_waiting(api, node, topic, follow):
    waiting = in_background(_pop, node, topic)
    wait_until(lambda: node.metrics()["dueq_consumers_waiting"] == 1, "it waits")
    api.push(topic, id="awaited", delay_ms=200)
    waiting.result(20)
    api.push(topic, id="lay-around")
    api.pop_one(topic)
    awaited, other = all_of(follow, 2)
    assert awaited["late_ms"] is not None and other["id"] == "lay-around"


def _pop(node, topic):
    with node.api() as api:
        return api.pop_one(topic)


def test_the_order_and_the_numbers(api, topic, follow):
    api.push_all(topic, [new_job(id=f"{number}") for number in range(100)])
    for _ in range(10):
        api.pop(topic, count=10)
    told = all_of(follow, 100)
    assert [each["id"] for each in told] == [f"{number}" for number in range(100)]
    first = told[0]["seq"]
    assert [each["seq"] for each in told] == list(range(first, first + 100))


def test_of_one_topic_only(api, topic, follow):
    other = topic + "-other"
    for each in (other, topic, other, topic):
        api.push(each)
        api.pop_one(each)
    assert {each["topic"] for each in all_of(follow, 2, topic=topic)} == {topic}


def test_gmq_hand_overs_are_told_too(client, topic, follow):
    client.push(topic, "by-gmq")
    client.pop(topic)
    (seen,) = all_of(follow, 1)
    assert seen["id"] == "by-gmq" and "gmq" in seen["client"]


def test_a_job_without_a_time_to_run_is_told(api, topic, follow):
    api.push(topic, id="once", ttr_ms=0)
    api.pop_one(topic)
    (seen,) = all_of(follow, 1)
    assert seen["id"] == "once"


def test_tries_are_counted(api, topic, follow):
    api.push(topic, id="twice", ttr_ms=100)
    api.pop_one(topic)
    api.pop_one(topic)
    assert [each["tries"] for each in all_of(follow, 2)] == [1, 2]


def test_a_long_poll_is_answered_when_there_is_something(node, api, topic):
    with RawHttp(node.http_port) as raw:
        raw.request("GET", "/v1/deliveries?wait_ms=600000")
        assert raw.is_silent_for(0.2)
        api.push(topic, id="news")
        api.pop_one(topic)
        assert raw.reply().json["deliveries"][0]["topic"] == topic


def test_nothing_in_time_is_an_empty_answer(api):
    page = api.deliveries(wait_ms=50)
    assert page["deliveries"] == [] and page["missed"] == 0
    assert api.deliveries(after=page["next"]) == {**page}


def test_many_follow_at_once_and_leave(node, api, topic):
    followers = [RawHttp(node.http_port) for _ in range(50)]
    for each in followers:
        each.request("GET", f"/v1/deliveries?wait_ms=600000&topic={topic}")
    for each in followers[:25]:
        each.reset()

    def told():
        api.push(topic, ttr_ms=0)
        api.pop_one(topic)
        return not any(each.is_silent_for(0.01) for each in followers[25:])

    wait_until(told, "all who stayed are told")
    for each in followers[25:]:
        assert each.reply().json["deliveries"][0]["topic"] == topic
        each.close()


def test_who_comes_too_late_is_told_how_many_were_missed(node, api, topic):
    after = api.deliveries()["next"]
    with RawHttp(node.http_port) as raw:  # somebody follows all the time
        raw.request("GET", f"/v1/deliveries?wait_ms=600000&topic={topic}-nothing")
        total = 0
        while total < 6000:
            api.push_all(topic, [new_job(ttr_ms=0)] * 1000)
            for _ in range(16):
                total += len(api.pop(topic, count=64))
        wait_until(lambda: api.deliveries()["next"] >= after + total, "all are confirmed")
        told, missed, cursor = 0, 0, after
        while True:
            page = api.deliveries(after=cursor)
            told, missed = told + len(page["deliveries"]), missed + page["missed"]
            if page["next"] == cursor:
                break
            cursor = page["next"]
    assert told + missed == total and missed > 0


@pytest.mark.parametrize("query, code", [
    ("after=-1", "out_of_range"), ("after=x", "bad_request"), ("wait_ms=3600001", "out_of_range"),
    ("topic=", "bad_topic"), ("topic=a%20b", "bad_topic"), ("since=1", "bad_request")])
def test_a_query_that_makes_no_sense_is_refused(api, query, code):
    with refused(code):
        api.done("GET", f"/v1/deliveries?{query}", is_wrong=True)


def test_a_number_from_before_a_restart_is_harmless(make_node):
    node = make_node().start()
    with node.api() as api:
        old = api.deliveries()["next"]
    node.kill("worker")
    node.wait_ready()
    with node.api() as api:
        page = api.deliveries(after=old)
        assert (page["deliveries"], page["missed"]) == ([], 0) and page["next"] > old
        api.push("topic", id="new")
        api.pop_one("topic")
        page = api.deliveries(after=page["next"], wait_ms=20000)
        assert [each["id"] for each in page["deliveries"]] == ["new"]


def test_more_who_follow_than_allowed_are_told(node, api):
    followers = [RawHttp(node.http_port) for _ in range(FOLLOWERS_MAX)]
    for each in followers:
        each.request("GET", "/v1/deliveries?wait_ms=600000")

    def one_more_is_refused():
        reply = api.ask("GET", "/v1/deliveries?wait_ms=10")
        return reply.status == 503 and reply.json["error"]["code"] == "too_many"

    wait_until(one_more_is_refused, "there is no place for one more")
    for each in followers:
        each.reset()
    wait_until(lambda: not one_more_is_refused(), "places are free again")
