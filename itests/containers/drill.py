#!/usr/bin/python3
"""./dev drill docker: the faults of containers, on docker-compose.yml in an engine of its own.

    ./dev drill docker                         each fault once
    ./dev drill docker kill pause --rounds 20
    ./dev drill docker --seed 17

The images are built from the work tree, in a minute or two; the cluster is brought up once for
all rounds. Times are in ms from the moment before the fault (kill: when the process was gone; stop
and upgrade: when it was told to go) to the next leader, to the first due job that it moved, and to
its first answer over the virtual address, to a connection made anew; median, p99 (from 100 rounds
on) and worst. `failed` are new connections over the address. After any violation it ends with 1,
and the journals stay. Needs root, and Debian's docker.io, docker-compose, mmdebstrap and
slirp4netns; nothing of the machine's own network, and no engine that runs already, is touched.
"""

import argparse
import os
import random
import shutil
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

ROOT = Path(__file__).resolve().parents[2]
if __name__ == "__main__":
    sys.path[0] = str(ROOT / "itests")  # not this folder
os.environ.setdefault("DUEQ_BUILD", "build/release")

# pylint: disable=wrong-import-position
from containers.images import make_images, make_next_image
from containers.row import Containers
from drills.drill import OUTSIDE_P99_MS, be_in_charge
from drills.rounds import TICK_MS, Result, run_row
from drills.table import table_of
from harness.engine import Engine, NoEngine
from judge.lateness import Limits


def main():
    options = parse()
    be_in_charge()
    directory = Path(tempfile.mkdtemp(prefix="dueq-docker-"))
    try:
        with Engine(directory / "engine") as engine:
            result = run(engine, directory, options)
    except NoEngine as error:
        shutil.rmtree(directory)
        sys.exit(f"no Docker engine can be started here: {error}")
    except KeyboardInterrupt:
        shutil.rmtree(directory)
        sys.exit("interrupted")
    except BaseException:
        if not list(directory.glob("drill/*/journal")):
            shutil.rmtree(directory, ignore_errors=True)  # nothing in it is worth reading
        raise
    print("\n".join(["", *table_of(by_variant(result))]))
    for line in result.failures:
        print(line)
    if result.failures:
        sys.exit(f"journals: {directory}; the same again: --seed {options.seed}")
    shutil.rmtree(directory)


def parse():
    parser = argparse.ArgumentParser(prog="./dev drill docker", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("faults", nargs="*", metavar="FAULT",
                        help=f"of {', '.join(map(repr, Containers.variants))}; without any: all")
    parser.add_argument("--rounds", type=int, default=1, metavar="N", help="of each fault")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    options = parser.parse_args()
    unknown = [fault for fault in options.faults if fault not in Containers.variants]
    if unknown:
        parser.error(f"no fault {unknown[0]!r}; there are {', '.join(Containers.variants)}")
    if options.rounds < 1:
        parser.error("--rounds: one at least")
    return options


def run(engine, directory, options):
    print(f"Docker {engine.version()}, seed {options.seed}, files in {directory}", flush=True)
    base_s, images_s = make_images(engine, directory)
    make_next_image(engine, directory)
    print(f"base image in {base_s:.0f} s, the others in {images_s:.0f} s", flush=True)
    row, faults = Containers(engine), tuple(options.faults) or Containers.variants
    return run_row(row, directory / "drill", options.seed, options.rounds * len(faults), faults,
                   report=lambda text: print(text, flush=True),
                   limits=Limits(TICK_MS, OUTSIDE_P99_MS))


def by_variant(result):
    """A result for each fault, for the table. What is judged is judged over all of them."""
    found = []
    for variant in dict.fromkeys(each.variant for each in result.rounds):
        row = SimpleNamespace(number="-", title=variant, note="", variants=(variant,),
                              plan=result.row.plan)
        found.append(Result(row, [each for each in result.rounds if each.variant == variant],
                            outside_ms=result.outside_ms))
    return found


if __name__ == "__main__":
    main()
