"""What the journals of the nodes must show: one leader at a time, tokens that only grow, fences
that stop the old ones, and no more changes than there were faults, or the machine explains.

A *reign* is the time of one node with one token: from its role `leader` until its next role, or
until the driver killed it. A lease ends with its reign, whatever was written before.
"""

import math
from collections import namedtuple
from itertools import combinations
from operator import attrgetter

from judge.jobs import Violation
from judge.journal import (BY_A_STALL, DIED, LEADER, LEASE_OVER, Fault, Fenced, Lease, Role,
                           Stall)

AFTER_MS = 2000  # a change that a fault explains comes so long after its end at the latest: then
                 # every node has had its role for a while, and another T is over
JUST_BEFORE_MS = 1000  # a stall explains the end of a reign that comes so long after it
SILENT_MS = 500        # a loop that stands still for so long says so
GRAIN_MS = 1           # of what nodes write down
FEW_BY_MACHINE, ONE_BY_MACHINE_IN = 2, 20  # changes that the machine may explain, of all rounds

Reign = namedtuple("Reign", "node token from_ms until_ms reason")  # reason: of its end, or ""
Span = namedtuple("Span", "from_ms until_ms changes deposes")  # as a fault's; of several at once


def judge_leaders(journal, explained=None, is_rare=True):
    """The violations. `explained` counts what is excused. `is_rare`: has that to be rare?"""
    reigns = reigns_of(journal)
    leases = list(_leases(journal, reigns))
    yield from _two_leaders(leases)
    yield from _tokens_back(reigns, leases)
    yield from _fenced(journal.of(Fenced), reigns, leases)
    yield from _storms(reigns, journal.of(Lease), journal.of(Fault), journal.of(Stall), explained,
                       is_rare)
    if reigns and all(reign.until_ms < math.inf for reign in reigns):
        yield Violation("NO_LEADER", reigns[-1].token, "it was the last, and its reign is over")


def reigns_of(journal, killed_ms=attrgetter("start_ms")):
    """All of them, in order of time. A node that resumes with the token it had begins another.
    `killed_ms`: when a fault has killed whom it killed; it was between `start_ms` and `made_ms`."""
    deaths = [(name, killed_ms(fault)) for fault in journal.of(Fault) for name in fault.dead]
    found = []
    for role, following in _with_following(journal.of(Role)):
        if role.role == LEADER:
            ends = [following.boot_ms] if following else []
            ends += [at for name, at in deaths if name == role.node and at > role.boot_ms]
            end = min(ends, default=math.inf)
            reason = following.reason if following and following.boot_ms == end else ""
            found.append(Reign(role.node, role.token, role.boot_ms, end, reason))
    return sorted(found, key=lambda reign: reign.from_ms)


def leases_of(journal, killed_ms=attrgetter("start_ms")):
    """All of them, each as far as it lasted."""
    return list(_leases(journal, reigns_of(journal, killed_ms)))


def _with_following(roles):
    """(role, the next of the same node or None)"""
    by_node = {}
    for role in roles:
        by_node.setdefault(role.node, []).append(role)
    return [pair for each in by_node.values() for pair in zip(each, [*each[1:], None])]


def has_rolled_back(token, other):
    """Of one ensemble; tokens of two ensembles have no order."""
    return _ensemble(token) == _ensemble(other) and token < other


def _ensemble(token):
    return token.rpartition(":")[0]


def _leases(journal, reigns):
    """As far as they lasted: to the end of their reign, the first that was not over before."""
    for lease in journal.of(Lease):
        own = [reign.until_ms for reign in reigns
               if (reign.node, reign.token) == (lease.node, lease.token)]
        end = next((until for until in own if until > lease.from_ms), max(own, default=math.inf))
        yield Lease(lease.node, lease.token, lease.from_ms, min(lease.until_ms, end))


def _two_leaders(leases):
    """Leases of one reign are one; of two, no moment is in both."""
    spans = {}
    for lease in leases:
        spans.setdefault((lease.node, lease.token), []).append((lease.from_ms, lease.until_ms))
    merged = {key: _merged(sorted(each)) for key, each in spans.items()}
    for one, other in combinations(merged, 2):
        shared = max((min(a[1], b[1]) - max(a[0], b[0])
                      for a in merged[one] for b in merged[other]), default=0)
        if shared > 0:
            yield Violation("TWO_LEADERS", one[1], f"{one[0]} and {other[0]} ({other[1]}) "
                                                   f"for {shared:.1f} ms")


def _merged(spans):
    """Sorted spans, those that touch made one."""
    found = []
    for begin, end in spans:
        if found and begin <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        elif end > begin:
            found.append((begin, end))
    return found


def _tokens_back(reigns, leases):
    for before, after in combinations(reigns, 2):
        is_same = after.token == before.token and after.node != before.node
        if is_same or has_rolled_back(after.token, before.token):
            yield Violation("TOKEN_BACK", after.token, f"{after.node} leads with it after "
                                                       f"{before.node} led with {before.token}")
    for lease in leases:
        for reign in reigns:
            if has_rolled_back(lease.token, reign.token) and lease.from_ms > reign.from_ms:
                yield Violation("TOKEN_BACK", lease.token, f"{lease.node} has its lease longer "
                                f"after {reign.node} got {reign.token}")


def _fenced(fences, reigns, leases):
    for fenced in fences:
        def wrong(why, fenced=fenced):
            return Violation("FENCED", fenced.token, f"{fenced.node} was refused {why}")

        if _ensemble(fenced.token) != _ensemble(fenced.seen):
            continue  # neither is older: it leads on when an operator has adopted the fence
        if not has_rolled_back(fenced.token, fenced.seen):
            yield wrong(f"for {fenced.seen}, which is not newer")
        elif fenced.seen not in {reign.token for reign in reigns}:
            yield wrong(f"for {fenced.seen}, which nobody has led with")
        if any((lease.node, lease.token) == (fenced.node, fenced.token)
               and lease.from_ms > fenced.boot_ms for lease in leases):
            yield wrong("and has its lease longer all the same")


def _storms(reigns, leases, faults, stalls, explained, is_rare):
    """In a span there are as many changes as its faults may cause, and one more for each that the
    machine explains; of those there are few in all."""
    excused = 0
    for span in _spans(faults):
        changes = [first for first in _firsts(reigns)
                   if span.from_ms <= first.from_ms < span.until_ms]
        by_machine = sum(_is_by_machine(first, reigns, leases, stalls, span) for first in changes)
        by_faults = sum(_may_be_a_faults(first, reigns, span) for first in changes)
        excess = len(changes) - min(by_faults, span.changes)
        excused += max(0, min(excess, by_machine))
        if excess > by_machine:
            more = f", {by_machine} more by the machine" if by_machine else ""
            yield Violation("STORM", "", f"{len(changes)} leaders in turn, {span.changes} allowed"
                                         f"{more}, from {span.from_ms:.0f} to "
                                         f"{span.until_ms:.0f} ms: {_told(reigns, span)}")
    if explained is not None:
        explained["STORM"] += excused
    most = FEW_BY_MACHINE + len(faults) // ONE_BY_MACHINE_IN
    if is_rare and excused > most:
        yield Violation("STORM", "", f"{excused} changes are the machine's by the nodes' words: {most} "
                                     f"at most in {len(faults)} rounds")


def _told(reigns, span):
    """Who led in that time, and why no longer."""
    return ", ".join(f"{each.node} from {each.from_ms:.0f}"
                     + (f" until {each.until_ms:.0f} ({each.reason or 'by no word of its own'})"
                        if each.until_ms < math.inf else "")
                     for each in reigns
                     if each.from_ms < span.until_ms and each.until_ms >= span.from_ms)


def _may_be_a_faults(first, reigns, span):
    """A fault that deposes some explains no change of the lead of others."""
    before = [reign for reign in reigns if reign.from_ms < first.from_ms]
    return not before or span.deposes is None or before[-1].node in span.deposes


def _firsts(reigns):
    """The first reign with each token: to resume is no change."""
    firsts = {}
    for reign in reigns:
        firsts.setdefault(reign.token, reign)
    return list(firsts.values())


def _spans(faults):
    """All time, in order. Faults that overlap are one, with the changes of all of them. Between two
    of them there is no change, but for the first election."""
    windows = []
    for fault in sorted(faults, key=lambda fault: fault.start_ms):
        own = Span(fault.start_ms, fault.end_ms, fault.changes, fault.deposes)
        if windows and fault.start_ms <= windows[-1].until_ms:
            windows[-1] = _as_one(windows[-1], own)
        else:
            windows.append(own)
    starts = [*(window.from_ms for window in windows), math.inf]
    yield Span(-math.inf, starts[0], 1, ())  # 1: the first election
    for window, following in zip(windows, starts[1:]):
        healed = min(window.until_ms + AFTER_MS, following)
        yield window._replace(until_ms=healed)
        yield Span(healed, following, 0, ())


def _as_one(span, other):
    anybody = span.deposes is None or other.deposes is None
    return Span(span.from_ms, max(span.until_ms, other.until_ms), span.changes + other.changes,
                None if anybody else (*span.deposes, *other.deposes))


def is_cause(stall, node, reason, stalls):
    """Can this stall be why that node lost its lead, for the reason that it tells? A worker whose
    warden ended it may have hung by its own fault. The machine did it only where another process
    stood still meanwhile, too."""
    if stall.node != node or stall.ms < SILENT_MS:
        return False
    if not stall.is_last:
        return reason in (LEASE_OVER, *BY_A_STALL)
    return reason == DIED and any(
        min(stall.boot_ms, other.boot_ms)
        - max(stall.boot_ms - stall.ms, other.boot_ms - other.ms) > GRAIN_MS
        for other in stalls if not other.is_last and not (other.is_loop and other.node == node))


def _is_by_machine(first, reigns, leases, stalls, span):
    """Does the node that was deposed say so? ZooKeeper did not prove its lease in time; or it slept
    until its session had ended, or its warden ended it. Evidence of another span does not count,
    because the fault of that span may be its reason. Nor does it count where a fault of this span
    may have done it."""
    before = [reign for reign in reigns if reign.from_ms < first.from_ms]
    if not before or span.deposes is None:
        return False
    last = before[-1]
    if last.node in span.deposes:
        return False
    if (last.reason == LEASE_OVER and span.from_ms <= last.until_ms <= first.from_ms
            and _ran_out(last, leases)):
        return True
    return any(
        is_cause(stall, last.node, last.reason, stalls)
        and span.from_ms <= stall.boot_ms - stall.ms <= min(last.until_ms, first.from_ms)
        and last.until_ms - JUST_BEFORE_MS <= stall.boot_ms for stall in stalls)


def _ran_out(reign, leases):
    """By the last lease that the node wrote for it: that is over, and not for so long that the node
    had to tell a stall."""
    until = max((lease.until_ms for lease in leases
                 if (lease.node, lease.token) == (reign.node, reign.token)
                 and lease.from_ms <= reign.until_ms), default=math.inf)
    return -GRAIN_MS <= reign.until_ms - until <= SILENT_MS
