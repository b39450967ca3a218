"""A row about Sentinels that make another Redis the master."""

import math

from drills.hosts.cluster import Plan
from drills.hosts.stores import StorePlan
from drills.rows.redis_row import AUDITED, ENOUGH, ForgetfulRow
from drills.rows.row import row
from drills.witness import changed, run_ids
from judge.journal import now_ms

LAG_MS = 1000  # of a replica that reads all the time, at the very most


@row("14", "Sentinels promote a replica, the old master returns")
class Promoted(ForgetfulRow):
    """Two replicas. Without `store.min_replicas` what they had not yet got is forgotten; with it
    nothing is but leases. By hand that takes all of them: for about a second, until its Sentinel
    has seen that the new master is one, the old master takes what the other replica still follows.
    Then each answer waits for `store.replica_timeout` until the old master is back."""

    variants = ("killed", "frozen", "by hand", "killed, min_replicas 1", "frozen, min_replicas 1",
                "by hand, min_replicas 2")
    short_variants = ("killed", "by hand")
    rounds = 60
    own_failovers = tilted = 0

    def plan_key(self, variant):
        return variant.partition(", ")[2]

    def plan(self, variant):
        settings = dict(AUDITED)
        if self.plan_key(variant):
            settings["store.min_replicas"] = int(variant[-1])
        return Plan(store=StorePlan(is_watched=True), settings=settings)

    def forgets_ms(self, variant):
        return LAG_MS

    def keeps_answers(self, variant):
        return bool(self.plan_key(variant))

    def witness(self, drill):
        """Another is the master."""
        return changed(lambda: run_ids([drill.cluster.redis]))

    def must_lose(self, variants):
        return variants.count("by hand") >= ENOUGH

    def fault(self, drill):
        """By hand, the old master goes on until the nodes have left it."""
        store, self.old = drill.cluster.store, drill.cluster.redis
        self.begin(drill)
        self.failovers, self.tilts = store.failovers(), store.tilts()
        how = drill.variant.partition(",")[0]
        self.began_ms = now_ms()
        {"killed": self.old.kill, "frozen": self.old.freeze,
         "by hand": store.failover_by_hand}[how]()
        self.ended_ms = now_ms()
        self.opened_ms = store.wait_promoted(self.old)
        self.split_ms = math.inf
        if how == "by hand":
            self.split_ms = self.began_ms
            self.ended_ms = store.wait_left(self.old, drill.cluster.hosts_of("nodes"))

    def hold(self, drill):
        super().hold(drill)
        drill.cluster.store.wait_over(self.old)

    def heal(self, drill):
        """As a master, for all that it knows."""
        if not self.old.is_running:
            self.old.start()
        else:
            self.old.thaw()

    def check(self, drill, elected):
        """Sentinels that are short of processors make more changes of their own: each forgets."""
        if drill.cluster.store.failovers() > self.failovers + 1:
            self.own_failovers += 1
            self.split_ms, self.ended_ms = self.began_ms, now_ms()
        self.tilted += not self.is_away_briefly(drill)
        yield from super().check(drill, elected)

    def is_away_briefly(self, drill):
        """Sentinels that saw the machine stand still do nothing for 30 s."""
        return drill.cluster.store.tilts() == self.tilts

    @property
    def note(self):
        notes = {"more failovers, of the Sentinels' own": self.own_failovers,
                 "Sentinels that saw the machine stand still": self.tilted}
        return "; ".join(f"rounds with {what}: {count}" for what, count in notes.items() if count)

    def check_times(self, drill):
        is_judged = not drill.variant.endswith("2") and self.is_away_briefly(drill)
        return super().check_times(drill) if is_judged else ()
