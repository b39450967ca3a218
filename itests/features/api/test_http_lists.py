"""A topic's jobs listed page by page, and what is done to many of them at once."""

import pytest

from harness.http_api import new_job, path_of, refused
from harness.wait import wait_until

STATES = ("delayed", "ready", "reserved", "dead")


def fill(api, topic, count):
    """So many jobs of each state; their ids begin with its first letters."""
    api.push_all(topic, [new_job("x" * n, id=f"dead-{n:03}") for n in range(count)])
    for _ in range(count):
        api.bury(api.pop_one(topic))
    api.push_all(topic, [new_job("x" * n, id=f"reserved-{n:03}") for n in range(count)])
    for _ in range(count):
        api.pop_one(topic)
    wait_until(lambda: all("holder" in job for job in api.all_jobs(topic, state="reserved")),
               "their deliveries are confirmed")
    api.push_all(topic, [new_job("x" * n, id=f"ready-{n:03}") for n in range(count)])
    api.push_all(topic, [new_job("x" * n, id=f"delayed-{n:03}", delay_ms=60000 + n)
                         for n in range(count)])


def ids_of(jobs):
    return [job["id"] for job in jobs]


def expected(count, states=STATES):
    return [f"{state}-{n:03}" for state in states for n in range(count)]


@pytest.mark.parametrize("limit", [1, 3, 7, 100])
def test_all_jobs_on_pages_of_any_size_state_after_state(api, topic, limit):
    fill(api, topic, 7)
    jobs = api.all_jobs(topic, limit=limit)
    assert ids_of(jobs) == expected(7)
    assert [job["state"] for job in jobs] == [state for state in STATES for _ in range(7)]
    assert [job["body_bytes"] for job in jobs] == list(range(7)) * 4
    assert len(api.jobs(topic, limit=limit)["jobs"]) == min(limit, 28)


@pytest.mark.parametrize("state", STATES)
def test_one_state_alone(api, topic, state):
    fill(api, topic, 5)
    assert ids_of(api.all_jobs(topic, state=state, limit=2)) == expected(5, [state])


def test_a_listed_job_tells_what_get_tells_but_its_body(api, topic):
    fill(api, topic, 2)
    for listed in api.all_jobs(topic):
        whole = api.get(topic, listed["id"])
        assert whole.pop("body") == "x" * listed.pop("body_bytes")
        assert listed == whole


def test_a_large_body_is_told_by_its_length(api, topic):
    api.push(topic, "y" * 300000)
    assert api.jobs(topic)["jobs"][0]["body_bytes"] == 300000


def test_priorities_are_listed_in_the_order_of_service(api, topic):
    for id, priority in [("c", 1024), ("d", 5000), ("a", 1), ("b", 7)]:
        api.push(topic, id=id, priority=priority)
    assert ids_of(api.all_jobs(topic, state="ready", limit=1)) == ["a", "b", "c", "d"]


def test_jobs_that_stay_are_listed_once_whatever_comes_and_goes(api, topic):
    api.push_all(topic, [new_job(id=f"stay-{n:03}") if n % 2 else new_job(id=f"go-{n:03}")
                         for n in range(100)])
    listed, page, step = [], api.jobs(topic, state="ready", limit=9), 0
    while True:
        listed += ids_of(page["jobs"])
        for n in range(step * 10, min(step * 10 + 10, 100), 2):
            api.cancel(topic, f"go-{n:03}")
        api.push(topic, id=f"new-{step:03}")
        step += 1
        if page["next"] is None:
            break
        page = api.jobs(topic, state="ready", limit=9, cursor=page["next"])
    stayed = [id for id in listed if id.startswith("stay-")]
    assert stayed == [f"stay-{n:03}" for n in range(1, 100, 2)]


def test_a_topic_without_jobs_has_an_empty_page(api, topic):
    assert api.jobs(topic) == {"jobs": [], "next": None}


@pytest.mark.parametrize("query, code", [
    ("limit=0", "out_of_range"), ("limit=101", "out_of_range"), ("limit=x", "bad_request"),
    ("state=alive", "bad_request"), ("state=", "bad_request"), ("cursor=", "bad_request"),
    ("cursor=%00", "bad_request"), ("cursor=" + "1" * 2000, "bad_request"),
    ("states=dead", "bad_request")])
def test_a_query_that_makes_no_sense_is_refused_and_named(api, topic, query, code):
    with refused(code, query.partition("=")[0]):
        api.done("GET", path_of("topics", topic, "jobs") + "?" + query, is_wrong=True)


@pytest.mark.parametrize("cursor", ["x", "1", "1.0", "0.", "5.", "1.zz", "-1.", "1.00.00", "1.61",
                                    "2.6e6f", "3.ff", "4." + "61" * 257, "9" * 30 + "."])
def test_a_made_up_cursor_is_refused(api, topic, cursor):
    fill(api, topic, 1)
    reply = api.ask("GET", path_of("topics", topic, "jobs") + f"?cursor={cursor}")
    assert reply.status == 400 and reply.json["error"]["code"] == "bad_request", reply.body
    assert "cursor" in reply.json["error"]["message"]


def test_a_cursor_belongs_to_its_state(api, topic):
    fill(api, topic, 2)
    cursor = api.jobs(topic, state="delayed", limit=1)["next"]
    with refused("bad_request", "cursor"):
        api.jobs(topic, state="ready", cursor=cursor)


# ---- many at once ----


def test_all_dead_jobs_are_kicked_those_that_died_first_first(api, topic):
    fill(api, topic, 5)
    assert api.sweep(topic, "kick", limit=2) == {"count": 2, "has_more": True}
    assert ids_of(api.all_jobs(topic, state="dead")) == expected(5, ["dead"])[2:]
    assert api.sweep(topic, "kick") == {"count": 3, "has_more": False}
    assert api.counts(topic) == (5, 10, 5, 0)


def test_the_dead_are_kicked_by_the_time_of_their_death(api, topic):
    fill(api, topic, 3)
    first, second, third = [job["died_ms"] for job in api.all_jobs(topic, state="dead")]
    assert api.sweep(topic, "kick", before_ms=first)["count"] == 0
    assert api.sweep(topic, "kick", since_ms=third + 1)["count"] == 0
    count = api.sweep(topic, "kick", since_ms=first, before_ms=third + 1)["count"]
    assert count == 3


@pytest.mark.parametrize("states", [["delayed"], ["ready"], ["reserved"], ["dead"],
                                    ["dead", "ready"], list(STATES)])
def test_a_purge_takes_the_states_it_is_told_and_no_others(api, topic, states):
    fill(api, topic, 3)
    assert api.sweep(topic, "purge", states=states) == {"count": 3 * len(states),
                                                        "has_more": False}
    assert api.counts(topic) == tuple(0 if state in states else 3 for state in STATES)


def test_a_purge_of_very_many(api, topic):
    for _ in range(5):
        api.push_all(topic, [new_job()] * 1000)
    assert api.sweep(topic, "purge", states=["ready"], limit=1234) == {"count": 1234,
                                                                       "has_more": True}
    assert api.sweep(topic, "purge", states=["ready"]) == {"count": 3766, "has_more": False}
    assert api.pop(topic) == []


def test_what_wants_no_body_refuses_one_that_says_something(api, topic):
    api.push(topic, id="1", delay_ms=60000)
    for verb in ("run", "kick"):
        with refused("bad_request", "delay_ms"):
            api.done("POST", path_of("topics", topic, "jobs", "1", verb), {"delay_ms": 1},
                     is_wrong=True)
    with refused("bad_request", "for_ms"):
        api.done("POST", path_of("topics", topic, "resume"), {"for_ms": 1}, is_wrong=True)
    assert api.counts(topic) == (1, 0, 0, 0)


@pytest.mark.parametrize("verb, code, members, named", [
    ("kick", "out_of_range", {"limit": 0}, "limit"),
    ("kick", "bad_request", {"states": ["dead"]}, "states"),
    ("kick", "bad_request", {"since": 1}, "since"),
    ("kick", "out_of_range", {"since_ms": 1796115600}, "look like seconds"),
    ("kick", "out_of_range", {"before_ms": 1796115600}, "look like seconds"),
    ("kick", "out_of_range", {"since_ms": -1}, "since_ms"),
    ("purge", "bad_request", {}, "states"), ("purge", "bad_request", {"states": []}, "states"),
    ("purge", "bad_request", {"states": ["alive"]}, "states"),
    ("purge", "bad_request", {"states": "dead"}, "states"),
    ("purge", "bad_request", {"states": ["dead", "dead"]}, "states"),
    ("purge", "bad_request", {"states": ["ready"], "since_ms": 0}, "since_ms")])
def test_a_sweep_that_makes_no_sense_is_refused_and_named(api, topic, verb, code, members, named):
    fill(api, topic, 1)
    with refused(code, named):
        api.done("POST", path_of("topics", topic, verb), members, is_wrong=True)
    assert api.counts(topic) == (1, 1, 1, 1)
