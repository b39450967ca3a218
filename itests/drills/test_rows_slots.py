"""The rows of rows_slots.py, one after the other on one Redis Cluster."""

import pytest

from drills import rows_slots
from drills.once import run_tour, tours_of


@pytest.mark.parametrize("tour", tours_of(rows_slots))
def test_rows(tour, needs_network, tmp_path):  # pylint: disable=unused-argument
    run_tour(tour, rows_slots, tmp_path)
