"""What a Redis that rolled back excuses, and what it does not.

Of what it answered between `since_ms` and `at_ms` of an Older it may have forgotten something.
Those answers, and no others, are judged as `unknown`: it may be as they said, or not. And a lease
that was given in that time may be void. How far back that is, is the fault's to say: nothing for a
Redis that syncs before it answers, two seconds for one that syncs each second. While two masters
are at work at once, for a failover by hand leaves the old one as it is, both may give the same
lease. With store.min_replicas no answer is forgotten, but a lease may be: nobody waits for replicas
to pop.

It must be told, too:

    UNTOLD       jobs were lost, or came again, and no node said that Redis is older; more
                 acknowledged pushes were lost than the nodes counted; or they counted more than
                 can have been lost
"""

import math
from collections import Counter, defaultdict
from dataclasses import replace

from harness.redis_cluster import bucket_of
from judge.jobs import CONFIRM_MS, SLACK_MS, UNCONFIRMED_MS, Violation
from judge.journal import (DUPLICATE, OK, REFUSED, UNKNOWN, Ack, Cancel, Clock, Delivered, Fault,
                           HandOver, Journal, Older, Push, Release, Rest, TakenBack)

READ_MS = 1000  # a client may read an answer so long after whoever gave it has ended
OVERDUE_MS = 10_000  # ample: twice what a delivery that nobody confirmed is held
FORGOTTEN = {OK: UNKNOWN, DUPLICATE: REFUSED}  # a duplicate of what is forgotten promises nothing


def by_what_forgot(journal):
    """Where each of several masters has its own buckets, what one has forgotten excuses nothing of
    the others' jobs: journals of jobs alone, one for each set of Olders that can concern a job's
    bucket. Whose push is not in the journal is with those that nothing concerns."""
    olders = journal.of(Older)
    if all(older.buckets is None for older in olders):
        return [journal]
    sets = {each.id: _olders_of(each, olders) for kind in (Push, HandOver)
            for each in journal.of(kind)}
    found = defaultdict(Journal)
    for kind in (Push, HandOver, Ack, Cancel, Release, Rest, Delivered, TakenBack):
        for event in journal.of(kind):
            found[sets.get(event.id, ())].events[kind].append(event)
    for own, part in found.items():
        part.events[Older] += own
        part.events[Fault] += journal.of(Fault)
        part.events[Clock] += journal.of(Clock)
    return list(found.values())


def _olders_of(job, olders):
    return tuple(older for older in olders
                 if older.buckets is None or bucket_of(job.topic) in older.buckets)


def forgiving(journal):
    """The journal with the answers that may be forgotten as unknown ones; nothing else changed."""
    all_olders = journal.of(Older)
    forgetful = [older for older in all_olders if not older.keeps_answers]
    found = Journal(events=dict(journal.events))
    forgetters = Forgetters(journal)
    found.events[Push] = [replace(push, outcome=FORGOTTEN.get(push.outcome, push.outcome))
                          if forgetters.of(push) else push for push in journal.of(Push)]
    for kind in (Ack, Cancel, Release):
        olders = all_olders if kind is Release else forgetful
        found.events[kind] = [replace(each, outcome=FORGOTTEN.get(each.outcome, each.outcome))
                              if is_forgotten(olders, each.sent_ms, each.ended_ms) else each
                              for each in journal.of(kind)]
    return found


def is_forgotten(olders, asked_ms, answered_ms):
    """May what was answered then be unknown to the Redis that came back?"""
    return any(asked_ms <= older.at_ms and older.since_ms <= answered_ms <= older.at_ms + READ_MS
               for older in olders)


class Forgetters:
    """Which ends of Redis may have taken a push: none that its job is seen to have survived, and
    none that it had waited for, due and not handed over, for so long that it was lost before.

    What is forgotten is the end of a log: when a push is, all later ones are."""

    def __init__(self, journal):
        self._olders = [older for older in journal.of(Older) if not older.keeps_answers]
        self._pushes = journal.of(Push)
        self._seen = defaultdict(list)
        self._handed_over = {each.id for each in journal.of(HandOver)}
        for each in journal.of(HandOver):
            self._seen[each.id].append((each.began_ms, each.received_ms))
        for each in journal.of(Release):
            if each.outcome == OK:
                self._seen[each.id].append((each.sent_ms, each.ended_ms))
        self.survived_ms = {older: self._last_survivor_ms(older) for older in self._olders}

    def _last_survivor_ms(self, older):
        """When the last push was sent that is seen to have survived; all before it have, too."""
        once = Counter(push.id for push in self._pushes)
        return max((push.sent_ms for push in self._pushes if push.outcome == OK
                    and push.id in self._seen and once[push.id] == 1
                    and older.since_ms <= push.ended_ms <= min(older.at_ms, older.split_ms)
                    and self.has_survived(push.id, older)), default=-math.inf)

    def of(self, push):
        return [older for older in self._olders
                if is_forgotten([older], push.sent_ms, push.ended_ms)
                and push.ended_ms >= self.survived_ms[older]
                and not self.has_survived(push.id, older)
                and not self._is_overdue(push, older)]

    def has_survived(self, id, older):
        return any(is_of_the_next(older, *each) for each in self._seen[id])

    def _is_overdue(self, push, older):
        return (push.id not in self._handed_over
                and push.ended_ms + push.delay_ms < older.at_ms - OVERDUE_MS)


def is_of_the_next(older, asked_ms, answered_ms):
    """Did a Redis answer that came after that end?"""
    return asked_ms > older.at_ms or answered_ms > older.at_ms + READ_MS


def comes_after_all_acks(olders, hand_over, life, births):
    """Was the job handed over by a Redis that knew that it is done? `life`: its acks and cancels.
    What is forgotten is known until then."""
    before_ms = max(hand_over.asked_ms, hand_over.received_ms - SLACK_MS)
    known = sum(ack.outcome == OK and ack.ended_ms <= before_ms
                and not is_forgotten([older for older in olders if not older.keeps_answers
                                      and hand_over.received_ms > min(older.at_ms, older.split_ms)],
                                     ack.sent_ms, ack.ended_ms) for ack in life)
    return known >= max(1, births)


def returned(journal):
    """The ids of jobs that came again though nothing of theirs was forgotten by then."""
    olders = journal.of(Older)
    births, acks = Counter(), defaultdict(list)
    for push in journal.of(Push):
        births[push.id] += push.outcome in (OK, UNKNOWN)
    for ack in (*journal.of(Ack), *journal.of(Cancel)):
        acks[ack.id].append(ack)
    return {each.id for each in journal.of(HandOver)
            if comes_after_all_acks(olders, each, acks[each.id], births[each.id])}


def is_void(olders, first, second):
    """Is the lease of `first` forgotten, or that it was confirmed, so that `second` followed?"""
    confirmed_ms = first.received_ms + CONFIRM_MS
    return any(first.began_ms <= older.at_ms and first.received_ms <= older.at_ms + READ_MS
               and second.received_ms > min(older.at_ms, older.split_ms)
               and (older.since_ms <= first.received_ms
                    or (older.since_ms <= confirmed_ms
                        and second.received_ms - first.began_ms >= UNCONFIRMED_MS))
               for older in olders)


def can_bring_again(older, pushes):
    """An empty Redis has only what was pushed again: by its node, if that was not answered yet."""
    return not older.keeps_nothing or any(push.sent_ms <= older.at_ms <= push.ended_ms
                                          for push in pushes)


def is_of_two_masters(olders, first, second):
    """May each have been handed over by another, the same job with the same lease?"""
    return any(older.split_ms <= min(first.received_ms, second.received_ms)
               and max(first.asked_ms, second.asked_ms) <= older.at_ms for older in olders)


def lost_pushes(journal, excused):
    """The last push of each job that Redis forgot, by the ends that may have taken it, the first
    one first: {(older, ...): [push]}."""
    pushes = defaultdict(list)
    for push in journal.of(Push):
        if push.outcome in (OK, DUPLICATE):
            pushes[push.id].append(push)
    found, forgetters = defaultdict(list), Forgetters(journal)
    for each in excused:
        if each.rule == "LOST":
            last = max(pushes[each.id], key=lambda push: push.ended_ms)
            found[tuple(forgetters.of(last))].append(last)
    return found


def _charged(lost):
    """({older: [push]}, {(older, ...): [push]}): what one end has forgotten, and what one of
    several has. A push that was answered behind the first of them may have been pushed again, and be
    lost with the next one alone."""
    alone, jointly = defaultdict(list), defaultdict(list)
    for olders, pushes in lost.items():
        for push in pushes:
            if len(olders) == 1 or push.ended_ms <= olders[0].at_ms:
                alone[olders[0]].append(push)
            else:
                jointly[olders].append(push)
    return alone, jointly


def lost_before_ms(journal, excused):
    """How long before the end each lost push was acknowledged."""
    return [max(0, olders[0].at_ms - push.ended_ms)
            for olders, pushes in lost_pushes(journal, excused).items() for push in pushes]


def judge_told(journal, excused):
    """`excused`: the violations that are none because Redis was older."""
    (lost, jointly), forgetters = _charged(lost_pushes(journal, excused)), Forgetters(journal)
    asked = [older for older in journal.of(Older)
             if older.noticed is not None and not older.keeps_answers]
    at_least_of = {older: _surely_forgotten(journal, older, lost[older]) for older in asked}
    for olders, pushes in jointly.items():
        at_least = sum(at_least_of.get(older, 0) for older in olders) + len(pushes)
        said = sum(older.lost or 0 for older in olders)
        if not set(olders) <= set(asked):
            continue
        if said < at_least:
            yield Violation("UNTOLD", "", f"{at_least} acknowledged pushes are forgotten at "
                                          f"{len(olders)} ends, the nodes said {said}")
        if not any(older.noticed for older in olders):
            yield Violation("UNTOLD", "", "no node said that Redis rolled back")
    for older, at_least in at_least_of.items():
        at_most = sum(push.outcome in (OK, UNKNOWN) and push.sent_ms <= older.at_ms
                      and not (push.outcome == OK and forgetters.has_survived(push.id, older))
                      and push.ended_ms >= max(older.since_ms, forgetters.survived_ms[older])
                      for push in journal.of(Push))
        if older.lost < at_least:
            yield Violation("UNTOLD", "", f"{at_least} acknowledged pushes are forgotten, "
                                          f"{len(lost[older])} of their jobs lost, the nodes said "
                                          f"{older.lost}")
        if older.lost > at_most:
            yield Violation("UNTOLD", "", f"the nodes said that {older.lost} pushes are lost, it "
                                          f"can be {at_most}")
        if lost[older] and not older.noticed:
            yield Violation("UNTOLD", "", "no node said that Redis rolled back")


def without(journal, older, ids):
    """What it says of some jobs, as if Redis had not ended then."""
    kept = {kind: [each for each in events if getattr(each, "id", None) in ids]
            for kind, events in journal.events.items()}
    return Journal(events={**kept, Fault: journal.of(Fault),
                           Older: [each for each in journal.of(Older) if each is not older]})


def _surely_forgotten(journal, older, lost):
    """How many acknowledged pushes: those of lost jobs, and all that came after the first of them,
    what became of their jobs before the end all the same."""
    from_ms = min((push.ended_ms for push in lost), default=math.inf)
    later = {push.id for push in journal.of(Push) if push.outcome == OK
             and push.sent_ms > from_ms and push.ended_ms <= min(older.at_ms, older.split_ms)}
    return len(later | {push.id for push in lost})
