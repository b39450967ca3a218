"""A relay on the way to a server, on which all that is sent can be made late.

What comes in is passed on in its order, `delay_ms` after it came; what is answered is passed on at
once. A connection that ends on one side ends on the other.
"""

import queue
import socket
import threading
import time
from contextlib import suppress

CHUNK = 1 << 16
CONNECT_S = 20


class Relay:
    """Listens on `host` at `port` for connections to `server`, a pair of address and port."""

    def __init__(self, host, port, server):
        self._host, self._server, self.delay_ms = host, server, 0
        self._open = set()
        with host.entered():
            self._listener = socket.create_server((host.address, port))
        _start(self._accept_all)

    def close(self):
        for each in [self._listener, *self._open]:
            _end(each)
        self._listener.close()

    def _accept_all(self):
        while True:
            try:
                client = self._listener.accept()[0]
            except OSError:
                return  # closed
            _start(self._relay, client)

    def _relay(self, client):
        try:
            with self._host.entered():
                server = socket.create_connection(self._server, CONNECT_S)
        except OSError:
            client.close()
            return
        server.settimeout(None)
        for each in (client, server):
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._open |= {client, server}
        waiting = queue.SimpleQueue()
        threads = [_start(self._take_in, client, waiting), _start(_pass_late, waiting, server),
                   _start(_pass, server, client)]
        for each in threads:
            each.join()
        self._open -= {client, server}
        for each in (client, server):
            each.close()

    def _take_in(self, source, waiting):
        with suppress(OSError):
            while data := source.recv(CHUNK):
                waiting.put((time.monotonic() + self.delay_ms / 1000, data))
        waiting.put(None)
        _end(source)


def _pass_late(waiting, target):
    with suppress(OSError):
        while item := waiting.get():
            at, data = item
            time.sleep(max(0, at - time.monotonic()))  # the fault's length
            target.sendall(data)
    _end(target)


def _pass(source, target):
    with suppress(OSError):
        while data := source.recv(CHUNK):
            target.sendall(data)
    _end(source)
    _end(target)


def _end(connection):
    """Wakes whoever waits for it."""
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


def _start(call, *arguments):
    thread = threading.Thread(target=call, args=arguments, daemon=True)
    thread.start()
    return thread
