"""A row about many clients: thousands hold connections, a thousand wait for jobs; and more of them
come than a node may have."""

from drills.clients.crowd import Crowd
from drills.clients.crowd_cases import (FAILOVERS, FILES, LIMITS, SLOWLY, Failover, Limit,
                                addresses_of)
from drills.clients.descriptors import left_open, unended
from drills.hosts.cluster import Plan
from drills.rows.row import Row, row
from drills.rows.vip_row import VIP
from harness.wait import wait_until

IDLE, CONSUMERS = 9_500, 1_000  # with 20,000 files a node has room for 9,936 of each protocol
FEW = ", few"  # a tenth of them
NEWCOMERS = 20
GONE_S = 60
GAUGES = {'dueq_connections{protocol="gmq"}': 0,    # of all nodes together, with nobody but the
          'dueq_connections{protocol="http"}': 50,  # load and this program there
          "dueq_consumers_waiting": 50}


def _add_host(network):
    """With ports enough: a round takes some twenty thousand, and a port rests for a minute."""
    host = network.add_host("crowd")
    host.set_kernel("ipv4/ip_local_port_range", "1024 65535")
    host.set_kernel("ipv4/tcp_tw_reuse", "1")
    return host


@row("24", "9,500 silent clients and 1,000 consumers: failover; no more room")
class Crowded(Row):
    """After a failover all are served again: each of the silent asks, over another connection where
    its first has ended, and has an answer; each consumer has, once, a job that became due in the
    outage, and one that was pushed after it. `served` is when all but the last of it is so.

    Where the leader is full, by `limits.connections` or for want of descriptors, it leads on, and
    serves those that it has let in; whoever waits outside comes in when they leave.

    When all have left, no node has a descriptor of theirs any more, and there is room for others."""

    variants = (*FAILOVERS, *LIMITS)
    short_variants = (f"{SLOWLY}{FEW}", f"{FILES}{FEW}")
    rehearsed_variants = ()

    def plan(self, variant):
        return Plan(vip=VIP)

    def allowed_rules(self, plan):
        """Thousands of clients come, on the same machine: jobs are later for it."""
        return ("LATE",)

    def fault(self, drill):
        what, _, few = drill.variant.partition(",")
        idle, consumers = (count // (10 if few else 1) for count in (IDLE, CONSUMERS))
        self.host = drill.network.hosts.get("crowd") or _add_host(drill.network)
        self._wait_ended(drill.cluster.nodes)
        kind = Failover if what in FAILOVERS else Limit
        self.case = kind(drill, what, self.host, idle, consumers)
        return self.case.strike()

    def _wait_ended(self, nodes):
        """An address that comes back to a host within 8 s meets there what that host still tries to
        end, if a client has taken the same port again: ten thousand from one host do."""
        wait_until(lambda: not any(unended(node.worker_pid, self.host.address) for node in nodes),
                   "the hosts have ended all connections of the round before", GONE_S, 0.2)

    def witness(self, drill):
        self.case = None
        return lambda: self.case is not None and self.case.has_struck()

    def hit(self, drill):
        return None

    def takes_over(self, drill):
        return isinstance(self.case, Failover)

    def wait_served(self, drill, elected):
        super().wait_served(drill, elected)
        return self.case.wait_served()

    def hold(self, drill):
        self.case.hold()

    def heal(self, drill):
        if self.case:
            self.case.heal()

    def check(self, drill, elected):
        nodes = drill.cluster.nodes
        yield from self.case.check(elected)
        for node in nodes:
            yield from self._what_is_left(node)
        for gauge, most in GAUGES.items():
            count = sum(node.metrics().get(gauge, 0) for node in nodes)
            if count > most:
                yield f"{gauge} is {count:.0f} on all nodes together, with nobody there"
        with Crowd(self.host, addresses_of(drill.cluster), drill.journal, NEWCOMERS, NEWCOMERS,
                   first=2 * IDLE) as newcomers:
            newcomers.wait_served()

    case = None

    def _what_is_left(self, node):
        def left():
            return left_open(node.worker_pid, self.host.address)

        try:
            wait_until(lambda: not left(), "all is closed", GONE_S, 0.05)
        except AssertionError:
            found = left()
            yield f"{node.name} has {len(found)} descriptors of those that have left: {found[:3]}"
