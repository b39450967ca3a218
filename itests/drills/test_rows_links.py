"""The rows of rows_links.py, each once."""

import pytest

from drills import rows_links
from drills.once import rows_of, run_once


@pytest.mark.parametrize("number", rows_of(rows_links))
def test_row(number, needs_network, tmp_path):  # pylint: disable=unused-argument
    run_once(number, tmp_path)
