"""Free TCP ports.

Taken below the range the kernel gives to outgoing connections: a client that keeps trying to
connect to a port in that range sooner or later gets it as its own source port, is connected to
itself, and the server cannot have its port back.

Between the choice and the server's start a port is nobody's, and between a server's end and its
next start again. So each is claimed: the process that chose it locks the byte of its number in a
file of this user and temporary directory, until the process ends.
"""

import fcntl
import os
import random
import socket
import tempfile

_given = set()
# It stays open: closed, it would give all its locks away.
_claims = open(  # pylint: disable=consider-using-with
    os.path.join(tempfile.gettempdir(), f"dueq-test-ports-{os.getuid()}"), "ab")


def free_port():
    """A port on loopback that nobody listens on, and that nobody else's test is given."""
    top = _first_outgoing_port()
    while True:
        port = _draw(top)
        if port not in _given and _claim(port) and _is_free(port):
            _given.add(port)
            return port


def _draw(top):
    return random.SystemRandom().randrange(10000, top)


def _claim(port):
    try:
        fcntl.lockf(_claims, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, port)
    except (BlockingIOError, PermissionError):  # which of them, is the system's choice
        return False
    return True


def _first_outgoing_port():
    with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as file:
        return int(file.read().split()[0])


def _is_free(port):
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
