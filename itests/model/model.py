"""The model: what every operation on a job may answer, and what the job is then.

Each method takes what was asked, what the node answered, and the span of time in which it did;
it raises `Wrong` where no life of the job leads to that answer. One client asks at a time, so
whatever else happens to a job happens by itself (life.py), or it goes to a consumer that waits
(waiting.py). Which node is asked matters only for what nodes hear of each other (Topic.defaults)
and for who holds what (owners.py). The rules are those of section 4 of the design and of
doc/store.md and doc/gmq.md; where they say nothing, nothing is asserted.
"""

from dataclasses import replace
from math import floor, inf

from model.beliefs import Wrong
from model.life import GONE, GONE_LIFE, READY, RESERVED, UNCONFIRMED_MS, Life, Span
from model.owners import Owners

POPPED = ("body", "due_ms", "delay_ms", "ttr_ms", "delay_s", "ttr_s", "tries", "lease")


class Model(Owners):
    # ---- push ----

    def pushed(self, topic, job, span, code, facts):
        """`job` as it was sent, `facts` as the node answered."""
        facts = dict(facts)
        id = facts.pop("id", None) or job.get("id")
        existed = facts.pop("existed", False)
        mode = job.get("mode", "reject")

        def outcomes(old):
            for refused, new in self._new_lives(topic, job, span):
                is_live = old.state != GONE
                if refused:
                    yield "out_of_range", old
                elif is_live and mode == "reject":
                    yield "duplicate", old
                elif is_live == existed:
                    yield "ok", old if is_live and mode == "ignore" else new

        if id is not None:  # a refused job without one: nothing is there to follow
            self.answered(topic, id, span, outcomes, code, facts)

    def _new_lives(self, topic, job, span):
        """(is refused, life) by each of the settings that may hold."""
        for rules in self.topics[topic].defaults(self.at):
            rules = {name: job.get(name, rules[name]) for name in rules}
            is_at = "at_ms" in job
            delay = job.get("delay_ms", 0)
            due = Span(job["at_ms"], job["at_ms"]) if is_at else span.plus(delay)
            given = Span(delay, delay)
            if is_at:
                given = Span(*(max(0, job["at_ms"] - now)
                               for now in (span.last, floor(span.first))))
            expires = self._expires(job, rules["ttl_ms"], span) if rules["ttl_ms"] else None
            life = Life(READY, span, rules["ttr_ms"], given, rules["priority"],
                        rules["max_tries"], tuple(sorted(rules["backoff"].items())),
                        job["body"], due, expires)
            # Without `at` the two differ by what was given, whatever the time.
            slack = Span(rules["ttl_ms"] - delay, rules["ttl_ms"] - delay)
            if is_at:
                slack = span.plus(rules["ttl_ms"] - job["at_ms"])
            is_own = "ttl_ms" in job
            if expires and is_own and slack.first < 1:
                yield True, life
            if expires and is_own and slack.last <= 0:
                continue
            if not is_at and delay == 0:
                yield False, life
            else:
                yield from ((False, new) for new in life.moved(span, due))

    @staticmethod
    def _expires(job, ttl_ms, span):
        """The topic's ttl counts from when the job is due."""
        if "ttl_ms" in job:
            return span.plus(ttl_ms)
        if "at_ms" not in job:
            return span.plus(job.get("delay_ms", 0) + ttl_ms)
        return Span(*(max(job["at_ms"], now) + ttl_ms for now in (span.first, span.last + 1)))

    # ---- pop ----

    def popped(self, topics, count, ttr_ms, jobs, span):
        """`jobs` as they came, all of one topic; perhaps none."""
        source = jobs[0]["topic"] if jobs else None
        for topic in topics:
            if topic == source:
                break
            self._nothing_was_ready(topic, span)
        for nth, job in enumerate(jobs):
            if job["topic"] != source or source not in topics:
                raise Wrong(f"{job} is not of the topics asked for, or not of one")
            self._popped_one(source, job, {each["id"] for each in jobs[:nth + 1]}, ttr_ms, span)
        if len(jobs) > count or len({job["id"] for job in jobs}) < len(jobs):
            raise Wrong(f"asked for {count}, got {len(jobs)}, or one twice")
        if jobs and len(jobs) < count:
            self._nothing_was_ready(source, span)

    def _popped_one(self, topic, job, earlier, ttr_ms, span):
        if self.topics[topic].is_paused(span):
            raise Wrong(f"{topic} is paused, and {job['id']} was handed out")
        self._check_turn(topic, job["id"], earlier, span)
        facts = {name: job[name] for name in POPPED if name in job}

        def outcomes(life):
            if life.state == READY and not (life.expires and life.expires.last <= span.first):
                yield "ok", life.becomes(
                    RESERVED, span, lease=job["lease"],
                    deadline=Span(span.first + UNCONFIRMED_MS, inf),
                    pop_ttr_ms=life.ttr_ms if ttr_ms is None else ttr_ms)

        self.answered(topic, job["id"], span, outcomes, "ok", facts)

    def _check_turn(self, topic, id, earlier, span):
        """Nobody else stood before it for sure."""
        mine = [life for life in self.lives(topic, id, span) if life.state == READY]
        for other in self.topics[topic].jobs.keys() - earlier:
            theirs = self.lives(topic, other, span)
            if mine and self._was_ready(theirs, span) and all(
                    their.comes_before(my) for their in theirs for my in mine):
                raise Wrong(f"{topic}: {id} ({mine[0]}) was handed out before {other} "
                            f"({theirs[0]})")

    def _nothing_was_ready(self, topic, span):
        """A pop came back without having taken what is left in the topic."""
        if self.topics[topic].is_paused(span) is not False or self.is_waited_for(topic):
            return
        for id in self.topics[topic].jobs:
            lives = self.lives(topic, id, span)
            left = [life for life in lives
                    if life.state != READY or life.since.last > span.first]
            if not left:
                raise Wrong(f"{topic}: nothing was handed out, and {id} was ready: {lives[0]}")
            if len(left) < len(lives):
                self.topics[topic].jobs[id] = left

    # ---- with a lease ----

    def _with_lease(self, topic, id, lease, span, change, code, facts=None):
        def outcomes(life):
            if life.state == GONE:
                yield "not_found", life
            elif life.state != RESERVED:
                yield "not_reserved", life
            elif life.lease != lease:
                yield "not_owner", life
            else:
                yield from (("ok", changed) for changed in change(life.counted()))

        self.answered(topic, id, span, outcomes, code, facts)

    def acked(self, topic, id, lease, span, code):
        self._with_lease(topic, id, lease, span, lambda life: [GONE_LIFE], code)

    def released(self, topic, id, lease, delay_ms, span, code, facts):
        facts = dict(facts)
        if facts.get("due_ms", 0) is None:  # it died
            del facts["due_ms"]

        def change(life):
            if 0 < life.max_tries <= life.tries:
                yield life.dies("tries", span)
                return
            rest = life.rest_ms() or (0, 0) if delay_ms is None else (delay_ms, delay_ms)
            if rest == (0, 0):
                yield life.becomes(READY, span, due=span)
            else:
                yield from life.moved(span, span.plus(*rest))

        if code == "ok" and ("due_ms" in facts) == ("death" in facts):
            raise Wrong(f"{topic} {id}: released to {facts}")
        self._with_lease(topic, id, lease, span, change, code, facts)

    def touched(self, topic, id, lease, ttr_ms, span, code, facts):
        def change(life):
            ttr = ttr_ms or life.ttr_ms or UNCONFIRMED_MS
            yield replace(life, deadline=span.plus(ttr))

        self._with_lease(topic, id, lease, span, change, code, facts)

    def buried(self, topic, id, lease, span, code, facts):
        self._with_lease(topic, id, lease, span, lambda life: [life.dies("buried", span)], code,
                         facts)

    # ---- by id ----

    def cancelled(self, topic, id, span, code):
        self.answered(topic, id, span,
                      lambda life: [("not_found" if life.state == GONE else "ok", GONE_LIFE)],
                      code)

    def moved(self, topic, id, states, due, span, code, facts):
        """run, kick, reschedule: those of `states` only; `due` is a span, or None for now."""
        def outcomes(life):
            if life.state == GONE:
                yield "not_found", life
            elif life.state not in states:
                yield "wrong_state", life
            else:
                yield from (("ok", then) for then in self._moved_life(life, due, span))

        self.answered(topic, id, span, outcomes, code, facts)

    @staticmethod
    def _moved_life(life, due, span):
        life = life.lives_again()
        if due is None:
            options = [life.becomes(READY, span, due=span)]
        else:
            options = life.moved(span, due)
        for option in options:
            # One that is ready and stays so keeps its place, and its due.
            yield life if life.state == option.state == READY else option
