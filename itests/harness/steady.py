"""Workers, one for a topic each, who push, pop and acknowledge one job after the other, and
find out at once when one is lost or comes twice.

    with Steady(node, [topic_in(bucket) for bucket in (1, 7)]) as steady:
        steady.wait_rounds(20)             # of each
        ...
        before = steady.rounds()           # {topic: how many}
    assert not steady.troubles             # {topic: {code: how often}} of refused requests

A topic has one job at a time, so a pop that brings any other has brought one twice, and one that
brings none asks whether its job is still there. Where an answer was lost, or a request was refused,
the worker asks again: troubles counts that, and who expects none looks there.
"""

import threading
from collections import Counter

from harness.http_api import Refused
from harness.redis_cluster import BUCKETS, bucket_of
from harness.wait import wait_until

TTR_MS = 3000  # after which a job comes again whose hand-over was lost
PATIENCE_S = 60
# What passes by; anything else is wrong.
PASSING = ("unknown", "unavailable")


def topic_in(bucket, name="steady", buckets=BUCKETS):
    """A topic of that bucket."""
    return next(f"{name}-{number}" for number in range(1 << 16)
                if bucket_of(f"{name}-{number}", buckets) == bucket)


class Worker:
    def __init__(self, node, topic, is_over, is_broken):
        self.topic, self.rounds, self.trouble, self.error = topic, 0, Counter(), None
        self._node, self._is_over, self._is_broken = node, is_over, is_broken
        self.thread = threading.Thread(target=self._run)

    def _run(self):
        try:
            with self._node.api() as api:
                while not self._is_over.is_set():
                    self._round(api, f"{self.topic}.{self.rounds}")
                    self.rounds += 1
        except Exception as error:  # pylint: disable=broad-except
            self.error = error

    def _round(self, api, id):
        self._push(api, id)
        is_gone, is_doubtful = False, False
        while not is_gone:
            job = self._pop(api)
            if job is None and not self._is_there(api, id):
                assert is_doubtful, f"{id} is lost"
                return
            if job is not None:
                assert job["id"] == id, f"{job['id']} came again, after {id} was pushed"
                is_gone, is_doubtful = self._ack(api, job), True

    def _try(self, call, *others):
        """What call() gives; the code of a refusal that passes, or is one of `others`."""
        assert not self._is_broken.is_set(), "given up in the middle of a round"
        try:
            return call(), None
        except Refused as error:
            assert error.code in PASSING + others, error
            if error.code in PASSING:
                self.trouble[error.code] += 1
            return None, error.code

    def _push(self, api, id):
        """Until it is there for sure: whose answer was lost is a duplicate then."""
        code = "unknown"
        while code in PASSING:
            _, code = self._try(lambda: api.push(self.topic, id=id, ttr_ms=TTR_MS), "duplicate")

    def _pop(self, api):
        jobs, _ = self._try(lambda: api.pop(self.topic, wait_ms=TTR_MS))
        return jobs[0] if jobs else None

    def _is_there(self, api, id):
        _, code = self._try(lambda: api.get(self.topic, id), "not_found")
        return code != "not_found"

    def _ack(self, api, job):
        """False where it is not known; it comes again, then, or is gone."""
        _, code = self._try(lambda: api.ack(job), "not_found", "not_owner", "not_reserved")
        return code is None


class Steady:
    def __init__(self, node, topics):
        self._is_over, self._is_broken = threading.Event(), threading.Event()
        self._workers = [Worker(node, topic, self._is_over, self._is_broken) for topic in topics]

    def __enter__(self):
        for each in self._workers:
            each.thread.start()
        return self

    def __exit__(self, kind, *unused):
        """Each ends its round, unless the test has failed."""
        self._is_over.set()
        if kind is not None:
            self._is_broken.set()
        for each in self._workers:
            each.thread.join(PATIENCE_S)
        self._is_broken.set()
        for each in self._workers:
            each.thread.join()
        if kind is None:
            self.check()

    def check(self):
        errors = [f"{each.topic}: {each.error!r}" for each in self._workers if each.error]
        assert not errors, "\n".join(errors)

    def rounds(self):
        return {each.topic: each.rounds for each in self._workers}

    @property
    def troubles(self):
        return {each.topic: dict(each.trouble) for each in self._workers if each.trouble}

    def wait_rounds(self, count, topics=None):
        """So many more, of each of these; all where none is named."""
        targets = {topic: rounds + count for topic, rounds in self.rounds().items()
                   if topics is None or topic in topics}

        def are_done():
            self.check()
            return all(self.rounds()[topic] >= target for topic, target in targets.items())

        wait_until(are_done, f"{count} more rounds of each topic", PATIENCE_S)
