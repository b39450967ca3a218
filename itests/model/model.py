"""The model: topics of jobs, and what every operation may answer.

Each method takes what was asked, what the node answered, and the span of time in which it did;
it raises `Wrong` where no life of the jobs leads to that answer. One client asks at a time, so
whatever else happens to a job happens by itself: see life.py. The rules are those of section 4
of the design and of doc/store.md; where they say nothing, nothing is asserted.
"""

from dataclasses import replace
from math import floor, inf

from model.life import (BUILT_IN, DEAD, DELAYED, GONE, GONE_LIFE, READY, RESERVED, STATES,
                        UNCONFIRMED_MS, Life, Span, all_lives)

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


class Model:
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
        for rules in self.topics[topic].defaults(span):
            rules = {name: job.get(name, rules[name]) for name in rules}
            is_at = "at_ms" in job
            delay = job.get("delay_ms", 0)
            due = Span(job["at_ms"], job["at_ms"]) if is_at else span.plus(delay)
            given = Span(delay, delay)
            if is_at:
                given = Span(*(max(0, job["at_ms"] - now)
                               for now in (span.last, floor(span.first))))
            expires = span.plus(rules["ttl_ms"]) if rules["ttl_ms"] else None
            life = Life(READY, span, rules["ttr_ms"], given, rules["priority"],
                        rules["max_tries"], tuple(sorted(rules["backoff"].items())),
                        job["body"], due, expires)
            # Without `at` the two differ by what was given, whatever the time.
            slack = Span(rules["ttl_ms"] - delay, rules["ttl_ms"] - delay)
            if is_at:
                slack = span.plus(rules["ttl_ms"] - job["at_ms"])
            if expires and slack.first < 1:
                yield True, life
            if expires and slack.last <= 0:
                continue
            if not is_at and delay == 0:
                yield False, life
            else:
                yield from ((False, new) for new in life.moved(span, due))

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
        facts = {name: job[name] for name in ("body", "due_ms", "delay_ms", "ttr_ms", "tries",
                                              "lease")}

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

    @staticmethod
    def _was_ready(lives, span):
        """For sure, all the time, and not expired."""
        return all(life.state == READY and life.since.last <= span.first for life in lives)

    def _nothing_was_ready(self, topic, span):
        """A pop came back without having taken what is left in the topic."""
        if self.topics[topic].is_paused(span) is not False:
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
        if life.state == DEAD:
            life = replace(life, tries=0, expires=None, death=None)
        if due is None:
            options = [life.becomes(READY, span, due=span)]
        else:
            options = life.moved(span, due)
        for option in options:
            # One that is ready and stays so keeps its place, and its due.
            yield life if life.state == option.state == READY else option

    # ---- looking ----

    def got(self, topic, id, span, code, facts):
        self.answered(topic, id, span,
                      lambda life: [("not_found" if life.state == GONE else "ok", life)],
                      code, _of_state(facts) if facts else {})

    def listed(self, topic, states, rows, span):
        """All pages of these states; every other job is in none of them."""
        self._prune(topic, span)
        jobs = self.topics[topic].jobs
        ids = [row["id"] for row in rows]
        for id in {*ids, *jobs}:
            lives = self.lives(topic, id, span)
            places = {life.state for life in lives}
            mine = [row for row in rows if row["id"] == id]
            if len(mine) == 1:
                self.got(topic, id, span, "ok", mine[0])
            elif mine and len(places) == 1:
                raise Wrong(f"{topic} {id}: listed {len(mine)} times, and was always {lives[0]}")
            elif not mine:
                jobs[id] = [life for life in lives if life.state not in states
                            or life.since.last > span.first]
                if not jobs[id]:
                    raise Wrong(f"{topic} {id}: not listed, and was always {lives[0]}")
        self._check_order(topic, rows, span)

    def _check_order(self, topic, rows, span):
        member = {DELAYED: "due_ms", RESERVED: "deadline_ms", DEAD: "died_ms"}
        for one, next in zip(rows, rows[1:]):
            if one["state"] != next["state"]:
                continue
            if one["state"] != READY:
                name = member[one["state"]]
                is_wrong = one[name] > next[name]
            else:
                before, after = ([life for life in self.lives(topic, row["id"], span)
                                  if life.state == READY] for row in (one, next))
                is_wrong = before and after and all(
                    late.comes_before(early) for early in before for late in after)
            if is_wrong:
                raise Wrong(f"{topic}: listed {one} before {next}")

    def counted(self, topic, counts, span):
        self._prune(topic, span)
        places = [{life.state for life in self.lives(topic, id, span)}
                  for id in self.topics[topic].jobs]
        for state in STATES:
            sure = sum(place == {state} for place in places)
            most = sum(state in place for place in places)
            if not sure <= counts[state] <= most:
                raise Wrong(f"{topic}: {counts[state]} jobs are {state}, not {sure} to {most}")
        self._check_pause(topic, counts, span)

    # ---- whole states ----

    def swept(self, topic, verb, states, limit, since_ms, before_ms, answer, span):
        """A kick or a purge: who may have been swept, may be. The list that follows tells, and
        then the returned check counts and looks who stood in front."""
        self._prune(topic, span)
        jobs = self.topics[topic].jobs
        old = {id: self.lives(topic, id, span) for id in jobs}
        window = (since_ms or 0, before_ms or inf)
        chosen = {id: [_is_chosen(life, states, window) for life in lives]
                  for id, lives in old.items()}
        sure = [id for id in jobs if all(each is True and life.since.last <= span.first
                                         for each, life in zip(chosen[id], old[id]))]
        may = [id for id in jobs if any(each is not False for each in chosen[id])]
        least, most = (min(number, limit or inf) for number in (len(sure), len(may)))
        if not least <= answer["count"] <= most or (answer["has_more"] and not limit):
            raise Wrong(f"{topic}: {verb} of {states} told {answer}, not {least} to {most}")
        is_all = not limit or answer["count"] < limit
        for id in may:
            taken = [life for life, each in zip(old[id], chosen[id]) if each is not False]
            left = [] if is_all and id in sure else old[id]
            jobs[id] = left + [GONE_LIFE if verb == "purge" else then for life in taken
                               for then in self._moved_life(life, None, span)]
        return lambda: self._check_swept(topic, verb, answer["count"], old, sure, may)

    def _check_swept(self, topic, verb, count, old, sure, may):
        end = GONE if verb == "purge" else READY
        now = {id: {life.state for life in self.topics[topic].jobs[id]} for id in may}
        swept = [id for id in sure if now[id] == {end}]
        most = sum(end in now[id] for id in may)
        if not len(swept) <= count <= most:
            raise Wrong(f"{topic}: {verb} told {count}, and it was {len(swept)} to {most}")
        for id in swept:
            for other in (other for other in sure if end not in now[other]):
                if all(theirs.is_listed_before(mine) for theirs in old[other]
                       for mine in old[id] if mine.state == theirs.state):
                    raise Wrong(f"{topic}: {verb} took {id}, and {other} was in front")

    # ---- settings ----

    def configured(self, topic, changes, answer, span):
        """`changes` as sent: None unsets."""
        self._prune(topic, span)
        it = self.topics[topic]
        if changes:
            it.older.append((span.last + SETTINGS_KNOWN_MS, it.own))
        own = {**it.own, **changes}
        it.own = {name: value for name, value in own.items() if value is not None}
        if {name: _full(value) for name, value in it.own.items()} != answer["own"]:
            raise Wrong(f"{topic}: its settings are {answer['own']}, not {it.own}")
        self._check_pause(topic, answer, span)

    def paused(self, topic, until_ms, answer, span):
        """until_ms: a span, FOREVER, or 0 for resumed."""
        it = self.topics[topic]
        told = answer["paused_until_ms"]
        if until_ms == FOREVER or until_ms == 0:
            it.paused_until = until_ms
        elif told is not None and until_ms.has(told):
            it.paused_until = told
        elif told is None and until_ms.first <= span.last:
            it.paused_until = 0
        else:
            raise Wrong(f"{topic}: paused until {until_ms}, and it says {answer}")
        self._check_pause(topic, answer, span)

    def _check_pause(self, topic, answer, span):
        until, is_paused = self.topics[topic].paused_until, self.topics[topic].is_paused(span)
        told = answer["paused_until_ms"]
        right = until if 0 < until < FOREVER and answer["paused"] else None
        if is_paused not in (None, answer["paused"]) or told != right:
            raise Wrong(f"{topic}: {answer}, and it is paused until {until}")

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

    def is_settled(self, topic, now_ms):
        """Has all that is over happened?"""
        it = self.topics[topic]
        lives = [life for each in it.jobs.values() for life in each]
        dead = [life for life in lives if life.state == DEAD]
        keep, age_ms = (it.own.get(name) or inf for name in ("dead_max", "dead_age_ms"))
        return (all(life.overdue_ms(now_ms) < 0 for life in lives) and len(dead) <= keep
                and all(life.since.last + age_ms > now_ms for life in dead))

    def all_are_gone(self, topic):
        left = {id: str(lives[0]) for id, lives in self.topics[topic].jobs.items()
                if any(life.state != GONE for life in lives)}
        if left:
            raise Wrong(f"{topic}: never handed out: {left}")


def _is_chosen(life, states, window):
    """Is it of the states, and did it die in the window? None where that is not sure."""
    if life.state not in states or life.state != DEAD:
        return life.state in states
    since, before = window
    if life.since.last < since or life.since.first >= before:
        return False
    # Its time of death is kept in whole milliseconds.
    return True if since <= floor(life.since.first) and life.since.last < before else None


def _of_state(row):
    """The members that the life has fields for; absent ones are None."""
    none = {"expires_ms": None, "death": None, "deadline_ms": None}
    told = {name: value for name, value in row.items()
            if name not in ("id", "topic", "holder")}
    return {**none, **told}


def _full(value):
    if isinstance(value, dict) and value["kind"] != "none":
        return {"cap_ms": 0, "jitter_percent": 0, **value}
    return value
