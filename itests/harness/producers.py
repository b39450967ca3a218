"""Clients of gmq that push one job after the other, whatever happens to the store meanwhile."""

import itertools
import threading

from harness.gmq import GmqError, LostConnection
from harness.wait import wait_until

HOUR_S = 3600


class Producers:
    """From threads of their own, until stop(), or until the node is gone. `pushed`: the ids whose push
    was answered. `is_patient`: what is refused, or unknown, is passed over; else it fails the test."""

    def __init__(self, node, topic, count=1, is_patient=False):
        self.pushed, self.errors = [], []
        self._node, self._topic, self._is_patient = node, topic, is_patient
        self._is_over = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(number,))
                         for number in range(count)]
        for thread in self._threads:
            thread.start()

    def _run(self, name):
        with self._node.python_client() as client:
            for number in itertools.count():
                if self._is_over.is_set():
                    return
                try:
                    id = f"{self._topic}-{name}-{number}"
                    assert client.push(self._topic, id, delay=HOUR_S) == "success"
                    self.pushed.append(id)
                except (GmqError, LostConnection, AssertionError) as error:
                    if not isinstance(error, GmqError) or not self._is_patient:
                        self.errors.append(error)
                        return

    def wait_more(self, count=20):
        """So many more pushes are answered."""
        target = len(self.pushed) + count
        wait_until(lambda: self._failed() or len(self.pushed) >= target, "pushes go on")
        assert not self._failed(), self.errors

    def stop(self):
        self._is_over.set()
        for thread in self._threads:
            thread.join()
        assert not self._failed(), self.errors
        return self.pushed

    def _failed(self):
        return self.errors and not self._is_patient
