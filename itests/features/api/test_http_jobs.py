"""The life of a job over HTTP: what each operation does, and what it does not."""

import pytest

from harness.clock import wall_now_ms
from harness.http_api import LostConnection, new_job, path_of, refused
from harness.names import BAD_IDS, BAD_TOPICS, ODD_IDS, ODD_TOPICS
from harness.wait import holds_for, wait_until


def popped(api, topic, **query):
    return api.pop_one(topic, **query)


def test_a_job_from_push_to_ack(api, topic):
    before_ms = int(wall_now_ms())
    pushed = api.push(topic, "close", id="order-1")
    assert pushed["id"] == "order-1" and before_ms <= pushed["due_ms"] <= wall_now_ms()
    assert api.get(topic, "order-1") == {
        "id": "order-1", "topic": topic, "body": "close", "state": "ready",
        "due_ms": pushed["due_ms"], "delay_ms": 0, "ttr_ms": 60000, "tries": 0,
        "priority": 1024, "max_tries": 0, "backoff": {"kind": "none"}}
    job = popped(api, topic)
    assert job == {"id": "order-1", "topic": topic, "body": "close", "lease": job["lease"],
                   "due_ms": pushed["due_ms"], "delay_ms": 0, "ttr_ms": 60000, "tries": 0,
                   "max_tries": 0}
    wait_until(lambda: api.get(topic, "order-1")["tries"] == 1, "the delivery is confirmed")
    assert api.get(topic, "order-1")["state"] == "reserved"
    api.ack(job)
    with refused("not_found"):
        api.get(topic, "order-1")
    with refused("not_found"):
        api.ack(job)


def test_a_delayed_job_is_due_when_it_was_said_and_not_before(api, topic):
    before_ms = wall_now_ms()
    due_ms = api.push(topic, id="later", delay_ms=700)["due_ms"]
    assert before_ms + 700 <= due_ms <= wall_now_ms() + 701
    job = api.get(topic, "later")
    assert (job["state"], job["due_ms"], job["delay_ms"]) == ("delayed", due_ms, 700)
    assert popped(api, topic)["due_ms"] == due_ms
    assert wall_now_ms() >= due_ms


def test_a_job_with_a_time(api, topic):
    due_ms = int(wall_now_ms()) + 600
    assert api.push(topic, id="at", at_ms=due_ms)["due_ms"] == due_ms
    assert api.get(topic, "at")["state"] == "delayed"
    assert popped(api, topic)["id"] == "at"
    assert wall_now_ms() >= due_ms


@pytest.mark.parametrize("at_ms", [100_000_000_000, 1_000_000_000_000])
def test_a_time_that_is_past_is_at_once(api, topic, at_ms):
    assert api.push(topic, id="past", at_ms=at_ms)["due_ms"] <= wall_now_ms()
    assert popped(api, topic, wait_ms=0)["id"] == "past"


def test_the_node_gives_ids(api, topic):
    ids = [api.push(topic, str(number))["id"] for number in range(20)]
    assert len(set(ids)) == 20 and all(id.isdigit() for id in ids)
    assert [popped(api, topic)["id"] for _ in ids] == ids


def test_an_id_is_taken_while_its_job_lives(api, topic):
    for members in ({}, {"delay_ms": 60000}):
        api.push(topic, "first", id="one", **members)
        with refused("duplicate"):
            api.push(topic, "second", id="one")
        assert api.get(topic, "one")["body"] == "first"
        api.cancel(topic, "one")
    api.push(topic, "first", id="one")
    job = popped(api, topic)
    with refused("duplicate"):
        api.push(topic, "second", id="one")
    api.ack(job)
    api.push(topic, "third", id="one")


def test_the_same_id_in_two_topics_is_two_jobs(api, topic):
    other = topic + "-other"
    api.push(topic, "here", id="same")
    api.push(other, "there", id="same")
    assert popped(api, other)["body"] == "there"
    assert popped(api, topic)["body"] == "here"


# ---- reserved ----


def test_a_job_that_is_not_acknowledged_comes_again(api, topic):
    api.push(topic, id="again", ttr_ms=200)
    first = popped(api, topic)
    second = popped(api, topic)
    assert (first["id"], first["tries"]) == ("again", 0)
    assert (second["id"], second["tries"]) == ("again", 1)
    assert first["lease"] != second["lease"]
    for call in (api.ack, api.release, api.touch):
        with refused("not_owner"):
            call(first)
    api.touch(second, ttr_ms=60000)
    api.ack(second)


def test_an_old_lease_is_worth_nothing_while_nobody_has_the_job(api, topic):
    api.push(topic, id="free")
    job = popped(api, topic)
    api.release(job, delay_ms=60000)
    for call in (api.ack, api.release, api.touch):
        with refused("not_reserved"):
            call(job)
    assert api.counts(topic) == (1, 0, 0, 0)


def test_a_lease_of_another_job_is_not_ones_own(api, topic):
    api.push(topic, id="mine")
    api.push(topic, id="theirs")
    mine, theirs = api.pop(topic, count=2)
    with refused("not_owner"):
        api.ack({**mine, "lease": theirs["lease"]})
    assert api.counts(topic) == (0, 0, 2, 0)


def test_a_job_pushed_again_under_its_id_does_not_know_the_old_lease(api, topic):
    api.push(topic, id="reborn")
    old = popped(api, topic)
    api.cancel(topic, "reborn")
    api.push(topic, id="reborn")
    with refused("not_reserved"):
        api.ack(old)
    new = popped(api, topic)
    with refused("not_owner"):
        api.ack(old)
    api.ack(new)


def test_a_released_job_is_ready_again_behind_the_others(api, topic):
    for id in ("one", "two"):
        api.push(topic, id=id)
    api.release(popped(api, topic))
    assert api.counts(topic) == (0, 2, 0, 0)
    assert [popped(api, topic)["id"] for _ in range(2)] == ["two", "one"]


def test_a_release_with_a_delay(api, topic):
    api.push(topic, id="retry")
    job = popped(api, topic)
    before_ms = wall_now_ms()
    api.release(job, delay_ms=600)
    looked_at = api.get(topic, "retry")
    assert looked_at["state"] == "delayed" and looked_at["delay_ms"] == 0
    assert before_ms + 600 <= looked_at["due_ms"] <= wall_now_ms() + 601
    again = popped(api, topic)
    assert wall_now_ms() >= looked_at["due_ms"]
    assert (again["due_ms"], again["tries"]) == (looked_at["due_ms"], 1)


def test_touch_gives_more_time(api, topic):
    api.push(topic, id="long", ttr_ms=1000)
    job = popped(api, topic)
    wait_until(lambda: api.get(topic, "long")["tries"] == 1, "the delivery is confirmed")
    api.touch(job, ttr_ms=60000)
    assert holds_for(lambda: api.counts(topic) == (0, 0, 1, 0), 1.5)
    api.ack(job)


def test_touch_without_a_time_gives_the_jobs_own(api, topic):
    api.push(topic, id="own", ttr_ms=60000)
    job = popped(api, topic, ttr_ms=1000)
    wait_until(lambda: api.get(topic, "own")["tries"] == 1, "the delivery is confirmed")
    api.touch(job)
    assert holds_for(lambda: api.counts(topic) == (0, 0, 1, 0), 1.5)


def test_touch_can_shorten_the_time(api, topic):
    api.push(topic, id="short", ttr_ms=60000)
    job = popped(api, topic)
    wait_until(lambda: api.get(topic, "short")["tries"] == 1, "the delivery is confirmed")
    api.touch(job, ttr_ms=100)
    assert popped(api, topic)["id"] == "short"


def test_a_job_without_a_time_to_run_is_gone_with_its_delivery(api, topic):
    api.push(topic, id="once", ttr_ms=0)
    job = popped(api, topic)
    wait_until(lambda: api.counts(topic) == (0, 0, 0, 0), "it is gone")
    with refused("not_found"):
        api.ack(job)


# ---- cancelling, and looking ----


def test_a_job_can_be_cancelled_in_each_state(api, topic):
    api.push(topic, id="delayed", delay_ms=60000)
    api.push(topic, id="reserved")
    job = popped(api, topic)
    api.push(topic, id="ready")
    assert api.counts(topic) == (1, 1, 1, 0)
    for id in ("delayed", "ready", "reserved"):
        assert api.get(topic, id)["state"] == id
        api.cancel(topic, id)
        with refused("not_found"):
            api.get(topic, id)
        with refused("not_found"):
            api.cancel(topic, id)
    assert api.counts(topic) == (0, 0, 0, 0)
    assert api.pop(topic) == []
    with refused("not_found"):
        api.ack(job)


def test_looking_changes_nothing(api, topic):
    api.push(topic, id="seen")
    before = api.get(topic, "seen")
    assert [api.get(topic, "seen") for _ in range(3)] == [before] * 3
    assert popped(api, topic)["tries"] == 0


def test_head_answers_as_get_without_a_body(api, topic):
    api.push(topic, "b" * 1000, id="head")
    target = path_of("topics", topic, "jobs", "head")
    head, get = api.ask("HEAD", target), api.ask("GET", target)
    assert (head.status, head.body) == (200, b"")
    assert head.headers["content-length"] == get.headers["content-length"]
    assert api.ask("HEAD", target + "-not").status == 404
    assert api.ask("HEAD", path_of("topics", topic)).status == 200


# ---- names ----


@pytest.mark.parametrize("topic", ODD_TOPICS)
def test_topics_of_odd_characters(api, topic):
    api.push(topic, "b", id="1")
    assert api.topic(topic)["topic"] == topic
    job = popped(api, topic)
    assert job["topic"] == topic
    api.touch(job)
    api.release(job)
    api.ack(popped(api, topic))


@pytest.mark.parametrize("id", ODD_IDS)
def test_ids_of_odd_characters(api, topic, id):
    assert api.push(topic, "b", id=id)["id"] == id
    assert api.get(topic, id)["id"] == id
    job = popped(api, topic)
    assert job["id"] == id
    api.touch(job)
    api.release(job)
    api.ack(popped(api, topic))
    api.push(topic, "b", id=id)
    api.cancel(topic, id)


def test_escapes_are_understood_in_either_case_and_where_they_are_not_needed(api, topic):
    api.push(topic, "b", id="a/b")
    for id in ("a%2Fb", "a%2fb", "%61%2f%62"):
        assert api.ask("GET", f"/v1/topics/{topic}/jobs/{id}").json["id"] == "a/b"


@pytest.mark.parametrize("name", BAD_TOPICS)
def test_a_bad_topic_is_refused_everywhere(api, name):
    for method, target, body in [
            ("POST", path_of("topics", name, "jobs"), new_job()),
            ("POST", path_of("topics", name, "pop"), b""),
            ("GET", path_of("topics", name), b""),
            ("GET", path_of("topics", name, "jobs", "1"), b""),
            ("DELETE", path_of("topics", name, "jobs", "1"), b""),
            ("POST", path_of("topics", name, "jobs", "1", "ack"), {"lease": "1"})]:
        with refused("bad_topic"):
            api.done(method, target, body, is_wrong=True)


@pytest.mark.parametrize("id", BAD_IDS)
def test_a_bad_id_is_refused_everywhere(api, topic, id):
    with refused("bad_id"):
        api.done("POST", path_of("topics", topic, "jobs"), new_job(id=id), is_wrong=True)
    for method, verb, body in [("GET", (), b""), ("DELETE", (), b""),
                               ("POST", ("ack",), {"lease": "1"}),
                               ("POST", ("release",), {"lease": "1"}),
                               ("POST", ("touch",), {"lease": "1"})]:
        with refused("bad_id"):
            api.done(method, path_of("topics", topic, "jobs", id, *verb), body, is_wrong=True)
    assert api.counts(topic) == (0, 0, 0, 0)


# ---- through failures ----


def test_jobs_and_leases_survive_the_death_of_worker_and_redis(make_node):
    node = make_node().start()
    with node.api() as api:
        api.push("topic", "late", id="late", delay_ms=60000)
        api.push("topic", "held", id="held")
        job = popped(api, "topic")
        for who in ("worker", "redis"):
            node.kill(who)
            node.wait_ready()
            wait_until(lambda: _answers(api), "the API answers")
            assert api.get("topic", "late")["state"] == "delayed"
            assert api.get("topic", "held")["state"] == "reserved"
    node.stop()
    node.start()
    with node.api() as api:
        api.ack(job)
        assert api.counts("topic") == (1, 0, 0, 0)


def _answers(api):
    try:
        return api.status()["ready"]
    except LostConnection:
        return False
