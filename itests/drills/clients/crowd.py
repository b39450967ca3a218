"""A crowd: thousands of clients that hold a connection each, most of them silent, the others
consumers that wait for a job. Whoever loses the connection makes another one.

    with Crowd(host, addresses, journal, idle=10000, consumers=1000) as crowd:
        crowd.wait_served()          # each of the silent has had an answer, the others wait
        ...                          # a fault
        crowd.ask_all()              # the silent ask once more: who sends nothing learns nothing
        crowd.wait_served()

`addresses` of a node each, or the one that moves: (address, gmq's port, HTTP's port). The silent
speak gmq, and push all the same job, of which there can be one: Redis is asked, and stays as it is. A
consumer waits over HTTP in a topic of its own. Nobody has keepalive. One thread serves all, on
`host` (None: this machine); hand-overs and acks go into the journal, for the judge.
"""

import os
import queue
import select
import threading
import time
from collections import deque
from contextlib import nullcontext, suppress

from drills.clients.crowd_clients import Consumer, Idle
from drills.hosts import safety
from harness.process import allow_many_files
from harness.wait import wait_until

PATIENCE_S = 120
LOOK_S = 0.2       # how often those that wait for too long are looked for
ANSWER_S = 20      # their patience, far beyond anything healthy
PAUSE_S = 0.1      # after an attempt that failed
HANDSHAKES = 5     # times as long: ten thousand take their time, here and there
SPARE_FILES = 500  # of this process, beside the crowd's


class Crowd:
    def __init__(self, host, addresses, journal, idle=0, consumers=0, first=0,
                 answer_s=ANSWER_S):
        self.addresses, self.journal, self.manner = addresses, journal, safety.manner()
        self.answer_s = answer_s * (HANDSHAKES if self.manner.context else 1)
        self.idle = [Idle(self, number) for number in range(first, first + idle)]
        self.consumers = [Consumer(self, number) for number in range(first, first + consumers)]
        self.lost = self.failed = self.turned_away = 0  # connections; attempts; in words
        self.refused = 0  # acks, said again later
        self.unheard = 0  # connections on which no answer came, and no end
        self.error = None
        self._place = host.entered if host else nullcontext
        self._resting = deque()
        self._requests, self._wake = queue.SimpleQueue(), os.eventfd(0, os.EFD_NONBLOCK)
        self._epoll, self._is_over = select.epoll(), False
        self._by_file = {}
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        assert allow_many_files() >= len(self.idle) + len(self.consumers) + SPARE_FILES
        self._thread.start()
        self._do(lambda: [each.connect() for each in (*self.consumers, *self.idle)])
        return self

    def __exit__(self, *unused):
        """All of them leave; harmless when they have not come."""
        if self._thread.ident is None:
            return
        self._do(self._end)
        self._thread.join()
        self._epoll.close()
        os.close(self._wake)

    # ---- for the driver ----

    def ask_all(self, clients=None):
        """Each of the silent, or of these, that has not left asks once more."""
        asked = threading.Event()
        self._do(lambda: [each.ask() for each in clients or self.idle], asked)
        assert asked.wait(PATIENCE_S), self.error

    def owing(self):
        """How many of the silent wait for an answer, or for a connection to ask."""
        self._check()
        return sum(each.owes for each in self.idle)

    def served(self):
        return [each for each in self.idle if not each.owes and not each.has_left]

    def wait_served(self):
        """Until all of the silent have their answers, and every consumer waits at a node."""
        wait_until(lambda: self.owing() == 0, "the crowd is served", PATIENCE_S, 0.02)
        wait_until(lambda: all(each.is_waiting for each in self.consumers),
                   "the consumers wait", PATIENCE_S, 0.02)

    def wait_taken(self, ids):
        """Until those jobs have been acknowledged, or were once and nobody knows the answer."""
        def is_taken():
            self._check()
            done = set().union(*(each.settled for each in self.consumers))
            return done >= set(ids)

        wait_until(is_taken, "the consumers get their jobs", PATIENCE_S, 0.05)

    def leave(self, clients):
        """They end their connections and do not come back."""
        left = threading.Event()
        self._do(lambda: [each.leave() for each in clients], left)
        assert left.wait(PATIENCE_S), self.error

    def _check(self):
        if self.error:
            raise self.error

    # ---- for the clients ----

    def watch(self, client):
        self._by_file[client.file] = client
        self._epoll.register(client.file, select.EPOLLIN | select.EPOLLOUT)

    def watch_input(self, client):
        self._epoll.modify(client.file, select.EPOLLIN)

    def forget(self, client):
        del self._by_file[client.file]
        self._epoll.unregister(client.file)

    def rest(self, client):
        """It goes on after a while."""
        self._resting.append((time.monotonic() + PAUSE_S, client))

    # ---- the loop ----

    def _do(self, call, done=None):
        self._requests.put((call, done))
        os.eventfd_write(self._wake, 1)

    def _end(self):
        self._is_over = True
        for each in (*self.idle, *self.consumers):
            each.leave()

    def _run(self):
        try:
            with self._place():
                self._loop()
        except Exception as error:  # pylint: disable=broad-except
            self.error = error  # who waits raises it
            self._end()

    def _loop(self):
        self._epoll.register(self._wake, select.EPOLLIN)
        look_at = time.monotonic()
        while not self._is_over:
            for file, events in self._epoll.poll(PAUSE_S / 2):
                if file == self._wake:
                    self._obey()
                elif file in self._by_file:
                    self._by_file[file].on_event(events)
            now = time.monotonic()
            while self._resting and self._resting[0][0] <= now:
                self._resting.popleft()[1].go_on()
            if now >= look_at:
                look_at = now + LOOK_S
                for each in (*self.idle, *self.consumers):
                    each.look(now)

    def _obey(self):
        with suppress(BlockingIOError):
            os.eventfd_read(self._wake)
        with suppress(queue.Empty):
            while True:
                call, done = self._requests.get_nowait()
                call()
                if done:
                    done.set()
