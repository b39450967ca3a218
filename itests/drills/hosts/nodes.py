"""A node on a host of the network: configured by a file, and looked at through its journal."""

import json
import os
import re
import signal

import yaml

from drills.hosts import safety
from harness.build import node_program
from harness.dueqctl import Dueqctl
from harness.node import Node, answer_of
from harness.process import descendants_of, is_alive, kill_now, reap_orphans
from harness.wait import wait_until
from judge.journal import LEADER, Lease, Role, Tail, now_ms
from judge.stalls import told_stalls

GMQ_PORT, HTTP_PORT, PEER_PORT, TUBES_PORT = 9503, 8000, 9600, 11300
STEADY_S = 120
CHANGED = "read again; changed: "  # its log


class Journaled:
    """A node by its own journal, `_journal`; it was launched last at `_launched_ms`."""

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
                and role.boot_ms > self._launched_ms)  # else of a life that ended by kill -9


class Electing:
    """A cluster of Journaled `nodes` that elect a leader; its `plan` says how long a session is."""

    def wait_elected(self):
        """Until one of them leads, and the others could: who has only just joined would have to wait
        for a lease, so each keeps its role for a while."""
        wait_until(lambda: sum(node.leads for node in self.nodes) == 1, "exactly one node leads",
                   STEADY_S, interval_s=0.02)
        wait_until(self._has_settled, "every node stands by, or leads, for a while", STEADY_S,
                   interval_s=0.02)

    def _has_settled(self):
        since_ms = now_ms() - 0.6 * self.plan.session_ms
        roles = [node.role() for node in self.nodes]
        return all(role is not None and role.role in (LEADER, "standby")
                   and role.boot_ms < since_ms for role in roles)

    def leader(self):
        """Of a steady cluster; on a machine that is too busy it may have to take its lead again."""
        return wait_until(lambda: next((node for node in self.nodes if node.leads), None),
                          "a node leads", STEADY_S, interval_s=0.02)

    def standbys(self):
        leader = self.leader()
        return [node for node in self.nodes if node is not leader]

    def members(self):
        """Whose journals tell of this cluster."""
        return self.nodes

    def events(self):
        """What all of them have written, in order of time."""
        return in_order_of_time(each for node in self.members() for each in node.events())

    def stalls(self):
        """What their logs say of standing still."""
        return [each for node in self.members() for each in node.stalls()]

    def roles(self):
        """All changes of role so far, node by node."""
        return [each for node in self.members() for each in node.events()
                if isinstance(each, Role)]


def in_order_of_time(events):
    return sorted(events, key=lambda each: each.from_ms if isinstance(each, Lease)
                  else each.boot_ms)


class HostNode(Journaled, Node):
    """`settings` are keys with dots, `program` is the build, None: that under test.
    Secrets are not accepted on a command line, so all of it goes into a file."""

    def __init__(self, directory, host, settings=None, env=None, program=None):
        self.host, self.name, self.program = host, host.name, program or node_program()
        own = {"node.id": host.name, "gmq.listen": f"{host.address}:{GMQ_PORT}",
               "http.listen": f"{host.address}:{HTTP_PORT}"}
        if safety.current():
            own.update(safety.current().settings_at(host.address))
        self.manner = safety.manner()  # of the driver, as its client
        super().__init__(directory, {**own, **(settings or {})}, env)
        self.gmq_port, self.http_port = GMQ_PORT, HTTP_PORT
        if "LD_PRELOAD" in self.env:  # before the sanitizer's own library
            self.env["ASAN_OPTIONS"] += ":verify_asan_link_order=0"
        self._journal = Tail(self.data_dir / "ha.journal")
        self._frozen, self._launched_ms = [], None

    def argv(self):
        return self.host.command([self.program, "--config", self._write_settings()])

    def _write_settings(self):
        path = self.directory / "dueq.yaml"
        path.write_text(yaml.safe_dump(_nested(self.settings)), encoding="utf-8")
        path.chmod(0o600)
        return path

    def reload(self):
        """SIGHUP, with the settings as they are now; until the node says what has changed."""
        self._write_settings()
        before = self.output().count(CHANGED)
        self.process.signal(signal.SIGHUP)
        wait_until(lambda: self.output().count(CHANGED) > before, f"{self.name} takes its settings")

    def launch(self):
        self._launched_ms = now_ms()
        return super().launch()

    @property
    def http_address(self):
        return self.host.address, HTTP_PORT

    def http(self, path):
        with self.host.entered():
            return answer_of(self.url(path), context=self.manner.context,
                             headers=self.manner.headers)

    def url(self, path=""):
        """For operators: where the node has a port for them, it is that."""
        where = self.settings.get("admin.listen", f"{self.host.address}:{HTTP_PORT}")
        return f"{self.manner.scheme}://{where}{path}"

    def json(self, path):
        """What it answers; None when it does not."""
        status, text = self.http(path)
        return json.loads(text) if status == 200 else None

    def ctl(self, *words):
        """dueqctl on the node's own host."""
        with self.host.entered():
            return Dueqctl(self._own_url())(*words)

    def _own_url(self):
        """Its socket, which a build of the version before does not have."""
        socket = self.data_dir / "admin.sock"
        return f"unix:{socket}" if socket.exists() else self.url()

    def is_ready_or_ended(self):
        """Ready? Fails at once when it has ended by itself."""
        code = self.process.returncode
        assert code is None, f"{self.name} ended with {code}:\n{self.output()[-3000:]}"
        return self.is_ready()

    def wait_stopped(self):
        """Until it has obeyed a SIGTERM that it was sent: a second one would hurry it."""
        code = self.process.wait()
        self.process = None
        reap_orphans()
        self.check_sanitizers()  # which end a process with 1
        assert code == 0, f"the node stopped with {code}:\n{self.output()[-3000:]}"

    # ---- as a member of a cluster ----

    def stalls(self):
        """What its log says of standing still."""
        return told_stalls(self.name, self.output())

    def view(self):
        """Of who scans: (its number, how many); zeroes when there is no answer."""
        status, text = self.http("/metrics")
        values = dict(re.findall(r"^dueq_(view|scanners) (\d+)$", text, re.MULTILINE))
        return (int(values["view"]), int(values["scanners"])) if status == 200 else (0, 0)

    # ---- freezing ----

    @property
    def pids(self):
        """Warden and all that it has started; none when it has been ended."""
        return [self.warden_pid, *descendants_of(self.warden_pid)] if self.process else []

    def freeze(self, who):
        """SIGSTOP of "worker", or of "both", warden and worker; of those that live."""
        pids = {"worker": [self.worker_pid], "both": [self.warden_pid, self.worker_pid]}[who]
        for pid in filter(None, pids):
            os.kill(pid, signal.SIGSTOP)
            self._frozen.append(pid)

    def thaw(self):
        """What was frozen goes on, where it has not been killed."""
        for pid in self._frozen:
            if is_alive(pid):
                os.kill(pid, signal.SIGCONT)
        self._frozen = []

    def kill_all(self):
        """kill -9 of warden and worker, at once."""
        kill_together([self])


def kill_together(nodes):
    """kill -9 of all their wardens and workers, before anything else: who was still there would
    lead for a moment."""
    nodes = [node for node in nodes if node.process]  # not who is dead of another fault
    kill_now([pid for node in nodes for pid in node.pids])
    for node in nodes:
        node.process.wait()
        node.process = None


def _nested(settings):
    """{"store.redis": "x"} -> {"store": {"redis": "x"}}"""
    tree = {}
    for key, value in settings.items():
        *groups, name = key.split(".")
        place = tree
        for group in groups:
            place = place.setdefault(group, {})
        place[name] = value if isinstance(value, (bool, int, list)) else str(value)
    return tree
