"""The two servers whose answers are compared."""

from contextlib import contextmanager
from pathlib import Path

from beanstalkd.draw import BODY_BYTES_MAX
from beanstalkd.runs import Pair, Server
from harness.beanstalkd import Beanstalkd, connect
from harness.node import Node
from harness.ports import free_port


def settings(port, body_bytes=BODY_BYTES_MAX):
    """Of a node that is to be like the other one. `port`: or the path of a unix socket."""
    listen = f"unix:{port}" if isinstance(port, str) else f"127.0.0.1:{port}"
    return {"beanstalkd.listen": listen, "limits.body_bytes": body_bytes}


@contextmanager
def itself(directory, is_unix=False):
    with Beanstalkd(directory, False, BODY_BYTES_MAX, is_unix) as one, \
            Beanstalkd(directory, False, BODY_BYTES_MAX, is_unix) as other:
        yield Pair(_server(one), _server(other))


def _server(beanstalkd):
    """Small numbers are nobody's ids, as with a node."""
    with connect(beanstalkd.port) as link, link.makefile("rb") as replies:
        for number in range(1, 21):
            link.sendall(b"put 0 0 1 0\r\n\r\ndelete %d\r\n" % number)
            assert [replies.readline(), replies.readline()] == [b"INSERTED %d\r\n" % number, b"DELETED\r\n"]
    return Server(beanstalkd.port, beanstalkd.process.pid)


@contextmanager
def pair(directory, is_unix=False):
    place = Path(directory) / "node"
    place.mkdir()
    port = str(place / "socket") if is_unix else free_port()
    node = Node(place, settings(port))
    with Beanstalkd(directory, False, BODY_BYTES_MAX, is_unix) as one:
        try:
            node.start()
            yield Pair(_server(one), Server(port, node.warden_pid))
            node.stop()
        finally:
            node.destroy()
