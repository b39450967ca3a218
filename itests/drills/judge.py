"""The judge of the drills: were the promises kept, by what clients, nodes and driver wrote down?

    LOST         each push answered ok was handed over and acknowledged, or died, or was cancelled
    INVENTED     each job handed over was pushed
    EARLY        no hand-over before due, by Redis's clock
    TWICE        a second hand-over follows a lease that ran out, a release, a delivery that a
                 fault left unconfirmed, or a Redis that came back older
    RETURNED     no hand-over after an acknowledged ack (or cancel), and nothing left in the store
    UNTOLD       what Redis has forgotten was said, and counted (forgotten.py)
    TWO_LEADERS  the leases of two leaders never overlap
    TOKEN_BACK   tokens only grow, and nobody acts with one after a higher one was given
    FENCED       who is fenced has an older token, and does not act with it any more
    DEPOSED      once a leader has moved a job in a bucket, no earlier one does; nor does anybody
                 who never led. Where all nodes scan there is another rule instead: UNLOCKED,
                 LOCK_SEIZED and LOCK_TOKEN (judge_locks.py)
    STOLEN       who puts the virtual address on its interface has a lease (holders.py)
    NO_LEADER    at the end, when all faults are healed, somebody leads
    STORM        the leader changes as often as the faults explain, not more
    LATE         what became due in an outage is handed over at most a tick after its end; the
                 rest on time. Judged only where limits are given: CI fails nothing by the clock

LOST, INVENTED and RETURNED are judged by the judge of the crash tests, whose rules they are.
Counted apart, in `explained`: what only a Redis that came back older explains (forgotten.py), and
jobs without a TTR, which are gone once a node has sent them, that were due in a fault and did not
arrive.
"""

import math
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from itertools import combinations

from crash import judge as crash
from crash.judge import Violation
from drills.domains import by_what_forgot
from drills.forgotten import (can_bring_again, forgiving, is_forgotten, is_of_two_masters, is_void,
                              judge_told, lost_before_ms, returned, without)
from drills.holders import judge_holders
from drills.journal import OK, UNKNOWN, Ack, Cancel, Fault, HandOver, Older, Push, Release, Rest
from drills.judge_leaders import judge_leaders
from drills.judge_locks import judge_locks
from drills.lateness import judge_lateness
from drills.moves import judge_moves

SAME_RULE = {"LOST": "LOST", "INVENTED": "INVENTED", "UNDONE": "RETURNED"}
ON_ITS_WAY_MS = 1000  # a reply may have been written so long before its link went


@dataclass
class Verdict:
    """`lost_before_ms`: of each push that Redis forgot, how long before the end of that Redis it
    was acknowledged."""

    violations: list
    explained: Counter = field(default_factory=Counter)
    lost_before_ms: list = field(default_factory=list)

    def lines(self, limit=5):
        """For people, and for the message of a test that fails: how many of each rule, and the
        first of each; none when all is well."""
        by_rule = defaultdict(list)
        for each in self.violations:
            by_rule[each.rule].append(f"{f'{each.rule} {each.id}'.strip()}: {each.why}")
        if not by_rule:
            return []
        counts = ", ".join(f"{len(lines)} {rule}" for rule, lines in by_rule.items())
        return [f"violations: {counts}",
                *(line for lines in by_rule.values() for line in lines[:limit])]


def judge(journal, limits=None, lock_ms=None):
    """The verdict. `limits`: of lateness, or None not to judge it. `lock_ms`: how long a topic's
    lock lasts where all nodes scan; None: only the leader does."""
    whole = Verdict([*judge_leaders(journal), *judge_holders(journal),
                     *(judge_locks(journal, lock_ms) if lock_ms else judge_moves(journal)),
                     *(judge_lateness(journal, limits) if limits else ())])
    for part in by_what_forgot(journal):
        _judge_part(part, whole)
    return whole


def _judge_part(journal, verdict):
    """What became of its jobs, which have been in one Redis."""
    undelivered = _undelivered(journal)
    of_jobs = list(judge_jobs(journal))
    on_their_way = [each for each in of_jobs if each.rule == "LOST" and each.id in undelivered]
    of_jobs = [each for each in of_jobs if each not in on_their_way]
    forgotten = _only_older_explains(journal, of_jobs)
    verdict.violations += [*(each for each in of_jobs if each not in forgotten),
                           *judge_told(journal, forgotten), *_unsaid(journal, forgotten)]
    verdict.explained.update(each.rule for each in (*on_their_way, *forgotten))
    verdict.lost_before_ms += lost_before_ms(journal, forgotten)


def _only_older_explains(journal, violations):
    """Those that are none when what Redis may have forgotten is taken as unknown."""
    olders = journal.of(Older)
    if not olders:
        return []
    left = {(each.rule, each.id) for each in judge_jobs(forgiving(journal), olders)}
    left |= {("RETURNED", id) for id in returned(journal)}
    return [each for each in violations if (each.rule, each.id) not in left]


def _unsaid(journal, forgotten):
    """Jobs that came again because of an end of Redis that no node spoke of: without that end, they
    would be violations. Asked of those only whose lease was forgotten, for nobody can see that an
    ack, or a confirmation, is."""
    again = [each for each in forgotten if each.rule == "TWICE"]
    for older in journal.of(Older):
        if again and older.noticed == 0 and not older.keeps_answers:
            rest = without(journal, older, {each.id for each in again})
            excused = _only_older_explains(rest, again)
            unsaid = [each.id for each in again if each not in excused
                      and _is_soon(rest, each.id)]
            if unsaid:
                yield Violation("UNTOLD", unsaid[0], f"{len(unsaid)} leases were forgotten, and no "
                                                     "node said that Redis came back older")


def _is_soon(journal, id):
    """Did it come again before a delivery that nobody confirmed would?"""
    hand_overs = _lives(journal)[id][HandOver]
    return any(_apart_ms(*pair) < crash.UNCONFIRMED_S * 1000
               for pair in zip(hand_overs, hand_overs[1:]))


def judge_jobs(journal, olders=()):
    as_crash = crash.judge(_history_of(journal), {rest.id for rest in journal.of(Rest)})
    cancelled = {cancel.id for cancel in journal.of(Cancel) if cancel.outcome in (OK, UNKNOWN)}
    yield from (Violation(SAME_RULE[each.rule], each.id, each.why) for each in as_crash
                if each.rule in SAME_RULE and not (each.rule == "LOST" and each.id in cancelled))
    yield from (Violation("LOST", rest.id, "it is dead, and nobody says why")
                for rest in journal.of(Rest) if not rest.why)
    lives = _lives(journal)
    for id, life in lives.items():
        yield from (Violation("EARLY", id, why) for why in _early(life, olders))
        yield from (Violation("TWICE", id, why)
                    for why in _twice(life, journal.of(Fault), olders))


def _history_of(journal):
    """In the words of the crash tests. A cancel ends a job as an ack does."""
    history = crash.History()
    history.pushes = [crash.Push(each.id, each.topic, "", each.delay_ms / 1000, each.ttr_ms / 1000,
                                 each.sent_ms / 1000, each.ended_ms / 1000, each.outcome)
                      for each in journal.of(Push)]
    history.hand_overs = [crash.HandOver(each.id, each.topic, "", each.asked_ms / 1000,
                                         each.received_ms / 1000)
                          for each in journal.of(HandOver)]
    history.acks = [crash.Ack(each.id, each.sent_ms / 1000, each.ended_ms / 1000, each.outcome)
                    for each in (*journal.of(Ack), *journal.of(Cancel))]
    return history


def _lives(journal):
    """{id: {kind: events in order}} for what the rules here need."""
    lives = defaultdict(lambda: {Push: [], HandOver: [], Release: []})
    for kind, when in ((Push, "sent_ms"), (HandOver, "received_ms"), (Release, "sent_ms")):
        for event in sorted(journal.of(kind), key=lambda event: getattr(event, when)):
            lives[event.id][kind].append(event)
    return lives


def _early(life, olders):
    for each in life[HandOver]:
        told = life[Push]
        if is_forgotten(olders, each.asked_ms, each.received_ms):
            # A push that was answered later may have been said again, and be due later.
            told = [push for push in told if push.ended_ms <= each.received_ms]
        due_ms = max(each.due_ms, _due_told(told, each.received_ms))
        if each.redis_ms is not None and each.redis_ms < due_ms:
            yield f"by {due_ms - each.redis_ms:.3f} ms"


def _due_told(pushes, before_ms):
    """The earliest due that a job pushed before can have; minus infinity when none was told."""
    return min((-math.inf if push.due_ms is None else push.due_ms for push in pushes
                if push.outcome in (OK, UNKNOWN) and push.sent_ms <= before_ms),
               default=-math.inf)


def _twice(life, faults, olders):
    hand_overs = life[HandOver]
    if not hand_overs or not life[Push]:
        return
    if any((first.lease, first.attempt) == (second.lease, second.attempt)
           and not is_of_two_masters(olders, first, second)
           for first, second in combinations(hand_overs, 2)):
        yield "handed over twice with one lease"
    births = sum(push.outcome in (OK, UNKNOWN) for push in life[Push])
    olders = [older for older in olders if can_bring_again(older, life[Push])]
    without_reason = 1
    for first, second in zip(hand_overs, hand_overs[1:]):
        if not (_has_reason(first, second, life, faults)
                or is_void(olders, first, second)):
            without_reason += 1
            if without_reason > max(1, births):
                yield (f"{second.received_ms - first.received_ms:.0f} ms apart, "
                       f"TTR {life[Push][0].ttr_ms} ms")


def _has_reason(first, second, life, faults):
    apart_s = _apart_ms(first, second) / 1000
    ttr_s = life[Push][0].ttr_ms / 1000
    if ttr_s > 0 and apart_s >= ttr_s:
        return True
    if any(release.outcome in (OK, UNKNOWN)
           and first.received_ms <= release.sent_ms <= second.received_ms
           for release in life[Release]):
        return True
    return apart_s >= crash.UNCONFIRMED_S and any(
        fault.start_ms <= first.received_ms + crash.CONFIRM_S * 1000
        and fault.end_ms >= first.asked_ms for fault in faults)


def _apart_ms(first, second):
    """The first's lease began when it was asked for at the earliest; a busy consumer may have
    looked at it much later."""
    return second.received_ms - first.asked_ms


def _undelivered(journal):
    """The ids of jobs without a TTR that were on their way while there was a fault."""
    return {push.id for push in journal.of(Push) if push.ttr_ms == 0
            and any(fault.start_ms - ON_ITS_WAY_MS <= push.sent_ms + push.delay_ms <= fault.end_ms
                    for fault in journal.of(Fault))}
