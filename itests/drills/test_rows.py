"""Each row once, in its short variants, judged (ci.py). What makes a cluster takes longer than what
befalls it, so some rows share one."""

import pytest

from drills.ci import run_once, with_tours

TOURS = ("2+3+4", "6+7+8b", "9+11", "19+26", "27+28+29", "30+31")


@pytest.mark.parametrize("numbers", with_tours(TOURS))
def test_row(numbers, needs_network, tmp_path):  # pylint: disable=unused-argument
    run_once(numbers, tmp_path)


@pytest.mark.parametrize("number", ["2", "12"])
def test_row_with_safety_on(number, safety_on, needs_network, tmp_path):  # pylint: disable=unused-argument
    """Only TLS, and tokens that Redis knows. ./dev drill --safe has all rows."""
    run_once(number, tmp_path)
