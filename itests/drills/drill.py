#!/usr/bin/python3
"""./dev drill: hosts in network namespaces, real processes, faults from outside, a steady load
through all of it, and a judge over everything that was written down.

    ./dev drill --list                  the rows
    ./dev drill                         all rows, with the rounds of the matrix
    ./dev drill 1 2 8b --rounds 5
    ./dev drill 26 --seed 17            the same pairs again
    ./dev drill 20 --old v1.0           upgrade from that commit, or program, and back
    ./dev drill 0 --json                for programs, on standard output
    ./dev drill 1 2 3 --write           into doc/failover.md

Times are in ms from the moment before the fault: `active` to the next leader's role, `served` to
the first due job that it moved, in a consumer's hands; median, p99 (from 100 rounds on) and worst.
`outside` is the lateness p99 of jobs that no fault touched. After any violation it ends with 1, and
the files (journals, logs) stay.
"""

import argparse
import json
import os
import random
import shutil
import signal
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
if __name__ == "__main__":
    sys.path[0] = str(ROOT / "itests")  # not this folder: `drills` is the package
os.environ.setdefault("DUEQ_BUILD", "build/release")

# pylint: disable=wrong-import-position
from drills import builds
from drills.lateness import Limits
from drills.matrix import MATRIX
from drills.page import save
from drills.rounds import TICK_MS, Result, run_row
from drills.table import json_of, table_of
from harness.network import why_not
from harness.process import become_reaper

OUTSIDE_P99_MS = 50  # generous: the clients' own time is in it, and they share the machine


def main():
    options = parse()
    if options.list:
        for each in MATRIX.values():
            print(f"{each.number:>4}  {each.title}" + (f"  (not yet: {each.needs})"
                                                       if each.needs else ""))
        return
    reason = why_not()
    if reason:
        sys.exit(f"No network namespaces here (they need root and nftables): {reason}")
    become_reaper()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    try:
        sys.exit(1 if run(options) else 0)
    except builds.NoSuchBuild as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit("interrupted")


def parse():
    parser = argparse.ArgumentParser(prog="./dev drill", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("numbers", nargs="*", metavar="NUMBER", help="rows; without any: all")
    parser.add_argument("--rounds", type=int, help="instead of the row's own number")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--old", metavar="REV", help="the older build of row 20: a commit, or a "
                        "dueq-node; else the newest tag, or the last commit of the day before")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--list", action="store_true", help="the rows there are")
    parser.add_argument("--rehearse", action="store_true",
                        help="faults, load and judge alone: all nodes are standalone, on one Redis")
    parser.add_argument("--write", action="store_true",
                        help="put what was measured into doc/failover.md")
    parser.add_argument("--keep", metavar="DIR", help="keep all files there")
    options = parser.parse_args()
    unknown = [number for number in options.numbers if number not in MATRIX]
    if unknown:
        parser.error(f"no row {' '.join(unknown)}; there are {' '.join(MATRIX)}")
    try:
        options.old = builds.find(options.old)
    except builds.NoSuchBuild as error:
        parser.error(f"--old: {error}")
    return options


def run(options):
    """True when something failed."""
    def report(text):
        print(text, file=sys.stderr if options.json else sys.stdout, flush=True)

    if "20" in (options.numbers or MATRIX):
        MATRIX["20"].old = builds.make(options.old, report)
    directory = Path(options.keep or tempfile.mkdtemp(prefix="dueq-drill-"))
    report(f"seed {options.seed}; files in {directory}")
    results = []
    for number in options.numbers or MATRIX:
        each = MATRIX[number]
        why_not_now = reason_to_skip(each, options.rehearse)
        if why_not_now:
            report(f"  {number:>3}  {each.title}: {why_not_now}")
            continue
        try:
            result = run_row(each, directory, options.seed,
                             options.rounds or (1 if options.rehearse else each.rounds),
                             each.rehearsed_variants if options.rehearse else each.variants,
                             options.rehearse, report, Limits(TICK_MS, OUTSIDE_P99_MS))
        except AssertionError as error:  # the other rows may do better
            result = Result(each, complaints=[f"broken off: {error}"])
        results.append(result)
        for line in result.failures:
            report(f"  {number:>3}  {line}")
        for rule, count in result.verdict.explained.items():
            report(f"  {number:>3}  counted apart: {count} {rule}, which the fault explains")
    return conclude(results, directory, options, report)


def reason_to_skip(row, is_rehearsal):
    if is_rehearsal:
        return None if row.rehearsed_variants else "nothing to rehearse"
    return row.needs and f"not yet, {row.needs}"


def conclude(results, directory, options, report):
    has_failed = any(result.failures for result in results)
    if options.write and not options.rehearse:
        save(results)
    if options.json:
        print(json.dumps(json_of(results, options.seed), indent=2))
    else:
        print("\n".join(["", *table_of(results)]))
    if not has_failed and not options.keep:
        shutil.rmtree(directory)
    return has_failed


if __name__ == "__main__":
    main()
