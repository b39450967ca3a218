"""beanstalkd's protocol, from the client's side: Debian's own server, what a reply is, a plain client."""

import itertools
import re
import shutil
import socket
from pathlib import Path

from harness.ports import free_port
from harness.process import Process, kill_now
from harness.wait import wait_until

PROGRAM = "/usr/bin/beanstalkd"
BODY_BYTES_MAX = 1 << 20  # as dueq's limits.body_bytes
HERE = "127.0.0.1"
WITH_BODY = re.compile(rb"(?:RESERVED \d+|FOUND \d+|OK) (\d+)\r\n\Z")
_numbers = itertools.count(1)


class Beanstalkd:
    """`with Beanstalkd(directory, is_synced=True) as peer:` a running one, empty, on
    peer.port. Synced: its log is on the disk before it answers (-f 0); else it has none.
    `is_unix`: on a unix socket, whose path is peer.port."""

    def __init__(self, directory, is_synced, body_bytes=BODY_BYTES_MAX, is_unix=False):
        self._directory = Path(directory) / f"beanstalkd{next(_numbers)}"
        self._is_synced, self._body_bytes = is_synced, body_bytes
        self.port = str(self._directory / "socket") if is_unix else free_port()
        self.process = None

    def __enter__(self):
        log = self._directory / "log"
        log.mkdir(parents=True)
        place = ["-l", f"unix:{self.port}"] if isinstance(self.port, str) else ["-l", HERE, "-p", self.port]
        words = [PROGRAM, *place, "-z", self._body_bytes]
        if self._is_synced:
            words += ["-b", log, "-f", 0]
        self.process = Process(words, self._directory / "output")
        try:
            wait_until(self._accepts_or_died, "beanstalkd accepts")
            assert self.process.returncode is None, self.process.output()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *unused):
        if self.process.returncode is None:
            kill_now([self.process.pid])
        self.process.wait()
        shutil.rmtree(self._directory)

    def _accepts_or_died(self):
        try:
            connect(self.port).close()
            return True
        except OSError:
            return self.process.returncode is not None


def reply_bytes(buffer):
    """How long the first reply in it is; 0 when it is not whole yet."""
    end = buffer.find(b"\r\n") + 2
    if end < 2:
        return 0
    with_body = WITH_BODY.match(buffer[:end])
    if with_body:
        end += int(with_body[1]) + 2
    return end if len(buffer) >= end else 0


def connect(port, host=HERE, timeout_s=None):
    """`port`: or the path of a unix socket."""
    if isinstance(port, str):
        connected = socket.socket(socket.AF_UNIX)
        connected.settimeout(timeout_s)
        connected.connect(port)
        return connected
    connected = socket.create_connection((host, port), timeout_s)
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connected


class Lost(Exception):
    """No answer: the command may have been carried out."""


class Client:
    """One connection; ask(line) is the whole reply, with its body, without the last line's end.
    `context`: of TLS."""

    def __init__(self, port, host=HERE, timeout_s=60, context=None):
        try:
            self.socket = connect(port, host, timeout_s)
            if context:
                self.socket = context.wrap_socket(self.socket, server_hostname=host)
        except OSError as error:
            raise Lost(str(error)) from error
        self._buffer = b""

    def ask(self, line, body=None):
        self.send(line, body)
        return self.reply()

    def send(self, line, body=None):
        data = line.encode() + b"\r\n"
        if body is not None:
            data += body + b"\r\n"
        self.send_raw(data)

    def send_raw(self, data):
        try:
            self.socket.sendall(data)
        except OSError as error:
            raise Lost(str(error)) from error

    def reply(self):
        while not (size := reply_bytes(self._buffer)):
            try:
                came = self.socket.recv(65536)
            except OSError as error:
                raise Lost(str(error)) from error
            if not came:
                raise Lost("closed by the server")
            self._buffer += came
        reply, self._buffer = self._buffer[:size - 2], self._buffer[size:]
        return reply

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()
