"""How much: pushes and whole cycles, through the node and beside others."""

import json

from bench.tables.table import PROTOCOLS, generator_note, in_turns, rate, ratio, table
from harness.beanstalkd import Beanstalkd

WORKS = {"push": "push", "cycle": "push+pop+ack"}
SCRIPTS = {"gmq": "scripts", "http": "scripts_leases"}  # the same work, without a node
KINDS = {**PROTOCOLS, "scripts": "the scripts alone",
         "scripts_leases": "the scripts alone, as HTTP pops", "memory": "beanstalkd, in memory",
         "synced": "beanstalkd, log synced"}


def _run(bench, kind, work, connections, seconds):
    what = f"{WORKS[work]}, {KINDS[kind]}, {connections:,} connections"
    if kind in SCRIPTS.values():
        return rate(bench, f"direct_{work}", what, depth=connections, seconds=seconds,
                    owners=int(kind == "scripts"))
    if kind in PROTOCOLS:
        return rate(bench, work, what, protocol=kind, connections=connections, seconds=seconds)
    with Beanstalkd(bench.directory, is_synced=kind == "synced") as peer:
        return rate(bench, work, what, protocol="beanstalk", port=peer.port,
                    connections=connections, seconds=seconds)


def _kinds(work):
    """A push is the same script for all; pops are not."""
    return {kind: name for kind, name in KINDS.items()
            if work == "cycle" or kind != "scripts_leases"}


@table("one request under way on each connection, beside the scripts alone and beanstalkd",
       plan=(33, 0, 5))
def throughput(bench, options, result):
    connections = options.pick((1, 64, 1000), quick=(1, 8))
    generator = {}  # how busy it was: the most, by work and kind

    def run(work, kind, number):
        bench.generator_percent = 0
        reached = _run(bench, kind, work, number, options.seconds)
        generator[work, kind] = max(generator.get((work, kind), 0), bench.generator_percent)
        return reached

    rates = in_turns(bench, options, result, {
        (work, kind, number): lambda key=(work, kind, number): run(*key)
        for work in WORKS for kind in _kinds(work) for number in connections})
    result.columns = [f"{number:,} conn." for number in connections]
    for work, label in WORKS.items():
        for kind, name in _kinds(work).items():
            result.add(f"{label}, {name}", [rates[work, kind, n] for n in connections], "/s",
                       note=generator_note(generator.get((work, kind), 0)))
        for kind, name in PROTOCOLS.items():
            scripts = SCRIPTS[kind] if SCRIPTS[kind] in _kinds(work) else "scripts"
            shares = [ratio(rates[work, kind, n], rates[work, scripts, n], 100)
                      for n in connections]
            result.add(f"{label}, {name} against scripts", shares, "%", at_least=60, column=1)
    result.notes.append("the scripts have one connection to Redis and as many requests under "
                        "way as the others have connections")
    result.notes.append("generator: the most that the load generator, or who sends the scripts, "
                        "used of a processor; its own limit is in the table generator")
    result.series = {"connections": list(connections), "bars": [
        {"work": WORKS[work], "kind": KINDS[kind],
         "rates": [rates[work, kind, number] for number in connections]}
        for work in WORKS for kind in _kinds(work)]}


def _pop_ack(bench, protocol, seconds):
    bench.wipe()
    bench.fill(seconds * 25_000, "filling in for pop+ack", topics=1, delay=0)
    return bench.load("pop_ack", f"pop+ack, {protocol}", protocol=protocol, connections=1,
                      topics=1, seconds=seconds)["per_second"]


def _sequential(bench, options, result):
    seconds = options.seconds
    plan = {}
    for work, label in WORKS.items():
        for protocol in PROTOCOLS:
            plan[work, protocol] = lambda work=work, protocol=protocol, label=label: rate(
                bench, work, f"{label}, {protocol}", protocol=protocol, connections=1,
                seconds=seconds)
        plan[work, "scripts"] = lambda work=work, label=label: rate(
            bench, f"direct_{work}", f"{label}, scripts", depth=1, seconds=seconds)
    for protocol in PROTOCOLS:
        plan["pop+ack", protocol] = lambda protocol=protocol: _pop_ack(bench, protocol, seconds)

    rates = in_turns(bench, options, result, plan)
    result.columns = [*PROTOCOLS.values(), "scripts alone"]
    result.add("push", [rates["push", kind] for kind in ("gmq", "http", "scripts")], "/s",
               at_least=6300, note="elsewhere: gmq 6,300, lmstfy 6,100")
    result.add("pop+ack pairs", [rates["pop+ack", kind] for kind in PROTOCOLS], "/s",
               at_least=3300, note="elsewhere: lmstfy 3,300; gmq 9,800 pops without ack")
    result.add("push+pop+ack", [rates["cycle", kind] for kind in ("gmq", "http", "scripts")],
               "/s")


def _excuse_what_scripts_miss(result):
    """Where the scripts alone are too slow as well, it is the disk's doing. Their pop and ack is
    what their cycle takes beyond their push."""
    push, pair, cycle = result.rows
    alone, whole = push.values[-1], cycle.values[-1]
    pairs = 1 / (1 / whole - 1 / alone) if alone and whole and alone > whole else None
    for row, scripts in ((push, alone), (pair, pairs)):
        if scripts is not None and scripts < row.at_least:
            row.excuse = f"the disk: the scripts alone reach {scripts:,.0f}/s; see everysec"


@table("one connection, one request after the other", plan=(8, 0, 15))
def sequential(bench, options, result):
    _sequential(bench, options, result)
    _excuse_what_scripts_miss(result)


@table("one connection again, appendfsync everysec: without waiting for the disk",
       settings={"store.appendfsync": "everysec"}, plan=(8, 0, 15))
def everysec(bench, options, result):
    _sequential(bench, options, result)


@table("the load generator against a server that does nothing: what it could measure at most",
       plan=(0, 6, 3))
def generator(bench, options, result):
    protocols = {**PROTOCOLS, "beanstalk": "beanstalkd"}
    bench.progress.expect(len(WORKS) * len(protocols))
    result.columns = list(protocols.values())
    for work, label in WORKS.items():
        rates = []
        for protocol in protocols:
            echo = bench.start_load("echo", protocol=protocol, port=0)
            line = echo.stdout.readline()
            rates.append(bench.load(work, f"{label}, {protocol}", protocol=protocol,
                                    port=json.loads(line)["port"], connections=64,
                                    seconds=options.seconds)["per_second"])
            echo.stdin.close()
            bench.result_of(echo, line)
        result.add(f"{label}, 64 connections", rates, "/s")
