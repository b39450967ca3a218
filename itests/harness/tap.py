"""A way to a TCP port that keeps what passes: what anyone on the way can read.

    with Tap("127.0.0.3", port, "127.0.0.2") as tap:    # the same port there
        ...
        assert b"secret" not in tap.seen()
"""

import socket
import threading

PIECE = 65536


class Tap:
    def __init__(self, host, port, to_host):
        self._to = (to_host, port)
        self._listener = socket.create_server((host, port))
        self._lock = threading.Lock()
        self._connections = []  # (client's socket, server's socket, [pieces of both])

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
            for source, sink in ((client, server), (server, client)):
                threading.Thread(target=_pass, args=(source, sink, pieces), daemon=True).start()


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
