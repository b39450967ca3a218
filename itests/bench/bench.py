#!/usr/bin/python3
"""./dev bench: measures a node of build/release, says what the targets are and which are met.

    ./dev bench                      all tables but the long one (about six minutes)
    ./dev bench throughput memory    some tables
    ./dev bench --quick              one short round of each, to see that it works
    ./dev bench --write              and put the figures into doc/benchmarks.md
    ./dev bench --json -             for programs

Each table gets a node of its own, on a Redis of its own with `appendfsync always`, in
build/bench. The machine should do nothing else meanwhile.
"""

import argparse
import json
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "itests"))
os.environ.setdefault("DUEQ_BUILD", "build/release")

# pylint: disable=wrong-import-position
from bench import render
from bench.measure import Bench
from bench.tables import SETTINGS, TABLES

LONG = ("depth",)
BEGIN, END = "<!-- figures begin -->\n", "<!-- figures end -->\n"
PAGE = ROOT / "doc" / "benchmarks.md"


def table_name(word):
    if word not in TABLES:
        raise argparse.ArgumentTypeError(f"no table '{word}'; there are {', '.join(TABLES)}")
    return word


def parse_arguments():
    parser = argparse.ArgumentParser(prog="./dev bench", description=__doc__.split("\n")[0],
                                     epilog="Tables: " + "; ".join(
                                         f"{name}: {table.__doc__}"
                                         for name, table in TABLES.items()))
    parser.add_argument("tables", nargs="*", metavar="TABLE", type=table_name,
                        help=", ".join(TABLES))
    parser.add_argument("--rounds", type=int, default=3, help="the median of so many (3)")
    parser.add_argument("--seconds", type=int, default=3, help="of one run (3)")
    parser.add_argument("--deep-jobs", type=int, default=10_000_000,
                        help="depth: length of the long topic (10 million)")
    parser.add_argument("--quick", action="store_true", help="one round of one second")
    parser.add_argument("--write", action="store_true", help=f"into {PAGE.relative_to(ROOT)}")
    parser.add_argument("--json", metavar="FILE", help="figures as JSON; - for standard output")
    options = parser.parse_args()
    if options.quick:
        options.rounds = options.seconds = 1
        options.deep_jobs = min(options.deep_jobs, 100_000)
    return options


def measure(name, options):
    def say(message):
        print(f"  {name}: {message}", file=sys.stderr, flush=True)

    say(TABLES[name].__doc__)
    with Bench(say, SETTINGS.get(name)) as bench:
        return list(TABLES[name](bench, options))


def write_page(results, about):
    """Puts the figures between the page's two marks; the words around them stay."""
    facts = "\n".join(f"- {name}: {value}" for name, value in about.items())
    tables = "\n\n".join(render.markdown(f"{name}: {TABLES[name].__doc__}", rows)
                         for name, rows in results.items())
    before, _, rest = PAGE.read_text().partition(BEGIN)
    after = rest.partition(END)[2]
    PAGE.write_text(f"{before}{BEGIN}\n{facts}\n\n{tables}\n\n{END}{after}")


def main():
    options = parse_arguments()
    names = options.tables or [name for name in TABLES if name not in LONG]
    about = render.machine()
    people = sys.stderr if options.json == "-" else sys.stdout
    results = {}
    for name in names:
        results[name] = measure(name, options)
        print(render.text(f"{name}: {TABLES[name].__doc__}", results[name]) + "\n", file=people,
              flush=True)
    if options.json:
        answer = json.dumps(render.as_json(results, about), indent=1)
        if options.json == "-":
            print(answer)
        else:
            Path(options.json).write_text(answer + "\n")
    if options.write:
        write_page(results, about)


if __name__ == "__main__":
    main()
