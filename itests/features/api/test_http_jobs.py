"""Jobs over the wire of a whole node: from push to ack, many at once, under names of every kind,
together with gmq, and through failures. What each operation does: node/store/contract/ and
protocol/api/tests/.
"""

import pytest

from harness.clock import wall_now_ms
from harness.http_api import LostConnection, new_job, path_of, refused
from harness.names import ODD_IDS
from harness.wait import wait_until


def test_a_job_from_push_to_ack(api, topic):
    before_ms = int(wall_now_ms())
    pushed = api.push(topic, "close", id="order-1")
    assert pushed["id"] == "order-1" and before_ms <= pushed["due_ms"] <= wall_now_ms()
    assert api.get(topic, "order-1") == {
        "id": "order-1", "topic": topic, "body": "close", "state": "ready",
        "due_ms": pushed["due_ms"], "delay_ms": 0, "ttr_ms": 60000, "tries": 0,
        "priority": 1024, "max_tries": 0, "backoff": {"kind": "none"}}
    job = api.pop_one(topic)
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


def test_never_early(api, topic, dice):
    jobs = [new_job(id=f"{number}", delay_ms=dice.randrange(1, 1500)) for number in range(300)]
    due = {result["id"]: result["due_ms"] for result in api.push_all(topic, jobs)}
    while due:
        for job in api.pop(topic, count=dice.randrange(1, 65), wait_ms=20000, ttr_ms=0):
            assert wall_now_ms() >= due.pop(job["id"]) == job["due_ms"]


def test_topics_come_before_priorities(api, topic):
    api.push(topic + "-a", id="plain")
    api.push(topic + "-b", id="urgent", priority=0)
    assert api.pop_one(topic + "-a", topic + "-b")["id"] == "plain"


def test_a_pop_that_waits_is_content_with_one_job(api, topic):
    api.push(topic, id="one")
    (job,) = api.pop(topic, count=64, wait_ms=20000)
    assert job["id"] == "one"


@pytest.mark.parametrize("id", ODD_IDS)
def test_ids_of_odd_characters(api, topic, id):
    assert api.push(topic, "b", id=id)["id"] == id
    assert api.get(topic, id)["id"] == id
    job = api.pop_one(topic)
    assert job["id"] == id
    api.touch(job)
    api.release(job)
    api.ack(api.pop_one(topic))
    api.push(topic, "b", id=id)
    api.cancel(topic, id)


def test_the_content_type_of_a_request_does_not_matter(api, topic):
    for number, kind in enumerate(["text/plain", "application/x-www-form-urlencoded", "nonsense"]):
        api.done("POST", path_of("topics", topic, "jobs"), new_job(id=f"kind-{number}"),
                 headers={"Content-Type": kind})


# ---- many in one request ----


def outcomes(results):
    return [result["error"]["code"] if "error" in result else result["id"] for result in results]


def test_a_thousand_jobs_in_order(api, topic):
    jobs = [new_job(f"body {number}", id=f"job-{number}") for number in range(1000)]
    assert outcomes(api.push_all(topic, jobs)) == [job["id"] for job in jobs]
    assert api.counts(topic) == (0, 1000, 0, 0)
    got = [job for _ in range(16) for job in api.pop(topic, count=64)]
    assert [(job["id"], job["body"]) for job in got] == [(job["id"], job["body"]) for job in jobs]


def test_bad_jobs_among_good_ones_fail_alone(api, topic):
    a, b, c = (new_job(id=id) for id in "abc")
    items = [a, None, {"body": "b", "delay": 1}, b, {"body": "b", "id": "a b"},
             {"body": "b", "ttr_ms": -1}, c]
    assert outcomes(api.push_all(topic, items, is_wrong=True)) == [
        "a", "bad_request", "bad_request", "b", "bad_id", "out_of_range", "c"]
    assert api.counts(topic) == (0, 3, 0, 0)


def test_modes_count_item_by_item(api, topic):
    api.push(topic, "old", id="1", delay_ms=60000)
    results = api.push_all(topic, [new_job("a", id="1", mode="ignore"), new_job("b", id="1"),
                                   new_job("c", id="1", mode="replace"), new_job("d")])
    assert [result.get("existed") for result in results] == [True, None, True, None]
    assert results[1]["error"]["code"] == "duplicate"
    assert api.get(topic, "1")["body"] == "c"


def test_bad_leases_among_good_ones_fail_alone(api, topic):
    api.push_all(topic, [new_job(id="a"), new_job(id="b")])
    a, b = [{"id": job["id"], "lease": job["lease"]} for job in api.pop(topic, count=2)]
    items = [a, 3, {"id": "b"}, {**b, "lease": "x"}, {**b, "id": "b c"}, {**b, "ttr_ms": 1}, b]
    results = api.done("POST", path_of("topics", topic, "ack"), {"leases": items},
                       is_wrong=True).json["results"]
    assert outcomes(results) == ["a", "bad_request", "bad_request", "bad_request", "bad_id",
                                 "bad_request", "b"]
    assert api.counts(topic) == (0, 0, 0, 0)


def test_a_thousand_acks_of_the_longest_ids_fit_into_a_request(api, topic):
    ids = [f"{number:03}" + "x" * 197 for number in range(1000)]
    results = api.ack_all(topic, [{"id": id, "lease": "140737488355327"} for id in ids])
    assert set(outcomes(results)) == {"not_found"}


# ---- together with gmq ----


def test_gmq_and_http_serve_the_same_topic(api, client, topic):
    client.push(topic, "from-gmq", "b1", ttr=60)
    api.push(topic, "b2", id="from-http", ttr_ms=60000)
    job = api.pop_one(topic)
    assert (job["id"], job["body"], job["ttr_ms"]) == ("from-gmq", "b1", 60000)
    assert client.pop(topic)["id"] == "from-http"
    assert client.ack("from-http") is True
    with refused("not_found"):
        api.get(topic, "from-http")
    api.ack(job)
    assert api.counts(topic) == (0, 0, 0, 0)


def test_consumers_of_both_protocols_wait_side_by_side(make_node):
    node = make_node({"gmq.pop_wait": "20s"}).start()
    with node.raw_client() as gmq, node.api() as api:
        gmq.send_request("Pop", ["shared"])
        wait_until(lambda: node.metrics()["dueq_consumers_waiting"] == 1, "it waits")
        api.push("shared", id="one")
        assert gmq.reply()["result"]["id"] == "one"
        api.push("shared", id="two", delay_ms=100)
        assert api.pop_one("shared")["id"] == "two"


# ---- through failures ----


def test_jobs_and_leases_survive_the_death_of_worker_and_redis(make_node):
    node = make_node().start()
    with node.api() as api:
        api.push("topic", "late", id="late", delay_ms=60000)
        api.push("topic", "held", id="held")
        job = api.pop_one("topic")
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
