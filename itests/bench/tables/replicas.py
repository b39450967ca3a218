"""What it costs to answer only when a replica has it, too (store.min_replicas)."""

import statistics
from contextlib import contextmanager
from pathlib import Path

from bench.tables.life import WORKS, add_rates
from bench.tables.table import in_turns, table
from harness.node import Node
from harness.ports import free_port
from harness.redis_server import RedisServer
from harness.wait import wait_until

CONNECTIONS = 64
KINDS = {0: "no replica is waited for", 1: "one replica"}  # by store.min_replicas
FIGURES = {"p50_us": "p50", "p99_us": "p99"}
AT_LEAST_PERCENT = 70


@contextmanager
def _replicated(directory):
    """A master, and a replica in sync, both with appendfsync always."""
    directory = Path(directory)
    synced = {"appendonly": "yes", "appendfsync": "always"}
    port = free_port()
    servers = [RedisServer(directory / "master", bind="127.0.0.1", port=port, **synced,
                           **{"repl-diskless-sync-delay": 0}),
               RedisServer(directory / "replica", **synced)]
    try:
        master, replica = [server.start() for server in servers]
        replica.client().replicaof("127.0.0.1", port)
        wait_until(lambda: replica.client().info("replication")["master_link_status"] == "up",
                   "the replica is in sync")
        yield master
    finally:
        for server in servers:
            server.destroy()


@contextmanager
def _nodes(directory, master):
    """One that waits for no replica, and one that does, on the same Redis."""
    settings = {"store.redis": master.address, "limits.connections": 15000, "limits.idle": "0s"}
    nodes = {}
    try:
        for count in KINDS:
            home = Path(directory) / f"node{count}"
            home.mkdir()
            nodes[count] = Node(home, {**settings, "store.min_replicas": count}).start()
        yield nodes
        for node in nodes.values():
            node.stop()
    finally:
        for node in nodes.values():
            node.destroy()


@table(f"waiting until a replica has it, on one machine, {CONNECTIONS} connections, HTTP",
       plan=(4, 0, 10))
def replicas(bench, options, result):
    times = {(work, count): [] for work in WORKS for count in KINDS}
    own = bench.redis, bench.socket
    with _replicated(bench.directory) as master, _nodes(bench.directory, master) as nodes:
        bench.redis, bench.socket = master.client(), master.socket
        try:
            rates = in_turns(bench, options, result, {
                key: lambda key=key: _run(bench, nodes, key, options.seconds, times[key])
                for key in times})
        finally:
            bench.redis, bench.socket = own
    add_rates(result, rates, *KINDS.items())
    result.rows[-1].at_least = AT_LEAST_PERCENT
    for field, name in FIGURES.items():
        for count, kind in KINDS.items():
            result.add(f"{kind}, {name}", [_median(times[work, count], field) for work in WORKS],
                       "ms")
    result.notes.append("both Redis, the node and the load generator share the machine; the "
                        "replica is there either way")


def _run(bench, nodes, key, seconds, times):
    work, count = key
    bench.wipe()
    report = bench.load(work, f"{WORKS[work]}, {KINDS[count]}", protocol="http",
                        connections=CONNECTIONS, seconds=seconds, port=nodes[count].http_port)
    assert report["errors"] == 0, f"{report['errors']} requests were refused"
    times.append(report)
    return report["per_second"]


def _median(reports, field):
    return statistics.median(report[field] for report in reports) / 1000 if reports else None
