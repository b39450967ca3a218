"""Clients that fail over by themselves: they have the addresses of all nodes, keep a connection to
one, and go on to the next when that one does not answer.

Each call ends as the caller must understand it: ok, duplicate, refused (it did not happen) or
unknown (it may have happened: no answer, or the node itself does not know). What failed is noted
as well, for rows in which nothing may.
"""

import http.client
import itertools
import json
import select
import time
from collections import deque, namedtuple
from urllib.parse import quote

from drills.hosts import safety
from harness.gmq import GmqError, LostConnection, PythonClient
from judge.journal import DENIALS, DUPLICATE, OK, REFUSED, UNKNOWN, Denied, now_ms

CONNECT_S = 0.3  # a host that is cut off does not refuse
AGAIN_S = (0, 0.01, 0.05)  # after an end, by the client's number
REFUSED_S = 0.01           # at least, where all refuse at once
ANSWER_S = 1.5   # a node that is frozen accepts, and says nothing
OF_THE_JOB = ("duplicate", "not_found", "not_reserved", "not_owner")  # it is gone, or another's

# A request without a good answer. `how`: UNREACHABLE, ENDED, or the error. `is_first`: nothing was
# answered over its connection before.
Failure = namedtuple("Failure", "sent_ms ended_ms how is_first why")
UNREACHABLE, ENDED = "unreachable", "ended"
FAILURES_KEPT = 1000  # the newest, of each client


class _Caller:
    """Its connection, and what became of its calls. `keeps`: over one connection, else each call has
    its own. `manner` may be changed at any time, for the calls that begin then; `answered`: the one
    of the last answer, and its time; `made`: how many connections were. `on_denied` is told of each
    request that was."""

    grain_ms, has_all_verbs = 1, True  # of delays and times to run; does it cancel, and release?

    def __init__(self, addresses, first=0, answer_s=ANSWER_S, connect_s=CONNECT_S, keeps=True):
        self._addresses, self._at = addresses, first % len(addresses)
        self._answer_s, self._connect_s, self.keeps = answer_s, connect_s, keeps
        self._again_s, self._pause_s = AGAIN_S[first % len(AGAIN_S)], 0
        self._connection, self._is_first = None, True
        self.manner = self._spoken = safety.manner()
        self.answered, self.made, self.failures = (None, 0), 0, deque(maxlen=FAILURES_KEPT)
        self.on_denied = lambda denied: None

    @property
    def node(self):
        """Whom it talks to, as address:port."""
        return "%s:%d" % self._addresses[self._at]

    def _call(self, ask):
        """(outcome, what was said or None). ask() gives that, and the error's code or None, of the
        connection that there is."""
        sent_ms = now_ms()
        if not self._connect(sent_ms):
            return REFUSED, None
        try:
            said, code = ask()
        except (OSError, http.client.HTTPException, ValueError, LostConnection) as error:
            self._note(sent_ms, ENDED, repr(error))
            self.move_on()
            self._pause_s = self._again_s
            return UNKNOWN, None
        self._is_first, self.answered = False, (self._spoken, now_ms())
        if code in DENIALS:
            self.on_denied(Denied(self.node, now_ms(), code))
        if code and code not in OF_THE_JOB:
            self._note(sent_ms, code, said)
        if not self.keeps:
            self.close()
        return {None: OK, "duplicate": DUPLICATE, "unknown": UNKNOWN}.get(code, REFUSED), said

    def _note(self, sent_ms, how, why):
        self.failures.append(Failure(sent_ms, now_ms(), how, self._is_first, why))

    def _connect(self, sent_ms):
        """False when the node cannot be reached; then the next one will be tried."""
        if self._spoken is not self.manner or self._is_ended():
            self.close()
        if self._connection is None:
            time.sleep(self._pause_s)
            self._pause_s, self._is_first, self._spoken = 0, True, self.manner
            try:
                self._connection = self._connected(*self._addresses[self._at])
                self.made += 1
            except (OSError, LostConnection) as error:
                self._note(sent_ms, UNREACHABLE, repr(error))
                self.move_on()
                self._pause_s = max(self._again_s, REFUSED_S)
                return False
        return True

    def _connected(self, address, port):
        """A connection to there, in its manner."""
        raise NotImplementedError

    def _is_ended(self):
        """Nobody says anything between two calls: it is the end."""
        if self._connection is None:
            return False
        watch = select.poll()
        watch.register(self._socket, select.POLLIN)
        return bool(watch.poll(0))

    @property
    def _socket(self):
        """Of the connection that there is."""
        raise NotImplementedError

    def move_on(self):
        self.close()
        self._at = (self._at + 1) % len(self._addresses)

    def close(self):
        if self._connection is not None:
            self._connection.close()
            self._connection = None


class Client(_Caller):
    """`addresses` are (address, port) of the HTTP API; it begins with number `first`."""

    @property
    def _socket(self):
        return self._connection.sock

    def call(self, method, path, body=None, wait_s=0):
        """(outcome, the reply's JSON or None). `wait_s`: the node may let it wait so long."""
        text = json.dumps(body).encode() if body is not None else None
        return self._call(lambda: self._ask(method, path, text, self._answer_s + wait_s))

    def _ask(self, method, path, text, patience_s):
        self._connection.sock.settimeout(patience_s)
        self._connection.request(method, path, text, self._spoken.headers)
        answer = self._connection.getresponse()
        said = json.loads(answer.read() or b"null")
        if answer.status == 503:  # another node may do better
            self.move_on()
        elif self._connection.sock is None:
            self.close()
        return said, said["error"]["code"] if answer.status >= 400 else None

    def _connected(self, address, port):
        made = self._spoken.connection_to((address, port), self._connect_s)
        try:
            made.connect()
        except OSError:
            made.close()
            raise
        return made

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


class GmqClient(_Caller):
    """The same over gmq, as far as it goes: seconds, no lease, no cancel and no release. A job that it
    gets does not tell when it was due."""

    grain_ms, has_all_verbs = 1000, False

    @property
    def _socket(self):
        return self._connection.socket

    _leases = itertools.count(1)

    def _connected(self, address, port):
        return PythonClient(port, self._spoken.context, address, self._connect_s)

    def _ask(self, method, param, patience_s):
        self._connection.socket.settimeout(patience_s)
        try:
            return self._connection.call(method, param), None
        except GmqError as error:
            return str(error), _code_of(str(error))

    def call(self, method, param, wait_s=0):
        return self._call(lambda: self._ask(method, param, self._answer_s + wait_s))

    def push(self, topic, id, delay_ms, ttr_ms):
        """As Client's."""
        job = {"id": id, "topic": topic, "body": id, "delay": delay_ms // 1000, "TTR": ttr_ms // 1000}
        return self.call("Push", job)[0], None

    def pop(self, topics, count, wait_ms):  # pylint: disable=unused-argument
        """One job at most; how long it waits says the node (gmq.pop_wait)."""
        outcome, said = self.call("Pop", list(topics), wait_s=POP_WAIT_S)
        if outcome == UNKNOWN and said is None:
            return None
        if outcome != OK or said == EMPTY:
            return []
        return [{"id": said["id"], "topic": said["topic"], "lease": f"gmq {next(self._leases)}",
                 "tries": said["consume_num"], "ttr_ms": said["TTR"] * 1000, "due_ms": 0,
                 "delay_ms": 0}]

    def settle(self, verb, job):  # pylint: disable=unused-argument
        """It only acknowledges."""
        return self.call("Ack", job["id"])[0]


POP_WAIT_S, EMPTY = 2, "empty"


def _code_of(error):
    """In the words of HTTP; None of what is none."""
    if error == EMPTY:
        return None
    if "has exist" in error:
        return "duplicate"
    return "not_owner" if error.startswith("TTR has expired") else error.partition(":")[0]
