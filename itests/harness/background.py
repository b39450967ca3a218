"""A call that goes on while the test does something else."""

from concurrent.futures import ThreadPoolExecutor


def in_background(call, *arguments):
    """Starts call(...) in a thread; the future has its result."""
    return ThreadPoolExecutor(1).submit(call, *arguments)
