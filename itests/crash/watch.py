"""A load that writes down every error its clients see, word for word, and by method; and a node
on a Redis of the operator's own, with what must be true of both when a trouble is over."""

import threading
import time

from crash.judge import judge
from crash.load import Load
from harness.gmq import GmqError, LostConnection, PhpClient, PythonClient
from harness.wait import wait_until
from judge.journal import HandOver, Push

CLIENTS = 4  # producers, and so many consumers
TTR_S = 60   # no lease ends by itself
BACKLOG = 100

# However slow the machine: a pause never becomes an error.
PATIENT = {"store.hold": "60s", "store.breaker.after": "60s"}


class Errors:
    """(method, text) of all that was no answer; "empty" is one."""

    def __init__(self):
        self._seen, self._lock = set(), threading.Lock()

    def add(self, method, text):
        with self._lock:
            self._seen.add((method, text))

    def seen(self):
        with self._lock:
            return set(self._seen)


def watched(kind, errors):
    """The client class `kind`, telling `errors` what goes wrong."""

    class Watched(kind):
        def call(self, method, *params):
            try:
                return super().call(method, *params)
            except GmqError as error:
                if str(error) != "empty":
                    errors.add(method, str(error))
                raise
            except LostConnection as error:
                errors.add(method, f"lost: {error}")
                raise

    return Watched


class WatchedLoad(Load):
    """Clients in the manner of the published ones: half of them Python's, half PHP's."""

    def __init__(self, port, dice, ttr_s=TTR_S):
        self.errors = Errors()
        self._jobs = 0
        self.goes_on = False
        kinds = [watched(PythonClient, self.errors), watched(PhpClient, self.errors)]
        super().__init__(port, dice, producers=CLIENTS, consumers=CLIENTS, ttrs_s=(ttr_s,),
                         connect=lambda port: dice.choice(kinds)(port), acked_share=1)

    def new_job(self, dice):
        """Not many more than are consumed, so that a store is soon empty; but for a trouble of
        which somebody has to hear: where nothing becomes due, nothing else would be asked."""
        while (self._jobs - len(self.journal.of(HandOver)) > BACKLOG
               and not self.is_pushing_over.is_set() and not self.goes_on):
            time.sleep(0.005)
        self._jobs += 1
        return super().new_job(dice)

    def pushed(self):
        return len(self.journal.of(Push))

    def wait_for_more(self, count=100):
        """Pushes and hand-overs go on."""
        pushed, handed = self.pushed(), len(self.journal.of(HandOver))
        wait_until(lambda: self.pushed() >= pushed + count
                   and len(self.journal.of(HandOver)) >= handed + count, "the load goes on")


def node_on(redis, make_node, settings=None):
    node = make_node({"store.redis": redis.address, "gmq.pop_wait": "500ms",
                      **PATIENT, **(settings or {})}).start()
    node.wait_settled()
    return node


def held(node):
    return node.metrics()["dueq_store_operations_held"]


def places(redis):
    """The keys in which jobs and their places are: see doc/store.md."""
    keys = redis.client().scan_iter(match="dq:{*}:[jpdrqvxe]:*", count=1000)
    return sorted(key.decode() for key in keys)


def assert_all_is_well(redis, load):
    """The consumers empty the store; nothing was lost, came twice, or was moved by half."""
    wait_until(lambda: places(redis) == [], "consumers empty the store, and all its places")
    assert judge(load.finish()) == []
