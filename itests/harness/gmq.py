"""gmq clients with the habits of the published ones, and a raw socket for bad manners.

What the habits demand of a server: a whole reply in one segment (PythonClient reads once),
`error` a string or null (both print it as text), `id` as it was sent (PythonClient compares),
an answer within 30 s (PhpClient's read timeout), newline at the end of a reply (PhpClient).
"""

import itertools
import json
import socket

from harness.wait import wait_until

READ_ONCE_BYTES = 1024
PHP_READ_TIMEOUT_S = 30
HERE = "127.0.0.1"
KEYS = ["id", "result", "error"]


class GmqError(Exception):
    """The server answered with an error text."""


class LostConnection(Exception):
    """No answer: the request may have been carried out."""


def request(method, *params, id=None):
    return {"method": f"Service.{method}", "params": list(params), "id": id}


def parse_reply(line):
    """A reply as it came; fails when its form is not gmq's."""
    reply = json.loads(line)
    assert list(reply) == KEYS, f"keys in another order or number: {line!r}"
    assert reply["error"] is None or isinstance(reply["error"], str), line
    assert line.endswith(b"\n") and line.count(b"\n") == 1, line
    return reply


class _Calls:
    """The three methods, on top of call(method, *params)."""

    def push(self, topic, id, body="", delay=0, ttr=0):
        job = {"id": id, "topic": topic, "body": body, "delay": delay, "TTR": ttr}
        return self.call("Push", job)

    def pop(self, *topics):
        return self.call("Pop", list(topics))

    def ack(self, id):
        return self.call("Ack", id)

    def pop_or_none(self, *topics):
        try:
            return self.pop(*topics)
        except GmqError as error:
            assert str(error) == "empty", error
            return None

    def pop_patiently(self, *topics):
        """A job that is to come, however slow this machine is: a Pop waits two seconds."""
        return wait_until(lambda: self.pop_or_none(*topics), "a job comes")

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()


class PythonClient(_Calls):
    """One connection; one sendall and one recv(1024) a call; no newline; ids count up.
    `context`: of TLS."""

    def __init__(self, port, context=None, host=HERE, timeout_s=PHP_READ_TIMEOUT_S):
        self._ids = itertools.count()
        self.socket = _connect(port, host, timeout_s)
        if context:
            self.socket = _secured(self.socket, context, host)

    def call(self, method, *params):
        number = next(self._ids)
        text = json.dumps(request(method, *params, id=number)).encode()
        reply = parse_reply(self._ask(text))
        assert reply["id"] == number or (reply["id"], reply["result"]) == (None, None), reply
        if reply["error"] is not None:
            raise GmqError(reply["error"])
        return reply["result"]

    def _ask(self, text):
        try:
            self.socket.sendall(text)
            line = self.socket.recv(READ_ONCE_BYTES)
        except OSError as error:
            raise LostConnection(str(error)) from error
        if not line:
            raise LostConnection("closed by the server")
        return line

    def close(self):
        self.socket.close()


class PhpClient(_Calls):
    """A new connection for every call; a newline after the request; fgets until newline."""

    def __init__(self, port):
        self._port = port

    def call(self, method, *params):
        with _connect(self._port) as connection:
            text = json.dumps(request(method, *params, id=0), ensure_ascii=False)
            connection.sendall(text.encode() + b"\n")
            line = connection.makefile("rb").readline()
        if not line:
            raise LostConnection("fgets returned false")
        reply = parse_reply(line)
        if reply["error"] is not None:
            raise GmqError(reply["error"])
        return reply["result"]

    def close(self):
        pass


class RawSocket:
    """Bytes out, lines in."""

    def __init__(self, connected):
        self.socket, self._lines = connected, connected.makefile("rb")

    def send(self, data):
        self.socket.sendall(data if isinstance(data, bytes) else data.encode())

    def line(self):
        """The next line; b"" when the server has closed."""
        try:
            return self._lines.readline()
        except ConnectionResetError:
            return b""

    def is_closed_by_server(self):
        return self.line() == b""

    def close(self):
        self._lines.close()
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()


class RawClient(RawSocket):
    """Of gmq; a line is a reply."""

    def __init__(self, port, receive_buffer=None, context=None):
        connected = _connect(port)
        if receive_buffer:
            connected.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        if context:
            connected = context.wrap_socket(connected, server_hostname="localhost")
        super().__init__(connected)

    def send_request(self, method, *params, id=None):
        self.send(json.dumps(request(method, *params, id=id)))

    def reply(self):
        return parse_reply(self.line())

    def ask(self, data):
        """Sends anything that is one request, returns the reply."""
        self.send(data if isinstance(data, (str, bytes)) else json.dumps(data))
        return self.reply()


def _connect(port, host=HERE, timeout_s=PHP_READ_TIMEOUT_S):
    try:
        connection = socket.create_connection((host, port), timeout_s)
    except OSError as error:
        raise LostConnection(str(error)) from error
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def _secured(connected, context, host):
    try:
        return context.wrap_socket(connected, server_hostname=host)
    except OSError as error:
        connected.close()
        raise LostConnection(str(error)) from error
