"""What the node does is what section 4 of the design says: random sequences of all operations,
held against the model. ./dev drill model does the same for longer."""

import os
import random

from model.nodes import Doors
from model.runs import has_sanitizers, run_for


def test_random_sequences_agree_with_the_model(nodes):
    seconds = float(os.environ.get("DUEQ_MODEL_SECONDS", 20 if has_sanitizers() else 60))
    seed = int(os.environ.get("DUEQ_SEED", random.SystemRandom().randrange(1 << 32)))
    print(f"DUEQ_SEED={seed}")
    with Doors(nodes) as doors:
        result = run_for(doors, seconds, seed)
    assert result.failure is None, result.failure
    assert result.operations > 1000, result
    print(result)
