"""What jobs and clients cost in memory, and whether a long topic makes a push dearer."""

import statistics

from bench.batches import Connection
from bench.tables.table import PROTOCOLS, attempt, ratio, table
from harness.memory import available_bytes, resident_bytes
from harness.process import allow_many_files

JOBS_A_TOPIC = 12_500  # how full Redis's hash tables are depends on it: always the same
REQUEST_BYTES = 500_000
ID_BYTES = (0, 16, 43)  # 0: the server's ids
BODY_BYTES = (0, 100, 1000, 10_000)
BULKY = 10_000  # fewer of them: else half a gigabyte each time
STATES = {"delayed": 86_400_000, "ready": 0}  # delay, ms


@table("bytes of Redis memory a job, by its id and the length of its body", plan=(0, 0, 75))
def memory(bench, options, result):
    bodies = options.pick(BODY_BYTES, quick=(0, 100))
    a_topic = options.pick(JOBS_A_TOPIC, quick=500)
    topics = options.pick(4, quick=1, long=16)
    still_s = options.pick(1.0, quick=0.1)

    def measured(state, id_bytes, body):
        number = topics if body < BULKY else 1
        return bytes_a_job(bench, still_s, state, a_topic * number, number,
                           delay_ms=STATES[state], id_bytes=id_bytes, body_bytes=body)

    result.columns = [f"{number:,} bytes" for number in bodies]
    bench.progress.expect(len(STATES) * (1 + len(ID_BYTES) * len(bodies)))
    for state, target in (("delayed", 330), ("ready", 230)):
        measured(state, 0, 0)  # what is there but once is not counted
        for id_bytes in ID_BYTES:
            label = f"{id_bytes} characters" if id_bytes else "the server's"
            used = [measured(state, id_bytes, body) for body in bodies]
            judged = {"at_most": target, "column": bodies.index(100)} if not id_bytes else {}
            result.add(f"{state}, id {label}", used, "bytes", **judged)
    result.rows[0].note = "elsewhere: 405 to 810 with 100 bytes"
    result.notes.append(f"the body included; {topics} x {a_topic:,} jobs, but one topic with "
                        f"bodies of {BULKY:,} bytes")
    result.series = {"bodies": list(bodies),
                     "used": [{"what": row.what, "bytes": row.values} for row in result.rows]}


def bytes_a_job(bench, still_s, state, jobs, topics, **kind):
    """What a job more takes in an empty store; `kind` as of push()."""
    bench.wipe()
    what = ", ".join([f"{jobs:,} {state}",
                      *(f"{name} {value:,}" for name, value in kind.items())])
    with bench.progress.step(what) as step:
        before = bench.settled_memory(still_s)
        push(bench, step, jobs, topics, **kind)
        return (bench.settled_memory(still_s) - before) / jobs


def push(bench, step, jobs, topics, delay_ms=0, id_bytes=0, body_bytes=100, priorities=0):
    """Over HTTP, many at a time: the one way in that gives both kinds of ids. With ids of 0 bytes
    the server gives them; with 0 priorities none is said."""
    connection = Connection(bench.node.http_port)
    batch = max(1, min(1000, REQUEST_BYTES // (body_bytes + 150)))
    body = "x" * body_bytes
    for topic in range(topics):
        for first in range(0, jobs // topics, batch):
            items = [{"body": body, "delay_ms": delay_ms,
                      **({"id": f"{number:0{id_bytes}}"} if id_bytes else {}),
                      **({"priority": 1 + number % priorities} if priorities else {})}
                     for number in range(first, min(first + batch, jobs // topics))]
            reply = connection.ask("POST", f"/v1/topics/bench-{topic}/jobs", items)
            assert all("id" in job for job in reply["results"]), reply
            step.at(topic * (jobs // topics) + first, jobs)
    connection.close()


# ---- a long topic ----

LENGTHS = (10_000, 1_000_000, 10_000_000)
BYTES_A_JOB = 600  # while filling: Redis, and the append-only file in the page cache


@table("pushes into a topic that is long already, 64 connections", plan=(3, 0, 75))
def depth(bench, options, result):
    lengths = options.pick(LENGTHS, quick=(1_000, 10_000))
    affordable = [n for n in lengths if n * BYTES_A_JOB < available_bytes()]
    bench.progress.expect(len(affordable) * (1 + options.rounds))
    bench.never_rewrite()
    filled, rates = 0, []
    for length in affordable:
        bench.fill(max(1, length - filled), f"filling up to {length:,} delayed", topics=1,
                   delay=86400, bulk=1000)
        bench.wait_quiet()
        runs = [bench.load("push", f"push at {length:,}", connections=64, topics=1,
                           seconds=options.seconds)["per_second"]
                for _ in range(options.rounds)]
        rates.append(statistics.median(runs))
        filled = bench.count_in("d")
    result.columns = [f"{length:,} jobs" for length in lengths]
    result.add("push", rates, "/s")
    costs = [1e6 / rate for rate in rates]
    result.add("time of a push", costs, "us")
    result.add("against the shortest topic", [ratio(cost, costs[0]) for cost in costs], "times",
               at_most=1.5, column=None)
    if len(affordable) < len(lengths):
        result.broken += [f"{length:,} jobs: this machine has not the memory free for them"
                          for length in lengths[len(affordable):]]
    result.series = {"lengths": affordable, "costs_us": costs}


# ---- clients that do nothing ----

SAYINGS = {"nothing": "has said nothing yet", "request": "has had one answer",
           "pop": "waits for a job"}


@table("memory of the node for each connection that is open and still", plan=(0, 0, 25))
def idle(bench, options, result):
    # The node has files of its own, and shares the rest out between its two ports.
    count = min(options.pick(10_000, quick=200), allow_many_files() // 2 - 1_000)
    bench.progress.expect(len(PROTOCOLS) * len(SAYINGS))
    result.columns = list(PROTOCOLS.values())
    for say, label in SAYINGS.items():
        used = [attempt(result, f"{name}, {label}", lambda protocol=protocol, say=say:
                        _bytes_a_connection(bench, protocol, say, count))
                for protocol, name in PROTOCOLS.items()]
        result.add(label, used, "bytes")
    result.notes.append(f"{count:,} connections, resident memory of the worker; what the kernel "
                        "keeps for a socket is not in it")


def _bytes_a_connection(bench, protocol, say, count):
    bench.node.stop()  # what an earlier run has left would be used again, and not be counted
    bench.node.start()
    before = resident_bytes(bench.node.worker_pid)
    with bench.progress.step(f"{count:,} connections, {protocol}, {say}"):
        holder = bench.start_load("idle", protocol=protocol, connections=count, say=say,
                                  topics=1)
        line = holder.stdout.readline()  # all are open now, or it has ended
        used = resident_bytes(bench.node.worker_pid) - before
        holder.stdin.close()
        bench.result_of(holder, line)
    return used / count
