"""What a crowd goes through in a round of row 24: a failover, or a leader that has no more room."""

import resource

from drills.clients.client import Client
from drills.clients.crowd import ANSWER_S, Crowd
from drills.clients.descriptors import open_files
from drills.hosts.nodes import GMQ_PORT, HTTP_PORT
from drills.rows.row import stay
from drills.witness import all_hurt, changed, workers
from harness.process import frozen
from harness.wait import wait_until
from judge.journal import DUPLICATE, OK, Push, now_ms

CONNECTIONS, FILES = LIMITS = ("limits.connections", "ulimit -n")
SOON_MS = 2           # for each consumer: so long it takes to push a job
TTR_MS = 60_000
CAME_S = 60
IMPATIENT_S = 8     # ten thousand that give up sooner than they are answered never end
LET_IN = 0.7          # of the silent, where there is a limit
CANNOT = "cannot accept clients"  # in a node's log


def _switch_over(leader, _crowd):
    done = leader.ctl("switchover")
    assert done.code == 0, done


def _kill_beside_slow_warden(leader, crowd):
    """All consumers are back before it removes the address, on a host where nobody serves."""
    with frozen(leader.warden_pid):
        leader.kill("worker")
        wait_until(lambda: crowd.lost >= len(crowd.idle) + len(crowd.consumers)
                   and all(each.is_waiting for each in crowd.consumers), "they are back", CAME_S)


KILLED, SLOWLY, FROZEN = "worker killed", "worker killed beside a slow warden", "frozen"
FAILOVERS = {KILLED: lambda leader, crowd: leader.kill("worker"),
             SLOWLY: _kill_beside_slow_warden,
             FROZEN: lambda leader, crowd: leader.freeze("both"), "switchover": _switch_over}


class Failover:
    """The crowd is in before it. Who waits on a frozen node hears nothing, and must lose patience;
    else every connection gets its answer, or its end."""

    def __init__(self, drill, what, host, idle, consumers):
        self._drill, self._what, self._leader = drill, what, drill.leader
        self._crowd = Crowd(host, addresses_of(drill.cluster), drill.journal, idle, consumers,
                            answer_s=IMPATIENT_S if what == FROZEN else ANSWER_S)
        self._crowd.__enter__()
        self._soon, self._ids = [], 0
        self.has_struck = (changed(drill.leader.role) if what == "switchover"
                           else all_hurt(workers([drill.leader])))

    def strike(self):
        self._wait_inside(self._drill.cluster.nodes)
        self._drill.count_from_now()
        delay_ms = SOON_MS * len(self._crowd.consumers)
        self._soon = self._push(delay_ms)
        stay(self._drill, delay_ms)  # now they become due, one after the other
        self._drill.count_from_now()
        FAILOVERS[self._what](self._leader, self._crowd)
        return [self._leader] if self._what in (KILLED, SLOWLY) else []

    def wait_served(self):
        self._crowd.ask_all()
        self._crowd.wait_served()
        self._crowd.wait_taken(self._soon)
        return now_ms()

    def hold(self):
        nodes = self._drill.cluster.nodes
        if self._what == FROZEN:
            stay(self._drill, 2 * self._drill.session_ms)
            nodes = [node for node in nodes if node is not self._leader]
        self._wait_inside(nodes)
        self._crowd.wait_taken(self._push(0))

    def heal(self):
        self._leader.thaw()
        self._crowd.__exit__()

    def check(self, elected):  # pylint: disable=unused-argument
        if self._crowd.unheard and self._what != FROZEN:
            yield f"on {self._crowd.unheard} connections came neither an answer nor an end"

    def _wait_inside(self, nodes):
        self._crowd.wait_served()
        wait_until(lambda: sum(node.metrics().get("dueq_consumers_waiting", 0) for node in nodes)
                   >= len(self._crowd.consumers), "the nodes have all consumers", CAME_S, 0.1)

    def _push(self, delay_ms):
        """A job for each consumer; their ids."""
        with self._drill.load.place():
            client = Client(self._drill.cluster.addresses())
            ids = [self._push_one(client, each.topic, delay_ms) for each in self._crowd.consumers]
            client.close()
        return ids

    def _push_one(self, client, topic, delay_ms):
        """Until it is known to be there."""
        self._ids += 1
        id, outcome = f"{topic}-{round(self._drill.since_ms)}-{self._ids}", None
        while outcome not in (OK, DUPLICATE):
            sent = now_ms()
            outcome, due_ms = client.push(topic, id, delay_ms, TTR_MS)
            self._drill.journal.add(Push(id, topic, TTR_MS, delay_ms, sent, now_ms(), outcome,
                                         due_ms))
        return id


class Limit:
    """The first to come fill the leader; the silent only."""

    def __init__(self, drill, what, host, idle, _consumers):
        self._drill, self._what, self._leader = drill, what, drill.leader
        self._worker, self._room = drill.leader.worker_pid, round(LET_IN * idle)
        self._complaints_before = drill.leader.output().count(CANNOT)
        self._files = resource.prlimit(self._worker, resource.RLIMIT_NOFILE)
        self._crowd = Crowd(host, [address_of(drill.leader)], drill.journal, idle)

    def strike(self):
        if self._what == FILES:
            resource.prlimit(self._worker, resource.RLIMIT_NOFILE,
                             (open_files(self._worker) + self._room, self._files[1]))
        else:
            _set_connections(self._leader, self._room)
        self._drill.count_from_now()
        self._crowd.__enter__()
        wait_until(self._is_full, "the leader is full", CAME_S, 0.1)

    def has_struck(self):
        """Was somebody turned away, or not accepted?"""
        if self._what == FILES:
            return self._leader.output().count(CANNOT) > self._complaints_before
        return self._crowd.turned_away > 0

    def _is_full(self):
        room = 1 if self._what == FILES else self._room
        return self.has_struck() and len(self._crowd.served()) >= room

    def wait_served(self):
        """Who is inside, while others are outside, for as long as a lease lasts and longer."""
        stay(self._drill, self._drill.session_ms)
        inside = self._crowd.served()
        assert inside, "nobody is inside"
        self._crowd.ask_all(inside)
        wait_until(lambda: not any(each.owes for each in inside), "who is inside is served",
                   CAME_S)
        assert self._crowd.owing(), "nobody is outside"

    def hold(self):
        """Those that were served leave, until there are no others."""
        while self._crowd.owing():
            self._crowd.leave(self._crowd.served())
            wait_until(lambda: self._crowd.served() or not self._crowd.owing(),
                       "who was outside is served", CAME_S)

    def heal(self):
        if self._what == FILES:
            resource.prlimit(self._worker, resource.RLIMIT_NOFILE, self._files)
        else:
            _set_connections(self._leader, None)
        self._crowd.__exit__()

    def check(self, elected):
        if elected:
            yield "the leader changed, and it was only full"
        if self._leader.worker_pid != self._worker:
            yield "its worker is another one"


def addresses_of(cluster):
    """The one that moves, which is all that clients know."""
    return [(address, GMQ_PORT, HTTP_PORT) for address in cluster.vips]


def address_of(node):
    return node.host.address, GMQ_PORT, HTTP_PORT


def _set_connections(node, count):
    """limits.connections in its configuration, which it reads again; None: the default."""
    if count is None:
        del node.settings["limits.connections"]
    else:
        node.settings["limits.connections"] = count
    node.reload()
