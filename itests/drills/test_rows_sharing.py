"""The rows of rows_sharing.py, each once."""

import pytest

from drills import rows_sharing
from drills.once import rows_of, run_once


@pytest.mark.parametrize("numbers", rows_of(rows_sharing, "27+28+29"))
def test_row(numbers, needs_network, tmp_path):  # pylint: disable=unused-argument
    run_once(numbers, tmp_path)
