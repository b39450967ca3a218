"""Sequences shared out among workers: processes, each of which plays on two servers of its own.

A worker takes the next seed when it is done with one, so what is played depends on the seeds alone, and
who plays it on the machine. A worker that finds a difference goes on, and makes it short in the end.
The servers keep nothing beyond a run, so what they write is in memory where there is room.
"""

import multiprocessing
import os
import queue
import signal
import tempfile
import traceback
from contextlib import contextmanager
from pathlib import Path

from beanstalkd import runs
from harness.process import become_reaper

FAILURES_MAX = 5          # then no more is played
MEMORY, ROOM_BYTES = Path("/dev/shm"), 2 << 30
LIFE_S = 2                # so often the parent looks whether its workers live
_FORK = multiprocessing.get_context("fork")


class Broken(Exception):
    """A worker ended that should not have."""


class Part:
    """Some sequences of one kind, for all workers."""

    def __init__(self, kind, first, count):
        self.kind, self.first, self.count = kind, first, count
        self._taken = _FORK.Value("q", 0)

    def seeds(self, has_ended):
        while not has_ended.is_set():
            with self._taken.get_lock():
                number = self._taken.value
                self._taken.value += 1
            if number >= self.count:
                return
            yield self.first + number


@contextmanager
def scratch():
    has_room = MEMORY.is_dir() and os.statvfs(MEMORY).f_bavail * os.statvfs(MEMORY).f_bsize > ROOM_BYTES
    with tempfile.TemporaryDirectory(dir=MEMORY if has_room else None) as directory:
        yield Path(directory)


def play_all(parts, workers, servers, on_played):
    """The stories of what failed. `servers(directory, is_unix)`: a context with two; each other worker's
    are on unix sockets. `on_played(Played)`."""
    told, has_ended = _FORK.Queue(), _FORK.Event()
    processes = [_FORK.Process(target=_work, args=(number, parts, servers, told, has_ended))
                 for number in range(workers)]
    for process in processes:
        process.start()
    try:
        return _listen(processes, told, has_ended, on_played)
    except BaseException:
        has_ended.set()
        for process in processes:
            if process.exitcode is None:
                os.kill(process.pid, signal.SIGINT)
        raise
    finally:
        for process in processes:
            process.join()


def _listen(processes, told, has_ended, on_played):
    stories, failures, at_work = [], 0, len(processes)
    while at_work:
        try:
            what, value = told.get(timeout=LIFE_S)
        except queue.Empty:
            if any(process.exitcode for process in processes):
                raise Broken("a worker was killed") from None
            continue
        if what == "played":
            failures += value.failure is not None
            if failures >= FAILURES_MAX:
                has_ended.set()
            on_played(value)
        elif what == "story":
            stories.append(value)
        elif what == "broken":
            raise Broken(value)
        else:
            at_work -= 1
    return stories


class _Told(runs.Tally):
    def __init__(self, told):
        super().__init__()
        self._told = told

    def add(self, one):
        super().add(one)
        self._told.put(("played", one))


def _work(number, parts, servers, told, has_ended):
    become_reaper()
    is_unix = number % 2 == 1

    @contextmanager
    def opened():
        with scratch() as directory, servers(directory, is_unix) as pair:
            yield pair

    try:
        with opened() as pair:
            tally = _Told(told)
            for part in parts:
                _play(part, pair, opened, tally, part.seeds(has_ended))
            for key, failure in tally.failures.items():
                told.put(("story", runs.story(pair, key, failure, more_words=" --unix" if is_unix else "")))
        told.put(("end", None))
    except KeyboardInterrupt:
        pass
    except BaseException:  # whatever it is, the parent must hear of it
        told.put(("broken", traceback.format_exc()))


def _play(part, pair, opened, tally, seeds):
    if part.kind == runs.DRAINED:
        runs.run_drained(opened, seeds, FAILURES_MAX, tally)
    elif part.kind == runs.TIMED:
        runs.run_timed(pair, seeds, None, FAILURES_MAX, tally)
    else:
        runs.run(pair, seeds, None, FAILURES_MAX, tally)
