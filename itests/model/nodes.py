"""What is tested: some nodes on one Redis, with rules for topics in their configuration, and the
doors through which a client asks them.

Standalone nodes that share a Redis all scan, each has its own consumers, and each must tell the
same of every job. The model's client knows one `Doors`; which node it asks is in `at`. A liar
(see mutants.py) may stand behind every door.
"""

import json
from contextlib import contextmanager
from pathlib import Path

from harness.background import in_background
from harness.clock import wall_now_ms
from harness.gmq import GmqError
from harness.node import Node
from harness.redis_server import RedisServer
from harness.wait import PATIENCE_S
from model.rules import ROWS, as_yaml

# A pop of gmq's does not wait at the first node, and for longer than any test at the others.
POP_WAIT = ["0s", "20s"]


def _node(directory, number, redis):
    directory.mkdir()
    rules = directory / "dueq.yaml"
    rules.write_text(as_yaml(ROWS))
    node = Node(directory, {"node.id": f"node-{number}", "store.redis": redis.address,
                            "gmq.pop_wait": POP_WAIT[min(number, 1)],
                            "limits.idle": "7d"})  # connections are kept for long
    node.argv = lambda argv=node.argv: [*argv(), "--config", rules]
    return node


@contextmanager
def house(directory, number, on_node=lambda node: None):
    """`number` running nodes. `on_node` is told of each, whatever becomes of it."""
    directory = Path(directory)
    redis = RedisServer(directory / "redis").start()
    nodes = []
    try:
        for each in range(number):
            nodes.append(_node(directory / f"node{each}", each, redis))
            on_node(nodes[-1])
            nodes[-1].start()
        yield nodes
        for node in nodes:
            node.stop()
    finally:
        for node in nodes:
            node.destroy()
        redis.stop()


class Truth:
    """Stands behind a door and changes nothing. Liars are made from it."""

    def __init__(self, ask, node):
        self.ask, self.node = ask, node

    def __call__(self, method, target, body=b""):
        return self.ask(method, target, body)

    def gmq(self, call, method, param):
        return call(method, param)


class Doors:
    """Connections to all nodes, opened when they are needed. Use it as a context."""

    def __init__(self, nodes, behind=Truth, patience_s=PATIENCE_S):
        self.nodes, self.at = nodes, 0
        self.patience_s = patience_s  # for what a healthy node does long before
        self._behind = behind
        self._contract = None
        self._asking, self._idle, self._gmq, self._opened = {}, {}, {}, []

    def _keep(self, connection):
        self._opened.append(connection)
        return connection

    def _http(self, node):
        api = self._keep(self.nodes[node].api())
        if self._contract:
            api._contract = self._contract  # pylint: disable=protected-access
        self._contract = api.contract
        return self._behind(api.ask, node)

    # ---- one after the other ----

    def ask(self, method, target, body=b""):
        if self.at not in self._asking:
            self._asking[self.at] = self._http(self.at)
        return self._asking[self.at](method, target, body)

    def gmq(self, consumer, method, param):
        """(result, error text or None)"""
        key = (self.at, consumer)
        if key not in self._gmq:
            connection = self._keep(self.nodes[self.at].raw_client())
            self._gmq[key] = _caller(connection), self._behind(None, self.at)
        call, liar = self._gmq[key]
        return _told(liar, call, method, param)

    # ---- side by side ----

    def later(self, method, target):
        """A future: the reply, and when it came."""
        idle = self._idle.setdefault(self.at, [])
        ask = idle.pop() if idle else self._http(self.at)

        def wait():
            reply = ask(method, target)
            came_ms = wall_now_ms()
            idle.append(ask)
            return reply, came_ms

        return in_background(wait)

    def gmq_later(self, method, param):
        """A future: ((result, error), when they came). Its connection is its own."""
        connection = self.nodes[self.at].raw_client()
        liar = self._behind(None, self.at)

        def wait():
            with connection:
                return _told(liar, _caller(connection), method, param), wall_now_ms()

        return in_background(wait)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        for connection in self._opened:
            connection.close()


def _caller(connection):
    def call(method, param):
        reply = connection.ask(json.dumps(
            {"method": f"Service.{method}", "params": [param], "id": 0}))
        if reply["error"] is not None:
            raise GmqError(reply["error"])
        return reply["result"]

    return call


def _told(liar, call, method, param):
    try:
        return liar.gmq(call, method, param), None
    except GmqError as error:
        return None, str(error)
