"""What the rows that look at the virtual address have in common: whatever the fault was, in the end
the address is with the leader alone, and every neighbour knows.
"""

from drills.cluster import Plan
from drills.row import Row
from harness.neighbours import addresses_of, entry_of, mac_of, touch
from harness.wait import wait_until

VIP, VIP6 = "10.213.0.200", "fd00:213::200"
BOTH = f"{VIP},{VIP6}"
PATIENCE_S = 60


class VipRow(Row):
    vip = BOTH

    def plan(self, variant):
        return Plan(vip=self.vip, is_viewed=True)

    def check(self, drill, elected):
        yield from misplaced(drill)


def meet(cluster):
    """The bystander has an entry for the address, and from then on says nothing."""
    mac = mac_of(cluster.leader().host)

    def has_met():
        for vip in cluster.vips:
            if entry_of(cluster.bystander, vip) is None:
                touch(cluster.bystander, vip)
        return all((entry_of(cluster.bystander, vip) or (None,))[0] == mac for vip in cluster.vips)

    wait_until(has_met, "the bystander knows where the address is", PATIENCE_S, interval_s=0.02)


def misplaced(drill):
    """The fault is over: is the address where it should not be, for anybody?"""
    cluster = drill.cluster
    if not cluster.view:
        return
    leader = cluster.leader()
    yield from _complaints(_is_held_by, cluster, leader)
    yield from _complaints(_is_known_to, cluster, leader, cluster.bystander)
    yield from _complaints(_is_known_to, cluster, leader, cluster.client)
    for node in cluster.nodes:
        stray = addresses_of(node.host) & set(cluster.vips)
        if stray and node is not leader:
            yield f"{node.name} has {' and '.join(sorted(stray))}, and {leader.name} leads"


def _complaints(is_right, *arguments):
    """What is still wrong when it has had time: a kernel may be slow to take an address away, and
    an announcement come late."""
    try:
        wait_until(lambda: not list(is_right(*arguments)), "the address is in its place",
                   PATIENCE_S, interval_s=0.02)
    except AssertionError:
        yield from is_right(*arguments)


def _is_held_by(cluster, leader):
    for vip in cluster.vips:
        holders = cluster.holders.holders(vip)
        if holders != {leader.name}:
            yield f"{vip} is at {' and '.join(sorted(holders)) or 'nobody'}, {leader.name} leads"


def _is_known_to(cluster, leader, host):
    mac = mac_of(leader.host)
    for vip in cluster.vips:
        entry = entry_of(host, vip)
        if entry is None:
            touch(host, vip)  # forgotten, as one may what nobody uses: it has to ask again
        if entry is None or entry[0] != mac:
            yield f"{host.name} knows {vip} at {entry and entry[0]}, {leader.name} has {mac}"
