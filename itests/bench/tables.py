"""What is measured: one function a table, each yields rows as its runs end.

A row's `target` is a bound for its `value`, `at least` or `at most`; without one it is there
for comparison. Node and direct runs take turns, so that a machine that is slow for a while is
slow for both; a row is the median of its rounds.
"""

import statistics
import time
from dataclasses import dataclass

from harness.wait import wait_until


@dataclass
class Row:
    what: str
    value: float
    unit: str
    at_least: float = None
    at_most: float = None
    note: str = ""

    @property
    def is_met(self):
        """None where there is no target."""
        if self.at_least is not None:
            return self.value >= self.at_least
        return self.value <= self.at_most if self.at_most is not None else None


def _rate(bench, mode, **options):
    bench.wipe()
    return bench.load(mode, **options)["per_second"]


def _interleaved(bench, plan, options):
    """{(what, kind): median rate} of runs that take turns, `options.rounds` times."""
    rates = {key: [] for key in plan}
    for number in range(options.rounds):
        for key, run in plan.items():
            rates[key].append(run())
            bench.say(f"round {number + 1} of {options.rounds}: {' '.join(key)} "
                      f"{rates[key][-1]:,.0f}/s")
    return {key: statistics.median(values) for key, values in rates.items()}


def throughput(bench, options):
    """64 connections, one request under way on each, beside the scripts alone"""
    seconds = options.seconds
    plan = {
        ("push", "node"): lambda: _rate(bench, "push", connections=64, seconds=seconds),
        ("push", "direct"): lambda: _rate(bench, "direct_push", depth=64, seconds=seconds),
        ("cycle", "node"): lambda: _rate(bench, "cycle", connections=64, seconds=seconds),
        ("cycle", "direct"): lambda: _rate(bench, "direct_cycle", depth=64, seconds=seconds),
    }
    rates = _interleaved(bench, plan, options)
    for what, label in (("push", "push"), ("cycle", "push+pop+ack")):
        node, direct = rates[what, "node"], rates[what, "direct"]
        yield Row(f"{label}, 64 connections", node, "/s")
        yield Row(f"{label}, scripts in a pipeline of 64", direct, "/s")
        yield Row(f"{label}, node against scripts", 100 * node / direct, "%", at_least=60)


def sequential(bench, options):
    """one connection, one request after the other"""
    def pop_ack():
        bench.wipe()
        bench.fill(options.seconds * 20_000, topics=1, delay=0)
        result = bench.load("pop_ack", connections=1, topics=1, seconds=options.seconds)
        return result["per_second"]

    seconds = options.seconds
    plan = {
        ("push", "node"): lambda: _rate(bench, "push", connections=1, seconds=seconds),
        ("push", "direct"): lambda: _rate(bench, "direct_push", depth=1, seconds=seconds),
        ("pop+ack", "node"): pop_ack,
        ("cycle", "node"): lambda: _rate(bench, "cycle", connections=1, seconds=seconds),
        ("cycle", "direct"): lambda: _rate(bench, "direct_cycle", depth=1, seconds=seconds),
    }
    rates = _interleaved(bench, plan, options)
    yield Row("push", rates["push", "node"], "/s", at_least=6300, note="gmq 6,300, lmstfy 6,100")
    yield Row("push, scripts alone", rates["push", "direct"], "/s")
    yield Row("pop+ack pairs", rates["pop+ack", "node"], "/s", at_least=3300,
              note="lmstfy 3,300; gmq 9,800 pops without ack")
    yield Row("push+pop+ack cycles", rates["cycle", "node"], "/s")
    yield Row("push+pop+ack, scripts alone", rates["cycle", "direct"], "/s")


def everysec(bench, options):
    """one connection again, appendfsync everysec: without waiting for the disk"""
    yield from sequential(bench, options)


def lateness(bench, options):
    """1,000 jobs a second due, pushed at the same time, 64 consumers waiting on 16 topics"""
    bench.wipe()
    bench.say("pushing and consuming")
    before = bench.node.metrics()
    result = bench.load("lateness", connections=64, rate=1000, delay=2,
                        seconds=max(5, options.seconds * options.rounds))
    yield Row("handed out early", result["early"], "jobs", at_most=0)
    yield Row("due time not known", result["unmatched"], "jobs", at_most=0)
    for name in ("p50", "p99", "p999", "max"):
        yield Row(f"delivery, in the consumer's hands, {name}", result[f"{name}_us"] / 1000,
                  "ms", at_most=5 if name == "p99" else None)
    for kind in ("move", "delivery"):
        bound = _quantile(before, bench.node.metrics(), kind, 0.99)
        yield Row(f"{kind}, by the node's own histogram, p99", bound * 1000, "ms", at_most=5,
                  note="upper bound of the histogram's step")


def _quantile(before, after, kind, fraction):
    """From the difference of two Prometheus histograms; seconds."""
    steps = {}
    for name, value in after.items():
        metric, _, labels = name.partition("{")
        if kind in metric and metric.endswith("_bucket"):
            bound = float(labels.split('le="')[1].split('"')[0].replace("+Inf", "inf"))
            steps[bound] = value - before.get(name, 0)
    total = max(steps.values(), default=0)
    return min((bound for bound, n in steps.items() if n >= total * fraction), default=0)


def burst(bench, options):
    """100,000 jobs due in the same millisecond; all are ready after"""
    for topics in (1, 16):
        times, push_latencies = [], []
        for number in range(options.rounds):
            ready_ms, push_us = _one_burst(bench, topics)
            bench.say(f"round {number + 1} of {options.rounds}: {topics} topics, "
                      f"{ready_ms:.0f} ms")
            times.append(ready_ms)
            push_latencies.append(push_us / 1000)
        label = f"{topics} topic{'s' if topics > 1 else ''}"
        yield Row(f"all ready, {label}", statistics.median(times), "ms", at_most=1000)
        yield Row(f"a push meanwhile, {label}, max", statistics.median(push_latencies), "ms")


def _one_burst(bench, topics, jobs=100_000):
    """(ms until all are ready, the longest that a push took meanwhile)"""
    due_ms = _fill_for_one_moment(bench, topics, jobs)
    keys = list(bench.redis.scan_iter(match="dq:{*}:d:bench-*", count=10000))
    while bench.now_ms() < due_ms - 300:
        time.sleep(0.02)
    pusher = bench.start_load("push", connections=1, topics=1, seconds=1, delay=86400)

    def when_all_are_ready():
        pipeline = bench.redis.pipeline(transaction=False)
        pipeline.time()
        for key in keys:
            pipeline.zcount(key, "-inf", due_ms)  # the pusher's are due later
        (seconds, micros), *counts = pipeline.execute()
        return seconds * 1000 + micros / 1000 if sum(counts) == 0 else None

    done_ms = wait_until(when_all_are_ready, "all jobs are ready", timeout_s=60,
                         interval_s=0.002)
    return done_ms - due_ms, bench.result_of(pusher)["max_us"]


def _fill_for_one_moment(bench, topics, jobs):
    """Delayed jobs, all due at the moment returned; a slow machine gets more time to push."""
    for lead_s in (4, 8, 16, 32, 64):
        bench.wipe()
        due_ms = int(bench.now_ms()) + lead_s * 1000
        bench.fill(jobs, topics=topics, at_ms=due_ms)
        if bench.now_ms() < due_ms - 500:
            assert bench.count_in("d") == jobs
            return due_ms
        bench.say(f"filling took more than {lead_s} s, trying again")
    raise RuntimeError("this machine is too slow for a burst")


def memory(bench, options):
    """Redis memory a job: 200,000 jobs, 100-byte bodies, the store's own ids"""
    jobs = 200_000
    for state, delay, target in (("delayed", 86400, 330), ("ready", 0, 230)):
        bench.wipe()
        before = bench.settled_memory()
        bench.say(f"filling with {jobs:,} {state} jobs")
        bench.fill(jobs, delay=delay)
        used = (bench.settled_memory() - before) / jobs
        yield Row(f"{state} job", used, "bytes", at_most=target, note="peers 405 to 810")


def depth(bench, options):
    """a push into a topic that is very long already"""
    lengths = (10_000, options.deep_jobs)
    rates = {}
    bench.wipe()
    filled = 0
    for length in lengths:
        bench.say(f"filling up to {length:,} delayed jobs")
        bench.fill(length - filled, topics=1, delay=86400)
        filled = length
        bench.wait_quiet()
        runs = []
        for _ in range(options.rounds):
            result = bench.load("push", connections=64, topics=1, seconds=options.seconds)
            runs.append(result["per_second"])
            filled += int(result["per_second"] * options.seconds)
        rates[length] = statistics.median(runs)
        yield Row(f"push at {length:,} jobs in one topic", rates[length], "/s")
    yield Row("cost of a push, long against short", rates[lengths[0]] / rates[lengths[1]],
              "times", at_most=1.5)


TABLES = {table.__name__: table for table in
          (throughput, sequential, everysec, lateness, burst, memory, depth)}

SETTINGS = {"everysec": {"store.appendfsync": "everysec"}}  # all others: the defaults
