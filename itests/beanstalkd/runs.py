"""Many sequences: one after the other on two servers, those in which time passes many at once; and what
is done with a failure: it must come again, and is made as short as it goes.
"""

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import NamedTuple

from beanstalkd.differ import DIFFERENCES, Differ
from beanstalkd.draw import draw
from beanstalkd.play import play
from beanstalkd.side import Side
from beanstalkd.steps import as_text

AT_ONCE = 24        # sequences in which time passes
TRIES = 3           # of one that failed or was void


class Ports(NamedTuple):
    theirs: int
    ours: int


class Tally:
    """What a run came to."""

    def __init__(self):
        self.played = 0
        self.void = 0
        self.used = Counter()   # differences that have a name
        self.failures = {}      # {(seed, is_timed): what was told}

    def add(self, key, result, differ):
        self.played += 1
        self.void += result.is_void
        self.used += differ.used
        if result.failure:
            self.failures[key] = result.failure

    def unused(self):
        return [each.name for each in DIFFERENCES if not self.used[each.name]]

    def __str__(self):
        named = ", ".join(f"{name} {count}" for name, count in sorted(self.used.items()))
        return (f"{self.played} sequences, {len(self.failures)} differ, {self.void} void"
                f"{'; named differences: ' + named if named else ''}")


@contextmanager
def sides_of(ports, lie=None):
    sides = Side(ports.theirs), Side(ports.ours, lie)
    try:
        yield sides
    finally:
        for side in sides:
            side.close()


def play_once(ports, steps, is_timed=False, lie=None):
    """(Result, Differ). Failed or void, it is played again: only what differs each time does."""
    for _ in range(TRIES):
        differ = Differ()
        with sides_of(ports, lie) as sides:
            result = play(steps, sides, differ, is_timed)
        if not result.failure and not result.is_void:
            break
    return result, differ


def run(ports, seeds, lie=None, stop_after=1, on_progress=lambda tally: None):
    """Sequences without time, on connections that are used again."""
    tally = Tally()
    for seed in seeds:
        steps, differ = draw(seed), Differ()
        with sides_of(ports, lie) as sides:
            result = play(steps, sides, differ)
        if result.failure or result.is_void:
            result, differ = play_once(ports, steps, lie=lie)
        tally.add((seed, False), result, differ)
        on_progress(tally)
        if len(tally.failures) >= stop_after:
            break
    return tally


def run_timed(ports, seeds, lie=None, stop_after=1, on_progress=lambda tally: None):
    """Sequences in which time passes, AT_ONCE of them at once."""
    tally, lock = Tally(), threading.Lock()

    def one(seed):
        if len(tally.failures) >= stop_after:
            return
        result, differ = play_once(ports, draw(seed, True), True, lie)
        with lock:
            tally.add((seed, True), result, differ)
            on_progress(tally)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(one, seeds))
    return tally


def shrunk(ports, steps, is_timed=False, lie=None):
    """The fewest steps that still differ, found by leaving out ever smaller pieces."""
    def differs(fewer):
        return bool(play_once(ports, fewer, is_timed, lie)[0].failure)

    units = _units(steps)
    size = len(units) // 2 or 1
    while size:
        at = 0
        while at < len(units):
            fewer = units[:at] + units[at + size:]
            if fewer and differs(sum(fewer, [])):
                units = fewer
            else:
                at += size
        size //= 2
    return sum(units, [])


def _units(steps):
    """A command in two parts is one."""
    units = []
    for before, step in zip([None, *steps], steps):
        if before and before.conn == step.conn and isinstance(before.what, bytes) \
                and not before.what.endswith(b"\n") and isinstance(step.what, bytes):
            units[-1].append(step)
        else:
            units.append([step])
    return units


def story(ports, key, failure, lie=None):
    """A failure for people: the command to repeat it, and its shortest form."""
    seed, is_timed = key
    words = " --timed" if is_timed else ""
    told = f"again: ./dev drill beanstalkd --seed {seed} --sequences 1{words}\n{failure}\n"
    steps = draw(seed, is_timed)
    if not play_once(ports, steps, is_timed, lie)[0].failure:
        return told + "it did not come again"
    steps = shrunk(ports, steps, is_timed, lie)
    result, _ = play_once(ports, steps, is_timed, lie)
    return f"{told}the shortest form (--play FILE{words}):\n{as_text(steps)}{result.failure}"
