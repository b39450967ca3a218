"""HTTP by hand, for bad manners: bytes out, replies in."""

import json
import select
import socket
import struct

from harness.gmq import RawSocket
from harness.http_api import Reply

TIMEOUT_S = 30
BODYLESS = (100, 204, 304)


class RawHttp(RawSocket):
    """`context`: of TLS."""

    def __init__(self, port, receive_buffer=None, context=None):
        connected = socket.socket()
        if receive_buffer:
            connected.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        connected.settimeout(TIMEOUT_S)
        connected.connect(("127.0.0.1", port))
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if context:
            connected = context.wrap_socket(connected, server_hostname="localhost")
        super().__init__(connected)

    def request(self, method, target, body=b"", headers=""):
        length = f"Content-Length: {len(body)}\r\n" if body else ""
        self.send(f"{method} {target} HTTP/1.1\r\nHost: h\r\n{length}{headers}\r\n".encode() + body)

    def reply(self, to_head=False):
        """The next reply; None when the server has closed."""
        first = self.line()
        if not first:
            return None
        status = int(first.split()[1])
        pairs = [line.decode().rstrip("\r\n").split(": ", 1)
                 for line in iter(self.line, b"\r\n")]
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

    def is_silent_for(self, seconds):
        """Nothing comes: no reply, no end."""
        poll = select.poll()
        poll.register(self.socket, select.POLLIN)
        return not poll.poll(seconds * 1000)

    def reset(self):
        """Leaves with an RST."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close()
