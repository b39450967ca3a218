"""An orderly change of the leader fails no new connection: make before break. Two things are
excused, and counted, so that they stay few:

    late       The machine was too busy, for five seconds at most, and in few rounds. Either the
               leader before waited its second, and its successor did not lead yet. Or a leader's
               lease ran out; or it slept, by its log, until its session had ended, or until its
               warden ended it while another process of this machine stood still, too. Only
               connections are excused that were begun about then. A successor that leads, and puts
               the address only when the leader before has gone, is no excuse.
    crossed    A connection that the address crossed on its way (view.py).

How long that is, and how often, is a matter of times. CI, where nothing fails by the clock, judges
whether a node has written down such a thing at all.
"""

import math

from drills.clients.view import CROSSED
from drills.hosts import safety
from judge.journal import AWAY, LEADER, LEASE_OVER, LEAVING, Role, Vip
from judge.leaders import JUST_BEFORE_MS, is_cause

LEAVING_MAX_MS = 1000  # ha/vip/vip.h
HEARD_MS = 100         # from when the successor leads until the leader before hears of its address
LATE_MAX_MS = 5000     # nobody is late for longer: T, ticks, and a busy machine
SHORT_REIGN_MS = 2500  # of a leader that has proven its lease once or twice: T and a little
FEW_LATE, ONE_LATE_IN = 2, 20
# A connection is begun every 10 ms to each of two addresses, and is open for 1 to 8 ms while the lead
# changes: 24 to 29 of them crossed in a hundred rounds. Nothing keeps those open: they are the old
# host's, and the address is the new one's. So a round has 0.3 of them by chance.
FEW_CROSSED, ONE_CROSSED_IN = 3, 2
MOST_CROSSED = 6       # in one round: more are no matter of chance
# Over TLS a new connection has its handshake first: one that is begun every 20 ms is open for 5 to 50
# ms on a busy machine, and four to six crossed in each of four rounds.
TIMES_IN_TLS, MOST_TIMES_IN_TLS = 10, 3
AROUND_MS = 500        # a connection is begun before its request fails, and the address is put, so
                       # much earlier and later
WAITED_MS = 3000       # of a client, at most, for an answer


def few_of(rounds):
    """In so many of them the machine may be the reason."""
    return FEW_LATE + rounds // ONE_LATE_IN


class InOrder:
    """Over the rounds of a row."""

    def __init__(self):
        self.rounds = self.late = self.crossed = 0
        self.is_tls = False
        self._slow = []  # of this round

    def check(self, drill):
        """What is wrong with this round."""
        if not drill.sight:
            return
        self.crossed += drill.sight.failed[CROSSED]
        self.is_tls = bool(safety.manner().ca)
        if drill.sight.failed[CROSSED] > MOST_CROSSED * (MOST_TIMES_IN_TLS if self.is_tls else 1):
            self._slow.append(f"{drill.sight.failed[CROSSED]} connections crossed the address in one "
                              "round")
        events = [each for each in drill.cluster.events() if isinstance(each, (Role, Vip))
                  and each.boot_ms >= drill.since_ms]
        yield from self.judge(drill.sight, events, drill.leader.name, drill.cluster.stalls())

    def judge(self, sight, events, before, stalls):
        """The same of what nodes wrote in a part of it. `before`: who led at first."""
        self.rounds += 1
        if not sight.failures:
            return
        why = _why_late(events, before, stalls)
        if sight.failures != len(sight.failed_ms) or not all(
                any(begin - WAITED_MS <= at_ms for begin, _ in why) for at_ms in sight.failed_ms):
            yield f"new connections failed: {sight.told}"
            return
        self.late += 1
        spans = late_spans(events, before, stalls)
        if not all(any(begin <= at_ms <= end for begin, end in spans) for at_ms in sight.failed_ms):
            self._slow.append(f"new connections failed when that was over: {sight.told}")

    def check_times(self):
        """What took too long in this round."""
        slow, self._slow = self._slow, []
        return slow

    def check_often(self):
        """What was excused too often."""
        if self.late > min(few_of(self.rounds), max(1, self.rounds - 1)):
            yield f"the new leader was late in {self.late} of {self.rounds} rounds"
        few = FEW_CROSSED + self.rounds // ONE_CROSSED_IN
        if self.crossed > few * (TIMES_IN_TLS if self.is_tls else 1):
            yield f"{self.crossed} connections crossed the address in {self.rounds} rounds"

    @property
    def note(self):
        return (f"rounds in which the new leader was late, or a leader lost its lease, and "
                f"connections failed: {self.late}" if self.late else "")


def is_late(events, before):
    """Was it, by what nodes wrote of one change? `before`: who led."""
    return bool(late_spans(events, before))


def late_spans(events, before, stalls=()):
    """When new connections may fail for it."""
    return [*without_a_lease(events, before, stalls),
            *map(_around, _without_a_successor(events, before, HEARD_MS))]


def without_a_lease(events, before, stalls=()):
    """The same, where a leader's lease had run out. `before`: who led at first."""
    return [_around(span) for span in _joined(_times_without_a_lease(events, before, stalls))]


def _around(span):
    begin_ms, until_ms = span
    return begin_ms - AROUND_MS, min(until_ms, begin_ms + LATE_MAX_MS) + AROUND_MS


def tokens_after(events, before, stalls=()):
    """Those of the leaders that followed one whose lease had run out."""
    ends_ms = {until_ms for _, until_ms in _times_without_a_lease(events, before, stalls)}
    return {each.token for each in events if isinstance(each, Role) and each.role == LEADER
            and each.boot_ms in ends_ms}


def _why_late(events, before, stalls):
    return [*_times_without_a_lease(events, before, stalls),
            *_without_a_successor(events, before, math.inf)]


def _times_without_a_lease(events, before, stalls=()):
    """(from, until) of each time in which it had run out: by what nodes wrote, and by how long their
    logs say that they slept."""
    roles = sorted((each for each in events if isinstance(each, Role)), key=lambda role: role.boot_ms)
    leading, found = {before}, []
    for each in roles:
        unled_ms = _unled_since(each, stalls) if each.node in leading else None
        if unled_ms is not None:
            found.append((unled_ms, min((other.boot_ms for other in roles if other.role == LEADER
                                         and other.boot_ms >= unled_ms), default=math.inf)))
        (leading.add if each.role == LEADER else leading.discard)(each.node)
    return found


def _unled_since(role, stalls):
    """None: not for want of a lease."""
    slept = [stall.boot_ms - stall.ms for stall in stalls
             if is_cause(stall, role.node, role.reason, stalls)
             and stall.boot_ms - stall.ms <= role.boot_ms <= stall.boot_ms + JUST_BEFORE_MS]
    if role.reason == LEASE_OVER:
        return min([role.boot_ms, *slept])
    return min(slept, default=None)


def _joined(spans):
    """A leader whose lease runs out again so soon was not back yet for all: a proxy in front, say,
    sends it nobody before it has answered its health checks again."""
    joined = []
    for begin_ms, until_ms in spans:
        if (joined and begin_ms - joined[-1][1] <= SHORT_REIGN_MS
                and until_ms - joined[-1][0] <= LATE_MAX_MS):
            joined[-1] = joined[-1][0], until_ms
        else:
            joined.append((begin_ms, until_ms))
    return joined


def _without_a_successor(events, before, heard_ms):
    """The same of a change in order, in which the leader `before` had waited its second, and no other
    led yet, or it had not heard of that yet: it takes `heard_ms` at most."""
    def first(state, is_before):
        return min((each.boot_ms for each in events if (each.node == before) == is_before
                    and state == (each.state if isinstance(each, Vip) else each.role)),
                   default=None)

    leaving, away, led = first(LEAVING, True), first(AWAY, True), first(LEADER, False)
    if (None not in (leaving, away, led) and away - leaving >= LEAVING_MAX_MS
            and led > away - heard_ms):
        yield away, led
