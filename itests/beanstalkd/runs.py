"""Many sequences: one after the other on two servers, those in which time passes many at once, those in
which the servers are told to drain on two fresh servers each; and what is done with a failure: it must
come again, and is made as short as it goes.
"""

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import NamedTuple, Optional, Union

from beanstalkd.differ import Differ
from beanstalkd.draw import draw, draw_drained
from beanstalkd.play import APART_S, play
from beanstalkd.side import Side
from beanstalkd.steps import as_text

ALONE, TIMED, DRAINED = "alone", "timed", "drained"
AT_ONCE = 24        # sequences in which time passes
TRIES = 3           # of one that failed or was void


class Server(NamedTuple):
    port: Union[int, str]  # or the path of its unix socket
    pid: int               # which takes its signals


class Pair(NamedTuple):
    theirs: Server
    ours: Server


class Key(NamedTuple):
    """Of a sequence."""
    seed: int
    kind: str = ALONE

    def steps(self):
        return draw_drained(self.seed) if self.kind == DRAINED else draw(self.seed, self.is_timed)

    @property
    def is_timed(self):
        return self.kind == TIMED


class Played(NamedTuple):
    """What came of a sequence."""
    key: Key
    failure: Optional[str]
    is_void: bool
    used: Counter    # differences that have a name


class Tally:
    """What a run came to."""

    def __init__(self):
        self.played = 0
        self.void = 0
        self.used = Counter()
        self.failures = {}      # {Key: what was told}

    def add(self, one):
        self.played += 1
        self.void += one.is_void
        self.used += one.used
        if one.failure:
            self.failures[one.key] = one.failure

    def __str__(self):
        named = ", ".join(f"{name} {count}" for name, count in sorted(self.used.items()))
        return (f"{self.played} sequences, {len(self.failures)} differ, {self.void} void"
                f"{'; named differences: ' + named if named else ''}")


@contextmanager
def sides_of(pair, lie=None):
    sides = Side(pair.theirs), Side(pair.ours, lie)
    try:
        yield sides
    finally:
        for side in sides:
            side.close()


def play_on(pair, steps, is_timed=False, lie=None, apart_s=0):
    """(Result, Differ)"""
    differ = Differ()
    with sides_of(pair, lie) as sides:
        return play(steps, sides, differ, is_timed, apart_s), differ


def play_once(pair, steps, is_timed=False, lie=None):
    """(Result, Differ). Failed or void, it is played again, its steps apart: only what differs each
    time does."""
    return _again(lambda apart_s: play_on(pair, steps, is_timed, lie, apart_s))


def play_drained(open_pair, steps):
    """As play_once(); `open_pair()` is a context with fresh servers."""
    def on_fresh_ones(apart_s):
        with open_pair() as pair:
            return play_on(pair, steps, apart_s=apart_s)

    return _again(on_fresh_ones)


def _again(play_it):
    for number in range(TRIES):
        result, differ = play_it(APART_S if number else 0)
        if not result.failure and not result.is_void:
            break
    return result, differ


def _add(tally, key, result, differ):
    tally.add(Played(key, result.failure, result.is_void, differ.used))


def run(pair, seeds, lie=None, stop_after=1, tally=None):
    """Sequences without time. A tally that is given is added to."""
    tally = tally if tally is not None else Tally()
    for seed in seeds:
        key = Key(seed)
        _add(tally, key, *play_once(pair, key.steps(), lie=lie))
        if len(tally.failures) >= stop_after:
            break
    return tally


def run_timed(pair, seeds, lie=None, stop_after=1, tally=None):
    """Sequences in which time passes, AT_ONCE of them at once."""
    tally = tally if tally is not None else Tally()
    lock, seeds = threading.Lock(), iter(seeds)

    def one_after_the_other():
        while len(tally.failures) < stop_after:
            with lock:
                seed = next(seeds, None)
            if seed is None:
                return
            key = Key(seed, TIMED)
            played = play_once(pair, key.steps(), True, lie)
            with lock:
                _add(tally, key, *played)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        for each in [pool.submit(one_after_the_other) for _ in range(AT_ONCE)]:
            each.result()
    return tally


def run_drained(open_pair, seeds, stop_after=1, tally=None):
    tally = tally if tally is not None else Tally()
    for seed in seeds:
        key = Key(seed, DRAINED)
        _add(tally, key, *play_drained(open_pair, key.steps()))
        if len(tally.failures) >= stop_after:
            break
    return tally


def shrunk(pair, steps, is_timed=False, lie=None):
    """The fewest steps that still differ, found by leaving out ever smaller pieces."""
    def differs(fewer):
        return bool(play_once(pair, fewer, is_timed, lie)[0].failure)

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


def story(pair, key, failure, lie=None, more_words=""):
    """A failure for people: the command to repeat it, and its shortest form. `more_words` of the
    command: how the servers were started."""
    words = more_words if key.kind == ALONE else f" --{key.kind}{more_words}"
    told = f"again: ./dev drill beanstalkd --seed {key.seed} --sequences 1{words}\n{failure}\n"
    steps = key.steps()
    if key.kind == DRAINED:  # each try would want fresh servers
        return f"{told}its steps (--play FILE{words}):\n{as_text(steps)}"
    if not play_once(pair, steps, key.is_timed, lie)[0].failure:
        return told + "it did not come again"
    steps = shrunk(pair, steps, key.is_timed, lie)
    result, _ = play_once(pair, steps, key.is_timed, lie)
    return f"{told}the shortest form (--play FILE{words}):\n{as_text(steps)}{result.failure}"
