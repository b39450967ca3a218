"""Who moved what, by Redis's own account: a scan script writes down each job that it makes ready,
with the name of its node, in the same stroke. In a bucket's history these lines are in the order
in which Redis ran the scripts: so it shows whether a deposed leader had any effect.
"""

import math
from bisect import bisect_right
from collections import defaultdict
from operator import attrgetter

from harness.clock import offset_ms, redis_now_ms
from judge.history import DELIVERED, DUE, RETURNED, TIMED_OUT, parse_line
from judge.jobs import Violation
from judge.journal import Delivered, Entry, Move, Push, TakenBack, now_ms
from judge.leaders import leases_of, reigns_of
from judge.unanswered import ESTIMATE_MS

CLOCK_MS = 3  # two clocks were compared, and each is cut to whole ms
IN_FLIGHT_MS = 500  # what was sent within the lease may reach a busy Redis so much later,
STOOD_MS = 200      # and by the time for which Redis did nothing at all, where that is so long,
STOOD_MAX_MS = 3000  # but no more than this


def read_history(client, names):
    """All moves, hand-overs and what was taken back, as the histories tell, bucket by bucket in
    their order. `names`: how consumers name a node, by its own name."""
    ahead_ms = offset_ms(lambda: redis_now_ms(client), now_ms)
    for key in sorted(client.scan_iter(match="dq:{*}:h", count=1000)):
        bucket = key.decode().split(":")[1]
        for _, members in client.xrange(key):
            line = parse_line(members[b"e"])
            yield Entry(line.id, line.event, line.node, line.client, line.time_ms - ahead_ms)
            if line.event == DUE:
                yield Move(bucket, line.id, line.node, line.time_ms - ahead_ms)
            elif line.event == DELIVERED:
                yield Delivered(line.id, names.get(line.node, ""), line.time_ms - ahead_ms)
            elif line.event in (RETURNED, TIMED_OUT):
                yield TakenBack(line.id, line.node, line.time_ms - ahead_ms,
                                line.event == RETURNED)


def judge_moves(journal):
    """Nobody moves a job without a lease; and once a later leader has moved one in a bucket, no
    earlier one does so in it."""
    reigns = reigns_of(journal)
    if not reigns:
        return  # nobody is elected
    for move, why in _judged(journal):
        if why:
            yield Violation("DEPOSED", move.id,
                            f"{move.node} moved it at {move.boot_ms:.0f} ms, {why}")
    reached = defaultdict(int)  # {bucket: the reign whose moves it has seen}
    for move in journal.of(Move):
        found = next((number for number in range(reached[move.bucket], len(reigns))
                      if reigns[number].node == move.node
                      and reigns[number].from_ms <= move.boot_ms + CLOCK_MS), None)
        if found is None:
            last = reigns[reached[move.bucket]]
            yield Violation("DEPOSED", move.id, f"{move.node} moved it at {move.boot_ms:.0f} ms, "
                            f"behind {last.node} with {last.token}")
        else:
            reached[move.bucket] = found


def moved_behind_their_lease(journal):
    """Moves that were sent within it, by what is known of them. Counted, for it is seldom."""
    return [move for move, why in _judged(journal) if not why] if reigns_of(journal) else []


def _judged(journal):
    """(move, what is wrong with it, or "") for each move without a lease. A leader has one scan of
    a bucket on its way at a time, and sends it because something is due. So what it had sent within
    its lease can move jobs once in each bucket, in one stroke; and a job of it was due before its
    end."""
    dues, strokes, stood = _dues_of(journal), defaultdict(list), _stood(journal)
    for move, end_ms in _behind_their_lease(journal):
        strokes[move.node, move.bucket, end_ms].append(move)
    for (_, _, end_ms), moves in strokes.items():
        first = [move for move in moves if move.boot_ms == moves[0].boot_ms]
        is_due = any(dues.get(move.id, math.inf) <= end_ms + ESTIMATE_MS for move in first)
        for move in moves:
            behind_ms = move.boot_ms - CLOCK_MS - end_ms
            if behind_ms > IN_FLIGHT_MS + _shared_ms(stood, end_ms, move.boot_ms):
                yield move, f"{behind_ms:.0f} ms after its lease"
            elif move not in first:
                yield move, f"{behind_ms:.0f} ms after its lease, and behind another such scan"
            elif not is_due:
                yield move, (f"{behind_ms:.0f} ms after its lease, within which nothing of it was "
                             "due")
            else:
                yield move, ""


def _stood(journal):
    """(from, until) of each time in which Redis wrote nothing into any history."""
    lines = sorted(entry.boot_ms for entry in journal.of(Entry))
    return [pair for pair in zip(lines, lines[1:]) if pair[1] - pair[0] >= STOOD_MS]


def _shared_ms(spans, from_ms, until_ms):
    """What they have of that time together, to a limit."""
    return min(STOOD_MAX_MS, sum(max(0, min(end, until_ms) - max(begin, from_ms))
                                 for begin, end in spans))


def _dues_of(journal):
    """{id: when a job became due, at the earliest}"""
    found = {}
    for push in journal.of(Push):
        due_ms = push.sent_ms + push.delay_ms
        found[push.id] = min(due_ms, found.get(push.id, due_ms))
    return found


def _behind_their_lease(journal):
    """(move, the end of the mover's last lease) for each move without a lease; minus infinity where
    the mover had none before."""
    begins, ends = defaultdict(list), defaultdict(lambda: [-math.inf])  # by node
    for lease in sorted(leases_of(journal, attrgetter("made_ms")),
                        key=lambda lease: lease.from_ms):
        begins[lease.node].append(lease.from_ms)
        ends[lease.node].append(max(ends[lease.node][-1], lease.until_ms))
    for move in journal.of(Move):
        known = bisect_right(begins[move.node], move.boot_ms + CLOCK_MS)
        end_ms = ends[move.node][known]
        if move.boot_ms - CLOCK_MS > end_ms:
            yield move, end_ms
