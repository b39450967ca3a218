"""A client that fails over by itself: it has the addresses of all nodes, keeps a connection to
one, and goes on to the next when that one does not answer.

Each call ends as the caller must understand it: ok, duplicate, refused (it did not happen) or
unknown (it may have happened: no answer, or the node itself does not know).
"""

import http.client
import json
import time
from urllib.parse import quote

from drills.hosts.safety import connection_to, headers
from judge.journal import DUPLICATE, OK, REFUSED, UNKNOWN

CONNECT_S = 0.3  # a host that is cut off does not refuse
AGAIN_S = (0, 0.01, 0.05)  # after an end, by the client's number
REFUSED_S = 0.01           # at least, where all refuse at once
ANSWER_S = 1.5   # a node that is frozen accepts, and says nothing


class Client:
    """`addresses` are (address, port) of the HTTP API; it begins with number `first`."""

    def __init__(self, addresses, first=0, answer_s=ANSWER_S, connect_s=CONNECT_S):
        self._addresses, self._at = addresses, first % len(addresses)
        self._answer_s, self._connect_s = answer_s, connect_s
        self._again_s, self._pause_s = AGAIN_S[first % len(AGAIN_S)], 0
        self._connection = None

    @property
    def node(self):
        """Whom it talks to, as address:port."""
        return "%s:%d" % self._addresses[self._at]

    def call(self, method, path, body=None, wait_s=0):
        """(outcome, the reply's JSON or None). `wait_s`: the node may let it wait so long."""
        if not self._connect():
            return REFUSED, None
        try:
            self._connection.sock.settimeout(self._answer_s + wait_s)
            text = json.dumps(body).encode() if body is not None else None
            self._connection.request(method, path, text, headers())
            answer = self._connection.getresponse()
            said = json.loads(answer.read() or b"null")
        except (OSError, http.client.HTTPException, ValueError):
            self.move_on()
            self._pause_s = self._again_s
            return UNKNOWN, None
        if self._connection.sock is None:
            self.close()
        return self._outcome(answer.status, said), said

    def _outcome(self, status, said):
        if status < 400:
            return OK
        code = said["error"]["code"]
        if status == 503:  # another node may do better
            self.move_on()
        return {"duplicate": DUPLICATE, "unknown": UNKNOWN}.get(code, REFUSED)

    def _connect(self):
        """False when the node cannot be reached; then the next one will be tried."""
        if self._connection is None:
            time.sleep(self._pause_s)
            self._pause_s = 0
            self._connection = connection_to(self._addresses[self._at], self._connect_s)
            try:
                self._connection.connect()
            except OSError:
                self.move_on()
                self._pause_s = max(self._again_s, REFUSED_S)
                return False
        return True

    def move_on(self):
        self.close()
        self._at = (self._at + 1) % len(self._addresses)

    def close(self):
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    # ---- the operations ----

    def push(self, topic, id, delay_ms, ttr_ms):
        """(outcome, due_ms or None)"""
        job = {"id": id, "delay_ms": delay_ms, "ttr_ms": ttr_ms, "body": id}
        outcome, said = self.call("POST", f"/v1/topics/{quote(topic)}/jobs", job)
        return outcome, said["due_ms"] if outcome == OK else None

    def pop(self, topics, count, wait_ms):
        """Jobs; None when it was sent, and there was no answer."""
        names = ",".join(map(quote, topics))
        outcome, said = self.call("POST", f"/v1/topics/{names}/pop?count={count}&wait_ms={wait_ms}",
                                  wait_s=wait_ms / 1000)
        if outcome == UNKNOWN and said is None:
            return None
        return said["jobs"] if outcome == OK else []

    def settle(self, verb, job):
        """ack or release, with its lease: the outcome."""
        path = f"/v1/topics/{quote(job['topic'])}/jobs/{quote(job['id'])}/{verb}"
        return self.call("POST", path, {"lease": job["lease"]})[0]

    def cancel(self, topic, id):
        return self.call("DELETE", f"/v1/topics/{quote(topic)}/jobs/{quote(id)}")[0]

    def counts(self, topic):
        """{"delayed", "ready", "reserved", "dead"}; None when there was no answer."""
        outcome, said = self.call("GET", f"/v1/topics/{quote(topic)}")
        return said if outcome == OK else None

    def dead(self, topic):
        """The dead jobs of a topic, the first 100; None when there was no answer."""
        outcome, said = self.call("GET", f"/v1/topics/{quote(topic)}/jobs?state=dead&limit=100")
        return said["jobs"] if outcome == OK else None
