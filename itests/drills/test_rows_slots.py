"""The rows of rows_slots.py, each once."""

import pytest

from drills import rows_slots
from drills.once import rows_of, run_once


@pytest.mark.parametrize("number", rows_of(rows_slots))
def test_row(number, needs_network, tmp_path):  # pylint: disable=unused-argument
    run_once(number, tmp_path)
