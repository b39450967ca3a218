#!/usr/bin/python3
"""./dev drill beanstalkd: random sequences of commands, valid, odd and broken, to Debian's beanstalkd
and to a node of build/release; what their clients are told is compared byte by byte.

    ./dev drill beanstalkd                         100,000 sequences, 2,000 in which time passes, and 100
                                                   in which both are told to drain (SIGUSR1)
    ./dev drill beanstalkd --sequences 5000 --seed 17
    ./dev drill beanstalkd --sequences 1 --seed 17 [--timed | --drained] [--unix]
                                                   that one again
    ./dev drill beanstalkd --play FILE [--timed | --drained] [--unix]
                                                   a sequence written down: that of a failure
    ./dev drill beanstalkd --itself                beanstalkd against beanstalkd
    ./dev drill beanstalkd --json                  for programs, on standard output

It is shared out among workers, two a processor; each has servers of its own, every other worker's on unix
sockets. A seed gives the same sequences whatever their number.

What may differ has a name and a reason in differ.py. All else is a failure, and so is a difference of that
list that many sequences do not meet any more. A failure is shown in the shortest form that was found.
"""

import argparse
import contextlib
import json
import os
import random
import signal
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
if __name__ == "__main__":
    sys.path[0] = str(ROOT / "itests")  # not this folder: `beanstalkd` is the package
os.environ.setdefault("DUEQ_BUILD", "build/release")

# pylint: disable=wrong-import-position
from beanstalkd import runs, workers
from beanstalkd.differ import DIFFERENCES
from beanstalkd.servers import itself, pair
from beanstalkd.steps import from_text
from harness.process import become_reaper

SHARES = {runs.TIMED: 50, runs.DRAINED: 1000, runs.ALONE: 1}  # one in so many, in this order
TITLES = {runs.TIMED: "time passes", runs.DRAINED: "drained", runs.ALONE: "no time"}
ALL_MET = 10_000  # so many sequences meet each named difference
EVERY_S = 5


def parse_arguments():
    parser = argparse.ArgumentParser(prog="./dev drill beanstalkd", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sequences", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--timed", action="store_true", help="only sequences in which time passes")
    parser.add_argument("--drained", action="store_true", help="only those in which both are told to drain")
    parser.add_argument("--unix", action="store_true", help="all servers on unix sockets")
    parser.add_argument("--workers", type=int, default=2 * len(os.sched_getaffinity(0)), metavar="N")
    parser.add_argument("--play", metavar="FILE", type=argparse.FileType())
    parser.add_argument("--itself", action="store_true")
    parser.add_argument("--json", action="store_true", help="the result on standard output")
    options = parser.parse_args()
    if options.workers < 1 or options.sequences < 1:
        parser.error("--workers, --sequences: one at least")
    if options.timed and options.drained:
        parser.error("--timed or --drained")
    options.kind = runs.TIMED if options.timed else runs.DRAINED if options.drained else None
    return options


def main():
    options = parse_arguments()
    become_reaper()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    try:
        return play_file(options) if options.play else run_all(options)
    except workers.Broken as error:
        print(f"broken off: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130


def servers_of(options):
    kind = itself if options.itself else pair
    return lambda directory, is_unix: kind(directory, is_unix or options.unix)


def play_file(options):
    @contextlib.contextmanager
    def opened():
        with workers.scratch() as directory, servers_of(options)(directory, False) as servers:
            yield servers

    steps = from_text(options.play.read())
    if options.drained:
        result, differ = runs.play_drained(opened, steps)
    else:
        with opened() as servers:
            result, differ = runs.play_once(servers, steps, options.timed)
    print(result.failure or "the same")
    print(dict(differ.used))
    return 1 if result.failure else 0


class Progress:
    """A tally for each kind, with the time from its first sequence to its last; said every few seconds."""

    def __init__(self, parts, say):
        self.parts, self._say = parts, say
        self.tallies = {part.kind: runs.Tally() for part in parts}
        self.times = {}  # {kind: (first, last)}, in seconds from the beginning
        self._begin = self._said = time.monotonic()

    def add(self, played):
        self.tallies[played.key.kind].add(played)
        now = time.monotonic()
        since = now - self._begin
        self.times[played.key.kind] = (self.times.get(played.key.kind, (since,))[0], since)
        if played.failure:
            self._say(f"  {TITLES[played.key.kind]}, seed {played.key.seed}: {played.failure}")
        if now - self._said >= EVERY_S:
            self._said = now
            self._say(f"  {since:5.0f} s: " + "; ".join(
                f"{TITLES[part.kind]} {self.tallies[part.kind].played} of {part.count}"
                for part in self.parts))

    @property
    def whole_s(self):
        return time.monotonic() - self._begin

    def used(self, name):
        return sum(tally.used[name] for tally in self.tallies.values())


def run_all(options):
    def say(text):
        print(text, file=sys.stderr if options.json else sys.stdout, flush=True)

    parts = parts_of(options)
    count = min(options.workers, sum(part.count for part in parts))
    say(f"  seed {options.seed}, {count} workers")
    progress = Progress(parts, say)
    stories = workers.play_all(parts, count, servers_of(options), progress.add)
    whole_s = progress.whole_s
    gone = [each.name for each in DIFFERENCES if not progress.used(each.name)] if (
        options.sequences >= ALL_MET and not options.itself and options.kind is None) else []
    if options.json:
        print(json.dumps(json_of(progress, options, count, whole_s, stories), indent=2))
    else:
        print("\n".join(["", *table_of(progress, count, whole_s)]))
    for story in stories:
        say(f"\n{story}")
    for name in gone:
        say(f"  no sequence has met the difference \"{name}\": take it out of differ.py")
    return 1 if stories or gone else 0


def parts_of(options):
    counts = ({options.kind: options.sequences} if options.kind else
              {kind: options.sequences // share for kind, share in SHARES.items()})
    return [workers.Part(kind, options.seed, number) for kind, number in counts.items() if number]


def table_of(progress, count, whole_s):
    lines = [f"  {'':<12} {'sequences':>9} {'differ':>7} {'void':>6} {'seconds':>8} {'a second':>9}"]
    for kind, tally in progress.tallies.items():
        first, last = progress.times.get(kind, (0, 0))
        lines.append(f"  {TITLES[kind]:<12} {tally.played:>9} {len(tally.failures):>7} {tally.void:>6} "
                     f"{last - first:>8.0f} {tally.played / max(last - first, 1):>9.0f}")
    lines += [f"  in all {whole_s:.0f} s, {count} workers", "", "  named differences:"]
    return lines + [f"  {progress.used(each.name):>9}  {each.name}: {each.why}" for each in DIFFERENCES]


def json_of(progress, options, count, whole_s, stories):
    kinds = {kind: {"sequences": tally.played, "differ": len(tally.failures), "void": tally.void,
                    "seconds": round(last - first, 1)}
             for kind, tally in progress.tallies.items()
             for first, last in [progress.times.get(kind, (0, 0))]}
    return {"seed": options.seed, "workers": count, "seconds": round(whole_s, 1), "kinds": kinds,
            "named_differences": {each.name: progress.used(each.name) for each in DIFFERENCES},
            "stories": stories}


if __name__ == "__main__":
    sys.exit(main())
