"""The beanstalkd dialect beside Debian's beanstalkd: puts, reservations with their deletes, lateness."""

from contextlib import contextmanager

from bench.measure import Bench
from bench.tables.table import generator_note, medians, ratio, table
from harness.beanstalkd import Beanstalkd
from harness.ports import free_port

TUBES = "beanstalk"  # as the load generator calls it
KINDS = {"always": "dueq, each answer on the disk", "everysec": "dueq, written each second",
         "synced": "beanstalkd, log synced", "memory": "beanstalkd, in memory"}
PEERS = {"always": "synced", "everysec": "memory"}
WORKS = {"put": "put", "reserve": "reserve+delete", "late": "lateness"}
DUE_A_SECOND = 200  # what a lone consumer can delete, each on the disk
JOBS = {"always": 8_000, "synced": 8_000, "everysec": 40_000, "memory": 80_000}  # a second, at most
LONE_SHARE = 8      # of that, over one connection


class TubesBench(Bench):
    """A node that speaks it."""

    def __init__(self, progress=None, settings=None, build=None):
        self.tubes_port = free_port()
        super().__init__(progress, {**(settings or {}),
                                    "beanstalkd.listen": f"127.0.0.1:{self.tubes_port}"}, build)

    def _port_of(self, protocol):
        return self.tubes_port if protocol == TUBES else super()._port_of(protocol)


@contextmanager
def _served(bench, nodes, kind):
    """The options of a run against an empty one of that kind."""
    if kind in nodes:
        nodes[kind].wipe()
        yield {"protocol": TUBES, "port": nodes[kind].tubes_port}
        return
    with Beanstalkd(bench.directory, is_synced=kind == "synced") as peer:
        yield {"protocol": TUBES, "port": peer.port}


def _run(bench, nodes, kind, work, connections, options):
    what = f"{WORKS[work]}, {KINDS[kind]}, {connections} connections"
    with _served(bench, nodes, kind) as where:
        if work == "put":
            return bench.load("push", what, delay=0, connections=connections,
                              seconds=options.seconds, **where)
        if work == "late":
            return bench.load("lateness", what, connections=connections, rate=DUE_A_SECOND,
                              seconds=options.seconds, delay=2, **where)
        jobs = options.pick(JOBS[kind] * options.seconds // (LONE_SHARE if connections == 1 else 1),
                            quick=200)
        bench.load("push", f"{what}, filling", delay=0, connections=64, total=jobs, **where)
        return bench.load("pop_ack", what, connections=connections, total=jobs, **where)


@table("the beanstalkd dialect beside Debian's beanstalkd", plan=(36, 0, 20), place=TubesBench)
def beanstalkd(bench, options, result):
    connections = options.pick((1, 16, 64), quick=(8,))
    with TubesBench(bench.progress, {**bench.settings, "store.appendfsync": "everysec"}) as quick:
        nodes = {"always": bench, "everysec": quick}
        for each in nodes.values():
            each.never_rewrite()
        runs = medians(bench, options, result, {
            (work, kind, number): lambda key=(work, kind, number): _figures(_run(
                bench, nodes, key[1], key[0], key[2], options))
            for work in WORKS for kind in KINDS for number in connections})
    result.columns = [f"{number} conn." for number in connections]

    def row(work, kind, figure, scale=1):
        values = [runs[work, kind, number].get(figure) for number in connections]
        return [value if value is None else value * scale for value in values]

    def busiest(work, kind):
        return max((runs[work, kind, number].get("cpu_percent", 0) for number in connections))

    for work in ("put", "reserve"):
        for kind, name in KINDS.items():
            result.add(f"{WORKS[work]}, {name}", row(work, kind, "per_second"), "/s",
                       note=generator_note(busiest(work, kind)))
        for kind, peer in PEERS.items():
            shares = [ratio(mine, its, 100) for mine, its in zip(row(work, kind, "per_second"),
                                                                 row(work, peer, "per_second"))]
            result.add(f"{WORKS[work]}, {KINDS[kind]} against {KINDS[peer]}", shares, "%")
    for kind, name in KINDS.items():
        for figure in ("p50_us", "p99_us"):
            result.add(f"lateness, {name}, {figure[:3]}", row("late", kind, figure, 1e-3), "ms")
        result.add(f"lateness, {name}: early, or twice", [
            None if early is None else early + doubles for early, doubles in
            zip(row("late", kind, "early"), row("late", kind, "doubles"))], "", at_most=0, column=None)
    result.notes.append(f"lateness: {DUE_A_SECOND} jobs a second, put with a delay of 2 s, so many "
                        "consumers wait; from the due time to the reply in a consumer's hands. "
                        "Debian's beanstalkd has no replica, and in memory no copy at all")


def _figures(report):
    return {name: report.get(name, 0) for name in
            ("per_second", "p50_us", "p99_us", "early", "doubles", "cpu_percent")}
