"""The relay on the way to a server: it passes on, late when it is told to, and ends with either."""

import socket
import threading
import time
from contextlib import suppress

import pytest

from drills.hosts.relay import Relay
from harness.wait import wait_until

LATE_MS = 150


class Echo:
    """Answers with what it is sent."""

    def __init__(self, host):
        with host.entered():
            self._listener = socket.create_server((host.address, 7))
        self.address, self.connections = (host.address, 7), []
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                self.connections.append(self._listener.accept()[0])
            except OSError:
                return
            threading.Thread(target=self._echo, args=self.connections[-1:], daemon=True).start()

    @staticmethod
    def _echo(connection):
        while data := connection.recv(1 << 16):
            connection.sendall(data)
        connection.close()

    def close(self):
        with suppress(OSError):  # closed already
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


@pytest.fixture
def way(network):
    """(host, echo, relay)"""
    host = network.add_host("redis")
    echo = Echo(host)
    relay = Relay(host, 8, echo.address)
    yield host, echo, relay
    relay.close()
    echo.close()


def connect(host):
    with host.entered():
        connection = socket.create_connection((host.address, 8), 20)
    return connection


def asked(connection, text):
    connection.sendall(text)
    return answer(connection, len(text))


def answer(connection, count):
    with connection.makefile("rb") as stream:
        return stream.read(count)


def test_it_passes_on_all_that_is_sent_in_its_order(way):
    text = bytes(range(256)) * 4000
    with connect(way[0]) as connection:
        writer = threading.Thread(target=connection.sendall, args=(text,))
        writer.start()
        assert answer(connection, len(text)) == text
        writer.join()


def test_what_is_sent_is_late(way):
    host, _, relay = way
    relay.delay_ms = LATE_MS
    with connect(host) as connection:
        began = time.monotonic()
        assert asked(connection, b"a") == b"a"
        assert time.monotonic() - began >= LATE_MS / 1000
        relay.delay_ms = 0
        assert asked(connection, b"b") == b"b"


def test_it_ends_with_the_client_and_with_the_server(way):
    host, echo, _ = way
    with connect(host) as connection:
        assert asked(connection, b"a") == b"a"
        echo.connections[0].shutdown(socket.SHUT_RDWR)
        assert connection.recv(1) == b""
    with connect(host) as connection:
        assert asked(connection, b"a") == b"a"
    wait_until(lambda: echo.connections[-1].fileno() == -1, "the server's side has ended")


def test_a_server_that_is_not_there(way):
    host, echo, _ = way
    echo.close()
    with connect(host) as connection:
        assert connection.recv(1) == b""
