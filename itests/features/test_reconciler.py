"""A hand in Redis leaves jobs in no place, in two, or places without a job: the reconciler finds
and mends each, while others work, and touches nothing that is healthy."""

import threading
from collections import Counter
from contextlib import contextmanager

from harness.wait import wait_until

NODE_SETTINGS = {"queue.audit_rate": "100000"}
HOUR_MS = 3600 * 1000
BIG = "x" * 2000


class Places:
    """The keys of a topic that has jobs."""

    def __init__(self, node, topic):
        self.redis = node.redis()
        (key,) = self.redis.scan_iter(match=f"dq:{{*}}:j:{topic}", count=10000)
        self._bucket, self._topic = key.decode()[: -len(f":j:{topic}")], topic

    def key(self, letter):
        suffix = "" if letter in "ta" else f":{self._topic}"
        return f"{self._bucket}:{letter}{suffix}"

    def due_ms(self, id):
        return int.from_bytes(self.redis.hget(self.key("j"), id)[7:13], "big")


def repaired(node):
    """{damage: how many}, of those there were."""
    prefix = 'dueq_repaired_total{damage="'
    return {name[len(prefix):-2]: int(value) for name, value in node.metrics().items()
            if name.startswith(prefix) and value}


def new_repairs(node, before):
    return {damage: count - before.get(damage, 0) for damage, count in repaired(node).items()
            if count != before.get(damage, 0)}


@contextmanager
def others_at_work(node, topic):
    """Somebody pushes, reserves, releases and acknowledges all the time, and is never refused."""
    is_over, rounds = threading.Event(), []

    def work():
        api = node.api()
        while not is_over.is_set():
            api.push_all(topic, [{"body": BIG, "priority": n, "ttl_ms": HOUR_MS}
                                 for n in range(8)])
            jobs = api.pop(topic, count=16)
            for job in jobs[:2]:
                api.release(job, delay_ms=5)
            assert not [each for each in api.ack_all(topic, jobs[2:]) if "error" in each]
            rounds.append(len(jobs))

    worker = threading.Thread(target=work)
    worker.start()
    try:
        yield rounds
        assert worker.is_alive(), "whoever works beside it was refused"
    finally:
        is_over.set()
        worker.join()


def push_healthy(api, topic):
    for n in range(20):
        api.push(topic, id=f"delayed-{n}", delay_ms=HOUR_MS)
        api.push(topic, id=f"ready-{n}", ttl_ms=HOUR_MS)
        api.push(topic, BIG, id=f"big-{n}", delay_ms=HOUR_MS)
    for n in range(20):
        api.push(topic, id=f"urgent-{n}", priority=1)


def plant(places):
    """One damage of each kind; what the reconciler has to say of them."""
    redis, key = places.redis, places.key
    redis.zrem(key("d"), "delayed-0")
    redis.lpop(key("r"))  # ready-0
    redis.zadd(key("v"), {"delayed-1": 9999999999999})
    redis.hdel(key("j"), "delayed-2")
    redis.hset(key("p"), "nobody", "a body")
    redis.zadd(key("d"), {"delayed-3": places.due_ms("delayed-3") + 1000})
    redis.zadd(key("d"), {"delayed-4": 1})
    redis.hdel(key("p"), "big-0")
    redis.hset(key("j"), "delayed-5", "nothing of ours")
    redis.zadd(key("e"), {"delayed-6": 9999999999999})
    redis.zrem(key("e"), "ready-1")
    redis.zrem(key("a"), places.key("j").split(":")[-1])
    return {"no_place": 2, "two_places": 1, "no_job": 2, "wrong_time": 2, "no_body": 1,
            "no_value": 1, "no_expiry": 2}


def died_of_damage(node):
    return node.metrics()['dueq_jobs_died_total{reason="damaged"}']


def test_each_damage_is_found_and_mended(node, api, topic):
    before, died_before = repaired(node), died_of_damage(node)
    push_healthy(api, topic)
    places = Places(node, topic)
    with others_at_work(node, topic + "-others") as rounds:
        expected = plant(places)
        wait_until(lambda: Counter(new_repairs(node, before)) >= Counter(expected),
                   "all of it is mended", timeout_s=60)
        walks = node.metrics()["dueq_audit_walks_total"]
        count = len(rounds)
        wait_until(lambda: node.metrics()["dueq_audit_walks_total"] > walks
                   and len(rounds) > count, "all is looked at again", timeout_s=60)
    found = new_repairs(node, before)
    found.pop("not_listed", None)  # a scan, or a push, may have come before
    found.pop("no_event", None)
    assert found == expected, "nothing that was healthy is repaired"

    assert places.redis.zscore(places.key("a"), topic) == 0
    assert api.get(topic, "big-0")["state"] == "dead"
    assert api.get(topic, "big-0")["death"] == "damaged"
    assert died_of_damage(node) == died_before + 1
    for id in [f"delayed-{n}" for n in (0, 1, 3, 4, 6)]:
        assert api.get(topic, id)["state"] == "delayed", f"{id} is not early"
        assert places.redis.zscore(places.key("d"), id) == places.due_ms(id)
    assert not places.redis.hexists(places.key("p"), "nobody")
    ready = {f"ready-{n}" for n in range(20)} | {f"urgent-{n}" for n in range(20)}
    assert {job["id"] for job in api.pop(topic, count=64)} == ready


def test_a_repair_stands_in_the_log_and_in_the_history(node, api, topic):
    api.set_settings(topic, history=True)
    api.push(topic, id="lost", delay_ms=HOUR_MS)
    places = Places(node, topic)
    places.redis.zrem(places.key("d"), "lost")

    def events():
        return [line["event"] for line in api.history(topic, "lost")["history"]]

    wait_until(lambda: events() == ["pushed", "repaired"], "the repair is written", timeout_s=60)
    assert f"repaired job lost of topic {topic}: no_place" in node.output()
