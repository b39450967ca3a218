"""TLS: what it takes of a push, what a handshake costs, and what a client costs that is idle."""

from pathlib import Path

from bench.measure import Bench
from bench.tables.table import PROTOCOLS, attempt, generator_note, in_turns, rate, ratio, table
from harness.certificates import Certificates
from harness.memory import cpu_s, resident_bytes

CONNECTIONS = 64
HANDSHAKES = {"full": 0, "resumed": 1}
SPEAKS = {"plain": 0, "TLS": 1}


class TlsBench(Bench):
    """Both ports take clients of both kinds."""

    def __init__(self, progress=None, settings=None, build=None):
        super().__init__(progress, {}, build)
        certificates = Certificates(Path(self.directory) / "certificates")
        self.node.settings.update({**(settings or {}), **certificates.settings(
            http="optional", gmq="optional")})


@table("TLS 1.3 beside plain, 64 connections kept alive; handshakes, 64 at a time",
       plan=(6, 2, 10), place=TlsBench)
def tls(bench, options, result):
    _pushes(bench, options, result)
    _handshakes(bench, options, result)
    _idle(bench, options, result)
    result.notes.append("keys on the curve P-256; clients on the same machine, which take as much of "
                        "its processors for a handshake as the node does")


def _pushes(bench, options, result):
    bench.generator_percent = 0
    rates = in_turns(bench, options, result, {
        (protocol, how): lambda protocol=protocol, how=how: rate(
            bench, "push", f"push, {PROTOCOLS[protocol]}, {how}", protocol=protocol,
            connections=CONNECTIONS, seconds=options.seconds, tls=SPEAKS[how])
        for protocol in PROTOCOLS for how in SPEAKS})
    result.columns = list(PROTOCOLS.values())
    for how in SPEAKS:
        result.add(f"push, {how}", [rates[protocol, how] for protocol in PROTOCOLS], "/s",
                   note=generator_note(bench.generator_percent))
    result.add("... against plain", [ratio(rates[protocol, "TLS"], rates[protocol, "plain"], 100)
                                     for protocol in PROTOCOLS], "%", at_least=70)


def _handshakes(bench, options, result):
    """Of either port: the dialect has no part in it."""
    bench.progress.expect(len(HANDSHAKES))
    for kind, resume in HANDSHAKES.items():
        before = cpu_s(bench.node.worker_pid)
        run = attempt(result, f"handshakes, {kind}", lambda resume=resume: bench.load(
            "handshakes", f"handshakes, {kind}", protocol="http", connections=CONNECTIONS,
            seconds=options.seconds, resume=resume))
        used = cpu_s(bench.node.worker_pid) - before
        count = run and run["per_second"]
        result.add(f"handshakes, {kind}", [None, count], "/s")
        result.add("... of the node's processor time, each",
                   [None, run and 1e6 * used / _all_of(run)], "us")


def _all_of(run):
    """The warm-up's, too, as if they came at the same rate."""
    return run["per_second"] * (run["seconds"] + 0.3)


def _idle(bench, options, result):
    """Memory of a connection that has sent one request, and then nothing."""
    number = options.pick(2000, quick=50)
    bench.progress.expect(2 * len(SPEAKS))
    for how, tls_ in SPEAKS.items():
        cells = [attempt(result, f"idle, {how}", lambda protocol=protocol, tls_=tls_: _held(
            bench, protocol, number, tls_)) for protocol in PROTOCOLS]
        result.add(f"memory of an idle connection, {how}", cells, "bytes")


def _held(bench, protocol, number, tls_):
    """A first crowd, so that what the second takes is not found in what others have left."""
    used = []
    for _ in range(2):
        before = resident_bytes(bench.node.worker_pid)
        with bench.progress.step(f"{number:,} idle connections, {PROTOCOLS[protocol]}"):
            load = bench.start_load("idle", protocol=protocol, connections=number, say="request",
                                    tls=tls_)
            load.stdout.readline()
        used.append((resident_bytes(bench.node.worker_pid) - before, load))
    for _, load in used:
        load.stdin.close()
        load.wait()
    return used[-1][0] / number
