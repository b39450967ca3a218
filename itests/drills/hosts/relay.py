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
        start(self._accept_all)

    def close(self):
        for each in [self._listener, *self._open]:
            end(each)
        self._listener.close()

    def _accept_all(self):
        while True:
            try:
                client = self._listener.accept()[0]
            except OSError:
                return  # closed
            start(self._relay, client)

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
        for each in self.carry(client, server):
            each.join()
        self._open -= {client, server}
        for each in (client, server):
            each.close()

    def carry(self, client, server):
        """The threads that pass on what both say, until either ends."""
        waiting = queue.SimpleQueue()
        return [start(self._take_in, client, waiting), start(_pass_late, waiting, server),
                start(_pass, server, client)]

    def _take_in(self, source, waiting):
        with suppress(OSError):
            while data := source.recv(CHUNK):
                waiting.put((time.monotonic() + self.delay_ms / 1000, data))
        waiting.put(None)
        end(source)


def _pass_late(waiting, target):
    with suppress(OSError):
        while item := waiting.get():
            at, data = item
            time.sleep(max(0, at - time.monotonic()))  # the fault's length
            target.sendall(data)
    end(target)


def _pass(source, target):
    with suppress(OSError):
        while data := source.recv(CHUNK):
            target.sendall(data)
    end(source)
    end(target)


def end(connection):
    """Wakes whoever waits for it."""
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


def start(call, *arguments):
    thread = threading.Thread(target=call, args=arguments, daemon=True)
    thread.start()
    return thread
