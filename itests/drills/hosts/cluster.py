"""What a drill is about: nodes, Redis, ZooKeeper and clients, each on a host of one network.

    zk1 zk2 zk3    ZooKeeper (none in standalone mode)
    redis          Redis, append-only file with fsync before every answer (or as stores.py has it)
    n1 n2 ...      nodes
    client         producers and consumers; and, where a plan says so, who knows the address only
    bystander      says nothing but a datagram to the address: a neighbour that has to be told

Everything runs in namespaces of its own, and all of it is gone when the block ends.
"""

from dataclasses import dataclass, field, replace
from pathlib import Path

from drills.clients.view import View
from drills.hosts import safety
from drills.hosts.cluster_store import ClusterStore
from drills.hosts.names import SlowNames
from drills.hosts.nodes import (GMQ_PORT, HTTP_PORT, PEER_PORT, STEADY_S, TUBES_PORT, Electing,
                                HostNode, in_order_of_time)
from drills.hosts.stores import Store, StorePlan, WatchedStore
from drills.hosts.uplink import Uplink
from harness.build import wallclock_library
from harness.network import Network
from harness.slow_network import SlowNetwork
from harness.wait import wait_until
from harness.zookeeper import CLIENT, Ensemble
from judge.address import HolderWatch
from judge.journal import Clock, now_ms
from judge.ledger import LOCK_MS, Ledger

SECRET = "only for the drills"  # no secret: the network ends with the drill
HISTORY = {"topics": [{"name": "*", "history": True}], "queue.history_bytes": "64MiB"}  # of all

STANDBY, CLUSTER, STANDALONE, REHEARSAL = "standby", "cluster", "standalone", "rehearsal"


@dataclass(frozen=True)
class Plan:
    """What kind of cluster. In CLUSTER mode all nodes scan.

    REHEARSAL is for the drills' own sake: ZooKeeper is there, but all nodes are standalone, on one
    Redis. Any may be taken for the leader, and no fault changes that."""

    mode: str = STANDBY
    nodes: int = 3
    session_ms: int = 2000
    tick_ms: int = 500
    settings: dict = field(default_factory=dict)
    lock_ms: int = LOCK_MS         # of a topic, in CLUSTER mode
    wrong_clock: str = ""          # of "node" or "redis": can be set
    zookeeper_names: bool = False  # host names instead of addresses, for a slow name service
    uplinks: bool = False          # from each node to ZooKeeper, on which packets can be made late
    slow_cables: bool = False      # of all hosts: can be slow, and lose some
    round_trip_ms: int = 0         # of these, at their slowest
    vip: str = ""                  # the virtual address, or several with commas between
    has_tubes: bool = False        # nodes speak beanstalkd's protocol, too
    is_viewed: bool = False        # by a client that knows it alone, and a bystander
    program: Path = None           # of all nodes at first; None: the build under test
    store: StorePlan = StorePlan()

    @property
    def shares(self):
        """Do all nodes scan?"""
        return self.mode == CLUSTER


class Cluster(Electing):
    def __init__(self, directory, plan=Plan()):
        self.directory, self.plan = Path(directory), plan
        self.network = SlowNetwork() if plan.slow_cables else Network()
        self.zookeeper = self.store = self.client = self.ledger = None
        self.names = None
        self.nodes, self.spares, self.uplinks = [], [], {}  # uplinks by a host's name
        self.clocks = []  # what Redis's was set to
        self.holders = self.view = self.bystander = None
        self._held = []  # what the kernels of the nodes' hosts have said of the address

    def __enter__(self):
        self.network.__enter__()
        try:
            self._add_zookeeper()
            self._add_names()
            self._add_store()
            self._add_nodes()
            self.client = self.network.add_host("client")
            self._add_watchers()
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *unused):
        for each in filter(None, (self.view, self.holders, *self.nodes, *self.spares,
                                  self.zookeeper, self.store)):
            each.destroy()
        for each in filter(None, (*self.uplinks.values(), self.names, self.ledger)):
            each.close()
        self.network.__exit__()

    def _add_zookeeper(self):
        if self.plan.mode == STANDALONE:
            return
        hosts = [self.network.add_host(f"zk{number}") for number in (1, 2, 3)]
        self.zookeeper = Ensemble(self.directory, self.plan.tick_ms, hosts=hosts,
                                  min_session_ms=min(1000, self.plan.session_ms))

    def _add_names(self):
        if self.plan.zookeeper_names:
            table = {f"{each.host.name}.drill": each.address for each in self.zookeeper.servers}
            self.names = SlowNames(self.network.add_host("dns"), table)

    def _add_store(self):
        """And, where somebody will ask, who reads what it writes."""
        plan = self.plan.store
        is_read = self.plan.shares or plan.has_masters
        kind = (ClusterStore if plan.has_masters else WatchedStore if plan.is_watched else Store)
        self.store = kind(self.network, self.directory / "redis",
                          replace(plan, keeps_log=is_read), self._clock_env("redis", "redis"))
        if is_read:
            self.ledger = Ledger(self.store.logs)

    def _add_nodes(self):
        for number in range(self.plan.nodes):
            self.nodes.append(self._node(f"n{number + 1}", self.plan.program))

    def _add_watchers(self):
        if self.vips:
            self.holders = HolderWatch([node.host for node in self.nodes], self.vips,
                                       self._held.append)
        if self.vips and self.plan.is_viewed:
            self.bystander = self.network.add_host("bystander")
            self.view = View(self.directory, self.client, self.vips, HTTP_PORT)

    def _node(self, name, program=None, settings=()):
        host = self.network.add_host(name)
        directory = self.directory / name
        directory.mkdir()
        if self.names:
            self.names.serve(host)
        if self.plan.uplinks:
            servers = [(each.address, each.ports[CLIENT]) for each in self.zookeeper.servers]
            self.uplinks[name] = Uplink(host, servers)
        return HostNode(directory, host, {**self.settings_of(host), **dict(settings)},
                        self._clock_env("node", name), program)

    def _clock_env(self, whose, name):
        """The environment of a program whose wall clock can be set."""
        if self.plan.wrong_clock != whose:
            return {}
        path = self.directory / f"{name}.offset"
        path.write_text("0\n")
        return {"LD_PRELOAD": str(wallclock_library()), "DUEQ_WALLCLOCK": str(path)}

    def set_clocks(self, ahead_s):
        """The wall clocks that can be set: so far ahead of the true time."""
        if self.plan.wrong_clock == "redis":
            self.clocks.append(Clock(now_ms(), ahead_s * 1000))
        for path in self.directory.glob("*.offset"):
            path.write_text(f"{ahead_s}\n")

    def settings_of(self, host):
        settings = {"store.redis": self.store.address,
                    "store.strict": self.plan.store.is_safe,
                    **self._tubes_settings(host), **HISTORY, **self.plan.settings}
        if not self.elects:
            return settings
        return {"ha.mode": self.plan.mode, "ha.zookeeper": self._zookeeper_of(host),
                "ha.cluster": "drill", "ha.session_timeout": f"{self.plan.session_ms}ms",
                "ha.secret": SECRET, "ha.peer.listen": f"{host.address}:{PEER_PORT}",
                "ha.journal": True, **self._vip_settings(host), **self._lock_settings(),
                **settings}

    def _tubes_settings(self, host):
        return {"beanstalkd.listen": f"{host.address}:{TUBES_PORT}"} if self.plan.has_tubes else {}

    def _lock_settings(self):
        return {"queue.lock_time": f"{self.plan.lock_ms}ms"} if self.plan.shares else {}

    def _vip_settings(self, host):
        """A node listens everywhere then: the address comes and goes."""
        if not self.vips:
            return {}
        everywhere = "[::]" if any(":" in vip for vip in self.vips) else "0.0.0.0"
        return {"vip.address": self.plan.vip, "ha.advertise": host.address,
                "gmq.listen": f"{everywhere}:{GMQ_PORT}",
                "http.listen": f"{everywhere}:{HTTP_PORT}"}

    def _zookeeper_of(self, host):
        if self.plan.uplinks:
            return self.uplinks[host.name].addresses
        if self.plan.zookeeper_names:
            return ",".join(f"{each.host.name}.drill:2181" for each in self.zookeeper.servers)
        return self.zookeeper.addresses

    # ---- life ----

    def start(self):
        self.store.start()
        if self.zookeeper:
            self.zookeeper.start()
        for node in self.nodes:
            node.launch()
        if safety.current():
            safety.current().introduce_clients(self.nodes)
        self.wait_steady()

    def add_spare(self, name, settings, program=None):
        """One more node with some settings, and a program, of its own, not started. It knows of no
        virtual address: most are not of this cluster."""
        self.spares.append(self._node(name, program, {"vip.address": "", **settings}))
        return self.spares[-1]

    def wait_steady(self):
        """Until all nodes are ready, one of them leads, and the others could."""
        self.store.wait_steady()
        for node in self.nodes:
            if node.process is None:
                node.launch()
        for node in self.nodes:
            wait_until(node.is_ready_or_ended, f"{node.name} is ready", STEADY_S, interval_s=0.02)
        if self.zookeeper:
            self.zookeeper.wait_serving()
        if self.elects:
            self.wait_elected()
        if self.plan.shares:
            self.wait_shared(self.nodes)

    def wait_shared(self, nodes, after=0):
        """Until these nodes know that they scan, they and no others; the view, one after that."""
        def shared():
            seen = {node.view() for node in nodes}
            view, count = seen.pop()
            return not seen and count == len(nodes) and view > after and view

        return wait_until(shared, f"{[node.name for node in nodes]} scan", STEADY_S,
                          interval_s=0.02)

    # ---- who is who ----

    @property
    def redis(self):
        """The one that holds the jobs now."""
        return self.store.server

    @property
    def elects(self):
        return self.plan.mode in (STANDBY, CLUSTER)

    @property
    def vips(self):
        """The virtual addresses; none where nobody is elected."""
        return self.plan.vip.split(",") if self.plan.vip and self.elects else []

    def leader(self):
        return super().leader() if self.elects else self.nodes[0]

    def hosts_of(self, *groups):
        """The hosts of "zookeeper", "nodes", "redis", "client", or of a node."""
        found = {"zookeeper": [each.host for each in self.zookeeper.servers]
                 if self.zookeeper else [], "nodes": [node.host for node in self.nodes],
                 "redis": self.store.hosts, "client": [self.client]}
        return [host for group in groups for host in found[group]]

    def peers_of(self, node):
        return [each.host for each in self.nodes if each is not node]

    def addresses(self):
        """Where clients connect."""
        return [node.http_address for node in self.nodes]

    def events(self):
        """And what their kernels told."""
        return in_order_of_time([*self._held, *super().events()])

    def stalls(self):
        """Nothing where their clocks are set."""
        return [] if self.plan.wrong_clock == "node" else super().stalls()

    def members(self):
        own = self.nodes[0].settings.get("ha.cluster")
        return [node for node in (*self.nodes, *self.spares)
                if node.settings.get("ha.cluster") == own]
