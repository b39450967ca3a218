"""Clients of the beanstalkd dialect, beside the steady load: they know all nodes, keep a connection to
one, and when it ends make another as their libraries do, `use` and `watch` again, and go on.

    with Tubes(addresses, dice, host) as tubes:
        ...                    # faults
        tubes.drain()          # until all that was put is deleted
    judge_tubes(tubes.record)

Some delete what they get; some release, bury and kick, touch; some let a short time to run go by;
and holders keep what they have for an hour, if their connection does, so that nothing but its end brings
these jobs back.
"""

import itertools
import math
import threading
import time
from contextlib import nullcontext

from harness.beanstalkd import Client, Lost
from harness.wait import wait_until
from judge.journal import OK, REFUSED, UNKNOWN, now_ms
from judge.tubes import Got, Put, Record, Said

TUBES = tuple(f"tubes-{number}" for number in range(4))
ANSWER_S = 2         # and a reservation's own time
REST_S = 0.02        # between two tries to connect
RESERVE_S = 1
TTR_S, SHORT_TTR_S = 3600, 2
DELAYS_S = (0, 0, 0, 1)
PRIORITIES = (0, 7, 1024, 4294967295)
HELD = 20            # by each holder
PUTS_A_SECOND = 25   # of each producer
DRAIN_S = 90
ELSEWHERE = (b"DRAINING", b"OUT_OF_MEMORY", b"INTERNAL_ERROR")  # another node may do better
NOT_DONE = (b"DRAINING", b"OUT_OF_MEMORY", b"JOB_TOO_BIG", b"BAD_FORMAT", b"UNKNOWN_COMMAND")

_numbers, _connections = itertools.count(1), itertools.count(1)


class _Worker(threading.Thread):
    """Its connection, made when it is needed; what is asked and answered over it is written down."""

    def __init__(self, tubes, dice):
        super().__init__(daemon=True)
        self.tubes, self.record, self.dice = tubes, tubes.record, dice
        self._at = 0
        self.error, self.client, self.conn = None, None, None

    def run(self):
        try:
            with self.tubes.place():
                while not self.tubes.is_over.is_set():
                    self._turn()
        except Exception as error:  # pylint: disable=broad-except
            self.error = error  # finish() raises it
        self.hang_up()

    def _turn(self):
        try:
            if self.client is None:
                self._connect()
            self.work()
        except Lost:
            if self.client is not None:
                self.record.lost[self.conn] = now_ms()
            self.hang_up()
            self._at += 1
            time.sleep(REST_S)

    def _connect(self):
        addresses = self.tubes.addresses
        host, port = addresses[self._at % len(addresses)]
        self.client, self.conn = Client(port, host, ANSWER_S), next(_connections)
        self.begin()

    def hang_up(self):
        if self.client is not None:
            self.client.close()
            self.record.ended[self.conn] = now_ms()
            self.client = None

    def ask(self, line, body=None, wait_s=0):
        """The reply. Lost where there is none, or the node says that it cannot."""
        sent_ms = now_ms()
        self.client.socket.settimeout(ANSWER_S + wait_s)
        reply = self.client.ask(line, body)
        if reply in ELSEWHERE:
            raise _Elsewhere(reply)
        self.record.answered[self.conn] = sent_ms
        return reply

    def begin(self):
        """What a new connection is told."""

    def work(self):
        raise NotImplementedError

    # ---- words on jobs ----

    def say(self, verb, job, words="", good=b"", delay_s=0):
        """The outcome; Lost when it is not known, after it was written down."""
        sent_ms, outcome = now_ms(), UNKNOWN
        try:
            reply = self.ask(f"{verb} {job.id}{words}")
            outcome = OK if reply.startswith(good) else REFUSED
            assert outcome == OK or reply.startswith(b"NOT_FOUND"), f"{verb}: {reply!r}"
        finally:
            self.record.words.append(Said(job.body, self.conn, verb.partition("-")[0], sent_ms,
                                          now_ms(), outcome, delay_s * 1000))
        return outcome

    def delete(self, job):
        return self.say("delete", job, good=b"DELETED")

    def reserve(self, seconds=RESERVE_S):
        """A job, or None."""
        asked_ms = now_ms()
        reply = self.ask(f"reserve-with-timeout {seconds}", wait_s=seconds)
        if not reply.startswith(b"RESERVED "):
            assert reply in (b"TIMED_OUT", b"DEADLINE_SOON"), reply
            return None
        line, _, body = reply.partition(b"\r\n")
        job = _Job(int(line.split()[1]), body.decode())
        self.record.gots.append(Got(job.body, self.conn, now_ms(), asked_ms))
        return job


class _Elsewhere(Lost):
    """The node says that it cannot do that."""


class _Job:
    def __init__(self, id, body):
        self.id, self.body = id, body


class Producer(_Worker):
    def begin(self):
        self.ask(f"use {self.dice.choice(self.tubes.names)}")

    def work(self):
        time.sleep(1 / PUTS_A_SECOND)
        if self.tubes.is_pushing_over.is_set():
            return
        if self.dice.random() < 0.1:
            self.begin()
        body = f"tubes-{next(_numbers)}"
        delay_s = self.dice.choice(DELAYS_S)
        ttr_s = SHORT_TTR_S if self.dice.random() < 0.05 else TTR_S
        sent_ms, outcome = now_ms(), UNKNOWN
        try:
            reply = self.ask(f"put {self.dice.choice(PRIORITIES)} {delay_s} {ttr_s} {len(body)}",
                             body.encode())
            assert reply.startswith(b"INSERTED "), reply
            outcome = OK
        except _Elsewhere as error:
            outcome = REFUSED if error.args[0] in NOT_DONE else UNKNOWN
            raise
        finally:
            self.record.puts.append(Put(body, delay_s * 1000, ttr_s * 1000, sent_ms, now_ms(), outcome))


class _Watcher(_Worker):
    def begin(self):
        for name in self.tubes.names:
            self.ask(f"watch {name}")
        self.ask("ignore default")


class Consumer(_Watcher):
    """Deletes what it gets; some of it later."""

    def work(self):
        job = self.reserve()
        if job is None:
            return
        chance = 1 if self.tubes.is_draining.is_set() else self.dice.random()
        if chance < 0.04:
            delay_s = self.dice.choice(DELAYS_S)
            self.say("release", job, f" {self.dice.choice(PRIORITIES)} {delay_s}", b"RELEASED", delay_s)
        elif chance < 0.08:
            if self.say("bury", job, " 7", b"BURIED") == OK:
                self.say("kick-job", job, good=b"KICKED")
        elif chance < 0.12:
            self.say("touch", job, good=b"TOUCHED")
            self.delete(job)
        elif chance < 0.14:
            self.hang_up()  # as one that crashes
        elif chance > 0.16 or not self.tubes.forget(job.body):
            self.delete(job)


class Holder(_Watcher):
    """Keeps jobs as long as it can; now and then it says that it is still there."""

    def __init__(self, *words):
        super().__init__(*words)
        self._held = []

    def begin(self):
        self._held = []
        super().begin()

    def work(self):
        if self.tubes.is_draining.is_set():
            while self._held:
                self.delete(self._held.pop())
            self.tubes.is_over.wait(0.05)
            return
        job = self.reserve() if len(self._held) < HELD else None
        if job:
            self._held.append(job)
        else:
            self.tubes.is_draining.wait(0.1)
        if self._held:
            job = self.dice.choice(self._held)
            if self.say("touch", job, good=b"TOUCHED") == REFUSED:  # its time was short
                self._held.remove(job)


class Tubes:
    """`addresses` are (host, port) of all nodes; all begin with the first. `host`: of a network, or None."""

    def __init__(self, addresses, dice, host=None, names=TUBES, producers=3, consumers=3, holders=2):
        self.addresses, self.names = list(addresses), names
        self.record = Record()
        self._draining_ms = math.inf
        self.place = host.entered if host else nullcontext
        self.is_pushing_over, self.is_draining, self.is_over = (threading.Event() for _ in range(3))
        kinds = [Producer] * producers + [Consumer] * consumers + [Holder] * holders
        self._workers = [kind(self, type(dice)(dice.getrandbits(64))) for kind in kinds]

    def __enter__(self):
        for worker in self._workers:
            worker.start()
        return self

    def __exit__(self, *unused):
        self.is_pushing_over.set()
        self.is_draining.set()
        self.is_over.set()
        for worker in self._workers:
            worker.join()
        if self._failed():
            raise self._failed()[0]

    def _failed(self):
        return [worker.error for worker in self._workers if worker.error]

    def forget(self, body):
        """May its consumer forget it? If its time to run ends soon."""
        return any(put.body == body and put.ttr_ms == SHORT_TTR_S * 1000 for put in self.record.puts)

    def wait_flowing(self, count=20):
        """Until so many that were put from now on are deleted, and the holders hold."""
        since_ms = now_ms()

        def flows():
            new = {put.body for put in list(self.record.puts)
                   if put.outcome == OK and put.sent_ms >= since_ms}
            gone = {word.body for word in list(self.record.words)
                    if word.verb == "delete" and word.outcome == OK}
            return len(new & gone) >= count or self._failed()

        wait_until(flows, "beanstalkd's clients put and delete", DRAIN_S, interval_s=0.05)

    def came_back_ms(self, held, since_ms):
        """For each of the held jobs, by `held_at`, whose connection has ended: how long after that
        moment another had it, or none; None where it has not come."""
        gots = list(self.record.gots)
        for body, conn in held.items():
            if conn in self.record.ended:
                later = [got.received_ms for got in gots if got.body == body
                         and got.conn != conn and got.received_ms > since_ms]
                yield min(later) - since_ms if later else None

    def was_cut(self, since_ms):
        """Has a connection ended since, while the load went on, that its client did not end itself?"""
        return any(since_ms <= when <= self._draining_ms for when in self.record.lost.values())

    def drain(self, timeout_s=DRAIN_S):
        """Until all is deleted, as far as is known. False: something is not, within that time."""
        self._draining_ms = now_ms()
        self.is_pushing_over.set()
        self.is_draining.set()
        try:
            wait_until(lambda: not self.record.open_jobs() and self._are_empty() or self._failed(),
                       "all that was put is deleted", timeout_s, interval_s=0.1)
        except AssertionError:
            return False
        return True

    def _are_empty(self):
        """By what a node says; what is buried is kicked."""
        with self.place():
            try:
                with Client(self.addresses[0][1], self.addresses[0][0], ANSWER_S) as client:
                    return all(self._is_empty(client, name) for name in self.names)
            except Lost:
                self.addresses = self.addresses[1:] + self.addresses[:1]
                return False

    @staticmethod
    def _is_empty(client, name):
        client.ask(f"use {name}")
        client.ask("kick 1000")
        page = client.ask(f"stats-tube {name}")
        return all(line.endswith(b": 0") for line in page.split(b"\n")
                   if line.startswith(b"current-jobs-"))
