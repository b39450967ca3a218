"""A node that strangers do their worst to, and what must be true of it afterwards."""

import pytest

from harness.memory import is_sanitized, resident_bytes
from harness.wait import wait_until

MIB = 1 << 20
SLACK_BYTES = 64 * MIB  # what an allocator may keep: some block is always in the way


@pytest.fixture
def flooded(make_node):
    """flooded(settings) starts a node; when the test is over it must be as good as new."""
    made = []

    def make(settings=None):
        node = make_node(settings).start()
        serves(node)
        node.flooded_pid, node.bytes_before = node.worker_pid, resident_bytes(node.worker_pid)
        made.append(node)
        return node

    yield make
    for node in made:
        serves(node)
        assert node.worker_pid == node.flooded_pid, "the worker died of it"
        wait_until(lambda node=node: is_sanitized() or grown_bytes(node) < SLACK_BYTES,
                   "its memory comes back")


def serves(node):
    """Somebody else's job goes through, over both protocols."""
    with node.api() as api, node.python_client() as gmq:
        api.push("others", id="over-http", ttr_ms=60000)
        assert gmq.pop("others")["id"] == "over-http"
        assert gmq.ack("over-http") is True
        gmq.push("others", "over-gmq", ttr=60)
        api.ack(api.pop_one("others"))


def grown_bytes(node):
    """How much larger the worker is than before the flood."""
    return resident_bytes(node.flooded_pid) - node.bytes_before


def costs_less_than(node, bound):
    grown = grown_bytes(node)
    assert is_sanitized() or grown < bound, f"{grown / MIB:.1f} MiB"


def connected(node, protocol):
    """Clients, as the node counts them."""
    return node.metrics()[f'dueq_connections{{protocol="{protocol}"}}']
