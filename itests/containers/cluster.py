"""The cluster of docker-compose.yml, for the drills: what drills.hosts.cluster.Cluster is for hosts in
namespaces, of containers in an engine of the test's own.

Clients are on the engine's machine, so to speak: where its bridges are, and its published ports.
Half of the load goes over the virtual address, half over HAProxy; each goes on to the other when
its own does not answer.
"""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import redis

from containers.images import NODE
from containers.node import CLIENTS, INSIDE, ContainerNode
from drills.clients.load import TOPICS
from drills.clients.view import TOPIC as VIEW_TOPIC
from drills.clients.view import View
from drills.hosts.nodes import STEADY_S, Electing
from harness.build import ROOT
from harness.engine import COMPOSE
from harness.node import answer_of
from harness.wait import wait_until

COMPOSE_S = 300
HISTORY_BYTES = "64MiB"  # of a bucket: a run's whole history
TENURE_S = 5  # a node gives its lead away for its address once in that time
NETWORKS = {CLIENTS: "172.31.213", INSIDE: "172.31.214"}  # the first three numbers
VIP, PUBLISHED, HTTP_PORT, REDIS_PORT = f"{NETWORKS[CLIENTS]}.100", "127.0.0.1", 8000, 6379
PROJECT = "drill"
SECRET, PASSWORD = "only for the drills", "only-for-the-drills"  # they end with the engine


@dataclass(frozen=True)
class ContainerPlan:
    """As drills.hosts.cluster.Plan, as far as rounds look at it."""

    mode: str = "standby"
    session_ms: int = 2000
    tick_ms: int = 500
    wrong_clock: str = ""
    shares: bool = False
    lock_ms: int = 0
    round_trip_ms: int = 0


class Client:
    """Where the engine's bridges are: as drills' hosts, as far as load and view need it."""

    def __init__(self, engine):
        self.name, self.netns, self.entered = "client", engine.name, engine.entered

    def command(self, argv):
        return ["ip", "netns", "exec", self.netns, *argv]


class ContainerCluster(Electing):
    """`engine` has the images."""

    spares, network, holders, bystander, ledger, elects = (), None, None, None, None, True
    clocks = ()
    networks = NETWORKS

    def __init__(self, engine, directory, plan=ContainerPlan()):
        self.engine, self.directory, self.plan = engine, Path(directory), plan
        self.client = Client(engine)
        self.redis, self.nodes = Master(engine), []
        self.store = SimpleNamespace(masters=[self.redis])
        self.view = View(self.directory, self.client, [VIP], HTTP_PORT)

    def __enter__(self):
        try:
            self.compose("up", "-d")
            volumes = self.engine.data / "volumes"
            self.nodes = [ContainerNode(self, number, volumes / f"{PROJECT}_node{number}/_data")
                          for number in (1, 2, 3)]
            self.wait_steady()
            self._keep_history()
        except BaseException as error:
            error.add_note(self.logs())
            self.__exit__()
            raise
        return self

    def __exit__(self, *unused):
        self.view.destroy()
        self.try_compose("unpause")
        self.compose("down", "--volumes", "--timeout", "2")

    # ---- docker-compose ----

    def compose(self, *words, tag="latest"):
        done = self.try_compose(*words, tag=tag)
        assert done.returncode == 0, f"docker-compose {' '.join(words)}:\n{done.stderr[-4000:]}"
        return done.stdout.strip()

    def try_compose(self, *words, tag="latest"):
        nothing = self.directory / "env"  # of somebody's own cluster here
        nothing.touch()
        argv = [COMPOSE, "--env-file", nothing, "-p", PROJECT, *words]
        return subprocess.run(argv, cwd=ROOT, env=self._env(tag), check=False, text=True,
                              capture_output=True, timeout=COMPOSE_S)

    def _env(self, tag):
        own = {key: value for key, value in self.engine.env.items()
               if not key.startswith(("DUEQ_", "REDIS_", "COMPOSE_PROJECT"))}
        return {**own, "DUEQ_SECRET": SECRET, "DUEQ_REDIS_PASSWORD": PASSWORD,
                "DUEQ_ZOOKEEPER_AUTH": f"dueq:{PASSWORD}", "DUEQ_CLIENTS": NETWORKS[CLIENTS],
                "DUEQ_INSIDE": NETWORKS[INSIDE], "DUEQ_VIP": VIP,
                "DUEQ_IMAGE": NODE, "DUEQ_TAG": tag,
                "DUEQ_PUBLISH": PUBLISHED, "DUEQ_HTTP_PORT": str(HTTP_PORT),
                "DUEQ_GMQ_PORT": "9503", "DUEQ_MIN_REPLICAS": "1", "DUEQ_JOURNAL": "true",
                "DUEQ_HISTORY_BYTES": HISTORY_BYTES,
                "DUEQ_SESSION_TIMEOUT": f"{self.plan.session_ms}ms",
                "DUEQ_TENURE": f"{TENURE_S}s", "DUEQ_LOG_LEVEL": "info"}

    @staticmethod
    def network_name(network):
        return f"{PROJECT}_{network}"

    def logs(self):
        """The last of all that all containers say."""
        return self.try_compose("logs", "--no-color", "--tail", "40").stdout[-30000:]

    # ---- life ----

    def wait_steady(self):
        """Until all nodes are ready, one leads, and each has kept its role for a while."""
        for node in self.nodes:
            wait_until(node.is_ready, f"{node.name} is ready", STEADY_S, interval_s=0.02)
        self.wait_elected()

    def _keep_history(self):
        """Of all jobs of the load: it says who moved them."""
        for topic in (*TOPICS, VIEW_TOPIC):
            self.nodes[0].ctl("topic", "set", topic, "history=true")

    # ---- where it is ----

    def addresses(self):
        """Where clients connect."""
        return [(VIP, HTTP_PORT), (PUBLISHED, HTTP_PORT)]

    def is_led_to(self, host):
        """Does the leader answer there?"""
        with self.engine.entered():
            status, text = answer_of(f"http://{host}:{HTTP_PORT}/v1/status", timeout_s=5)
        return status == 200 and json.loads(text)["name"] == self.leader().name


class Master:
    """The Redis that holds the jobs."""

    def __init__(self, engine):
        self._engine = engine

    def client(self):
        for number in (21, 22):
            found = redis.Redis(f"{NETWORKS[INSIDE]}.{number}", REDIS_PORT, password=PASSWORD,
                                socket_timeout=20)
            with self._engine.entered():  # it connects there, and stays connected
                if found.role()[0] == b"master":
                    return found
        raise AssertionError("no Redis is the master")
