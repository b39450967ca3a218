"""More nodes and more masters: what they carry together, what a job takes of each process, and
what the locks cost that keep nodes apart."""

from bench.farm import Farm
from bench.tables.table import medians, ratio, table

MODE = "cluster"
NODES = (1, 2, 3)
MASTERS = (1, 3)
COLUMNS_OF_TOPICS = ((1, 1), (1, 3), (3, 3))  # masters, nodes
PHASES = {"push": "push", "due": "due: from delayed to ready", "hand": "pop+ack"}
DUE_A_PUSH = 4  # due jobs take a tenth of the time of others
FILL_A_SECOND = 60_000  # jobs past the nodes, on a slow machine
FILL_TOPICS_A_SECOND = 12_000
USES = {"node_us": ("nodes", "us"), "redis_us": ("Redis", "us"), "loader_us": ("generator", "us"),
        "scripts": ("scripts", ""), "commands": ("commands, those in scripts too", ""),
        "redis_bytes": ("bytes between nodes and Redis", "bytes"),
        "file_bytes": ("bytes into Redis's file", "bytes"),
        "client_bytes": ("bytes between clients and nodes", "bytes")}


def life(site, nodes, jobs, topics):
    """{phase and figure: value} of jobs on an empty store: pushed, others fall due, and of those
    some are handed over."""
    due = jobs * DUE_A_PUSH
    with site.running(nodes):
        used = {"push": site.push(jobs, topics)}
        used["due"] = site.fall_due(due, topics, fill_seconds(due, topics))
        used["hand"] = site.hand_over(jobs, topics)
    return flat(used)


def flat(used):
    return {f"{phase}.{name}": value for phase, each in used.items()
            for name, value in each.figures().items()}


def fill_seconds(jobs, topics):
    return 0.5 + jobs / FILL_A_SECOND + topics / FILL_TOPICS_A_SECOND


def add_phases(result, cells, keys):
    """Rows of all phases; `cells` {key: figures}, a column a key."""
    for phase, label in PHASES.items():
        def row(name, phase=phase):
            return [cells[key].get(f"{phase}.{name}") for key in keys]

        result.add(label, row("per_second"), "/s")
        result.add("... processors at work", row("processors"), "")
        for name, (who, unit) in USES.items():
            if any(row(name)):
                result.add(f"... a job: {who}", row(name), unit)


@table("pushes, due jobs and hand-overs with several nodes over several Redis masters, HTTP",
       plan=(0, 0, 200), place=Farm)
def nodes(bench, options, result):
    counts, masters = options.pick((NODES, MASTERS), quick=((1, 2), (1,)))
    jobs, topics = options.pick((36_000, 1200), quick=(1200, 60))
    sites = {number: bench.site(f"over{number}", MODE, number) for number in masters}
    keys = [(number, count) for number in masters for count in counts]
    cells = medians(bench, options, result, {
        key: lambda key=key: life(sites[key[0]], key[1], jobs, topics) for key in keys})
    result.columns = [column(*key) for key in keys]
    add_phases(result, cells, keys)
    result.notes += [
        f"{topics:,} topics; {jobs:,} jobs are pushed, {jobs * DUE_A_PUSH:,} others fall due in the "
        f"same millisecond, {jobs:,} of them are handed over",
        "all share this machine, so more nodes and more masters cannot be faster than its "
        "processors: what says how far they would carry is the processor time a job"]
    result.series = {"jobs": jobs, "topics": topics, "cells": [
        {"masters": key[0], "nodes": key[1], **cells[key]} for key in keys]}


def column(masters, count):
    return f"{count} node{'s' * (count > 1)}, {masters} Redis"


# ---- locks ----

LOCK_MODES = {"standby": "one leader, no locks", MODE: "cluster mode"}
AT_LEAST_PERCENT = 97
AGAIN_S = 1.5  # a lock lasts for seconds


def _shapes(options):
    """{label: (jobs, topics, is it the second time)}"""
    many, few = options.pick((200, 20_000), quick=(2, 200))
    topics = options.pick(1200, quick=60)
    return {f"{many} in each of {topics:,} topics": (many * topics, topics, False),
            f"1 in each of {few:,} topics": (few, few, False),
            f"1 in each of {few:,} topics, locked already": (few, few, True)}


@table("a node in cluster mode, beside one that leads and has none", plan=(0, 0, 80),
       place=Farm)
def locks(bench, options, result):
    sites = {mode: bench.site(f"locks-{mode}", mode) for mode in LOCK_MODES}
    cells = medians(bench, options, result, {
        (mode,): lambda mode=mode: _falls(sites[mode], _shapes(options)) for mode in LOCK_MODES})
    result.columns = list(_shapes(options))
    for name, what, unit in (("per_second", "jobs made ready", "/s"),
                             ("redis_us", "a job: Redis", "us"),
                             ("script_us", "a job: in scripts, by Redis's own measure", "us"),
                             ("node_us", "a job: node", "us")):
        rows = {mode: [cells[mode,].get(f"{shape}.{name}") for shape in result.columns]
                for mode in LOCK_MODES}
        for mode, label in LOCK_MODES.items():
            result.add(f"{label}: {what}", rows[mode], unit)
        shares = [ratio(rows[MODE][i], rows["standby"][i], 100) for i in range(len(rows[MODE]))]
        bound = {"at_least": AT_LEAST_PERCENT, "column": 0} if name == "per_second" else {}
        result.add("... with locks, against without", shares, "%", **bound)
    result.notes.append("a lock is written when a topic is taken, and again after half of its time; "
                        "so where each topic has one job, and had none before, there is a lock to "
                        "be written for each job")
    result.series = {"cells": [{"mode": mode, **cells[mode,]} for mode in LOCK_MODES]}


def _falls(site, shapes):
    """One node, an empty store each time, so that nobody has a lock."""
    figures = {}
    for label, (jobs, topics, is_again) in shapes.items():
        with site.running(1):
            used = site.fall_due(jobs, topics, fill_seconds(jobs, topics),
                                 again_s=AGAIN_S if is_again else None)
        figures.update(flat({label: used}))
    return figures
