"""The rows of rows_sharing.py, one after the other on nodes that all scan."""

import pytest

from drills import rows_sharing
from drills.once import run_tour, tours_of


@pytest.mark.parametrize("tour", tours_of(rows_sharing))
def test_rows(tour, needs_network, tmp_path):  # pylint: disable=unused-argument
    run_tour(tour, rows_sharing, tmp_path)
