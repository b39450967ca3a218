"""What became of one job, for people: all that its clients, and the history, have of it, in order; and
beside it faults, who led, and pops that had no answer."""

from judge.history import WORDS
from judge.journal import (LEADER, Ack, Cancel, Entry, Fault, HandOver, LockedMove, Push, Release,
                            Role, Unanswered)

AFTERWARDS_MS = 2000  # a pop that may have got it ends so much later


def story_of(journal, id):
    """Lines; times in ms since its first push. The history's client is the peer's address, as the
    node saw it: so it says over which connection."""
    events = sorted(_events_of(journal, id), key=lambda each: each[0])
    begin_ms = min((push.sent_ms for push in journal.of(Push) if push.id == id),
                   default=events[0][0] if events else 0)
    last_ms = max((at_ms for at_ms, _ in events), default=0)
    around = [*_faults(journal, begin_ms, last_ms),
              *(each for each in _leaders(journal) if begin_ms <= each[0] <= last_ms)]
    if not any(each.id == id for each in journal.of(HandOver)):
        around += _unanswered(journal, begin_ms, last_ms + AFTERWARDS_MS)
    return [f"{at_ms - begin_ms:10.1f}  {text}"
            for at_ms, text in sorted([*events, *around], key=lambda each: each[0])]


def _events_of(journal, id):
    """(when, what)"""
    for each in journal.of(Push):
        if each.id == id:
            yield each.sent_ms, f"push to {each.topic}, delay {each.delay_ms}, TTR {each.ttr_ms}"
            yield each.ended_ms, f"push answered {each.outcome}, due {each.due_ms}"
    for each in journal.of(HandOver):
        if each.id == id:
            yield each.asked_ms, f"pop sent to {each.node}, which is to bring it"
            yield each.received_ms, (f"received from {each.node}, lease {each.lease}, attempt "
                                     f"{each.attempt}")
    for kind in (Ack, Cancel, Release):
        for each in journal.of(kind):
            if each.id == id:
                yield each.sent_ms, f"{kind.__name__.lower()} sent"
                yield each.ended_ms, f"{kind.__name__.lower()} answered {each.outcome}"
    for each in journal.of(Entry):
        if each.id == id:
            whom = f", client {each.client}" if each.client else ""
            yield each.boot_ms, f"history: {WORDS.get(each.event, each.event)} by {each.node}{whom}"
    for each in journal.of(LockedMove):
        if each.id == id:
            yield each.boot_ms, f"moved by {each.node}, who has the topic's lock"


def _faults(journal, from_ms, until_ms):
    for each in journal.of(Fault):
        if each.start_ms <= until_ms and each.end_ms >= from_ms:
            yield each.start_ms, f"fault begins: {each.what}"
            yield each.end_ms, f"fault is over: {each.what}"


def _leaders(journal):
    for each in journal.of(Role):
        if each.role == LEADER or each.reason:
            yield each.boot_ms, f"{each.node} is {each.role} {each.reason}".rstrip()


def _unanswered(journal, from_ms, until_ms):
    for each in journal.of(Unanswered):
        if each.asked_ms <= until_ms and each.ended_ms >= from_ms:
            yield each.asked_ms, f"pop sent to {each.node}, which had no answer"
            yield each.ended_ms, f"end of a pop sent to {each.node}, which had no answer"
