"""doc/failover.md: what faults cost, row by row of the matrix.

Measurements are kept in doc/failover.json, so that rows may be measured one by one: a run with
--write replaces those that it has run, and makes the page anew.
"""

import json
import os
import time
from collections import Counter
from pathlib import Path

from drills.rounds import summary
from drills.rows.matrix import MATRIX
from drills.table import failed_of, seen_of

ROOT = Path(__file__).resolve().parents[2]
DATA, PAGE = ROOT / "doc/failover.json", ROOT / "doc/failover.md"
COUNTED_APART = ("EARLY", "RETURNED", "TWICE", "UNCONFIRMED", "DEPOSED", "UNASKED", "UNDELIVERED",
                 "STORM")
TIMES = ("active_ms", "served_ms", "stood_ms", "address_ms")

HEAD = """# What a fault costs

Made by `./dev drill --write`; do not edit. Each row of the matrix (itests/drills/README.md) is a
fault in a cluster under load, while producers push and consumers pop: three nodes, three ZooKeeper
servers, Redis and clients, each on a host of its own (network namespaces of one machine). Redis has
`appendfsync always`, where the row says nothing else; `everysec` in row 15. The session timeout T
is {session_ms} ms, in rows 30 and 31 4000 ms, ZooKeeper's tick {tick_ms} ms. All of it shares
{cpus} processors.

A round begins when every node has had its role for 0.6 T: a node that has just joined cannot lead
for the first 0.4 T, and three faults within that time cost as much.

Times are milliseconds from the moment before the fault: median / p99 / worst, p99 from 100 rounds
on.

- *leads*: another node is the leader, by its own journal; in brackets, in how many of the rounds,
  where it was not in all.
- *first job*: the first due job that the new leader moved is in a consumer's hands. Counted in rows
  12 and 13 from the moment at which Redis takes requests again, in row 14 from when the first
  Sentinel names the new master, in rows 15 and 16 from when the fault was healed. In row 24: all of
  the crowd have been served again.
- *stood*: how late the latest job was, of those that became due from the fault on until the first
  job was served, or until all was healed where no other node had to lead. Not counted is a job
  whose reply was on its way to a client of the node that died: it comes when its reservation runs
  out. In rows 27 to 31, of many topics, how late the latest job was *moved*, by Redis's clock and
  files: in rows 27 to 29 of all topics, until the nodes that are left have scanned each of them (in
  row 29 that lasts until a late one is taken); in rows 30 and 31 of the buckets concerned.
- *address*: when the new leader first answered over the virtual address (of IPv4 and IPv6, the
  later one). The client makes a new connection every 10 ms and knows nothing else. In row 22, where
  the leader stays, its own first answer after the fault.
- *failed*: such connections, from the fault until all was well, that were refused, reset, closed
  without an answer, silent for three seconds, or came about only because the client's kernel tried
  again. After a plus: those that the address crossed on its way, where the former leader had taken
  the connection and the next one had its request. What became of open connections is in the notes.
- *violations*: broken promises. The judge looks at the complete journals of clients and nodes
  (itests/judge/judge.py): nothing lost, invented, early, twice or again; never two leaders; no
  effect of a deposed one; not more changes than faults; a leader at the end; no node without a
  lease puts the address on its interface, or renews it for a worker that has died. The rows add
  checks of their own, below. The notes have the reason of each violation and each lateness; and, as
  "counted apart", how often the judge excused something, by its evidence.
- *lost*, in the notes: acknowledged pushes that the Redis which came back had forgotten, each
  within the time that the fault allows. That is two seconds with `everysec` (here on a disk whose
  syncs take a second, or there would be none), everything with no append-only file, what was cut
  off in row 13, a second with replicas that no push waits for. Elsewhere none is allowed. The nodes
  must have counted each. Jobs that came again because their ack, or their lease, was forgotten are
  counted apart.
- *late*: jobs more than a tick and a half later than the outage explains, or, as one, a p99 of more
  than 50 ms of those outside of outages. And rounds that took longer than their row promises: in
  rows 27 to 29 a topic, in rows 30 and 31 a topic of other buckets, that stood still for 50 ms
  longer than in the quiet second before; in rows 12 to 14 the first job a second after Redis was
  back; in row 10 a standstill in spite of failsafe. The machine's other work is in these times.

These are violations of a row's own checks:

| row | a violation is |
|---|---|
| any | a round whose fault could not be seen |
| 1 to 5, 22 | the address with another host than the leader; a neighbour that believes so; a new connection that another node answered |
| 1, 2, and 4 where the worker alone hangs | an open connection that was not told of its end; no job any more for clients of the address |
| 1, and 4 where the worker alone hangs | a new connection that was begun with nobody, and a second time after a second, though the next leader came in time; a host whose worker has died and which keeps the address for more than 250 ms (and 500 for news that come late), or accepts anybody meanwhile; a connection that somebody took and left in silence |
| 2 | a new connection that was begun a second time, though the next leader came before the dead host's kernel let the address go, and kept its lease |
| 3 | a new connection that failed, though the new leader was not late (the notes say how often it was; many such rounds, or many connections that crossed, are a violation) |
| 12 to 16 | a bucket without the leader's token; a move that the reconciler finds half done; a push refused that could have waited; an error that is not clear |
| 17 | a node that does not tell of Redis's clock |
| 23 | a loop that stalled for more than 10 ms and did not wait for a processor meanwhile |
| 27 to 29, and 30, 31 and 33 where all nodes scan | a job moved by a node that had not its topic's lock |
| 28 | more topics than a fair share, or others', that change their node |
| 32 | a request that failed, but for those that an orderly change of the leader crossed (the notes have their number); a connection that ended though nodes only read their settings again; a node that takes a client whom it should not, or not one whom it should |
| 33 | a job of beanstalkd's clients that is lost, early, or twice though nothing was under way; a job that was held and comes to others later than 15 s after the fault; a connection that ended in a switchover |

A row of the matrix that is not in the table below has not been measured for this page; nor has a
time that is `-` in all lines of a row.

"""

ELSEWHERE = """
## What the rows about Redis teach

- `SENTINEL FAILOVER` by hand loses writes. The old master works on until its Sentinel has seen that
  the new one is a master, which takes up to a second: what it takes meanwhile is lost.
  `store.min_replicas` prevents that only where it is the number of all replicas, because the others
  still follow the old master; after a kill or a freeze 1 is enough. Where it is the number of all
  replicas and one is away, each push waits for `store.replica_timeout`, and ends `unknown`.
- `store.min_replicas` does not keep a lease from being forgotten, because a pop waits for no
  replica: such a job comes a second time.
- On a full disk Redis with `appendfsync always` ends rather than answer; requests are held, and
  nothing is lost. With `everysec` it goes on, and refuses all that writes (`MISCONF`).
- A Redis without memory refuses pushes; all that leads a job towards its end goes on.

## Beside others

Not measured here: figures of the projects' own documentation or of earlier measurements elsewhere.

| | process of the leader killed | orderly change |
|---|---|---|
| dueq, rows 1 to 3 | {killed} | {orderly} |
| Patroni | 20 to 30 s | up to 5 s |
| Redis Sentinel, at its best setting | 2.2 s | |
| keepalived | 3.1 s, and the old node keeps the address | |
| mykit-delay | up to 60 s | |

## Not in the matrix here

Faults that need Docker (`docker kill`, `docker pause`): `./dev drill docker` has them. And loss of
power: a process that is killed leaves what it has written to the kernel, so `everysec` and `always`
differ less here than on a machine that is switched off.
"""


def save(results):
    """Replaces the rows that were run, and makes the page."""
    known = json.loads(DATA.read_text(encoding="utf-8")) if DATA.exists() else {}
    for result in results:
        if result.rounds:
            known[result.row.number] = measured(result)
    kept = {number: known[number] for number in MATRIX if number in known}
    DATA.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(page_of(kept), encoding="utf-8")


def measured(result):
    plan = result.row.plan(result.row.variants[0])
    broken = Counter(each.rule for each in result.verdict.violations)
    return {"fault": result.row.title, "note": _note_of(result), "date": time.strftime("%Y-%m-%d"),
            "session_ms": plan.session_ms, "tick_ms": plan.tick_ms, "cpus": os.cpu_count(),
            "load": round(os.getloadavg()[2], 1),
            "target_ms": result.row.target_ms,
            "stood_targets_ms": result.row.stood_targets_ms,
            "late": broken.pop("LATE", 0) + len(result.slow),
            "violations": broken.total() + len(result.complaints),
            "reasons": [*result.complaints, *result.slow,
                        *_reasons_of(result.row, result.verdict.violations)],
            "variants": {name: _times(rounds) for name, rounds in _by_variant(result).items()}}


def _reasons_of(row, violations):
    """How many of each rule, and the first of them."""
    by_rule = {}
    for each in violations:
        by_rule.setdefault(each.rule, []).append(f"{each.id}: {each.why}" if each.id else each.why)
    return [f"row {row.number}, {len(whys)} {rule}: {whys[0]}" for rule, whys in by_rule.items()]


def _note_of(result):
    texts = [result.row.note]
    for key, lost_ms in result.forgotten.items():
        rounds = sum(result.row.plan_key(each.variant) == key for each in result.rounds)
        texts.append(f"lost{f' with {key}' if key else ''}: {len(lost_ms)} in {rounds} rounds, "
                     f"{max(lost_ms):.0f} ms before the end at most")
    again = [f"{result.verdict.explained[rule]} {rule}" for rule in COUNTED_APART
             if result.verdict.explained[rule]]
    if result.verdict.explained["LOST"] and not result.forgotten:
        again.append(f"{result.verdict.explained['LOST']} LOST, without a TTR, on their way")
    if again:
        texts.append(f"counted apart: {' and '.join(again)}")
    return "; ".join(filter(None, texts))


def _by_variant(result):
    """{name: rounds}; all as one where a row makes up its variants as it goes."""
    found = {}
    for each in result.rounds:
        name = each.variant if each.variant in result.row.variants else ""
        found.setdefault(name, []).append(each)
    return found


def _times(rounds):
    values = {name: [getattr(each, name) for each in rounds if getattr(each, name) is not None]
              for name in TIMES}
    return {"rounds": len(rounds), "changes": len(values["active_ms"]),
            **{name: summary(each) for name, each in values.items()}, **_seen(rounds)}


def _seen(rounds):
    """By the client of the virtual address; nothing where there was none."""
    sights = [each.sight for each in rounds if each.sight]
    if not sights:
        return {}
    return {"failed": failed_of(sights), "connections": seen_of(sights),
            "gap_ms": summary([each.gap_ms for each in sights])}


# ---- the page ----

def page_of(rows):
    plan = next(iter(rows.values()))
    lines = ["| # | fault | rounds | leads | first job | stood | address | failed | violations | "
             "late |", "|---|---|---|---|---|---|---|---|---|---|"]
    for number, row in rows.items():
        lines += _lines_of(number, row)
    dates = sorted({row["date"] for row in rows.values()})
    total = sum(times["rounds"] for row in rows.values() for times in row["variants"].values())
    loads = [row["load"] for row in rows.values() if row.get("load") is not None]
    lines += ["", f"{total} rounds, measured {' to '.join(sorted({dates[0], dates[-1]}))}. The "
              f"machine's load in the quarter of an hour before the end: {_range(loads)}; where that "
              "is more than its processors, others were at work on it, and their waits are in the "
              "times.",
              *_verdicts(rows), *_notes(rows)]
    return HEAD.format(**plan) + "\n".join(lines) + "\n" + ELSEWHERE.format(
        killed=_span(rows, ("1", "2")), orderly=_span(rows, ("3",)))


def _notes(rows):
    yield from (f"- Row {number}: {row['note']}." for number, row in rows.items()
                if row.get("note"))
    yield from (f"- Violated or late, {text}." for row in rows.values()
                for text in row.get("reasons", ()))
    for number, row in rows.items():
        for variant, times in row["variants"].items():
            seen = times.get("connections")
            if seen and any(seen.values()):
                kinds = "; ".join(f"{name} {', '.join(f'{n} {kind}' for kind, n in each.items())}"
                                  for name, each in seen.items() if each)
                name = f"Row {number} {variant}".strip()
                yield f"- {name}, connections over the address: {kinds}."


def _range(values):
    return " to ".join(str(each) for each in sorted({min(values), max(values)}))


def _lines_of(number, row):
    for name, times in row["variants"].items():
        cells = [_cell(times.get(each)) for each in TIMES]
        if 0 < times.get("changes", 0) < times["rounds"]:
            cells[0] += f" (in {times['changes']})"
        what = ": ".join(filter(None, (row["fault"], name)))
        yield (f"| {number} | {what} | {times['rounds']} | "
               + " | ".join(cells) + f" | {times.get('failed', '-')} | {row['violations']} | "
               f"{row['late']} |")
        number, row = "", {"fault": "", "violations": "", "late": ""}


def _cell(values):
    if not values:
        return "-"
    median, p99, worst = values
    return " / ".join("-" if each is None else f"{each:.0f}" for each in (median, p99, worst))


def _span(rows, numbers):
    cells = [times["served_ms"] for number in numbers if number in rows
             for times in rows[number]["variants"].values() if times["served_ms"]]
    if not cells:
        return "not measured"
    return (f"{min(each[0] for each in cells):.0f} to {max(each[0] for each in cells):.0f} ms in "
            f"the median, {max(each[2] for each in cells):.0f} ms at worst")


def _verdicts(rows):
    """What the targets say: of each row that has one."""
    goals = {number: [("first job", "served_ms")] for number in ("12", "13", "14")}
    goals["3"] = [("due jobs stand still", "stood_ms")]
    for number in ("1", "2"):
        goals[number] = [("first answer over the address", "address_ms"),
                         ("first job", "served_ms")]
    yield ""
    for number, row in rows.items():
        for variant, target in row.get("stood_targets_ms", {}).items():
            found = row["variants"].get(variant, {}).get("stood_ms")
            if found and target:
                yield _verdict(f"Row {number} {variant}", target, "a topic stands still", found)
    for number in filter(goals.get, rows):
        for variant, times in rows[number]["variants"].items():
            for what, name in goals[number]:
                if times.get(name):
                    yield _verdict(f"Row {number} {variant}", rows[number]["target_ms"], what,
                                   times[name])
            if number == "3" and "failed" in times:
                word = "met" if times["failed"].partition("+")[0] == "0" else "missed"
                yield (f"- Row 3 {variant}: target 0 new connections that fail over the address; "
                       f"{times['failed']}: {word}.")


def _verdict(name, target, what, times):
    median, p99, worst = times
    reached = p99 if p99 is not None else worst
    word = "met" if reached <= target else f"missed by {reached - target:.0f} ms"
    return (f"- {name.strip()}: target {target:.0f} ms p99 ({what}); median {median:.0f}, "
            f"{'p99' if p99 is not None else 'worst'} {reached:.0f}: {word}.")
