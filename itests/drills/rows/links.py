"""Rows about links: cables pulled, cuts between some and others, both ways or one."""

from drills.hosts.nodes import PEER_PORT
from drills.rows.row import Row, row, stay
from drills.rows.vip_row import VipRow
from drills.witness import changed, cut


class _Cuts(Row):
    """Cuts that are made in fault() are healed. `and_yet`: why the lead is not to change where no
    other node has to take over."""

    and_yet = ""

    def witness(self, drill):
        return cut(drill.network)

    def hold(self, drill):
        stay(drill, 2 * drill.session_ms)

    def heal(self, drill):
        drill.network.heal_all()

    def check(self, drill, elected):
        if not self.takes_over(drill) and elected:
            yield f"the lead changed{self.and_yet}"


@row("5", "its link down")
class LinkDown(VipRow):
    variants = ("short", "long")
    short_variants = ("short",)

    def witness(self, drill):
        return changed(lambda: drill.leader.host.has_link)

    def fault(self, drill):
        drill.leader.host.pull_cable()

    def hold(self, drill):
        stay(drill, {"short": 1.2, "long": 3}[drill.variant] * drill.session_ms)

    def heal(self, drill):
        drill.leader.host.put_cable()


@row("6", "cut off from ZooKeeper, from peers, from clients, from Redis")
class CutFrom(_Cuts):
    """From ZooKeeper it loses the lead; from Redis alone it hands the lead over, because another
    node's Redis answers. From peers or clients nothing changes, nor does it when a standby is cut
    off from Redis, or all are: then no node could do better."""

    ALONE, STANDBY, ALL = "redis", "a standby from redis", "all from redis"
    variants = ("zookeeper", "peers", "client", ALONE, STANDBY, ALL)
    short_variants = variants[:4]
    and_yet = ", and no other node could do better"

    def fault(self, drill):
        self.cut_off, others = self._sides(drill)
        drill.network.cut(self.cut_off, others)

    def hit(self, drill):
        """Who is cut off from ZooKeeper or its peers has its Redis and its clients."""
        if drill.variant in ("zookeeper", "peers"):
            return []
        return [node for node in drill.cluster.nodes if node.host in self.cut_off]

    def _sides(self, drill):
        redis = drill.cluster.hosts_of("redis")
        if drill.variant == self.STANDBY:
            return [drill.cluster.standbys()[0].host], redis
        if drill.variant == self.ALL:
            return drill.cluster.hosts_of("nodes"), redis
        return [drill.leader.host], _others(drill, drill.variant)

    def takes_over(self, drill):
        return drill.variant in ("zookeeper", self.ALONE)

    def hold(self, drill):
        stay(drill, (2 if drill.variant in ("zookeeper", "peers", "client", self.ALONE) else 4)
             * drill.session_ms)


@row("7", "one-way cuts")
class OneWay(_Cuts):
    """Frames of the leader do not arrive, or those of others do not arrive at it."""

    variants = tuple(f"{way} {whom}" for whom in ("zookeeper", "peers", "client", "everybody")
                     for way in ("to", "from"))
    short_variants = ("from zookeeper", "to everybody")
    and_yet = ", and nothing was wrong with it"

    def fault(self, drill):
        way, whom = drill.variant.split()
        leader, others = [drill.leader.host], _others(drill, whom)
        drill.network.cut_one_way(*((leader, others) if way == "to" else (others, leader)))

    def takes_over(self, drill):
        return drill.variant.endswith(("zookeeper", "everybody"))


@row("8b", "the peer link cut or reset while the leader lives")
class PeerLink(_Cuts):
    """The standbys must not take a lost link for a death: no session is closed. With the leader
    cut off from ZooKeeper too, it is the session's timeout that ends its lead."""

    variants = ("cut", "reset", "cut, and from zookeeper")
    short_variants = ("reset", "cut, and from zookeeper")
    and_yet = " though the leader lived and had ZooKeeper"

    def witness(self, drill):
        """Reset, its peers are connected from other ports."""
        if drill.variant != "reset":
            return super().witness(drill)
        ends = self._ends(drill)
        return lambda: bool(ends) and not ends & self._ends(drill)

    @staticmethod
    def _ends(drill):
        return {end for peer in drill.cluster.peers_of(drill.leader)
                for end in peer.connections(drill.leader.host.address, PEER_PORT)}

    def fault(self, drill):
        leader, peers = drill.leader, drill.cluster.peers_of(drill.leader)
        if drill.variant == "reset":
            for peer in peers:
                peer.reset_connections(leader.host.address, PEER_PORT)
            return
        drill.network.cut([leader.host], peers)
        if drill.variant != "cut":
            drill.network.cut([leader.host], _others(drill, "zookeeper"))

    def hit(self, drill):
        """Nobody: who is cut off has its Redis and its clients."""
        return []

    def takes_over(self, drill):
        return drill.variant.endswith("zookeeper")


def _others(drill, whom):
    """Hosts by a word."""
    if whom == "peers":
        return drill.cluster.peers_of(drill.leader)
    if whom == "everybody":
        return [host for host in drill.network.hosts.values() if host is not drill.leader.host]
    return drill.cluster.hosts_of(whom)
