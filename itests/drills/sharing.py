"""Where all nodes scan: who has which topics, what a change of the nodes moves, and how long any
topic stood still, all of it by Redis's own files (ledger.py).
"""

import math
from collections import Counter

from drills.hosts.cluster import CLUSTER, Plan
from drills.rows.row import Row
from harness.clock import offset_ms, wall_now_ms
from harness.wait import wait_until
from judge.journal import OK, Cancel, Push, now_ms

TOPICS = tuple(f"shared-{number}" for number in range(64))
RATE = 120          # so that each topic has a due job in less than a second
SETTLED_S = 60
QUIET_MS = 1000     # before a fault, to compare with
DEVIATIONS = 4      # of a fair share: once in 30,000 rounds by chance


class SharingRow(Row):
    """Many topics, on nodes that all scan. `stood` is by Redis's clock and files: how late any job
    was *moved* in the time of the fault alone, not until all is healed."""

    plan_options = {}
    stood = None  # {what: ms} of the round
    leader_stays = True

    def plan(self, variant):
        return Plan(mode=CLUSTER, **self.plan_options)

    @property
    def rehearsed_variants(self):
        return ()

    def load_options(self, cluster):
        return {"topics": TOPICS, "rate": RATE, "roams": True}

    def stood_ms(self, drill, fault):
        return self.stood

    def check_times(self, drill):
        most = self.stood_targets_ms.get(drill.variant)
        if most and self.stood > most:
            yield f"a topic stood still for {self.stood:.0f} ms, {most:.0f} ms are promised"


def redis_ms(boot_ms):
    """The same moment on Redis's clock, which is this machine's."""
    return boot_ms + offset_ms(wall_now_ms, now_ms)


class Standstill:
    """Which jobs are moved that become due from now on, and how late."""

    def __init__(self, drill):
        self.ledger, self.since_ms = drill.cluster.ledger, redis_ms(now_ms())

    def stood_ms(self, from_ms=None, topics=None):
        """How late the latest job was moved that became due since; None: there was none."""
        self.ledger.read()
        return max((each.late_ms for each in
                    self.ledger.moved_late(from_ms or self.since_ms, math.inf)
                    if topics is None or each.topic in topics), default=None)

    def quiet_ms(self, topics=None):
        """The same for the time just before it began, as far as it had come then: what was moved
        later is not of a quiet time."""
        return max((min(each.late_ms, self.since_ms - each.due_ms) for each in
                    self.ledger.moved_late(self.since_ms - QUIET_MS, self.since_ms)
                    if topics is None or each.topic in topics), default=0)

    def unmoved(self, journal, since_ms, due_before_ms):
        """Jobs pushed since, due before some moment, that no scan has moved."""
        self.ledger.read()
        due = {push.id for push in journal.recent(Push, since_ms) if push.outcome == OK
               and push.delay_ms and push.ended_ms + push.delay_ms < due_before_ms}
        return due - self.ledger.moved - {each.id for each in journal.recent(Cancel, since_ms)}

    def moved(self, topics):
        """How many jobs of these topics have been moved since."""
        self.ledger.read()
        return sum(each.topic in topics and each.redis_ms > self.since_ms
                   for each in self.ledger.moved_late(self.since_ms, math.inf))


class Watch(Standstill):
    """A cluster's topics over the course of a round, from when they have settled with all of its
    nodes, or with those given."""

    def __init__(self, drill, nodes=None):
        self.cluster, self.ledger = drill.cluster, drill.cluster.ledger
        self.topics, self.view = drill.load.topics, 0
        self.wait_settled(nodes or self.cluster.nodes)
        self.owners = self._owners()
        super().__init__(drill)

    def wait_settled(self, nodes):
        """Until these nodes know, in a newer view than the last time, that they and no others
        scan, and each topic has been scanned since by one of them: so whatever was due before has
        been moved."""
        view = self.cluster.wait_shared(nodes, self.view)
        self.view, names = view, {node.name for node in nodes}

        def is_scanned(lock):
            return lock is not None and lock.view >= view and lock.node in names

        def are_scanned():
            self.ledger.read()
            return all(is_scanned(self.ledger.locks.get(topic)) for topic in self.topics)

        wait_until(are_scanned, f"{len(self.topics)} topics are scanned in view {view}", SETTLED_S,
                   interval_s=0.05)

    def _owners(self):
        self.ledger.read()
        return {topic: self.ledger.locks[topic].node for topic in self.topics}

    def changes(self):
        """{(from, to): how many topics} since it began, or since the last time."""
        before, self.owners = self.owners, self._owners()
        return Counter((before[topic], after) for topic, after in self.owners.items()
                       if before[topic] != after)


def unfair(changes, topics, name, nodes, joins):
    """What is wrong with a change of the nodes to, or from, so many by that name: others' topics
    have moved, or more than a fair share."""
    others = [f"{count} from {before} to {after}" for (before, after), count in changes.items()
              if (after if joins else before) != name]
    if others:
        yield f"only {name} {'came' if joins else 'went'}, and topics moved: {', '.join(others)}"
    most = fair_share(topics, nodes)
    if changes.total() > most:
        yield f"{changes.total()} of {topics} topics moved, {most:.0f} are a fair share at most"


def fair_share(topics, nodes):
    """One in so many, and what chance may add."""
    share = 1 / nodes
    return topics * share + DEVIATIONS * math.sqrt(topics * share * (1 - share))
