"""Rows about links: cables pulled, cuts between some and others, both ways or one."""

from drills.nodes import PEER_PORT
from drills.row import Row, row, stay


class _Cuts(Row):
    """Cuts that are made in fault() are healed."""

    def heal(self, drill):
        drill.network.heal_all()


@row("5", "its link down")
class LinkDown(Row):
    variants = ("short", "long")
    short_variants = ("short",)

    def fault(self, drill):
        drill.leader.host.pull_cable()

    def hold(self, drill):
        stay(drill, {"short": 1.2, "long": 3}[drill.variant] * drill.session_ms)

    def heal(self, drill):
        drill.leader.host.put_cable()


@row("6", "cut off from ZooKeeper, from peers, from clients")
class CutFrom(_Cuts):
    """From ZooKeeper it loses the lead, from peers or clients it does not."""

    variants = ("zookeeper", "peers", "client")

    def fault(self, drill):
        drill.network.cut([drill.leader.host], _others(drill, drill.variant))

    def takes_over(self, drill):
        return drill.variant == "zookeeper"

    def hold(self, drill):
        stay(drill, 2 * drill.session_ms)

    def check(self, drill, elected):
        if drill.variant != "zookeeper" and elected:
            yield "the lead changed, and nothing was wrong with it"


@row("7", "one-way cuts")
class OneWay(_Cuts):
    """Frames of the leader do not arrive, or those of others do not arrive at it."""

    variants = tuple(f"{way} {whom}" for whom in ("zookeeper", "peers", "client", "everybody")
                     for way in ("to", "from"))
    short_variants = ("from zookeeper", "to everybody")

    def fault(self, drill):
        way, whom = drill.variant.split()
        leader, others = [drill.leader.host], _others(drill, whom)
        drill.network.cut_one_way(*((leader, others) if way == "to" else (others, leader)))

    def takes_over(self, drill):
        return drill.variant.endswith(("zookeeper", "everybody"))

    def hold(self, drill):
        stay(drill, 2 * drill.session_ms)

    def check(self, drill, elected):
        if not self.takes_over(drill) and elected:
            yield "the lead changed, and nothing was wrong with it"


@row("8b", "the peer link cut or reset while the leader lives")
class PeerLink(_Cuts):
    """The standbys must not take a lost link for a death: no session is closed. With the leader
    cut off from ZooKeeper too, it is the session's timeout that ends its lead."""

    variants = ("cut", "reset", "cut, and from zookeeper")
    short_variants = ("reset", "cut, and from zookeeper")

    def fault(self, drill):
        leader, peers = drill.leader, drill.cluster.peers_of(drill.leader)
        if drill.variant == "reset":
            for peer in peers:
                peer.reset_connections(leader.host.address, PEER_PORT)
            return
        drill.network.cut([leader.host], peers)
        if drill.variant != "cut":
            drill.network.cut([leader.host], _others(drill, "zookeeper"))

    def takes_over(self, drill):
        return drill.variant.endswith("zookeeper")

    def hold(self, drill):
        stay(drill, 2 * drill.session_ms)

    def check(self, drill, elected):
        if not self.takes_over(drill) and elected:
            yield "the lead changed though the leader lived and had ZooKeeper"


def _others(drill, whom):
    """Hosts by a word."""
    if whom == "peers":
        return drill.cluster.peers_of(drill.leader)
    if whom == "everybody":
        return [host for host in drill.network.hosts.values() if host is not drill.leader.host]
    return drill.cluster.hosts_of(whom)
