"""A way to a TCP port that keeps what passes: what anyone on the way can read.

    with Tap("127.0.0.3", port, "127.0.0.2") as tap:    # the same port there
        ...
        assert b"secret" not in tap.seen()
        tap.cut()                                       # in the middle of an answer
"""

import socket
import threading

from harness.wait import wait_until

PIECE = 65536


class Tap:
    def __init__(self, host, port, to_host):
        self._to = (to_host, port)
        self._listener = socket.create_server((host, port))
        self._lock = threading.Lock()
        self._connections = []  # (client's socket, server's socket, [pieces of both])
        self._is_cutting = threading.Event()

    def __enter__(self):
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._lock:
            for client, server, _ in self._connections:
                _end(client)
                _end(server)

    def seen(self):
        """All bytes of all connections, each connection by itself."""
        with self._lock:
            return b"\n----\n".join(b"".join(pieces) for _, _, pieces in self._connections)

    def first_bytes(self):
        """Of each connection on which something was said."""
        with self._lock:
            return [b"".join(pieces)[0] for _, _, pieces in self._connections if pieces]

    def cut(self):
        """What the server says next ends in its middle, and with it the connection."""
        self._is_cutting.set()
        wait_until(lambda: not self._is_cutting.is_set(), "a server says something")

    def _from_server(self, server, client, pieces):
        try:
            while piece := server.recv(PIECE):
                pieces.append(piece)
                if self._is_cutting.is_set() and len(piece) > 1:
                    self._is_cutting.clear()
                    client.sendall(piece[:len(piece) // 2])
                    break
                client.sendall(piece)
        except OSError:
            pass
        _end(server)
        _end(client)

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(self._to)
            except OSError:
                client.close()
                continue
            pieces = []
            with self._lock:
                self._connections.append((client, server, pieces))
            for target, source, sink in ((_pass, client, server),
                                         (self._from_server, server, client)):
                threading.Thread(target=target, args=(source, sink, pieces), daemon=True).start()


def _pass(source, sink, pieces):
    try:
        while piece := source.recv(PIECE):
            pieces.append(piece)
            sink.sendall(piece)
    except OSError:
        pass
    _end(source)
    _end(sink)


def _end(sock):
    try:
        sock.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
