"""Sequences by seed: valid, odd and broken input.

Most commands make sense: what is put is reserved, released, buried and kicked. Some have an odd number
or name, some lines are broken. `is_timed`: time passes between the steps, and what lasts a second or
two comes to its end; such sequences run beside others, so each has tubes of its own and asks nothing
about the whole server.

What is not drawn, because beanstalkd does what nobody wants, or what nobody can rely on:

- It forgets to look at the time of a reserved job when that was touched, and at times when the job was
  given to a connection that had waited, or the machine was busy: the job stays reserved. So no job's time
  ends in a sequence.
- It finds no end of a line that has a CR in it, nor of one of 225 bytes, and takes the next line for a
  part of it. dueq does.
- A tube vanishes when nobody refers to it and it has no job, and its pause with it. dueq's pause is the
  topic's, and stays until its time is over. So where tubes are paused somebody watches all of them.
- Of several connections that wait it serves not the first, but any; dueq the first. So one of them waits,
  at most.
- A connection that waits is served with the very command that makes a job ready, in dueq a moment later;
  where several become ready at once, the best may go first. So where one waits others do not pipeline, nor
  kick several, nor leave.
- What stands behind a command that waits is carried out, or not, when the connection ends.
- dueq keeps moments in ms: jobs that are buried, or given back, in one packet have one. So these commands
  have packets of their own (see play.py).
"""

import random
import re
from collections import Counter

from beanstalkd.steps import CLOSE, DRAIN, SHUT, Step

BODY_BYTES_MAX = 1024  # of both servers
CONNECTIONS, KEEPER = "abcd", "k"
MAY_WAIT = re.compile(rb"reserve\r|reserve-with-timeout\s+[-+]?0*[1-9]")
HAS_MOMENT = re.compile(rb"bury|release", re.IGNORECASE)
TUBES = (b"t", b"u-v/w;x.$_()+9", b"T" * 60, b"0")
ODD_TUBES = (b"-t", b"a b", b"", b"x" * 200, b"x" * 201, b"t\xc3\xa9", b"a=b", b"a\0b", b"*", b"+")
NO_TIME = (b"-0", b"", b"0abc", b"abc", b"\t0", b"  0")
ODD_NUMBERS = (b"-1", b"+1", b"0x10", b"1e3", b"4294967295", b"4294967296", b"18446744073709551616",
               b"abc", b"1abc", b"", b"007", b"1.5", b"\t5", b"-0", b"99999999999999999999999")
LINES = (b"", b" ", b"put", b"put ", b"PUT 0 0 1 1", b"use", b"reserve x", b"reserve-", b"quit x",
         b"release", b"kick", b"kick ", b"stats-", b"stats x", b"stats-job", b"stats-tube", b"stats-tube ",
         b"peek", b"peek ", b"peek-", b"peek-ready x", b"list-tubes x", b"list-tube", b"watch",
         b"ignore", b"delete", b"delete ", b"touch", b"bury", b"bury 1", b"pause-tube", b"pause-tube t",
         b"kick-job", b"reserve-job", b"reserve-with-timeout", b"reserve-with-timeout ", b"\0",
         b"deletes 1", b"list-tubes-watchedx", b"statsx", b"reservex", b"hello", b"GET / HTTP/1.1",
         b"delete  1", b" delete 1", b"use t u", b"x" * 214, b"x" * 240, b"x" * 300, b"x" * 3000)
LINES_BYTES_BAD = range(215, 240)  # with some that a put before it leaves or eats: see above
SECONDS = (0, 1, 2)        # what a timed sequence waits for
NEVER = (1000, 1000000)    # and what none does


def _is_name(tube):
    return re.fullmatch(rb"[A-Za-z0-9+/;.$_()][A-Za-z0-9+/;.$_()-]{,199}", tube)


GOOD_ODD_TUBES = tuple(filter(_is_name, ODD_TUBES))


def draw(seed, is_timed=False):
    return _Draw(seed, is_timed).steps()


def draw_drained(seed):
    """The servers are told to drain within it, and stay so."""
    steps = draw(seed)
    at = random.Random(f"{seed} drained").randrange(len(steps))
    return steps[:at] + [Step("-", DRAIN, 0)] + steps[at:]


class _Draw:
    def __init__(self, seed, is_timed):
        self.dice = random.Random(f"{seed} {is_timed}")
        self.is_timed = is_timed
        self.conns = CONNECTIONS[:self.dice.choice((1, 2, 2, 3, 4))]
        self.prefix = b"s%d-" % seed if is_timed else b""
        count = self.dice.choice((1, 1, 2, 3))
        tubes = list(TUBES[:count] if is_timed else (b"default", *TUBES)[:count])
        self.tubes = [self.prefix + tube for tube in tubes]
        self.odd = self.dice.choice((0, 0.02, 0.15)) if not is_timed else 0
        self.pipelined = self.dice.choice((0, 0, 0.2, 0.5)) if not is_timed else 0
        self.priorities = self.dice.choice(((0,), (0, 1, 1024), (1023, 1024, 1025), (7, 2 ** 32 - 1)))
        self.pauses = self.dice.random() < 0.3
        self.is_queried = self.dice.random() < 0.3  # about the state of jobs and tubes, often
        self.puts = Counter()  # that may have been taken, by connection
        # The one that may wait for a job; None: nobody.
        self.waiter = self.dice.choice((None, *self.conns))
        if self.waiter:
            self.pipelined = 0
        self.is_waiting = False

    # ---- the sequence ----

    def steps(self):
        steps = []
        if self.is_timed:
            for conn in self.conns:
                steps.append(Step(conn, self._own_tubes(), 3))
            for window in range(3):
                steps += [step._replace(window=window) for step in self._some(self.dice.randint(1, 7))]
        else:
            if self.pauses:
                steps.append(self._keeper())
            steps += self._some(self.dice.choice((5, 10, 20, 40)))
        return steps

    def _keeper(self):
        """Who refers to all tubes, and stays."""
        tubes = dict.fromkeys((*self.tubes, *GOOD_ODD_TUBES))
        return Step(KEEPER, b"".join(b"watch %s\r\n" % tube for tube in tubes), len(tubes))

    def _own_tubes(self):
        tube = self.prefix + b"default"
        return b"use %s\r\nwatch %s\r\nignore default\r\n" % (tube, tube)

    def _some(self, count):
        steps = []
        while len(steps) < count:
            conn = self._connection()
            if self.dice.random() < 0.03 and self.waiter in (None, conn):
                steps.append(self._end(conn))
                if self.is_timed:
                    steps.append(Step(conn, self._own_tubes(), 3))
            elif self.dice.random() < 0.04:
                steps += self._in_parts(conn)
            else:
                steps += self._together(conn)
        return steps

    def _connection(self):
        conn = self.dice.choice(self.conns)
        if self.is_waiting and conn == self.waiter and self.dice.random() < 0.9:
            conn = self.dice.choice(self.conns)
        return conn

    def _end(self, conn):
        was_waiting = self.is_waiting and conn == self.waiter  # and a quit would stand behind that
        self.is_waiting = self.is_waiting and conn != self.waiter
        kind = self.dice.random()
        if kind < 0.7 or self.is_timed or was_waiting:
            return Step(conn, CLOSE, 0)
        return Step(conn, SHUT, -1) if kind < 0.85 else Step(conn, b"quit\r\n", -1)

    def _together(self, conn):
        """Steps: what gives a job a moment has one of its own."""
        data, replies = self._command(conn)
        steps = [Step(conn, data, replies)]
        while self.dice.random() < self.pipelined:
            more, count = self._command(conn)
            if HAS_MOMENT.search(data) or HAS_MOMENT.search(more):
                data, replies = more, count
                steps.append(Step(conn, data, replies))
            else:
                data += more
                replies = -1 if -1 in (replies, count) else replies + count
                steps[-1] = Step(conn, data, replies)
        return steps

    def _in_parts(self, conn):
        data, replies = self._command(conn)
        if len(data) < 4:
            return [Step(conn, data, replies)]
        at = self.dice.randrange(1, len(data) - 1)
        at += data[at - 1:at] == b"\r"
        if data[:at].count(b"@") % 2:  # not within the name of a job
            at = data.rindex(b"@") + 1
        return [Step(conn, data[:at], 0 if replies >= 0 else -1), Step(conn, data[at:], replies)]

    # ---- commands ----

    def _command(self, conn):
        """(bytes, how many replies)"""
        if self.dice.random() < self.odd * 0.3:
            return self.dice.choice(LINES) + b"\r\n", -1
        names = COMMANDS if self.is_timed else ALONE_COMMANDS
        left_out = ("reserve",) * (conn != self.waiter) + ("pause-tube",) * (
            not self.pauses and not self.is_timed)
        if left_out:
            names = {name: weight for name, weight in names.items() if name not in left_out}
        weights = [weight * (3 if self.is_queried and name.startswith("stats") else 1)
                   for name, weight in names.items()]
        name = self.dice.choices(list(names), weights)[0]
        words = getattr(self, "_" + name.replace("-", "_"))(conn)
        line = b" ".join([name.encode(), *words])
        replies = 1
        if self.dice.random() < self.odd * 0.5:
            broken = self._broken(line)
            if conn == self.waiter or not MAY_WAIT.match(broken + b"\r"):
                line, replies = broken, -1
        if len(line) in LINES_BYTES_BAD:
            line += b" " * len(LINES_BYTES_BAD)
        if name == "put":
            return self._with_body(line, words, replies)
        self.is_waiting = self.is_waiting or name == "reserve"
        return line + b"\r\n", replies

    def _broken(self, line):
        kind = self.dice.randrange(7)
        if kind == 0:
            return line.replace(b" ", b"  ", 1)
        if kind == 1:
            return line + self.dice.choice((b" ", b" x", b"x", b"\t", b"\0", b" 1"))
        if kind == 2:
            return b" " + line
        if kind == 3:
            return line.rpartition(b" ")[0] or line[:-1]
        if kind == 4:
            return line.upper()
        if kind == 5:
            return line.replace(b" ", b"\t", 1)
        if b"@" in line:  # ids have other lengths there
            return line + b"\t\t"
        return line + b" " * self.dice.choice((150, 200, 214 - len(line), 400))

    def _with_body(self, line, words, replies):
        size = words[3]
        bytes_ = int(size) if size.isdigit() and int(size) <= 5000 else self.dice.choice((0, 3))
        # Where a body may be read as a line: one with a CR in it has no end for beanstalkd.
        letters = b"abc \n\0\xff" if self.odd else b"abc \r\n\0\xff"
        body = bytes(self.dice.choice(letters) for _ in range(bytes_)) if bytes_ < 30 else b"x" * bytes_
        end = b"\r\n"
        if self.dice.random() < self.odd * 0.3:
            end, replies = self.dice.choice((b"\n\n", b"xy\r\n", b"", b"\n", b"abcdef\r\n")), -1
        are_plain = all(word.isdigit() and int(word) < 2 ** 32 for word in words) and int(size) <= 5000
        return line + b"\r\n" + body + end, replies if are_plain else -1

    def _put(self, conn):
        self.puts[conn] += 1
        size = self.dice.choices((0, 3, 7, 100, BODY_BYTES_MAX, BODY_BYTES_MAX + 1, 3000),
                                 (4, 20, 8, 2, 1, self.odd * 8, self.odd * 8))[0]
        return [self._priority(), self._delay(), self._ttr(), self._odd_or(b"%d" % size)]

    def _priority(self):
        return self._odd_or(b"%d" % self.dice.choice(self.priorities))

    def _delay(self):
        if self.is_timed:
            return b"%d" % self.dice.choice((0, 0, 0, 1, 1, 2, 1000))
        return self._odd_or(b"%d" % self.dice.choice((0, 0, 0, 0, 0, *NEVER, 2 ** 32 - 1)))

    def _ttr(self):
        if self.is_timed:
            return b"%d" % self.dice.choice((100, 1000))
        return self._odd_or(b"%d" % self.dice.choice((100, 100, 100, 100, 100, 60, 1, 0, 604800)))

    def _odd_or(self, usual):
        return self.dice.choice(ODD_NUMBERS) if self.dice.random() < self.odd * 0.5 else usual

    def _use(self, _):
        return [self._tube()]

    def _tube(self):
        if self.dice.random() < self.odd:
            return self.dice.choice(ODD_TUBES)
        return self.dice.choice(self.tubes)

    _watch = _ignore = _stats_tube = _use

    def _pause_tube(self, _):
        if self.is_timed:
            return [self._tube(), b"%d" % self.dice.choice(SECONDS)]
        return [self._tube(), self._odd_or(b"%d" % self.dice.choice((0, 0, *NEVER)))]

    def _nothing(self, _):
        return []

    _reserve = _peek_ready = _peek_delayed = _peek_buried = _nothing
    _stats = _list_tubes = _list_tube_used = _list_tubes_watched = _nothing

    def _reserve_with_timeout(self, conn):
        if conn != self.waiter or self.dice.random() < 0.8:
            return [self.dice.choice(NO_TIME) if self.dice.random() < self.odd else b"0"]
        self.is_waiting = True
        return [self._odd_or(b"%d" % self.dice.choice(SECONDS if self.is_timed else NEVER))]

    def _kick(self, _):
        if self.waiter:
            return [b"1"]
        return [self._odd_or(b"%d" % self.dice.choice((0, 1, 1, 2, 10, 2 ** 32 - 1)))]

    def _id(self):
        if self.dice.random() < self.odd:
            return self.dice.choice((b"0", *ODD_NUMBERS))
        putter = self.dice.choice(self.conns)
        most = max(self.puts[putter], 1)
        # The jobs that are there are few, and mostly the last ones.
        at = self.dice.randrange(most) if self.dice.random() < 0.5 else max(
            0, most - 1 - self.dice.randrange(3))
        return b"@%s%d@" % (putter.encode(), at)

    def _peek(self, _):
        return [self._id()]

    _kick_job = _reserve_job = _stats_job = _peek

    def _held(self, conn):
        """Mostly of a job that it holds."""
        if self.dice.random() < 0.2:
            return self._id()
        return b"@%s!%d@" % (conn.encode(), self.dice.choice((0, 0, 0, 1, 2)))

    def _delete(self, conn):
        return [self._held(conn)]

    _touch = _delete

    def _release(self, conn):
        return [self._held(conn), self._priority(), self._delay()]

    def _bury(self, conn):
        return [self._held(conn), self._priority()]


COMMANDS = {  # and how often
    "put": 30, "reserve-with-timeout": 20, "reserve": 4, "reserve-job": 4, "delete": 14, "release": 8, "bury": 8,
    "touch": 4, "kick": 5, "kick-job": 3, "use": 4, "watch": 4, "ignore": 3, "peek": 2, "peek-ready": 2,
    "peek-delayed": 2, "peek-buried": 2, "stats-job": 6, "stats-tube": 3, "list-tube-used": 1,
    "list-tubes-watched": 2, "pause-tube": 4}
ALONE_COMMANDS = {**COMMANDS, "stats": 2, "list-tubes": 3}
