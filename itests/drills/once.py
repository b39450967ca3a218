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
    row = MATRIX[number]
    if row.needs:
        pytest.skip(row.needs)
    if is_sanitized():
        pytest.skip("faults and times as they are: with the release build")
    result = run_row(row, directory, SEED, rounds=1, variants=row.short_variants,
                     report=print)
    assert not result.failures, "\n".join(result.failures)
    assert len(result.rounds) == len(row.short_variants)
