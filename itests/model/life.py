"""What may be true of one job: section 4 of the design, as simply as it can be said.

A `Life` is one possible state of the job with all that belongs to it. Time makes several
answers right: a job whose due time has just passed is delayed or ready, and one that was just
handed over has counted the try or not yet. So the model keeps, of each job, all lives that agree
with every answer so far. An operation says of each life which answer it leads to and what comes
then; the real answer leaves only those that agree. When none is left, the node is wrong.

Times are spans (earliest, latest) of milliseconds on the store's clock; the answers narrow them.
"""

from dataclasses import dataclass, replace
from math import ceil, floor, inf
from typing import NamedTuple, Optional

DELAYED, READY, RESERVED, DEAD, GONE = "delayed", "ready", "reserved", "dead", "gone"
STATES = (DELAYED, READY, RESERVED, DEAD)
UNCONFIRMED_MS = 5000


class Span(NamedTuple):
    first: float
    last: float

    def plus(self, least, most=None):
        """What lasts is counted from the end of the store's millisecond, what does not from its
        beginning."""
        most = least if most is None else most
        if most == 0:
            return Span(floor(self.first), self.last)
        return Span(self.first + least, self.last + 1 + most)

    def has(self, whole_ms):
        """Could it be shown as this? The store's clock is cut to whole milliseconds."""
        return floor(self.first) <= whole_ms <= self.last


class Handed(NamedTuple):
    """It went to a consumer that waits and whose answer has not been read yet."""
    waiter: int
    when: Span
    life: "Life"  # as it was, ready


@dataclass(frozen=True)
class Life:
    state: str
    since: Span = Span(0, 0)         # in this place
    # the rules of its push
    ttr_ms: int = 0
    delay_ms: Optional[Span] = None
    priority: int = 0
    max_tries: int = 0
    backoff: tuple = ()              # as in the API: kind, base_ms, cap_ms, jitter_percent
    body: str = ""
    # what changes
    due: Optional[Span] = None
    expires: Optional[Span] = None   # None: it has no ttl
    tries: int = 0
    lease: Optional[str] = None      # reserved
    deadline: Optional[Span] = None  # reserved
    confirmed: bool = False          # reserved: its consumer is known to have it
    pop_ttr_ms: int = 0              # reserved, and not confirmed: what counts from then on
    death: Optional[str] = None      # dead
    queued: Optional[Span] = None    # ready by its due time: when it had become delayed
    kicked: Optional[tuple] = None   # ready by a kick of several: when that was; when it had died
    handed: tuple = ()               # Handed, oldest first; whatever became of it since

    # ---- what happens by itself ----

    def next_lives(self, until):
        """What this may have turned into by `until`, in one step."""
        if self.state in (GONE, DEAD):
            return
        if self.expires and self.expires.first <= until:
            yield self.dies("expired", self._from(self.expires.first, until))
        if self.state == DELAYED and self.due.first <= until:
            yield self.becomes(READY, self._from(self.due.first, until), queued=self.since)
        if self.state != RESERVED:
            return
        if not self.confirmed or self.pop_ttr_ms == 0:
            yield self._delivered(until)
        if self.deadline.first <= until:
            yield self._timed_out(self._from(self.deadline.first, until))

    def _from(self, first, until):
        return Span(max(first, self.since.first), until)

    def _delivered(self, until):
        """The node says that the reply was written, some time after the pop. Without a time to
        run that is the end, also of a job that was touched before."""
        if self.pop_ttr_ms == 0:
            return self.gone()
        deadline = Span(self.since.first, until).plus(self.pop_ttr_ms)
        return replace(self, confirmed=True, tries=self.tries + 1, deadline=deadline)

    def _timed_out(self, when):
        if not self.confirmed:
            return self.becomes(READY, when)
        if 0 < self.max_tries <= self.tries:
            return self.dies("tries", when)
        if self.rest_ms():
            return self.becomes(DELAYED, when, due=when.plus(*self.rest_ms()))
        return self.becomes(READY, when)

    def overdue_ms(self, now_ms):
        """For how long something should have happened by itself; negative: not yet."""
        if self.state in (GONE, DEAD):
            return -inf
        times = [self.expires, self.due if self.state == DELAYED else None, self.deadline]
        if self.state == RESERVED and (not self.confirmed or self.pop_ttr_ms == 0):
            times.append(self.since)  # its delivery should be confirmed
        return now_ms - min((time.last for time in times if time), default=inf)

    # ---- changes ----

    def becomes(self, state, since, **changes):
        nothing = {"lease": None, "deadline": None, "confirmed": False,
                   "queued": None, "kicked": None}
        return replace(self, state=state, since=since, **{**nothing, **changes})

    def gone(self):
        return replace(GONE_LIFE, handed=self.handed)

    def goes_to(self, waiter, when):
        """To a consumer that waits, whose lease nobody knows yet."""
        given = replace(self, handed=())
        return self.becomes(
            RESERVED, when, lease=waiter.name, deadline=Span(when.first + UNCONFIRMED_MS, inf),
            pop_ttr_ms=self.ttr_ms if waiter.ttr_ms is None else waiter.ttr_ms,
            handed=(*self.handed, Handed(waiter.number, when, given)))

    def handed_to(self, number):
        """How, or None."""
        return next((each for each in self.handed if each.waiter == number), None)

    def dies(self, death, when):
        return self.becomes(DEAD, when, death=death)

    def lives_again(self):
        if self.state != DEAD:
            return self
        return replace(self, tries=0, expires=None, death=None)

    def counted(self):
        """Whatever a consumer does with a job says that it has it."""
        if self.state != RESERVED or self.confirmed:
            return self
        return replace(self, tries=self.tries + 1, confirmed=True)

    def moved(self, span, due):
        """To DELAYED or READY by its due time; to both where that is just passing."""
        is_absolute = due.first == due.last
        if not is_absolute or due.first > span.first:
            yield self.becomes(DELAYED, span, due=due)
        if is_absolute and due.first <= span.last:
            yield self.becomes(READY, span, due=due)

    def rest_ms(self):
        """(least, most) ms of backoff after try number `tries`, or None."""
        backoff = dict(self.backoff)
        if backoff["kind"] == "none":
            return None
        doublings = self.tries - 1 if backoff["kind"] == "exponential" else 0
        cap = backoff.get("cap_ms") or 2592000000
        rest = min(backoff["base_ms"] * 2 ** doublings, cap)
        jitter = backoff.get("jitter_percent", 0) / 100
        return floor(rest * (1 - jitter)), rest * (1 + jitter)

    # ---- what answers say ----

    def seen(self, facts):
        """This life, narrowed by an answer's members; None when it does not agree with them."""
        changes = {}
        for name, value in facts.items():
            field = {"due_ms": "due", "expires_ms": "expires", "deadline_ms": "deadline",
                     "died_ms": "since"}.get(name, name)
            mine = getattr(self, field, None)
            if isinstance(mine, Span):
                if value is None or not mine.has(value):
                    return None
                # Where it stands in line depends on more than whole milliseconds.
                changes[field] = (Span(max(value, mine.first), min(value + 1, mine.last))
                                  if field == "since" else Span(value, value))
            elif field == "backoff":
                if not _same_backoff(dict(mine), value):
                    return None
            elif field == "body_bytes":
                if len(self.body) != value:
                    return None
            elif field == "delay_s":  # as gmq tells it
                if not ceil(self.delay_ms.first / 1000) <= value <= ceil(self.delay_ms.last / 1000):
                    return None
            elif field == "ttr_s":
                if ceil(self.ttr_ms / 1000) != value:
                    return None
            elif mine != value:
                return None
        return replace(self, **changes)

    def comes_before(self, other):
        """Both are ready: is this one surely served first?"""
        if self.priority != other.priority:
            return self.priority < other.priority
        if self.since.last <= other.since.first:
            return True
        if self.kicked and other.kicked and self.kicked[0] == other.kicked[0]:
            return self.kicked[1].last <= other.kicked[1].first
        # Those that become due stand in the order of their due times.
        return bool(self.queued and other.queued and self.due.last < other.due.first
                    and self.queued.last <= other.due.first)

    def is_listed_before(self, other):
        """Both are in the same place: is this one surely nearer to its front?"""
        if self.state == READY:
            return self.comes_before(other)
        mine, theirs = ((life.since if self.state == DEAD else life.deadline or life.due)
                        for life in (self, other))
        return mine.last < floor(theirs.first)

    def __str__(self):
        told = {"since": self.since, "due": self.due, "expires": self.expires,
                "tries": self.tries, "lease": self.lease, "deadline": self.deadline,
                "confirmed": self.confirmed or None, "death": self.death,
                "ttr": self.ttr_ms, "priority": self.priority, "max_tries": self.max_tries,
                "handed": [each.waiter for each in self.handed] or None}
        words = [f"{name}={_text(value)}" for name, value in told.items() if value is not None]
        return f"{self.state}({', '.join(words)})"


GONE_LIFE = Life(GONE)


def _same_backoff(mine, told):
    defaults = {"cap_ms": 0, "jitter_percent": 0}
    if mine["kind"] == "none":
        return told == mine
    return {**defaults, **mine} == {**defaults, **told}


def _text(value):
    if isinstance(value, Span):
        return f"{value.first:.2f}..{value.last:.2f}" if value.last != value.first else value.last
    return value


