"""For CI: each row of a file once, in its short variants, judged. Files run side by side.

Always with one seed: what chance may find is for ./dev drill, where somebody looks at it.
"""

import pytest

from drills.matrix import MATRIX
from drills.rounds import run_row
from harness.memory import is_sanitized


SEED = 1


def rows_of(module):
    """The numbers of the rows that a module declares."""
    return [number for number, row in MATRIX.items() if type(row).__module__ == module.__name__]


def run_once(number, directory):
    _run(MATRIX[number], directory)


def run_tour(module, directory):
    """All rows of a file on one cluster: what makes a cluster takes longer than what befalls it."""
    _run(Tour(MATRIX[number] for number in rows_of(module)), directory)


def _run(row, directory):
    if row.needs:
        pytest.skip(row.needs)
    if is_sanitized():
        pytest.skip("faults and times as they are: with the release build")
    result = run_row(row, directory, SEED, rounds=1, variants=row.short_variants,
                     report=print)
    assert not result.failures, "\n".join(result.failures)
    assert len(result.rounds) == len(row.short_variants)


class Tour:
    """Rows that can have the same plan, that of the first; it is the row whose round it is."""

    def __init__(self, rows):
        self._stops = {f"{row.number} {variant}": (row, variant)
                       for row in rows for variant in row.short_variants}
        self.short_variants = tuple(self._stops)
        self._first = self._row = next(iter(self._stops.values()))[0]

    def __getattr__(self, name):
        return getattr(self._row, name)

    def plan_key(self, variant):  # pylint: disable=unused-argument
        return ""

    def plan(self, variant):  # pylint: disable=unused-argument
        return self._first.plan(self._first.short_variants[0])

    def fault(self, drill):
        self._row, drill.variant = self._stops[drill.variant]
        return self._row.fault(drill)
