"""What the journals of the nodes must show: one leader at a time, tokens that only grow, fences
that stop the old ones, and no more changes than there were faults.

A *reign* is the time of one node with one token: from its role `leader` until its next role, or
until the driver killed it. A lease ends with its reign, whatever was written before.
"""

import math
from collections import namedtuple
from itertools import combinations
from operator import attrgetter

from crash.judge import Violation
from drills.journal import LEADER, Fault, Fenced, Lease, Role

AFTER_MS = 2000  # a change that a fault explains comes so long after its end at the latest: then
                 # every node has had its role for a while, and another T is over

Reign = namedtuple("Reign", "node token from_ms until_ms")


def judge_leaders(journal):
    reigns = reigns_of(journal)
    leases = list(_leases(journal, reigns))
    yield from _two_leaders(leases)
    yield from _tokens_back(reigns, leases)
    yield from _fenced(journal.of(Fenced), reigns, leases)
    yield from _storms(reigns, journal.of(Fault))
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
            found.append(Reign(role.node, role.token, role.boot_ms, min(ends, default=math.inf)))
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


def is_older(token, other):
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
        if is_same or is_older(after.token, before.token):
            yield Violation("TOKEN_BACK", after.token, f"{after.node} leads with it after "
                                                       f"{before.node} led with {before.token}")
    for lease in leases:
        for reign in reigns:
            if is_older(lease.token, reign.token) and lease.from_ms > reign.from_ms:
                yield Violation("TOKEN_BACK", lease.token, f"{lease.node} has its lease longer "
                                f"after {reign.node} got {reign.token}")


def _fenced(fences, reigns, leases):
    for fenced in fences:
        def wrong(why, fenced=fenced):
            return Violation("FENCED", fenced.token, f"{fenced.node} was refused {why}")

        if _ensemble(fenced.token) != _ensemble(fenced.seen):
            continue  # neither is older: it leads on when an operator has adopted the fence
        if not is_older(fenced.token, fenced.seen):
            yield wrong(f"for {fenced.seen}, which is not newer")
        elif fenced.seen not in {reign.token for reign in reigns}:
            yield wrong(f"for {fenced.seen}, which nobody has led with")
        if any((lease.node, lease.token) == (fenced.node, fenced.token)
               and lease.from_ms > fenced.boot_ms for lease in leases):
            yield wrong("and has its lease longer all the same")


def _storms(reigns, faults):
    """Faults that overlap are one, with the changes of all of them. Between two of them there is no
    change, but for the first election."""
    windows = []
    for fault in sorted(faults, key=lambda fault: fault.start_ms):
        if windows and fault.start_ms <= windows[-1][1]:
            start, end, changes = windows[-1]
            windows[-1] = (start, max(end, fault.end_ms), changes + fault.changes)
        else:
            windows.append((fault.start_ms, fault.end_ms, fault.changes))
    firsts = {}
    for reign in reigns:  # to resume is no change
        firsts.setdefault(reign.token, reign.from_ms)
    spans = [(-math.inf, windows[0][0] if windows else math.inf, 1)]  # 1: the first election
    for number, (start, end, changes) in enumerate(windows):
        following = windows[number + 1][0] if number + 1 < len(windows) else math.inf
        healed = min(end + AFTER_MS, following)
        spans += [(start, healed, changes), (healed, following, 0)]
    for begin, end, most in spans:
        count = sum(begin <= first < end for first in firsts.values())
        if count > most:
            yield Violation("STORM", "", f"{count} leaders in turn, {most} allowed, from "
                                         f"{begin:.0f} to {end:.0f} ms")
