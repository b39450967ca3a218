"""What one operation takes of a node's processor and of Redis's, one by one and in batches: what
the capacity model (capacity.py) is made of."""

from bench.batches import Batches
from bench.farm import Farm
from bench.tables.scale import fill_seconds
from bench.tables.table import medians, table

FAR_MS = 86_400_000
OPERATIONS = {"push": "push, delayed", "push_now": "push, ready at once",
              "due": "due: from delayed to ready", "hand": "pop+ack",
              "pop": "pop, kept for longer"}
FIGURES = {"node_us": ("node", "us"), "redis_us": ("Redis", "us"), "scripts": ("scripts", ""),
           "redis_bytes": ("bytes between node and Redis", "bytes"),
           "file_bytes": ("bytes into Redis's file", "bytes"),
           "client_bytes": ("bytes between client and node", "bytes")}
ONE = 1  # in a request


@table("what an operation takes of each process, by jobs in a request, HTTP",
       plan=(0, 0, 70), place=Farm)
def operations(bench, options, result):
    sizes = options.pick((ONE, 10, 60), quick=(ONE, 10))
    jobs, topics = options.pick((30_000, 300), quick=(600, 30))
    site = bench.site("operations", "standby")
    keys = [(size,) for size in sizes]
    cells = medians(bench, options, result, {
        key: lambda key=key: _measured(site, key[0], jobs, topics) for key in keys})
    result.columns = [f"{size} job{'s' * (size > 1)}" for size in sizes]
    for operation, label in OPERATIONS.items():
        for name, (who, unit) in FIGURES.items():
            values = [cells[key].get(f"{operation}.{name}") for key in keys]
            if any(values):
                result.add(f"{label}: {who}", values, unit)
    result.notes.append("of each job, not of each request; one node, one Redis, 192 connections "
                        "with one job each in flight, or one connection with a batch; a pop "
                        "that is not acknowledged at once has a script more: it was delivered")
    result.series = {"cells": [{"size": size, **cells[size,]} for size in sizes]}


def _measured(site, size, jobs, topics):
    with site.running(1):
        used = _one_by_one(site, jobs, topics) if size == ONE else \
            _batches(site, size, jobs, topics)
    return {f"{operation}.{name}": value for operation, each in used.items()
            for name, value in each.figures().items()}


def _one_by_one(site, jobs, topics):
    return {"push": site.push(jobs, topics),
            "push_now": site.load("push", jobs, topics=topics, topic_name="now", delay=0),
            "due": site.fall_due(4 * jobs, topics, fill_seconds(4 * jobs, topics)),
            "hand": site.hand_over(jobs, topics),
            "pop": site.hand_over(jobs, topics, mode="pop")}


def _batches(site, size, jobs, topics):
    """The moves were measured with one by one."""
    used, jobs = {}, jobs // size * size
    with site.loads.progress.step(f"batches of {size}"):
        batches = Batches(site.nodes[0].http_port, "now", size, topics)
        later = Batches(site.nodes[0].http_port, "later", size, topics)
        for name, run in (("push", lambda: later.push(jobs, FAR_MS)),
                          ("push_now", lambda: batches.push(2 * jobs)),
                          ("hand", lambda: batches.pop(jobs, is_acked=True)),
                          ("pop", lambda: batches.pop(jobs))):
            look, before = site.look(), batches.bytes_moved + later.bytes_moved
            run()
            site.wait_at_rest()  # deliveries are confirmed behind their replies
            used[name] = look.used()
            used[name].jobs = jobs * (2 if name == "push_now" else 1)
            used[name].client_bytes = batches.bytes_moved + later.bytes_moved - before
        for each in (batches, later):
            each.close()
    return used
