"""The judge of beanstalkd's clients: were the promises kept, by what they wrote down?

A reservation belongs to a connection there, and a put that had no answer is put again as another job.
So the rules are jobs.py's with other evidence:

    LOST      a job whose put was answered INSERTED is deleted in the end
    INVENTED  what is handed out was put, and not refused
    EARLY     nothing is handed out before its delay is over, be it of its put or of a release
    TWICE     a second hand-over follows a release, a time to run that was over, or the end of the
              connection that had the job
    TAKEN     who holds a job, and whose connection has not ended, is not told that it does not
    RETURNED  nothing is handed out after DELETED

Commands without an answer may have been carried out or not, and both are accepted.
"""

import math
from collections import defaultdict
from dataclasses import dataclass, field

from judge.jobs import Violation
from judge.journal import OK, REFUSED, UNKNOWN

ROUNDING_MS = 1


@dataclass(frozen=True)
class Put:
    body: str
    delay_ms: int
    ttr_ms: int
    sent_ms: float
    ended_ms: float
    outcome: str


@dataclass(frozen=True)
class Got:
    body: str
    conn: int     # a number that no other connection has
    received_ms: float
    asked_ms: float


@dataclass(frozen=True)
class Said:
    """A consumer's word on a job that it holds: delete, release, bury, touch; or kick, of anybody."""

    body: str
    conn: int
    verb: str
    sent_ms: float
    ended_ms: float
    outcome: str  # REFUSED: NOT_FOUND
    delay_ms: int = 0


@dataclass
class Record:
    """Appended to by many threads. `ended`: {connection: when its client saw its end, or made it}; `lost`:
    of those ended by others; `answered`: {connection: when the last command was sent that it had an answer to}."""

    puts: list = field(default_factory=list)
    gots: list = field(default_factory=list)
    words: list = field(default_factory=list)
    ended: dict = field(default_factory=dict)
    answered: dict = field(default_factory=dict)
    lost: dict = field(default_factory=dict)

    def open_jobs(self):
        """Those put for sure, and not known to be deleted: nor perhaps."""
        over = {each.body for each in list(self.words)
                if each.verb == "delete" and each.outcome in (OK, UNKNOWN)}
        return {put.body for put in list(self.puts) if put.outcome == OK} - over

    def held_at(self, moment_ms):
        """{body: connection}: the jobs that consumers held then, by what they knew."""
        over = defaultdict(list)
        for each in list(self.words):
            if each.verb in ("delete", "release", "bury"):
                over[each.body].append(each.sent_ms)
        return {got.body: got.conn for got in list(self.gots) if got.received_ms <= moment_ms
                and not any(got.received_ms <= when <= moment_ms for when in over[got.body])
                and self.ended.get(got.conn, math.inf) >= moment_ms}


def judge_tubes(record):
    """The violations."""
    puts = {put.body: put for put in record.puts}
    gots, words = defaultdict(list), defaultdict(list)
    for got in sorted(record.gots, key=lambda got: got.received_ms):
        gots[got.body].append(got)
    for word in sorted(record.words, key=lambda word: word.sent_ms):
        words[word.body].append(word)
    for body in record.open_jobs():
        yield Violation("LOST", body, f"put at {puts[body].ended_ms / 1000:.3f}, never deleted")
    for body, own in gots.items():
        put = puts.get(body)
        if put is None or put.outcome == REFUSED or put.sent_ms > own[0].received_ms:
            yield Violation("INVENTED", body, "handed out, and never put")
            continue
        for rule, why in (*_early(put, own, words[body]), *_twice(put, own, words[body], record),
                          *_taken(put, own, words[body], record), *_returned(own, words[body])):
            yield Violation(rule, body, why)


def _early(put, gots, words):
    if gots[0].received_ms < put.sent_ms + put.delay_ms:
        yield "EARLY", f"by {put.sent_ms + put.delay_ms - gots[0].received_ms:.1f} ms"
    for word in words:
        if word.verb == "release" and word.outcome == OK and word.delay_ms:
            due_ms = word.sent_ms + word.delay_ms
            if any(word.sent_ms < got.received_ms < due_ms for got in gots):
                yield "EARLY", f"released at {word.sent_ms / 1000:.3f} for {word.delay_ms} ms"


def _lease_end_ms(put, got, words):
    """When its time to run may be over at the earliest."""
    begins = [got.asked_ms, *(word.sent_ms for word in words if word.verb == "touch"
                              and word.conn == got.conn and word.outcome == OK
                              and word.sent_ms >= got.received_ms)]
    return max(begins) + put.ttr_ms - ROUNDING_MS


def _gave_it_up(got, until_ms, words):
    """Did its consumer say, by then, that it does not want it any more?"""
    return any(word.verb in ("release", "bury", "delete") and word.conn == got.conn
               and got.received_ms <= word.sent_ms <= until_ms and word.outcome != REFUSED
               for word in words)


def _is_alive(conn, at_ms, record):
    """It had an answer to something sent after that."""
    return record.answered.get(conn, 0) > at_ms


def _twice(put, gots, words, record):
    for first, second in zip(gots, gots[1:]):
        touched_until = [word for word in words if word.sent_ms <= second.received_ms]
        if not (_gave_it_up(first, second.received_ms, words)
                or second.received_ms >= _lease_end_ms(put, first, touched_until)
                or not _is_alive(first.conn, second.received_ms, record)):
            yield "TWICE", (f"handed out at {first.received_ms / 1000:.3f} and "
                            f"{second.received_ms / 1000:.3f}, and the first connection lives")


def _taken(put, gots, words, record):
    for got in gots:
        for word in words:
            if (word.conn == got.conn and word.outcome == REFUSED and word.sent_ms >= got.received_ms
                    and word.verb != "kick"
                    and not _gave_it_up(got, word.sent_ms - ROUNDING_MS, words)
                    and word.ended_ms < _lease_end_ms(put, got, [
                        each for each in words if each.ended_ms < word.sent_ms])
                    and not _has_it_again(got, gots, word)):
                yield "TAKEN", f"{word.verb} at {word.sent_ms / 1000:.3f}: NOT_FOUND"


def _has_it_again(got, gots, word):
    return any(got.received_ms < other.received_ms <= word.sent_ms for other in gots)


def _returned(gots, words):
    deleted = [word.ended_ms for word in words if word.verb == "delete" and word.outcome == OK]
    if deleted and any(got.received_ms > min(deleted) and got.asked_ms > min(deleted)
                       for got in gots):
        yield "RETURNED", "handed out after DELETED"
