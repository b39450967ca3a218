"""A steady load on all nodes: producers and consumers that never give up, that go on to another
node when theirs does not answer, and that write down everything they asked and were told.

    with Load(journal, addresses, dice, rate=200) as load:
        ...                       # faults
    load.drain()                  # consumers go on until there is nothing left
    load.finish()

Producers push at a rate, most jobs due in a moment, and repeat under the same id what was refused
or unknown until they know. Consumers wait for jobs at all nodes. A few jobs are cancelled, a few
released, a few left to their TTR, and a few have none.
"""

import itertools
import threading
import time
from contextlib import nullcontext

from drills.clients.client import ANSWER_S, CONNECT_S, Client
from drills.hosts import safety
from harness.clock import wall_now_ms
from harness.wait import wait_until
from judge.journal import (DUPLICATE, OK, REFUSED, UNKNOWN, Ack, Cancel, HandOver, Push, Release,
                            Empty, Rest, Unanswered, now_ms)

TOPICS = tuple(f"drill-{number}" for number in range(8))  # in as many buckets, more or less
POP_TOPICS = 32  # a consumer asks for so many at most
DELAYS_MS = (0, 100, 200, 400, 700, 1000)
TTRS_MS = (4000, 4000, 4000, 1500, 0)
CANCELLED, RELEASED, FORGOTTEN = 0.02, 0.02, 0.02  # shares
ROAMS = 0.05  # of its pushes, behind which a producer that roams goes to the next node
POP_COUNT, POP_WAIT_MS = 4, 500
DRAIN_S = 120

_numbers = itertools.count(1)  # no id is used twice in a run


class _Worker(threading.Thread):
    def __init__(self, load, number, dice):
        super().__init__(daemon=True)
        self.load, self.journal, self.dice = load, load.journal, dice
        self.client = load.make_client(number)
        self.client.on_denied = self.journal.add
        self.topics = load.topics_of(number)
        self.error = None

    def run(self):
        try:
            with self.load.place():
                self.work()
        except Exception as error:  # pylint: disable=broad-except
            self.error = error  # finish() raises it
        self.client.close()

    def work(self):
        raise NotImplementedError

    def settle(self, kind, id, call):
        sent = now_ms()
        outcome = call()
        self.journal.add(kind(id, sent, now_ms(), outcome))
        return outcome


class Producer(_Worker):
    """One job each `interval_s`."""

    def work(self):
        next_at = time.monotonic()
        while not self.load.is_pushing_over.wait(max(0, next_at - time.monotonic())):
            next_at = max(next_at + self.load.interval_s, time.monotonic() - 1)
            self.push(f"job-{next(_numbers)}", self.dice.choice(self.load.topics))
            if self.load.roams and self.dice.random() < ROAMS:
                self.client.move_on()

    def push(self, id, topic):
        delay_ms, ttr_ms = self.dice.choice(DELAYS_MS), self.dice.choice(self.load.ttrs_ms)
        delay_ms, ttr_ms = (-(-each // self.client.grain_ms) * self.client.grain_ms
                            for each in (delay_ms, ttr_ms))
        outcome = REFUSED
        while outcome in (REFUSED, UNKNOWN) and not self.load.is_over.is_set():
            sent = now_ms()
            outcome, due_ms = self.client.push(topic, id, delay_ms, ttr_ms)
            self.journal.add(Push(id, topic, ttr_ms, delay_ms, sent, now_ms(), outcome, due_ms))
        if (outcome in (OK, DUPLICATE) and self.client.has_all_verbs
                and self.dice.random() < CANCELLED):
            self.settle(Cancel, id, lambda: self.client.cancel(topic, id))


class Consumer(_Worker):
    """Pops, and acknowledges what it gets; the first time, not always."""

    def work(self):
        while not self.load.is_over.is_set():
            asked, node = now_ms(), self.client.node
            jobs = self.client.pop(self.choose(), POP_COUNT, POP_WAIT_MS)
            if jobs is None:
                self.journal.add(Unanswered(node, asked, now_ms(), POP_COUNT,
                                            node in self.load.proxies))
                continue
            if not jobs:
                self.journal.add(Empty(node, asked, now_ms()))
            # An ack may take its time, and go to another node.
            received, redis_ms, node = now_ms(), self.load.redis_now_ms(), self.client.node
            for job in jobs:
                self.take(job, node, asked, received, redis_ms)

    def choose(self):
        """In any order, where there are many: the first goes first, and the last might starve."""
        topics = self.topics
        return topics if topics is TOPICS else self.dice.sample(topics, len(topics))

    def take(self, job, node, asked, received, redis_ms):
        self.journal.add(HandOver(job["id"], job["topic"], job["lease"], job["tries"] + 1,
                                  job["due_ms"], asked, received, redis_ms, node,
                                  job["delay_ms"]))
        if job["ttr_ms"] == 0:
            return
        dice = self.dice.random() if job["tries"] == 0 else 1
        if dice < RELEASED and self.client.has_all_verbs:
            self.settle(Release, job["id"], lambda: self.client.settle("release", job))
        elif not RELEASED <= dice <= RELEASED + FORGOTTEN:
            self.settle(Ack, job["id"], lambda: self.client.settle("ack", job))


class Load:
    """`rate`: jobs a second. `topics`: where there are many, each consumer has some of them, and
    each of them has several consumers. `roams`: do producers go from node to node, for a node that
    was away has no client else. `host`: where its clients are, None for this machine.
    `redis_now_ms`: Redis's clock, by default this machine's. `answer_s`, `connect_s`: their
    patience. `proxies`: those of the addresses, as address:port, that are not a node's own.
    `make_client`: a client, by the number of who has it; by default of HTTP."""

    def __init__(self, journal, addresses, dice, rate=100, host=None, producers=4, consumers=8,
                 redis_now_ms=wall_now_ms, ttrs_ms=TTRS_MS, answer_s=ANSWER_S,
                 connect_s=CONNECT_S, topics=TOPICS, roams=False, proxies=(), make_client=None):
        self.topics, self.roams, self.proxies = topics, roams, proxies
        self.journal, self.addresses, self.redis_now_ms = journal, addresses, redis_now_ms
        self.ttrs_ms, self.manner = ttrs_ms, safety.manner()
        self.make_client = make_client or (
            lambda number: Client(addresses, number, answer_s, connect_s))
        self.interval_s = producers / rate
        self.place = host.entered if host else nullcontext
        self.is_pushing_over, self.is_over = threading.Event(), threading.Event()

        def many(kind, count):
            return [kind(self, number, type(dice)(dice.getrandbits(64)))
                    for number in range(count)]

        self._producers, self._consumers = many(Producer, producers), many(Consumer, consumers)

    def __enter__(self):
        for worker in (*self._producers, *self._consumers):
            worker.start()
        return self

    def __exit__(self, kind=None, *unused):
        """Ends the producers; when something failed, everybody."""
        self.is_pushing_over.set()
        if kind is not None:
            self.is_over.set()
        for producer in self._producers:
            producer.join()

    def wait_flowing(self):
        """Until jobs that were pushed from now on have been handed over."""
        since = now_ms()

        def flows():
            pushed = {push.id for push in self.journal.recent(Push, since)}
            got = {each.id for each in self.journal.recent(HandOver, since)}
            return len(pushed & got) >= 10 or self._failed()

        wait_until(flows, "the load flows", DRAIN_S, interval_s=0.02)

    @property
    def clients(self):
        return [each.client for each in (*self._producers, *self._consumers)]

    def change_over(self, manner):
        """Client by client; until each has had an answer to what it asked so."""
        self.manner = manner
        for client in self.clients:
            client.manner = manner
            self.wait_answered([client])

    def wait_answered(self, clients=None):
        """Until each of them, or of all, has had an answer from now on, in its present manner."""
        since_ms = now_ms()

        def answered(client):
            manner, at_ms = client.answered
            return manner is client.manner and at_ms > since_ms

        wait_until(lambda: all(map(answered, clients or self.clients)) or self._failed(),
                   "clients have answers", DRAIN_S)

    def topics_of(self, number):
        """Of the consumer with this number."""
        groups = -(-len(self.topics) // POP_TOPICS)
        return self.topics[number % groups::groups]

    def drain(self, more_topics=(), timeout_s=DRAIN_S):
        """Until no job is left but the dead, which are written down as such. `more_topics`: of
        others, who consume them."""
        topics = [*self.topics, *more_topics]
        with self.place():
            client = Client(self.addresses)
            client.manner = self.manner
            wait_until(lambda: self._is_drained(client, topics) or self._failed(),
                       "consumers empty the store", timeout_s, interval_s=0.1)
            for topic in topics:
                (dead,) = wait_until(lambda topic=topic: _answered(client.dead(topic)),
                                     "a node lists the dead")
                for job in dead:
                    self.journal.add(Rest(job["id"], job["death"]))
            client.close()

    @staticmethod
    def _is_drained(client, topics):
        counts = [client.counts(topic) for topic in topics]
        return None not in counts and not any(
            each["delayed"] + each["ready"] + each["reserved"] for each in counts)

    def finish(self):
        """Ends the consumers."""
        self.__exit__()
        self.is_over.set()
        for consumer in self._consumers:
            consumer.join()
        if self._failed():
            raise self._failed()[0]

    def _failed(self):
        return [each.error for each in (*self._producers, *self._consumers) if each.error]


def _answered(reply):
    """Even an empty list is an answer."""
    return None if reply is None else (reply,)
