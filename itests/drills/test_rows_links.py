"""The rows of rows_links.py, each once."""

import pytest

from drills import rows_links
from drills.once import rows_of, run_once


@pytest.mark.parametrize("numbers", rows_of(rows_links, "6+7+8b"))
def test_row(numbers, needs_network, tmp_path):  # pylint: disable=unused-argument
    run_once(numbers, tmp_path)
