"""A node in a container: found by its service, looked at through its journal, which lies in its
volume, and met with by the words of docker.
"""

import json
import os
import select
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path

from drills.journal import LEADER, Role, Tail, now_ms

CLIENTS, INSIDE = "clients", "inside"
STOP_S = 30


class ContainerNode:
    """`number` is its place in docker-compose.yml, `directory` its volume."""

    def __init__(self, cluster, number, directory):
        self.cluster, self.engine = cluster, cluster.engine
        self.name, self.number = f"node{number}", number
        self._journal = Tail(Path(directory) / "ha.journal")
        self._launched_ms = now_ms()

    # ---- looking ----

    @property
    def id(self):
        """Of its container: another one after an upgrade."""
        return self.cluster.compose("ps", "-q", self.name)

    @property
    def http_address(self):
        return f"{self.cluster.clients_net}.{40 + self.number}", 8000

    def http(self, path):
        """(status, text); (0, reason) when nobody answers."""
        url = "http://%s:%d%s" % (*self.http_address, path)
        with self.engine.entered():
            try:
                with urllib.request.urlopen(url, timeout=10) as answer:
                    return answer.status, answer.read().decode()
            except urllib.error.HTTPError as error:
                return error.code, error.read().decode()
            except OSError as error:
                return 0, str(error)

    def is_ready(self):
        return self.http("/health/ready")[0] == 200

    def version(self):
        return json.loads(self.http("/v1/status")[1])["version"]

    def ctl(self, *words):
        """dueqctl in its container: what it prints."""
        return self.engine.docker("exec", self.id, "dueqctl", *words)

    def log(self):
        done = self.engine.try_docker("logs", self.id)
        return done.stdout + done.stderr

    def facts(self, template):
        """docker inspect --format."""
        return self.engine.docker("inspect", "--format", template, self.id)

    def addresses(self):
        """Those that it has now, of all its interfaces, as text."""
        return set(self.engine.docker("exec", self.id, "sh", "-c",
                                      "cat /proc/net/fib_trie").split())

    # ---- as a member of a cluster ----

    def events(self):
        """Its journal so far."""
        return self._journal.events()

    def role(self):
        """Its last change of role; None before the first."""
        return next((each for each in reversed(self.events()) if isinstance(each, Role)), None)

    @property
    def leads(self):
        role = self.role()
        return (role is not None and role.role == LEADER
                and role.boot_ms > self._launched_ms)  # else of a life that was killed

    # ---- faults ----

    def kill(self):
        """docker kill; when its first process was gone, by whom all others go."""
        with self._end_of_process() as wait_end:
            self.engine.docker("kill", self.id)
            return wait_end()

    @contextmanager
    def _end_of_process(self):
        """Docker takes its time before it sends the signal, and before it says so."""
        descriptor = os.pidfd_open(self.engine.pid_of(int(self.facts("{{.State.Pid}}"))))
        ended = []

        def wait():
            select.select([descriptor], [], [])
            ended.append(now_ms())

        thread = self.engine.in_thread(wait)
        try:
            yield lambda: (thread.join(), ended[0])[1]
        finally:
            thread.join()
            os.close(descriptor)

    def start(self):
        self._launched_ms = now_ms()
        self.engine.docker("start", self.id)

    def stop(self):
        """docker stop; the exit code."""
        self.engine.docker("stop", "--time", STOP_S, self.id)
        return int(self.facts("{{.State.ExitCode}}"))

    def pause(self):
        self.engine.docker("pause", self.id)

    def unpause(self):
        self.engine.docker("unpause", self.id)

    def disconnect(self, *networks):
        for network in networks:
            self.engine.docker("network", "disconnect", self.cluster.network_name(network), self.id)

    def connect(self, *networks):
        """Again, with the address that the file gives it."""
        for network in networks:
            prefix = self.cluster.clients_net if network == CLIENTS else self.cluster.inside_net
            self.engine.docker("network", "connect", "--ip", f"{prefix}.{40 + self.number}",
                               self.cluster.network_name(network), self.id)

    def recreate(self, tag):
        """As an operator upgrades it: another image, the same volume."""
        self._launched_ms = now_ms()
        self.cluster.compose("up", "-d", "--no-deps", self.name, tag=tag)

    def check_sanitizers(self):
        """The image's build has none."""
