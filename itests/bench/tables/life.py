"""What those parts of a job's life cost that not everybody uses: history and priorities; and
what the reconciler, which everybody has, costs a node that has nothing else to do."""

from bench.tables.space import bytes_a_job, push
from bench.tables.table import in_turns, ratio, table
from harness.wait import wait_until

CONNECTIONS = 64
WORKS = {"push": "push", "cycle": "push+pop+ack"}
FAR_S = 86_400


def add_rates(result, rates, plain, other):
    """Columns push and cycle; `plain` and `other` are (key, label). Rows: both, and their ratio."""
    result.columns = list(WORKS.values())
    for key, label in (plain, other):
        result.add(label, [rates[work, key] for work in WORKS], "/s")
    result.add(f"{other[1]}, against {plain[1]}",
               [ratio(rates[work, other[0]], rates[work, plain[0]], 100) for work in WORKS], "%")


# ---- history ----

BOUND_BYTES = 1 << 20  # queue.history_bytes, for each bucket
FULL_LINES = 20_000  # more than the bound has room for
LINES = {"push": 1, "cycle": 3}  # of one job
LOST = "dueq_history_lost_total"


@table(f"history off and on for the topics, {CONNECTIONS} connections, HTTP", plan=(4, 0, 25),
       settings={"queue.history_bytes": BOUND_BYTES})
def history(bench, options, result):
    bench.never_rewrite()
    lost = {work: [0, 0] for work in WORKS}  # of how many lines
    rates = in_turns(bench, options, result, {
        (work, is_on): lambda work=work, is_on=is_on: _rate_with(
            bench, work, is_on, options.seconds, lost[work])
        for work in WORKS for is_on in (False, True)})
    add_rates(result, rates, (False, "history off"), (True, "history on"))
    result.add("lines that were lost", [ratio(*lost[work], 100) for work in WORKS], "% of all")
    _add_sizes(bench, options, result)
    result.notes.append("a line: of push, hand-over and ack alike, with the names of topic, job, "
                        "node and client; the oldest go when a bucket's are over the bound")


def _rate_with(bench, work, is_on, seconds, lost):
    bench.wipe()
    _turn_history(bench, is_on, topics=16)
    before = bench.node.metrics()[LOST]
    report = bench.load(work, f"{work}, history {'on' if is_on else 'off'}", protocol="http",
                        connections=CONNECTIONS, seconds=seconds)
    if is_on:
        lost[0] += bench.node.metrics()[LOST] - before
        lost[1] += report["operations"] * LINES[work]
    return report["per_second"]


def _turn_history(bench, is_on, topics):
    """Of these topics, and waits until the node does so."""
    with bench.node.api() as api:
        for number in range(topics):
            api.done("PATCH", f"/v1/topics/bench-{number}/settings",
                     {"history": True if is_on else None})
        for number in range(topics):
            path = f"/v1/topics/bench-{number}/jobs/none/history"
            wait_until(lambda path=path: api.done("GET", path).json["is_on"] == is_on,
                       "the node knows whether it writes a history")


def _add_sizes(bench, options, result):
    still_s = options.pick(1.0, quick=0.1)
    full = options.pick(FULL_LINES, quick=1000)
    bench.progress.expect(3)
    bytes_, lines = _size(bench, "of whole lives", still_s, _live)
    result.add("Redis memory a line", bytes_ / lines, "bytes")
    result.add("the bound of a bucket (queue.history_bytes)", BOUND_BYTES, "bytes")
    for count in (full, 10 * full):
        bytes_, lines = _size(bench, f"{count:,} lines", still_s, _push_so_many(count))
        result.add(f"a bucket's history behind {count:,} lines", bytes_, "bytes",
                   note=f"{lines:,} are kept")


def _size(bench, what, still_s, fill):
    """(bytes, lines) of the history of a bucket: what Redis has back without it."""
    bench.wipe()
    _turn_history(bench, True, topics=1)
    with bench.progress.step(f"history: {what}") as step:
        fill(bench, step)
        keys = wait_until(lambda: list(bench.redis.scan_iter(match="dq:{*}:h", count=10000)),
                          "there is a history")
        key = max(keys, key=bench.redis.xlen)  # others: last lines of what ran before
        before = bench.settled_memory(still_s)
        lines = bench.redis.xlen(key)
        bench.redis.delete(key)
        return before - bench.settled_memory(still_s), lines


def _live(bench, step):
    bench.result_of(bench.start_load("cycle", protocol="http", connections=8, topics=1,
                                     rate=500, seconds=1))


def _push_so_many(count):
    def fill(bench, step):
        push(bench, step, count, topics=1, delay_ms=FAR_S * 1000, body_bytes=0)
    return fill


# ---- priorities ----

PRIORITIES = 16


@table(f"jobs of one priority, and of {PRIORITIES} in turn, {CONNECTIONS} connections, HTTP",
       plan=(4, 0, 15))
def priorities(bench, options, result):
    bench.never_rewrite()
    rates = in_turns(bench, options, result, {
        (work, number): lambda work=work, number=number: _rate_of(
            bench, work, number, options.seconds)
        for work in WORKS for number in (0, PRIORITIES)})
    labels = ((0, "one priority"), (PRIORITIES, f"{PRIORITIES} priorities"))
    add_rates(result, rates, *labels)
    jobs = options.pick(50_000, quick=500)
    still_s = options.pick(1.0, quick=0.1)
    bench.progress.expect(1 + len(labels))
    bytes_a_job(bench, still_s, "ready", 4, 4)  # what is there but once is not counted
    for number, label in labels:
        result.add(f"Redis memory of a ready job, {label}",
                   bytes_a_job(bench, still_s, "ready", jobs, 4, priorities=number), "bytes")
    result.notes.append("all jobs are due at once; one priority: 1024, which no push says")


def _rate_of(bench, work, number, seconds):
    bench.wipe()
    return bench.load(work, f"{work}, {number or 'no'} priorities", protocol="http",
                      connections=CONNECTIONS, seconds=seconds, priorities=number,
                      delay=0)["per_second"]


# ---- the reconciler ----

AUDITED, SUSPECTS = "dueq_audited_total", "dueq_audit_suspects_total"
RATES = {"off": 0, "default": None, "10,000": 10_000}  # queue.audit_rate


@table("the reconciler, and nothing else to do: 100,000 delayed jobs in 16 topics",
       plan=(0, 0, 75))
def reconciler(bench, options, result):
    jobs = options.pick(100_000, quick=1000)
    seconds = options.pick(12, quick=1, long=30)
    rates = options.pick(RATES, quick={"10,000": 10_000})
    bench.progress.expect(1 + len(rates))
    bench.fill(jobs, delay=FAR_S, bulk=1000)
    looks = [_look(bench, word, rate, seconds) for word, rate in rates.items()]
    result.columns = [f"audit_rate {word}" for word in rates]
    result.add("jobs, and entries of places, looked at", [look["looked_at"] for look in looks],
               "/s")
    for who in ("node", "redis"):
        result.add(f"processor used by {'Redis' if who == 'redis' else 'the node'}",
                   [look[who] for look in looks], "% of one")
    result.add("what looked wrong", [look["suspects"] for look in looks], "jobs", at_most=0,
               column=None)


def _look(bench, word, rate, seconds):
    """How busy both are at this rate."""
    bench.node.stop()
    if rate is None:
        bench.node.settings.pop("queue.audit_rate", None)
    else:
        bench.node.settings["queue.audit_rate"] = rate
    bench.node.start()
    with bench.progress.step(f"at rest, audit_rate {word}", seconds + 6):
        if rate != 0:
            wait_until(lambda: bench.node.metrics()[AUDITED] > 0, "the reconciler has begun")
        before = bench.node.metrics()
        node, redis = bench.busy_share([bench.node.worker_pid, bench.node.redis_pid], seconds)
        seen = {name: value - before[name] for name, value in bench.node.metrics().items()
                if name in (AUDITED, SUSPECTS)}
    return {"node": node, "redis": redis, "looked_at": seen[AUDITED] / seconds,
            "suspects": seen[SUSPECTS]}
