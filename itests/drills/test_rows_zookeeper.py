"""The rows of rows_zookeeper.py, each once."""

import pytest

from drills import rows_zookeeper
from drills.once import rows_of, run_once


@pytest.mark.parametrize("numbers", rows_of(rows_zookeeper, "9+11"))
def test_row(numbers, needs_network, tmp_path):  # pylint: disable=unused-argument
    run_once(numbers, tmp_path)
