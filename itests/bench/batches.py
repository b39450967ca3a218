"""Requests of many jobs each, one after the other: what an operation costs in a batch. The client
is Python; only what the node and Redis take is looked at."""

import http.client
import itertools
import json

BODY = "x" * 100
LEASE_MS = 60_000


class Connection(http.client.HTTPConnection):
    """Counts what it sends."""

    bytes_sent = 0

    def send(self, data):
        self.bytes_sent += len(data)
        super().send(data)


class Batches:
    """At a node's HTTP port; each request for the next of the topics NAME-0, NAME-1, ..."""

    def __init__(self, port, name, size, topics):
        self._connection = Connection("127.0.0.1", port, timeout=60)
        self._received = 0
        names = [f"/v1/topics/{name}-{number}" for number in range(topics)]
        self._size, self._pushes, self._pops = size, itertools.cycle(names), itertools.cycle(names)

    @property
    def bytes_moved(self):
        return self._connection.bytes_sent + self._received

    def push(self, jobs, delay_ms=0):
        job = {"body": BODY, "ttr_ms": LEASE_MS, "delay_ms": delay_ms}
        body = json.dumps([job] * self._size)
        for _ in range(jobs // self._size):
            results = self._ask(f"{next(self._pushes)}/jobs", body)["results"]
            assert all("id" in job for job in results), results

    def pop(self, jobs, is_acked=False):
        for _ in range(jobs // self._size):
            topic = next(self._pops)
            popped = self._ask(f"{topic}/pop?count={self._size}")["jobs"]
            assert len(popped) == self._size, f"{len(popped)} jobs were there"
            if is_acked:
                self._ack(topic, [{"id": job["id"], "lease": job["lease"]} for job in popped])

    def _ack(self, topic, leases):
        results = self._ask(f"{topic}/ack", json.dumps({"leases": leases}))
        assert not any("error" in each for each in results["results"]), results

    def close(self):
        self._connection.close()

    def _ask(self, path, body=None):
        self._connection.request("POST", path, body)
        answer = self._connection.getresponse()
        text = answer.read()
        self._received += len(text) + len(str(answer.headers)) + len("HTTP/1.1 200 OK\r\n")
        assert answer.status < 300, f"{path}: {answer.status} {text[:200]}"
        return json.loads(text)
