"""The rows of rows_slots.py, one after the other on one Redis Cluster."""

from drills import rows_slots
from drills.once import run_tour


def test_rows(needs_network, tmp_path):  # pylint: disable=unused-argument
    run_tour(rows_slots, tmp_path)
