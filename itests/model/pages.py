"""What the node shows, and what it does with whole topics: pages, counts, sweeps, settings."""

from math import floor, inf

from model.beliefs import FOREVER, Beliefs, Wrong
from model.life import DEAD, DELAYED, GONE, READY, RESERVED, STATES, Span

OF_A_JOB = ("ttr_ms", "priority", "max_tries", "backoff", "ttl_ms")  # what a job tells of itself


class Pages(Beliefs):
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
            before = jobs.get(id, [])
            mine = [row for row in rows if row["id"] == id]
            if len(mine) == 1:
                self.got(topic, id, span, "ok", mine[0])
            elif mine and len(lives) == 1:
                raise Wrong(f"{topic} {id}: listed {len(mine)} times, and was always {lives[0]}")
            elif not mine:
                # A new deadline moves it, too, from one page to another.
                jobs[id] = [life for life in lives if life.state not in states
                            or life.since.last > span.first or life not in before]
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
        self._check_ages(topic, counts, span)

    def _check_ages(self, topic, counts, span):
        """The first to become due; for how long some ready one has been due."""
        dues = {state: [life.due for id in self.topics[topic].jobs
                        for life in self.lives(topic, id, span) if life.state == state]
                for state in (DELAYED, READY)}
        next_ms, oldest_ms = counts["next_due_in_ms"], counts["oldest_ready_age_ms"]
        if (next_ms is None) != (counts[DELAYED] == 0):
            raise Wrong(f"{topic}: {counts}: next_due_in_ms")
        if (oldest_ms is None) != (counts[READY] == 0):
            raise Wrong(f"{topic}: {counts}: oldest_ready_age_ms")
        soonest = min((due.first for due in dues[DELAYED]), default=0)
        if next_ms is not None and next_ms + span.last < soonest:
            raise Wrong(f"{topic}: {counts}, and the first is due at {soonest}")
        if next_ms and all(next_ms + floor(span.first) > due.last for due in dues[DELAYED]):
            raise Wrong(f"{topic}: {counts}, and all are due earlier: {dues[DELAYED]}")
        if oldest_ms and not any(span.first - 1 - due.last <= oldest_ms <= span.last - due.first + 1
                                 for due in dues[READY]):
            raise Wrong(f"{topic}: {counts}, and due were {dues[READY]}")

    def topics_counted(self, rows, span):
        """`rows` of all topics that have jobs, by name."""
        none = {**{state: 0 for state in STATES}, "next_due_in_ms": None,
                "oldest_ready_age_ms": None}
        for topic in self.topics:
            if topic in rows and not any(rows[topic][state] for state in STATES):
                raise Wrong(f"{topic} is listed, and has no jobs")
            self.counted(topic, rows.get(topic, none), span)

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
            jobs[id] = left + ([life.gone() for life in taken] if verb == "purge" else
                               [life.lives_again().becomes(READY, span, due=span,
                                                           kicked=(span, life.since))
                                for life in taken])
        if self.is_waited_for(topic):  # what was kicked may be with somebody by now
            return lambda: None
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
            it.older.append((self.at, it.own))
        own = {**it.own, **changes}
        it.own = {name: value for name, value in own.items() if value is not None}
        if {name: _full(value) for name, value in it.own.items()} != answer["own"]:
            raise Wrong(f"{topic}: its settings are {answer['own']}, not {it.own}")
        holds = {name: _full(value) for name, value in {**it.rules, **it.own}.items()}
        if answer.get("effective", holds) != holds:
            raise Wrong(f"{topic}: what holds is {answer['effective']}, not {holds}")
        self.check_pause(topic, answer, span)

    def settings_listed(self, rows, span):
        """`rows` of all topics that have settings or are paused, by name."""
        none = {"own": {}, "paused": False, "paused_until_ms": None}
        for topic in self.topics:
            self.configured(topic, {}, rows.get(topic, none), span)
            if topic in rows and not rows[topic]["own"] and not rows[topic]["paused"]:
                raise Wrong(f"{topic} is listed, and has no settings")

    def traced(self, topic, id, answer, span):
        """History is kept as well as can be, so little can be asked of it."""
        allowed = {settings["history"] for settings in self.topics[topic].defaults(self.at)}
        if answer["is_on"] not in allowed:
            raise Wrong(f"{topic}: history is on: {answer['is_on']}, not {allowed}")
        times = [line["time_ms"] for line in answer["history"]]
        if times and not (times == sorted(times) and times[-1] <= span.last):
            raise Wrong(f"{topic} {id}: a history out of order: {answer['history']}")

    def is_new(self, topic, job):
        """Was it pushed under the settings of now? Of the topic's limits a job tells nothing."""
        it = self.topics[topic]
        told = {name: _full(value) for name, value in {"ttl_ms": 0, **job}.items()}
        return all(told[name] == _full(value) for name, value in {**it.rules, **it.own}.items()
                   if name in OF_A_JOB)

    def known(self, topic):
        """All nodes know what holds now."""
        self.topics[topic].older = []

    def paused(self, topic, until_ms, answer, span):
        """until_ms: a span, FOREVER, or 0 for resumed."""
        it = self.topics[topic]
        told = answer["paused_until_ms"]
        if until_ms == FOREVER or until_ms == 0:
            it.paused_until = until_ms
        elif told is not None and until_ms.has(told):
            it.paused_until = told
        else:
            raise Wrong(f"{topic}: paused until {until_ms}, and it says {answer}")
        first, last = it.pause
        it.pause = (Span(first if span.last < last else span.last, it.paused_until)
                    if it.paused_until else Span(first, min(last, span.first)))
        self.check_pause(topic, answer, span)

    def check_pause(self, topic, answer, span):
        until = self.topics[topic].paused_until
        is_paused = True if span.last < until else False if until <= span.first else None
        told = answer["paused_until_ms"]
        right = until if 0 < until < FOREVER and answer["paused"] else None
        if is_paused not in (None, answer["paused"]) or told != right:
            raise Wrong(f"{topic}: {answer}, and it is paused until {until}")


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
    if isinstance(value, dict) and value.get("kind", "none") != "none":
        return {"cap_ms": 0, "jitter_percent": 0, **value}
    return value
