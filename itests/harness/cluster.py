"""A cluster on this machine: a ZooKeeper ensemble, one Redis (or `redis`, a RedisCluster), and nodes
that stand by for each other.

    cluster = Cluster(directory, session_ms=1000).start("a", "b", "c")
    cluster.leader().kill("worker")
    cluster.wait_leader(other_than="a")
"""

import json
from contextlib import contextmanager
from pathlib import Path

from harness.dueqctl import Dueqctl
from harness.node import Node
from harness.ports import free_port
from harness.redis_server import RedisServer
from harness.users import SECRET, secret_file
from harness.wait import wait_until
from harness.zookeeper import Ensemble


def page_of(node):
    """GET /v1/cluster"""
    status, text = node.http("/v1/cluster")
    assert status == 200, text
    return json.loads(text)


def are_members(page, names):
    """Could each of them lead? The leader has taken it in, it is here, and so is its Redis."""
    rows = {row["name"]: row for row in page["nodes"]}
    return all(name in rows and rows[name]["here"] and rows[name]["member"]
               and rows[name]["store_up"]
               for name in names)


@contextmanager
def running_cluster(directory, request, names, **settings):
    """One for all tests of a module: stopped in order at the end, or killed after a failure of
    its own. What its nodes said is shown with a test that fails."""
    made = Cluster(directory)
    try:
        made.start(*names, **settings)
        request.node.dueq_nodes = list(made.nodes.values())
        yield made
        made.stop()
    finally:
        made.destroy()


class Cluster:
    def __init__(self, directory, session_ms=2000, min_session_ms=1000, redis=None):
        self.directory = Path(directory)
        self.session_ms = session_ms
        self.zookeeper = Ensemble(self.directory / "zookeeper", tick_ms=200,
                                  min_session_ms=min_session_ms)
        self.redis = redis or RedisServer(self.directory / "redis", appendonly="yes",
                                          appendfsync="always")
        self.secret_file = self.directory / "secret"
        self.nodes = {}

    # ---- life ----

    def start(self, *names, **settings):
        """ZooKeeper, Redis, and nodes of these names; until one leads and all are members."""
        self.start_servers()
        for name in names:
            self.add(name, **settings).launch()
        for name in names:
            self.nodes[name].wait_ready()
        self.wait_members(*names)
        return self

    def start_servers(self):
        self.directory.mkdir(parents=True, exist_ok=True)
        secret_file(self.secret_file, SECRET)
        self.zookeeper.start()
        self.redis.start()

    def settings(self, name):
        return {
            "node.id": name, "store.redis": self.redis.address, "ha.mode": "standby",
            "ha.zookeeper": self.zookeeper.addresses, "ha.secret_file": self.secret_file,
            "ha.session_timeout": f"{self.session_ms}ms",
            "ha.peer.listen": f"127.0.0.1:{free_port()}"}

    def add(self, name, **more):
        """A node, not started. More settings: ha_priority=70, or None to take one away."""
        directory = self.directory / name
        directory.mkdir(exist_ok=True)
        settings = self.settings(name)
        settings.update({key.replace("__", ".").replace("ha_", "ha.", 1): value
                         for key, value in more.items()})
        settings = {key: value for key, value in settings.items() if value is not None}
        self.nodes[name] = Node(directory, settings)
        return self.nodes[name]

    def stop(self):
        for node in self.nodes.values():
            node.stop()

    def destroy(self):
        for node in self.nodes.values():
            node.destroy()
        self.redis.destroy()
        self.zookeeper.destroy()

    # ---- looking ----

    def ctl(self, name=None):
        """dueqctl for this node, or for any that is ready."""
        node = self.nodes[name] if name else next(n for n in self.nodes.values()
                                                  if n.process and n.is_ready())
        return Dueqctl(node.url())

    def leader_name(self):
        """Whose /health/leader says so; None where nobody's does."""
        return next((name for name, node in self.nodes.items()
                     if node.process and node.http("/health/leader")[0] == 200), None)

    def wait_leader(self, other_than=None):
        def found():
            name = self.leader_name()
            return name if name != other_than else None

        return wait_until(found, f"a node other than {other_than} leads", interval_s=0.01)

    def leader(self):
        return self.nodes[self.wait_leader()]

    def page(self, name=None):
        return page_of(self.nodes[name or self.wait_leader()])

    def others(self, name):
        """The names of all but this one."""
        return [each for each in self.nodes if each != name]

    def wait_members(self, *names):
        wait_until(lambda: are_members(self.page(), names), f"{names} are members")

    def logs(self):
        return "".join(f"---- {name}\n{node.output()}" for name, node in self.nodes.items())
