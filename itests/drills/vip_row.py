"""What the rows that look at the virtual address have in common: whatever the fault was, in the end
the address is with the leader alone, every neighbour knows, and nobody else has answered there.
"""

import math

from drills.cluster import Plan
from drills.journal import AWAY, LEADER, LEAVING, Role, Vip
from drills.row import Row
from drills.view import GRAIN_MS
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
        yield from strangers(drill)


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


def strangers(drill):
    """Has another node answered a new connection after the leader had done so? Who hands the
    address over may, until it says that it is away."""
    cluster = drill.cluster
    if not cluster.view:
        return
    leader, events = cluster.leader().name, cluster.events()
    led_ms = [each.boot_ms for each in events if isinstance(each, Role)
              and (each.node, each.role) == (leader, LEADER)]
    firsts = cluster.view.answers_of(leader, max([drill.since_ms, *led_ms]))
    recent = [each for each in events if isinstance(each, Vip) and each.boot_ms >= drill.since_ms]
    for node, begun_ms in cluster.view.strangers_of(leader, firsts).items():
        if begun_ms > _left_ms(recent, node) + GRAIN_MS:
            yield f"{node} answered a new connection after {leader}, which leads"


def _left_ms(events, node):
    """When it was away that had handed over; 0: it had not."""
    first = {each.state: each.boot_ms for each in reversed(events) if each.node == node}
    return first.get(AWAY, math.inf) if LEAVING in first else 0


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
