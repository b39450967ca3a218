#!/usr/bin/python3
"""./dev drill model: random sequences of all operations against nodes of build/release that share a
Redis, and the model of what a job goes through, for as long as one likes.

    ./dev drill model                        for five minutes
    ./dev drill model --seconds 3600
    ./dev drill model --nodes 3              not two nodes on one Redis, but three
    ./dev drill model --seed 17 --seconds 0  one batch, that of this seed

A seed gives the same sequences again; the times are never the same, so what depends on them may
need several runs. The first failure ends it: the last operations of the sequence that failed
are shown, and below them its shortest form that hypothesis could find.
"""

import argparse
import os
import random
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
if __name__ == "__main__":
    sys.path[0] = str(ROOT / "itests")  # not this folder: `model` is the package
os.environ.setdefault("DUEQ_BUILD", "build/release")

# pylint: disable=wrong-import-position
from harness.process import become_reaper
from model.nodes import Doors, house
from model.runs import run_for


LOG_LINES_SHOWN = 20


def main():
    parser = argparse.ArgumentParser(prog="./dev drill model", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--nodes", type=int, default=2)
    options = parser.parse_args()
    become_reaper()
    with tempfile.TemporaryDirectory() as directory, house(directory, options.nodes) as nodes:
        with Doors(nodes) as doors:
            result = run_for(doors, options.seconds, options.seed, shrinks=True, on_batch=report)
        if result.failure:
            for node in nodes:
                print("\n".join(["", *node.output().splitlines()[-LOG_LINES_SHOWN:]]))
    if result.failure:
        print(f"\n{result.failure}")
        sys.exit(1)
    print(f"{result}, all as the model says.")


def report(seed, result):
    print(f"  seed {seed:<12} {result.operations:>9} operations", flush=True)


if __name__ == "__main__":
    main()
