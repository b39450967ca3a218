"""Popping: whose turn it is, how many, and for how long."""

import pytest

from harness.clock import wall_now_ms
from harness.http_api import new_job, path_of, refused, with_query
from harness.wait import holds_for, wait_until


def ids(jobs):
    return [job["id"] for job in jobs]


def test_nothing_there_is_an_empty_answer_at_once(api, topic):
    reply = api.done("POST", path_of("topics", topic, "pop"))
    assert reply.status == 200 and reply.json == {"topic": None, "jobs": []}


def test_jobs_come_in_the_order_in_which_they_became_ready(api, topic):
    api.push(topic, id="third", delay_ms=300)
    api.push(topic, id="second", delay_ms=150)
    api.push(topic, id="first")
    assert ids(api.pop_one(topic) for _ in range(3)) == ["first", "second", "third"]


def test_the_first_topic_with_a_job_has_priority(api, topic):
    high, middle, low = (f"{topic}-{name}" for name in ("high", "middle", "low"))
    for each in (low, middle, high):
        api.push_all(each, [new_job(id=f"{each}-{number}") for number in range(2)])
    for each in (high, middle, low):
        reply = api.done("POST", f"/v1/topics/{high},{middle},{low}/pop?count=10").json
        assert reply["topic"] == each
        assert ids(reply["jobs"]) == [f"{each}-0", f"{each}-1"]
    assert api.pop(high, middle, low) == []


def test_sixty_four_topics_in_one_pop(api, topic):
    topics = [f"{topic}-{number}" for number in range(64)]
    api.push(topics[63], id="last")
    assert api.pop_one(*topics)["topic"] == topics[63]
    api.push(topics[63], id="later", delay_ms=200)
    assert api.pop_one(*topics)["id"] == "later"


def test_a_topic_named_twice_does_no_harm(api, topic):
    api.push(topic, id="one")
    assert ids(api.pop(topic, topic, count=2)) == ["one"]
    assert api.pop(topic, topic, wait_ms=50) == []


def test_a_comma_may_be_escaped(api, topic):
    api.push(topic + "-b", id="one")
    reply = api.done("POST", f"/v1/topics/{topic}%2C{topic}-b/pop")
    assert ids(reply.json["jobs"]) == ["one"]


@pytest.mark.parametrize("count", [1, 2, 63, 64])
def test_as_many_as_wanted_and_there(api, topic, count):
    api.push_all(topic, [new_job(id=f"{number}") for number in range(count + 1)])
    assert ids(api.pop(topic, count=count)) == [f"{number}" for number in range(count)]
    assert ids(api.pop(topic, count=64)) == [f"{count}"]


def test_a_pop_that_waits_is_content_with_one_job(api, topic):
    api.push(topic, id="one")
    assert ids(api.pop(topic, count=64, wait_ms=20000)) == ["one"]


@pytest.mark.parametrize("query, code", [
    ("count=0", "out_of_range"), ("count=65", "out_of_range"), ("count=-1", "out_of_range"),
    ("count=99999999999999999999", "out_of_range"),
    ("wait_ms=-1", "out_of_range"), ("wait_ms=3600001", "out_of_range"),
    ("ttr_ms=-1", "out_of_range"), ("ttr_ms=604800001", "out_of_range"),
    ("count=", "bad_request"), ("count=one", "bad_request"), ("count=1.5", "bad_request"),
    ("count=0x1", "bad_request"), ("count=1%00", "bad_request"), ("count=+1", "bad_request"),
    ("count=%201", "bad_request"), ("count", "bad_request"),
    ("count=1&count=1", "bad_request"), ("counts=1", "bad_request"), ("=1", "bad_request"),
    ("wait_ms=%4", "bad_request"), ("Count=1", "bad_request"),
])
def test_a_query_that_is_not_understood_is_refused_and_named(api, topic, query, code):
    api.push(topic, id="stays")
    name = query.partition("=")[0]
    with refused(code, name):
        api.done("POST", f"/v1/topics/{topic}/pop?{query}", is_wrong=True)
    assert api.counts(topic) == (0, 1, 0, 0)


def test_a_query_may_be_escaped_and_empty(api, topic):
    api.push_all(topic, [new_job(), new_job()])
    assert len(api.done("POST", f"/v1/topics/{topic}/pop?c%6Funt=%32").json["jobs"]) == 2
    assert api.done("POST", f"/v1/topics/{topic}/pop?").json["jobs"] == []


@pytest.mark.parametrize("topics, code", [
    (",".join(["t"] * 65), "out_of_range"), ("a,,b", "bad_topic"), (",a", "bad_topic"),
    ("a,", "bad_topic"), ("a,-b", "bad_topic"), ("a,b%20c", "bad_topic")])
def test_topics_that_are_none(api, topics, code):
    with refused(code):
        api.done("POST", f"/v1/topics/{topics}/pop", is_wrong=True)


def test_parameters_in_a_body_are_refused(api, topic):
    api.push_all(topic, [new_job(), new_job()])
    with refused("bad_request", "in the query"):
        api.done("POST", path_of("topics", topic, "pop"), b'{"count":2}', is_wrong=True)
    assert api.counts(topic) == (0, 2, 0, 0)


# ---- the time to run ----


def test_each_job_has_its_own_time_to_run(api, topic):
    api.push_all(topic, [new_job(id="short", ttr_ms=200), new_job(id="long", ttr_ms=60000)])
    assert ids(api.pop(topic, count=2)) == ["short", "long"]
    assert api.pop_one(topic)["id"] == "short"
    assert api.counts(topic) == (0, 0, 2, 0)


def test_the_pop_may_say_a_shorter_one(api, topic):
    api.push(topic, id="hurry", ttr_ms=60000)
    job = api.pop_one(topic, ttr_ms=200)
    assert job["ttr_ms"] == 60000
    again = api.pop_one(topic)
    assert (again["id"], again["tries"], again["ttr_ms"]) == ("hurry", 1, 60000)
    wait_until(lambda: api.get(topic, "hurry")["tries"] == 2, "the delivery is confirmed")
    assert holds_for(lambda: api.counts(topic) == (0, 0, 1, 0), 0.5)


def test_the_pop_may_say_a_longer_one(api, topic):
    api.push(topic, id="patience", ttr_ms=100)
    api.pop_one(topic, ttr_ms=60000)
    wait_until(lambda: api.get(topic, "patience")["tries"] == 1, "the delivery is confirmed")
    assert holds_for(lambda: api.counts(topic) == (0, 0, 1, 0), 1.2)


def test_the_pop_may_say_that_it_wants_no_second_try(api, topic):
    api.push_all(topic, [new_job(), new_job()])
    api.pop(topic, count=2, ttr_ms=0)
    wait_until(lambda: api.counts(topic) == (0, 0, 0, 0), "both are gone")


def test_the_time_to_run_of_a_pop_that_waits(api, topic):
    api.push(topic, id="waited", delay_ms=300, ttr_ms=60000)
    assert api.pop_one(topic, ttr_ms=200)["id"] == "waited"
    assert api.pop_one(topic)["tries"] == 1


# ---- together with others ----


def test_never_early(api, topic, dice):
    jobs = [new_job(id=f"{number}", delay_ms=dice.randrange(1, 1500)) for number in range(300)]
    due = {result["id"]: result["due_ms"] for result in api.push_all(topic, jobs)}
    while due:
        for job in api.pop(topic, count=dice.randrange(1, 65), wait_ms=20000, ttr_ms=0):
            assert wall_now_ms() >= due.pop(job["id"]) == job["due_ms"]


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
        assert api.done("POST", with_query("/v1/topics/shared/pop", {"wait_ms": 20000})
                        ).json["jobs"][0]["id"] == "two"
