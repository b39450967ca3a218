"""Fixtures of the drills: a network of namespaces, ZooKeeper."""

import pytest

from drills.hosts import safety
from harness.network import Network
from harness.zookeeper import Ensemble


@pytest.fixture
def network(needs_network):  # pylint: disable=unused-argument
    """A network of hosts of the test's own."""
    with Network() as made:
        yield made


@pytest.fixture
def safety_on(tmp_path):
    """Safety is on."""
    safety.turn_on(tmp_path / "safety")
    yield safety.current()
    safety.turn_off()


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
