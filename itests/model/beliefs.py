"""What the model believes: of each job of each topic, the lives that agree with every answer."""

from dataclasses import replace
from math import inf

from model.life import DEAD, DELAYED, GONE, GONE_LIFE, READY, RESERVED, Span
from model.rules import configured

FOREVER = inf


class Wrong(AssertionError):
    """The node did what the model does not allow."""


class Topic:
    def __init__(self, name):
        self.name = name
        self.jobs = {}             # id: list of lives
        self.rules = configured(name)
        self.own = {}              # settings
        self.paused_until = 0
        self.older = []            # (node, settings) before that node's change
        self.pause = Span(0, 0)    # the last one: from when to when nothing is handed out, surely

    def defaults(self, node):
        """All settings that may be those of a push there. A node knows its own changes; how soon
        it hears of others', only known() says."""
        options = [{**self.rules, **self.own}]
        for changed_by, own in reversed(self.older):
            if changed_by == node:
                break
            if {**self.rules, **own} not in options:
                options.append({**self.rules, **own})
        return options

    def limits(self):
        """How many dead are kept, and for how long."""
        now = {**self.rules, **self.own}
        return now["dead_max"] or inf, now["dead_age_ms"] or inf

    def is_paused(self, span):
        """All the time; not at all: False; or None."""
        if self.pause.first <= span.first and span.last < self.pause.last:
            return True
        return False if self.pause.last <= span.first else None

    def open_within(self, span):
        """When in the span something may have been handed out, or None."""
        if span.first < self.pause.first:
            return span
        return Span(max(span.first, self.pause.last), span.last) \
            if self.pause.last <= span.last else None


class Beliefs:
    def __init__(self, topics):
        self.topics = {name: Topic(name) for name in topics}
        self.waiters = {}  # number: Waiter, whose answers have not been read
        self.at = 0        # the node that is asked

    def lives(self, topic, id, span, waiters=None):
        """Those of now and all they may have turned into by the end of the span."""
        if waiters is None:
            waiters = [each for each in self.waiters.values() if topic in each.topics]
        found, todo = {}, list(self.topics[topic].jobs.get(id, [GONE_LIFE]))
        while todo:
            life = todo.pop(0)
            if life not in found:
                found[life] = True
                todo += life.next_lives(span.last)
                todo += self._handed_out(topic, life, span.last, waiters)
        return list(found)

    def _handed_out(self, topic, life, until, waiters):
        """A ready job may go to any consumer that waits."""
        for waiter in waiters if life.state == READY else ():
            when = self.topics[topic].open_within(Span(max(life.since.first, waiter.begin), until))
            is_over = when and life.expires and life.expires.last <= when.first
            if when and not is_over and not life.handed_to(waiter.number):
                yield life.goes_to(waiter, when)

    def is_waited_for(self, topic):
        return any(topic in each.topics for each in self.waiters.values())

    def answered(self, topic, id, span, outcomes, code, facts=None):
        """`outcomes(life)` gives (answer, life afterwards); the answer was `code` with `facts`."""
        self._prune(topic, span)
        before = self.lives(topic, id, span)
        possible = [(life, said, replace(then, handed=life.handed))
                    for life in before for said, then in outcomes(life)]
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
        keep, age_ms = it.limits()
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
                gone = [life.gone() for life in dead[id]]
                it.jobs[id] = list(dict.fromkeys([*self.lives(topic, id, span), *gone]))

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
        if self.is_waited_for(topic):
            return False  # who waited before may have it
        return self.topics[topic].paused_until <= by_ms and any(
            all(is_sure(life) for life in self.lives(topic, id, span))
            for id in self.topics[topic].jobs)

    def is_settled(self, topic, now_ms):
        """Has all that is over happened?"""
        it = self.topics[topic]
        lives = [life for each in it.jobs.values() for life in each]
        dead = [life for life in lives if life.state == DEAD]
        dead_jobs = sum(any(life.state == DEAD for life in each) for each in it.jobs.values())
        keep, age_ms = it.limits()
        return (all(life.overdue_ms(now_ms) < 0 for life in lives) and dead_jobs <= keep
                and all(life.since.last + age_ms > now_ms for life in dead))

    def all_are_gone(self, topic):
        left = {id: str(lives[0]) for id, lives in self.topics[topic].jobs.items()
                if any(life.state != GONE for life in lives)}
        if left:
            raise Wrong(f"{topic}: never handed out: {left}")
