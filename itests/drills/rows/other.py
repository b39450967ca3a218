"""Rows about clocks, wrong set-ups, a slow name service and a starved machine."""

import os
from contextlib import suppress
from types import MappingProxyType

import redis

from drills.hosts.cluster import Plan
from drills.rows.row import ROWS, Row, row, stay
from drills.witness import changed, is_running
from harness.clock import redis_now_ms, wall_now_ms
from harness.process import Process, kill_now
from harness.wait import wait_until
from judge.stalls import watch_loops

HOUR_S = 3600
GRAIN_S = 60  # to which a clock is read, by who has other work
JUMPS, JUMPED = "dueq_store_clock_jumps_total", "its clock has jumped"
LOOP_STALL_MS = 10
ASKS_S = 60


@row("17", "the wall clock of a node, and Redis's, set by an hour")
class Clocks(Row):
    """A node's wall clock means nothing; Redis's decides what is due, and when a lease is over. So
    jobs come early, come twice, or stand still by as much as it was set meanwhile, and no more."""

    variants = tuple(f"{whose} {how}" for whose in ("node", "redis")
                     for how in ("forward", "back", "strobed"))
    short_variants = ("node strobed", "redis strobed")
    changes = 0
    told = told_after = MappingProxyType({})
    leader_stays = True

    def plan_key(self, variant):
        return variant.split()[0]

    def plan(self, variant):
        return Plan(wrong_clock=self.plan_key(variant))

    def load_options(self, cluster):
        """Redis's own clock, where it is not everybody's."""
        if cluster.plan.wrong_clock != "redis":
            return {}
        return {"redis_now_ms": lambda: _redis_now_ms(cluster)}

    def before_drain(self, cluster):
        """What was pushed while Redis was ahead is due when it is there again."""
        if cluster.plan.wrong_clock == "redis":
            cluster.set_clocks(2 * HOUR_S)

    def witness(self, drill):
        """What the clocks themselves have shown, each time they were set: strobed, they end true."""
        self.shown, self.told = [], self._told(drill)
        return lambda: self.shown == self._offsets_s(drill)

    @staticmethod
    def _offsets_s(drill):
        return {"forward": [HOUR_S], "back": [-HOUR_S],
                "strobed": [HOUR_S, -HOUR_S, 0] * 10}[drill.variant.split()[1]]

    def fault(self, drill):
        for offset in self._offsets_s(drill):
            drill.cluster.set_clocks(offset)
            stay(drill, drill.elapsed_ms() + 100)
            self.shown.append(_ahead_s(drill))

    @staticmethod
    def _told(drill):
        """{node: (how often Redis's clock has jumped, by its metric, and by its log)}"""
        return {node.name: (node.metrics()[JUMPS], node.output().count(JUMPED))
                for node in drill.cluster.nodes}

    def hold(self, drill):
        stay(drill, 2 * drill.session_ms)
        self.told_after = self._told(drill)

    def heal(self, drill):
        drill.cluster.set_clocks(0)

    def check(self, drill, elected):
        """Of Redis's clock every node tells, for each asks Redis all the time; a node's own means
        nothing, not even to itself."""
        if elected:
            yield "a clock changed the leader"
        is_redis = drill.variant.startswith("redis")
        for name, (counted, said) in self.told_after.items():
            counted_before, said_before = self.told[name]
            if is_redis and not (counted > counted_before and said > said_before):
                yield f"{name} did not tell that Redis's clock was set"
            if not is_redis and counted > counted_before:
                yield f"{name} told that Redis's clock was set, and it was its own"


def _ahead_s(drill):
    """Of the true time, in whole seconds: Redis's clock, or the leader's, whichever can be set."""
    if drill.cluster.plan.wrong_clock == "redis":
        shown_ms = _redis_now_ms(drill.cluster)
    else:
        shown_ms = drill.leader.json("/v1/status")["now_ms"]
    return round((shown_ms - wall_now_ms()) / 1000 / GRAIN_S) * GRAIN_S


def _redis_now_ms(cluster):
    try:
        with cluster.redis.client() as client:
            return redis_now_ms(client)
    except redis.exceptions.RedisError:
        return None


@row("19", "a wrong set-up joins: a live name, another cluster, no cluster, other buckets")
class WrongSetUp(Row):
    """It is refused with a message that says what to do, and the cluster does not care. Who finds
    a fence of others does not end: it may be the one that is right, and an operator has to say so.
    """

    SETTINGS = {"a live name": {"node.id": "n1"}, "another cluster": {"ha.cluster": "other"},
                "no cluster": {"ha.mode": "standalone"}, "buckets": {"store.buckets": 32}}
    SAYS = {"a live name": "node.id", "another cluster": "fence adopt",
            "no cluster": "ha.mode", "buckets": "store.buckets"}
    variants = tuple(SETTINGS)
    rehearsed_variants = ("buckets",)
    changes = 0
    leader_stays = True

    def witness(self, drill):
        """The one that joins has come so far as to say something."""
        before = len(drill.cluster.spares)
        return lambda: any(node.output() for node in drill.cluster.spares[before:])

    def fault(self, drill):
        name = f"x{len(drill.cluster.spares) + 1}"
        self.spare = drill.cluster.add_spare(name, self.SETTINGS[drill.variant])
        self.spare.launch()
        if drill.variant.endswith("cluster"):
            wait_until(lambda: self.SAYS[drill.variant] in self.spare.output(), "it says so", 60)
            self.code = None
        else:
            self.code = self.spare.process.wait(60)

    def heal(self, drill):
        self.spare.destroy()

    def check(self, drill, elected):
        if self.code == 0:
            yield "it ended as if all were well"
        if self.SAYS[drill.variant] not in self.spare.output():
            yield f"it did not say what to do about {self.SAYS[drill.variant]}"
        if elected:
            yield "the leader changed"


@row("23", "the name service slow by 5 s")
class SlowNameService(Row):
    """ZooKeeper is configured by names; the leader must connect anew while they take 5 s. A loop that
    waits for them stands still for as long; what else makes it stall for longer than its limit is
    judged with the other times."""

    delay_s = 5
    leader_stays = True

    def plan(self, variant):
        return Plan(zookeeper_names=True)

    def witness(self, drill):
        """Somebody has asked it, and was kept waiting."""
        return changed(lambda: drill.cluster.names.late)

    def fault(self, drill):
        """A node asks for names when it has reached no server for a while, and at its start."""
        names, zookeeper = drill.cluster.names, drill.cluster.hosts_of("zookeeper")
        names.delay_s, late = self.delay_s, names.late
        with drill.network.cut([drill.leader.host], zookeeper):
            for host in zookeeper:
                drill.leader.host.reset_connections(host.address, 2181)
            wait_until(lambda: names.late > late, "it asks for names", ASKS_S, interval_s=0.01)

    def hold(self, drill):
        self.stall_ms = watch_loops(drill.cluster.nodes, lambda: drill.elapsed_ms() > 6000)

    def heal(self, drill):
        drill.cluster.names.delay_s = 0

    def check(self, drill, elected):
        if self.stall_ms > self.delay_s * 1000 / 2:
            yield f"a loop stalled for {self.stall_ms:.0f} ms: it waited for the name service"

    def check_times(self, drill):
        if self.stall_ms > LOOP_STALL_MS:
            yield f"a loop stalled for {self.stall_ms:.0f} ms, {LOOP_STALL_MS} ms is the limit"


@row("25", "32 busy loops")
class Starved(Row):
    """On the leader's machine: it and the loops share one processor, and the others keep theirs."""

    changes = 0
    rounds = 5
    by_the_clock = True
    loops = ()
    leader_stays = True

    def witness(self, drill):
        """All loops have had a processor, and the leader has none that they do not have."""
        self.loops = ()
        worker = drill.leader.worker_pid
        return lambda: (len(self.loops) > 0 and all(_used_ticks(each.pid) for each in self.loops)
                        and is_running(worker) and len(os.sched_getaffinity(worker)) == 1)

    def fault(self, drill):
        self.processors = os.sched_getaffinity(0)
        one = min(self.processors)
        self.starved = drill.leader.pids if drill.leader.process else []  # dead of another fault
        self._move({one})
        log = drill.cluster.directory / "busy.log"
        self.loops = [Process(["taskset", "-c", str(one), "sh", "-c", "while :; do :; done"], log)
                      for _ in range(32)]

    def _move(self, processors):
        for pid in self.starved:
            with suppress(ProcessLookupError):
                os.sched_setaffinity(pid, processors)

    def hold(self, drill):
        stay(drill, 5 * drill.session_ms)

    def heal(self, drill):
        kill_now([each.pid for each in self.loops])
        for each in self.loops:
            each.wait()
        self._move(self.processors)

    def check(self, drill, elected):
        if elected:
            yield "the leader changed, and only the processor was busy"


def _used_ticks(pid):
    """Of a processor, in programs; 0: none, or it has ended."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return int(file.read().rpartition(")")[2].split()[11])
    except OSError:
        return 0


# Rows that can strike together on one plan: none undoes, or waits for, what another needs.
PAIRED = ("1", "2", "4", "5", "6", "7", "8b", "9", "18", "25")


@row("26", "random pairs of the above, by seed")
class Pairs(Row):
    """Two faults begin one right after the other and are healed together. Whether another leads
    meanwhile is theirs to decide; afterwards all promises must have been kept."""

    changes = 4
    variants = ("pair",)
    pair = ()
    leader_stays = True

    def witness(self, drill):
        """That of either: the other may hide it, as a pulled cable hides a cut."""
        self._draw(drill)
        found = [self._as(drill, variant, each.witness) for each, variant in self.pair]
        return lambda: any(has_struck() for has_struck in found)

    def _draw(self, drill):
        numbers = drill.dice.sample(PAIRED, 2)
        self.pair = [(ROWS[number], drill.dice.choice(ROWS[number].short_variants))
                     for number in numbers]

    def fault(self, drill):
        drill.variant = " with ".join(f"{each.number} {variant}".strip()
                                      for each, variant in self.pair)
        dead = []
        for each, variant in self.pair:
            dead += self._as(drill, variant, each.fault) or ()
        return dead

    @staticmethod
    def _as(drill, variant, call):
        whole, drill.variant = drill.variant, variant
        try:
            return call(drill)
        finally:
            drill.variant = whole

    def hit(self, drill):
        found = [self._as(drill, variant, each.hit) for each, variant in self.pair]
        return None if None in found else sum(map(list, found), [])

    def hold(self, drill):
        stay(drill, 3 * drill.session_ms)

    def heal(self, drill):
        for each, variant in reversed(self.pair):
            self._as(drill, variant, each.heal)
