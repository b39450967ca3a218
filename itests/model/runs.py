"""Batch after batch of random sequences, for a time. A failure names the command to repeat it."""

import time
from pathlib import Path
from typing import NamedTuple, Optional

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from harness.build import build_dir
from model.steps_consumers import ConsumerSteps
from model.steps_jobs import JobSteps
from model.steps_topics import TopicSteps

STEPS = 50      # of an example, at most
EXAMPLES = 20   # of a batch, which has a seed; hypothesis draws small ones first


class Jobs(JobSteps, TopicSteps, ConsumerSteps):
    """All steps."""


class Result(NamedTuple):
    batches: int
    operations: int
    failure: Optional[str]

    def __str__(self):
        return f"{self.operations} operations in {self.batches} batches"


def run_batch(doors, number, shrinks=True):
    """EXAMPLES sequences, the same for the same number. (operations, what went wrong, or None)"""
    machine = type("Jobs", (Jobs,), {"doors": doors})
    phases = [Phase.generate] + [Phase.shrink] * shrinks
    seed(number)(machine)
    try:
        run_state_machine_as_test(machine, settings=settings(
            max_examples=EXAMPLES, stateful_step_count=STEPS, database=None, deadline=None,
            phases=phases, report_multiple_bugs=False, print_blob=False,
            suppress_health_check=HealthCheck.all()))
    except Exception as error:  # whatever it is: it came from a sequence of this seed
        return machine.steps, machine.failure or f"{type(error).__name__}: {error}"
    return machine.steps, None


def run_for(doors, seconds, seed, shrinks=False, on_batch=lambda seed, result: None):
    """One batch at least. Stops at the first failure."""
    begin, result = time.monotonic(), Result(0, 0, None)
    while not result.failure:
        operations, failure = run_batch(doors, seed, shrinks)
        if failure:
            failure += f"\n\nAgain: ./dev drill model --seed {seed} --seconds 0"
        result = Result(result.batches + 1, result.operations + operations, failure)
        on_batch(seed, result)
        seed += 1
        if time.monotonic() - begin >= seconds:
            break
    return result


def has_sanitizers():
    """Is the node under test a slow one?"""
    cache = Path(build_dir(), "CMakeCache.txt")
    return cache.exists() and "DUEQ_SANITIZE:STRING=address" in cache.read_text()
