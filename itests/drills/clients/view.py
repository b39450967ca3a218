"""What a client sees that knows one address, and nothing of nodes: view_client.py runs on its host
and writes it down; here is what a round makes of it.

A fault is over for new clients with the first answer of the new leader, to a connection made anew:
a frozen leader of before still completes handshakes, so only answers count. What breaks on the way
is told by its kind:

    refused      a port where nobody listens, or unreachable
    lost         connected, but only when the kernel had tried again: a frame went to nobody
    reset        in the middle of it, by the host that had taken it
    crossed      the same by another host, or closed by the host that the address has just left: it
                 was on its way from the one to the other, and the request as well
    closed       in order, but a request was on its way, or waited, and has no answer
    silent       nothing came, for as long as the client waited, or until the round was over
    in order     closed when nothing was asked, or after an answer

How slow a machine is makes none of these: a connection counts as lost when the kernel had to send
again, not when it took long.
"""

import math
import signal
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from drills.hosts import safety
from harness.process import Process, kill_now
from harness.wait import wait_until
from judge.journal import EVENTS, HandOver, Push, Tail, now_ms

PROGRAM = Path(__file__).parent / "view_client.py"
TOPIC = "view"
ANSWERED, IN_ORDER, LOST, SILENT, CROSSED = "answered", "in order", "lost", "silent", "crossed"
CALLING, WAITING = "calling", "waiting"
LATE = "late"
DEAF, VANISHING = "deaf", "vanishing"  # nobody asks them what they were told
CLOSED, RESET = "closed", "reset"
RESENT_MS = 900  # a kernel repeats a SYN after a second, and counts other things as well
GRAIN_MS = 1     # nodes write whole milliseconds
PATIENCE_S = 60
CALLERS, PROBING = 3, 2  # of each address at least; who waits and does not ask may be away long


@dataclass(frozen=True)
class Visit:
    """A new connection. Without an answer `how` is the kind, of that only; "503" is its status.
    Numbers are without gaps, in order of their beginnings."""

    number: int
    address: str
    begun_ms: float
    connected_ms: float
    ended_ms: float
    how: str
    node: str = None
    role: str = None
    resent: int = 0

    def kind(self, left_ms=()):
        """ANSWERED, or what went wrong. `left_ms`: when the address has left a host."""
        if self.how == ANSWERED and was_lost(self):
            return LOST
        if self.how == CLOSED and any(self.begun_ms - GRAIN_MS <= each <= self.ended_ms + GRAIN_MS
                                      for each in left_ms):
            return CROSSED
        return "refused" if self.how == "unreachable" else self.how


def was_lost(connection):
    """Did it have to be begun a second time?"""
    return bool(connection.resent) and connection.connected_ms - connection.begun_ms > RESENT_MS


@dataclass(frozen=True)
class Tie:
    """A connection that stays, with a node that has answered: CALLING, WAITING and others. `client`
    is whose: one after the other."""

    number: int
    kind: str
    address: str
    node: str
    begun_ms: float
    answered_ms: float
    probes: bool = False
    client: int = 0
    resent: int = 0
    connected_ms: float = 0


@dataclass(frozen=True)
class Untied:
    """Its end. `answered_ms`: when the last answer came."""

    number: int
    ended_ms: float
    how: str
    answered_ms: float


JOURNALED = ("push", "hand_over", "ack", "denied")
KINDS = {"visit": Visit, "tie": Tie, "untied": Untied,
         **{name: EVENTS[name] for name in JOURNALED}}


@dataclass
class Sight:
    """Of one fault. `first_ms`: the first answer of the new leader over a new connection, for the
    address where that was last; None: there was none. `gap_ms`: the longest time without an
    answer to any new connection. `job_ms`: the first job of the new leader that was due after the
    fault. `back_ms`: the longest that a client with an open connection took to be answered over
    another one; of those that were told of the end. `failed`: new connections, by their kinds, of
    those that came back too; `failed_ms`: when those that need not have failed were begun; `broken`
    and `popped`: of the connections with the leader before, how those of waiters (`popped`) and of
    others ended; `lost`: (address, when it was begun) of each of that kind."""

    first_ms: float = None
    gap_ms: float = None
    failed: Counter = field(default_factory=Counter)
    broken: Counter = field(default_factory=Counter)
    popped: Counter = field(default_factory=Counter)
    failed_ms: list = field(default_factory=list)
    lost: list = field(default_factory=list)
    job_ms: float = None
    back_ms: float = None

    @property
    def failures(self):
        """New connections that need not have failed."""
        return self.failed.total() - self.failed[CROSSED]

    @property
    def untold(self):
        """Open connections that were never told of their end."""
        return self.broken[SILENT] + self.popped[SILENT]

    @property
    def told(self):
        """In words."""
        times = [f"{name} {value:.1f} ms" for name, value in (
            ("first job", self.job_ms), ("all back", self.back_ms)) if value is not None]
        parts = [*times, *self._counted()]
        return "; ".join(parts)

    def _counted(self):
        return [f"{name}: {', '.join(f'{count} {kind}' for kind, count in each.items())}"
                 for name, each in (("failed", self.failed), ("open", self.broken),
                                    ("waiting", self.popped)) if each]


class View:
    """Of the cluster at `addresses`, as seen from `host`, which runs programs by `command()`."""

    def __init__(self, directory, host, addresses, port):
        self.addresses, self._path = list(addresses), Path(directory) / "view"
        self._argv = host.command([sys.executable, PROGRAM, self._path, port, safety.manner().json,
                                   *addresses])
        self._log, self._process = Path(directory) / "view.log", None
        self._tail = Tail(self._path, KINDS)

    def start(self):
        self._process = Process(self._argv, self._log)

    def stop_pushing(self):
        self._process.signal(signal.SIGUSR1)

    def close(self):
        """Fails where it has not lived until now."""
        if self._process:
            code, self._process = self._process.terminate(), None
            assert code == 0, f"the client of the address ended with {code}:\n{self.log()}"

    def destroy(self):
        """Whatever it thinks of it."""
        if self._process:
            kill_now([self._process.pid])
            self._process.wait()
            self._process = None

    def log(self):
        return self._log.read_text(encoding="utf-8", errors="replace")

    # ---- what it saw ----

    def events(self, *kinds):
        """So far, in the order of their ends."""
        return [event for event in self._tail.events() if isinstance(event, kinds)]

    def jobs(self):
        """What it pushed, had and acknowledged, and was denied, for the journal."""
        return self.events(*(EVENTS[name] for name in JOURNALED))

    def visits(self, since_ms):
        """All that ended since, oldest first."""
        found = []
        for event in reversed(self._tail.events()):
            if isinstance(event, Visit):
                if event.ended_ms < since_ms:
                    break
                found.append(event)
        return found[::-1]

    def ties(self):
        """[(tie, its end or None)]"""
        ends = {each.number: each for each in self.events(Untied)}
        return [(tie, ends.get(tie.number)) for tie in self.events(Tie)]

    def wait_known(self, since_ms, until_ms):
        """Until all that began in that time have ended, well or not: whoever waits for a leader
        that is frozen does so for three seconds."""
        def known():
            numbers = [(each.number, each.begun_ms) for each in self.visits(since_ms)]
            if max((begun for _, begun in numbers), default=0) <= until_ms:
                return False
            first = min(number for number, begun in numbers if begun >= since_ms)
            last = max(number for number, begun in numbers if begun <= until_ms)
            return len({number for number, _ in numbers if first <= number <= last}) == (
                last - first + 1)

        wait_until(known, "what new connections met", PATIENCE_S, interval_s=0.02)

    def answers_of(self, node, since_ms):
        """{address: when that node first answered a connection that was begun since}; of a
        connection that was lost at first too: it is an answer."""
        found = {}
        for visit in self.visits(since_ms):
            if (visit.how, visit.node) == (ANSWERED, node) and visit.begun_ms >= since_ms:
                found.setdefault(visit.address, visit.ended_ms)
        return found

    def wait_seen(self, node, since_ms):
        """Until that node has answered at each address: when. Fails when it does not."""
        def seen():
            assert self._process.returncode is None, self.log()
            found = self.answers_of(node, since_ms)
            return found if len(found) == len(self.addresses) else None

        return wait_until(seen, f"{node} answers at {' and '.join(self.addresses)}", PATIENCE_S)

    def ties_with(self, node):
        """Those that are open."""
        return [tie for tie, end in self.ties() if end is None and tie.node == node]

    def wait_settled(self, node):
        """Until clients of all kinds are with that node: callers, and waiters that probe."""
        self.wait_seen(node, now_ms())

        def settled():
            here = Counter((tie.address, tie.kind) for tie in self.ties_with(node))
            return all(here[address, CALLING] >= CALLERS and here[address, WAITING] >= PROBING
                       for address in self.addresses)

        wait_until(settled, f"open connections are with {node}", PATIENCE_S, interval_s=0.02)

    def strangers_of(self, node, since_ms):
        """{who else answered connections that were begun since: when each of those was}.
        `since_ms`: {address: when}; others are not looked at."""
        found = {}
        for visit in self.visits(min(since_ms.values(), default=0)):
            if (visit.how == ANSWERED and visit.node != node
                    and visit.begun_ms > since_ms.get(visit.address, math.inf)):
                found.setdefault(visit.node, []).append(visit.begun_ms)
        return found

    def sight(self, before, after, since_ms, until_ms, from_ms=None, left_ms=()):
        """Of a fault in that time, and of the leaders before and after it. `from_ms`: the first
        answer is counted from then, to who came since; None: from the fault on. `left_ms`: when
        the address has left a host."""
        found = Sight()
        from_ms = since_ms if from_ms is None else from_ms
        firsts = self.answers_of(after, from_ms)
        if len(firsts) == len(self.addresses):
            found.first_ms = max(firsts.values()) - from_ms
        visits = [each for each in self.visits(since_ms) if since_ms <= each.begun_ms <= until_ms]
        kinds = Counter(each.kind(left_ms) for each in visits)
        found.failed.update({kind: n for kind, n in kinds.items() if kind != ANSWERED})
        found.failed_ms += [each.begun_ms for each in visits
                            if each.kind(left_ms) not in (ANSWERED, CROSSED)]
        found.gap_ms = max((longest_gap([each.ended_ms for each in visits if each.how == ANSWERED
                                         and each.address == address], since_ms, until_ms)
                            for address in self.addresses), default=None)
        ties = [(tie, end) for tie, end in self.ties() if tie.kind not in (DEAF, VANISHING)
                and (end is None or end.ended_ms >= since_ms)]
        for tie, end in ties:
            if tie.node == before and tie.begun_ms < since_ms:
                how = end.how if end and end.ended_ms <= until_ms else None
                if how is None and before != after:
                    how = SILENT
                if how:
                    (found.popped if tie.kind == WAITING else found.broken)[how] += 1
        again = [tie for tie, _ in ties if since_ms <= tie.begun_ms <= until_ms]
        lost = [tie for tie in again if was_lost(tie)]
        found.failed.update(LOST for _ in lost)
        found.failed_ms += [tie.begun_ms for tie in lost]
        lost += [each for each in visits if each.kind(left_ms) == LOST]
        found.lost = [(each.address, each.begun_ms) for each in lost]
        firsts = {}
        for tie in (tie for tie in again if tie.kind != LATE):
            firsts.setdefault(tie.client, tie.answered_ms - since_ms)
        found.back_ms = max(firsts.values(), default=None)
        found.job_ms = self._first_job_ms(after, since_ms)
        return found

    def _first_job_ms(self, node, since_ms):
        """By the clock of who pushed it, a little late."""
        due = {push.id for push in self.events(Push) if push.sent_ms + push.delay_ms > since_ms}
        return min((each.received_ms - since_ms for each in self.events(HandOver)
                    if each.id in due and each.node == node), default=None)


def longest_gap(times, from_ms, to_ms):
    ordered = sorted(each for each in times if from_ms <= each <= to_ms)
    points = [from_ms, *ordered, to_ms]
    return max(b - a for a, b in zip(points, points[1:]))
