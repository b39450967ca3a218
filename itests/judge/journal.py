"""The journals: what producers, consumers, nodes and the driver wrote down, for the judge.

A journal is a file of JSON lines, an object each: {"event": "push", ...}. The clients and the
driver write one together, each node writes its own, `ha.journal` in its data directory:

    {"event":"role","node":"n1","role":"leader","token":"<its token>","boot_ms":..,"reason":".."}
    {"event":"lease","node":"n1","token":"..","from_ms":..,"until_ms":..}
    {"event":"fenced","node":"n1","token":"<its own>","seen":"<the one Redis has>","boot_ms":..}
    {"event":"vip","node":"n1","state":"held","boot_ms":..}

Roles are offline, standby, leader, draining. `lease` is written whenever the lease is gained or
gets longer: from from_ms, now, until until_ms the node may act with this token. It may act no
more from the moment on that it has another role; for a worker that died its warden writes
`offline`, after waitpid and before it closes the session. A token is "<ensemble>:<epoch>", the
epoch fixed-width hex. What a node writes must be in the kernel (one write(2) a line) before it
acts on it, so that kill -9 loses none.

All times ending in `_ms` are milliseconds of CLOCK_BOOTTIME, which all hosts of a drill share,
with fractions where there are; `redis_ms` and `due_ms` are Redis's clock.
"""

import json
import math
import threading
import time
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path

from judge.redis_events import Delivered, Entry, Lock, LockedMove, Move, TakenBack, Unlock

OK, DUPLICATE, REFUSED, UNKNOWN = "ok", "duplicate", "refused", "unknown"
LEADER = "leader"
DIED, LEASE_OVER = "died", "lease_over"  # reasons of roles; the first is told by the warden
BY_A_STALL = ("expired", "deposed")      # ZooKeeper has ended the session of a node that slept
HELD, LEAVING, AWAY = "held", "leaving", "away"


def now_ms():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) / 1e6


# ---- clients ----

@dataclass(frozen=True)
class Push:
    """`due_ms` is None where no answer told it; `body` is "" where nobody compares."""

    id: str
    topic: str
    ttr_ms: int
    delay_ms: int
    sent_ms: float
    ended_ms: float
    outcome: str
    due_ms: float = None
    body: str = ""


@dataclass(frozen=True)
class HandOver:
    """`redis_ms`: Redis's time when the consumer had it; None when Redis did not say."""

    id: str
    topic: str
    lease: str
    attempt: int
    due_ms: float
    asked_ms: float
    received_ms: float
    redis_ms: float
    node: str
    delay_ms: int = 0
    body: str = ""

    @property
    def began_ms(self):
        """The earliest time at which its lease can have begun: it was asked for, and due."""
        if self.redis_ms is None:
            return self.asked_ms
        due_ms = self.received_ms - (self.redis_ms - self.due_ms)
        return max(self.asked_ms, min(due_ms, self.received_ms))


@dataclass(frozen=True)
class Unanswered:
    """A pop of at most `count` jobs that was sent to a node and had no answer: the connection
    ended, or the consumer gave up at `ended_ms`. `is_proxied`: a proxy stands between, whose kernel
    acknowledges what the consumer may never get."""

    node: str
    asked_ms: float
    ended_ms: float
    count: int
    is_proxied: bool = False


@dataclass(frozen=True)
class Empty:
    """A pop that was answered: there was no job."""

    node: str
    asked_ms: float
    ended_ms: float


@dataclass(frozen=True)
class Ack:
    id: str
    sent_ms: float
    ended_ms: float
    outcome: str


@dataclass(frozen=True)
class Cancel(Ack):
    """By its producer."""


@dataclass(frozen=True)
class Release(Ack):
    """By its consumer: it may be handed over again."""


DENIALS = ("unauthorized", "forbidden", "too_many_attempts")


@dataclass(frozen=True)
class Denied:
    """A request that was refused for want of an identity or of a right, with one of DENIALS, by a node,
    or at an address. All clients have every right."""

    node: str
    ended_ms: float
    code: str


@dataclass(frozen=True)
class Rest:
    """A job that is in the store at the end, for a reason: dead."""

    id: str
    why: str


# ---- nodes ----

@dataclass(frozen=True)
class Role:
    node: str
    role: str
    boot_ms: float
    token: str = ""
    reason: str = ""


@dataclass(frozen=True)
class Lease:
    node: str
    token: str
    from_ms: float
    until_ms: float


@dataclass(frozen=True)
class Stall:
    """Its loop, or its warden, stood still for so long until `boot_ms`: its log says so, from half
    a second on. `is_last`: the worker gave no sign of life for so long, and the warden ended it.
    `is_loop`: the worker's loop says so itself."""

    node: str
    boot_ms: float
    ms: float
    is_last: bool = False
    is_loop: bool = False


@dataclass(frozen=True)
class Fenced:
    node: str
    token: str
    seen: str
    boot_ms: float


# ---- the virtual address ----

@dataclass(frozen=True)
class Vip:
    """By the node's own account: HELD, LEAVING (handed over, and still there), AWAY."""

    node: str
    state: str
    boot_ms: float


@dataclass(frozen=True)
class Put:
    """The address has come to that node's host, where it was not."""

    node: str
    address: str
    boot_ms: float


@dataclass(frozen=True)
class Gone:
    """It has left it; it had been put there, or renewed, so long before."""

    node: str
    address: str
    boot_ms: float
    age_ms: float = 0


# ---- the driver ----

@dataclass(frozen=True)
class Fault:
    """From the moment before it was made until all was well again. `served_ms`: from when on
    due jobs were moved in time again, None for `end_ms`. `changes`: how many changes of the
    leader it may cause. `dead`: names of nodes whose worker it killed at `start_ms`.
    `struck_ms`: when it had been made, None for `start_ms`. `nodes`: those that it kept from
    Redis or from clients, by all names that clients have for them; None: any may be. `deposes`:
    names of those whose lead it may end; None: anybody's. `outage_ms`: from when on jobs may wait for
    it, where that is later than `start_ms`, which its preparation began; None: not."""

    what: str
    start_ms: float
    end_ms: float
    served_ms: float = None
    changes: int = 1
    dead: tuple = ()
    struck_ms: float = None
    nodes: tuple = None
    deposes: tuple = None
    outage_ms: float = None

    @property
    def outage_start_ms(self):
        return self.start_ms if self.outage_ms is None else self.outage_ms

    def hits(self, node):
        return self.nodes is None or node in self.nodes

    @property
    def made_ms(self):
        return self.start_ms if self.struck_ms is None else self.struck_ms

    @property
    def outage_end_ms(self):
        return self.end_ms if self.served_ms is None else self.served_ms


@dataclass(frozen=True)
class Older:
    """Redis ended, or gave way to another, at `at_ms`, and what came after it may have forgotten
    what was acknowledged since `since_ms`. `noticed`: how many nodes said so; `lost`: how many
    acknowledged pushes were gone by what all of them counted. None: nobody was asked.
    `split_ms`: from when on both were at work until then, some nodes at one, some at the other.
    `keeps_answers`: pushes, acks and cancels were answered when a replica had them, so that only
    leases and releases may be forgotten. `keeps_nothing`: it came back empty. `buckets`: those
    that it had, where it was one of several masters; None: all."""

    since_ms: float
    at_ms: float
    noticed: int = None
    lost: int = None
    split_ms: float = math.inf
    keeps_answers: bool = False
    keeps_nothing: bool = False
    buckets: tuple = None


@dataclass(frozen=True)
class Clock:
    """Redis's clock is so far ahead of the true time, from the moment before it was set on."""

    at_ms: float
    ahead_ms: float


READ_LATE_MS = 1000  # of a clock that was set, beside what a journal says of the time


def gained(clocks, from_ms, until_ms):
    """By how much Redis's clock can seem to have gained, or lost, in that time; 0 where it was not
    set."""
    def ahead(at_ms):
        before = [each for each in clocks if each.at_ms <= at_ms]
        return max(before, key=lambda each: each.at_ms).ahead_ms if before else 0

    first_ms, last_ms = from_ms - READ_LATE_MS, until_ms + READ_LATE_MS
    values = [ahead(first_ms), *(each.ahead_ms for each in clocks
                                 if first_ms <= each.at_ms <= last_ms)]
    return max(values) - min(values)


OUT_OF_ORDER_MS = 1000  # threads write down at once what ended; one may be held up that long
EVENTS = {"push": Push, "hand_over": HandOver, "ack": Ack, "cancel": Cancel, "release": Release,
          "unanswered": Unanswered, "empty": Empty, "delivered": Delivered, "clock": Clock,
          "taken_back": TakenBack, "entry": Entry, "denied": Denied,
          "rest": Rest, "role": Role, "lease": Lease, "stall": Stall,
          "fenced": Fenced, "move": Move,
          "fault": Fault, "older": Older, "put": Put, "gone": Gone, "vip": Vip, "lock": Lock,
          "unlock": Unlock, "locked_move": LockedMove}
_NAMES = {kind: name for name, kind in EVENTS.items()}


@dataclass
class Journal:
    """Appended to by many threads at once; written to `path` as well where there is one."""

    path: Path = None
    events: dict = field(default_factory=lambda: {kind: [] for kind in _NAMES})

    def __post_init__(self):
        self._lock = threading.Lock()
        # pylint: disable=consider-using-with
        self._file = open(self.path, "a", encoding="utf-8") if self.path else None

    def add(self, *events):
        for event in events:
            self.events[type(event)].append(event)
            if self._file:
                line = json.dumps({"event": _NAMES[type(event)], **asdict(event)})
                with self._lock:
                    self._file.write(line + "\n")

    def of(self, kind):
        return self.events[kind]

    def recent(self, kind, since_ms):
        """The clients' events that ended since, newest first; old ones are not looked at."""
        when = "received_ms" if kind is HandOver else "ended_ms"
        for event in reversed(self.events[kind]):
            if getattr(event, when) >= since_ms:
                yield event
            elif getattr(event, when) < since_ms - OUT_OF_ORDER_MS:
                return

    def close(self):
        if self._file:
            self._file.close()

    def summary(self):
        acknowledged = sum(push.outcome == OK for push in self.of(Push))
        unknown = sum(each.outcome == UNKNOWN for each in [*self.of(Push), *self.of(Ack)])
        return (f"{acknowledged} pushes acknowledged, {len(self.of(HandOver))} hand-overs, "
                f"{len(self.of(Ack))} acks, {unknown} answers unknown, "
                f"{len(self.of(Fault))} faults")


class Tail:
    """A file that a node goes on writing: what it says so far, each line read once. Events of
    kinds, and members, unknown here are passed over; a last line that is not whole yet, too."""

    def __init__(self, path, kinds=EVENTS):
        self._path, self._offset, self._events, self._kinds = Path(path), 0, [], kinds

    def events(self):
        """A list to look at."""
        try:
            with open(self._path, "rb") as file:
                file.seek(self._offset)
                text = file.read()
        except FileNotFoundError:
            return self._events
        text = text[:text.rfind(b"\n") + 1]
        self._offset += len(text)
        self._events += [event for event in (_event_of(line, self._kinds)
                                     for line in text.splitlines()) if event]
        return self._events


def read_events(path):
    """The events of a file, in its order; none of one that is not there."""
    return Tail(path).events()


def _event_of(line, kinds):
    members = json.loads(line)
    kind = kinds.get(members.pop("event"))
    if kind is None:
        return None
    known = {each.name for each in fields(kind)}
    values = {name: value for name, value in members.items() if name in known}
    return kind(**{name: tuple(value) if isinstance(value, list) else value
                   for name, value in values.items()})
