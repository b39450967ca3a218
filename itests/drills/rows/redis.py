"""Rows about Redis: restarted, killed, cut short, unwilling, frozen and slow."""

import math
import os

from drills.hosts.cluster import Plan
from drills.hosts.stores import StorePlan
from drills.hosts.troubles import TROUBLES, count_of_errors
from drills.rows.redis_row import AUDITED, ENOUGH, ForgetfulRow, RedisRow, Told
from drills.rows.row import row, stay
from drills.witness import all_hurt, changed, run_ids
from harness.wait import wait_until
from judge.journal import OK, REFUSED, UNKNOWN, now_ms

SYNC_EACH_SECOND_MS = 2000  # Redis puts off a write for so long while the last sync goes on


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

    def keeps_nothing(self, variant):
        return self.plan_key(variant) == "none"

    def witness(self, drill):
        return changed(lambda: run_ids([drill.cluster.redis]))

    def must_lose(self, variants):
        return self.plan_key(variants[0]) == "none" or variants.count("killed, everysec") >= ENOUGH

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

    def witness(self, drill):
        """Another Redis, which has found its file cut."""
        is_another = changed(lambda: run_ids([drill.cluster.redis]))
        has_found = changed(lambda: self._found(drill))
        return lambda: is_another() and has_found()

    def fault(self, drill):
        log = drill.cluster.store.log
        self.found_before = self._found(drill)
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
        if self._found(drill) == self.found_before:
            yield "Redis found nothing wrong with its file"

    @staticmethod
    def _found(drill):
        """How often so far: all its lives write to one log."""
        return drill.cluster.redis.process.output().count("runcating the AOF")


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

    def witness(self, drill):
        return TROUBLES[drill.variant].witness(drill.cluster)

    def fault(self, drill):
        self.trouble = TROUBLES[drill.variant]
        self.said, self.missed = self._said(drill), self._missed(drill)
        self.trouble.make(drill.cluster)

    def hold(self, drill):
        if self.trouble.refuses:
            wait_until(lambda: drill.answers(REFUSED, drill.struck_ms), "pushes are refused", 60)
        stay(drill, self.LASTS_MS)
        if self.trouble.serves:
            wait_until(lambda: drill.first_served(drill.struck_ms), "due jobs come all the same",
                       60)
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
        if self.trouble.error and self._missed(drill) <= self.missed:
            yield f"Redis answered nobody {self.trouble.error}"

    def _missed(self, drill):
        """How often Redis has answered with the trouble's error."""
        if not self.trouble.error:
            return 0
        with drill.cluster.redis.client() as client:
            return count_of_errors(client, self.trouble.error)

    def _said(self, drill):
        word = self.trouble.says
        return sum(node.output().count(word) for node in drill.cluster.nodes) if word else 0


@row("16", "Redis frozen, slow")
class Slow(RedisRow):
    """The lease does not depend on Redis: no node's role changes."""

    variants = ("frozen for 2 s", "slow by 100 ms")
    store = StorePlan(has_relay=True)
    SLOW_MS = 100

    def witness(self, drill):
        """Slow: the quickest of some answers takes as long, by the nodes' own way to it."""
        if drill.variant.startswith("frozen"):
            return all_hurt([drill.cluster.redis.process.pid])
        return lambda: drill.cluster.store.answers_in_ms() >= self.SLOW_MS

    def fault(self, drill):
        if drill.variant.startswith("frozen"):
            drill.cluster.redis.freeze()
        else:
            drill.cluster.store.relay.delay_ms = self.SLOW_MS

    def hold(self, drill):
        stay(drill, 2000 if drill.variant.startswith("frozen") else 2 * drill.session_ms)

    def heal(self, drill):
        drill.cluster.redis.thaw()
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
