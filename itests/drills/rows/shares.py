"""Rows about cluster mode, in which all nodes scan: frozen, joining, leaving, and without
ZooKeeper."""

import signal

from drills.hosts.cluster import Plan
from drills.rounds import names_hit
from drills.rows.row import row, stay
from drills.sharing import SharingRow, Watch, redis_ms, unfair
from drills.witness import cut, hurt, workers
from harness.wait import wait_until
from judge.journal import Fault, now_ms
from judge.ledger import LOCK_MS

LATE_MS, SAFETY_MS = 1000, 1000  # another's topic is taken when so late; that is looked for so often
LATE_BY_MS = LOCK_MS + LATE_MS + SAFETY_MS  # when its lock has just been renewed
GIVEN_AWAY_MS = Plan().session_ms + 1.5 * Plan().tick_ms  # by one that alone has no Redis
SERVED_S = 60


@row("27", "a lock's holder is frozen past its end, and let go")
class FreezeHolder(SharingRow):
    """`late bytes`: cut off from Redis at the moment before, so that what it had sent arrives when
    all is healed, from a kernel that goes on trying. Its topics go on with others."""

    LENGTHS = {"worker for 2T": 4000, "both for 8 s": 8000, "both for 8 s, late bytes": 8000,
               "both for 5 s, short locks": 5000}
    SHORT = "both for 5 s, short locks"
    variants = tuple(LENGTHS)
    short_variants = (SHORT,)
    stood_targets_ms = dict.fromkeys(LENGTHS, Plan().session_ms + 1.5 * Plan().tick_ms)

    def plan_key(self, variant):
        return "short" if variant == self.SHORT else ""

    def plan(self, variant):
        self.plan_options = {"lock_ms": 2000} if variant == self.SHORT else {}
        return super().plan(variant)

    def witness(self, drill):
        return hurt(workers(drill.cluster.nodes))

    def fault(self, drill):
        self.watch = Watch(drill)
        self.victim = drill.dice.choice(drill.cluster.nodes)
        drill.count_from_now()
        if drill.variant.endswith("late bytes"):
            drill.network.cut([self.victim.host], drill.cluster.hosts_of("redis"))
        self.victim.freeze(drill.variant.split()[0])
        self.others = [node for node in drill.cluster.nodes if node is not self.victim]

    def hit(self, drill):
        return [self.victim]

    def hold(self, drill):
        is_back = drill.variant.startswith("worker")  # another, for the warden kills it
        self.watch.wait_settled(drill.cluster.nodes if is_back else self.others)
        self.stood = self.watch.stood_ms()
        stay(drill, self.LENGTHS[drill.variant])

    def heal(self, drill):
        self.victim.thaw()
        drill.network.heal_all()


@row("28", "a node joins, leaves, is killed, is cut off")
class ChangeNodes(SharingRow):
    """Of many topics only a fair share changes its node, and none of the others'."""

    stood_targets_ms = {"joins": 50, "leaves": 50, "killed": 100, "worker killed": 100,
                        "cut off from zookeeper": 50, "cut off from redis": GIVEN_AWAY_MS}
    variants = tuple(stood_targets_ms)
    short_variants = ("killed",)
    rounds = 20 * len(variants)

    def witness(self, drill):
        """Who joins has left before."""
        if drill.variant.startswith("cut off"):
            return cut(drill.network)
        return hurt(workers(drill.cluster.nodes))

    def fault(self, drill):
        nodes = drill.cluster.nodes
        self.victim = drill.dice.choice(nodes)
        self.others = [node for node in nodes if node is not self.victim]
        if drill.variant == "joins":
            self.victim.stop()
        self.watch = Watch(drill) if drill.variant != "joins" else Watch(drill, self.others)
        drill.count_from_now()
        return self._strike(drill)

    def _strike(self, drill):
        if drill.variant == "joins":
            self.victim.launch()
        elif drill.variant == "leaves":
            self.victim.process.signal(signal.SIGTERM)
        elif drill.variant == "killed":
            self.victim.kill_all()
            return [self.victim]
        elif drill.variant == "worker killed":
            self.victim.kill("worker")
            return [self.victim]
        else:
            whom = drill.cluster.hosts_of(drill.variant.rpartition(" ")[2])
            drill.network.cut([self.victim.host], whom)
        return []

    def hit(self, drill):
        return [self.victim]

    def hold(self, drill):
        if drill.variant in ("joins", "worker killed"):
            self.watch.wait_settled(drill.cluster.nodes)
        else:
            self.watch.wait_settled(self.others)
        self.stood, self.changes_seen = self.watch.stood_ms(), self.watch.changes()

    def heal(self, drill):
        if drill.variant == "leaves":
            self.victim.wait_stopped()
        drill.network.heal_all()

    def check(self, drill, elected):
        if drill.variant != "worker killed":
            yield from unfair(self.changes_seen, len(self.watch.topics), self.victim.name,
                              len(drill.cluster.nodes), drill.variant == "joins")
            if not self.changes_seen:
                yield "no topic has changed its node"


@row("29", "ZooKeeper away in cluster mode")
class WithoutZooKeeper(SharingRow):
    """All three servers are killed. Scanning goes on; and when a node is killed meanwhile, its
    topics are late, and then go on."""

    stood_targets_ms = {"for 2T": 50, "and a node killed": LATE_BY_MS}
    variants = tuple(stood_targets_ms)
    short_variants = ("and a node killed",)
    rounds = 10
    changes = 2  # the lead ends with its lease

    def witness(self, drill):
        return hurt([server.process.pid for server in drill.cluster.zookeeper.servers], 3)

    def fault(self, drill):
        self.watch = Watch(drill)
        drill.count_from_now()
        for server in drill.cluster.zookeeper.servers:
            server.kill()

    def hit(self, drill):
        """Nobody: the one that is killed is hit by a fault of its own."""
        return []

    def hold(self, drill):
        stay(drill, 2 * drill.session_ms)
        self.stood = self.watch.stood_ms()
        self.victim = None
        if drill.variant.endswith("killed"):
            self._kill_one(drill)

    def _kill_one(self, drill):
        self.victim = drill.dice.choice(drill.cluster.nodes)
        own = {topic for topic, name in self.watch.owners.items() if name == self.victim.name}
        killed_ms, from_ms = now_ms(), redis_ms(now_ms())
        self.victim.kill_all()
        struck_ms = now_ms()

        def are_moved():
            self.watch.ledger.read()
            return own <= {each.topic for each in self.watch.ledger.moved_late(from_ms, 1e15)
                           if each.node != self.victim.name}

        wait_until(are_moved, f"{len(own)} topics of the one that died go on", SERVED_S,
                   interval_s=0.05)
        self.stood = self.watch.stood_ms(from_ms)
        drill.journal.add(Fault("29 a node killed beside it", killed_ms, now_ms(), changes=0,
                                dead=(self.victim.name,), struck_ms=struck_ms,
                                nodes=names_hit([self.victim], ())))

    def heal(self, drill):
        for server in drill.cluster.zookeeper.servers:
            server.start()
