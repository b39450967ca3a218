"""Requests over HTTP, one after the other; and those of many jobs each: what an operation costs in
a batch. The client is Python; of batches only what the node and Redis take is looked at."""

import http.client
import itertools
import json
import time

from bench.loads import LoadFailed

BODY = "x" * 100
LEASE_MS = 60_000


class Connection(http.client.HTTPConnection):
    """To a node's HTTP port. It counts what it sends and gets; `taken_s`: by the last request."""

    def __init__(self, port, timeout_s=60):
        super().__init__("127.0.0.1", port, timeout=timeout_s)
        self.bytes_moved, self.taken_s = 0, None

    def send(self, data):
        self.bytes_moved += len(data)
        super().send(data)

    def ask(self, method, path, body=None):
        """The reply's JSON, or None. `body` as bytes; anything else goes as JSON."""
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        since = time.perf_counter()
        self.request(method, path, body)
        answer = self.getresponse()
        text = answer.read()
        self.taken_s = time.perf_counter() - since
        self.bytes_moved += len(text) + len(str(answer.headers)) + len("HTTP/1.1 200 OK\r\n")
        if answer.status >= 300:
            raise LoadFailed(f"{method} {path}: {answer.status} {text[:200].decode()}")
        return json.loads(text) if text else None


class Batches:
    """At a node's HTTP port; each request for the next of the topics NAME-0, NAME-1, ..."""

    def __init__(self, port, name, size, topics):
        self._connection = Connection(port)
        names = [f"/v1/topics/{name}-{number}" for number in range(topics)]
        self._size, self._pushes, self._pops = size, itertools.cycle(names), itertools.cycle(names)

    @property
    def bytes_moved(self):
        return self._connection.bytes_moved

    def push(self, jobs, delay_ms=0):
        job = {"body": BODY, "ttr_ms": LEASE_MS, "delay_ms": delay_ms}
        body = json.dumps([job] * self._size).encode()
        for _ in range(jobs // self._size):
            results = self._connection.ask("POST", f"{next(self._pushes)}/jobs", body)["results"]
            assert all("id" in job for job in results), results

    def pop(self, jobs, is_acked=False):
        for _ in range(jobs // self._size):
            topic = next(self._pops)
            popped = self._connection.ask("POST", f"{topic}/pop?count={self._size}")["jobs"]
            assert len(popped) == self._size, f"{len(popped)} jobs were there"
            if is_acked:
                self._ack(topic, [{"id": job["id"], "lease": job["lease"]} for job in popped])

    def _ack(self, topic, leases):
        results = self._connection.ask("POST", f"{topic}/ack", {"leases": leases})
        assert not any("error" in each for each in results["results"]), results

    def close(self):
        self._connection.close()
