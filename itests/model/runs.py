"""Batch after batch of random sequences, for a time. A failure names the command to repeat it."""

import time
from pathlib import Path
from typing import NamedTuple, Optional

from harness.build import build_dir
from model.machine import run_batch


class Result(NamedTuple):
    batches: int
    operations: int
    failure: Optional[str]

    def __str__(self):
        return f"{self.operations} operations in {self.batches} batches"


def run_for(ask, seconds, seed, shrinks=False, on_batch=lambda seed, result: None):
    """One batch at least. Stops at the first failure."""
    begin, result = time.monotonic(), Result(0, 0, None)
    while not result.failure:
        operations, failure = run_batch(ask, seed, shrinks)
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
