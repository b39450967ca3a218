#!/usr/bin/python3
"""A client that knows one address: a program of its own, and nobody else's work in its times.

    view_client.py FILE PORT MANNER ADDRESS...

MANNER is a Manner of safety.py, as JSON. For each address, until SIGTERM: a *visit* every 10 ms (20 over
TLS), which is a new connection, one request, its answer, and waits for no other; and connections that
stay open, each made anew 0, 10 or 50 ms after its end (and every 10 ms at least, as long as that
fails):

    callers    a request every 10 ms
    waiters    blocked in a pop, they get a job now and then; half of them send probes of their own
               (TCP keepalive), the others trust the node's
    watchers   ask once, and look for the end
    late       read a fifth of a second after they asked
    deaf       ask and never read, until they have waited for long; they are told nothing, and
               nobody asks them
    vanishing  gone without an end, as a host that lost its power; neither are they asked

SIGUSR1: no more jobs are pushed.

All of it goes to FILE as JSON lines (view.py says which), what was pushed, handed over and
acknowledged in the words of journal.py. One thread, nothing that blocks.

Frames that begin or reset a connection are looked at on their way in: the hardware addresses in
them tell the hosts apart that have had the address. Who is reset by another host than that which
took the connection has been *crossed* by the address on its way.
"""

import errno
import heapq
import itertools
import json
import os
import selectors
import signal
import socket
import sys
import time
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[2])  # `drills` is a package

# pylint: disable=wrong-import-position
from drills.clients.view_frames import Frames
from drills.hosts.safety import Manner
from harness.tls_in_hand import TlsInHand
from judge.journal import DENIALS, now_ms

TOPIC = "view"
EVERY_MS, JOB_EVERY_MS = 10, 25  # jobs: of all addresses together
DELAYS_MS = (0, 50)  # of jobs, in turn: some become due while nobody leads
CALLERS, WAITERS, WATCHERS, LATE = 3, 4, 3, 1
AGAIN_MS = (0, 10, 50)  # by number
LATE_MS, VANISH_MS = 200, 1_000
TCP_REPAIR = 19
WAIT_MS = 30_000
PATIENCE_MS, WAIT_PATIENCE_MS = 3_000, WAIT_MS + 5_000
TTR_MS = 4_000
KEEPALIVE = ((socket.TCP_KEEPIDLE, 1), (socket.TCP_KEEPINTVL, 1), (socket.TCP_KEEPCNT, 3))
INFO_BYTES, RESENT_AT = 104, 100  # struct tcp_info: tcpi_total_retrans
WORDS = {errno.ECONNREFUSED: "refused", errno.ECONNRESET: "reset", errno.EPIPE: "reset",
         errno.EHOSTUNREACH: "unreachable", errno.ENETUNREACH: "unreachable",
         errno.ENETDOWN: "unreachable"}
ANSWERED, IN_ORDER, CLOSED, SILENT = "answered", "in order", "closed", "silent"
RESET, CROSSED, VANISHED, REFUSED = "reset", "crossed", "vanished", "refused"


class Loop:
    """Sockets, timers, and the file."""

    def __init__(self, path, manner):
        self.selector, self.frames, self.manner = selectors.DefaultSelector(), Frames(), manner
        self.selector.register(self.frames.socket, selectors.EVENT_READ, self.frames.read)
        self._timers, self._order, self._lines = [], itertools.count(), []
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        self.is_over = False

    def at(self, when_ms, call):
        heapq.heappush(self._timers, (when_ms, next(self._order), call))

    def write(self, event, **members):
        self._lines.append(json.dumps({"event": event, **members}) + "\n")

    def run(self):
        while not self.is_over:
            for key, _ in self.selector.select(self._pause_s()):
                key.data()
            now = now_ms()
            while self._timers and self._timers[0][0] <= now:
                heapq.heappop(self._timers)[2]()
            if self._lines:
                os.write(self._file, "".join(self._lines).encode())
                self._lines = []

    def _pause_s(self):
        return max(0, self._timers[0][0] - now_ms()) / 1000 if self._timers else None


class Wire:
    """A connection with one request at a time. Its owner is told `connected()`, `replied(status,
    said)` and, as the last of all, `ended(how)`."""

    def __init__(self, loop, address, port, owner, probes=False):
        self._loop, self._owner = loop, owner
        self._host = f"[{address}]" if ":" in address else address
        self._text, self._asked_ms, self._is_connected, self.is_open = b"", None, False, True
        self.is_last = False  # the node has said that it will close
        self._is_read = True
        self._tls = TlsInHand(loop.manner.context, address) if loop.manner.context else None
        self._later_ms = None  # read_later(), when what was asked is on its way
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self._socket = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if probes:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            for name, value in KEEPALIVE:
                self._socket.setsockopt(socket.IPPROTO_TCP, name, value)
        error = self._socket.connect_ex((address, port))
        self._port = self._socket.getsockname()[1]
        if error not in (0, errno.EINPROGRESS):
            loop.at(0, lambda: self._end(error))
        loop.selector.register(self._socket, selectors.EVENT_WRITE, self._on_event)
        self._be_patient(PATIENCE_MS)

    def ask(self, method, path, body=None, patience_ms=PATIENCE_MS):
        if self.is_last:
            self._loop.at(now_ms() + PATIENCE_MS, lambda: self._end(SILENT))
            return
        text = json.dumps(body).encode() if body is not None else b""
        fields = {"Host": self._host, "Content-Length": len(text), **self._loop.manner.headers}
        head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        data = f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + text
        self._be_patient(patience_ms)
        self._send(self._tls.sent(data) if self._tls else data)

    def _send(self, data):
        try:
            self._socket.send(data)
        except OSError as error:
            code = error.errno  # the name goes with its block
            self._loop.at(0, lambda: self._end(code))

    def resent(self):
        """How often something had to be sent again: a frame was lost, however slow who is."""
        info = self._socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, INFO_BYTES)
        return int.from_bytes(info[RESENT_AT:RESENT_AT + 4], sys.byteorder)

    def read_later(self, ms):
        """What comes until then is not looked at; but a handshake is brought to its end."""
        if self._tls and not self._tls.is_up:
            self._later_ms = ms
            return
        self._loop.selector.unregister(self._socket)
        self._is_read = False

        def read():
            if self.is_open and not self._is_read:
                self._is_read = True
                self._loop.selector.register(self._socket, selectors.EVENT_READ, self._on_event)

        self._loop.at(now_ms() + ms, read)

    def vanish(self):
        """Nothing is sent of that."""
        if self.is_open:
            self._socket.setsockopt(socket.IPPROTO_TCP, TCP_REPAIR, 1)
            self._end(VANISHED)

    def close(self):
        self.is_open = False
        if self._is_read:
            self._loop.selector.unregister(self._socket)
        self._socket.close()

    def _be_patient(self, ms):
        """Until an answer; whoever asks later has time of its own."""
        asked = self._asked_ms = now_ms()
        self._loop.at(asked + ms, lambda: self._asked_ms == asked and self._end(SILENT))

    def _end(self, how):
        if self.is_open:
            self.close()
            how = how if isinstance(how, str) else WORDS.get(how, SILENT)  # ETIMEDOUT: silent
            if how == RESET and self._loop.frames.is_by_another(self._port):
                how = CROSSED
            self._owner.ended(how)

    def _on_event(self):
        if not self.is_open:
            return  # closed by what came before it in this turn
        if not self._is_connected:
            error = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if error:
                self._end(error)
                return
            self._is_connected = True
            self._loop.selector.modify(self._socket, selectors.EVENT_READ, self._on_event)
            self._owner.connected()
            return
        try:
            text = self._socket.recv(1 << 16)
        except BlockingIOError:
            return
        except OSError as error:
            self._end(error.errno)
            return
        if not text:
            self._end(IN_ORDER if self._asked_ms is None else CLOSED)
            return
        if self._tls:
            text = self._decrypted(text)
        self._text += text
        self._take_reply()

    def _decrypted(self, text):
        try:
            text, answer = self._tls.came(text)
        except OSError:
            self._end(REFUSED)  # the handshake
            return b""
        if answer:
            self._send(answer)
        if self._later_ms and self._tls.is_up:
            ms, self._later_ms = self._later_ms, None
            self.read_later(ms)
        return text

    def _take_reply(self):
        head, found, rest = self._text.partition(b"\r\n\r\n")
        if not found:
            return
        fields = dict(line.lower().split(": ", 1) for line in head.decode().split("\r\n")[1:])
        length = int(fields.get("content-length", 0))
        if len(rest) < length:
            return
        self._text, self._asked_ms = rest[length:], None
        self.is_last = fields.get("connection") == "close"
        status, said = int(head.split()[1]), json.loads(rest[:length] or b"null")
        code = said["error"]["code"] if status >= 400 else None
        if code in DENIALS:
            self._loop.write("denied", node=self._host, ended_ms=now_ms(), code=code)
        self._owner.replied(status, said)


class Visit:
    """A new connection, one question: who are you? A number that is missing has not ended yet."""

    _numbers = itertools.count(1)

    def __init__(self, loop, address, port):
        self._loop = loop
        self._seen = {"number": next(self._numbers), "address": address, "begun_ms": now_ms(),
                      "connected_ms": None, "ended_ms": None, "how": None, "node": None,
                      "role": None, "resent": 0}
        self._wire = Wire(loop, address, port, self)

    def connected(self):
        self._seen.update(connected_ms=now_ms(), resent=self._wire.resent())
        self._wire.ask("GET", "/v1/cluster")

    def replied(self, status, said):
        self._seen.update(node=said.get("node"), role=said.get("role"))
        self._wire.close()
        self.ended(ANSWERED if status == 200 else str(status))

    def ended(self, how):
        self._seen.update(ended_ms=now_ms(), how=how)
        self._loop.write("visit", **self._seen)


class Tie:
    """A connection that is to stay, made anew whenever it breaks. It asks first who it is with."""

    kind, probes = None, False
    _numbers, _clients = itertools.count(1), itertools.count(1)

    def __init__(self, loop, address, port, again_ms):
        self.loop, self._address, self._port = loop, address, port
        self._client, self._again_ms = next(self._clients), again_ms
        self.number = self.node = None
        self.answered_ms = 0
        self._begin()

    def _begin(self):
        self.number = self.node = self._connected_ms = None
        self._begun_ms, self._resent = now_ms(), 0
        self.wire = Wire(self.loop, self._address, self._port, self, self.probes)

    def connected(self):
        self._connected_ms, self._resent = now_ms(), self.wire.resent()
        self.wire.ask("GET", "/v1/cluster")

    def replied(self, status, said):
        self.answered_ms = now_ms()
        if self.number is not None or self.wire.is_last:
            self.go_on(status, said)
            return
        self.number, self.node = next(self._numbers), said.get("node")
        self.loop.write("tie", number=self.number, kind=self.kind, address=self._address,
                        node=self.node, begun_ms=self._begun_ms, answered_ms=self.answered_ms,
                        probes=self.probes, client=self._client, resent=self._resent,
                        connected_ms=self._connected_ms)
        self.go_on(None, None)

    def go_on(self, status, said):
        """The next request. The first time there was no answer before it."""
        raise NotImplementedError

    def ended(self, how):
        pause_ms = max(self._again_ms, EVERY_MS)
        if self.number is not None:
            self.loop.write("untied", number=self.number, ended_ms=now_ms(), how=how,
                            answered_ms=self.answered_ms)
            pause_ms = self._again_ms
        self.loop.at(now_ms() + pause_ms, self._begin)


class Caller(Tie):
    kind = "calling"
    _next_ms = 0

    def go_on(self, status, said):
        self._next_ms = max(self._next_ms + EVERY_MS, now_ms())
        wire = self.wire
        self.loop.at(self._next_ms, lambda: wire.is_open and wire.ask("GET", "/health/live"))


class Watcher(Tie):
    kind = "watching"

    def go_on(self, status, said):
        pass


class Late(Caller):
    kind = "late"

    def go_on(self, status, said):
        super().go_on(status, said)
        self.wire.read_later(LATE_MS)


class Deaf(Tie):
    kind = "deaf"

    def connected(self):
        super().connected()
        self.wire.read_later(WAIT_MS)  # its patience ends before


class Vanishing(Caller):
    kind = "vanishing"

    def connected(self):
        wire = self.wire
        self.loop.at(now_ms() + VANISH_MS, wire.vanish)
        super().connected()


def outcome_of(status, said):
    """What an answer says of a change: it may also have happened."""
    if status < 400:
        return "ok"
    return "unknown" if said["error"]["code"] == "unknown" else "refused"


class Waiter(Tie):
    """Pops, and acknowledges what it gets."""

    kind = "waiting"
    _asked_ms, _acked = 0, None

    def go_on(self, status, said):
        if self._acked:
            self._note_ack(outcome_of(status, said))
        elif status == 200 and said.get("jobs"):
            self._take(*said["jobs"])
            return
        self._asked_ms = now_ms()
        self.wire.ask("POST", f"/v1/topics/{TOPIC}/pop?count=1&wait_ms={WAIT_MS}",
                      patience_ms=WAIT_PATIENCE_MS)

    def _take(self, job):
        self.loop.write("hand_over", id=job["id"], topic=job["topic"], lease=job["lease"],
                        attempt=job["tries"] + 1, due_ms=job["due_ms"], asked_ms=self._asked_ms,
                        received_ms=now_ms(), redis_ms=time.time_ns() / 1e6, node=self.node)
        if not self.wire.is_last:  # else it comes again
            self._acked = job["id"], now_ms()
        self.wire.ask("POST", f"/v1/topics/{TOPIC}/jobs/{job['id']}/ack", {"lease": job["lease"]})

    def _note_ack(self, outcome):
        id, sent_ms = self._acked
        self._acked = None
        self.loop.write("ack", id=id, sent_ms=sent_ms, ended_ms=now_ms(), outcome=outcome)

    def ended(self, how):
        if self._acked:
            self._note_ack("unknown")
        super().ended(how)


class ProbingWaiter(Waiter):
    probes = True


class Pusher:
    """One job over a new connection, never a second time."""

    _numbers = itertools.count(1)

    def __init__(self, loop, address, port):
        self._loop = loop
        number = next(self._numbers)
        self._id, self._sent_ms, self._is_sent = f"view-{number}", now_ms(), False
        self._delay_ms = DELAYS_MS[number % len(DELAYS_MS)]
        self._wire = Wire(loop, address, port, self)

    def connected(self):
        self._is_sent = True
        self._wire.ask("POST", f"/v1/topics/{TOPIC}/jobs",
                       {"id": self._id, "body": self._id, "ttr_ms": TTR_MS,
                        "delay_ms": self._delay_ms})

    def replied(self, status, said):
        self._wire.close()
        self._note(outcome_of(status, said), said.get("due_ms"))

    def ended(self, how):  # pylint: disable=unused-argument
        self._note("unknown" if self._is_sent else "refused")

    def _note(self, outcome, due_ms=None):
        self._loop.write("push", id=self._id, topic=TOPIC, ttr_ms=TTR_MS,
                         delay_ms=self._delay_ms, sent_ms=self._sent_ms, ended_ms=now_ms(), outcome=outcome, due_ms=due_ms)


def repeat(loop, every_ms, call):
    """Now, and so often; what was missed while nothing ran is left out. Ends by `call` being
    false."""
    begun = now_ms()
    if call():
        loop.at(max(begun + every_ms, now_ms()), lambda: repeat(loop, every_ms, call))


def main():
    path, port, addresses = sys.argv[1], int(sys.argv[2]), sys.argv[4:]
    loop, pushes = Loop(path, Manner.of_json(sys.argv[3])), [True]
    every_ms = EVERY_MS * (2 if loop.manner.context else 1)  # a handshake is work, for both
    for address in addresses:
        repeat(loop, every_ms, lambda address=address: Visit(loop, address, port))
        repeat(loop, JOB_EVERY_MS * len(addresses),
               lambda address=address: pushes and Pusher(loop, address, port))
        kinds = [*[Caller] * CALLERS, *[Watcher] * WATCHERS, *[Late] * LATE, Deaf, Vanishing,
                 *[Waiter, ProbingWaiter] * (WAITERS // 2)]
        for number, kind in enumerate(kinds):
            kind(loop, address, port, AGAIN_MS[number % len(AGAIN_MS)])
    wake, waker = socket.socketpair()
    waker.setblocking(False)
    signal.set_wakeup_fd(waker.fileno())
    loop.selector.register(wake, selectors.EVENT_READ, lambda: wake.recv(64))
    signal.signal(signal.SIGUSR1, lambda *_: pushes.clear())
    signal.signal(signal.SIGTERM, lambda *_: setattr(loop, "is_over", True))
    loop.run()


if __name__ == "__main__":
    main()
