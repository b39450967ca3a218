"""Rows about processes: killed, stopped in order, frozen."""

import os
import signal

from drills.cluster import STANDALONE, Plan
from drills.journal import REFUSED, UNKNOWN
from drills.row import Row, row, stay


@row("0", "kill -9 of the worker of a standalone node")
class KillAlone(Row):
    """No failover: the warden starts another worker. It proves the drills themselves."""

    needs = None
    rounds = 100
    changes = 0
    interrupts = True
    variants = ("worker", "all")
    short_variants = ("worker",)

    def plan(self, variant):
        return Plan(mode=STANDALONE, nodes=1)

    def fault(self, drill):
        if drill.variant == "all":
            drill.leader.kill_all()
            drill.leader.launch()
        else:
            drill.leader.kill("worker")
        return [drill.leader]

    def takes_over(self, drill):
        return False


@row("1", "kill -9 of the worker")
class KillWorker(Row):
    rounds = 100
    target_ms = 60

    def fault(self, drill):
        drill.leader.kill("worker")
        return [drill.leader]


@row("2", "kill -9 of warden and worker")
class KillAll(Row):
    rounds = 100
    target_ms = 100

    def fault(self, drill):
        drill.leader.kill_all()
        return [drill.leader]


@row("3", "orderly: SIGTERM, switchover")
class Orderly(Row):
    rounds = 200  # 100 of each
    target_ms = 50
    variants = ("SIGTERM", "switchover")
    rehearsed_variants = ("SIGTERM",)

    def fault(self, drill):
        if drill.variant == "SIGTERM":
            drill.leader.process.signal(signal.SIGTERM)
        else:
            done = drill.leader.ctl("switchover")
            assert done.code == 0, done

    def heal(self, drill):
        if drill.variant == "SIGTERM":
            drill.leader.wait_stopped()

    def check(self, drill, elected):
        failed = sum(drill.answers(outcome, drill.since_ms) for outcome in (UNKNOWN, REFUSED))
        if drill.variant == "switchover" and failed:
            yield f"{failed} pushes failed"


@row("4", "SIGSTOP and SIGCONT")
class Freeze(Row):
    """The warden kills a worker alone that is frozen; frozen with it, it is back when it can do
    no harm any more. T/2 may or may not change the leader."""

    variants = tuple(f"{who} for {length}" for who in ("worker", "both")
                     for length in ("T/2", "2T", "30 s"))
    short_variants = ("worker for 2T", "both for 2T")

    def fault(self, drill):
        drill.leader.freeze(drill.variant.split()[0])

    def takes_over(self, drill):
        return not drill.variant.endswith("T/2")

    def hold(self, drill):
        length = drill.variant.split(" for ")[1]
        stay(drill, {"T/2": drill.session_ms / 2, "2T": 2 * drill.session_ms,
                     "30 s": 30_000}[length])

    def heal(self, drill):
        drill.leader.thaw()


@row("18", "all standbys killed; all nodes killed and started together")
class KillMany(Row):
    variants = ("standbys", "all")
    short_variants = ("standbys",)  # of "all" a node was once refused as its own namesake: open

    def fault(self, drill):
        everybody = drill.cluster.nodes
        victims = everybody if drill.variant == "all" else drill.cluster.standbys()
        victims = [node for node in victims if node.process]  # not who is dead of another fault
        for node in victims:
            node.kill_all()
        for node in victims:
            node.launch()
        return victims

    def takes_over(self, drill):
        return drill.variant == "all"

    def check(self, drill, elected):
        if drill.variant == "standbys" and elected:
            yield "the leader lived, and lost the lead"


@row("20", "rolling upgrade under load, and back")
class RollingUpgrade(Row):
    """Standbys first, then, when they could lead, the leader: stopped in order and started as the
    other build.
    DUEQ_OLD_NODE names the older dueq-node; without it both are the build under test."""

    variants = ("upgrade", "downgrade")
    short_variants = ("upgrade",)

    def plan(self, variant):
        old = os.environ.get("DUEQ_OLD_NODE")
        return Plan(node_programs=(old, old, old))

    def fault(self, drill):
        program = os.environ.get("DUEQ_OLD_NODE") if drill.variant == "downgrade" else None
        for node in (*drill.cluster.standbys(), drill.leader):
            if node is drill.leader:
                drill.cluster.wait_steady()  # as an operator does: dueqctl check
                drill.count_from_now()
            node.program = program
            node.stop()
            node.start()
