"""The clock that decides what is due: Redis's TIME."""

import time


def redis_now_ms(client):
    """Whole milliseconds with microseconds behind the point."""
    seconds, micros = client.time()
    return seconds * 1000 + micros / 1000


def wall_now_ms():
    """The same clock without a round trip: Redis runs on this machine."""
    return time.time_ns() / 1e6
