"""The judge of the crash tests: did the node keep its promises, going by what its clients saw?

They write a journal (judge/journal.py): what they asked, when they asked it, and what they were told.
This judge knows nothing else but the ids that are in the store at the end. Its rules are those of
judge/jobs.py, and

    EARLY     nothing is handed over before its delay is over
    TWICE     a second hand-over has a reason: the lease was over; or a fault may have eaten
              the confirmation of the first, and what that left held is free again; or the push
              was repeated because its answer was lost, so that the job has lived twice
"""

from judge.jobs import (CONFIRM_MS, SLACK_MS, UNCONFIRMED_MS, Violation, births, judge_ends,
                        lives_of)
from judge.journal import Fault, HandOver, Push

COMES_AGAIN_MS = 15_000  # at the very latest, from then or from the end of the fault on


def judge(journal, stored=frozenset()):
    """All violations; `stored` are the ids in the store at the end."""
    found = list(judge_ends(journal, stored))
    for id, life in lives_of(journal).items():
        if life[Push]:
            found += [Violation(rule, id, why)
                      for rule, why in (*_early(life), *_twice(life, journal.of(Fault)))]
    return found


def _early(life):
    for hand_over in life[HandOver][:1]:
        early_ms = life[Push][0].sent_ms + life[Push][0].delay_ms - hand_over.received_ms
        if early_ms > 0:
            yield "EARLY", f"by {early_ms:.3f} ms"


def _twice(life, faults):
    without_reason = 1
    for first, second in zip(life[HandOver], life[HandOver][1:]):
        if not _has_reason(first, second, life[Push][0], faults):
            without_reason += 1
            if without_reason > max(1, births(life)):
                apart_ms = second.received_ms - first.received_ms
                yield "TWICE", f"{apart_ms:.0f} ms apart, TTR {life[Push][0].ttr_ms} ms"


def _has_reason(first, second, push, faults):
    """The first's lease began, at the earliest, when the job was asked for, and due: a busy consumer
    may look at its clock much later."""
    apart_ms = second.received_ms - max(first.asked_ms, push.sent_ms + push.delay_ms)
    if 0 < push.ttr_ms <= apart_ms:
        return True
    handed_over_ms = max(first.asked_ms, first.received_ms - SLACK_MS)
    return apart_ms >= UNCONFIRMED_MS and any(
        fault.start_ms <= first.received_ms + CONFIRM_MS and fault.end_ms >= handed_over_ms
        and second.received_ms <= max(first.received_ms, fault.end_ms) + COMES_AGAIN_MS
        for fault in faults)
