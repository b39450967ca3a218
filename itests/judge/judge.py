"""The judge of the drills: were the promises kept, by what clients, nodes and driver wrote down?

    LOST         each push answered ok was handed over and acknowledged, or died, or was cancelled
    INVENTED     each job handed over was pushed
    EARLY        no hand-over before due: not by Redis's clock, and, by the clients' own clock and
                 to the microsecond, no sooner after the push began than its delay
    TWICE        a second hand-over follows a lease that ran out, a release, a delivery that a
                 fault of its node left unconfirmed, or a Redis that rolled back
    RETURNED     no hand-over after an acknowledged ack (or cancel), and nothing left in the store
    UNTOLD       what Redis has forgotten was said, and counted (rollback.py)
    DENIED       nobody is refused for want of an identity or of a right: all clients have them
    TWO_LEADERS  the leases of two leaders never overlap
    TOKEN_BACK   tokens only grow, and nobody acts with one after a higher one was given
    FENCED       who is fenced has an older token, and does not act with it any more
    DEPOSED      nobody moves a job without a lease; and once a leader has moved one in a bucket,
                 no earlier leader does. Where all nodes scan there is another rule instead:
                 UNLOCKED, LOCK_SEIZED and LOCK_TOKEN (locks.py)
    STOLEN       who puts the virtual address on its interface has a lease (address.py)
    KEPT         behind a worker that has died nobody renews it (the same)
    NO_LEADER    at the end, when all faults are healed, somebody leads
    STORM        the leader changes as often as the faults explain, or the machine, not more, and
                 not long after they are healed
    LATE         what became due in an outage is handed over at most a tick after its end, or after
                 it was taken back from a consumer that a fault kept from it; the rest on time.
                 Judged only where limits are given: CI fails nothing by the clock

A violation of a job is told with all that is known of that job (story.py).

LOST, INVENTED and RETURNED are those of jobs.py. What is excused is counted apart, in `explained`,
by its rule; README.md has the evidence for each excuse, and where it ends. Counted there alone:

    UNCONFIRMED: second hand-overs that nothing but a fault's unconfirmed delivery explains
    UNASKED, UNDELIVERED: jobs that came late because no consumer asked for them, or because a fault
        kept them from their first consumer (lateness.py)
    LATE: hand-overs whose lateness a clock of Redis that was set cannot tell
"""

import math
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from itertools import combinations

from judge.address import judge_holders
from judge.jobs import CONFIRM_MS, UNCONFIRMED_MS, Violation, births, judge_ends, lives_of
from judge.journal import (OK, UNKNOWN, Ack, Cancel, Clock, Delivered, Denied, Fault, HandOver, Older, Push,
                           Release, Rest, TakenBack, gained)
from judge.lateness import HELD_MS, judge_lateness
from judge.leaders import judge_leaders
from judge.locks import judge_locks
from judge.moves import judge_moves, moved_behind_their_lease
from judge.rollback import (by_what_forgot, can_bring_again, forgiving, is_forgotten,
                            is_of_two_masters, is_void, judge_told, lost_before_ms, returned,
                            without)
from judge.story import story_of
from judge.unanswered import ESTIMATE_MS, UNWRITTEN_MS, broken_pops, lost_on_the_way

COMES_AGAIN_MS = 10_000  # after that, at the very latest
GRAIN_MS = 1  # Redis's times are whole ms
ON_ITS_WAY_MS = 1000  # a reply, through a proxy to a busy client: 0.3 were seen
LOST_TWICE = 4  # round trips, until what was lost twice has come
CONFIRMED_MS = 150  # a node learns so much later that a client's kernel, or a proxy's, has a reply


@dataclass
class Verdict:
    """`lost_before_ms`: of each push that Redis forgot, how long before the end of that Redis it
    was acknowledged."""

    violations: list
    explained: Counter = field(default_factory=Counter)
    lost_before_ms: list = field(default_factory=list)
    stories: dict = field(default_factory=dict)  # {id: lines} of each job with a violation

    def lines(self, limit=5):
        """For people, and for the message of a test that fails: how many of each rule, and the
        first of each; none when all is well."""
        by_rule = defaultdict(list)
        for each in self.violations:
            by_rule[each.rule].append("\n".join([
                f"{f'{each.rule} {each.id}'.strip()}: {each.why}",
                *self.stories.get(each.id, ())]))
        if not by_rule:
            return []
        counts = ", ".join(f"{len(lines)} {rule}" for rule, lines in by_rule.items())
        return [f"violations: {counts}",
                *(line for lines in by_rule.values() for line in lines[:limit])]


def judge(journal, limits=None, lock_ms=None, round_trip_ms=0):
    """The verdict. `limits`: of lateness, or None not to judge it, nor how often the machine was too
    busy. `lock_ms`: how long a topic's lock lasts where all nodes scan; None: only the leader does.
    `round_trip_ms`: of the network, where it is slow and loses some."""
    whole = Verdict([*judge_holders(journal), *_denied(journal),
                     *(judge_locks(journal, lock_ms) if lock_ms else judge_moves(journal))])
    whole.violations += judge_leaders(journal, whole.explained, limits is not None)
    if not lock_ms:
        whole.explained["DEPOSED"] += len(moved_behind_their_lease(journal))
    pops = broken_pops(journal)
    on_their_way = lost_on_the_way(journal, pops)
    if limits:
        whole.violations += judge_lateness(journal, limits, whole.explained, pops)
    for part in by_what_forgot(journal):
        _judge_part(part, whole, on_their_way, CONFIRMED_MS + LOST_TWICE * round_trip_ms)
    jobs = {push.id for push in journal.of(Push)}
    whole.stories = {each.id: story_of(journal, each.id) for each in whole.violations
                     if each.id in jobs}
    whole.explained = +whole.explained  # what there is none of is not spoken of
    return whole


def _denied(journal):
    return [Violation("DENIED", "", f"{each.node} answered {each.code} at {each.ended_ms:.1f}")
            for each in journal.of(Denied)]


def _judge_part(journal, verdict, lost_on_their_way, confirmed_ms):
    """What became of its jobs, which have been in one Redis."""
    of_jobs = list(judge_jobs(journal))
    on_their_way = [each for each in of_jobs
                    if each.rule == "LOST" and each.id in lost_on_their_way]
    of_jobs = [each for each in of_jobs if each not in on_their_way]
    by_clock = _only_set_clocks_explain(journal, of_jobs)
    of_jobs = [each for each in of_jobs if each not in by_clock]
    told_late = _told_late(journal, of_jobs, confirmed_ms)
    of_jobs = [each for each in of_jobs if each not in told_late]
    forgotten = _only_older_explains(journal, of_jobs)
    verdict.violations += [*(each for each in of_jobs if each not in forgotten),
                           *judge_told(journal, forgotten), *_unsaid(journal, forgotten)]
    verdict.explained.update(each.rule for each in (*on_their_way, *by_clock, *told_late, *forgotten))
    verdict.explained["UNCONFIRMED"] += count_unconfirmed(journal)
    verdict.lost_before_ms += lost_before_ms(journal, forgotten)


def _only_set_clocks_explain(journal, violations):
    """Those that are none by a clock that gained as much as Redis's did."""
    clocks = journal.of(Clock)
    if not clocks:
        return []
    left = {(each.rule, each.id) for each in judge_jobs(journal, clocks=clocks)}
    return [each for each in violations if (each.rule, each.id) not in left]


def _told_late(journal, violations, confirmed_ms):
    """Those RETURNED whose reply was on its way when the job was acknowledged, or cancelled: by the
    history their consumers had them before, as often as they were handed over."""
    left = {each.id for each in judge_ends(journal, _stored(journal), ON_ITS_WAY_MS)
            if each.rule == "RETURNED"}
    lives, done_ms = lives_of(journal), defaultdict(float)
    for each in (*journal.of(Ack), *journal.of(Cancel)):
        if each.outcome == OK:
            done_ms[each.id] = max(done_ms[each.id], each.ended_ms)
    return [each for each in violations if each.rule == "RETURNED" and each.id not in left
            and sum(line.boot_ms <= done_ms[each.id] + confirmed_ms for line in lives[each.id][Delivered])
            >= len(lives[each.id][HandOver])]


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
                                                     "node said that Redis rolled back")


def _is_soon(journal, id):
    """Did it come again before a delivery that nobody confirmed would?"""
    hand_overs = lives_of(journal)[id][HandOver]
    return any(_apart_ms(*pair) < UNCONFIRMED_MS
               for pair in zip(hand_overs, hand_overs[1:]))


def judge_jobs(journal, olders=(), clocks=()):
    yield from judge_ends(journal, _stored(journal))
    yield from (Violation("LOST", rest.id, "it is dead, and nobody says why")
                for rest in journal.of(Rest) if not rest.why)
    for id, life in lives_of(journal).items():
        yield from (Violation("EARLY", id, why) for why in _early(life, olders, clocks))
        yield from (Violation("TWICE", id, why)
                    for why in _twice(life, journal.of(Fault), olders, clocks))


def _stored(journal):
    return {rest.id for rest in journal.of(Rest)}


def _early(life, olders, clocks):
    """`clocks`: how Redis's was set; what that explains is none."""
    for each in life[HandOver]:
        told = [push for push in life[Push]
                if push.outcome in (OK, UNKNOWN) and push.sent_ms <= each.received_ms]
        gained_ms = gained(clocks, min([each.asked_ms, *(push.sent_ms for push in told)]),
                           each.received_ms)
        early_ms = min((push.sent_ms + push.delay_ms for push in told),
                       default=-math.inf) - each.received_ms
        if early_ms > gained_ms:
            yield f"by {early_ms:.3f} ms, by the clock of its producer"
        told = life[Push]
        if is_forgotten(olders, each.asked_ms, each.received_ms):
            # A push that was answered later may have been said again, and be due later.
            told = [push for push in told if push.ended_ms <= each.received_ms]
        due_ms = max(each.due_ms, _due_told(told, each.received_ms))
        if each.redis_ms is not None and due_ms - each.redis_ms > gained_ms:
            yield f"by {due_ms - each.redis_ms:.3f} ms"


def _due_told(pushes, before_ms):
    """The earliest due that a job pushed before can have; minus infinity when none was told."""
    return min((-math.inf if push.due_ms is None else push.due_ms for push in pushes
                if push.outcome in (OK, UNKNOWN) and push.sent_ms <= before_ms),
               default=-math.inf)


def _twice(life, faults, olders, clocks):
    hand_overs = life[HandOver]
    if not hand_overs or not life[Push]:
        return
    if any((first.lease, first.attempt) == (second.lease, second.attempt)
           and not is_of_two_masters(olders, first, second)
           for first, second in combinations(hand_overs, 2)):
        yield "handed over twice with one lease"
    olders = [older for older in olders if can_bring_again(older, life[Push])]
    without_reason = 1
    for first, second in zip(hand_overs, hand_overs[1:]):
        if not (_has_reason(first, second, life, faults, clocks)
                or is_void(olders, first, second)):
            without_reason += 1
            if without_reason > max(1, births(life)):
                yield (f"{second.received_ms - first.received_ms:.0f} ms apart, "
                       f"TTR {life[Push][0].ttr_ms} ms")


def _has_reason(first, second, life, faults, clocks):
    return (_was_free_again(first, second, life, clocks)
            or _was_unconfirmed(first, second, life, faults, clocks)
            or _ran_out_unconfirmed(first, second, clocks))


def _was_free_again(first, second, life, clocks):
    """Its time to run was over, or it was released."""
    if 0 < life[Push][0].ttr_ms <= _apart_ms(first, second, clocks) + GRAIN_MS:
        return True
    return any(release.outcome in (OK, UNKNOWN)
               and first.received_ms <= release.sent_ms <= second.received_ms
               for release in life[Release])


def _was_unconfirmed(first, second, life, faults, clocks):
    """Where Redis's clock was set no history can be told in time, and none is asked."""
    is_held_no_more = _apart_ms(first, second, clocks) >= UNCONFIRMED_MS
    return any(_was_left_unconfirmed(first, second, fault)
               and (is_held_no_more if clocks else
                    _was_taken_back(first, second, life, fault, faults, is_held_no_more))
               for fault in faults)


def _was_taken_back(first, second, life, fault, faults, is_held_no_more):
    """By the history: it was ready again in between, because it was held no more, or its consumer
    had left; and by no line of before that had a consumer confirmed the first, but for what a
    fault may have kept from coming about."""
    back = _last_back(first, second, life)
    if back is None or not (is_held_no_more or back.has_left):
        return False
    before_ms = min(back.boot_ms, second.received_ms)
    return not any(first.asked_ms - ESTIMATE_MS <= line.boot_ms < before_ms
                   and not _may_be_void(line, fault, faults) for line in life[Delivered])


def _last_back(first, second, life):
    """The line by which the first hand-over was taken back, or None. A node estimates the time: its
    line may seem to come behind the second hand-over. One of a consumer that had left may be of the
    second then, unless there are two of them; one of a hold that was over cannot be."""
    backs = sorted((each for each in life[TakenBack]
                    if first.began_ms - ESTIMATE_MS <= each.boot_ms <= second.received_ms + ESTIMATE_MS),
                   key=lambda each: each.boot_ms)
    in_time = [each for each in backs if each.boot_ms <= second.received_ms]
    late = backs[len(in_time):]
    if in_time or not late:
        return in_time[-1] if in_time else None
    return late[0] if not late[0].has_left or len(late) > 1 else None


def _may_be_void(line, fault, faults):
    """Written when the fault was made; or by a node that a fault had hit, until it was over: the
    node may have heard its consumer, and Redis not the node."""
    return (fault.start_ms - UNWRITTEN_MS <= line.boot_ms <= fault.made_ms + UNWRITTEN_MS
            or any(line.node in (each.nodes or ())
                   and each.start_ms - UNWRITTEN_MS <= line.boot_ms <= each.end_ms
                   for each in faults))


def _ran_out_unconfirmed(first, second, clocks):
    """By a clock that was set before its confirmation is sure: it is held no more. What was not due
    yet, by the answer's clock, became so by another one: the lease began when it was asked for,
    perhaps."""
    is_due = first.redis_ms is None or first.due_ms <= first.redis_ms
    began_ms = first.began_ms if is_due else first.asked_ms
    return any(began_ms <= clock.at_ms <= first.received_ms + CONFIRM_MS
               for clock in clocks) and _apart_ms(first, second, clocks) >= HELD_MS


def count_unconfirmed(journal):
    """Second hand-overs that a fault alone explains."""
    faults, clocks = journal.of(Fault), journal.of(Clock)
    return sum(_was_unconfirmed(first, second, life, faults, clocks)
               and not _was_free_again(first, second, life, clocks)
               for life in lives_of(journal).values() if life[Push]
               for first, second in zip(life[HandOver], life[HandOver][1:]))


def _was_left_unconfirmed(first, second, fault):
    """By a fault of the node that handed it over: made before its confirmation is sure, and not
    over before it was handed over. It comes again when what holds it is over, or, where nobody
    could look, when the fault is."""
    return (fault.hits(first.node)
            and fault.start_ms <= first.received_ms + CONFIRM_MS
            and first.began_ms <= fault.end_ms
            and second.received_ms <= max(first.received_ms + HELD_MS,
                                          fault.end_ms) + COMES_AGAIN_MS)


def _apart_ms(first, second, clocks=()):
    """The first's lease began when it was asked for, and due, at the earliest; a busy consumer may
    have looked at it much later."""
    return (second.received_ms - first.began_ms
            + gained(clocks, first.asked_ms, second.received_ms))
