"""Free TCP ports.

Taken below the range the kernel gives to outgoing connections: a client that keeps trying to
connect to a port in that range sooner or later gets it as its own source port, is connected to
itself, and the server cannot have its port back.
"""

import random
import socket

_given = set()


def free_port():
    """A port on loopback that nobody listens on, never the same twice in one run."""
    top = _first_outgoing_port()
    while True:
        port = random.SystemRandom().randrange(10000, top)
        if port not in _given and _is_free(port):
            _given.add(port)
            return port


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
