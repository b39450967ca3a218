"""A node in a container: found by its service, looked at through its journal, which lies in its
volume, and met with by the words of docker.
"""

import json
import os
import select
from pathlib import Path

from drills.hosts.nodes import Journaled
from harness.background import in_background
from harness.node import answer_of
from harness.wait import wait_until
from judge.journal import Tail, now_ms
from judge.stalls import told_stalls

CLIENTS, INSIDE = "clients", "inside"
FIRST = 40  # node1 has the address .41 in both networks
STOP_S, KILL_S, PAUSE_S = 30, 60, 30


class ContainerNode(Journaled):
    """`number` is its place in docker-compose.yml, `directory` its volume."""

    def __init__(self, cluster, number, directory):
        self.cluster, self.engine = cluster, cluster.engine
        self.name, self.number = f"node{number}", number
        self._journal = Tail(Path(directory) / "ha.journal")
        self._launched_ms, self._stalls = 0, []
        self.id = self._find()

    def _find(self):
        """Of its container: another one after an upgrade."""
        return self.cluster.compose("ps", "-q", self.name)

    # ---- looking ----

    @property
    def http_address(self):
        return f"{self.cluster.networks[CLIENTS]}.{FIRST + self.number}", 8000

    def http(self, path):
        with self.engine.entered():
            return answer_of("http://%s:%d%s" % (*self.http_address, path))

    def is_ready(self):
        return self.http("/health/ready")[0] == 200

    def cluster_status(self):
        return json.loads(self.http("/v1/cluster")[1])

    def version(self):
        return json.loads(self.http("/v1/status")[1])["version"]

    def ctl(self, *words):
        """dueqctl in its container: what it prints."""
        return self.engine.docker("exec", self.id, "dueqctl", *words)

    def try_ctl(self, *words):
        """Did it do as it was told?"""
        return self.engine.try_docker("exec", self.id, "dueqctl", *words).returncode == 0

    def log(self):
        done = self.engine.try_docker("logs", self.id)
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    def stalls(self):
        """What its log says of standing still, and those of its containers before."""
        return [*self._stalls, *told_stalls(self.name, self.log())]

    def facts(self, template):
        """docker inspect --format."""
        return self.engine.docker("inspect", "--format", template, self.id)

    def state(self):
        """Its container, what that does, since when, and where its networks end."""
        return self.facts("{{.Id}} {{.State.Status}} {{.State.StartedAt}}"
                          "{{range .NetworkSettings.Networks}} {{.EndpointID}}{{end}}")

    def has_address(self, address):
        """Is it on one of its interfaces?"""
        table = self.engine.docker("exec", self.id, "cat", "/proc/net/fib_trie")
        return f"|-- {address}\n" in table

    # ---- faults ----

    def kill(self):
        """docker kill. When its first process was gone, with whom all others go: docker takes its
        time before it sends the signal, and before it says so."""
        first = os.pidfd_open(self.engine.pid_of(int(self.facts("{{.State.Pid}}"))))
        try:
            ended = in_background(_end_of, first)
            self.engine.docker("kill", self.id)
            return ended.result()
        finally:
            os.close(first)

    def start(self):
        self._launched_ms = now_ms()
        self.engine.docker("start", self.id)

    def stop(self):
        """docker stop; the exit code."""
        self.engine.docker("stop", "--time", STOP_S, self.id)
        return int(self.facts("{{.State.ExitCode}}"))

    def pause(self):
        """Tried again where the engine gave up: on a busy machine not all stands still in time."""
        def is_paused():
            return (self.engine.try_docker("pause", self.id).returncode == 0
                    or self.facts("{{.State.Paused}}") == "true")

        wait_until(is_paused, f"{self.name} is paused", PAUSE_S)

    def unpause(self):
        self.engine.docker("unpause", self.id)

    def disconnect(self, *networks):
        for network in networks:
            self.engine.docker("network", "disconnect", self.cluster.network_name(network), self.id)

    def connect(self, *networks):
        """Again, with the address that the file gives it."""
        for network in networks:
            address = f"{self.cluster.networks[network]}.{FIRST + self.number}"
            self.engine.docker("network", "connect", "--ip", address,
                               self.cluster.network_name(network), self.id)

    def recreate(self, tag):
        """As an operator upgrades it: another image, or the same once more, the same volume."""
        self._launched_ms, self._stalls = now_ms(), self.stalls()
        self.cluster.compose("up", "-d", "--no-deps", "--force-recreate", self.name, tag=tag)
        self.id = self._find()

    def check_sanitizers(self):
        """The image's build has none."""


def _end_of(descriptor):
    ended, _, _ = select.select([descriptor], [], [], KILL_S)
    assert ended, f"it lives on {KILL_S} s after docker kill"
    return now_ms()
