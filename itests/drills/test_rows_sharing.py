"""The rows of rows_sharing.py, each once."""

import pytest

from drills import rows_sharing
from drills.once import rows_of, run_once


@pytest.mark.parametrize("number", rows_of(rows_sharing))
def test_row(number, needs_network, tmp_path):  # pylint: disable=unused-argument
    run_once(number, tmp_path)
