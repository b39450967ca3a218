"""What an honest client notices of a stranger who takes what it can get, with limits set."""

import hashlib
import http.client
import json
import statistics
import time
from pathlib import Path

from bench.flooders import KINDS, flood as flooded
from bench.measure import Bench
from bench.tables.table import attempt, table
from harness.certificates import Certificates
from harness.memory import cpu_s

SETTLE_S = 0.3
TIMES_AT_MOST = 2.0
PAUSE_S = 0.002  # between two jobs of the honest client: it is not one that takes all, either
LIMITS = {"limits.connections_per_address": 200, "limits.connects_per_address": 100,
          "limits.requests_per_address": 3000, "limits.bytes_per_address": "64MiB"}


def _line(name, words):
    return f"{name} produce,consume token={hashlib.sha256(name.encode()).hexdigest()}{words}\n"


class GuardedBench(Bench):
    """It has limits, identities and TLS."""

    def __init__(self, progress=None, settings=None, build=None):
        super().__init__(progress, {}, build)
        self.certificates = Certificates(Path(self.directory) / "certificates")
        identities = Path(self.directory) / "identities"
        identities.write_text(_line("honest", "") + _line("flood", " rate=100 connections=50"))
        identities.chmod(0o600)
        self.node.settings.update({**(settings or {}), **LIMITS, "access.file": identities,
                                   **self.certificates.settings(http="optional")})


class Honest:
    """One client, which pushes a job, pops it and acknowledges it, again and again."""

    def __init__(self, port):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self.connection.connect()

    def ask(self, path, body=None):
        self.connection.request("POST", path, body, {"Authorization": "Bearer honest"})
        reply = self.connection.getresponse()
        answer = reply.read()
        assert reply.status in (200, 201, 204), (reply.status, answer)
        return answer

    def take_turn(self):
        """A job pushed and popped; how long that took, in ms."""
        begin = time.perf_counter()
        self.ask("/v1/topics/honest/jobs", '{"body": "x"}')
        job = json.loads(self.ask("/v1/topics/honest/pop?wait_ms=5000"))["jobs"][0]
        taken_ms = 1000 * (time.perf_counter() - begin)
        self.ask(f"/v1/topics/honest/jobs/{job['id']}/ack", json.dumps({"lease": job["lease"]}))
        return taken_ms

    def measure(self, seconds):
        """(p50, p99) of so many seconds."""
        until, taken = time.monotonic() + seconds, []
        while time.monotonic() < until:
            taken.append(self.take_turn())
            time.sleep(PAUSE_S)
        return statistics.median(taken), sorted(taken)[int(0.99 * len(taken))]


@table("an honest client's push and pop over HTTP, beside a flood from another address",
       plan=(2 * len(KINDS), 0, 10), place=GuardedBench)
def flood(bench, options, result):
    """Quiet and flooded take turns, so that both meet the same machine."""
    bench.redis.config_set("appendfsync", "no")  # the disk's worst moments are not the stranger's
    result.columns = ["p50 quiet", "p50 flooded", "p99 quiet", "p99 flooded", "p99, times"]
    bench.progress.expect(options.rounds * len(KINDS))
    for kind in KINDS:
        runs = [attempt(result, kind, lambda kind=kind: _side_by_side(bench, kind, options))
                for _ in range(options.rounds)]
        if None not in runs:
            _add_row(result, kind, runs)
    result.notes.append("the stranger is a process of lower priority at 127.0.0.2 of the same "
                        "machine; one connection of the honest client's, at 127.0.0.1; nothing "
                        "waits for the disk; " +
                        ", ".join(f"{key} {value}" for key, value in LIMITS.items()))


def _side_by_side(bench, kind, options):
    honest = Honest(bench.node.http_port)
    with bench.progress.step(kind, 2 * (options.seconds + SETTLE_S)):
        quiet = honest.measure(options.seconds)
        with flooded(kind, bench.node.http_port, bench.certificates.ca) as done:
            time.sleep(SETTLE_S)  # a flood at its height: the length of the measurement
            before, cpu_before = done(), cpu_s(bench.node.worker_pid)
            beside = honest.measure(options.seconds)
            rate = (done() - before) / options.seconds
            cpu = 100 * (cpu_s(bench.node.worker_pid) - cpu_before) / options.seconds
        honest.connection.close()
        time.sleep(SETTLE_S)
    return {"p50_quiet": quiet[0], "p50": beside[0], "p99_quiet": quiet[1], "p99": beside[1],
            "rate": rate, "cpu": cpu}


def _add_row(result, kind, runs):
    """The ratio of each round, and of those the median."""
    values = [_middle(runs, name) for name in ("p50_quiet", "p50", "p99_quiet", "p99")]
    times = [run["p99"] / run["p99_quiet"] for run in runs]
    result.add(kind, [*values, statistics.median(times)], "ms, times", at_most=TIMES_AT_MOST,
               column=4, note=f"{_middle(runs, 'rate'):,.0f}/s; {min(times):.1f} to "
                              f"{max(times):.1f} times; the node takes "
                              f"{_middle(runs, 'cpu'):.0f} % of a processor")


def _middle(runs, name):
    return statistics.median(run[name] for run in runs)
