"""Those of a crowd: a connection each, that is made again when it ends; see crowd.py."""

import json
import select
import socket
import time

from harness.clock import wall_now_ms
from harness.tls_in_hand import TlsInHand
from judge.journal import OK, REFUSED, UNKNOWN, Ack, HandOver, now_ms

CONNECT_S = 3  # then it tries again
POP_WAIT_S = 5
READ_BYTES = 1 << 16
JOB = {"id": "the-crowds", "topic": "crowd", "delay": 86_400}  # all push it; one of them did


class Client:
    port_at = None  # where in an address its port is

    def __init__(self, crowd, number):
        self.crowd, self.number, self.has_left = crowd, number, False
        self.file = None  # the descriptor of its connection; None: it has none
        self.is_up = False
        self._at, self._socket, self._tls, self._text = number, None, None, b""
        self._until = None  # what is waited for comes until then, or the connection is given up

    # ---- life ----

    def go_on(self):
        """After a rest."""
        if not self.has_left and self.file is None:
            self.connect()

    def connect(self):
        self._at += 1
        address = self.crowd.addresses[self._at % len(self.crowd.addresses)]
        context = self.crowd.manner.context
        self._tls = TlsInHand(context, address[0]) if context else None
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        self.file, self._text = self._socket.fileno(), b""
        self._until = time.monotonic() + CONNECT_S
        self.crowd.watch(self)
        try:
            self._socket.connect((address[0], address[self.port_at]))
        except BlockingIOError:
            pass
        except OSError:
            self.end()

    def leave(self):
        self.has_left = True
        if self.file is not None:
            self._close()

    def end(self):
        """The connection has ended, or is given up. In the middle of a handshake there was no room: a
        node says nothing then that it could understand."""
        was_up, was_taken = self.is_up, self._tls is None or self._tls.is_up
        self._close()
        if was_up:
            self.on_lost()
        if was_up and was_taken:
            self.crowd.lost += 1
            self.connect()
        else:
            self.crowd.failed += 1
            self.crowd.turned_away += was_up
            self.crowd.rest(self)

    def look(self, now):
        if self.file is not None and self._until is not None and now > self._until:
            self.crowd.unheard += self.is_up
            self.end()

    def _close(self):
        self.crowd.forget(self)
        self._socket.close()
        self.file, self.is_up, self._until = None, False, None

    # ---- what happens ----

    def on_event(self, events):
        try:
            if not self.is_up:
                self._come_up()
            elif events & (select.EPOLLIN | select.EPOLLHUP | select.EPOLLERR):
                self._read()
        except OSError:
            self.end()

    def _come_up(self):
        error = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if error:
            raise OSError(error, "connect")
        self.is_up, self._until = True, None
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.crowd.watch_input(self)
        self.on_up()

    def _read(self):
        text = self._socket.recv(READ_BYTES)
        if not text:
            raise ConnectionResetError
        text = self._decrypted(text) if self._tls else text
        if self.is_up:
            self._text += text
        while self.is_up and (taken := self.take(self._text)):
            self._text = self._text[taken:]

    def _decrypted(self, text):
        text, answer = self._tls.came(text)
        if answer:
            self._send(answer)
        return text

    def _give_up(self):
        self._close()
        self.crowd.rest(self)

    def say(self, text, wait_s=0):
        """The server may let it wait so long for an answer."""
        self._until = time.monotonic() + wait_s + self.crowd.answer_s
        self._send(self._tls.sent(text) if self._tls else text)

    def _send(self, text):
        try:
            if self._socket.send(text) != len(text):
                raise BlockingIOError  # a request is smaller than any buffer
        except OSError:
            self.end()

    def be_answered(self):
        self._until = None

    # ---- its own ----

    def on_up(self):
        raise NotImplementedError

    def on_lost(self):
        """Before it connects again."""

    def take(self, text):
        """How many bytes of it were a whole answer; 0: there is none yet."""
        raise NotImplementedError


class Idle(Client):
    """Silent, but for one request when it comes, and one when it is told to ask."""

    port_at = 1

    def __init__(self, crowd, number):
        super().__init__(crowd, number)
        self.owes = True
        self._asked = 0

    def ask(self):
        if self.has_left:
            return
        self.owes = True
        if self.is_up:
            self.on_up()

    def on_up(self):
        if self.owes:
            self._asked += 1
            self.say(json.dumps({"method": "Service.Push", "params": [JOB],
                                 "id": self._asked}).encode())

    def take(self, text):
        line, end, _ = text.partition(b"\n")
        if not end:
            return 0
        answer = json.loads(line)
        word = (answer["error"] or "success").partition(":")[0]
        if word in ("success", "jobKey"):  # it has just come to be there, or was there
            assert answer["id"] == self._asked, f"{answer} is the answer to another"
            self.owes = False
            self.be_answered()
        elif word == "too_many":  # the connection ends
            self.crowd.turned_away += 1
            self.is_up = False  # for which it is no loss
        else:
            assert word in ("shutting_down", "unavailable", "unknown"), answer
            self.is_up = False
            self.crowd.failed += 1
        if not self.is_up:
            self._give_up()
        return len(line) + 1


class Consumer(Client):
    """Waits for a job in a topic of its own, and acknowledges it."""

    port_at = 2

    def __init__(self, crowd, number):
        super().__init__(crowd, number)
        self.topic = f"crowd-{number}"
        self.is_waiting = False  # as far as it knows
        self.settled = set()     # jobs that it has acknowledged, as far as anybody knows
        self._asked_ms = None
        self._job, self._is_acking = None, False  # one that is to be acknowledged, or is

    def on_up(self):
        if self._job:
            self._ack()
        else:
            self._pop()

    def on_lost(self):
        self.is_waiting = False
        if self._is_acking:
            self._settle(UNKNOWN)

    def leave(self):
        super().leave()
        self.is_waiting = False

    def go_on(self):
        if not self.is_up:
            super().go_on()
        elif self._job and not self._is_acking:
            self._ack()

    def _pop(self):
        self._asked_ms, self.is_waiting = now_ms(), True
        self._post(f"/v1/topics/{self.topic}/pop?wait_ms={POP_WAIT_S * 1000}",
                   wait_s=POP_WAIT_S)

    def _ack(self):
        self._asked_ms, self._is_acking = now_ms(), True
        self._post(f"/v1/topics/{self.topic}/jobs/{self._job['id']}/ack",
                   json.dumps({"lease": self._job["lease"]}).encode())

    def _post(self, path, body=b"", wait_s=0):
        fields = {"Host": "crowd", "Content-Length": len(body), **self.crowd.manner.headers}
        head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        self.say(f"POST {path} HTTP/1.1\r\n{head}\r\n".encode() + body, wait_s)

    def take(self, text):
        head, end, rest = text.partition(b"\r\n\r\n")
        length = _length_of(head) if end else 0
        if not end or len(rest) < length:
            return 0
        self.be_answered()
        self._on_answer(int(head.split()[1]), rest[:length])
        return len(head) + len(end) + length

    def _on_answer(self, status, body):
        if self._is_acking:
            self._on_acked(status, body)
        elif status == 200:
            jobs = json.loads(body)["jobs"]
            if jobs:
                self._on_job(jobs[0])
            self.on_up()
        else:  # the node is full, stops, or has no Redis
            assert status == 503, body
            self.is_waiting = self.is_up = False
            self.crowd.failed += 1
            self._give_up()

    def _on_job(self, job):
        self._job, self.is_waiting = job, False
        node = "%s:%d" % self._socket.getpeername()
        self.crowd.journal.add(HandOver(job["id"], job["topic"], job["lease"], job["tries"] + 1,
                                        job["due_ms"], self._asked_ms, now_ms(), wall_now_ms(),
                                        node, job["delay_ms"]))

    def _on_acked(self, status, body):
        if status == 204:
            self._settle(OK)
            self._pop()
        elif status == 504:
            self._settle(UNKNOWN)
            self._pop()
        else:
            assert status == 503, body  # to be said again
            self._write(REFUSED)
            self.crowd.refused += 1
            self.crowd.rest(self)

    def _settle(self, outcome):
        self.settled.add(self._job["id"])
        self._write(outcome)
        self._job = None

    def _write(self, outcome):
        self._is_acking = False
        self.crowd.journal.add(Ack(self._job["id"], self._asked_ms, now_ms(), outcome))


def _length_of(head):
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
    return 0
