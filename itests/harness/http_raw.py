"""HTTP by hand, for bad manners: bytes out, replies in."""

import json
import select
import socket
import struct

from harness.http_api import Reply

TIMEOUT_S = 30
BODYLESS = (100, 204, 304)


class RawHttp:
    def __init__(self, port, timeout_s=TIMEOUT_S, receive_buffer=None):
        self.socket = socket.socket()
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(timeout_s)
        self.socket.connect(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._lines = self.socket.makefile("rb")

    def send(self, data):
        self.socket.sendall(data if isinstance(data, bytes) else data.encode())

    def request(self, method, target, body=b"", headers=""):
        length = f"Content-Length: {len(body)}\r\n" if body else ""
        self.send(f"{method} {target} HTTP/1.1\r\nHost: h\r\n{length}{headers}\r\n".encode() + body)

    def reply(self, to_head=False):
        """The next reply; None when the server has closed."""
        first = self._line()
        if not first:
            return None
        status = int(first.split()[1])
        pairs = [line.decode().rstrip("\r\n").split(": ", 1)
                 for line in iter(self._line, b"\r\n")]
        reply = Reply(status, pairs, b"")
        if status not in BODYLESS and not to_head:
            reply.body = self._lines.read(int(reply.headers["content-length"]))
            if reply.headers["content-type"] == "application/json":
                reply.json = json.loads(reply.body)
        return reply

    def error(self):
        """(status, code) of the next reply, which is an error."""
        reply = self.reply()
        return reply.status, reply.json["error"]["code"]

    def _line(self):
        try:
            return self._lines.readline()
        except ConnectionResetError:
            return b""

    def is_closed_by_server(self):
        return self._line() == b""

    def is_silent_for(self, seconds):
        """Nothing comes: no reply, no end."""
        poll = select.poll()
        poll.register(self.socket, select.POLLIN)
        return not poll.poll(seconds * 1000)

    def reset(self):
        """Leaves with an RST."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close()

    def close(self):
        self._lines.close()
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()
