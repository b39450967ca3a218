"""A Sentinel that says what a test wants: another deployment's, or one that knows less.

    with ScriptedSentinel(("127.0.0.1", 6379), epoch=3) as sentinel:
        sentinel.says(other, epoch=4)      # from the next question on

Answers any name of a master. A connection that listens for +switch-master is told of nothing.
"""

import socket
import threading


def bulk(text):
    data = str(text).encode()
    return b"$%d\r\n%s\r\n" % (len(data), data)


def array(*items):
    return b"*%d\r\n" % len(items) + b"".join(items)


def read_command(stream):
    """The words of one command; None at the end."""
    line = stream.readline()
    if not line:
        return None
    words = []
    for _ in range(int(line[1:])):
        length = int(stream.readline()[1:])
        words.append(stream.read(length + 2)[:-2].decode())
    return words


class ScriptedSentinel:
    """`asked` counts the questions it has answered, `listened` the connections that have
    subscribed, `listeners` those that still are."""

    def __init__(self, master, epoch):
        self._master, self._epoch = master, epoch
        self._lock = threading.Lock()
        self._asking = set()
        self.asked = self.listened = self.listeners = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.drop_asking()

    @property
    def address(self):
        return f"127.0.0.1:{self._listener.getsockname()[1]}"

    def says(self, master, epoch):
        with self._lock:
            self._master, self._epoch = master, epoch

    def drop_asking(self):
        """Closes the connections that ask, and leaves those that listen alone."""
        with self._lock:
            for connection in self._asking:
                connection.shutdown(socket.SHUT_RDWR)

    def _accept(self):
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        is_listening = False
        with connection, connection.makefile("rb") as stream:
            with self._lock:
                self._asking.add(connection)
            try:
                while words := read_command(stream):
                    if words[0].upper() == "SUBSCRIBE":
                        is_listening = True
                        self._note_listener(connection)
                    connection.sendall(self._answer(words))
            except OSError:
                pass
            with self._lock:
                self._asking.discard(connection)
                self.listeners -= is_listening

    def _note_listener(self, connection):
        with self._lock:
            self._asking.discard(connection)
            self.listened += 1
            self.listeners += 1

    def _answer(self, words):
        with self._lock:
            if words[0].upper() == "PING":
                return b"+PONG\r\n"
            if words[0].upper() == "SUBSCRIBE":
                return array(bulk("subscribe"), bulk(words[1]), b":1\r\n")
            if words[:2] == ["SENTINEL", "MASTER"]:
                return array(bulk("name"), bulk(words[2]),
                             bulk("config-epoch"), bulk(self._epoch))
            self.asked += 1
            return array(bulk(self._master[0]), bulk(self._master[1]))
