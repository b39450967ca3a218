"""Waiting for a condition, the only way these tests wait."""

import time

PATIENCE_S = 60  # far beyond anything healthy, sanitizers and a busy machine included


def wait_until(condition, what, timeout_s=PATIENCE_S, interval_s=0.01):
    """Returns the first true value of condition(); fails with `what` when there is none."""
    deadline = time.monotonic() + timeout_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {timeout_s} s in vain: {what}")
        time.sleep(interval_s)


def holds_for(condition, seconds, interval_s=0.02):
    """Is condition() true all the time? For what must not happen."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not condition():
            return False
        time.sleep(interval_s)
    return True
