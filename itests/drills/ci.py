"""For CI: each row once, in its short variants, judged.

Always with one seed: what chance may find is for ./dev drill, where somebody looks at it. With
DUEQ_LONG, as ./dev test --all sets it, in its long variants, with another seed each time (DUEQ_SEED
repeats one), with limits on times, and with the rows that a busy machine fails.
"""

import os
import random

import pytest

from drills.rounds import TICK_MS, run_row
from drills.rows.matrix import MATRIX
from harness.memory import is_sanitized
from judge.lateness import Limits


IS_LONG = bool(os.environ.get("DUEQ_LONG"))
SEED = int(os.environ.get("DUEQ_SEED", random.SystemRandom().randrange(1 << 32) if IS_LONG else 1))
OUTSIDE_P99_MS = 200  # ./dev drill is stricter


def with_tours(tours):
    """The numbers of all rows; those of a tour, as "6+7", are one: they share a cluster. With
    DUEQ_LONG each row is by itself, because its other variants need clusters of their own."""
    tours = () if IS_LONG else tours
    on_tour = [number for tour in tours for number in tour.split("+")]
    assert set(on_tour) <= set(MATRIX), on_tour
    return [*tours, *(number for number in MATRIX if number not in on_tour)]


def run_once(numbers, directory):
    """A row, or a tour."""
    rows = [MATRIX[number] for number in numbers.split("+")]
    _run(Tour(rows) if len(rows) > 1 else rows[0], directory)


def _run(row, directory):
    if row.needs:
        pytest.skip(row.needs)
    if is_sanitized():
        pytest.skip("faults and times as they are: with the release build")
    if row.by_the_clock and not IS_LONG:
        pytest.skip("it is judged by the clock: ./dev test --all, or ./dev drill")
    print(f"DUEQ_SEED={SEED}")
    variants = row.long_variants if IS_LONG else row.short_variants
    result = run_row(row, directory, SEED, rounds=1, variants=variants, report=print,
                     limits=Limits(TICK_MS, OUTSIDE_P99_MS) if IS_LONG else None)
    assert not result.failures, "\n".join(result.failures)
    assert len(result.rounds) == len(variants)


class Tour:
    """Rows that can have the same plan and load, those of the first; it is the row whose round it
    is."""

    def __init__(self, rows):
        self._rows = rows
        self._stops = {f"{row.number} {variant}": (row, variant)
                       for row in rows for variant in row.short_variants}
        self.variants = self.short_variants = tuple(self._stops)
        self._first = self._row = next(iter(self._stops.values()))[0]

    def __getattr__(self, name):
        return getattr(self._row, name)

    def plan_key(self, variant):  # pylint: disable=unused-argument
        return ""

    def plan(self, variant):  # pylint: disable=unused-argument
        return self._first.plan(self._first.short_variants[0])

    def check_end(self, cluster):
        for row in {type(row).check_end: row for row in self._rows}.values():
            yield from row.check_end(cluster)

    def witness(self, drill):
        """What a round begins with: from here on it is another row."""
        self._row, drill.variant = self._stops[drill.variant]
        return self._row.witness(drill)
