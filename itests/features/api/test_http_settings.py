"""What holds for a topic: its settings, its pause, and the history of its jobs."""

import pytest

from harness.clock import wall_now_ms
from harness.http_api import path_of, refused
from harness.topic_settings import BUILT_IN
from harness.wait import holds_for, wait_until

EVERY = {**{name: not value if isinstance(value, bool) else value + 1
            for name, value in BUILT_IN.items() if name != "backoff"},
         "ttr_ms": 5000, "priority": 7, "max_tries": 3, "ttl_ms": 86400000, "dead_max": 10,
         "backoff": {"kind": "fixed", "base_ms": 100, "cap_ms": 0, "jitter_percent": 0},
         "dead_age_ms": 3600000, "history": True}


def test_a_topic_without_settings_has_those_built_in(api, topic):
    assert api.settings(topic) == {"topic": topic, "own": {}, "configured": {},
                                   "effective": BUILT_IN, "paused": False,
                                   "paused_until_ms": None}


def test_every_setting_is_set_shown_and_unset(api, topic):
    assert api.set_settings(topic, **EVERY)["own"] == EVERY
    assert api.settings(topic)["effective"] == EVERY
    for name in EVERY:
        shown = api.set_settings(topic, **{name: None})
        assert name not in shown["own"] and shown["effective"][name] == BUILT_IN[name]
    assert api.settings(topic)["own"] == {}
    assert topic not in api.all_settings()


def test_what_is_shown_can_be_sent_back(api, topic):
    own = api.set_settings(topic, **EVERY)["own"]
    assert api.set_settings(topic, **own)["own"] == own


def test_a_push_takes_what_it_leaves_out_from_them_and_a_later_change_does_not_matter(api, topic):
    api.set_settings(topic, **EVERY)
    api.push(topic, id="1")
    api.push(topic, id="2", ttr_ms=1000, priority=0, max_tries=0, ttl_ms=0,
             backoff={"kind": "none"})
    api.set_settings(topic, **dict.fromkeys(EVERY))
    one, two = api.get(topic, "1"), api.get(topic, "2")
    for name in ("ttr_ms", "priority", "max_tries", "backoff"):
        assert one[name] == EVERY[name] and two[name] != EVERY[name]
    assert "expires_ms" in one and "expires_ms" not in two


def test_the_oldest_dead_jobs_above_the_limit_go(api, topic):
    api.set_settings(topic, dead_max=2)
    for id in ("1", "2", "3"):
        api.push(topic, id=id)
        api.bury(api.pop_one(topic))
    wait_until(lambda: api.counts(topic) == (0, 0, 0, 2), "the oldest is gone")
    assert [job["id"] for job in api.all_jobs(topic, state="dead")] == ["2", "3"]


@pytest.mark.parametrize("row", [b"", b"not ours"])
def test_a_damaged_row_in_redis_counts_as_none(node, api, topic, row):
    api.set_settings(topic, **EVERY)
    api.pause(topic)
    redis = node.redis()
    (key,) = [key for key in redis.scan_iter(match="dq:{*}:c", count=10000)
              if redis.hexists(key, topic)]
    redis.hset(key, topic, row)
    page = api.topic(topic)
    assert (page["paused"], page["paused_until_ms"], page["ready"]) == (False, None, 0)
    shown = api.settings(topic)
    assert (shown["own"], shown["effective"], shown["paused"]) == ({}, BUILT_IN, False)
    api.push(topic, id="1")
    assert api.pop_one(topic)["ttr_ms"] == BUILT_IN["ttr_ms"]
    redis.hdel(key, topic)


@pytest.mark.parametrize("code, members, named", [
    ("bad_request", {}, "setting"), ("bad_request", {"ttr": 1}, "ttr"),
    ("bad_request", {"ttr_ms": "1m"}, "ttr_ms"), ("out_of_range", {"ttr_ms": -1}, "ttr_ms"),
    ("bad_request", {"history": 1}, "history"),
    ("bad_request", {"backoff": {"kind": "fixed"}}, "backoff.base_ms"),
    ("out_of_range", {"dead_max": 4294967296}, "dead_max")])
def test_one_wrong_setting_and_none_is_set(api, topic, code, members, named):
    with refused(code, named):
        api.done("PATCH", path_of("topics", topic, "settings"), {"max_tries": 5, **members}
                 if members else {}, is_wrong=True)
    assert api.settings(topic)["own"] == {}


def test_all_topics_that_have_any_are_listed_and_no_others(make_node):
    with make_node().start().api() as api:
        for number in range(60):
            api.set_settings(f"set-{number}", max_tries=number)
        api.pause("paused")
        api.push("neither")
        for limit in (1, 7, 1000):
            found = api.all_settings(limit=limit)
            assert set(found) == {f"set-{number}" for number in range(60)} | {"paused"}
        assert found["set-7"] == {"topic": "set-7", "own": {"max_tries": 7}, "paused": False,
                                  "paused_until_ms": None}
        assert found["paused"]["paused"] and found["paused"]["own"] == {}
        with refused("bad_request", "cursor"):
            api.done("GET", "/v1/settings?cursor=x")


def test_they_survive_a_restart(make_node):
    node = make_node().start()
    with node.api() as api:
        api.set_settings("topic", ttr_ms=1234)
        api.pause("topic")
    node.stop()
    node.start()
    with node.api() as api:
        api.push("topic", id="1")
        assert api.get("topic", "1")["ttr_ms"] == 1234
        assert api.topic("topic")["paused"] and api.pop("topic") == []


# ---- pauses ----


def test_a_paused_topic_takes_jobs_and_hands_out_none(api, topic):
    assert api.pause(topic) == {"paused": True, "paused_until_ms": None}
    api.push(topic, id="1")
    assert api.pop(topic, wait_ms=300) == []
    assert api.topic(topic)["paused"] is True and api.counts(topic) == (0, 1, 0, 0)
    assert api.resume(topic) == {"paused": False, "paused_until_ms": None}
    assert api.pop_one(topic)["id"] == "1"


def test_what_was_handed_out_before_the_pause_goes_on(api, topic):
    api.push(topic, id="1")
    job = api.pop_one(topic)
    api.pause(topic)
    api.touch(job)
    api.ack(job)


def test_a_pause_ends_by_itself_and_wakes_who_waits(api, topic):
    api.push(topic, id="1")
    until_ms = api.pause(topic, for_ms=500)["paused_until_ms"]
    assert api.topic(topic)["paused_until_ms"] == until_ms
    assert api.pop_one(topic)["id"] == "1"
    assert wall_now_ms() >= until_ms
    assert api.topic(topic)["paused"] is False


def test_a_pause_until_a_time_can_be_changed_and_ended(api, topic):
    until_ms = int(wall_now_ms()) + 600000
    assert api.pause(topic, until_ms=until_ms) == {"paused": True, "paused_until_ms": until_ms}
    assert api.pause(topic, until_ms=until_ms + 1)["paused_until_ms"] == until_ms + 1
    assert api.settings(topic)["paused_until_ms"] == until_ms + 1
    with refused("out_of_range", "until_ms"):
        api.pause(topic, until_ms=until_ms - 1200000)
    assert api.settings(topic)["paused_until_ms"] == until_ms + 1
    assert api.resume(topic) == {"paused": False, "paused_until_ms": None}


def test_another_topic_of_the_same_pop_is_not_paused(api, topic):
    api.push(topic, id="paused")
    api.push(topic + "-2", id="free")
    api.pause(topic)
    assert api.pop_one(topic, topic + "-2")["id"] == "free"
    assert holds_for(lambda: api.pop(topic) == [], 0.3)


@pytest.mark.parametrize("code, members, named", [
    ("out_of_range", {"for_ms": 0}, "for_ms"), ("bad_request", {"for": 1}, "for"),
    ("bad_request", {"for_ms": 1, "until_ms": 1900000000000}, "until_ms"),
    ("out_of_range", {"until_ms": 1900000000}, "look like seconds"),
    ("out_of_range", {"until_ms": 281474976710655}, "until_ms")])
def test_a_pause_that_makes_no_sense_is_refused_and_named(api, topic, code, members, named):
    with refused(code, named):
        api.done("POST", path_of("topics", topic, "pause"), members, is_wrong=True)
    assert api.topic(topic)["paused"] is False


# ---- history ----


def events(api, topic, id, **query):
    return [line["event"] for line in api.history(topic, id, **query)["history"]]


def test_a_history_that_is_off_knows_nothing(api, topic):
    api.push(topic, id="1")
    assert api.history(topic, "1") == {"is_on": False, "history": []}


def test_a_history_tells_oldest_first_what_happened_and_who_did_it(api, topic):
    api.set_settings(topic, history=True)
    due_ms = api.push(topic, id="1", delay_ms=200)["due_ms"]
    job = api.pop_one(topic)
    wait_until(lambda: "delivered" in events(api, topic, "1"), "the delivery is written down")
    api.touch(job)
    api.bury(job)
    api.move(topic, "1", "kick")
    api.cancel(topic, "1")
    wait_until(lambda: "cancelled" in events(api, topic, "1"), "the end is written down")
    told = api.history(topic, "1")
    lines = told["history"]
    assert told["is_on"] is True
    assert [line["event"] for line in lines] == ["pushed", "due", "delivered", "touched", "died",
                                                 "moved", "cancelled"]
    assert lines[0]["at_ms"] == due_ms and lines[1]["time_ms"] >= due_ms
    assert lines[4]["death"] == "buried"
    assert [line["time_ms"] for line in lines] == sorted(line["time_ms"] for line in lines)
    assert all(line["node"] for line in lines)
    assert all(line["client"].startswith("http 127.0.0.1:") for line in lines
               if line["event"] != "due")


def test_who_acknowledges_over_gmq_is_named_too(api, node, topic):
    api.set_settings(topic, history=True)
    with node.php_client() as gmq:
        gmq.push(topic, topic + "-job", "b", ttr=60)
        assert gmq.pop(topic)["id"] == topic + "-job"
        gmq.ack(topic + "-job")
    wait_until(lambda: "acked" in events(api, topic, topic + "-job"), "the end is written down")
    lines = api.history(topic, topic + "-job")["history"]
    assert {line["event"] for line in lines} == {"pushed", "delivered", "acked"}
    assert all(line["client"].startswith("gmq 127.0.0.1:") for line in lines)


def test_of_a_long_history_the_newest_lines_are_told(api, topic):
    api.set_settings(topic, history=True)
    for _ in range(5):
        api.push(topic, id="1")
        api.cancel(topic, "1")
    wait_until(lambda: len(events(api, topic, "1")) == 10, "all is written down")
    assert events(api, topic, "1", limit=3) == ["cancelled", "pushed", "cancelled"]


@pytest.mark.parametrize("query, code", [
    ("limit=0", "out_of_range"), ("limit=1001", "out_of_range"), ("count=1", "bad_request")])
def test_a_look_back_that_makes_no_sense_is_refused(api, topic, query, code):
    with refused(code, query.partition("=")[0]):
        api.done("GET", path_of("topics", topic, "jobs", "1", "history") + "?" + query,
                 is_wrong=True)
