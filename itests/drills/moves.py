"""Who moved what, by Redis's own account: a scan script writes down each job that it makes ready,
with the name of its node, in the same stroke. In a bucket's history these lines are in the order
in which Redis ran the scripts: so it shows whether a deposed leader had any effect.
"""

from collections import defaultdict

from crash.judge import Violation
from drills.history import DUE, parse_line
from drills.judge_leaders import reigns_of
from drills.journal import Move, now_ms
from harness.clock import redis_now_ms

CLOCK_MS = 3  # two clocks were compared, and each is cut to whole ms


def read_moves(client):
    """All moves that the histories tell, bucket by bucket in their order."""
    ahead_ms = redis_now_ms(client) - now_ms()
    for key in sorted(client.scan_iter(match="dq:{*}:h", count=1000)):
        bucket = key.decode().split(":")[1]
        for _, members in client.xrange(key):
            line = parse_line(members[b"e"])
            if line.event == DUE:
                yield Move(bucket, line.id, line.node, line.time_ms - ahead_ms)


def judge_moves(journal):
    """Who moves a job leads, or led until just now: once a later leader has moved one in a
    bucket, no earlier one does so in it."""
    reigns = reigns_of(journal)
    if not reigns:
        return  # nobody is elected
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
