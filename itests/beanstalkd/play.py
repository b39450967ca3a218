"""Plays a sequence to both servers, step by step, and compares what their clients are told.

beanstalkd goes first. It has one thread, so it is known when it has answered all it will answer by
now. Of the other server that is not known, nor need it be: it is given the time to answer as much.
What it says too much shows with the next step, or in the end. So nothing here waits for a time, but for
the windows of sequences that want time to pass.

Windows: steps are sent at the beginning of three windows. Everything takes whole seconds (a delay,
a time to run, a pause), so what a window's steps begin ends whole seconds after that window, and the
windows begin where no such end is near. A machine that is too slow for that makes a sequence void.

Between the steps of one without windows there may be a pause: the other server keeps times in ms, and what is due
or buried within the same one has no order by time.
"""

import itertools
import time
from typing import NamedTuple, Optional

from beanstalkd.differ import numbers_of
from beanstalkd.draw import GOOD_ODD_TUBES, KEEPER, MAY_WAIT, TUBES
from beanstalkd.side import PATIENCE_S
from beanstalkd.steps import CLOSE, DRAIN, NOBODYS_ID, SHUT, Step
from harness.wait import wait_until

WINDOWS_S = (0, 4 / 3, 8 / 3)
STEP_S = 0.02      # apart: what they begin ends apart, too
SLOW_S = 0.1       # later than this a step may have met what an earlier one's time did
SHOWN_BYTES = 300
JOB_COUNTS = tuple(f"current-jobs-{state}" for state in ("ready", "reserved", "delayed", "buried"))
APART_S = 0.002    # more than a ms
BRIEF_S = 0.7      # so long lasts a sequence in which no time is to pass, at most


class Result(NamedTuple):
    failure: Optional[str]  # where they differ, for people
    is_void: bool = False   # the machine was too slow for the sequence's times


def play(steps, sides, differ, is_timed=False, apart_s=0):
    """Result. `sides`: beanstalkd, and who is to be like it. `apart_s`: between two steps."""
    try:
        _begin(sides, is_timed)
        talk = _Talk(steps, sides, differ, apart_s)
        begin = time.monotonic()
        is_late = talk.go(begin, is_timed)
        result = Result(talk.failure, is_late or (
            not is_timed and time.monotonic() - begin > BRIEF_S and talk.failure is None))
    finally:
        for side in sides:
            for conn, link in list(side.links.items()):
                if link.socket.fileno() >= 0:
                    side._forget(conn, link)
    _clean(steps, sides)
    return result


class _Talk:
    def __init__(self, steps, sides, differ, apart_s):
        self.steps, self.sides, self.differ, self.apart_s = steps, sides, differ, apart_s
        self.failure = None
        self._compared = {}  # {connection: replies found equal}

    def go(self, begin, is_timed):
        """Was a step later than its time allows?"""
        is_late, window, number = False, 0, 0
        for at, step in enumerate(itertools.chain(self.steps, self._ends())):
            if is_timed:
                number = 0 if step.window != window else number + 1
                window = step.window
                since = time.monotonic() - begin - WINDOWS_S[window] - number * STEP_S
                if since < 0:
                    time.sleep(-since)
                is_late = is_late or since > SLOW_S
                for side in self.sides:  # beanstalkd looks for what is over after a command, not before
                    side.barrier()
            elif self.apart_s:
                time.sleep(self.apart_s)
            self._step(at, step)
            if self.failure:
                break
        return is_late

    def _ends(self):
        """Each connection says good-bye, and is read to its end. Who waits goes first."""
        window = self.steps[-1].window if self.steps else 0
        conns = dict.fromkeys(step.conn for step in self.steps if step.what != DRAIN)
        for conn in sorted(conns, key=lambda conn: not self._may_wait(conn)):
            yield Step(conn, SHUT, -1, window)

    def _may_wait(self, conn):
        return MAY_WAIT.search(b"".join(step.what for step in self.steps if step.conn == conn
                                        and isinstance(step.what, bytes)))

    def _step(self, at, step):
        theirs, ours = self.sides
        if step.what == DRAIN:
            theirs.drain()
            ours.drain()
            return
        if step.what in (CLOSE, SHUT) and theirs.link(step.conn).holds_up:
            if at < len(self.steps):
                return
            step = step._replace(what=CLOSE)
        given = theirs.given()
        theirs.do(step, given)
        theirs.settle(len(step.what))
        ours.do(step, given)
        if not ours.follow(theirs.told):
            self._fail(at, step, "no answer")
            return
        self._compare(at, step)
        if (step.what in (CLOSE, SHUT) or b"quit" in step.what) and not self.failure:
            _wait_released(self.sides, step)

    def _compare(self, at, step):
        theirs, ours = self.sides
        for conn, replies in theirs.told.items():
            first = self._compared.get(conn, 0)
            other = ours.told[conn]
            if len(other) > len(replies):
                self._fail(at, step, f"{conn} was told more")
                return
            for number in range(first, len(replies)):
                if not self.differ.are_same(replies[number], other[number], self.sides):
                    self._fail(at, step, f"{conn} was told something else")
                    return
            self._compared[conn] = len(replies)

    def _fail(self, at, step, why):
        lines = [f"{why} after step {at}: {str(step)[:SHOWN_BYTES]}"]
        for conn in self.sides[0].told:
            since = max(0, self._compared.get(conn, 0))
            mine, other = (side.told.get(conn, [])[since:] for side in self.sides)
            if mine or other:
                lines += [f"  {conn} beanstalkd: {_shown(mine)}", f"  {conn} the other:  {_shown(other)}"]
        if self.differ.rows:
            lines.append(f"  rows: {self.differ.rows}")
        self.failure = "\n".join(lines)


def _shown(replies):
    return " ".join(repr(reply)[1:SHOWN_BYTES] for reply in replies)


def _begin(sides, is_timed):
    for side in sides:
        side.reset()
        side.baseline, side.baseline_of_tubes = {}, {}
        if not is_timed:
            side.baseline = _alone(side)
            if any(side.baseline[count] for count in JOB_COUNTS):  # of puts whose answer nobody read
                _clean_unknown(side)
                side.baseline = _alone(side)
            side.controls.clear()
            pages = side.ask_all("stats-tube", (b"default", *TUBES))
            side.baseline_of_tubes = dict(zip(("default", *map(bytes.decode, TUBES)),
                                              map(numbers_of, pages)))


def _alone(side):
    """Its statistics, when all others have left."""
    def numbers():
        found = numbers_of(side.ask("stats"))
        return found if found["current-connections"] == 1 else None

    return wait_until(numbers, "all others have left", interval_s=0)


def _state_of(side, name):
    page = side.ask("stats-job", b"%d" % side.ids.get(name, NOBODYS_ID))
    return next((line for line in page.split(b"\n") if line.startswith(b"state: ")), b"none")


def _connections(side):
    return numbers_of(side.ask("stats"))["current-connections"]


def _wait_released(sides, step):
    """A server may see the end of a connection after what another connection sends later: that of one
    which was closed at once. Else the client has read that the server ended it."""
    theirs, ours = sides
    names = set(theirs.given().get(step.conn, ()))
    ours.given()
    has_seen_it = step.what != CLOSE and not any(side.links[step.conn].is_open for side in sides)
    if theirs.baseline and not has_seen_it:  # it has the server for itself
        connections = _connections(theirs)
        wait_until(lambda: _connections(ours) <= connections, "it sees the end of a connection",
                   interval_s=0)
    for name in names:
        state = _state_of(theirs, name)
        deadline = time.monotonic() + PATIENCE_S
        while _state_of(ours, name) != state and time.monotonic() < deadline:
            pass


def _clean(steps, sides):
    """Nothing stays for the next sequence."""
    tubes = (b"default", *TUBES, *GOOD_ODD_TUBES) if any(step.conn == KEEPER for step in steps) else ()
    for side in sides:
        left = [b"%d" % id for id in side.keys]

        def is_clean(side=side):
            nonlocal left
            for name, is_done in (("delete", b"DELETED"), ("stats-job", b"NOT_FOUND")):
                replies = side.ask_all(name, left)
                left = [id for id, reply in zip(left, replies) if not reply.startswith(is_done)]
            return not left

        wait_until(is_clean, "all jobs are deleted", interval_s=0)
        if tubes and side.baseline:  # a pause behind a command that waited comes with the end
            _alone(side)
        for tube in tubes:  # one vanishes, and its pause does not
            side.ask("use", tube)
            side.ask("pause-tube", tube, b"0")
        if tubes:
            side.ask("use", b"default")


def _clean_unknown(side):
    """Jobs of whose ids nobody has heard."""
    for line in side.ask("list-tubes").split(b"\n"):
        if line.startswith(b"- "):
            side.ask("use", line[2:].strip(b'"'))
            for kind in ("peek-ready", "peek-delayed", "peek-buried"):
                while (found := side.ask(kind)).startswith(b"FOUND "):
                    side.ask("delete", found.split()[1])
    side.ask("use", b"default")
