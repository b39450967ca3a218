"""How late jobs were: from due to the consumer, in outages and outside of them. Where Redis's own
files are read (ledger.py): from due to when it was moved, which no consumer's time is in.

Only the first hand-over of a job with a delay counts: what a scanner moved. The consumer's own time
to look at its clock is in it. A reply that died with its node comes again when its reservation
is over: that is no outage of the scanner, and nobody saw the first.
"""

import math
from collections import namedtuple

from judge.jobs import Violation
from judge.journal import (Ack, Clock, Empty, Fault, HandOver, LockedMove, Move, Push, TakenBack,
                           Unanswered, gained)
from judge.unanswered import by_id, take

Limits = namedtuple("Limits", "tick_ms outside_p99_ms")
Due = namedtuple("Due", "id due_ms received_ms late_ms")  # on the one clock of all journals

ENOUGH_FOR_P99 = 100
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
                if fault.outage_start_ms - tick_ms <= due.due_ms <= fault.outage_end_ms + tick_ms),
               key=lambda fault: fault.outage_end_ms, default=None)


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


def judge_lateness(journal, limits, explained, pops):
    """The violations. `explained` counts what is excused, `pops` are broken_pops()."""
    faults, excuses = journal.of(Fault), _Excuses(journal, limits.tick_ms, pops)
    found = []
    for due in dues_of(journal):
        fault = outage_of(due, faults, limits.tick_ms)
        if due.late_ms <= limits.tick_ms:
            continue
        in_time_ms = fault.outage_end_ms + limits.tick_ms if fault else due.due_ms
        if due.received_ms > in_time_ms and excuses.was_not_asked_for(due):
            explained["UNASKED"] += 1
        elif fault is None:
            found.append(Violation("LATE", due.id, f"{due.late_ms:.0f} ms, and there was no fault"))
        elif due.received_ms - fault.outage_end_ms > limits.tick_ms:
            why_not = excuses.why_not(due, fault)
            explained["UNDELIVERED"] += not why_not
            if why_not:
                after_ms = due.received_ms - fault.outage_end_ms
                found.append(Violation("LATE", due.id, f"{after_ms:.0f} ms after the outage by "
                                                       f"{fault.what}; {why_not}"))
    late = outside(journal, limits.tick_ms)
    p99 = percentile(late, 0.99)
    if len(late) >= ENOUGH_FOR_P99 and p99 > limits.outside_p99_ms:
        found.append(Violation("LATE", "", f"outside faults p99 is {p99:.1f} ms, "
                                           f"{limits.outside_p99_ms} ms promised"))
    explained["LATE"] += sum(each.redis_ms - each.due_ms > limits.tick_ms
                             for each in hand_overs_of_set_clocks(journal))
    return found


class _Excuses:
    """Why a job may come later than a tick after the outage in which it became due: by Redis's own
    lines it was made ready in time, and then handed out to a consumer that had no answer. So it was
    taken back when what nobody confirmed is held no more, and came within a tick of that; or the
    reply itself came late, from a node that the fault had hit, to a pop of before the fault.

    Or no consumer asked for it: all waited for the answer to an ack (of store.min_replicas, say).

    Where all nodes scan nothing is excused: there it is the move that is late, or not."""

    def __init__(self, journal, tick_ms, pops):
        self._tick_ms, self._pops = tick_ms, pops
        self._moves, self._backs = by_id(journal.of(Move)), by_id(journal.of(TakenBack))
        self._replies = {(each.id, each.received_ms): each for each in journal.of(HandOver)}
        self._is_moved = bool(journal.of(LockedMove))
        self._slow_acks = [each for each in journal.of(Ack)
                           if each.ended_ms - each.sent_ms > tick_ms
                           and any(fault.start_ms <= each.ended_ms and each.sent_ms <= fault.end_ms
                                   for fault in journal.of(Fault))]
        self._waits = [(each.asked_ms, each.received_ms) for each in journal.of(HandOver)]
        self._waits += [(each.asked_ms, each.ended_ms) for each in journal.of(Unanswered)]
        self._empty = journal.of(Empty)

    def was_not_asked_for(self, due):
        """It was ready, and handed to the first pop: in a fault consumers waited for answers to their
        acks, and none of them for a job, nor had one gone away without, or with a later job."""
        asked_ms = self._replies[due.id, due.received_ms].asked_ms if not self._is_moved else None
        moved_ms = self._moved_ms(due)
        if moved_ms is None or asked_ms is None or due.received_ms - asked_ms > self._tick_ms:
            return False
        return (any(each.sent_ms <= asked_ms and moved_ms <= each.ended_ms
                    for each in self._slow_acks)
                and not any(asked <= moved_ms and ended - moved_ms > self._tick_ms
                            for asked, ended in self._waits)
                and not any(moved_ms <= each.ended_ms <= due.received_ms for each in self._empty)
                and not self._was_passed_over(due, moved_ms))

    def _was_passed_over(self, due, moved_ms):
        """Was a job of its topic that was made ready later handed over before it?"""
        topic = self._replies[due.id, due.received_ms].topic
        return any(each.topic == topic and moved_ms <= each.asked_ms
                   and each.received_ms < due.received_ms
                   and any(moved_ms < move.boot_ms <= each.received_ms
                           for move in self._moves[each.id])
                   for each in self._replies.values())

    def _moved_ms(self, due):
        return max((each.boot_ms for each in self._moves[due.id]
                    if each.boot_ms <= due.received_ms), default=None)

    def why_not(self, due, fault):
        """What is wrong; "" where it is excused."""
        if self._is_moved:
            return "that is when it was made ready"
        served_ms, tick_ms = fault.outage_end_ms, self._tick_ms
        moved_ms = self._moved_ms(due)
        if moved_ms is None:
            return "by no line was it made ready before"
        if moved_ms - served_ms > tick_ms:
            return f"it was made ready {moved_ms - served_ms:.0f} ms after it"
        if self._was_under_way(due, fault):
            return ""
        lines = [each for each in self._backs[due.id]
                 if moved_ms <= each.boot_ms <= due.received_ms]
        if not lines:
            return "it was ready, and nobody had been sent it"
        backs = [each.boot_ms for each in lines]
        if max(backs) - max(due.due_ms, served_ms) > HELD_MS + tick_ms:
            return f"it was taken back {max(backs) - served_ms:.0f} ms after it"
        back_ms = max(self._latest_ms(each, fault) for each in lines)
        if due.received_ms - back_ms > tick_ms:
            return f"it was taken back {due.received_ms - back_ms:.0f} ms before"
        if not all(take(self._pops, lambda pop, at=at: pop.may_have_held(moved_ms, at))
                   for at in backs):
            return "it was taken back, and no pop was without an answer"
        return ""

    def _latest_ms(self, line, fault):
        """When it was at the latest. A node that stood still writes with the time at which it did,
        until its loop turns again: when the fault is over."""
        stood_still = (line.has_left and fault.nodes is not None and line.node in fault.nodes
                       and fault.made_ms <= line.boot_ms <= fault.made_ms + self._tick_ms)
        return fault.end_ms if stood_still else line.boot_ms

    def _was_under_way(self, due, fault):
        reply = self._replies[due.id, due.received_ms]
        return (fault.hits(reply.node) and reply.asked_ms <= fault.made_ms
                and due.received_ms - fault.end_ms <= self._tick_ms)
