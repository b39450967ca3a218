"""The two servers whose answers are compared."""

from contextlib import contextmanager
from pathlib import Path

from beanstalkd.draw import BODY_BYTES_MAX
from beanstalkd.runs import Ports
from harness.beanstalkd import Beanstalkd
from harness.node import Node
from harness.ports import free_port


def settings(port, body_bytes=BODY_BYTES_MAX):
    """Of a node that is to be like the other one."""
    return {"beanstalkd.listen": f"127.0.0.1:{port}", "limits.body_bytes": body_bytes}


@contextmanager
def itself(directory):
    with Beanstalkd(directory, False, BODY_BYTES_MAX) as one, \
            Beanstalkd(directory, False, BODY_BYTES_MAX) as other:
        yield Ports(one.port, other.port)


@contextmanager
def pair(directory):
    port = free_port()
    place = Path(directory) / "node"
    place.mkdir()
    node = Node(place, settings(port))
    with Beanstalkd(directory, False, BODY_BYTES_MAX) as one:
        try:
            node.start()
            yield Ports(one.port, port)
            node.stop()
        finally:
            node.destroy()
