#!/usr/bin/python3
"""./dev drill beanstalkd: random sequences of commands, valid, odd and broken, to Debian's beanstalkd
and to a node of build/release; what their clients are told is compared byte by byte.

    ./dev drill beanstalkd                         100,000 sequences, and 2,000 in which time passes
    ./dev drill beanstalkd --sequences 5000 --seed 17
    ./dev drill beanstalkd --sequences 1 --seed 17 [--timed]
                                                   that one again
    ./dev drill beanstalkd --play FILE [--timed]   a sequence written down: that of a failure
    ./dev drill beanstalkd --itself                beanstalkd against beanstalkd

What may differ has a name and a reason in differ.py. All else is a failure, and so is a difference of that
list that is not met any more. A failure is shown in the shortest form that was found.
"""

import argparse
import contextlib
import os
import random
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
if __name__ == "__main__":
    sys.path[0] = str(ROOT / "itests")  # not this folder: `beanstalkd` is the package
os.environ.setdefault("DUEQ_BUILD", "build/release")

# pylint: disable=wrong-import-position
from beanstalkd import runs
from beanstalkd.servers import itself, pair
from beanstalkd.steps import from_text
from harness.process import become_reaper

TIMED_SHARE = 50  # one in so many
FAILURES_SHOWN = 5
EVERY_S = 5


class Reporter:
    def __init__(self, what, count):
        self._what, self._count = what, count
        self._begin = self._told = time.monotonic()
        self._shown = 0

    def __call__(self, tally):
        now = time.monotonic()
        for key in list(tally.failures)[self._shown:]:
            self._shown += 1
            print(f"  seed {key[0]}: {tally.failures[key]}", flush=True)
        if now - self._told >= EVERY_S or tally.played == self._count:
            self._told = now
            print(f"  {self._what}: {tally.played:>7} of {self._count}, {now - self._begin:5.0f} s, "
                  f"{len(tally.failures)} differ, {tally.void} void", flush=True)


def parse_arguments():
    parser = argparse.ArgumentParser(prog="./dev drill beanstalkd", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sequences", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--timed", action="store_true", help="only sequences in which time passes")
    parser.add_argument("--play", metavar="FILE", type=argparse.FileType())
    parser.add_argument("--itself", action="store_true")
    return parser.parse_args()


def main():
    options = parse_arguments()
    become_reaper()
    with contextlib.ExitStack() as stack:
        directory = stack.enter_context(tempfile.TemporaryDirectory())
        ports = stack.enter_context((itself if options.itself else pair)(directory))
        if options.play:
            return play_file(ports, options)
        return run_all(ports, options)


def play_file(ports, options):
    result, differ = runs.play_once(ports, from_text(options.play.read()), options.timed)
    print(result.failure or "the same")
    print(dict(differ.used))
    return 1 if result.failure else 0


def run_all(ports, options):
    print(f"  seed {options.seed}")
    count, timed = options.sequences, options.sequences // TIMED_SHARE
    tallies = []
    if options.timed:
        count, timed = 0, options.sequences
    for what, number, run in (("sequences", count, runs.run), ("with time", timed, runs.run_timed)):
        if number:
            tallies.append(run(ports, range(options.seed, options.seed + number),
                               stop_after=FAILURES_SHOWN, on_progress=Reporter(what, number)))
            print(f"  {tallies[-1]}")
    failures = {key: failure for tally in tallies for key, failure in tally.failures.items()}
    for key, failure in failures.items():
        print(f"\n{runs.story(ports, key, failure)}", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
