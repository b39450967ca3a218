"""What the node does is what section 4 of the design says: random sequences of all operations,
held against the model. ./dev drill model does the same for longer."""

import os
import random

from model.runs import has_sanitizers, run_for


def test_random_sequences_agree_with_the_model(api):
    seconds = float(os.environ.get("DUEQ_MODEL_SECONDS", 40 if has_sanitizers() else 70))
    seed = int(os.environ.get("DUEQ_SEED", random.SystemRandom().randrange(1 << 32)))
    print(f"DUEQ_SEED={seed}")
    result = run_for(api.ask, seconds, seed)
    assert result.failure is None, result.failure
    assert result.operations > 1000, result
    print(result)
