#!/usr/bin/python3
"""./dev bench: measures a node of build/release, says what the targets are and which are met.

    ./dev bench                      all tables about one node, about 22 minutes
    ./dev bench throughput memory    some tables
    ./dev bench scale                several nodes and Redis masters, about 10 minutes
    ./dev bench compare --compare BUILD
                                     what a job takes, beside an older build in turns: the folder
                                     of a release build of another tree; about 20 minutes
    ./dev bench dialects             the beanstalkd dialect beside beanstalkd, about 5 minutes
    ./dev bench capacity             what many of them would carry, from the figures of the page
    ./dev bench --list               which there are
    ./dev bench --quick              tiny sizes, to see that it works: no figures to quote
    ./dev bench --long               more and longer rounds, for figures that last
    ./dev bench --write              and put them into doc/benchmarks.md, with pictures, and what
                                     follows from them into doc/capacity.md
    ./dev bench --redraw             pictures and page again, from doc/plots/results.json
    ./dev bench --json -             for programs

Each table has a node of its own, on a Redis of its own with `appendfsync always`, in
build/bench. The machine should do nothing else meanwhile. The exit code is 1 when a target was
missed or something could not be measured (but --quick judges no targets).
"""

import argparse
import os
import signal
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
if __name__ == "__main__":
    sys.path[0] = str(ROOT / "itests")  # not this folder: `bench` is the package
os.environ.setdefault("DUEQ_BUILD", "build/release")

# pylint: disable=wrong-import-position
from bench import capacity, machine, page, render
from bench.loads import sweep_abandoned
from bench.progress import Progress, duration
from bench.tables import GROUPS, TABLES
from bench.tables.table import Options
from harness.build import node_program
from harness.process import become_reaper

INTERRUPTED = 130
NUMBER_MAX = 600  # of rounds, and of seconds
SCALES = {"quick": Options(1, 1, "quick"), "usual": Options(3, 2, "usual"),
          "long": Options(5, 4, "long")}
SCALE_HELP = {"quick": "tiny sizes", "long": "larger sizes"}


def table_names(word):
    """Of a table, or of those that a word stands for."""
    if word not in TABLES and word not in GROUPS:
        known = ", ".join([*TABLES, *GROUPS])
        raise argparse.ArgumentTypeError(f"no table '{word}'; there are {known}")
    return GROUPS.get(word, (word,))


def usual_tables():
    """Those that no word stands for."""
    grouped = {name for names in GROUPS.values() for name in names}
    return [name for name in TABLES if name not in grouped]


def positive(word):
    if not (word.isascii() and word.isdigit() and 1 <= int(word) <= NUMBER_MAX):
        raise argparse.ArgumentTypeError(f"'{word}' is not a number from 1 to {NUMBER_MAX}")
    return int(word)


def older_build(word):
    folder = Path(word).resolve()
    if not node_program(folder).exists():
        raise argparse.ArgumentTypeError(f"{folder} is no build: there is no {node_program(folder)}")
    return folder


def parse_arguments(words=None):
    parser = argparse.ArgumentParser(prog="./dev bench", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", metavar="TABLE", type=table_names,
                        help=", ".join(TABLES) + "; " + "; ".join(
                            f"{word}: {', '.join(names)}" for word, names in GROUPS.items()))
    parser.add_argument("--list", action="store_true", help="show which tables there are, and end")
    scale = parser.add_mutually_exclusive_group()
    for name in ("quick", "long"):
        scale.add_argument(f"--{name}", dest="scale", action="store_const", const=name,
                           default="usual",
                           help=f"{SCALE_HELP[name]}, --rounds {SCALES[name].rounds}, "
                                f"--seconds {SCALES[name].seconds}")
    parser.add_argument("--rounds", metavar="N", type=positive,
                        help="figures are the median of so many; default: "
                             f"{SCALES['usual'].rounds}")
    parser.add_argument("--seconds", metavar="N", type=positive,
                        help=f"the length of one run; default: {SCALES['usual'].seconds}")
    parser.add_argument("--compare", metavar="BUILD", type=older_build,
                        help="an older build, which takes turns with this one in the tables "
                             + ", ".join(GROUPS["compare"]))
    parser.add_argument("--write", action="store_true",
                        help="put the results into doc/benchmarks.md and doc/plots")
    parser.add_argument("--redraw", action="store_true",
                        help="make both again from earlier results; measures nothing")
    parser.add_argument("--json", metavar="FILE",
                        help="write the results as JSON; - is standard output")
    options = parser.parse_args(words)
    options.tables = [name for names in options.tables for name in names]
    compared = set(options.tables) & set(GROUPS["compare"])
    if options.compare and not compared:
        parser.error(f"--compare is for the tables {', '.join(GROUPS['compare'])}")
    if options.compare and options.write:
        parser.error("an older build is not for the page")
    if options.write and options.scale == "quick":
        parser.error("figures of --quick are not for the page")
    return options


def sizes(options):
    chosen = SCALES[options.scale]
    return Options(options.rounds or chosen.rounds, options.seconds or chosen.seconds,
                   chosen.scale, options.compare)


def say_how_long(names, options):
    if options.scale == "usual":
        seconds = sum(TABLES[name].seconds(options) for name in names)
        print(f"  {len(names)} tables, about {duration(seconds)}.", file=sys.stderr)


def measure(names, options, people):
    """({name: Result}, was it all of them), each printed as soon as it is there."""
    progress = Progress()
    about = machine.about()
    warn_of_company(about)
    say_how_long(names, options)
    results = {}
    try:
        for number, name in enumerate(names, 1):
            progress.begin_table(name, number, len(names))
            results[name] = TABLES[name].measure(options, progress, about)
            print(render.text(results[name]) + "\n", file=people, flush=True)
    except KeyboardInterrupt:
        print(f"  Interrupted in {name}; what was measured before stays.", file=sys.stderr)
    return results, len(results) == len(names)


def draw(results, folder):
    """Late, because only pictures need the drawing library."""
    from bench import plots  # pylint: disable=import-outside-toplevel
    return plots.draw(results, folder)


def write_json(results, where):
    if where == "-":
        sys.stdout.write(page.as_json(results))
    else:
        Path(where).write_text(page.as_json(results))


def warn_of_company(about):
    if "company" in about:
        print(f"  This machine is busy ({about['company']}).", file=sys.stderr)


def exit_code(results, scale):
    """1: a target was missed, or something could not be measured."""
    bad = [result.broken if scale == "quick" else result.failures for result in results]
    return 1 if any(bad) else 0


def redraw():
    results = page.load_results()
    if not results:
        print("There is no doc/plots/results.json yet: ./dev bench --write", file=sys.stderr)
        return 2
    write_pages(page.merged(results, {}, TABLES))
    return 0


def write_pages(results):
    page.write(results, draw)
    if set(capacity.NEEDED) <= set(results):
        capacity.write(results)


def heed_signals():
    """All that ask us to end go the way of Ctrl-C, so that no node is left behind."""
    def interrupt(*_):
        raise KeyboardInterrupt

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupt)


def main():
    if sys.argv[1:2] == ["capacity"]:
        return capacity.main(sys.argv[2:])
    options = parse_arguments()
    if options.list:
        for name, table in TABLES.items():
            print(f"{name:12} {table.title}")
        return 0
    if options.redraw:
        return redraw()
    heed_signals()
    become_reaper()
    sweep_abandoned()
    people = sys.stderr if options.json == "-" else sys.stdout
    results, is_complete = measure(options.tables or usual_tables(), sizes(options), people)
    print(render.summary(results.values()), file=people)
    if options.json:
        write_json(results, options.json)
    if options.write and results:
        write_pages(page.merged(page.load_results(), results, TABLES))
    return exit_code(results.values(), options.scale) if is_complete else INTERRUPTED


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
