"""Rows about processes: killed, stopped in order, frozen."""

import signal

from drills.graceful import InOrder, few_of
from drills.hosts.builds import altered_node, build_of, scripts_of
from drills.hosts.cluster import STANDALONE, Plan
from drills.hosts.nodes import kill_together
from drills.rows.row import Row, row, stay
from drills.rows.vip_row import VIP, VipRow, lost_with_somebody, with_nobody
from drills.witness import all_hurt, changed, workers
from harness.build import node_program
from judge.journal import REFUSED, UNKNOWN


@row("0", "kill -9 of the worker of a standalone node")
class KillAlone(Row):
    """No failover: the warden starts another worker. It proves the drills themselves."""

    rounds = 100
    changes = 0
    interrupts = True
    variants = ("worker", "all")
    short_variants = ("worker",)
    leader_stays = True

    def plan(self, variant):
        return Plan(mode=STANDALONE, nodes=1)

    def witness(self, drill):
        return all_hurt(workers([drill.leader]))

    def fault(self, drill):
        if drill.variant == "all":
            drill.leader.kill_all()
            drill.leader.launch()
        else:
            drill.leader.kill("worker")
        return [drill.leader]


@row("1", "kill -9 of the worker")
class KillWorker(VipRow):
    vip = VIP  # IPv4 alone, the other rows with IPv6 as well
    rounds = 100
    target_ms = 60

    def tells(self, drill):
        return True

    def witness(self, drill):
        return all_hurt(workers([drill.leader]))

    def fault(self, drill):
        if drill.leader.process:  # not dead of another fault
            drill.leader.kill("worker")
        return [drill.leader]


@row("2", "kill -9 of warden and worker")
class KillAll(VipRow):
    rounds = 100
    target_ms = 100
    seen = unserved = 0  # rounds; those in which connections were lost

    def tells(self, drill):
        return True

    def keeps(self, drill):
        """Nobody lives who could: its kernel keeps the address for its lifetime, and answers who
        asks for it beside the next leader."""
        return False

    def check(self, drill, elected):
        yield from super().check(drill, elected)
        if drill.sight:
            self.seen += 1
            self.unserved += bool(drill.sight.lost)
            yield from lost_with_somebody(drill.sight, with_nobody(drill), drill.since_ms)

    def check_often(self, cluster):
        if self.unserved > few_of(self.seen):
            yield f"connections were lost in {self.unserved} of {self.seen} rounds"

    @property
    def note(self):
        return (f"rounds in which connections were lost, because the next leader was late, or lost "
                f"its lease: {self.unserved}" if self.unserved else "")

    def witness(self, drill):
        return all_hurt(drill.leader.pids)

    def fault(self, drill):
        drill.leader.kill_all()
        return [drill.leader]


@row("3", "orderly: SIGTERM, switchover")
class Orderly(VipRow):
    rounds = 200  # 100 of each
    target_ms = 50
    variants = ("SIGTERM", "switchover")
    rehearsed_variants = ("SIGTERM",)

    def __init__(self):
        self.in_order = InOrder()

    def witness(self, drill):
        """By its own word: it went in order."""
        return changed(drill.leader.role)

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
        yield from super().check(drill, elected)
        failed = sum(drill.answers(outcome, drill.since_ms) for outcome in (UNKNOWN, REFUSED))
        if drill.variant == "switchover" and failed:
            yield f"{failed} pushes failed"
        yield from self.in_order.check(drill)

    def check_times(self, drill):
        yield from self.in_order.check_times()

    def check_often(self, cluster):
        yield from self.in_order.check_often()

    @property
    def note(self):
        return self.in_order.note


@row("4", "SIGSTOP and SIGCONT")
class Freeze(VipRow):
    """The warden kills a worker alone that is frozen; frozen with it, it is back when it can do
    no harm any more. T/2 may or may not change the leader."""

    variants = tuple(f"{who} for {length}" for who in ("worker", "both")
                     for length in ("T/2", "2T", "30 s"))
    short_variants = ("worker for 2T", "both for 2T")

    def witness(self, drill):
        who = drill.leader.pids if drill.variant.startswith("both") else workers([drill.leader])
        return all_hurt(who)

    def fault(self, drill):
        drill.leader.freeze(drill.variant.split()[0])

    def takes_over(self, drill):
        return not drill.variant.endswith("T/2")

    def tells(self, drill):
        """The warden kills a worker that hangs, T/2 after it was heard last."""
        return drill.variant.startswith("worker") and self.takes_over(drill)

    def hold(self, drill):
        length = drill.variant.split(" for ")[1]
        stay(drill, {"T/2": drill.session_ms / 2, "2T": 2 * drill.session_ms,
                     "30 s": 30_000}[length])

    def heal(self, drill):
        drill.leader.thaw()


@row("18", "all standbys killed; all nodes killed and started together")
class KillMany(Row):
    variants = ("standbys", "all")

    def witness(self, drill):
        everybody = drill.variant == "all"
        return all_hurt(workers(drill.cluster.nodes if everybody else drill.cluster.standbys()))

    def fault(self, drill):
        everybody = drill.cluster.nodes
        victims = everybody if drill.variant == "all" else drill.cluster.standbys()
        victims = [node for node in victims if node.process]  # not who is dead of another fault
        kill_together(victims)
        for node in victims:
            node.launch()
        self.victims = victims
        return victims

    def hit(self, drill):
        return self.victims

    def takes_over(self, drill):
        return drill.variant == "all"

    def check(self, drill, elected):
        if drill.variant == "standbys" and elected:
            yield "the leader lived, and lost the lead"


@row("20", "rolling upgrade under load, and back")
class RollingUpgrade(Row):
    """Standbys first, then, when they could lead, the leader: stopped in order and started as the
    other build. `old`: the older program; None: an altered copy of the build under test."""

    speaks_plain = True
    variants = ("upgrade", "downgrade")
    short_variants = ("upgrade",)
    old = None

    def plan(self, variant):
        return Plan(program=self.old or altered_node())

    def witness(self, drill):
        return all_hurt(workers(drill.cluster.nodes))

    def fault(self, drill):
        program = drill.cluster.plan.program if drill.variant == "downgrade" else node_program()
        for node in (*drill.cluster.standbys(), drill.leader):
            if node is drill.leader:
                drill.cluster.wait_steady()  # as an operator does: dueqctl check
                self._look(drill)
                drill.count_from_now()
            node.program = program
            node.stop()
            node.start()

    def hit(self, drill):
        return drill.cluster.nodes

    def _look(self, drill):
        """At the cluster in which one build leads and the other stands by."""
        nodes = sorted(drill.cluster.nodes, key=lambda node: node.program == node_program())
        self.builds = list(dict.fromkeys(map(build_of, nodes)))  # the old one first
        old, new = (scripts_of(node.program) for node in (nodes[0], nodes[-1]))
        with drill.cluster.redis.client() as redis:
            self.cached = [sum(redis.script_exists(*own)) for own in (old - new, new - old) if own]
        self.note = (f"{' beside '.join(self.builds)}; scripts that differ: "
                     f"{len(new - old)} of {len(new)}")

    def check(self, drill, elected):
        if len(self.builds) != 2:
            yield f"not two builds, but {self.builds}"
        if 0 in self.cached:
            yield f"Redis did not have the scripts of both builds: {self.cached}"
