"""The model, before nodes that lie: a model that believes everything is no test.

All lies must be seen, and the truth must not be. It is the model that is tested here, so once is
enough: with the faster node.
"""

import random

import pytest

from model.mutants import Mutant, all_mutants
from model.nodes import Doors
from model.runs import has_sanitizers, run_for

LOOK_S = 120        # most lies are seen with the first batch of sequences
PATIENCE_S = 3      # with what never comes

pytestmark = pytest.mark.skipif(has_sanitizers(), reason="tests the model, not the node")


@pytest.mark.parametrize("mutant", all_mutants())
def test_is_not_deceived(nodes, mutant):
    with Doors(nodes, mutant, PATIENCE_S) as doors:
        result = run_for(doors, LOOK_S, seed=1)
    assert result.failure, f"believed in {result}"
    # It was the model that saw it, not a mistake of the test.
    assert "Wrong: " in result.failure, result.failure


def test_believes_the_truth(nodes):
    with Doors(nodes, Mutant) as doors:
        result = run_for(doors, 5, seed=random.SystemRandom().randrange(1 << 32))
    assert result.failure is None, result.failure
