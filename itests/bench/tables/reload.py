"""How long a Redis with many jobs is away: the fork for a rewrite of its file, and reading the
file at a start."""

import re
import time
from contextlib import contextmanager
from pathlib import Path

from bench.tables.table import table
from harness.redis_server import RedisServer
from harness.wait import wait_until

FAR_S = 86_400
LOADED = re.compile(r"DB loaded from append only file: ([0-9.]+) seconds")
PATIENCE_S = 300
TOPICS = 16
ROWS = {"memory": ("memory", 1e-6, "MB"),
        "appended": ("the file as pushes write it", 1e-6, "MB"),
        "replay_s": ("... read at a start", 1, "s"),
        "rewrite_s": ("rewritten in", 1, "s"),
        "fork_ms": ("... nobody is served meanwhile for", 1, "ms"),
        "file": ("the file then", 1e-6, "MB"),
        "load_s": ("... read at a start", 1, "s")}


@table("a Redis of many delayed jobs: its file rewritten, and read again", plan=(0, 0, 60))
def reload(bench, options, result):
    sizes = options.pick((250_000, 1_000_000), quick=(2000, 5000), long=(1_000_000, 4_000_000))
    bench.progress.expect(2 * len(sizes))
    cells = [_measured(bench, jobs) for jobs in sizes]
    result.columns = [f"{jobs:,} jobs" for jobs in sizes]
    for name, (label, scale, unit) in ROWS.items():
        result.add(label, [cell[name] * scale for cell in cells], unit)
    result.add("memory that is there after a second of reading",
               [cell["memory"] / cell["load_s"] / 1e6 for cell in cells], "MB",
               note="of a rewritten file")
    result.notes.append("bodies of 100 bytes, not compressed (rdbcompression no): here all are the "
                        "same; nothing else happens meanwhile; the files are in the page cache, so "
                        "a slow disk is not in it")
    result.series = {"cells": [{"jobs": jobs, **cell} for jobs, cell in zip(sizes, cells)]}


@contextmanager
def _redis(bench, jobs):
    server = RedisServer(Path(bench.directory) / f"reload{jobs}", appendonly="yes",
                         appendfsync="no", rdbcompression="no", auto_aof_rewrite_percentage=0)
    try:
        yield server.start()
    finally:
        server.destroy()


def _measured(bench, jobs):
    with _redis(bench, jobs) as server:
        bench.load("fill", f"pushing {jobs:,} jobs", redis=server.socket, count=jobs, depth=1000,
                   topics=TOPICS, delay=FAR_S)
        cell = {"appended": _file_bytes(server), "memory": server.client().info()["used_memory"]}
        with bench.progress.step(f"{jobs:,} jobs: read, rewritten and read again"):
            cell["replay_s"] = _start_again(server)
            cell["rewrite_s"] = _rewrite(server)
            cell["fork_ms"] = server.client().info("stats")["latest_fork_usec"] / 1000
            cell["file"] = _file_bytes(server)
            cell["load_s"] = _start_again(server)
    return cell


def _file_bytes(server):
    return sum(path.stat().st_size for path in server.directory.rglob("*.aof*"))


def _rewrite(server):
    client, since = server.client(), time.monotonic()
    client.bgrewriteaof()
    wait_until(lambda: not client.info("persistence")["aof_rewrite_in_progress"],
               "the file is rewritten", PATIENCE_S)
    return time.monotonic() - since


def _start_again(server):
    """Seconds, as Redis itself tells them."""
    told = len(LOADED.findall(server.process.output()))
    server.stop()
    server.launch()
    return float(wait_until(lambda: LOADED.findall(server.process.output())[told:],
                            "the file is read", PATIENCE_S)[0])
