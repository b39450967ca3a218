"""What the rows about Redis have in common: the leader stays, no move is done by half, every bucket
knows the leader's token, and what Redis has forgotten is written down with what the nodes said.
"""

import math

from drills.hosts.cluster import Plan
from drills.hosts.stores import StorePlan
from drills.rows.row import SERVED_S, Row
from harness.wait import wait_until
from judge.journal import OK, REFUSED, UNKNOWN, Cancel, HandOver, Older, Push, now_ms

BACK_MS = 1000
ENOUGH = 10  # rounds, in one of which something is lost where it can be
BEFORE_MS = 5000  # ample
PATIENT = {"answer_s": 20}  # clients that wait as long as a node holds their request
AUDITED = {"queue.audit_rate": 20000}


class RedisRow(Row):
    """The leader stays: every node has lost the same Redis, and the lease is ZooKeeper's."""

    changes = 0
    store = StorePlan()
    leader_stays = True

    def plan(self, variant):
        return Plan(store=self.store, settings=AUDITED)

    def load_options(self, cluster):
        return PATIENT

    def hit(self, drill):
        return None

    def wait_healed(self, drill):
        """A scanner that was refused tries each bucket again within a second: for the first job,
        and until all that had become due has come."""
        first_ms = wait_until(lambda: drill.first_served(self.healed_ms), "what was due is moved",
                              SERVED_S, interval_s=0.005)
        wait_until(lambda: not overdue(drill.journal, drill.since_ms, self.healed_ms),
                   "all that was due is moved", SERVED_S, interval_s=0.02)
        return first_ms

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
    def walks():
        return [node.metrics()["dueq_audit_walks_total"] for node in cluster.nodes]

    before = walks()  # of whoever leads meanwhile: the lead may move on a busy machine
    wait_until(lambda: any(now >= then + 2 for now, then in zip(walks(), before)),
               "all is looked at once", 60, interval_s=0.05)
    for node in cluster.nodes:
        for name, count in node.metrics().items():
            if name.startswith("dueq_repaired_total") and count:
                yield f"{node.name}: {name} {count:.0f}"


def overdue(journal, since_ms, due_before_ms):
    """The jobs pushed since, due before some moment, that nobody has had; not those that a consumer
    may have been sent and not got (without a TTR), nor those that were cancelled."""
    due = {push.id for push in journal.recent(Push, since_ms)
           if push.outcome == OK and push.ttr_ms and push.ended_ms + push.delay_ms < due_before_ms}
    for kind in (HandOver, Cancel):  # a job may be there before its producer has read the answer
        due -= {each.id for each in journal.recent(kind, since_ms - BEFORE_MS)}
    return due


# ---- what is forgotten ----

class Told:
    """What the nodes say of a Redis that rolled back, from a moment on."""

    NAMES = ("dueq_store_rollbacks_total", "dueq_store_lost_pushes_total")

    def __init__(self, cluster):
        self._cluster = cluster
        self._before = self._read()

    def _read(self):
        """{node: (older, lost)}"""
        metrics = {node.name: node.metrics() for node in self._cluster.nodes}
        return {name: [each[word] for word in self.NAMES] for name, each in metrics.items()}

    def since(self):
        """(how many nodes noticed, how many pushes they counted)"""
        gained = [[new - old for new, old in zip(after, self._before[name])]
                  for name, after in self._read().items()]
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
        """How far back, at most to the end of the Redis before; 0 nothing."""
        return 0

    def keeps_answers(self, variant):  # pylint: disable=unused-argument
        """Are only leases forgotten?"""
        return False

    def keeps_nothing(self, variant):  # pylint: disable=unused-argument
        """Does it come back empty?"""
        return False

    def is_away_briefly(self, drill):  # pylint: disable=unused-argument
        """Did whoever promotes another, or starts it again, do so at once?"""
        return True

    def begin(self, drill):
        self.told = Told(drill.cluster)
        if self.keeps_nothing(drill.variant):
            drill.keep_history()
        back_ms = self.forgets_ms(drill.variant)
        ends_ms = [older.at_ms for older in drill.journal.of(Older)]
        self.since_ms = max([now_ms() - back_ms, *ends_ms]) if back_ms else None

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
            noticed, lost = self.told.since()
            is_empty = self.keeps_nothing(drill.variant)
            drill.journal.add(Older(self.since_ms, self.ended_ms, noticed, lost, self.split_ms,
                                    self.keeps_answers(drill.variant), is_empty))
            if is_empty and noticed < len(drill.cluster.nodes):
                yield f"Redis came back empty, and {noticed} nodes said so"
        elif drill.answers(UNKNOWN, drill.since_ms):
            yield "a push had no clear answer, and Redis forgets nothing"
        refused = drill.answers(REFUSED, drill.since_ms)
        if refused and self.is_away_briefly(drill):
            yield f"{refused} pushes were refused, and Redis was away for a moment only"

    def check_times(self, drill):
        if self.back_ms > BACK_MS:
            yield f"the first job came {self.back_ms:.0f} ms after Redis was back"


def first_handed_over(drill, due_after_ms, from_ms):
    """When the first job that became due after some moment was; None if none was."""
    return min((each.received_ms for each in drill.journal.recent(HandOver, from_ms)
                if each.redis_ms is not None
                and each.received_ms - (each.redis_ms - each.due_ms) > due_after_ms), default=None)
