"""Producers and consumers that never give up, and write down everything they saw."""

import itertools
import threading
import time

from harness.gmq import GmqError, LostConnection, PythonClient
from judge.journal import (DUPLICATE, OK, REFUSED, UNKNOWN, Ack, HandOver, Journal, Push, now_ms)

RECONNECT_PAUSE_S = 0.01
ACKED_SHARE = 0.95  # of the first hand-overs; the others are left to their TTR


_numbers = itertools.count()  # no id is used twice in a run


class Worker(threading.Thread):
    """A client with a connection that it opens again when it is lost."""

    def __init__(self, load, dice):
        super().__init__(daemon=True)
        self.load, self.dice = load, dice
        self._client = None

    def call(self, method, *params):
        """(outcome, what the node said). A node that cannot be reached was not asked."""
        if not self._connect():
            return REFUSED, None
        try:
            return OK, self._client.call(method, *params)
        except GmqError as error:
            return outcome_of(str(error)), str(error)
        except LostConnection:
            self.disconnect()
            return UNKNOWN, None

    def _connect(self):
        if self._client is None:
            try:
                self._client = self.load.connect(self.load.port)
            except LostConnection:
                time.sleep(RECONNECT_PAUSE_S)
                return False
        return True

    def disconnect(self):
        if self._client is not None:
            self._client.close()
            self._client = None


def outcome_of(error):
    """What an error text of the node means."""
    if "has exist" in error:
        return DUPLICATE
    return UNKNOWN if error.startswith("unknown:") else REFUSED


class Producer(Worker):
    """Pushes; what was refused or unknown it pushes again, under the same id, until it knows."""

    def run(self):
        while not self.load.is_pushing_over.is_set():
            self.push_until_known(self.load.new_job(self.dice))
        self.disconnect()

    def push_until_known(self, job):
        outcome = UNKNOWN
        while outcome in (REFUSED, UNKNOWN) and not self.load.is_over.is_set():
            sent_ms = now_ms()
            outcome, said = self.call("Push", job)
            if said is not None or outcome == UNKNOWN:
                self.load.journal.add(Push(
                    job["id"], job["topic"], job["TTR"] * 1000, job["delay"] * 1000, sent_ms,
                    now_ms(), outcome, body=job["body"]))


class Consumer(Worker):
    """Pops, and acknowledges most of what it gets; what came before it always does."""

    def run(self):
        while not self.load.is_over.is_set():
            asked_ms = now_ms()
            outcome, job = self.call("Pop", self.load.topics)
            if outcome == OK:
                self.take(job, asked_ms)
        self.disconnect()

    def take(self, job, asked_ms):
        self.load.journal.add(HandOver(
            job["id"], job["topic"], "", job["consume_num"] + 1, None, asked_ms, now_ms(), None, "",
            body=job["body"]))
        is_forgetful = job["consume_num"] == 0 and self.dice.random() > self.load.acked_share
        if job["TTR"] != 0 and not is_forgetful:
            self.acknowledge(job["id"])

    def acknowledge(self, id):
        sent_ms = now_ms()
        outcome, said = self.call("Ack", id)
        if said is not None or outcome == UNKNOWN:
            self.load.journal.add(Ack(id, sent_ms, now_ms(), outcome))


class Load:
    """`with Load(...) as load:` pushes and pops until the block ends; then finish() it.

    `delays_s` and `ttrs_s` are drawn from at random; body sizes go up to `body_bytes`.
    `connect(port)` gives a client with gmq's three methods, whatever it really speaks.
    """

    def __init__(self, port, dice, producers=12, consumers=12, delays_s=(0, 0, 0, 1),
                 ttrs_s=(2, 2, 2, 0), topic_count=5, body_bytes=300, connect=PythonClient,
                 acked_share=ACKED_SHARE):
        self.port, self.connect, self.acked_share = port, connect, acked_share
        self.journal = Journal()
        self.topics = [f"load-{number}" for number in range(topic_count)]
        self.is_pushing_over = threading.Event()
        self.is_over = threading.Event()
        self._delays_s, self._ttrs_s, self._body_bytes = delays_s, ttrs_s, body_bytes

        def many(kind, count):
            return [kind(self, _child(dice)) for _ in range(count)]

        self._producers = many(Producer, producers)
        self._consumers = many(Consumer, consumers)

    def new_job(self, dice):
        id = f"job-{next(_numbers)}"
        return {"id": id, "topic": dice.choice(self.topics),
                "body": f"{id} " + "x" * dice.randrange(self._body_bytes),
                "delay": dice.choice(self._delays_s), "TTR": dice.choice(self._ttrs_s)}

    def __enter__(self):
        for worker in (*self._producers, *self._consumers):
            worker.start()
        return self

    def __exit__(self, failure, *unused):
        """What has failed may never be healed: then nobody waits for that."""
        if failure:
            self.is_over.set()
        self.is_pushing_over.set()
        for producer in self._producers:
            producer.join()

    def finish(self):
        """Ends the consumers; before that they may empty the store."""
        self.is_over.set()
        for consumer in self._consumers:
            consumer.join()
        print(self.journal.summary())
        return self.journal


def _child(dice):
    """Random numbers of a thread's own, determined by the seed."""
    return type(dice)(dice.getrandbits(64))
