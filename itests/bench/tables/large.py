"""A topic of millions: what a request for one of its jobs takes, and what its purge costs
everybody else."""

import random
import statistics
import time
from contextlib import contextmanager

from bench.batches import Connection
from bench.loads import LoadFailed
from bench.tables.table import attempt, table
from harness.wait import wait_until

FAR_S = 86_400
STATES = ("ready", "delayed")
PAGE = 100  # jobs of a list: the most


# ---- filling ----

def _fill(bench, name, length):
    """{state: the first of its `length` ids} of the topic NAME-0, half of it ready."""
    first = {}
    for state, delay_s in (("ready", 1), ("delayed", FAR_S)):
        before = bench.next_id()
        bench.fill(length, f"filling in {length:,} {state} jobs", topics=1, topic_name=name,
                   delay=delay_s, bulk=1000, first_id=before)
        first[state] = before
        if state == "ready":
            with bench.progress.step(f"{length:,} jobs become ready"):
                wait_until(lambda: _count(bench, name, "delayed") == 0, "all are ready",
                           timeout_s=120, interval_s=0.1)
    return first


def _count(bench, name, state):
    with bench.node.api() as api:
        return api.topic(f"{name}-0")[state]


# ---- one request after the other ----

class Asker:
    """A connection that is asked for one thing at a time. Python's share of the time is the same
    for all: about a tenth of a millisecond."""

    def __init__(self, port, topic):
        self._connection, self._path = Connection(port), f"/v1/topics/{topic}/jobs"

    def ask(self, method, rest="", members=None):
        """(ms it took, the reply's JSON or None)."""
        reply = self._connection.ask(method, self._path + rest, members)
        return self._connection.taken_s * 1000, reply

    def close(self):
        self._connection.close()


def _one_job(state, method, verb="", members=None):
    """Asks for another job of this state each time."""
    def ask(asker, topic):
        return asker.ask(method, f"/{topic.another(state)}{verb}", members)[0]
    return ask


def _page(state, is_deep):
    """The first page each time, or one behind the other from the middle on."""
    def ask(asker, topic):
        return topic.deep_page(asker, state) if is_deep else asker.ask("GET", _list(state))[0]
    return ask


def _list(state, cursor=None):
    return f"?state={state}&limit={PAGE}" + (f"&cursor={cursor}" if cursor else "")


LATER = {"delay_ms": 2 * FAR_S * 1000}
ASKS = {
    "get, ready": _one_job("ready", "GET"),
    "get, delayed": _one_job("delayed", "GET"),
    "run, delayed": _one_job("delayed", "POST", "/run"),
    "reschedule, ready": _one_job("ready", "POST", "/reschedule", LATER),
    "reschedule, delayed": _one_job("delayed", "POST", "/reschedule", LATER),
    "cancel, ready": _one_job("ready", "DELETE"),
    "cancel, delayed": _one_job("delayed", "DELETE"),
    f"list {PAGE} ready, the first": _page("ready", False),
    f"list {PAGE} ready, from the middle on": _page("ready", True),
    f"list {PAGE} delayed, the first": _page("delayed", False),
    f"list {PAGE} delayed, from the middle on": _page("delayed", True),
}


class LargeTopic:
    """What is known of a topic that was filled in."""

    def __init__(self, bench, name, length):
        self.name, self.length = f"{name}-0", length
        self._first = _fill(bench, name, length)
        numbers = random.Random(4)
        self._order = {state: iter(numbers.sample(range(length), length)) for state in STATES}
        self._middle, self._cursors = {}, {}

    def another(self, state):
        """The id of a job that nobody has asked for yet, from anywhere in the topic."""
        return self._first[state] + next(self._order[state])

    def walk_to_the_middle(self, asker, step):
        for part, state in enumerate(STATES):
            cursor, pages = None, self.length // PAGE // 2
            for number in range(pages):
                cursor = asker.ask("GET", _list(state, cursor))[1]["next"]
                step.at(part * pages + number, len(STATES) * pages)
            self._middle[state] = self._cursors[state] = cursor

    def deep_page(self, asker, state):
        taken_ms, page = asker.ask("GET", _list(state, self._cursors[state]))
        self._cursors[state] = page.get("next") or self._middle[state]
        return taken_ms


@table("a topic of a million ready and a million delayed jobs: one request after the other, HTTP",
       plan=(0, 0, 75))
def large(bench, options, result):
    lengths = options.pick((10_000, 1_000_000), quick=(2_000, 4_000))
    requests = options.pick(500, quick=10)
    bench.never_rewrite()
    bench.progress.expect(2 * 3 + 2 + options.rounds * len(ASKS))
    topics = {}
    for length in lengths:
        topic = LargeTopic(bench, f"of{length}", length)
        topics[topic] = Asker(bench.node.http_port, topic.name)
        with bench.progress.step(f"to the middle of {length:,}") as step:
            topic.walk_to_the_middle(topics[topic], step)
    bench.wait_quiet()
    taken = {(what, topic): [] for what in ASKS for topic in topics}
    for _ in range(options.rounds):
        for what, ask in ASKS.items():
            attempt(result, what, lambda what=what, ask=ask: _ask_in_turns(
                bench, topics, what, ask, requests // options.rounds, taken))
    for asker in topics.values():
        asker.close()
    result.columns = [f"{length:,}, {quantile}" for length in lengths for quantile in QUANTILES]
    for what in ASKS:
        result.add(what, [quantile(taken[what, topic])
                          for topic in topics for quantile in QUANTILES.values()], "ms")
    result.notes.append(f"each state has so many jobs; a row is {requests:,} requests, for jobs "
                        "from anywhere in the topic, the topics in turn; the client, in Python, is "
                        "part of it")


QUANTILES = {"p50": lambda taken: statistics.median(taken) if taken else None,
             "p99": lambda taken: sorted(taken)[int(len(taken) * 0.99)] if taken else None}


def _ask_in_turns(bench, topics, what, ask, requests, taken):
    with bench.progress.step(what):
        for _ in range(requests):
            for topic, asker in topics.items():
                taken[what, topic].append(ask(asker, topic))


# ---- purge ----

WORST_MS = 50  # our own target: nobody notices
BESIDE_RATE = 500  # a second, of pushes and of pops
BESIDE_MAX_S = 60
OTHERS = {"push": "another's pushes", "pop": "another's pops"}
FIGURES = {"p50": "p50", "p99": "p99", "max": "worst"}


@table("a million ready and a million delayed jobs purged, and what others notice of it",
       plan=(0, 0, 60))
def purge(bench, options, result):
    length = options.pick(1_000_000, quick=5_000)
    bench.never_rewrite()
    bench.progress.expect(2 + 3 + 2 * len(STATES))
    _fill(bench, "large", length)
    bench.fill(BESIDE_RATE * BESIDE_MAX_S * 4, "filling in what others pop", topics=1, delay=0,
               ttr=0, topic_name="pops")
    bench.wait_quiet()
    runs = {}
    for state in STATES:
        with _others(bench) as alone, bench.progress.step("others, without a purge", 4):
            time.sleep(options.pick(4, quick=0.3))  # the length of the measurement
        with _others(bench) as beside, bench.progress.step(f"purge of {length:,} {state}"):
            taken_s, count = _purge(bench, state)
        runs[state] = taken_s, count, alone, beside
    result.columns = list(STATES)
    result.add("purged", [runs[state][1] for state in STATES], "jobs", at_least=length,
               column=None)
    result.add("time", [runs[state][0] for state in STATES], "s")
    result.add("rate", [runs[state][1] / runs[state][0] for state in STATES], "jobs/s")
    add_others(result, runs)
    result.notes.append(f"{BESIDE_RATE:,} pushes/s and as many pops/s (TTR 0, without ack) over "
                        "HTTP in topics of their own, each 8 connections in an open loop")


def _purge(bench, state):
    """(seconds, jobs), as the one who asks sees it."""
    connection = Connection(bench.node.http_port, timeout_s=300)
    reply = connection.ask("POST", "/v1/topics/large-0/purge", {"states": [state]})
    connection.close()
    if reply["has_more"]:
        raise LoadFailed(f"purge: {reply}")
    return connection.taken_s, reply["count"]


@contextmanager
def _others(bench):
    """Pushes and pops beside the block; gives a dict that has their reports after it."""
    usual = {"protocol": "http", "connections": 8, "topics": 1, "rate": BESIDE_RATE,
             "seconds": 3600, "patience": 10, "until_eof": 1}
    reports = {}
    pushes = _count(bench, "pushes", "delayed")
    loads = {"push": bench.start_load("push", topic_name="pushes", **usual),
             "pop": bench.start_load("pop_ack", topic_name="pops", ttr=0, **usual)}
    try:
        wait_until(lambda: _count(bench, "pushes", "delayed") > pushes + BESIDE_RATE / 2,
                   "they work, and are measured")
        yield reports
        for name, load in loads.items():
            load.stdin.close()
            reports[name] = bench.result_of(load)
    finally:
        for load in loads.values():
            load.kill()
            load.wait()


def add_others(result, runs):
    """Where it is bad without a purge as well, it is the machine's or the disk's doing."""
    for key, label in OTHERS.items():
        for figure, word in FIGURES.items():
            alone, beside = ([runs[state][when][key][f"{figure}_us"] / 1000 for state in STATES]
                             for when in (2, 3))
            result.add(f"{label}, {word}, without a purge", alone, "ms")
            judged = {"at_most": WORST_MS, "column": None} if figure == "max" else {}
            result.add("... beside it", beside, "ms", **judged)
            if judged and max(alone) > WORST_MS:
                result.rows[-1].excuse = f"without a purge it is {max(alone):.0f} ms as well"
