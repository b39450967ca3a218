from harness.clock import offset_ms


def test_the_quickest_reading_says_how_far_a_clock_is_ahead():
    """The machine stands still after the first ones."""
    now, stands_ms = [1000], iter([23, 9, 17, *[0.2] * 100])

    def ask():
        read = now[0] + 500
        now[0] += next(stands_ms)
        return read

    assert abs(offset_ms(ask, lambda: now[0]) - 500) <= 0.2
