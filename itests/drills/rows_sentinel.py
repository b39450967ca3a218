"""A row about Sentinels that make another Redis the master."""

from drills.cluster import Plan
from drills.journal import now_ms
from drills.row import row
from drills.rows_redis import AUDITED, ForgetfulRow
from drills.stores import StorePlan

LAG_MS = 1000  # of a replica that reads all the time, at the very most


@row("14", "Sentinels promote a replica, the old master returns")
class Promoted(ForgetfulRow):
    """Two replicas. Without `store.min_replicas` what they had not yet got is forgotten; so is what
    the old master still took while it was replaced by hand. With it nothing is."""

    variants = tuple(f"{how}{safe}" for safe in ("", ", min_replicas 1")
                     for how in ("killed", "frozen", "by hand"))
    short_variants = ("killed", "by hand")
    rounds = 60

    def plan_key(self, variant):
        return variant.partition(", ")[2]

    def plan(self, variant):
        safe = {"store.min_replicas": 1} if self.plan_key(variant) else {}
        return Plan(store=StorePlan(is_watched=True), settings={**AUDITED, **safe})

    def forgets_ms(self, variant):
        return 0 if self.plan_key(variant) else LAG_MS

    def fault(self, drill):
        """By hand, the old master goes on until the nodes leave it."""
        store, self.old = drill.cluster.store, drill.cluster.redis
        self.begin(drill)
        how = drill.variant.partition(",")[0]
        {"killed": self.old.kill, "frozen": self.old.freeze, "by hand": store.failover_by_hand}[how]()
        self.ended_ms = now_ms()
        self.opened_ms = store.wait_promoted(self.old)
        if how == "by hand":
            self.ended_ms = store.wait_left(self.old, drill.cluster.hosts_of("nodes"))

    def heal(self, drill):
        """As a master, for all that it knows."""
        if not self.old.is_running:
            self.old.start()
        else:
            self.old.thaw()
