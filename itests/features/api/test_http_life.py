"""What a job may go through beside push, pop and ack: tries, rests, death and what comes after,
other times, and modes of a push whose id lives."""

import pytest

from harness.clock import wall_now_ms
from harness.http_api import new_job, path_of, refused
from harness.wait import wait_until


def bury(api, topic, id, body="", **members):
    api.push(topic, body, id=id, **members)
    assert api.bury(api.pop_one(topic))["death"] == "buried"


# ---- pushes ----


def test_the_most_urgent_job_comes_first_and_equals_in_their_order(api, topic):
    for id, members in [("usual-1", {}), ("late", {"priority": 4294967295}), ("usual-2", {}),
                        ("urgent-1", {"priority": 0}), ("urgent-2", {"priority": 0}),
                        ("default", {"priority": 1024})]:
        api.push(topic, id=id, **members)
    assert [job["id"] for job in api.pop(topic, count=64)] == [
        "urgent-1", "urgent-2", "usual-1", "usual-2", "default", "late"]


def test_topics_come_before_priorities(api, topic):
    api.push(topic + "-a", id="plain")
    api.push(topic + "-b", id="urgent", priority=0)
    assert api.pop_one(topic + "-a", topic + "-b")["id"] == "plain"


def test_the_rules_of_a_job_are_shown_as_they_were_pushed(api, topic):
    backoff = {"kind": "exponential", "base_ms": 1000, "cap_ms": 60000, "jitter_percent": 10}
    before_ms = wall_now_ms()
    api.push(topic, id="1", priority=7, max_tries=5, backoff=backoff, ttl_ms=86400000)
    job = api.get(topic, "1")
    assert (job["priority"], job["max_tries"], job["backoff"]) == (7, 5, backoff)
    assert before_ms + 86400000 <= job["expires_ms"] <= wall_now_ms() + 86400001


def test_an_ignored_push_changes_nothing(api, topic):
    due_ms = api.push(topic, "first", id="1", delay_ms=60000)["due_ms"]
    reply = api.done("POST", path_of("topics", topic, "jobs"),
                     new_job("second", id="1", mode="ignore"))
    assert reply.status == 200
    assert reply.json == {"id": "1", "due_ms": due_ms, "existed": True}
    assert api.get(topic, "1")["body"] == "first"


def test_a_replacing_push_takes_the_job_from_whoever_has_it(api, topic):
    api.push(topic, "first", id="1")
    first = api.pop_one(topic)
    assert api.push(topic, "second", id="1", mode="replace")["existed"] is True
    for call in (api.ack, api.release, api.touch, api.bury):
        with refused("not_reserved"):
            call(first)
    second = api.pop_one(topic)
    assert (second["body"], second["tries"]) == ("second", 0)


@pytest.mark.parametrize("mode", ["reject", "replace", "ignore"])
def test_a_mode_does_not_matter_where_no_such_job_lives(api, topic, mode):
    reply = api.done("POST", path_of("topics", topic, "jobs"), new_job(id="1", mode=mode))
    assert reply.status == 201 and "existed" not in reply.json


def test_modes_count_item_by_item(api, topic):
    api.push(topic, "old", id="1", delay_ms=60000)
    results = api.push_all(topic, [new_job("a", id="1", mode="ignore"), new_job("b", id="1"),
                                   new_job("c", id="1", mode="replace"), new_job("d")])
    assert [result.get("existed") for result in results] == [True, None, True, None]
    assert results[1]["error"]["code"] == "duplicate"
    assert api.get(topic, "1")["body"] == "c"


def test_a_job_that_would_expire_before_it_is_due_is_refused(api, topic):
    with refused("out_of_range", "ttl"):
        api.push(topic, ttl_ms=1000, delay_ms=1000)
    with refused("out_of_range", "ttl"):
        api.push(topic, ttl_ms=1000, at_ms=int(wall_now_ms()) + 60000)
    assert api.counts(topic) == (0, 0, 0, 0)


# ---- tries and rests ----


def test_a_released_job_rests_as_its_backoff_says_longer_each_time(api, topic):
    api.push(topic, id="1", backoff={"kind": "exponential", "base_ms": 100, "cap_ms": 300})
    for tries, rest_ms in enumerate([100, 200, 300, 300], start=1):
        job = api.pop_one(topic)
        before_ms = wall_now_ms()
        released = api.release(job)
        assert released["tries"] == tries
        assert before_ms + rest_ms <= released["due_ms"] <= wall_now_ms() + rest_ms + 1
        assert api.get(topic, "1")["due_ms"] == released["due_ms"]


def test_a_delay_given_with_a_release_counts_instead_of_the_backoff(api, topic):
    api.push(topic, id="1", backoff={"kind": "fixed", "base_ms": 600000})
    api.release(api.pop_one(topic), delay_ms=0)
    assert api.get(topic, "1")["state"] == "ready"


def test_a_job_is_dead_when_its_tries_are_used_up(api, topic):
    api.push(topic, id="1", max_tries=2)
    assert api.release(api.pop_one(topic))["tries"] == 1
    before_ms = int(wall_now_ms())
    assert api.release(api.pop_one(topic), delay_ms=5) == {
        "due_ms": None, "tries": 2, "death": "tries"}
    job = api.get(topic, "1")
    assert (job["state"], job["death"], job["tries"]) == ("dead", "tries", 2)
    assert before_ms <= job["died_ms"] <= wall_now_ms()
    assert api.counts(topic) == (0, 0, 0, 1)


def test_a_reservation_that_runs_out_is_a_try_too(api, topic):
    api.push(topic, id="1", max_tries=1, ttr_ms=100)
    api.pop_one(topic)
    wait_until(lambda: api.get(topic, "1")["state"] == "dead", "it is dead")
    assert api.get(topic, "1")["death"] == "tries"


def test_a_job_expires_wherever_it_is(api, topic):
    api.push(topic, id="held", ttl_ms=300)
    held = api.pop_one(topic)
    api.push(topic, id="waits", ttl_ms=300)
    wait_until(lambda: api.counts(topic) == (0, 0, 0, 2), "both are dead")
    assert {api.get(topic, id)["death"] for id in ("held", "waits")} == {"expired"}
    with refused("not_reserved"):
        api.ack(held)


# ---- who has it ----


def test_a_reserved_job_shows_who_has_it_and_until_when(api, topic):
    api.push(topic, id="1", ttr_ms=600000)
    job = api.pop_one(topic)
    wait_until(lambda: "holder" in api.get(topic, "1"), "the delivery is confirmed")
    shown = api.get(topic, "1")
    assert shown["holder"].startswith("http 127.0.0.1:")
    assert api.touch(job, ttr_ms=300000)["deadline_ms"] < shown["deadline_ms"]
    assert api.get(topic, "1")["deadline_ms"] < shown["deadline_ms"]
    api.release(job)
    shown = api.get(topic, "1")
    assert "deadline_ms" not in shown and shown["holder"].startswith("http 127.0.0.1:")


def test_a_buried_job_is_dead_with_its_last_holder(api, topic):
    api.push(topic, id="1")
    job = api.pop_one(topic)
    wait_until(lambda: "holder" in api.get(topic, "1"), "the delivery is confirmed")
    assert api.bury(job) == {"death": "buried", "tries": 1}
    shown = api.get(topic, "1")
    assert (shown["state"], shown["death"]) == ("dead", "buried")
    assert shown["holder"].startswith("http ")
    for call in (api.ack, api.release, api.touch, api.bury):
        with refused("not_reserved"):
            call(job)


# ---- other times ----


def test_a_delayed_job_can_be_made_due_now_or_at_another_time(api, topic):
    api.push(topic, id="1", delay_ms=600000)
    due_ms = int(wall_now_ms()) + 300000
    assert api.move(topic, "1", "reschedule", at_ms=due_ms) == due_ms
    assert api.get(topic, "1")["due_ms"] == due_ms
    assert api.move(topic, "1", "run") <= wall_now_ms()
    assert api.pop_one(topic)["id"] == "1"


def test_a_job_that_is_moved_is_taken_from_its_consumer(api, topic):
    for how, members in [("run", {}), ("reschedule", {"delay_ms": 600000})]:
        api.push(topic, id=how)
        job = api.pop_one(topic)
        api.move(topic, how, how, **members)
        with refused("not_reserved"):
            api.ack(job)
        api.cancel(topic, how)


def test_a_ready_job_keeps_its_place_in_line(api, topic):
    for id in ("one", "two"):
        api.push(topic, id=id)
    due_ms = api.get(topic, "one")["due_ms"]
    assert api.move(topic, "one", "run") == due_ms
    assert [job["id"] for job in api.pop(topic, count=2)] == ["one", "two"]


def test_only_kick_and_reschedule_wake_the_dead(api, topic):
    bury(api, topic, "1", ttl_ms=600000)
    with refused("wrong_state"):
        api.move(topic, "1", "run")
    api.move(topic, "1", "kick")
    job = api.get(topic, "1")
    assert (job["state"], job["tries"]) == ("ready", 0) and "expires_ms" not in job
    with refused("wrong_state"):
        api.move(topic, "1", "kick")
    api.bury(api.pop_one(topic))
    api.move(topic, "1", "reschedule", delay_ms=600000)
    assert api.get(topic, "1")["state"] == "delayed"


@pytest.mark.parametrize("how, members", [("run", {}), ("kick", {}),
                                          ("reschedule", {"delay_ms": 1})])
def test_a_job_that_is_not_there_cannot_be_moved(api, topic, how, members):
    with refused("not_found"):
        api.move(topic, "nobody", how, **members)


@pytest.mark.parametrize("code, members, named", [
    ("bad_request", {}, "delay_ms"), ("bad_request", {"at_ms": 1900000000000, "delay_ms": 1}, "at_ms"),
    ("out_of_range", {"at_ms": 1900000000}, "seconds"),
    ("bad_request", {"at": 1}, "at"), ("out_of_range", {"delay_ms": -1}, "delay_ms"),
    ("out_of_range", {"delay_ms": 315360000001}, "delay_ms")])
def test_a_time_that_makes_no_sense_is_refused_and_named(api, topic, code, members, named):
    api.push(topic, id="1", delay_ms=600000)
    with refused(code, named):
        api.done("POST", path_of("topics", topic, "jobs", "1", "reschedule"), members,
                 is_wrong=True)
    assert api.get(topic, "1")["state"] == "delayed"


def test_a_time_too_far_ahead_is_refused(api, topic):
    api.push(topic, id="1", delay_ms=600000)
    with refused("out_of_range", "3650 days"):
        api.move(topic, "1", "reschedule", at_ms=281474976710655)


# ---- several acks ----


def test_several_jobs_are_acknowledged_at_once_each_by_itself(api, topic):
    api.push_all(topic, [new_job(id=str(number)) for number in range(64)])
    jobs = api.pop(topic, count=64)
    api.release(jobs[7], delay_ms=600000)
    results = api.ack_all(topic, jobs + [jobs[0]])
    assert [result.get("id") for result in results[:7]] == [job["id"] for job in jobs[:7]]
    assert results[7]["error"]["code"] == "not_reserved"
    assert results[64]["error"]["code"] == "not_found"
    assert api.counts(topic) == (1, 0, 0, 0)


def test_bad_leases_among_good_ones_fail_alone(api, topic):
    api.push_all(topic, [new_job(id="a"), new_job(id="b")])
    a, b = [{"id": job["id"], "lease": job["lease"]} for job in api.pop(topic, count=2)]
    items = [a, 3, {"id": "b"}, {**b, "lease": "x"}, {**b, "id": "b c"}, {**b, "ttr_ms": 1}, b]
    results = api.done("POST", path_of("topics", topic, "ack"), {"leases": items},
                       is_wrong=True).json["results"]
    codes = [result["error"]["code"] if "error" in result else result["id"] for result in results]
    assert codes == ["a", "bad_request", "bad_request", "bad_request", "bad_id", "bad_request", "b"]


@pytest.mark.parametrize("code, body", [
    ("bad_request", []), ("bad_request", {}), ("bad_request", {"leases": {}}),
    ("bad_request", {"leases": [{"id": "1", "lease": "1"}], "lease": "1"}),
    ("out_of_range", {"leases": []}),
    ("out_of_range", {"leases": [{"id": "1", "lease": "1"}] * 1001})])
def test_what_is_no_list_of_leases_is_refused_as_a_whole(api, topic, code, body):
    with refused(code):
        api.done("POST", path_of("topics", topic, "ack"), body, is_wrong=True)


def test_a_thousand_acks_of_the_longest_ids_fit_into_a_request(api, topic):
    ids = [f"{number:03}" + "x" * 197 for number in range(1000)]
    results = api.ack_all(topic, [{"id": id, "lease": "140737488355327"} for id in ids])
    assert {result["error"]["code"] for result in results} == {"not_found"}
