"""Each row of the matrix once, in its short variants, judged. `./dev drill` runs them for longer,
and judges lateness as well."""

import pytest

from drills.matrix import MATRIX
from drills.rounds import run_row


@pytest.mark.parametrize("number", MATRIX)
def test_row(number, network, tmp_path, dice):  # pylint: disable=unused-argument
    row = MATRIX[number]
    if row.needs:
        pytest.skip(row.needs)
    result = run_row(row, tmp_path, dice.getrandbits(32), rounds=1, variants=row.short_variants,
                     report=print)
    assert result.failures == []
