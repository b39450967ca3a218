"""Counting jobs, and finding the topics that have some."""

import pytest

from harness.clock import wall_now_ms
from harness.http_api import new_job, path_of, refused
from harness.names import ODD_TOPICS
from harness.wait import wait_until


def test_a_topic_that_nobody_has_used_has_no_jobs(api, topic):
    assert api.topic(topic) == {"topic": topic, "delayed": 0, "ready": 0, "reserved": 0,
                                "dead": 0, "oldest_ready_age_ms": None, "next_due_in_ms": None,
                                "paused": False, "paused_until_ms": None}


def test_jobs_are_counted_by_state(api, topic):
    api.push_all(topic, [new_job(delay_ms=60000)] * 3 + [new_job()] * 6)
    api.pop(topic, count=2)
    assert api.counts(topic) == (3, 4, 2, 0)


def test_the_next_due_time_is_the_first_one(api, topic):
    for delay_ms in (90000, 30000, 60000):
        api.push(topic, delay_ms=delay_ms)
    assert 0 < api.topic(topic)["next_due_in_ms"] <= 30000
    assert api.topic(topic)["oldest_ready_age_ms"] is None


def test_the_age_is_that_of_the_oldest_ready_job(api, topic):
    api.push(topic, id="old")
    wait_until(lambda: api.topic(topic)["oldest_ready_age_ms"] > 100, "it ages")
    young_due_ms = api.push(topic, id="young")["due_ms"]
    assert api.topic(topic)["oldest_ready_age_ms"] > 100
    assert api.pop_one(topic)["id"] == "old"
    assert api.topic(topic)["oldest_ready_age_ms"] <= wall_now_ms() - young_due_ms
    assert api.pop_one(topic)["id"] == "young"
    assert api.topic(topic)["oldest_ready_age_ms"] is None


def test_the_age_is_told_behind_cancelled_jobs(api, topic):
    for id in ("one", "two", "three"):
        api.push(topic, id=id)
    for id in ("one", "two"):
        api.cancel(topic, id)
    assert api.topic(topic)["oldest_ready_age_ms"] is not None
    api.cancel(topic, "three")
    assert api.topic(topic)["oldest_ready_age_ms"] is None


# ---- the list ----


@pytest.fixture
def crowded(make_node):
    """A node with 150 topics, and what each has."""
    node = make_node().start()
    with node.api() as api:
        counts = {}
        for number in range(150):
            topic = f"topic-{number}"
            jobs = [new_job()] * (number % 3 + 1) + [new_job(delay_ms=60000)] * (number % 2)
            api.push_all(topic, jobs)
            counts[topic] = (number % 2, number % 3 + 1, 0, 0)
        yield api, counts


def counted(topics):
    return {name: tuple(each[state] for state in ("delayed", "ready", "reserved", "dead"))
            for name, each in topics.items()}


@pytest.mark.parametrize("limit", [1, 7, 100, 1000])
def test_all_topics_with_their_counts_on_pages_of_any_size(crowded, limit):
    api, counts = crowded
    assert counted(api.all_topics(limit=limit)) == counts


def test_a_page_is_no_longer_than_wanted(crowded):
    api, counts = crowded
    page = api.topics(limit=10)
    assert len(page["topics"]) <= 10 and page["next"]
    assert len(api.topics()["topics"]) <= 100
    assert len(api.topics(limit=1000)["topics"]) == 150


def test_topics_that_stay_are_listed_whatever_comes_and_goes(crowded):
    api, counts = crowded
    stay = {name for number, name in enumerate(counts) if number % 3 == 0}
    listed, cursor, step = set(), {}, 0
    while True:
        page = api.topics(limit=5, **cursor)
        listed |= {each["topic"] for each in page["topics"]}
        api.push(f"new-{step}")
        gone = f"topic-{step * 3 + 1}"
        if gone in counts:
            while api.pop(gone, count=64, ttr_ms=0):
                pass
        step += 1
        if page["next"] is None:
            break
        cursor = {"cursor": page["next"]}
    assert stay <= listed


def test_topics_without_jobs_leave_the_list(make_node):
    node = make_node().start()
    with node.api() as api:
        api.push("leaves", id="1")
        assert "leaves" in api.all_topics()
        api.ack(api.pop_one("leaves"))
        wait_until(lambda: "leaves" not in counted_with_jobs(api), "it is not listed any more")


def counted_with_jobs(api):
    return {name for name, counts in counted(api.all_topics()).items() if any(counts)}


def test_odd_names_are_listed(make_node):
    node = make_node().start()
    with node.api() as api:
        for each in ODD_TOPICS:
            api.push(each)
        assert set(api.all_topics(limit=2)) == set(ODD_TOPICS)


def test_an_empty_node_has_no_topics(make_node):
    with make_node().start().api() as api:
        assert api.all_topics() == {}


@pytest.mark.parametrize("query, code", [
    ("limit=0", "out_of_range"), ("limit=1001", "out_of_range"), ("limit=x", "bad_request"),
    ("cursor=", "bad_request"), ("cursor=%00", "bad_request"), ("cursor=%F0%9F%A6%86", "bad_request"),
    ("cursor=" + "1" * 2000, "bad_request"), ("page=2", "bad_request")])
def test_a_query_that_makes_no_sense_is_refused_and_named(api, query, code):
    with refused(code, query.partition("=")[0]):
        api.done("GET", f"/v1/topics?{query}", is_wrong=True)


@pytest.mark.parametrize("cursor", ["x", "1", "64.00", "999999.", "0.0", "0.zz", "-1.", "0.00.00",
                                    "99999999999999999999.00"])
def test_a_made_up_cursor_is_refused_or_harmless(api, cursor):
    reply = api.ask("GET", f"/v1/topics?cursor={cursor}")
    assert reply.status == 200 or reply.json["error"]["code"] == "bad_request"


def test_a_slash_at_the_end_is_another_path(api, topic):
    for target in ("/v1/topics/", path_of("topics", topic) + "/"):
        assert api.ask("GET", target, is_wrong=True).status == 404
