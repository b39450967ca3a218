"""The row of rows_sentinel.py, once."""

import pytest

from drills import rows_sentinel
from drills.once import rows_of, run_once


@pytest.mark.parametrize("number", rows_of(rows_sentinel))
def test_row(number, needs_network, tmp_path):  # pylint: disable=unused-argument
    run_once(number, tmp_path)
