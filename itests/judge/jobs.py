"""What clients alone can tell of jobs: which are lost, invented, or back after their end. The crash
tests and the drills ask the same of them; whether a job was early, or came twice, each judges by what
else it knows.

    LOST      an acknowledged push is acknowledged by a consumer, or cancelled, or still in the store
              (TTR 0: handed over, or cancelled, or still in the store)
    INVENTED  what is handed over was pushed: this id, topic and body, and not refused
    RETURNED  after an acknowledged ack, or cancel, there is no hand-over, and nothing is left in the
              store

An answer that never came is "unknown": it may have happened or not, and both are accepted.
"""

import math
from collections import defaultdict
from dataclasses import dataclass

from judge.journal import (DUPLICATE, OK, UNKNOWN, Ack, Cancel, Delivered, HandOver, Push, Release,
                           TakenBack)

SLACK_MS = 250         # how late a busy client may look at its clock
CONFIRM_MS = 1000      # within this time of a hand-over a fault may eat its confirmation
UNCONFIRMED_MS = 4900  # an unconfirmed hand-over is held for 5 s, from when it began or later
ORDER = {Push: "sent_ms", HandOver: "received_ms", Ack: "ended_ms", Cancel: "ended_ms",
         Release: "sent_ms", Delivered: "boot_ms", TakenBack: "boot_ms"}


@dataclass(frozen=True)
class Violation:
    rule: str
    id: str
    why: str


def lives_of(journal):
    """{id: {kind: events in order}}: all that happened to each job."""
    lives = defaultdict(lambda: {kind: [] for kind in ORDER})
    for kind, when in ORDER.items():
        for event in sorted(journal.of(kind), key=lambda event: getattr(event, when)):
            lives[event.id][kind].append(event)
    return lives


def births(life):
    """How often the job may have come into being."""
    return sum(push.outcome in (OK, UNKNOWN) for push in life[Push])


def judge_ends(journal, stored=frozenset(), on_its_way_ms=SLACK_MS):
    """The violations; `stored` are the ids in the store at the end. `on_its_way_ms`: so long a reply
    may be on its way to a client."""
    lives = lives_of(journal)
    for id, life in lives.items():
        for rule, why in (*_invented(life), *_lost(life, id in stored),
                          *_returned(life, id in stored, on_its_way_ms)):
            yield Violation(rule, id, why)
    for id in stored:
        if not births(lives[id]):
            yield Violation("INVENTED", id, "is in the store, nobody pushed it")


def _invented(life):
    if life[Push] and life[Push][0].outcome == DUPLICATE:
        yield "INVENTED", "its first push was refused as a duplicate"
    for hand_over in life[HandOver]:
        if not any((push.topic, push.body) == (hand_over.topic, hand_over.body)
                   and push.outcome in (OK, UNKNOWN)
                   and push.sent_ms <= hand_over.received_ms for push in life[Push]):
            yield "INVENTED", "handed over, but never pushed like this"


def _lost(life, is_stored):
    if is_stored or not any(push.outcome in (OK, DUPLICATE) for push in life[Push]):
        return
    ends = life[Cancel] if life[Push][0].ttr_ms == 0 else [*life[Ack], *life[Cancel]]
    if not (any(each.outcome in (OK, UNKNOWN) for each in ends)
            or (life[Push][0].ttr_ms == 0 and life[HandOver])):
        yield "LOST", f"pushed at {life[Push][0].ended_ms / 1000:.3f}, nowhere now"


def _returned(life, is_stored, on_its_way_ms):
    def is_over_by(moment_ms):
        return life[Push] and sum(each.outcome == OK and each.ended_ms <= moment_ms
                                  for each in (*life[Ack], *life[Cancel])) >= max(1, births(life))

    for hand_over in life[HandOver]:
        if is_over_by(max(hand_over.asked_ms, hand_over.received_ms - on_its_way_ms)):
            yield "RETURNED", f"handed over at {hand_over.received_ms / 1000:.3f} after its last ack"
    if is_stored and is_over_by(math.inf):
        yield "RETURNED", "acknowledged, and still in the store"
