"""Leases that cannot be guessed: what a client may do with what it has seen of others' leases, and
what an upgrade leaves valid."""

import re
import signal

import pytest

from harness.http_api import Refused, new_job, path_of, refused
from harness.wait import wait_until

CHECKED = re.compile(r"(\d+)-([0-9a-f]{16})")
VERBS = ("ack", "touch", "release", "bury")


def parts(job):
    """Number and check of its lease."""
    return CHECKED.fullmatch(job["lease"]).groups()


def two_jobs(api, topic):
    """Handed out one after the other: whoever has the first one may guess the second's lease."""
    api.push_all(topic, [new_job(id="mine"), new_job(id="other")])
    return api.pop(topic, count=2, ttr_ms=600000)


def with_lease(job, lease):
    return {**job, "lease": lease}


@pytest.mark.parametrize("verb", VERBS)
def test_who_guesses_a_neighbours_lease_gets_the_answer_of_a_stale_one(api, topic, verb):
    mine, other = two_jobs(api, topic)
    number, check = parts(mine)
    next_number = str(int(number) + 1)
    assert next_number == parts(other)[0], "the number can be guessed"
    for guess in (next_number, f"{next_number}-{check}", f"{next_number}-{'0' * 16}", mine["lease"]):
        with refused("not_owner"):
            getattr(api, verb)(with_lease(other, guess))
    assert api.get(topic, "other")["state"] == "reserved"
    getattr(api, verb)(other)


def test_a_guess_among_several_acknowledgements_fails_alone(api, topic):
    mine, other = two_jobs(api, topic)
    guess = with_lease(other, f"{parts(other)[0]}-{parts(mine)[1]}")
    results = api.ack_all(topic, [mine, guess])
    assert results[0] == {"id": "mine"} and results[1]["error"]["code"] == "not_owner"
    api.ack(other)


def test_a_lease_is_no_good_in_another_topic_that_has_the_same_job(api, topic):
    twins = []
    for name in (topic, topic + "-b"):
        api.push(name, id="same")
        twins.append(api.pop_one(name, ttr_ms=600000))
    with refused("not_owner"):
        api.ack(with_lease(twins[1], twins[0]["lease"]))
    api.ack(twins[1])


def test_who_only_looks_sees_no_lease(api, topic):
    api.done("PATCH", path_of("topics", topic, "settings"), {"history": True})
    after = api.done("GET", "/v1/deliveries").json["next"]
    job = two_jobs(api, topic)[0]
    number, _ = parts(job)
    looks = ["/v1/deliveries?wait_ms=20000&after=" + str(after), path_of("topics", topic),
             path_of("topics", topic, "jobs", "mine"),
             path_of("topics", topic, "jobs") + "?state=reserved"]
    for look in looks:
        assert number not in str(api.done("GET", look).json), look
    history = wait_until(lambda: api.history(topic, "mine")["history"], "it has a history")
    assert number not in str(history)


# ---- restarts, nodes, upgrades ----


def test_a_restart_leaves_leases_valid(make_node):
    node = make_node().start()
    with node.api() as api:
        first, second = two_jobs(api, "t")
        node.kill("worker")
        wait_until(node.is_ready, "the warden has a new worker")
    with node.api() as api:
        api.ack(first)
    node.stop()
    node.start()
    with node.api() as api:
        api.ack(second)


def test_nodes_on_one_redis_take_each_others_leases(make_node, redis):
    a, b = (make_node({"store.redis": redis.address}).start() for _ in range(2))
    with a.api() as at_a, b.api() as at_b:
        mine, other = two_jobs(at_a, "t")
        with refused("not_owner"):
            at_b.ack(with_lease(other, f"{parts(other)[0]}-{parts(mine)[1]}"))
        at_b.ack(other)
        at_b.ack(mine)


def is_touched(api, job):
    try:
        api.touch(job)
    except Refused:
        return False
    return True


def test_leases_from_before_an_upgrade_count_until_they_are_switched_off(make_node, redis):
    redis.client().hset("dq:meta", mapping={"schema": 2, "buckets": 64})
    node = make_node({"store.redis": redis.address})
    path = node.directory / "dueq.yaml"
    path.write_text("queue:\n  lease_check: auto\n")
    node.argv = lambda argv=node.argv: [*argv(), "--config", path]
    node.start()
    with node.api() as api:
        mine, other = two_jobs(api, "t")
        api.ack(with_lease(mine, parts(mine)[0]))
        with refused("not_owner"):
            api.ack(with_lease(other, f"{parts(other)[0]}-{parts(mine)[1]}"))
        path.write_text("queue:\n  lease_check: require\n")
        node.process.signal(signal.SIGHUP)
        bare = with_lease(other, parts(other)[0])
        wait_until(lambda: not is_touched(api, bare), "its worker takes it")
        with refused("not_owner"):
            api.ack(bare)
        api.ack(other)


def test_a_node_that_is_to_go_back_to_an_older_version_hands_out_what_that_can_read(make_node):
    node = make_node({"queue.lease_check": "off"}).start()
    with node.api() as api:
        mine, other = two_jobs(api, "t")
        assert mine["lease"].isdigit()
        api.ack(mine)
        api.ack(other)


def test_a_store_that_is_emptied_and_comes_back_as_another_takes_no_old_lease(make_node, make_redis):
    redis = make_redis(appendonly="yes", appendfsync="always")
    node = make_node({"store.redis": redis.address}).start()
    with node.api() as api:
        old, _ = two_jobs(api, "t")
    node.stop()
    redis.client().flushall()
    node.start()
    with node.api() as api:
        _, new = two_jobs(api, "t")
        with refused("not_owner"):
            api.ack(with_lease(new, f"{parts(new)[0]}-{parts(old)[1]}"))
        with refused("not_owner"):
            api.ack(old)
