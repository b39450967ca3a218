"""The clock that decides what is due: Redis's TIME; and how far a clock is ahead of another."""

import time


def redis_now_ms(client):
    """Whole milliseconds with microseconds behind the point."""
    seconds, micros = client.time()
    return seconds * 1000 + micros / 1000


def offset_ms(ask, now_ms):
    """How far the clock that `ask` reads is ahead of `now_ms`'s. By the quickest of some readings: a
    busy machine may stand still between two."""
    readings = []
    for _ in range(30):
        before = now_ms()
        there = ask()
        after = now_ms()
        readings.append((after - before, there - (before + after) / 2))
    return min(readings)[1]


def wall_now_ms():
    """The same clock without a round trip: Redis runs on this machine."""
    return time.time_ns() / 1e6
