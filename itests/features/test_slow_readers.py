"""A consumer may take its time to read what it got: nobody else gets those jobs meanwhile, and
when it gives up they are free at once, as if it had never come.
"""

import pytest

from harness.http_api import path_of
from harness.http_raw import RawHttp
from harness.wait import wait_until

HALF = "\1" * (1 << 19)  # two of them are an answer, and six times their size in JSON
TTR_MS = 600000


@pytest.fixture
def fresh(make_node):
    return make_node().start()


def operations(node, verb):
    return node.metrics()[f'dueq_operations_total{{verb="{verb}",result="ok"}}']


def wait_for_keeps(node, count):
    """One every two seconds, while a reservation lasts five."""
    wait_until(lambda: operations(node, "keep") >= count, f"jobs are kept {count} times")


def slow_reader(node, topic):
    raw = RawHttp(node.http_port, receive_buffer=65536)
    raw.request("POST", path_of("topics", topic, "pop") + "?count=2")
    return raw


def push_two(api, topic, **members):
    for id in ("a", "b"):
        api.push(topic, HALF, id=id, **members)


def test_jobs_stay_with_whoever_reads_them_slowly(fresh):
    """Over both protocols; even where there is hardly any time to run."""
    with fresh.api() as api, fresh.raw_client() as gmq:
        push_two(api, "over-http", ttr_ms=TTR_MS)
        push_two(api, "short", ttr_ms=1)
        api.push("over-gmq", HALF * 2, id="c", ttr_ms=TTR_MS)
        gmq.send_request("Pop", ["over-gmq"])
        with slow_reader(fresh, "over-http") as slow, slow_reader(fresh, "short"):
            wait_for_keeps(fresh, 3 * 3)  # three times, of three deliveries
            assert api.pop("over-http", "over-gmq", "short") == []
            assert fresh.metrics()["dueq_jobs_expired_total"] == 0
            jobs = slow.reply().json["jobs"]
            assert [(job["id"], job["tries"]) for job in jobs] == [("a", 0), ("b", 0)]
            for job in jobs:
                api.ack(job)
            assert gmq.reply()["result"]["id"] == "c"
            gmq.send_request("Ack", "c")
            assert gmq.reply()["result"] is True
    assert fresh.metrics()["dueq_confirmations_late_total"] == 0


def test_what_a_slow_reader_never_got_is_free_at_once_and_costs_no_try(fresh, topic):
    with fresh.api() as api, RawHttp(fresh.http_port) as next_one:
        push_two(api, topic, ttr_ms=TTR_MS)
        slow = slow_reader(fresh, topic)
        wait_until(lambda: api.counts(topic) == (0, 0, 2, 0), "it has both")
        next_one.request("POST", path_of("topics", topic, "pop") + "?count=2&wait_ms=600000")
        wait_for_keeps(fresh, 1)
        slow.reset()
        jobs = next_one.reply().json["jobs"]
        assert [(job["id"], job["tries"]) for job in jobs] == [("a", 0), ("b", 0)]
        for job in jobs:
            api.ack(job)
    metrics = fresh.metrics()
    assert metrics["dueq_jobs_returned_total"] == 2
    assert metrics["dueq_jobs_expired_total"] == 0
