"""Fixtures of the drills: a network of namespaces, ZooKeeper."""

import os

import pytest

from harness.network import Network, why_not
from harness.zookeeper import Ensemble


@pytest.fixture
def network():
    """A network of hosts of the test's own. CI has what it needs; elsewhere it may be missing."""
    reason = why_not()
    if reason:
        assert not os.environ.get("CI"), f"CI must have network namespaces: {reason}"
        pytest.skip(f"no network namespaces here: {reason}")
    with Network() as made:
        yield made


@pytest.fixture
def make_ensemble(tmp_path):
    """make_ensemble(tick_ms=..., hosts=...) gives ZooKeeper servers that serve."""
    made = []

    def make(**options):
        made.append(Ensemble(tmp_path, **options))
        return made[-1].start()

    yield make
    for ensemble in made:
        ensemble.destroy()
