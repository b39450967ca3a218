"""Replies that a fault kept from their consumers, and the jobs that were in them.

The evidence is a consumer's pop that had no answer, from a node that the fault hit, at its time. One
such pop excuses as many jobs as it asked for, whatever it excuses them of. Behind a proxy a job without
a TTR may also be lost by a change of the leader, whatever caused it: the proxy ends its sessions with a
node that leads no more (docker/haproxy.cfg), with what is in them.
"""

from collections import defaultdict

from judge.journal import REFUSED, Delivered, Fault, HandOver, LockedMove, Move, Push, Unanswered
from judge.leaders import leases_of, reigns_of

ESTIMATE_MS = 50    # by which a node's estimate of Redis's clock may be wrong, on a busy machine
UNWRITTEN_MS = 200  # a node writes the history this much later; a fault may take these lines
PROXY_LATE_MS = 3000  # two checks of a second each, and a busy machine
GIVING_UP_MS = 500  # a busy consumer whose patience is over closes so much later; nodes ask as late


def broken_pops(journal):
    """Those that met a fault of their node, by when the last of these faults was over; and, behind a
    proxy, those that a change of the leader ended."""
    faults, changes = journal.of(Fault), list(_changes(journal))
    pops = []
    for pop in journal.of(Unanswered):
        own = [fault for fault in faults if fault.hits(pop.node)
               and pop.asked_ms <= fault.end_ms and fault.start_ms <= pop.ended_ms]
        if own:
            pops.append(BrokenPop(pop, own, max(fault.end_ms for fault in own)))
        elif pop.is_proxied and any(begin <= pop.ended_ms <= end for begin, end in changes):
            pops.append(BrokenPop(pop, [], pop.ended_ms + UNWRITTEN_MS))
    return sorted(pops, key=lambda pop: pop.until_ms)


def _changes(journal):
    """(from, until) of each: a leader's reign or lease was over, and another began; until the proxy
    has seen it."""
    reigns, leases = reigns_of(journal), leases_of(journal)
    for before, after in zip(reigns, reigns[1:]):
        ends_ms = [lease.until_ms for lease in leases
                   if (lease.node, lease.token) == (before.node, before.token)]
        over_ms = min(before.until_ms, max(ends_ms, default=before.until_ms))
        yield min(over_ms, after.from_ms), after.from_ms + PROXY_LATE_MS


def lost_on_the_way(journal, pops):
    """The ids of jobs without a TTR that went with a reply that a fault kept from its consumer. The
    evidence is, beside the broken pop, the node's line in the history, which is written when the
    consumer's kernel has acknowledged the job to its last byte. So a consumer that was connected
    with the node itself has it, unless it gave up at that moment. Behind a proxy the line may be of
    any time from when that pop was asked for until the fault was over; and a line that was to be
    written when the fault was made may be lost: then the job was made ready at that time."""
    lines = by_id(journal.of(Delivered))
    ready = by_id((*journal.of(Move), *journal.of(LockedMove)))
    handed_over = {each.id for each in journal.of(HandOver)}
    found = set()
    for push in sorted(journal.of(Push), key=lambda push: push.ended_ms):
        if push.ttr_ms or push.outcome == REFUSED or push.id in handed_over or push.id in found:
            continue
        own = [(each.boot_ms, each.boot_ms) for each in ready[push.id]]
        if not push.delay_ms:
            own.append((push.sent_ms, push.ended_ms))
        if take(pops, lambda pop: any(map(pop.may_have_sent, lines[push.id])) if lines[push.id]
                else any(pop.may_have_got(*each) for each in own)):
            found.add(push.id)
    return found


def take(pops, is_it):
    """One job more is excused by the first of them that may have had it; False: none may."""
    pop = next((pop for pop in pops if pop.has_room and is_it(pop)), None)
    if pop:
        pop.count += 1
    return pop is not None


def by_id(events):
    found = defaultdict(list)
    for event in events:
        found[event.id].append(event)
    return found


class BrokenPop:
    """A pop without an answer, and the faults of its node that it met, or none: a proxy ended it. All
    is over at `until_ms`."""

    def __init__(self, pop, faults, until_ms):
        self._pop, self._faults, self.count, self.until_ms = pop, faults, 0, until_ms

    @property
    def has_room(self):
        return self.count < self._pop.count

    def may_have_sent(self, line):
        if line.node not in ("", self._pop.node):
            return False
        if not self._pop.is_proxied:
            return abs(line.boot_ms - self._pop.ended_ms) <= GIVING_UP_MS
        return self._pop.asked_ms - ESTIMATE_MS <= line.boot_ms <= self.until_ms

    def may_have_got(self, from_ms, until_ms):
        """What was made ready in that time, without a line."""
        return self._pop.is_proxied and from_ms <= self._pop.ended_ms and any(
            fault.start_ms - UNWRITTEN_MS <= until_ms and from_ms <= fault.made_ms + UNWRITTEN_MS
            for fault in self._faults)

    def may_have_held(self, ready_ms, back_ms):
        """What was ready, and then ready again: in between a node had it, for that pop perhaps."""
        return (bool(self._faults) and ready_ms <= self.until_ms
                and self._pop.asked_ms - ESTIMATE_MS <= back_ms)
