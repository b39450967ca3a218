"""How late: jobs that come due steadily, and all at once."""

import statistics
import time
from contextlib import contextmanager

from bench import distribution
from bench.loads import LoadFailed
from bench.tables.table import PROTOCOLS, attempt, table
from harness.wait import wait_until

LOAD_SHARE = 0.4  # of what the machine can do
BESIDE_SHARE_MIN = 0.5  # of the load beside: less is not what the column says
CONSUMERS = 64
PERCENTILES = {"p50": "p50", "p90": "p90", "p99": "p99", "p999": "p99.9", "max": "max"}


@table("jobs that come due steadily while 64 consumers wait; loaded: with cycles beside it",
       plan=(0, 1, 130))
def lateness(bench, options, result):
    rates = options.pick((1000, 5000, 20000), quick=(200,))
    seconds = options.pick(5, quick=1, long=20)
    bench.progress.expect(1 + 2 * len(rates) * len(PROTOCOLS))
    bench.wipe()
    most = bench.load("cycle", "what the machine can do", connections=CONSUMERS,
                      seconds=options.seconds)["per_second"]
    cases = [(rate, beside) for beside in (0, int(most * LOAD_SHARE)) for rate in rates]
    result.columns = [f"{rate:,}/s" + (" loaded" if beside else "") for rate, beside in cases]
    for protocol, name in PROTOCOLS.items():
        runs = [attempt(result, f"{name}, {label}", lambda case=case, protocol=protocol: _steady(
                    bench, protocol, *case, seconds))
                for case, label in zip(cases, result.columns)]
        _add_rows(result, name, runs)
        for run, label in zip(runs, result.columns):
            if run:
                result.series[f"{name}, {label}"] = distribution.thinned(
                    [[bound / 1000, count] for bound, count in run["distribution"]])
    result.notes.append(f"beside it: {int(most * LOAD_SHARE):,} cycles/s of push, pop and ack "
                        f"in an open loop, {LOAD_SHARE * 100:.0f} % of what {CONSUMERS} "
                        "connections reach alone; the jobs that come due are in the store "
                        "before")
    result.notes.append("the node's move histogram has the jobs that had a delay: none of those "
                        "of the cycles beside, which are due at once; its delivery histogram "
                        "has all that a waiting consumer got, theirs too")
    if any(value and value > 1000 for row in result.rows if row.what.endswith("p50")
           for value in row.values):
        result.notes.append("where the median is seconds, jobs fall due faster than the "
                            "consumers, who acknowledge each before the next, can take them: "
                            "look at move")


def _steady(bench, protocol, rate, beside, seconds):
    """The load generator's report, with the node's own histograms as move and delivery."""
    what = f"{rate:,} due/s, {protocol}" + (", loaded" if beside else "")
    with bench.progress.step(what, seconds + 3), _load_beside(bench, beside) as besides:
        for delay_s in (2, 10, 60):
            before = bench.node.metrics()
            try:
                report = bench.result_of(bench.start_load(
                    "lateness", protocol=protocol, connections=CONSUMERS, rate=rate,
                    delay=delay_s, seconds=seconds, prefill=1, patience=120))
                break
            except LoadFailed as failure:
                if "choose a longer --delay" not in str(failure):
                    raise
                bench.wipe()
        else:
            raise LoadFailed("this machine is too slow to fill them in")
        after = bench.node.metrics()
    report["beside"] = besides and besides["per_second"]
    for kind in ("move", "delivery"):
        report[kind] = distribution.of_histogram(before, after, f"dueq_{kind}_lateness_seconds")
    return report


@contextmanager
def _load_beside(bench, rate):
    """An empty store; then cycles at this rate, if any, on topics of their own. Gives a dict
    that is their report after the block."""
    bench.wipe()
    report = {}
    if not rate:
        yield report
        return
    load = bench.start_load("cycle", connections=CONSUMERS, rate=rate, seconds=3600,
                            patience=10, topic_name="beside", count_errors=1, until_eof=1)
    try:
        yield report
        load.stdin.close()
        report.update(bench.result_of(load))
    finally:
        load.kill()
        load.wait()
    if report["errors"] or report["per_second"] < rate * BESIDE_SHARE_MIN:
        raise LoadFailed(f"the load beside it reached {report['per_second']:,.0f} of {rate:,} "
                         f"cycles/s, with {report['errors']} errors")


def _add_rows(result, name, runs):
    for key, percentile in PERCENTILES.items():
        result.add(f"{name}, in the consumer's hands, {percentile}",
                   [run and run[f"{key}_us"] / 1000 for run in runs], "ms",
                   at_most=5 if key == "p99" else None)
    for kind in ("move", "delivery"):
        what = f"{name}, {kind} by the node's histogram, p99"
        seconds = [run and attempt(result, f"{what}, {label}", lambda steps=run[kind]:
                                   distribution.known_quantile(steps, 0.99))
                   for run, label in zip(runs, result.columns)]
        result.add(what, [None if value is None else value * 1000 for value in seconds], "ms",
                   at_most=5 if kind == "move" else None)
    result.add(f"{name}, cycles beside it", [run and run["beside"] or None for run in runs], "/s")
    for key, what in (("early", "handed out early"), ("unmatched", "due time not known"),
                      ("doubles", "handed out twice")):
        result.add(f"{name}, {what}", [run and run[key] for run in runs], "jobs", at_most=0,
                   column=None)


@table("100,000 jobs due in the same millisecond", plan=(6, 0, 10))
def burst(bench, options, result):
    jobs = options.pick(100_000, quick=2_000)
    topics = (1, 16)
    bench.progress.expect(2 * options.rounds * len(topics))
    lead_s = options.pick(4, quick=1)
    runs = {number: [_one_burst(bench, number, jobs, lead_s) for _ in range(options.rounds)]
            for number in topics}
    result.columns = [f"{number} topic{'s' if number > 1 else ''}" for number in topics]
    result.add(f"all {jobs:,} are ready after",
               [statistics.median(ready_ms for ready_ms, _ in runs[n]) for n in topics], "ms",
               at_most=1000, column=None)
    result.add("the longest push meanwhile",
               [statistics.median(push_ms for _, push_ms in runs[n]) for n in topics], "ms")


def _one_burst(bench, topics, jobs, lead_s):
    """(ms until all are ready, the longest that a push took meanwhile)"""
    due_ms = _fill_for_one_moment(bench, topics, jobs, lead_s)
    keys = bench.keys_of("d")
    with bench.progress.step(f"{jobs:,} due at once, {topics} topics", 4):
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
        return done_ms - due_ms, bench.result_of(pusher)["max_us"] / 1000


def _fill_for_one_moment(bench, topics, jobs, lead_s):
    """Delayed jobs, all due at the moment returned; a slow machine gets more time to push."""
    for lead_s in (lead_s << i for i in range(6)):
        bench.wipe()
        due_ms = int(bench.now_ms()) + lead_s * 1000
        bench.fill(jobs, topics=topics, at_ms=due_ms)
        if bench.now_ms() < due_ms - 500:
            assert bench.count_in("d") == jobs
            return due_ms
    raise RuntimeError("this machine is too slow for a burst")
