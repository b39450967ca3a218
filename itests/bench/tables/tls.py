"""TLS: what it takes of a push, what a handshake costs, and what a client costs that is idle."""

from pathlib import Path

from bench.measure import Bench
from bench.tables.table import PROTOCOLS, attempt, generator_note, medians, ratio, table
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


def _push(bench, protocol, how, seconds):
    """How many a second, and the processor time of each in the node: other than the rate that is
    much the same on a busy machine."""
    bench.wipe()
    before = cpu_s(bench.node.worker_pid)
    run = bench.load("push", f"push, {PROTOCOLS[protocol]}, {how}", protocol=protocol,
                     connections=CONNECTIONS, seconds=seconds, tls=SPEAKS[how])
    return {"rate": run["per_second"],
            "cpu_us": 1e6 * (cpu_s(bench.node.worker_pid) - before) / _all_of(run)}


def _pushes(bench, options, result):
    bench.generator_percent = 0
    runs = medians(bench, options, result, {
        (protocol, how): lambda key=(protocol, how): _push(bench, *key, options.seconds)
        for protocol in PROTOCOLS for how in SPEAKS})

    def row(how, name):
        return [runs[protocol, how].get(name) for protocol in PROTOCOLS]

    result.columns = list(PROTOCOLS.values())
    for how in SPEAKS:
        result.add(f"push, {how}", row(how, "rate"), "/s",
                   note=generator_note(bench.generator_percent))
    result.add("... against plain", [ratio(*pair, 100) for pair in
                                     zip(row("TLS", "rate"), row("plain", "rate"))],
               "%", at_least=70)
    for how in SPEAKS:
        result.add(f"... the node's processor time of each, {how}", row(how, "cpu_us"), "us")


def _handshakes(bench, options, result):
    bench.progress.expect(len(HANDSHAKES) * len(PROTOCOLS))
    for kind, resume in HANDSHAKES.items():
        runs = [attempt(result, f"handshakes, {kind}", lambda protocol=protocol, resume=resume:
                        _shaken(bench, protocol, kind, resume, options.seconds))
                for protocol in PROTOCOLS]
        result.add(f"handshakes, {kind}", [run and run["rate"] for run in runs], "/s")
        result.add(f"... the node's processor time of each, {kind}",
                   [run and run["cpu_us"] for run in runs], "us")


def _shaken(bench, protocol, kind, resume, seconds):
    before = cpu_s(bench.node.worker_pid)
    run = bench.load("handshakes", f"handshakes, {kind}, {PROTOCOLS[protocol]}",
                     protocol=protocol, connections=CONNECTIONS, seconds=seconds, resume=resume)
    return {"rate": run["per_second"],
            "cpu_us": 1e6 * (cpu_s(bench.node.worker_pid) - before) / _all_of(run)}


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
    """In a node that is new: what others have left would be used again."""
    bench.node.stop()
    bench.node.start()
    before = resident_bytes(bench.node.worker_pid)
    with bench.progress.step(f"{number:,} idle connections, {PROTOCOLS[protocol]}"):
        load = bench.start_load("idle", protocol=protocol, connections=number, say="request",
                                tls=tls_)
        load.stdout.readline()
    used = resident_bytes(bench.node.worker_pid) - before
    load.stdin.close()
    load.wait()
    return used / number
