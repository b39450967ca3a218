"""What a job takes of the node and of Redis, and how many there are in a second.

With `--compare BUILD` an older build takes turns with this one, each on a node and a Redis of its
own, because machines are noisy: what counts is the median of the rounds' ratios. Debian's
beanstalkd takes its turn, too, and so do the writes of a push as plain commands.
"""

import statistics
from contextlib import contextmanager
from dataclasses import dataclass

from bench.loads import LoadFailed
from bench.measure import Bench
from bench.meter import Look
from bench.tables.table import PROTOCOLS, generator_note, rounds_in_turns, table
from harness.beanstalkd import Beanstalkd

THIS, OLDER = "this build", "older build"
BUSY = 64  # connections
WORKS = {"push": "push", "pop_ack": "pop+ack"}
FIGURES = {"per_second": ("a second", "/s"), "both_us": ("node and Redis", "us"),
           "node_us": ("node", "us"), "redis_us": ("Redis", "us"), "scripts": ("scripts", ""),
           "operations_a_call": ("operations a call", ""), "p50_us": ("p50", "us"),
           "p99_us": ("p99", "us"), "max_us": ("max", "us"), "last_s": ("to the last ack", "s")}
OF_MANY = ("per_second", "both_us", "node_us", "redis_us", "scripts", "operations_a_call")
SLOW_US = 1000  # of one call, by Redis's slowlog
SLOWLOG_MAX = 128
JOBS_A_SECOND = 30_000  # a run is as long as --seconds, about
LONE_RATE = 100


@dataclass(frozen=True)
class Case:
    """Work through one node, in a closed loop."""

    work: str
    protocol: str = "gmq"
    connections: int = BUSY
    topics: int = 16

    def __str__(self):
        where = f", {self.topics:,} topics" if self.topics != 16 else ""
        return (f"{WORKS[self.work]}, {PROTOCOLS[self.protocol]}, {self.connections} "
                f"connection{'s' * (self.connections > 1)}{where}")

    def measured(self, bench, jobs):
        """{figure: value} of so many jobs or more, from an empty store. Where pops end topics,
        they end half of them."""
        jobs = jobs // 20 if self.connections == 1 else max(jobs, 2 * self.topics)
        bench.wipe()
        if self.work == "pop_ack":
            bench.fill(jobs, topics=self.topics, delay=0)
        look = begin(bench)
        report = bench.load(self.work, str(self), protocol=self.protocol, total=jobs,
                            connections=self.connections, topics=self.topics)
        return figures_of(bench, look, report, jobs)


# ---- a run ----

def begin(bench):
    """From here on: for figures_of()."""
    bench.redis.config_set("slowlog-log-slower-than", SLOW_US)
    bench.redis.slowlog_reset()
    before = bench.node.metrics()
    return before, Look([bench.node.worker_pid], [bench.node.redis_pid], [bench.redis])


def figures_of(bench, since, report, jobs):
    """`report`, the load generator's, with what the jobs took of both processes."""
    before, look = since
    used = look.used(report["seconds"])
    used.jobs = jobs
    figures = used.figures()
    slow = [entry for entry in bench.redis.slowlog_get(SLOWLOG_MAX)
            if entry["command"].upper().startswith(b"EVALSHA")]
    return {**report, **{name: figures[name] for name in ("node_us", "redis_us", "scripts")},
            "both_us": figures["node_us"] + figures["redis_us"], "slow": len(slow),
            "operations_a_call": _operations_a_call(before, bench.node.metrics())}


def _operations_a_call(before, after):
    """None of a build that does not count calls."""
    calls, operations = (after.get(name, 0) - before.get(name, 0) for name in (
        "dueq_store_calls_total", "dueq_store_round_trips_total"))
    return operations / calls if calls else None


# ---- builds beside each other ----

@contextmanager
def builds(bench, options):
    """{name: Bench} of this build and, where one is given, the older one."""
    bench.never_rewrite()
    if not options.compare:
        yield {THIS: bench}
        return
    with Bench(bench.progress, bench.settings, options.compare) as older:
        older.never_rewrite()
        yield {THIS: bench, OLDER: older}


def columns(benches):
    return [*benches, "%"] if len(benches) > 1 else list(benches)


def add_compared(result, what, runs, figure, **rest):
    """A row: the median of each build, the median of the rounds' ratios, and the spread. `runs`:
    {build: [{figure: value} of each round]}"""
    name, unit = FIGURES[figure]
    series = {build: [run[figure] for run in each if run[figure] is not None]
              for build, each in runs.items()}
    values = [statistics.median(each) if each else None for each in series.values()]
    ratios = []
    if len(series) > 1:
        ratios = [100 * new / old for new, old in zip(*series.values()) if old]
        values.append(statistics.median(ratios) if ratios else None)
    note = _spread(ratios, True) if ratios else _spread(series[THIS], False)
    busiest = max((run.get("cpu_percent", 0) for run in runs[THIS]), default=0)
    if figure == "per_second":
        note = "; ".join(filter(None, [note, generator_note(busiest)]))
    result.add(f"{what}: {name}", values, unit, note=note, **rest)


def _spread(values, are_percent):
    if len(values) < 2:
        return ""
    low, high = (f"{value:.0f}" if value >= 20 else f"{value:.2f}"
                 for value in (min(values), max(values)))
    return f"{low} to {high}" + " %" * are_percent


def add_sums(result, what, runs, figure, **rest):
    """A row: of each build, what its rounds have seen together; None where there was none."""
    result.add(what, [sum(run[figure] for run in each) if each else None
                      for each in runs.values()], "", at_most=0, **rest)


def of_builds(runs, key, benches):
    """{build: its runs} of one thing that a plan with keys (key, build) has measured."""
    return {build: runs[key, build] for build in benches}


def add_slow(result, runs, benches):
    """A row: of all that each build has done."""
    every = {build: [run for (_, of), each in runs.items() if of == build for run in each]
             for build in benches}
    add_sums(result, f"scripts above {SLOW_US / 1000:.0f} ms, by Redis's slowlog", every, "slow")


# ---- others ----

def _lone_push(bench, seconds):
    """At fixed times, while others push, pop and ack as fast as they can."""
    bench.wipe()
    crowd = bench.start_load("cycle", connections=BUSY, seconds=seconds + 60,
                             topic_name="crowd")
    try:
        since = begin(bench)
        report = bench.load("push", "a lone push", connections=1, rate=LONE_RATE,
                            seconds=seconds)
        if crowd.poll() is not None:
            raise LoadFailed("the crowd beside the lone push has ended")
        return figures_of(bench, since, report, 1)
    finally:
        crowd.kill()
        crowd.wait()


def _beanstalkd(bench, work, jobs):
    rest = {"protocol": "beanstalk", "connections": BUSY, "total": jobs}
    with Beanstalkd(bench.directory, is_synced=False) as peer:
        if work == "pop_ack":
            bench.load("push", "filling beanstalkd", port=peer.port, delay=0, **rest)
        return bench.load(work, f"{WORKS[work]}, beanstalkd", port=peer.port, **rest)


def _bare_writes(bench, jobs):
    bench.wipe()
    since = begin(bench)
    report = bench.load("direct_writes", "bare writes", total=jobs)
    return figures_of(bench, since, report, jobs)


def _add_peers(result, runs, share):
    for work, label in WORKS.items():
        peer, own = runs["peer", work], runs.get((Case(work), THIS))
        if not peer or not own:
            continue
        add_compared(result, f"{label}, beanstalkd in memory, {BUSY} connections", {THIS: peer},
                     "per_second")
        shares = [100 * mine["per_second"] / its["per_second"] for mine, its in zip(own, peer)]
        result.add(f"{label}, gmq against it", statistics.median(shares), "%", at_least=share,
                   note=_spread(shares, True))
    if runs["peer", "writes"]:
        add_compared(result, "the writes of a push as plain commands",
                     {THIS: runs["peer", "writes"]}, "redis_us")


# ---- the tables ----

def _measure(bench, options, result, cases, jobs, targets):
    """`targets`: by case and figure; by "beanstalkd", the share of its rates."""
    with builds(bench, options) as benches:
        result.columns = columns(benches)
        plan = {(case, build): lambda case=case, each=each: case.measured(each, jobs)
                for case in cases for build, each in benches.items()}
        for build, each in benches.items():
            plan["lone", build] = lambda each=each: _lone_push(each, 2 * options.seconds)
        for work in WORKS:
            plan["peer", work] = lambda work=work: _beanstalkd(bench, work, jobs)
        plan["peer", "writes"] = lambda: _bare_writes(bench, jobs)
        runs = rounds_in_turns(bench, options, result, plan)
    for case in cases:
        names = ("per_second", "p50_us") if case.connections == 1 else OF_MANY
        for figure in names:
            add_compared(result, str(case), of_builds(runs, case, benches), figure,
                         **targets.get((case, figure), {}))
    add_compared(result, f"a lone push beside {BUSY} busy connections",
                 of_builds(runs, "lone", benches), "p99_us")
    add_slow(result, runs, benches)
    _add_peers(result, runs, targets.get("beanstalkd"))
    result.notes.append("processor time is that of all threads of the node's worker, and of "
                        "Redis; scripts are Redis's own count; the note has the rounds' spread; "
                        "what others did stands in the first column")


def _cases(connections):
    return [Case(work, protocol, number) for work in WORKS for protocol in PROTOCOLS
            for number in connections]


@table("what a job takes of node and Redis, without waiting for the disk",
       settings={"store.appendfsync": "everysec"}, plan=(30, 0, 10))
def cost(bench, options, result):
    jobs = options.pick(JOBS_A_SECOND * options.seconds, quick=500)
    many = options.pick((1000, 100_000), quick=(50,))
    cases = _cases(options.pick((1, BUSY, 256), quick=(8,)))
    _measure(bench, options, result, [*cases, *(Case("pop_ack", topics=each) for each in many)],
             jobs, {
                 (Case("push"), "both_us"): {"at_most": 13},
                 (Case("pop_ack"), "both_us"): {"at_most": 28},
                 (Case("pop_ack", topics=1000), "per_second"): {"at_least": 18_000},
                 "beanstalkd": 90})


@table("the same, where an answer means that the disk has it", plan=(8, 0, 10))
def cost_synced(bench, options, result):
    jobs = options.pick(JOBS_A_SECOND // 3 * options.seconds, quick=500)
    _measure(bench, options, result, _cases(options.pick((BUSY,), quick=(8,))), jobs, {})
