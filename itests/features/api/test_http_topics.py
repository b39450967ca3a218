"""Topics and their jobs, listed page by page, and what is done to many jobs at once."""

import pytest

from harness.http_api import new_job
from harness.names import ODD_TOPICS
from harness.wait import wait_until

STATES = ("delayed", "ready", "reserved", "dead")


# ---- topics ----


def test_the_next_due_time_is_the_first_one(api, topic):
    for delay_ms in (90000, 30000, 60000):
        api.push(topic, delay_ms=delay_ms)
    assert 0 < api.topic(topic)["next_due_in_ms"] <= 30000
    assert api.topic(topic)["oldest_ready_age_ms"] is None


def test_all_topics_with_their_counts_on_pages_of_any_size(make_node):
    with make_node().start().api() as api:
        counts = {}
        for number in range(150):
            topic = f"topic-{number}"
            jobs = [new_job()] * (number % 3 + 1) + [new_job(delay_ms=60000)] * (number % 2)
            api.push_all(topic, jobs)
            counts[topic] = (number % 2, number % 3 + 1, 0, 0)
        for limit in (1, 7, 100, 1000):
            listed = api.all_topics(limit=limit)
            assert {name: tuple(each[state] for state in STATES)
                    for name, each in listed.items()} == counts
        page = api.topics(limit=10)
        assert len(page["topics"]) <= 10 and page["next"]
        assert len(api.topics()["topics"]) <= 100
        assert len(api.topics(limit=1000)["topics"]) == 150


def test_odd_names_are_listed(make_node):
    with make_node().start().api() as api:
        for each in ODD_TOPICS:
            api.push(each)
        assert set(api.all_topics(limit=2)) == set(ODD_TOPICS)
        for each in ODD_TOPICS:
            job = api.pop_one(each)
            assert job["topic"] == api.topic(each)["topic"] == each
            api.ack(job)


# ---- jobs ----


def fill(api, topic, count):
    """So many jobs of each state; their ids begin with its first letters."""
    def push(state, **members):
        api.push_all(topic, [new_job("x" * n, id=f"{state}-{n:03}", **members)
                             for n in range(count)])

    push("dead")
    for _ in range(count):
        api.bury(api.pop_one(topic))
    push("reserved")
    for _ in range(count):
        api.pop_one(topic)
    wait_until(lambda: all("holder" in job for job in api.all_jobs(topic, state="reserved")),
               "their deliveries are confirmed")
    push("ready")
    for n in range(count):
        api.push(topic, "x" * n, id=f"delayed-{n:03}", delay_ms=60000 + n * 1000)


@pytest.mark.parametrize("limit", [3, 100])
def test_all_jobs_on_pages_state_after_state_tell_what_get_tells_but_the_body(api, topic, limit):
    fill(api, topic, 7)
    jobs = api.all_jobs(topic, limit=limit)
    assert [job["id"] for job in jobs] == [f"{state}-{n:03}" for state in STATES for n in range(7)]
    assert len(api.jobs(topic, limit=limit)["jobs"]) == min(limit, 28)
    for listed in jobs:
        assert listed["id"].startswith(listed["state"])
        whole = api.get(topic, listed["id"])
        assert whole.pop("body") == "x" * listed.pop("body_bytes")
        assert listed == whole


def test_a_purge_of_very_many(api, topic):
    for _ in range(5):
        api.push_all(topic, [new_job()] * 1000)
    assert api.sweep(topic, "purge", states=["ready"], limit=1234) == {"count": 1234,
                                                                       "has_more": True}
    assert api.sweep(topic, "purge", states=["ready"]) == {"count": 3766, "has_more": False}
    assert api.pop(topic) == []
