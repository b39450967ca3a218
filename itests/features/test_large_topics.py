"""Topics with so many jobs that nothing can be done to all of them at once. How fast that is says
./dev bench large purge; here it must be right.
"""

import itertools
import random

import pytest

from bench.measure import Bench
from harness.background import in_background
from harness.wait import wait_until

JOBS = 10_000
SWEPT = 100_000  # many chunks of a sweep
CYCLES_MIN = 5  # of others beside a sweep: if it were one piece, there would be one
_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def bench():
    """A node with a load generator, which fills topics quickly."""
    with Bench() as started:
        yield started


@pytest.fixture
def api(bench):
    with bench.node.api() as connected:
        yield connected


@pytest.fixture
def fill(bench, api):
    """fill(state): (topic, ids) with jobs that are ready, or delayed for a day."""
    def filled(state, count=JOBS):
        name, first_id = f"large{next(_numbers)}", bench.next_id()
        bench.fill(count, bulk=1000, topics=1, topic_name=name, first_id=first_id,
                   delay=1 if state == "ready" else 86_400)
        topic = f"{name}-0"
        wait_until(lambda: api.topic(topic)[state] == count, f"all jobs are {state}", timeout_s=60)
        return topic, [str(first_id + number) for number in range(count)]
    return filled


def drained(api, topic):
    """All ids, as they are handed out."""
    ids = []
    while jobs := api.pop(topic, count=64):
        ids += [job["id"] for job in jobs]
        assert not any("error" in result for result in api.ack_all(topic, jobs))
    return ids


def test_jobs_deep_inside_are_found_by_their_ids_and_the_others_keep_their_order(api, fill):
    topic, ids = fill("ready")
    chosen = random.Random(1).sample(ids, 120)
    cancelled, later, again, looked_at = (set(chosen[i::4]) for i in range(4))
    for id in cancelled:
        api.cancel(topic, id)
    for id in later:
        api.move(topic, id, "reschedule", delay_ms=86_400_000)
    for id in again:
        api.move(topic, id, "run")  # ready already: it keeps its place
    assert all(api.get(topic, id)["state"] == "ready" for id in again | looked_at)
    assert api.counts(topic) == (len(later), JOBS - len(cancelled) - len(later), 0, 0)
    assert drained(api, topic) == [id for id in ids if id not in cancelled | later]


@pytest.mark.parametrize("state", ["ready", "delayed"])
def test_a_purge_lets_others_between_and_takes_what_was_there(api, bench, fill, state):
    topic, _ = fill(state, SWEPT)
    with bench.node.api() as purger:
        purge = in_background(lambda: purger.sweep(topic, "purge", states=[state]))
        cycles = 0
        while not purge.done():
            api.push("beside", "x")
            api.ack(api.pop_one("beside"))
            cycles += 1
        assert purge.result() == {"count": SWEPT, "has_more": False}
    assert cycles >= CYCLES_MIN
    assert api.counts(topic) == (0, 0, 0, 0) == api.counts("beside")


def test_what_is_pushed_while_a_purge_goes_on_is_counted_or_kept(api, bench, fill):
    topic, _ = fill("ready")
    with bench.node.api() as purger:
        purge = in_background(lambda: purger.sweep(topic, "purge", states=["ready"]))
        pushed = 0
        while not purge.done():
            api.push(topic, "x")
            pushed += 1
        count = purge.result()["count"]
    assert JOBS <= count <= JOBS + pushed
    assert len(drained(api, topic)) == JOBS + pushed - count
