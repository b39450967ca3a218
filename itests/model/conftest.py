"""The nodes that are held against the model."""

import pytest

from model.nodes import house

NODES = 2


@pytest.fixture(scope="module")
def nodes(tmp_path_factory, request):
    """Some nodes on one Redis, shared by the tests of a file."""
    known = request.node.dueq_nodes = []
    with house(tmp_path_factory.mktemp("house"), NODES, known.append) as running:
        yield running
