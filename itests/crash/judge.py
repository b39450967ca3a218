"""The judge: did the node keep its promises, going by what its clients saw?

The clients write a history: what they asked, when they asked it, and what they were told. The
judge knows nothing else but the ids that are in the store at the end. Its rules:

    LOST      an acknowledged push is acknowledged by a consumer, or still in the store
              (TTR 0: handed over, or still in the store)
    INVENTED  what is handed over was pushed: this id, topic and body, and not refused
    EARLY     nothing is handed over before its delay is over
    UNDONE    after an acknowledged ack there is no hand-over, and nothing is left in the store
    TWICE     a second hand-over has a reason: the lease was over; or a fault may have eaten
              the confirmation of the first, and what that left held is free again; or the push
              was repeated because its answer was lost, so that the job has lived twice

An answer that never came is "unknown": it may have happened or not, and both are accepted.
Times are seconds of one monotonic clock.
"""

from collections import defaultdict
from dataclasses import dataclass, field

OK, DUPLICATE, REFUSED, UNKNOWN = "ok", "duplicate", "refused", "unknown"

SLACK_S = 0.25         # how late a busy client may look at its clock
CONFIRM_S = 1.0        # within this time of a hand-over a fault may eat its confirmation
UNCONFIRMED_S = 4.9    # an unconfirmed hand-over is held for 5 s, from when it began or later
COMES_AGAIN_S = 15.0   # at the very latest, from then or from the end of the fault on


@dataclass(frozen=True)
class Push:
    id: str
    topic: str
    body: str
    delay_s: float
    ttr_s: float
    sent: float
    ended: float
    outcome: str


@dataclass(frozen=True)
class HandOver:
    id: str
    topic: str
    body: str
    asked: float
    received: float


@dataclass(frozen=True)
class Ack:
    id: str
    sent: float
    ended: float
    outcome: str


@dataclass(frozen=True)
class Fault:
    """Something was killed at `start`; all was well again at `end`."""

    what: str
    start: float
    end: float


@dataclass
class History:
    """Appended to by many threads at once, judged when they have ended."""

    pushes: list = field(default_factory=list)
    hand_overs: list = field(default_factory=list)
    acks: list = field(default_factory=list)
    faults: list = field(default_factory=list)

    def summary(self):
        acknowledged = sum(push.outcome == OK for push in self.pushes)
        unknown = sum(each.outcome == UNKNOWN for each in [*self.pushes, *self.acks])
        return (f"{acknowledged} pushes acknowledged, {len(self.hand_overs)} hand-overs, "
                f"{len(self.acks)} acks, {unknown} answers unknown, {len(self.faults)} faults")


@dataclass(frozen=True)
class Violation:
    rule: str
    id: str
    why: str


class _Life:
    """All that happened to one id, in order of time."""

    def __init__(self):
        self.pushes, self.hand_overs, self.acks = [], [], []

    def sort(self):
        self.pushes.sort(key=lambda push: push.sent)
        self.hand_overs.sort(key=lambda hand_over: hand_over.received)
        self.acks.sort(key=lambda ack: ack.ended)

    @property
    def lives(self):
        """How often the job may have come into being."""
        return sum(push.outcome in (OK, UNKNOWN) for push in self.pushes)

    @property
    def is_promised(self):
        return any(push.outcome in (OK, DUPLICATE) for push in self.pushes)

    def acked_before(self, moment):
        return sum(ack.outcome == OK and ack.ended <= moment for ack in self.acks)


def judge(history, stored=frozenset(), on_its_way_s=SLACK_S):
    """All violations; `stored` are the ids in the store at the end. `on_its_way_s`: so long a reply
    may be on its way to a client."""
    lives = defaultdict(_Life)
    for name in ("pushes", "hand_overs", "acks"):
        for event in getattr(history, name):
            getattr(lives[event.id], name).append(event)
    found = []
    for id, life in lives.items():
        life.sort()
        for rule, why in _judge_one(life, id in stored, history.faults, on_its_way_s):
            found.append(Violation(rule, id, why))
    found += [Violation("INVENTED", id, "is in the store, nobody pushed it")
              for id in stored if not lives.get(id, _Life()).lives]
    return found


def _judge_one(life, is_stored, faults, on_its_way_s):
    yield from _invented(life)
    if life.pushes:
        yield from _early(life)
        yield from _lost(life, is_stored)
        yield from _undone(life, is_stored, on_its_way_s)
        yield from _twice(life, faults)


def _invented(life):
    if life.pushes and life.pushes[0].outcome == DUPLICATE:
        yield "INVENTED", "its first push was refused as a duplicate"
    for hand_over in life.hand_overs:
        if not _was_pushed(life, hand_over):
            yield "INVENTED", "handed over, but never pushed like this"


def _was_pushed(life, hand_over):
    return any((push.topic, push.body) == (hand_over.topic, hand_over.body)
               and push.outcome in (OK, UNKNOWN)
               and push.sent <= hand_over.received for push in life.pushes)


def _early(life):
    born = min(push.sent for push in life.pushes)
    for hand_over in life.hand_overs[:1]:
        early = born + life.pushes[0].delay_s - hand_over.received
        if early > 0:
            yield "EARLY", f"by {early * 1000:.3f} ms"


def _lost(life, is_stored):
    if not life.is_promised or is_stored:
        return
    if life.pushes[0].ttr_s == 0:
        is_accounted_for = bool(life.hand_overs)
    else:
        is_accounted_for = any(ack.outcome in (OK, UNKNOWN) for ack in life.acks)
    if not is_accounted_for:
        yield "LOST", f"pushed at {life.pushes[0].ended:.3f}, nowhere now"


def _undone(life, is_stored, on_its_way_s):
    for hand_over in life.hand_overs:
        surely_before = max(hand_over.asked, hand_over.received - on_its_way_s)
        if life.acked_before(surely_before) >= max(1, life.lives):
            yield "UNDONE", f"handed over at {hand_over.received:.3f} after its last ack"
    if is_stored and life.acked_before(float("inf")) >= max(1, life.lives):
        yield "UNDONE", "acknowledged, and still in the store"


def _twice(life, faults):
    without_reason = 1
    for first, second in zip(life.hand_overs, life.hand_overs[1:]):
        if not _has_reason(first, second, life, faults):
            without_reason += 1
            if without_reason > max(1, life.lives):
                apart = second.received - first.received
                yield "TWICE", f"{apart:.3f} s apart, TTR {life.pushes[0].ttr_s} s"


def _began(hand_over, life):
    """Its lease, at the earliest: when the job was asked for, and due. A busy consumer may look at
    its clock much later."""
    push = life.pushes[0]
    return max(hand_over.asked, push.sent + push.delay_s)


def _has_reason(first, second, life, faults):
    apart = second.received - _began(first, life)
    if 0 < life.pushes[0].ttr_s <= apart:
        return True
    handed_over = max(first.asked, first.received - SLACK_S)
    return apart >= UNCONFIRMED_S and any(
        fault.start <= first.received + CONFIRM_S and fault.end >= handed_over
        and second.received <= max(first.received, fault.end) + COMES_AGAIN_S
        for fault in faults)
