"""The list of tables, in the order of their definition, and what they have in common."""

import statistics
from dataclasses import dataclass
from pathlib import Path

from redis.exceptions import RedisError

from bench.loads import LoadFailed
from bench.measure import Bench
from bench.result import Result

TABLES = {}
FAILURES = (LoadFailed, AssertionError, RuntimeError, OSError, RedisError)
RUN_MORE_S = 0.7  # of a run, beside what is measured: emptying the store, warming up
GENERATOR_LIMIT_PERCENT = 80  # of a processor
PROTOCOLS = {"gmq": "gmq", "http": "HTTP"}  # as the load generator calls them; as people do


@dataclass
class Options:
    """How long and how often. `scale` is quick (does it work at all), usual or long. `compare`:
    the folder of an older build, which takes turns with this one."""

    rounds: int = 3
    seconds: int = 2
    scale: str = "usual"
    compare: Path = None

    def pick(self, usual, quick=None, long=None):
        """A size: by scale, where the scale has one of its own."""
        chosen = {"quick": quick, "long": long}.get(self.scale)
        return usual if chosen is None else chosen


@dataclass
class Table:
    name: str
    title: str
    settings: dict
    fill_in: callable
    plan: tuple = (0, 0, 0)
    place: type = Bench  # what `bench` is

    def seconds(self, options):
        """About how long it takes in the usual sizes."""
        in_turns_, once, more_s = self.plan
        builds = 2 if options.compare else 1
        return (in_turns_ * options.rounds * builds + once) * (options.seconds + RUN_MORE_S) + more_s

    def measure(self, options, progress, about):
        result = Result(self.name, self.title, ["measured"], about=about)
        try:
            with self.place(progress, self.settings) as bench:
                self.fill_in(bench, options, result)
        except Exception as failure:  # pylint: disable=broad-except
            # Whatever it is, the other tables, and the rows that are there, are worth having.
            result.broken.append(words_of(failure))
        if options.scale == "quick":
            result.drop_targets()
        return result


def table(title, settings=None, plan=(0, 0, 0), place=Bench):
    """def name(bench, options, result) becomes the table `name`. `settings` of the node; those
    of the connections' limit are there already. `plan`, for the estimate: runs in each round,
    runs once, seconds beside them. `place`: what the table is given as `bench`."""
    def register(function):
        settings_ = {"limits.connections": 15000, "limits.idle": "0s", **(settings or {})}
        TABLES[function.__name__] = Table(function.__name__, title, settings_, function,
                                         plan, place)
        return function
    return register


def words_of(failure):
    """One line."""
    lines = str(failure).strip().splitlines() or ["no more is known"]
    return lines[0] if isinstance(failure, LoadFailed) else \
        f"{type(failure).__name__}: {lines[0]}"


def attempt(result, what, run):
    """run(), or None and a line in the table when the load generator, the node or Redis gave
    up."""
    try:
        return run()
    except FAILURES as failure:
        result.broken.append(f"{what}: {words_of(failure)}")
        return None


def in_turns(bench, options, result, plan):
    """{key: median} of runs {key: function} that take turns, so that a machine that is slow for
    a while is slow for all; every other round backwards, so that none is always first. What
    failed once is not tried again, and None."""
    values = {key: [] for key in plan}
    failed = set()
    bench.progress.expect(options.rounds * len(plan))
    for number in range(options.rounds):
        for key, run in list(plan.items())[::-1 if number % 2 else 1]:
            if key in failed:
                continue
            value = attempt(result, " ".join(map(str, key)), run)
            if value is None:
                failed.add(key)
            else:
                values[key].append(value)
    return {key: statistics.median(values[key]) if key not in failed else None for key in plan}


def rounds_in_turns(bench, options, result, plan):
    """in_turns() where each run gives {name: value}: {key: [run of each round]}, [] for what
    failed."""
    seen = {key: [] for key in plan}

    def remembered(key):
        def run():
            seen[key].append(plan[key]())
            return 0
        return run

    worked = in_turns(bench, options, result, {key: remembered(key) for key in plan})
    return {key: seen[key] if worked[key] is not None else [] for key in plan}


def medians(bench, options, result, plan):
    """rounds_in_turns(): {key: {name: median}}, {} for what failed."""
    seen = rounds_in_turns(bench, options, result, plan)
    return {key: {name: statistics.median(run[name] for run in runs) for name in runs[0]}
            if runs else {} for key, runs in seen.items()}


def generator_note(percent):
    """How busy the load generator was; where it may have been the limit itself, with a mark."""
    mark = ", NEAR ITS LIMIT" if percent >= GENERATOR_LIMIT_PERCENT else ""
    return f"generator {percent:.0f} %{mark}"


def ratio(part, whole, scale=1.0):
    """None where one of both is missing."""
    return scale * part / whole if part is not None and whole else None


def rate(bench, mode, what, **options):
    """Operations a second from an empty store."""
    bench.wipe()
    return bench.load(mode, what, **options)["per_second"]
