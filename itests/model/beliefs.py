"""What the model believes: of each job of each topic, the lives that agree with every answer."""

from math import inf

from model.life import BUILT_IN, DEAD, DELAYED, GONE, GONE_LIFE, READY, RESERVED, Span, all_lives

FOREVER = inf
SETTINGS_KNOWN_MS = 1000  # every node knows a change within this


class Wrong(AssertionError):
    """The node did what the model does not allow."""


class Topic:
    def __init__(self, name):
        self.name = name
        self.jobs = {}             # id: list of lives
        self.own = {}              # settings
        self.older = []            # (until when they may still hold, settings) of before
        self.paused_until = 0

    def defaults(self, span):
        """All settings that may be those of a push."""
        older = [own for until, own in self.older if span.first <= until]
        return [{**BUILT_IN, **own} for own in [self.own, *older]]

    def is_paused(self, span):
        """True, False, or None while the pause is just ending."""
        if span.last < self.paused_until:
            return True
        return False if self.paused_until <= span.first else None


class Beliefs:
    def __init__(self, topics):
        self.topics = {name: Topic(name) for name in topics}

    def lives(self, topic, id, span):
        return all_lives(self.topics[topic].jobs.get(id, [GONE_LIFE]), span.last)

    def answered(self, topic, id, span, outcomes, code, facts=None):
        """`outcomes(life)` gives (answer, life afterwards); the answer was `code` with `facts`."""
        self._prune(topic, span)
        before = self.lives(topic, id, span)
        possible = [(life, *outcome) for life in before for outcome in outcomes(life)]
        after = [life.seen(facts or {}) for _, said, life in possible if said == code]
        after = [life for life in after if life is not None]
        if not after:
            allowed = "\n".join(f"  {life}\n    -> {said}: {then}" for life, said, then in possible)
            raise Wrong(f"{topic} {id}: {code} {facts or ''} is none of\n{allowed}")
        self.topics[topic].jobs[id] = list(dict.fromkeys(after))

    def may_be_held(self, topic, id, lease):
        return any(life.lease == lease for life in self.topics[topic].jobs.get(id, []))

    def _prune(self, topic, span):
        """Dead jobs beyond the topic's limits may be gone from now on, the oldest first."""
        it = self.topics[topic]
        keep, age_ms = (it.own.get(name) or inf for name in ("dead_max", "dead_age_ms"))
        if keep == age_ms == inf:
            return
        dead = {id: [life for life in self.lives(topic, id, span) if life.state == DEAD]
                for id in it.jobs}
        latest = {id: max(life.since.last for life in lives)
                  for id, lives in dead.items() if lives}
        for id in latest:
            first = min(life.since.first for life in dead[id])
            younger = sum(latest[other] >= first for other in latest if other != id)
            if younger >= keep or first + age_ms <= span.last:
                it.jobs[id] = list(dict.fromkeys([*self.lives(topic, id, span), GONE_LIFE]))

    # ---- for the machine ----

    def next_events(self, topic):
        """When something may happen by itself, soonest first."""
        times = [self.topics[topic].paused_until]
        for lives in self.topics[topic].jobs.values():
            for life in lives:
                if life.state not in (GONE, DEAD):
                    times += [life.expires, life.deadline, life.state == DELAYED and life.due]
        return sorted(time.last if isinstance(time, Span) else time for time in times if time)

    def will_be_ready(self, topic, now_ms, within_ms, wait_ms):
        """Surely, some job, for whoever waits for so long."""
        by_ms = now_ms + within_ms

        def is_sure(life):
            if life.expires and life.expires.first <= now_ms + wait_ms:
                return False
            if life.state == RESERVED:
                is_soon = (life.deadline.last <= by_ms if life.confirmed
                           else 0 < life.pop_ttr_ms <= within_ms)
                return is_soon and life.max_tries == 0 and not life.rest_ms()
            return life.state == READY or life.state == DELAYED and life.due.last <= by_ms

        span = Span(now_ms, now_ms)
        return self.topics[topic].paused_until <= by_ms and any(
            all(is_sure(life) for life in self.lives(topic, id, span))
            for id in self.topics[topic].jobs)

    def is_settled(self, topic, now_ms):
        """Has all that is over happened?"""
        it = self.topics[topic]
        lives = [life for each in it.jobs.values() for life in each]
        dead = [life for life in lives if life.state == DEAD]
        dead_jobs = sum(any(life.state == DEAD for life in each) for each in it.jobs.values())
        keep, age_ms = (it.own.get(name) or inf for name in ("dead_max", "dead_age_ms"))
        return (all(life.overdue_ms(now_ms) < 0 for life in lives) and dead_jobs <= keep
                and all(life.since.last + age_ms > now_ms for life in dead))

    def all_are_gone(self, topic):
        left = {id: str(lives[0]) for id, lives in self.topics[topic].jobs.items()
                if any(life.state != GONE for life in lives)}
        if left:
            raise Wrong(f"{topic}: never handed out: {left}")
