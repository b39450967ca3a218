"""Rows about Redis: restarted, killed, cut short, unwilling, frozen and slow."""

import math
import os

from drills.cluster import Plan
from drills.journal import OK, REFUSED, UNKNOWN, HandOver, Older, now_ms
from drills.row import SERVED_S, Row, row, stay
from drills.stores import StorePlan
from drills.troubles import TROUBLES
from harness.wait import wait_until

BACK_MS = 1000
SYNC_EACH_SECOND_MS = 2000  # Redis puts off a write for so long while the last sync goes on
PATIENT = {"answer_s": 20}  # clients that wait as long as a node holds their request
AUDITED = {"queue.audit_rate": 20000}


class RedisRow(Row):
    """The leader stays: every node has lost the same Redis, and the lease is ZooKeeper's."""

    changes = 0
    store = StorePlan()

    def plan(self, variant):
        return Plan(store=self.store, settings=AUDITED)

    def load_options(self, cluster):
        return PATIENT

    def takes_over(self, drill):
        return False

    def wait_healed(self, drill):
        """A scanner that was refused tries again within a second."""
        return wait_until(lambda: drill.first_served(self.healed_ms), "what was due is moved",
                          SERVED_S, interval_s=0.005)

    def served_from_ms(self, drill):
        return self.healed_ms

    def check(self, drill, elected):
        if elected:
            yield "the leader changed, and only Redis was in trouble"
        yield from unfenced(drill.cluster)

    def check_end(self, cluster):
        yield from damage_of(cluster)


def unfenced(cluster):
    """Each bucket must know the leader's token, whatever Redis has forgotten."""
    if not cluster.elects:
        return
    token = cluster.leader().role().token.encode()
    with cluster.redis.client() as client:
        found = client.mget([f"dq:{{{bucket}}}:f" for bucket in range(64)])
    wrong = sum(each != token for each in found)
    if wrong:
        yield f"{wrong} of 64 buckets do not have the leader's token"


def damage_of(cluster):
    """What the reconciler finds in all of the store, or has found: a move that was done by half."""
    leader = cluster.leader()

    def walks():
        return leader.metrics()["dueq_audit_walks_total"]

    before = walks()
    wait_until(lambda: walks() >= before + 2, "all is looked at once", 60, interval_s=0.05)
    for node in cluster.nodes:
        for name, count in node.metrics().items():
            if name.startswith("dueq_repaired_total") and count:
                yield f"{node.name}: {name} {count:.0f}"


# ---- what is forgotten ----

class Told:
    """What the nodes say of a Redis that came back older, from a moment on."""

    NAMES = ("dueq_store_older_total", "dueq_store_lost_pushes_total")

    def __init__(self, cluster):
        self._cluster = cluster
        self._before = self._read()

    def _read(self):
        metrics = {node.name: node.metrics() for node in self._cluster.nodes}
        return {name: [each[word] for word in self.NAMES if word in each]
                for name, each in metrics.items()}

    def since(self):
        """(how many nodes noticed, how many pushes they counted); of nodes that do not tell:
        (None, None)."""
        after = self._read()
        gained = [[new - old for new, old in zip(after[name], self._before[name])]
                  for name in after if after[name]]
        if not gained:
            return None, None
        return sum(older > 0 for older, _ in gained), int(sum(lost for _, lost in gained))


class ForgetfulRow(RedisRow):
    """One whose Redis ends, and is there again; it may have forgotten something.

    fault() sets what is needed to judge it: `told`, `since_ms` (None: nothing may be
    forgotten), `ended_ms`, and `opened_ms`, when requests were taken again; and `split_ms`, where
    the next one was at work before that one ended."""

    interrupts = True
    target_ms = BACK_MS
    split_ms = math.inf

    def forgets_ms(self, variant):  # pylint: disable=unused-argument
        """How far back; 0 nothing."""
        return 0

    def keeps_answers(self, variant):  # pylint: disable=unused-argument
        """Are only leases forgotten?"""
        return False

    def begin(self, drill):
        self.told = Told(drill.cluster)
        back_ms = self.forgets_ms(drill.variant)
        self.since_ms = now_ms() - back_ms if back_ms else None

    def wait_served(self, drill, elected):
        return wait_until(lambda: first_handed_over(drill, self.ended_ms, self.opened_ms),
                          "jobs are handed over", SERVED_S, interval_s=0.005)

    def wait_healed(self, drill):
        return None

    def served_from_ms(self, drill):
        return self.opened_ms

    def hold(self, drill):
        self.back_ms = first_handed_over(drill, self.ended_ms, self.opened_ms) - self.opened_ms

    def check(self, drill, elected):
        yield from super().check(drill, elected)
        if self.since_ms is not None:
            drill.journal.add(Older(self.since_ms, self.ended_ms, *self.told.since(),
                                    self.split_ms, self.keeps_answers(drill.variant)))
        elif drill.answers(UNKNOWN, drill.since_ms):
            yield "a push had no clear answer, and Redis forgets nothing"
        refused = drill.answers(REFUSED, drill.since_ms)
        if refused:
            yield f"{refused} pushes were refused, and Redis was away for a moment only"

    def check_times(self, drill):
        if self.back_ms > BACK_MS:
            yield f"the first job came {self.back_ms:.0f} ms after Redis was back"


def first_handed_over(drill, due_after_ms, from_ms):
    """When the first job that became due after some moment was; None if none was."""
    return min((each.received_ms for each in drill.journal.recent(HandOver, from_ms)
                if each.redis_ms is not None
                and each.received_ms - (each.redis_ms - each.due_ms) > due_after_ms), default=None)


@row("12", "Redis restarted, killed")
class Restarted(ForgetfulRow):
    """`everysec`: on a disk whose syncs take a second, or there would be nothing to lose: what is
    written survives the process. Power is not cut here."""

    SYNCS = {"always": StorePlan(), "everysec": StorePlan("everysec", sync_ms=1000),
             "none": StorePlan("none")}
    FORGETS_MS = {"killed, everysec": SYNC_EACH_SECOND_MS, "restarted, none": math.inf,
                  "killed, none": math.inf}
    variants = tuple(f"{how}, {sync}" for sync in SYNCS for how in ("restarted", "killed"))
    short_variants = ("killed, always", "killed, none")
    rounds = 60

    def plan_key(self, variant):
        return variant.split(", ")[1]

    def plan(self, variant):
        return Plan(store=self.SYNCS[self.plan_key(variant)], settings=AUDITED)

    def forgets_ms(self, variant):
        return self.FORGETS_MS.get(variant, 0)

    def fault(self, drill):
        self.begin(drill)
        server = drill.cluster.redis
        server.stop() if drill.variant.startswith("restarted") else server.destroy()
        self.ended_ms = now_ms()
        server.start()
        self.opened_ms = now_ms()


@row("13", "its append-only file cut short")
class CutShort(ForgetfulRow):
    """In the middle of a command, by what was written in the last half second."""

    LAST_MS = 500
    HALF = b"*1\r\n$5\r\nMU"
    rounds = 10

    def forgets_ms(self, variant):
        return self.LAST_MS

    def fault(self, drill):
        log = drill.cluster.store.log
        self.told = Told(drill.cluster)
        self.since_ms = now_ms()
        size = log.stat().st_size  # what was acknowledged before is in it
        wait_until(lambda: now_ms() > self.since_ms + self.LAST_MS
                   and log.stat().st_size > size + len(self.HALF), "something is written")
        drill.cluster.redis.destroy()
        self.ended_ms = now_ms()
        os.truncate(log, size + len(self.HALF))
        drill.cluster.redis.start()
        self.opened_ms = now_ms()

    def check(self, drill, elected):
        yield from super().check(drill, elected)
        if "runcating the AOF" not in drill.cluster.redis.process.output():
            yield "Redis found nothing wrong with its file"


# ---- a Redis that does not want to ----

@row("15", "Redis out of memory, disk full, read-only, another password, without scripts")
class Unwilling(RedisRow):
    """Clear errors where waiting would not help, a pause where it does; no move is done by half."""

    variants = tuple(TROUBLES)
    short_variants = tuple(name for name in TROUBLES if name != "disk full")
    rounds = 10 * len(TROUBLES)
    LASTS_MS = 1500

    def plan_key(self, variant):
        return variant if variant == "disk full" else "everysec"

    def plan(self, variant):
        sync = "always" if variant == "disk full" else "everysec"
        return Plan(store=StorePlan(sync, has_disk=True), settings=AUDITED)

    def fault(self, drill):
        self.trouble = TROUBLES[drill.variant]
        self.said = self._said(drill)
        self.trouble.make(drill.cluster)

    def hold(self, drill):
        if self.trouble.refuses:
            wait_until(lambda: drill.answers(REFUSED, drill.struck_ms), "pushes are refused", 60)
        stay(drill, self.LASTS_MS)
        if self.trouble.serves:
            wait_until(lambda: drill.first_served(drill.struck_ms), "due jobs come all the same", 60)
        self.taken = drill.answers(OK, drill.struck_ms)

    def heal(self, drill):
        self.trouble.heal(drill.cluster)
        self.healed_ms = now_ms()

    def check(self, drill, elected):
        yield from super().check(drill, elected)
        failed = sum(drill.answers(outcome, drill.since_ms) for outcome in (REFUSED, UNKNOWN))
        unknown = drill.answers(UNKNOWN, drill.since_ms)
        if self.trouble.refuses and self.taken:
            yield f"{self.taken} pushes were taken by a Redis that takes none"
        if self.trouble.refuses and unknown:
            yield f"{unknown} pushes had no clear answer"
        if not self.trouble.refuses and failed:
            yield f"{failed} pushes failed, and could have waited"
        if self.trouble.says and self._said(drill) == self.said:
            yield f"no node said {self.trouble.says}"

    def _said(self, drill):
        word = self.trouble.says
        return sum(node.output().count(word) for node in drill.cluster.nodes) if word else 0


@row("16", "Redis frozen, slow")
class Slow(RedisRow):
    """The lease does not depend on Redis: no node's role changes."""

    variants = ("frozen for 2 s", "slow by 100 ms")
    rounds = 20
    store = StorePlan(has_relay=True)

    def fault(self, drill):
        if drill.variant.startswith("frozen"):
            drill.cluster.store.freeze()
        else:
            drill.cluster.store.relay.delay_ms = 100

    def hold(self, drill):
        stay(drill, 2000 if drill.variant.startswith("frozen") else 2 * drill.session_ms)

    def heal(self, drill):
        drill.cluster.store.thaw()
        drill.cluster.store.relay.delay_ms = 0
        self.healed_ms = now_ms()

    def check(self, drill, elected):
        yield from super().check(drill, elected)
        failed = sum(drill.answers(outcome, drill.since_ms) for outcome in (REFUSED, UNKNOWN))
        if failed:
            yield f"{failed} pushes failed, and Redis was only slow"
        for each in drill.cluster.roles():
            if each.boot_ms > drill.since_ms:
                yield f"{each.node} became {each.role}: {each.reason}"
