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
the files (journals, logs) stay. Rounds take from 2 s (rows 1 to 3) to 30 s and more (4, 10), and ten
minutes (21). Ctrl-C ends the row that runs, takes down all of it, and concludes those before.

Hosts are network namespaces: root and nftables are needed, nothing of the machine's own network is
touched.
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
from drills.hosts import builds, safety
from drills.page import save
from drills.rounds import TICK_MS, Result, run_row
from drills.rows.matrix import MATRIX
from drills.table import json_of, table_of
from harness.network import why_not
from harness.process import become_reaper
from judge.lateness import Limits

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
    be_in_charge()
    try:
        sys.exit(run(options))
    except builds.NoSuchBuild as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit("interrupted")


def be_in_charge():
    """Of all processes below this one; and whatever signal ends it, does so as Ctrl-C."""
    become_reaper()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)


def parse():
    parser = argparse.ArgumentParser(prog="./dev drill", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("numbers", nargs="*", metavar="NUMBER", help="rows; without any: all")
    parser.add_argument("--rounds", type=int, metavar="N", help="instead of the row's own number; "
                        "at least one of each variant")
    parser.add_argument("--seed", type=int, metavar="N",
                        default=random.SystemRandom().randrange(1 << 32),
                        help="of what is left to chance: load, and rows 8 and 26")
    parser.add_argument("--old", metavar="REV", help="the older build of row 20: a commit, or a "
                        "dueq-node; else the newest tag, or the last commit of the day before")
    parser.add_argument("--json", action="store_true", help="the result on standard output")
    parser.add_argument("--safe", action="store_true",
                        help="clients speak TLS, and have tokens and certificates, nodes speak TLS with "
                        "each other and with Redis, and take no others; rows that are about those "
                        "who cannot are left out")
    parser.add_argument("--list", action="store_true", help="the rows there are")
    parser.add_argument("--rehearse", action="store_true",
                        help="faults, load and judge alone: all nodes are standalone, on one Redis")
    parser.add_argument("--write", action="store_true",
                        help="put what was measured into doc/failover.md")
    parser.add_argument("--keep", metavar="DIR", help="keep all files there")
    options = parser.parse_args()
    options.numbers = list(dict.fromkeys(options.numbers))  # each once
    check(options, parser)
    return options


def check(options, parser):
    """Before anything is built."""
    unknown = [number for number in options.numbers if number not in MATRIX]
    if unknown:
        parser.error(f"no row {' '.join(unknown)}; there are {' '.join(MATRIX)}")
    if options.rounds is not None and options.rounds < 1:
        parser.error("--rounds: one at least")
    if options.write and options.safe:
        parser.error("--write: the page has the times without --safe")
    if options.write and options.rehearse:
        parser.error("--write: what is rehearsed says nothing")
    if options.keep and Path(options.keep).exists() and any(Path(options.keep).iterdir()):
        parser.error(f"--keep: {options.keep} is not empty")
    if options.old and "20" not in (options.numbers or MATRIX):
        parser.error("--old is for row 20")
    try:
        options.old = builds.find(options.old)
    except builds.NoSuchBuild as error:
        parser.error(f"--old: {error}")


def run(options):
    """The exit code. A row that was interrupted is left out; those before it are concluded."""
    def report(text):
        print(text, file=sys.stderr if options.json else sys.stdout, flush=True)

    if "20" in (options.numbers or MATRIX) and not (options.rehearse or options.safe):
        MATRIX["20"].old = builds.make(options.old, report)
    directory = Path(options.keep or tempfile.mkdtemp(prefix="dueq-drill-"))
    results, code = [], 0
    if options.safe:
        safety.turn_on(directory / "safety")
    try:
        report(f"seed {options.seed}; files in {directory}")
        for number in options.numbers or MATRIX:
            row = MATRIX[number]
            why_not_now = reason_to_skip(row, options)
            if why_not_now:
                report(f"  {number:>3}  {row.title}: {why_not_now}")
            else:
                results.append(run_one(row, directory, options, report))
    except KeyboardInterrupt:
        report("interrupted")
        code = 130
    return conclude(results, directory, options, report) or code


def run_one(row, directory, options, report):
    """Its result, said. What breaks it off leaves the other rows to run."""
    try:
        result = run_row(row, directory, options.seed,
                         options.rounds or (1 if options.rehearse else row.rounds),
                         row.rehearsed_variants if options.rehearse else row.variants,
                         options.rehearse, report, Limits(TICK_MS, OUTSIDE_P99_MS))
    except Exception as error:  # pylint: disable=broad-except
        result = Result(row, complaints=[f"broken off: {type(error).__name__}: {error}"])
    for line in result.failures:
        report(f"  {row.number:>3}  {line}")
    for rule, count in result.verdict.explained.items():
        report(f"  {row.number:>3}  counted apart: {count} {rule}, which "
               f"{'the machine' if rule == 'STORM' else 'the fault'} explains")
    return result


def reason_to_skip(row, options):
    if options.safe and row.speaks_plain:
        return "older nodes speak plain, or clients at first"
    if options.rehearse:
        return None if row.rehearsed_variants else "nothing to rehearse"
    return row.needs and f"not yet, {row.needs}"


def conclude(results, directory, options, report):
    """The exit code."""
    has_failed = any(result.failures for result in results)
    if options.write and results:
        save(results)
    if options.json:
        print(json.dumps(json_of(results, options.seed), indent=2))
    elif results:
        print("\n".join(["", *table_of(results)]))
    if has_failed:
        report(f"journals and logs: {directory}; the same again: --seed {options.seed}")
    elif not options.keep:
        shutil.rmtree(directory)
    return 1 if has_failed else 0


if __name__ == "__main__":
    main()
