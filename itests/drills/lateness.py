"""How late jobs were: from due to the consumer, in outages and outside of them. Where Redis's own
files are read (ledger.py): from due to when it was moved, which no consumer's time is in.

Only the first hand-over of a job with a delay counts: what a scanner moved. The consumer's own time
to look at its clock is in it. A reply that died with its node comes again when its reservation
is over: that is no outage of the scanner, and nobody saw the first.
"""

import math
from collections import namedtuple

from crash.judge import UNCONFIRMED_S, Violation
from drills.journal import Clock, Fault, HandOver, LockedMove, Push, gained

Limits = namedtuple("Limits", "tick_ms outside_p99_ms")
Due = namedtuple("Due", "id due_ms received_ms late_ms")  # on the one clock of all journals

ENOUGH_FOR_P99 = 100
WORKED_OFF_IN = 4  # consumers are faster than producers by this factor, at least
HELD_MS = 5000  # a delivery that nobody confirmed; OP_UNCONFIRMED_MS


def dues_of(journal, since_ms=None):
    """All that a scanner moved, in order of due; since_ms: only what was handed over since."""
    if journal.of(LockedMove):
        return _moved(journal)
    hand_overs = journal.of(HandOver) if since_ms is None else journal.recent(HandOver, since_ms)
    found, untold = {}, set(hand_overs_of_set_clocks(journal))
    for each in sorted(hand_overs, key=lambda each: each.received_ms):
        if (each.attempt == 1 and each.redis_ms is not None and each.delay_ms > 0
                and each not in untold):
            late_ms = each.redis_ms - each.due_ms
            found.setdefault((each.id, each.due_ms), Due(
                each.id, each.received_ms - late_ms, each.received_ms, late_ms))
    return sorted(found.values(), key=lambda due: due.due_ms)


def hand_overs_of_set_clocks(journal):
    """Those whose lateness Redis's clock cannot tell: it was set between push and hand-over."""
    clocks, sent_ms = journal.of(Clock), {}
    for push in journal.of(Push) if clocks else ():
        sent_ms[push.id] = min(push.sent_ms, sent_ms.get(push.id, push.sent_ms))
    return [each for each in (journal.of(HandOver) if clocks else ()) if each.redis_ms is not None
            and gained(clocks, sent_ms.get(each.id, each.asked_ms), each.received_ms)]


def _moved(journal):
    """The first time for each due, by any of several Redis: replicas have the same."""
    found = {}
    for each in journal.of(LockedMove):
        if each.due_ms is not None:
            late_ms = each.redis_ms - each.due_ms
            due = Due(each.id, each.boot_ms - late_ms, each.boot_ms, late_ms)
            found.setdefault((each.id, each.due_ms), due)
    return sorted(found.values(), key=lambda due: due.due_ms)


def outage_of(due, faults, tick_ms):
    """The fault in whose outage a job became due, the last where there are several; or a tick
    before: it had not been moved yet. None where there is none."""
    return max((fault for fault in faults
                if fault.start_ms - tick_ms <= due.due_ms <= fault.outage_end_ms + tick_ms),
               key=lambda fault: fault.outage_end_ms, default=None)


def end_for(due, fault):
    """From when on it should be handed over: when another leader served. What was due before the
    fault may have been on its way to a host that the fault took: when that one was back."""
    return fault.end_ms if due.due_ms <= fault.start_ms else fault.outage_end_ms


def is_undelivered(due, fault, tick_ms):
    """Was it, going by the time, on its way to another consumer when the fault came? Then it comes
    again when what nobody confirmed is held no more; or it waited in line behind all that became due
    in the outage, which consumers work off in a part of its time."""
    in_line_ms = (fault.outage_end_ms - fault.start_ms) / WORKED_OFF_IN
    latest_ms = max(due.due_ms, fault.outage_end_ms) + HELD_MS + in_line_ms + 2 * tick_ms
    return (due.late_ms >= UNCONFIRMED_S * 1000 and due.due_ms <= fault.end_ms
            and due.received_ms <= latest_ms)


def outside(journal, tick_ms):
    """Lateness in ms of the jobs that no outage touched."""
    faults = journal.of(Fault)
    return [due.late_ms for due in dues_of(journal) if not outage_of(due, faults, tick_ms)]


def percentile(values, share):
    """The smallest value that `share` of them do not exceed; None of nothing."""
    ordered = sorted(values)
    if not ordered:
        return None
    return ordered[math.ceil(share * len(ordered)) - 1]


def judge_lateness(journal, limits):
    faults = journal.of(Fault)
    for due in dues_of(journal):
        fault = outage_of(due, faults, limits.tick_ms)
        if due.late_ms <= limits.tick_ms:
            continue
        if fault is None:
            yield Violation("LATE", due.id, f"{due.late_ms:.0f} ms, and there was no fault")
        elif (due.received_ms - end_for(due, fault) > limits.tick_ms
              and not is_undelivered(due, fault, limits.tick_ms)):
            after_ms = due.received_ms - end_for(due, fault)
            yield Violation("LATE", due.id, f"{after_ms:.0f} ms after the outage by {fault.what}")
    late = outside(journal, limits.tick_ms)
    p99 = percentile(late, 0.99)
    if len(late) >= ENOUGH_FOR_P99 and p99 > limits.outside_p99_ms:
        yield Violation("LATE", "", f"outside faults p99 is {p99:.1f} ms, "
                                    f"{limits.outside_p99_ms} ms promised")
