"""The rows of rows_sharing.py, one after the other on nodes that all scan."""

from drills import rows_sharing
from drills.once import run_tour


def test_rows(needs_network, tmp_path):  # pylint: disable=unused-argument
    run_tour(rows_sharing, tmp_path)
