"""The watch over loops sees one that stands still without waiting for a processor."""

import os
import signal
import time

from drills.stalls import LoopWatch


def test_a_loop_that_stands_still_is_seen(node):
    watch = LoopWatch(node)
    os.kill(node.worker_pid, signal.SIGSTOP)
    time.sleep(1.5)  # the stall's length: a timer is due at least once a second
    os.kill(node.worker_pid, signal.SIGCONT)
    watch.look()
    assert watch.own_max_ms > 100
