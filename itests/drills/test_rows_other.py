"""The rows of rows_other.py, each once."""

import pytest

from drills import rows_other
from drills.once import rows_of, run_once


@pytest.mark.parametrize("numbers", rows_of(rows_other, "19+26"))
def test_row(numbers, needs_network, tmp_path):  # pylint: disable=unused-argument
    run_once(numbers, tmp_path)
