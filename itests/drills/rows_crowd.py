"""Rows about many clients: thousands hold connections, a thousand wait for jobs; and more come than
a node may have."""

import resource
import signal
from contextlib import ExitStack

from drills.client import Client
from drills.crowd import Crowd
from drills.descriptors import left_open, open_files
from drills.journal import DUPLICATE, OK, Push, now_ms
from drills.nodes import GMQ_PORT, HTTP_PORT
from drills.row import Row, row, stay
from harness.wait import wait_until

IDLE, CONSUMERS = 10_000, 1_000
FEW = ", few"      # a tenth of them
NEWCOMERS = 20
SOON_MS, TTR_MS = 2000, 60_000
GONE_S = 60
OTHERS = 50        # connections and consumers of the load, and of this program, at most
LET_IN = 0.7       # of the silent, at a limit


class _Crowded(Row):
    """A crowd in a round, and what must be true when it has gone."""

    rehearsed_variants = ()
    rounds = 20

    def fault(self, drill):
        self.what, _, few = drill.variant.partition(",")
        self.idle, self.consumers = (count // (10 if few else 1) for count in (IDLE, CONSUMERS))
        self.host = drill.network.hosts.get("crowd") or drill.network.add_host("crowd")
        self.workers = {node.name: node.worker_pid for node in drill.cluster.nodes}
        self.crowds = ExitStack()
        return self.strike(drill)

    def strike(self, drill):
        raise NotImplementedError

    def enter(self, drill, addresses, idle, consumers=0, first=0):
        return self.crowds.enter_context(
            Crowd(self.host, addresses, drill.journal, idle, consumers, first))

    def heal(self, drill):
        self.crowds.close()

    def check(self, drill, elected):
        """The crowd has left, all is healed: no trace of it, and there is room for others."""
        nodes = drill.cluster.nodes
        for node in nodes:
            try:
                wait_until(lambda node=node: not left_open(node.worker_pid, self.host.address),
                           "no descriptor is left", GONE_S, 0.05)
            except AssertionError:
                left = left_open(node.worker_pid, self.host.address)
                yield f"{node.name} has {len(left)} descriptors of who has left: {left[:3]}"
        for gauge, most in (('dueq_connections{protocol="gmq"}', 0),
                            ('dueq_connections{protocol="http"}', OTHERS),
                            ("dueq_consumers_waiting", OTHERS)):
            count = _sum(nodes, gauge)
            if count > most:
                yield f"{gauge} is {count:.0f} on all nodes together, with nobody there"
        with Crowd(self.host, addresses_of(drill.cluster), drill.journal, NEWCOMERS, NEWCOMERS,
                   first=2 * IDLE) as newcomers:
            newcomers.wait_served()


@row("24", "10,000 silent clients and 1,000 consumers during a failover")
class Crowded(_Crowded):
    """All are served again: each of the silent asks, over another connection where its first has
    ended, and has an answer; each consumer has a job that came due in the outage and one that was
    pushed after it, once. `served` is when all of that, but for the last, is so."""

    variants = ("worker killed", "frozen", "switchover")
    short_variants = (f"worker killed{FEW}",)

    def strike(self, drill):
        self.crowd = self.enter(drill, addresses_of(drill.cluster), self.idle, self.consumers)
        self._wait_inside(drill.cluster.nodes)
        drill.count_from_now()
        ids = self._push(drill, SOON_MS)
        stay(drill, SOON_MS)  # they become due now
        drill.count_from_now()
        self.soon = ids
        {"worker killed": lambda leader: leader.kill("worker"),
         "frozen": lambda leader: leader.freeze("both"),
         "switchover": lambda leader: leader.ctl("switchover")}[self.what](drill.leader)
        return [drill.leader] if self.what == "worker killed" else []

    def _wait_inside(self, nodes):
        self.crowd.wait_served()
        wait_until(lambda: _sum(nodes, "dueq_consumers_waiting") >= self.consumers,
                   "the nodes have all consumers", GONE_S, 0.1)

    def _push(self, drill, delay_ms):
        """A job for each consumer; their ids."""
        with drill.load.place():
            client = Client(drill.cluster.addresses())
            ids = [_push(drill.journal, client, each.topic, delay_ms)
                   for each in self.crowd.consumers]
            client.close()
        return ids

    def wait_served(self, drill, elected):
        super().wait_served(drill, elected)
        self.crowd.ask_all()
        self.crowd.wait_served()
        self.crowd.wait_taken(self.soon)
        return now_ms()

    def hold(self, drill):
        if self.what == "frozen":
            stay(drill, 2 * drill.session_ms)
        alive = [node for node in drill.cluster.nodes
                 if self.what != "frozen" or node is not drill.leader]
        self._wait_inside(alive)
        self.crowd.wait_taken(self._push(drill, 0))

    def heal(self, drill):
        if self.what == "frozen":
            drill.leader.thaw()
        super().heal(drill)


@row("24b", "more silent clients than the leader may have")
class Full(_Crowded):
    """Those that it has let in are served as ever, and it leads on; whoever waits outside comes in
    when they leave. limits.connections: one more is told so, and turned away."""

    CONNECTIONS, FILES = "limits.connections", "ulimit -n"
    variants = (CONNECTIONS, FILES)
    short_variants = (f"{FILES}{FEW}",)
    changes = 0

    def strike(self, drill):
        self.allowed = round(LET_IN * self.idle)
        self._limit(drill.leader)
        self.since = drill.leader.output().count(CANNOT)
        self.crowd = self.enter(drill, [address_of(drill.leader)], self.idle)
        wait_until(lambda: self._is_full(drill.leader), "the leader is full", GONE_S, 0.1)

    def _limit(self, leader):
        if self.what == self.FILES:
            pid = leader.worker_pid
            self.before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
            resource.prlimit(pid, resource.RLIMIT_NOFILE,
                             (open_files(pid) + self.allowed, self.before[1]))
        else:
            _set_connections(leader, self.allowed)

    def _unlimit(self, leader):
        if self.what == self.FILES:
            resource.prlimit(leader.worker_pid, resource.RLIMIT_NOFILE, self.before)
        else:
            _set_connections(leader, IDLE)

    def _is_full(self, leader):
        if self.what == self.FILES:
            return leader.output().count(CANNOT) > self.since
        return self.crowd.turned_away > 0 and len(self.crowd.served()) >= self.allowed

    def takes_over(self, drill):
        return False

    def hold(self, drill):
        stay(drill, 2 * drill.session_ms)
        inside = self.crowd.served()
        self.crowd.ask_all(inside)
        wait_until(lambda: not any(each.owes for each in inside), "who is inside is served", GONE_S)
        self.inside = len(inside)
        while self.crowd.owing():
            self.crowd.leave(self.crowd.served())
            wait_until(lambda: self.crowd.served() or not self.crowd.owing(),
                       "who was outside is served", GONE_S)

    def heal(self, drill):
        self._unlimit(drill.leader)
        super().heal(drill)

    def check(self, drill, elected):
        yield from super().check(drill, elected)
        if elected:
            yield "the leader changed, and it was only full"
        if drill.leader.worker_pid != self.workers[drill.leader.name]:
            yield "its worker is another one"


CANNOT = "cannot accept clients"


def addresses_of(cluster):
    """Where clients find the leader, or any node."""
    return [address_of(node) for node in cluster.nodes]


def address_of(node):
    return node.host.address, GMQ_PORT, HTTP_PORT


def _sum(nodes, name):
    return sum(node.metrics().get(name, 0) for node in nodes)


_ids = iter(range(1, 1 << 62))


def _push(journal, client, topic, delay_ms):
    """Until it is known to be there."""
    id, outcome = f"crowd-job-{next(_ids)}", None
    while outcome not in (OK, DUPLICATE):
        sent = now_ms()
        outcome, due_ms = client.push(topic, id, delay_ms, TTR_MS)
        journal.add(Push(id, topic, TTR_MS, delay_ms, sent, now_ms(), outcome, due_ms))
    return id


def _set_connections(node, count):
    """In its configuration, which it reads again."""
    told = node.output().count("read again")
    node.settings["limits.connections"] = count
    node.argv()
    node.process.signal(signal.SIGHUP)
    wait_until(lambda: node.output().count("read again") > told, "it has read it", GONE_S)
