"""What the rows that look at the virtual address have in common: whatever the fault was, in the end
the address is with the leader alone, every neighbour knows, and nobody else has answered there.
"""

import math

from drills.clients.view import CLOSED, GRAIN_MS, RESET
from drills.clients.view_client import SILENT
from drills.graceful import LATE_MAX_MS, LEAVING_MAX_MS, few_of, without_a_lease
from drills.hosts.cluster import Plan
from drills.rows.row import Row
from harness.neighbours import addresses_of, entry_of, mac_of, touch
from harness.network import VIP, VIP6
from harness.wait import wait_until
from judge.address import KEPT_MS, LATE_MS, UNRENEWED_MS, kept_too_long
from judge.journal import AWAY, DIED, LEADER, LEAVING, Gone, Put, Role, Vip
from judge.leaders import SILENT_MS

BOTH = f"{VIP},{VIP6}"
PATIENCE_S = 60
ANNOUNCED_MS = 100  # from an address that is put to neighbours that have heard of it, on a busy machine
MANY = 5


class VipRow(Row):
    vip = BOTH
    excused = 0  # connections that were begun with nobody, over all rounds
    looked_at = with_some = 0  # rounds in which those were looked for; and were found

    def plan(self, variant):
        return Plan(vip=self.vip, is_viewed=True)

    def tells(self, drill):  # pylint: disable=unused-argument
        """Does the leader's host live on, so that its kernel can tell all clients at once?"""
        return False

    def keeps(self, drill):
        """And its warden, so that new ones are refused until the next leader has the address?"""
        return self.tells(drill)

    def check(self, drill, elected):
        yield from misplaced(drill)
        yield from strangers(drill)
        yield from accepted_by_the_dead(drill)
        if self.tells(drill) and drill.sight:
            yield from untold(drill.sight)
        if self.keeps(drill) and drill.sight:
            recent = [each for each in drill.cluster.events() if not isinstance(each, Role)
                      or each.boot_ms >= drill.since_ms]
            yield from (f"{address}: {why}" for address, why in kept_too_long(recent, KEPT_MS))
            late = gaps(drill)
            excused = len(fell_into(drill.sight, late))
            self.excused += excused
            self.looked_at += 1
            self.with_some += bool(excused)
            yield from begun_with_nobody(drill.sight, late, drill.since_ms)
            yield from left_in_silence(drill.sight)

    def check_often(self, cluster):
        if self.with_some > few_of(self.looked_at):
            yield f"the address was with nobody in {self.with_some} of {self.looked_at} rounds"

    @property
    def note(self):
        return (f"connections begun a second time, because the next leader had the address later "
                f"than it is kept, or lost its lease: {self.excused}" if self.excused else "")


def gaps(drill):
    """{address: [(from, until)]} in which it may have been with nobody. Its last holder has kept it
    as long as promised, and the next one put it later, by its kernel's word. Or the last holder's
    warden stood still before the death, as others on this machine did, for so long that its kernel
    took the address away. Both last until the neighbours have heard of the next one. And, of the
    addresses that somebody has put since, when a leader's lease had run out."""
    before, events, stalls = drill.leader.name, drill.cluster.events(), _not_by_the_fault(drill)
    expired = {each.address: each.boot_ms - LATE_MS for each in events if isinstance(each, Gone)
               and each.node == before and each.boot_ms > drill.since_ms
               and each.age_ms >= UNRENEWED_MS
               and any(stall.ms >= SILENT_MS and stall.boot_ms - stall.ms <= each.boot_ms
                       and stall.boot_ms >= each.boot_ms - each.age_ms for stall in stalls)}
    kept_ms = next((each.boot_ms + KEPT_MS for each in events if isinstance(each, Role)
                    and (each.node, each.reason) == (before, DIED)
                    and each.boot_ms >= drill.since_ms), math.inf)
    puts = {}
    for each in events:
        if isinstance(each, Put) and each.node != before and each.boot_ms > drill.since_ms:
            begin_ms = min(kept_ms - GRAIN_MS, expired.get(each.address, math.inf))
            puts.setdefault(each.address, (begin_ms, min(each.boot_ms + ANNOUNCED_MS,
                                                         begin_ms + LATE_MAX_MS)))
    unled = unled_spans(drill)
    return {address: [span, *unled] for address, span in puts.items()}


def unled_spans(drill):
    """When a leader's lease had run out, by its own word or log."""
    roles = [each for each in drill.cluster.events()
             if isinstance(each, Role) and each.boot_ms > drill.since_ms]
    return list(without_a_lease(roles, drill.leader.name, _not_by_the_fault(drill)))


def _not_by_the_fault(drill):
    """Stalls, without that of a worker that the fault has frozen, and its warden ended."""
    return [each for each in drill.cluster.stalls()
            if not (each.is_last and each.node == drill.leader.name)]


def with_nobody(drill):
    """{address: [(from, until)]} where nobody lives who could take it away: when the kernel of the
    dead host has let it go, by its own word, and the next leader put it later; and, of any address,
    when a leader's lease had run out, by its own word or log. While the dead host has it, its kernel
    refuses whoever comes: nobody is lost."""
    before = drill.leader.name
    events = [each for each in drill.cluster.events()
              if isinstance(each, (Gone, Put)) and each.boot_ms > drill.since_ms]
    unled = unled_spans(drill)
    gone = {each.address: each.boot_ms for each in reversed(events)
            if isinstance(each, Gone) and each.node == before}
    put = {each.address: each.boot_ms for each in reversed(events)
           if isinstance(each, Put) and each.node != before}
    return {address: unled + ([(gone[address] - LATE_MS, put[address] + ANNOUNCED_MS)]
                              if gone.get(address, math.inf) < put[address] else [])
            for address in put}


def lost_with_somebody(sight, spans, since_ms):
    """New connections that were lost outside of those times."""
    inside = fell_into(sight, spans)
    outside = [each for each in sight.lost if each not in inside]
    if outside:
        yield (f"{len(outside)} new connections were lost, {_when(outside, since_ms)}: {sight.told}")


def _when(lost, since_ms):
    return ", ".join(f"{begun_ms - since_ms:.0f}" for _, begun_ms in lost[:MANY]) + " ms after the fault"


def fell_into(sight, spans):
    """Of the connections that were lost, those that began in these times: {address: [(from, until)]}."""
    return [(address, begun_ms) for address, begun_ms in sight.lost
            if any(begin <= begun_ms <= end for begin, end in spans.get(address, ()))]


def untold(sight):
    """Clients that could have been told, and were left to find out; or that got no more jobs."""
    if sight.job_ms is None:
        yield f"no job came over the address any more: {sight.told}"
    if sight.untold:
        yield f"{sight.untold} open connections were not told of their end: {sight.told}"


def begun_with_nobody(sight, late=None, since_ms=0):
    """New ones, that came when the address was to be with somebody. `late`: what gaps() says."""
    late = late or {}
    fell = fell_into(sight, late)
    lost = [each for each in sight.lost if each not in fell]
    spans = "; ".join(f"{address} was with nobody from {begin - since_ms:.0f} to {end - since_ms:.0f} ms"
                      for address, found in late.items() for begin, end in found)
    if lost:
        yield (f"{len(lost)} new connections were begun with nobody, and a second time after a second, "
               f"{_when(lost, since_ms)} ({spans}): {sight.told}")


def left_in_silence(sight):
    """New ones that somebody took, and never answered nor ended."""
    if sight.failed[SILENT]:
        yield f"{sight.failed[SILENT]} new connections were taken by somebody silent: {sight.told}"


def accepted_by_the_dead(drill):
    """From its worker's death on a host that keeps the address refuses who comes."""
    cluster = drill.cluster
    if not cluster.view:
        return
    events = cluster.events()
    for death in (each for each in events if isinstance(each, Role) and each.reason == DIED
                  and each.boot_ms >= drill.since_ms):
        for visit in cluster.view.visits(death.boot_ms):
            left_ms = _kept_until_ms(events, death, visit.address)
            if death.boot_ms + GRAIN_MS < visit.begun_ms and _was_taken(visit, left_ms):
                yield (f"{death.node} accepted a new connection after its worker's death, which was "
                       f"{visit.how}")


def _was_taken(visit, left_ms):
    """By a host that left the address then."""
    if visit.how == SILENT:
        return visit.connected_ms is not None and visit.connected_ms < left_ms
    return visit.how in (RESET, CLOSED) and visit.ended_ms < left_ms


def _kept_until_ms(events, death, address):
    """When the address left the host of the dead; 0: it was not there."""
    return next((each.boot_ms for each in events if isinstance(each, Gone)
                 and (each.node, each.address) == (death.node, address)
                 and each.boot_ms > death.boot_ms), 0)


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
    """Has another node answered a new connection after the leader had done so? A node that hands
    the address over may, from when it says so until it says that it is away."""
    cluster = drill.cluster
    if not cluster.view:
        return
    leader, events = cluster.leader().name, cluster.events()
    led_ms = [each.boot_ms for each in events if isinstance(each, Role)
              and (each.node, each.role) == (leader, LEADER)]
    firsts = cluster.view.answers_of(leader, max([drill.since_ms, *led_ms]))
    recent = [each for each in events if isinstance(each, Vip) and each.boot_ms >= drill.since_ms]
    for node, begun_ms in cluster.view.strangers_of(leader, firsts).items():
        spans = list(_handing_over(recent, node))
        if not all(any(begin <= at_ms <= end for begin, end in spans) for at_ms in begun_ms):
            yield f"{node} answered a new connection after {leader}, which leads"


def _handing_over(events, node):
    """(from, until) of each time in which that node handed the address over: until it was away, or
    must have been."""
    for leaving in (each for each in events if (each.node, each.state) == (node, LEAVING)):
        away_ms = min((each.boot_ms for each in events if (each.node, each.state) == (node, AWAY)
                       and each.boot_ms >= leaving.boot_ms),
                      default=leaving.boot_ms + LEAVING_MAX_MS + LATE_MS)
        yield leaving.boot_ms - GRAIN_MS, away_ms + GRAIN_MS


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
