"""What a job takes that falls due for a consumer who waits, and how late it comes: as many a
second are pushed as fall due. See cost.py for what --compare does."""

from bench.tables.cost import (add_compared, add_slow, add_sums, begin, builds, columns,
                               figures_of, of_builds)
from bench.tables.table import rounds_in_turns, table

CONSUMERS, DELAY_S = 64, 1
BURST, BURST_CONSUMERS = 100_000, 32
COSTS = ("both_us", "node_us", "redis_us", "scripts", "p50_us", "p99_us", "max_us")


def _steady(bench, rate, seconds):
    """Both go on beside each other but for the first and the last second."""
    bench.wipe()
    since = begin(bench)
    report = bench.load("lateness", f"{rate:,} due/s", protocol="http", connections=CONSUMERS,
                        rate=rate, delay=DELAY_S, seconds=seconds, patience=60)
    return figures_of(bench, since, report, rate * seconds)


def _burst(bench, jobs):
    """From the first that is due to the last ack."""
    bench.wipe()
    since = begin(bench)
    report = bench.load("lateness", f"{jobs:,} due in a second", connections=BURST_CONSUMERS,
                        rate=jobs, delay=DELAY_S, seconds=1, prefill=1, patience=60)
    return {**figures_of(bench, since, report, jobs), "last_s": report["seconds"]}


def _measure(bench, options, result):
    rates = options.pick((500, 2000, 10_000), quick=(100,))
    seconds = options.pick(5 * options.seconds, quick=2)
    jobs = options.pick(BURST, quick=1000)
    with builds(bench, options) as benches:
        result.columns = columns(benches)
        runs = rounds_in_turns(bench, options, result, {
            **{(rate, build): lambda rate=rate, each=each: _steady(each, rate, seconds)
               for rate in rates for build, each in benches.items()},
            **{("burst", build): lambda each=each: _burst(each, jobs)
               for build, each in benches.items()}})
    for rate in rates:
        at_rate = of_builds(runs, rate, benches)
        for figure in COSTS:
            add_compared(result, f"{rate:,} due/s", at_rate, figure,
                         **({"at_most": 3} if (rate, figure) == (2000, "scripts") else {}))
        for figure in ("early", "doubles"):
            add_sums(result, f"{rate:,} due/s: {figure}", at_rate, figure)
    add_compared(result, f"{jobs:,} due in one second, {BURST_CONSUMERS} consumers",
                 of_builds(runs, "burst", benches), "last_s", at_most=4)
    add_slow(result, runs, benches)
    result.notes.append(f"of a job's whole life: push, scan, pop, ack; {CONSUMERS} consumers of "
                        "all 16 topics over HTTP; lateness in the consumer's hands")


@table("jobs that fall due for consumers who wait, as many a second as are pushed",
       settings={"store.appendfsync": "everysec"}, plan=(19, 0, 10))
def due(bench, options, result):
    _measure(bench, options, result)


@table("the same, where an answer means that the disk has it", plan=(19, 0, 10))
def due_synced(bench, options, result):
    _measure(bench, options, result)
