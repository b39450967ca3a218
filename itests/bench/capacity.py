"""./dev bench capacity: what N nodes and M Redis masters carry, from what was measured.

    ./dev bench capacity            prints the tables
    ./dev bench capacity --write    and puts them into doc/capacity.md

Nothing is measured here: everything comes from doc/plots/results.json, where ./dev bench scale
--write has put it. The model is a division. An operation takes so much of a processor at a node,
and so much at a Redis; a node has one processor, and so has a master, of which it gets to use a
part that was measured, too, since it waits for its disk. Whoever runs out first bounds the rate.

What this cannot know stands in doc/capacity.md beside the tables.
"""

import argparse
import math
import sys
from dataclasses import dataclass

from bench import page, render
from bench.result import Result
from harness.build import ROOT
from harness.redis_cluster import BUCKETS, SLOTS, slot_of

PAGE = ROOT / "doc" / "capacity.md"
NEEDED = ("nodes", "operations", "hot", "idle_topics", "reload", "memory", "depth")
BUCKETS_MAX = 128
PHASES = {"push": "push", "due": "due", "hand": "pop+ack"}
LIFE = tuple(PHASES)
PLAN = 0.5  # of what is possible: how much to plan with

MACHINE_BYTES = 64e9  # of a master's machine
MAXMEMORY_SHARE = 0.5  # the other half: what a fork copies at worst, buffers
DATA_SHARE = 0.6  # of maxmemory, as doc/operations/capacity.md has it
LINK_BITS = 10e9  # a second, of a network card


# ---- what was measured ----

@dataclass
class Costs:
    """Of one job in each phase; `share` is the most of a processor that Redis has used while it
    was what bounded the phase. microseconds, bytes."""

    node_us: dict
    redis_us: dict
    loader_us: dict
    share: dict
    client_bytes: dict
    redis_bytes: dict
    file_bytes: dict

    @classmethod
    def of(cls, cell, phases=LIFE):
        """From a cell of the table operations; phases it has not are left out."""
        def column(name):
            return {phase: cell[f"{phase}.{name}"] for phase in phases
                    if f"{phase}.{name}" in cell}

        return cls(column("node_us"), column("redis_us"), column("loader_us"),
                   column("busiest_redis"), column("client_bytes"), column("redis_bytes"),
                   column("file_bytes"))

    def sum(self, name, phases=LIFE):
        return sum(getattr(self, name).get(phase, 0) for phase in phases)


# ---- the model ----

def heaviest(masters, buckets=BUCKETS, by_hand=False):
    """How much of all the buckets the master with the most of them has: 1 / masters at best.
    Slots in equal parts, as redis-cli --cluster create deals them; by_hand: buckets in equal
    parts."""
    if by_hand:
        return math.ceil(buckets / masters) / buckets
    counts = [0] * masters
    for bucket in range(buckets):
        counts[min(slot_of(bucket) * masters // SLOTS, masters - 1)] += 1
    return max(counts) / buckets


def limits(costs, phase, nodes, masters, processors=None):
    """{what runs out: jobs a second}; `processors` of a machine that all of it is on."""
    found = {
        "nodes": nodes * 1e6 / costs.node_us[phase],
        "Redis": costs.share[phase] * 1e6 / costs.redis_us[phase] / heaviest(masters),
    }
    if processors:
        found["this machine"] = processors * 1e6 / (
            costs.node_us[phase] + costs.redis_us[phase] + costs.loader_us[phase])
    return found


def bound(found):
    """(jobs a second, what runs out first)"""
    what = min(found, key=found.get)
    return found[what], what


# ---- tables ----

def processors_of(result):
    """"2 x Intel" is two."""
    return int(result.about["cpu"].split()[0])


def check(results):
    """The model against the table nodes: its costs are from another table, of one node and one
    Redis, so only the first column is near to what was put in."""
    cells = [cell for cell in results["nodes"].series["cells"] if "push.per_second" in cell]
    costs = Costs.of(results["operations"].series["cells"][0])
    processors = processors_of(results["nodes"])
    table = Result("check", "what the model says beside what was measured, jobs/s",
                   [f"{cell['nodes']} x {cell['masters']}" for cell in cells])
    for phase, label in PHASES.items():
        said = [bound(limits(costs, phase, cell["nodes"], cell["masters"], processors))
                for cell in cells]
        seen = [cell[f"{phase}.per_second"] for cell in cells]
        table.add(f"{label}: by the model", [rate for rate, _ in said], "/s",
                  note="bounded by " + ", ".join(dict.fromkeys(what for _, what in said)))
        table.add(f"{label}: measured", seen, "/s")
        table.add("... the model is off by",
                  [100 * (rate / real - 1) for (rate, _), real in zip(said, seen)], "%")
    table.notes.append(f"columns are nodes x Redis masters, all on {processors} processors")
    return table


def each(results):
    """What one of each carries."""
    cells = results["operations"].series["cells"]
    table = Result("each", "what one processor of a node, and one Redis, carry",
                   [f"{cell['size']} a request" for cell in cells])
    sizes = [cell["size"] for cell in cells]
    for phase, label in (*PHASES.items(), ("push_now", "push, ready at once")):
        by_size = [Costs.of(cell, (phase,)) for cell in cells]
        table.add(f"{label}: a node", [_per_second(costs.node_us.get(phase)) for costs in by_size],
                  "/s")
        table.add(f"{label}: a Redis", [
            _per_second(costs.redis_us.get(phase), costs.share.get(phase, 1) if size == 1 else 1)
            for size, costs in zip(sizes, by_size)], "/s")
    table.notes.append("everything a processor has; plan with a half. A Redis waits for its disk "
                       "too: that is in the figure where one job is in a request. Batches came over "
                       "one connection, so each had its sync of the file for itself, which many "
                       "connections share: the figures for few jobs in a request are too low")
    return table


def _per_second(us, share=1.0):
    return share * 1e6 / us if us else None


def stored(results):
    """Delayed jobs: memory, masters, and how long one of these is away."""
    bodies = results["memory"].series["bodies"]
    delayed = next(row for row in results["memory"].rows if row.what.startswith("delayed"))
    job_bytes = dict(zip(bodies, delayed.values))
    reload_ = results["reload"].series["cells"][-1]
    counts = (10 ** 6, 10 ** 7, 10 ** 8, 10 ** 9)
    table = Result("stored", "delayed jobs, and the masters they take",
                   [f"{count / 1e6:,.0f} million" for count in counts])
    for body in (100, 1000):
        sizes = [count * job_bytes[body] for count in counts]
        table.add(f"bodies of {body:,} bytes: memory", [size / 1e9 for size in sizes], "GB")
        needed = [masters_for(size) for size in sizes]
        table.add("... masters with 64 GB, buckets dealt by hand", [count for count, _ in needed],
                  "masters")
        fullest = [size * share for size, (_, share) in zip(sizes, needed)]
        table.add("... data of the fullest", [size / 1e9 for size in fullest], "GB")
        rate = reload_["memory"] / reload_["load_s"]
        table.add("... reads its file at a start in", [size / rate for size in fullest], "s")
        table.add("... forks in", [size / reload_["memory"] * reload_["fork_ms"]
                                   for size in fullest], "ms")
        table.add("... sent to a new replica in, at the least",
                  [size * 8 / LINK_BITS for size in fullest], "s")
    table.notes.append(
        f"of a master's memory {MAXMEMORY_SHARE:.0%} is maxmemory, and of that {DATA_SHARE:.0%} "
        "jobs: room for what a rewrite copies. Times from a Redis of "
        f"{reload_['memory'] / 1e9:.2f} GB by its size: that is far")
    return table


def masters_for(size):
    """(masters, the share of the fullest) that hold so many bytes, buckets dealt by hand."""
    return _fewest_masters(size / (MACHINE_BYTES * MAXMEMORY_SHARE * DATA_SHARE))


def _fewest_masters(load):
    """The same for what fills so many of them; None: more than there can be."""
    for masters in range(1, BUCKETS_MAX + 1):
        share = heaviest(masters, BUCKETS if masters <= BUCKETS else BUCKETS_MAX, by_hand=True)
        if load * share <= 1:
            return masters, share
    return None, share


def depth(results):
    """What a push costs in a topic of so many: a line through the measured, by the logarithm."""
    lengths, costs = (results["depth"].series[name] for name in ("lengths", "costs_us"))
    counts = (10 ** 6, 10 ** 7, 10 ** 8, 10 ** 9)
    slope, first = _line([math.log2(n) for n in lengths], costs)
    table = Result("depth", "a push into one topic that is so long",
                   [f"{count / 1e6:,.0f} million" for count in counts])
    known = dict(zip(lengths, costs))
    table.add("measured, against 10,000 jobs",
              [known[n] / costs[0] if n in known else None for n in counts], "times")
    table.add("by the line", [(first + slope * math.log2(n)) / costs[0] for n in counts], "times")
    return table


def _line(xs, ys):
    """(slope, value at 0) with the least squares."""
    mean_x, mean_y = sum(xs) / len(xs), sum(ys) / len(ys)
    slope = (sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys))
             / sum((x - mean_x) ** 2 for x in xs))
    return slope, mean_y - slope * mean_x


def rates(results):
    """Whole lives a second, delayed, handed over and acknowledged: what that takes."""
    cells = results["operations"].series["cells"]
    wanted = (10_000, 100_000, 1_000_000)
    table = Result("rates", "jobs pushed, fallen due, handed over and acknowledged, each second",
                   [f"{rate:,}/s" for rate in wanted])
    for label, cell in _lives(results):
        costs = _whole(cell, cells[0])
        table.add(f"{label}: nodes", [nodes_for(costs, rate) for rate in wanted], "nodes")
        masters = [masters_at(costs, rate) for rate in wanted]
        table.add("... masters, were there a bucket for each",
                  [_rounded_up(rate * redis_busy_us(costs)) for rate in wanted], "masters")
        table.add("... masters, 64 or 128 buckets dealt by hand", masters, "masters",
                  note="-: not with 128 buckets" if None in masters else "")
        table.add("... between clients and nodes",
                  [rate * costs.sum("client_bytes") * 8e-9 for rate in wanted], "Gbit/s")
        table.add("... between nodes and masters",
                  [rate * costs.sum("redis_bytes") * 8e-9 for rate in wanted], "Gbit/s")
        table.add("... to the replicas, one a master",
                  [rate * costs.sum("file_bytes") * 8e-9 for rate in wanted], "Gbit/s")
    table.notes.append(f"planned with {PLAN:.0%} of the processors; bodies of 100 bytes; in the "
                       "batches a move is what it is one by one")
    return table


def _lives(results):
    """(label, cell): one by one, in the largest batch, and where each topic has but one job."""
    cells = results["operations"].series["cells"]
    found = [("one in a request", cells[0]), (f"{cells[-1]['size']} in a request", cells[-1])]
    lonely = results["idle_topics"].series["cells"][0]
    return found + [("one in a request, one in a topic", lonely)] * ("hand.node_us" in lonely)


def _whole(cell, single):
    """All phases; those that a batch does not change are those of single requests. Batches were
    measured over one connection, which says nothing of the share: it is the same disk."""
    costs, one = Costs.of(cell), Costs.of(single)
    for name in ("node_us", "redis_us", "client_bytes", "redis_bytes", "file_bytes"):
        setattr(costs, name, {**getattr(one, name), **getattr(costs, name)})
    costs.share = one.share
    return costs


def nodes_for(costs, rate):
    return _rounded_up(rate * costs.sum("node_us"))


def _rounded_up(us_a_second):
    """Processors, of which a part is planned with."""
    return math.ceil(us_a_second / 1e6 / PLAN)


def redis_busy_us(costs):
    """Of one Redis, for a job's life: its processor, and what it waits for its disk meanwhile."""
    return sum(costs.redis_us[phase] / costs.share[phase] for phase in LIFE)


def masters_at(costs, rate):
    """None: more than there can be."""
    return _fewest_masters(rate * redis_busy_us(costs) / 1e6 / PLAN)[0]


def placed(_results):
    """Buckets on masters, by Redis's own slots."""
    masters = (3, 6, 12, 32, 64)
    table = Result("placed", "the fullest master against the mean, where slots are in equal parts",
                   [f"{count} masters" for count in masters])
    for buckets in (BUCKETS, BUCKETS_MAX):
        table.add(f"{buckets} buckets, as redis-cli deals slots",
                  [heaviest(count, buckets) * count for count in masters], "times")
        table.add("... dealt by hand",
                  [heaviest(count, buckets, by_hand=True) * count for count in masters], "times")
    return table


def breaks(results):
    """What there is one of, or what everybody has to hear."""
    hot = next(cell for cell in results["hot"].series["cells"] if "push.per_second" in cell)
    cells = {(cell["nodes"], cell["masters"]): cell
             for cell in results["idle_topics"].series["cells"] if "due.node_us" in cell}
    table = Result("breaks", "what there is one of, whatever the number of nodes and masters",
                   ["at most"])
    for phase, label in PHASES.items():
        costs = Costs.of(hot, (phase,))
        table.add(f"one topic: {label}", _per_second(costs.redis_us[phase], costs.share[phase]),
                  "/s", note="its bucket is at one Redis")
    heard = {"a node": _heard(cells, (1, 1), (3, 1), "node_us"),
             "a Redis, more nodes listening": _heard(cells, (1, 1), (3, 1), "redis_us"),
             "a Redis, the others' over the bus": _heard(cells, (3, 1), (3, 3), "redis_us")}
    for who, us in heard.items():
        note = f"{us:.2f} us each" if us else "no cost was seen"
        table.add(f"wake-ups heard by {who}", _per_second(us), "/s", note=note)
    table.notes.append("a wake-up is a topic that had no ready job and has one: all nodes and all "
                       "masters hear each")
    return table


def _heard(cells, few, many, name):
    """Microseconds that hearing a wake-up takes each one more, where each job was one."""
    if few not in cells or many not in cells:
        return None
    more = (many[0] - few[0]) or (many[1] - few[1])
    return max(0, (cells[many][f"due.{name}"] - cells[few][f"due.{name}"]) / more) or None


TABLES = (check, each, stored, depth, rates, placed, breaks)


# ---- the program ----

def compute(results):
    missing = [name for name in NEEDED if name not in results]
    if missing:
        raise LookupError(f"not measured yet: {', '.join(missing)}; ./dev bench scale --write")
    return [make(results) for make in TABLES]


def figures(results):
    """The part of the page that is made here."""
    dates = sorted({results[name].about.get("date", "?") for name in NEEDED})
    head = f"From the tables {', '.join(NEEDED)} of [benchmarks.md](benchmarks.md) ({dates[-1]})."
    return "\n\n".join([head, *(render.markdown(table) for table in compute(results))])


def write(results, where=PAGE):
    where.write_text(page.page_with(where.read_text(), figures(results)))


def main(words=None):
    parser = argparse.ArgumentParser(prog="./dev bench capacity", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="put the tables into doc/capacity.md")
    options = parser.parse_args(words)
    results = page.load_results()
    try:
        print("\n\n".join(render.text(table) for table in compute(results)))
        if options.write:
            write(results)
    except LookupError as error:
        print(error, file=sys.stderr)
        return 2
    return 0
