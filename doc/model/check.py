#!/usr/bin/python3
"""Checks the models of this folder with spin, and that it finds what it must find.

Each line of CHECKS is one run over all states of a model: `holds`, or the assertion that a
planted mistake must violate. A run that ends any other way is a surprise: a violation, none
where there must be one, another one, a search cut short, an error of a tool. Exits 1 then.

`./dev model NAME...` runs only those; `--show` prints the steps of a counterexample, the
shortest there is; `--markdown` prints the table as README.md has it.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
from typing import NamedTuple

HERE = pathlib.Path(__file__).resolve().parent
BUILD = HERE.parent.parent / "build" / "model"
DEPTH = 2_000_000
MEMORY_MB = 3000

HOLDS = None


class Check(NamedTuple):
    name: str
    model: str
    defines: str
    violates: str  # part of the assertion that must fail; HOLDS: none may
    what: str


# The assertions, as spin words them.
LEASE = "!((expired&&(lease>0)))"  # lease.pml: no lease when another may have one
LEADER = "!(lease["                # lead.pml: never two leaders
EFFECT = ">=scanned["              # lead.pml: no effect of a deposed leader
ACT = "!(((leads[0]&&"             # failsafe.pml: never two that act
AGAIN = "((((role[0]=="            # handover.pml: one leads again
GIVEN = "!(((((role[0]=="           # handover.pml: the same

CHECKS = [
    # lease.pml; KINDS 7 is faults of a follower and of links, 8 ZooKeeper's leader is frozen
    Check("lease", "lease.pml", "FORMULA=5 ANY_FAULTS", HOLDS,
          "never two valid leases, any number of faults of followers and links"),
    Check("lease-frozen-leader", "lease.pml", "FORMULA=5 FAULTS=1 KINDS=8", HOLDS,
          "nor when ZooKeeper's leader is frozen once"),
    Check("lease-happens", "lease.pml", "FORMULA=5 FAULTS=0 COVER", "(lease==0)",
          "the model does get leases"),
    Check("lease-ping-only", "lease.pml", "FORMULA=1 FAULTS=0", LEASE,
          "an answered ping makes the lease"),
    Check("lease-write-only", "lease.pml", "FORMULA=2 FAULTS=0", LEASE,
          "an acknowledged write alone makes the lease"),
    Check("lease-sent", "lease.pml", "FORMULA=3 FAULTS=0", LEASE,
          "u was only sent T/4 before w; no fault at all"),
    Check("lease-acked-no-fault", "lease.pml", "FORMULA=4 FAULTS=0", HOLDS,
          "u was acknowledged T/4 before w: enough without faults"),
    Check("lease-acked", "lease.pml", "FORMULA=4 FAULTS=1 KINDS=7", LEASE,
          "and not enough with one"),
    Check("lease-two-ticks", "lease.pml", "FORMULA=5 ANY_FAULTS PING_EVERY=3", LEASE,
          "T is two ticks, so that a ping round takes the whole T/4"),
    Check("lease-long", "lease.pml", "FORMULA=5 FAULTS=0 TOUCH_PART=13", LEASE,
          "the lease ends T/12 later than T after u"),
    Check("lease-limit", "lease.pml", "FORMULA=5 FAULTS=2 KINDS=8", LEASE,
          "the limit: ZooKeeper's leader is frozen twice, thawed for just the two writes"),

    # lead.pml
    Check("lead", "lead.pml", "FAULTS=2", HOLDS,
          "never two leaders, no effect of a deposed one, a leader again: two faults of any kind"),
    Check("lead-roles", "lead.pml", "FAULTS=3 ROLES_ONLY", HOLDS,
          "the same without Redis: three faults of any kind"),
    Check("lead-sooner", "lead.pml", "FAULTS=1 PATIENCE=1", "(without_leader<=1)",
          "a leader again sooner than the session times out"),
    Check("lead-peer-eof", "lead.pml", "FAULTS=1 KINDS=32 PEER_EOF", LEADER,
          "end of file on the peer link is taken for death"),
    Check("lead-warden-early", "lead.pml", "FAULTS=1 KINDS=1 WARDEN_EARLY", LEADER,
          "the warden closes the session before it has killed the worker"),
    Check("lead-by-name", "lead.pml", "FAULTS=2 BY_NAME", LEADER,
          "the owner of the leader znode is known by name, not by session"),
    Check("lead-no-fence", "lead.pml", "FAULTS=1 NO_FENCE", EFFECT, "Redis takes any token"),
    Check("lead-no-assert", "lead.pml", "FAULTS=1 NO_ASSERT", EFFECT,
          "a new leader scans a bucket that has not taken its token"),

    # failsafe.pml
    Check("failsafe", "failsafe.pml", "", HOLDS,
          "never two that act, and one again: any number of faults"),
    Check("failsafe-forgets", "failsafe.pml", "FORGETS", ACT,
          "a member restarts and forgets its promise"),
    Check("failsafe-late-election", "failsafe.pml", "LATE_ELECTION", ACT,
          "an election that succeeds after the promise is acted on"),
    Check("failsafe-leader-confirms", "failsafe.pml", "LEADER_CONFIRMS", ACT,
          "a leader in failsafe confirms another leader"),
    Check("failsafe-count-late", "failsafe.pml", "COUNT_LATE", ACT,
          "a new member is asked only once its adding is acknowledged"),
    Check("failsafe-add-keeps", "failsafe.pml", "ADD_KEEPS", ACT,
          "a leader adds a member and keeps what the others had confirmed"),
    Check("failsafe-add-unchecked", "failsafe.pml", "ADD_UNCHECKED", ACT,
          "the adding of a member does not check the epoch"),
    Check("failsafe-from-receipt", "failsafe.pml", "FROM_RECEIPT", ACT,
          "the leader counts the promise from its receipt of the answer"),

    # handover.pml
    Check("handover", "handover.pml", "", HOLDS,
          "never two that act, and one again: connections lost at any moment, requests withdrawn"),
    Check("handover-for-ever", "handover.pml", "FOR_EVER", AGAIN,
          "no beat clears the doubt: nobody leads again"),
    Check("handover-lost-not-done", "handover.pml", "LOST_IS_NOT_DONE", GIVEN,
          "a give-away whose answer is lost is taken for not done"),
    Check("handover-any-beat", "handover.pml", "ANY_BEAT", GIVEN,
          "a beat that was sent before the give-away clears the doubt, too"),
    Check("handover-untied", "handover.pml", "UNTIED", GIVEN,
          "a beat finds any leader znode, of whatever epoch"),
    Check("handover-unchecked", "handover.pml", "GIVE_UNCHECKED", GIVEN,
          "a give-away deletes any leader znode, of whatever epoch"),
    Check("handover-overtaken", "handover.pml", "OVERTAKEN", GIVEN,
          "a give-away of a lost connection is done after a beat of the next one"),
]


class Result(NamedTuple):
    found: str  # the assertion that failed, or HOLDS
    states: int
    seconds: float
    surprise: str


def run(command, folder, log):
    """The exit code, and the processor's seconds: a busy machine does not change them."""
    with open(log, "a", encoding="utf-8") as out:
        out.write(f"$ {' '.join(command)}\n")
        out.flush()
        child = subprocess.Popen(command, cwd=folder, stdout=out, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    return child.returncode, usage.ru_utime + usage.ru_stime


def build(check, folder, log, shortest):
    """The verifier of the model, made by spin and cc; a text when that fails."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    defines = [f"-D{word}" for word in check.defines.split()]
    if run(["spin", *defines, "-a", str(HERE / check.model)], folder, log)[0]:
        return "spin refuses the model"
    # A search in breadth finds the shortest counterexample first; one in depth finds any sooner
    # when it tries the last process first, because the models start faults and time last.
    search = ["-DBFS"] if shortest else [] if check.violates is HOLDS else ["-DREVERSE"]
    effort = "-O2" if check.violates is HOLDS else "-O0"  # the others are found soon
    # All steps touch what others see, so no order of them can be left out: it need not try.
    options = [effort, "-w", "-DSAFETY", "-DNOREDUCE", "-DNOCOMP", f"-DMEMLIM={MEMORY_MB}", *search]
    if run(["cc", *options, "-o", "pan", "pan.c"], folder, log)[0]:
        return "the verifier does not compile"
    return None


def judge(check, output):
    """What the verifier found, and what is surprising about it."""
    states = re.search(r"^ *(\d+) states, stored", output, re.M)
    count = int(states[1]) if states else 0
    failed = re.search(r"^pan:\d+: (.*?) \(at depth", output, re.M)
    found = failed[1] if failed else HOLDS
    if not states:
        return found, count, "no result"
    if found is HOLDS and re.search("search depth too small|Search not completed", output):
        return found, count, "the search was cut short"
    if found is HOLDS and not re.search(r"errors: 0$", output, re.M):
        return found, count, "an error that has no name"
    if check.violates is HOLDS and found is not HOLDS:
        return found, count, found
    if check.violates is not HOLDS and found is HOLDS:
        return found, count, "the planted mistake was not found"
    if check.violates is not HOLDS and check.violates not in found:
        return found, count, f"another one was found: {found}"
    return found, count, None


def examine(check, shortest):
    folder = BUILD / check.name
    log = BUILD / f"{check.name}.log"
    BUILD.mkdir(parents=True, exist_ok=True)
    log.write_text("")
    trouble = build(check, folder, log, shortest)
    if trouble:
        return Result(HOLDS, 0, 0, f"{trouble}; see {log}")
    _, seconds = run(["./pan", f"-m{DEPTH}"], folder, log)
    found, states, surprise = judge(check, log.read_text())
    return Result(found, states, seconds, surprise)


def show(check):
    """The steps to the assertion that failed, as spin prints them."""
    defines = [f"-D{word}" for word in check.defines.split()]
    folder = BUILD / check.name
    shutil.copy(folder / f"{check.model}.trail", folder / "trail")
    subprocess.run(["spin", *defines, "-k", "trail", "-t", "-p", "-g", str(HERE / check.model)],
                   cwd=folder, check=False)


def line(check, result):
    verdict = "holds" if result.found is HOLDS else "violated, as it must be"
    if result.surprise:
        verdict = f"SURPRISE: {result.surprise}"
    return f"  {check.name:26} {result.states:>10,} states {result.seconds:6.1f} s  {verdict}"


def markdown(results):
    print("| check | model | what | states | seconds | result |\n|---|---|---|---|---|---|")
    for check, result in results:
        verdict = "holds" if result.found is HOLDS else "violated"
        print(f"| `{check.name}` | {check.model} | {check.what} | {result.states:,} "
              f"| {result.seconds:.1f} | {verdict} |")


def main():
    parser = argparse.ArgumentParser(prog="./dev model", description=__doc__.splitlines()[0])
    parser.add_argument("name", nargs="*", help="only these checks (see --list)")
    parser.add_argument("--list", action="store_true", help="the checks, and what each says")
    parser.add_argument("--show", action="store_true", help="print the counterexamples")
    parser.add_argument("--markdown", action="store_true", help="print the table for README.md")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count(), help="side by side")
    args = parser.parse_args()

    unknown = set(args.name) - {check.name for check in CHECKS}
    if unknown:
        parser.error(f"there is no check {', '.join(sorted(unknown))}; see --list")
    chosen = [check for check in CHECKS if not args.name or check.name in args.name]
    if args.list:
        for check in chosen:
            print(f"  {check.name:26} {check.what}")
        return 0

    results = {}
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        begun = {pool.submit(examine, check, args.show): check for check in chosen}
        for future in concurrent.futures.as_completed(begun):
            check = begun[future]
            results[check] = future.result()
            print(line(check, results[check]), flush=True)
    results = [(check, results[check]) for check in chosen]
    if args.show:
        for check, result in results:
            if result.found is not HOLDS:
                print(f"\n---- {check.name}: {check.what}")
                show(check)
    if args.markdown:
        markdown(results)

    surprises = sum(1 for _, result in results if result.surprise)
    found = sum(1 for _, result in results if result.found is not HOLDS)
    print(f"{len(results)} checks: {len(results) - found} hold, {found} violated, "
          f"{surprises} surprises")
    return 1 if surprises else 0


if __name__ == "__main__":
    sys.exit(main())
