"""The watch over loops sees one that stands still without waiting for a processor; and what a node
says of that is read."""

import time

import pytest

from harness.process import frozen
from harness.wait import wait_until
from judge.journal import Stall, now_ms
from judge.stalls import LoopWatch, told_stalls

WAITED_MS = 1000  # for a processor, with a timer that was due, before it was stopped


def test_a_loop_that_stands_still_is_seen(node):
    watch = LoopWatch(node)
    with frozen(node.worker_pid):
        time.sleep(1.5)  # the stall's length: a timer is due at least once a second
    watch.look()
    assert watch.own_max_ms > 100


def test_what_a_node_says_of_a_stall_is_read_on_the_clock_of_journals(node):
    def told():
        return [each for each in told_stalls("n1", node.output()) if each.boot_ms > began_ms]

    began_ms = now_ms()
    with frozen(node.worker_pid):
        time.sleep(1.5)  # the stall's length, as above
    wait_until(told, "it says so")
    (stall,) = told()
    assert stall.node == "n1"
    assert began_ms - WAITED_MS < stall.boot_ms - stall.ms < stall.boot_ms <= now_ms()


def test_a_worker_that_was_ended_as_it_hung_is_a_stall():
    line = ("1970-01-01T00:01:00.500Z warn  warden   [7] worker: UP -> KILLED pid=9 "
            "reason=it hangs: no sign of life for 1200 ms\n")
    assert told_stalls("n1", line, 500) == [Stall("n1", 60_000, 1200, is_last=True)]
    assert told_stalls("n1", line.replace("worker", "redis"), 500) == []
    assert told_stalls("n1", line.replace("it hangs", "it does not stop"), 500) == []


@pytest.mark.parametrize("words", ["loop     [7] stalled", "warden   [7] stood still"])
def test_lines_of_loop_and_warden_alone_are_stalls(words):
    line = f"1970-01-01T00:01:00.500Z warn  {words} for 700 ms: this process\n"
    assert told_stalls("n1", line, 500) == [Stall("n1", 60_000, 700, is_loop=words.startswith("loop"))]
    for other in ("info  loop     [7] stalled", "warn  http     [7] stalled",
                  "warn  loop     [7] x: stalled"):
        assert told_stalls("n1", line.replace(f"warn  {words}", other)) == []
