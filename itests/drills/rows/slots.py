"""Rows about Redis Cluster: slots that move, and masters that fail. Only the buckets concerned may
stand still."""

import math

from drills.hosts.cluster import CLUSTER, STANDBY, Plan
from drills.hosts.cluster_store import SlotMove, masters_and_buckets
from drills.hosts.stores import StorePlan
from drills.rows.redis_row import AUDITED, PATIENT, Told, damage_of
from drills.rows.row import SERVED_S, row, stay
from drills.sharing import QUIET_MS, TOPICS, SharingRow, Standstill
from drills.witness import changed, run_ids
from harness.redis_cluster import bucket_of
from harness.wait import wait_until
from judge.journal import REFUSED, UNKNOWN, HandOver, Older, now_ms

ONE_LEADER = "one leader"
SLACK_MS = 50    # of buckets that are not concerned, beside quiet times
LAG_MS = 1000    # of a replica, at the very most
HALF_WAY_MS = 3000
SESSION_MS = 4000  # six servers more than elsewhere, and none of the faults is about the lead


class ClusterRow(SharingRow):
    """With three masters. `concerned`: the topics whose buckets the fault touches."""

    changes = 0
    concerned = others = ()
    certain_ms = None  # since when nothing is forgotten
    worst_of_others = None  # (how long they stood still, in quiet times before)

    def plan_key(self, variant):
        return ONE_LEADER if variant.endswith(ONE_LEADER) else ""

    def plan(self, variant):
        mode = STANDBY if self.plan_key(variant).endswith(ONE_LEADER) else CLUSTER
        return Plan(mode=mode, session_ms=SESSION_MS, store=StorePlan(has_masters=True),
                    settings=self.settings(variant))

    def settings(self, variant):  # pylint: disable=unused-argument
        return AUDITED

    def load_options(self, cluster):
        return {**super().load_options(cluster), **PATIENT}

    def hit(self, drill):
        return None

    def watch(self, drill, buckets):
        """From now on; after a quiet time to compare with."""
        stay(drill, QUIET_MS)
        self.concerned = {topic for topic in TOPICS if bucket_of(topic) in buckets}
        self.others = set(TOPICS) - self.concerned
        self.still = Standstill(drill)
        drill.count_from_now()

    def hold(self, drill):
        """Until what was due in the concerned buckets has come."""
        at_ms, since_ms = now_ms(), self.certain_ms or drill.since_ms
        wait_until(lambda: not self.still.unmoved(drill.journal, since_ms, at_ms),
                   "all that was due is moved", SERVED_S, interval_s=0.05)
        after = Standstill(drill)
        wait_until(lambda: self.goes_on(drill, after), "the bucket goes on", SERVED_S,
                   interval_s=0.05)
        self.stood = self.still.stood_ms(topics=self.concerned)
        self.others_stood = self.still.stood_ms(topics=self.others)

    def goes_on(self, drill, after):  # pylint: disable=unused-argument
        return after.moved(self.concerned)

    def check(self, drill, elected):
        if elected:
            yield "the leader changed, and only Redis was in trouble"
        refused = drill.answers(REFUSED, drill.since_ms)
        if refused:
            yield f"{refused} pushes were refused, and could have waited"
        yield from unfenced(drill.cluster)

    def check_end(self, cluster):
        yield from damage_of(cluster)

    def check_times(self, drill):
        others, quiet = self.others_stood or 0, self.still.quiet_ms(self.others)
        self.worst_of_others = max((others, quiet), self.worst_of_others or (others, quiet))
        if others > quiet + SLACK_MS:
            yield (f"topics of other buckets stood still for {others:.0f} ms, {quiet:.0f} ms in "
                   "quiet times")

    @property
    def note(self):
        if not self.worst_of_others:
            return ""
        others, quiet = self.worst_of_others
        return (f"topics of other buckets stood still for {others:.0f} ms at most, in the quiet "
                f"time before for {quiet:.0f} ms")


def unfenced(cluster):
    """Each bucket must know the leader's token, wherever it is."""
    token, wrong = cluster.leader().role().token.encode(), []
    for master, buckets in masters_and_buckets(cluster.store).items():
        with master.client() as client:
            wrong += [bucket for bucket in buckets if client.get(f"dq:{{{bucket}}}:f") != token]
    if wrong:
        yield f"{len(wrong)} of 64 buckets do not have the leader's token"


def _owners(store):
    """{bucket: who has it}"""
    return {bucket: master.tcp_address for master, buckets in masters_and_buckets(store).items()
            for bucket in buckets}


@row("30", "slots of a Redis Cluster move")
class Resharded(ClusterRow):
    """Under load. `cut off half way`: half of its keys here, half there, until it is finished
    later; what is in the slot stands still so long, and nothing else."""

    rounds = 10
    WHAT = ("back and forth", "several slots", "cut off half way")
    variants = (*WHAT, *(f"{what}, {ONE_LEADER}" for what in WHAT))
    short_variants = ("cut off half way",)
    SEVERAL = 4

    def witness(self, drill):
        return changed(lambda: _owners(drill.cluster.store))

    def fault(self, drill):
        store, what = drill.cluster.store, drill.variant.partition(",")[0]
        source, to, used = self._choose(drill)
        count = self.SEVERAL if what == "several slots" else 1
        buckets = drill.dice.sample(used, count)
        self.watch(drill, buckets)
        if what == "cut off half way":
            self._half(store, buckets[0], to)
            meanwhile = Standstill(drill)
            stay(drill, HALF_WAY_MS)
            self.moves_meanwhile = meanwhile.moved(set(TOPICS) - self.concerned)
            self.move.finish()
            return
        for end in (to, source, to) if what == "back and forth" else (to,):
            for bucket in buckets:
                move = SlotMove(store, bucket, end)
                move.begin()
                move.finish()

    def _choose(self, drill):
        """(a master, another one, the first's buckets that are in use)"""
        found = masters_and_buckets(drill.cluster.store)
        source, to = drill.dice.sample(list(found), 2)
        in_use = {bucket_of(topic) for topic in TOPICS}
        return source, to, sorted(in_use & set(found[source]))

    def _half(self, store, bucket, to):
        self.move = SlotMove(store, bucket, to)
        self.move.begin()
        self.move.move_some(max(1, self.move.count_keys() // 2))

    def check(self, drill, elected):
        yield from super().check(drill, elected)
        unknown = drill.answers(UNKNOWN, drill.since_ms)
        if unknown:
            yield f"{unknown} pushes had no clear answer, and nothing had failed"
        if drill.variant.startswith("cut off") and not self.moves_meanwhile:
            yield "no job of any other bucket was moved while one slot was half here, half there"


@row("31", "a master of a Redis Cluster is killed, frozen, restarted, gives way")
class MasterFails(ClusterRow):
    """Its replica takes its place, but for a restart, which is too short. Without
    `store.min_replicas` what the replica had not yet got is forgotten."""

    rounds = 10
    SAFE = "min_replicas 1"
    variants = ("killed", "frozen", "restarted", "by hand", f"killed, {SAFE}", f"frozen, {SAFE}",
                f"killed, {ONE_LEADER}")
    short_variants = ("killed",)

    def plan_key(self, variant):
        return variant.partition(", ")[2]

    def settings(self, variant):
        safe = {"store.min_replicas": 1} if variant.endswith(self.SAFE) else {}
        return {**AUDITED, **safe}

    def witness(self, drill):
        """A master's buckets are another's; or, restarted, it is another process."""
        if drill.variant.startswith("restarted"):
            return changed(lambda: sorted(map(str, run_ids(drill.cluster.store.masters))))
        return changed(lambda: _owners(drill.cluster.store))

    def fault(self, drill):
        store = drill.cluster.store
        self.old = drill.dice.choice(store.masters)
        self.buckets = store.redis.buckets_of(self.old)
        self.told = Told(drill.cluster)
        self.watch(drill, self.buckets)
        self.began_ms = now_ms()
        how = drill.variant.partition(",")[0]
        self.forgets = how in ("killed", "frozen")
        self.ended_ms = self.split_ms = math.inf
        if how == "by hand":
            store.redis.failover(self.buckets[0])
        elif how == "restarted":
            self.old.stop()
            self.old.start()
        elif how == "killed":
            self.old.kill()
            self.ended_ms = now_ms()
        else:
            self.old.freeze()
        self.certain_ms = None
        if self.forgets:
            meanwhile = Standstill(drill)
            store.wait_promoted(self.old, self.buckets)
            self.certain_ms = now_ms()
            self.moves_meanwhile = meanwhile.moved(set(TOPICS) - self.concerned)

    def goes_on(self, drill, after):
        """Where no replica can confirm, each producer stays with its push, and perhaps none of
        these is delayed: then a hand-over shows that the bucket is served."""
        return super().goes_on(drill, after) or (drill.variant.endswith(self.SAFE) and any(
            each.topic in self.concerned
            for each in drill.journal.recent(HandOver, self.certain_ms)))

    def heal(self, drill):
        """It believes that it is a master, until it hears that it is not."""
        if self.old.is_frozen:
            self.split_ms = self.began_ms
            self.old.thaw()
            wait_until(lambda: not self.old.is_master(), "it follows the one that took over", 60)
            self.ended_ms = now_ms()
        elif not self.old.is_running:
            self.old.start()

    def check(self, drill, elected):
        yield from super().check(drill, elected)
        if not self.forgets:
            if drill.answers(UNKNOWN, drill.since_ms):
                yield "a push had no clear answer, and Redis forgets nothing"
            return
        noticed, lost = self.told.since()
        drill.journal.add(Older(self.began_ms - LAG_MS, self.ended_ms, noticed, lost,
                                self.split_ms, drill.variant.endswith(self.SAFE),
                                buckets=tuple(self.buckets)))
        if not self.moves_meanwhile:
            yield "no job of any other bucket was moved while one master was away"
