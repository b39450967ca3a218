"""An orderly change of the leader fails no new connection: make before break. Two things are
excused, and counted, so that they stay few:

    late       the machine was too busy: the leader before waited its second for a successor that
               had not put the address, or the successor has lost its lease
    crossed    a connection that the address crossed on its way (view.py)
"""

from drills.journal import AWAY, HELD, LEADER, LEAVING, Role, Vip
from drills.view import CROSSED

LEAVING_MAX_MS = 1000  # ha/vip.h
HEARD_MS = 100         # from when the successor has put it until the leader before has heard that
FEW_LATE, ONE_LATE_IN = 2, 20
FEW_CROSSED, ONE_CROSSED_IN = 3, 8


class InOrder:
    """Over the rounds of a row."""

    def __init__(self):
        self.rounds = self.late = self.crossed = 0

    def check(self, drill):
        """What is wrong with this round."""
        if not drill.sight:
            return
        self.rounds += 1
        self.crossed += drill.sight.failed[CROSSED]
        if drill.sight.failures:
            events = [each for each in drill.cluster.events() if isinstance(each, (Role, Vip))
                      and each.boot_ms >= drill.since_ms]
            if is_late(events, drill.leader.name):
                self.late += 1
            else:
                yield f"new connections failed: {drill.sight.told}"

    def check_end(self):
        """What was excused too often."""
        if self.late > FEW_LATE + self.rounds // ONE_LATE_IN:
            yield f"the new leader was late in {self.late} of {self.rounds} rounds"
        if self.crossed > FEW_CROSSED + self.rounds // ONE_CROSSED_IN:
            yield f"{self.crossed} connections crossed the address in {self.rounds} rounds"

    @property
    def note(self):
        return (f"rounds in which the new leader was late, or lost its lease, and connections "
                f"failed: {self.late}" if self.late else "")


def is_late(events, before):
    """Was it, by what nodes wrote of one change, in any order? `before`: who led."""
    if sum(isinstance(each, Role) and each.role == LEADER for each in events) > 1:
        return True
    told = [each for each in events if isinstance(each, Vip)]

    def first(state, is_before):
        return min((each.boot_ms for each in told if each.state == state
                    and (each.node == before) == is_before), default=None)

    leaving, away, held = first(LEAVING, True), first(AWAY, True), first(HELD, False)
    if leaving is None or away is None or away - leaving < LEAVING_MAX_MS:
        return False
    return held is None or held > away - HEARD_MS
