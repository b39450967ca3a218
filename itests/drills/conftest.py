"""Fixtures of the drills: a network of namespaces, ZooKeeper."""

import os

import pytest

from harness.network import Network, why_not
from harness.zookeeper import Ensemble


@pytest.fixture(scope="session")
def needs_network():
    """CI has what networks of namespaces need; elsewhere it may be missing."""
    reason = why_not()
    if reason:
        assert not os.environ.get("CI"), f"CI must have network namespaces: {reason}"
        pytest.skip(f"no network namespaces here: {reason}")


@pytest.fixture
def network(needs_network):  # pylint: disable=unused-argument,redefined-outer-name
    """A network of hosts of the test's own."""
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
