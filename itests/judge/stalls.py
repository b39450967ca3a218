"""How long a node's loop stands still by its own doing; and what its log says of standing still.

A loop counts the turns in which a timer waited more than 10 ms; a node of a cluster has one that
is due every 200 ms or sooner, so that a longer stall is always seen. On a busy machine a process also
waits for a processor, and the kernel counts that for each one: what is left is the loop's own.
"""

import re
import time
from datetime import datetime
from pathlib import Path

from harness.clock import offset_ms, wall_now_ms
from judge.journal import Stall, now_ms

SAMPLE_S = 0.1  # short, so that waits for a processor explain only the stall they belong to
TOLD = re.compile(r"^(\S+Z) warn +(?:(loop) +\[\d+\] stalled|warden +\[\d+\] (?:stood still|(worker): "
                  r".* reason=it hangs: no sign of life)) for (\d+) ms(?::|$)", re.MULTILINE)


def told_stalls(node, log, wall_ms=None):
    """Of a node's log, which tells the wall clock's time. `wall_ms`: what that is at the boot
    clock's zero; None: by the clocks of now."""
    if wall_ms is None:
        wall_ms = offset_ms(wall_now_ms, now_ms)
    return [Stall(node, datetime.fromisoformat(when.replace("Z", "+00:00")).timestamp() * 1000
                  - wall_ms, int(ms), bool(worker), bool(loop))
            for when, loop, worker, ms in TOLD.findall(log)]


class LoopWatch:
    def __init__(self, node):
        self._node = node
        self._stalled_ms, self._waited_ms = self._read()
        self.own_max_ms = 0

    def look(self):
        stalled_ms, waited_ms = self._read()
        own_ms = (stalled_ms - self._stalled_ms) - (waited_ms - self._waited_ms)
        self.own_max_ms = max(self.own_max_ms, own_ms)
        self._stalled_ms, self._waited_ms = stalled_ms, waited_ms

    def _read(self):
        """Both since the process began. A turn that lasts ends before it answers."""
        status, text = self._node.http("/metrics")
        assert status == 200, text
        stalled_s = re.search(r"^dueq_loop_stall_seconds_total (\S+)", text, re.MULTILINE)[1]
        schedule = Path(f"/proc/{self._node.worker_pid}/schedstat").read_text(encoding="ascii")
        return float(stalled_s) * 1000, int(schedule.split()[1]) / 1e6


def watch_loops(nodes, until):
    """The longest stall of any of them until then, in ms."""
    watches = [LoopWatch(node) for node in nodes]
    while not until():
        time.sleep(SAMPLE_S)
        for each in watches:
            each.look()
    return max(each.own_max_ms for each in watches)
