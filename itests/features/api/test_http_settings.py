"""What holds for a topic: its settings, its pause, and the history of its jobs."""

import pytest

from harness.clock import wall_now_ms
from harness.topic_settings import BUILT_IN
from harness.wait import wait_until

EVERY = {**{name: not value if isinstance(value, bool) else value + 1
            for name, value in BUILT_IN.items() if name != "backoff"},
         "ttr_ms": 5000, "priority": 7, "max_tries": 3, "ttl_ms": 86400000, "dead_max": 10,
         "backoff": {"kind": "fixed", "base_ms": 100, "cap_ms": 0, "jitter_percent": 0},
         "dead_age_ms": 3600000, "history": True, "max_jobs": 1000, "max_bytes": 1000000}


def test_every_setting_is_set_shown_and_unset(api, topic):
    assert api.set_settings(topic, **EVERY)["own"] == EVERY
    assert api.settings(topic)["effective"] == EVERY
    assert api.set_settings(topic, **EVERY)["own"] == EVERY, "what is shown can be sent back"
    for name in EVERY:
        shown = api.set_settings(topic, **{name: None})
        assert name not in shown["own"] and shown["effective"][name] == BUILT_IN[name]
    assert api.settings(topic)["own"] == {}
    assert topic not in api.all_settings()


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


def test_a_pause_ends_by_itself_and_wakes_who_waits(api, topic):
    api.push(topic, id="1")
    until_ms = api.pause(topic, for_ms=500)["paused_until_ms"]
    assert api.topic(topic)["paused_until_ms"] == until_ms
    assert api.pop_one(topic)["id"] == "1"
    assert wall_now_ms() >= until_ms
    assert api.topic(topic)["paused"] is False


# ---- history ----


def events(api, topic, id, **query):
    return [line["event"] for line in api.history(topic, id, **query)["history"]]


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
