"""Many topics: what they cost a push, a cycle, the scanner, and a node that has nothing to do."""

from bench import distribution
from bench.tables.table import attempt, in_turns, rate, table
from harness.wait import wait_until

FAR_S = 86_400
DUE_A_SECOND = 1000
MOVED = "dueq_move_lateness_seconds"


@table("one topic and many, 64 connections", plan=(6, 0, 45))
def topics(bench, options, result):
    numbers = options.pick((1, 1000, 100_000), quick=(1, 100))
    plan = {(work, number): lambda work=work, number=number: rate(
                bench, work, f"{work}, {number:,} topics", connections=64, topics=number,
                seconds=options.seconds)
            for work in ("push", "cycle") for number in numbers}
    rates = in_turns(bench, options, result, plan)
    result.columns = [f"{number:,} topic{'s' if number > 1 else ''}" for number in numbers]
    result.add("push", [rates["push", number] for number in numbers], "/s")
    result.add("push+pop+ack", [rates["cycle", number] for number in numbers], "/s")

    bench.progress.expect(3 * len(numbers))
    still = [_still(bench, number, options) for number in numbers]
    result.add("a delayed job far away in each: processor used by the node",
               [node for node, _ in still], "% of one")
    result.add("... and by Redis", [redis for _, redis in still], "% of one")
    moves = [attempt(result, f"move, {number:,} topics",
                     lambda number=number: _move_p99_ms(bench, number, options))
             for number in numbers]
    result.add(f"{DUE_A_SECOND:,} due/s spread over them: move p99, the node's histogram",
               moves, "ms", at_most=5, column=0)


def _still(bench, number, options):
    """(worker, Redis): how busy they are when nothing is due for a day; percent of one
    processor."""
    bench.wipe()
    bench.fill(number, topics=number, delay=FAR_S)
    seconds = options.pick(4, quick=1, long=15)
    with bench.progress.step(f"{number:,} topics at rest", seconds):
        return bench.busy_share([bench.node.worker_pid, bench.node.redis_pid], seconds)


def _move_p99_ms(bench, number, options):
    bench.wipe()
    before = bench.node.metrics()
    bench.load("push", f"{DUE_A_SECOND:,} due/s in {number:,} topics", connections=16,
               topics=number, delay=1, rate=DUE_A_SECOND, seconds=options.pick(4, quick=1))
    wait_until(lambda: bench.count_in("d") == 0, "all is ready", timeout_s=60, interval_s=0.2)
    steps = distribution.of_histogram(before, bench.node.metrics(), MOVED)
    return distribution.known_quantile(steps, 0.99) * 1000
