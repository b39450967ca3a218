"""The progress line, on a clock of its own."""

import io

from bench.progress import Progress, bar, duration


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


class Terminal(io.StringIO):
    def isatty(self):
        return True


def progress_and_clock(stream=None):
    clock = Clock()
    progress = Progress(stream or io.StringIO(), clock)
    progress.begin_table("burst", 2, 10)
    return progress, clock


def test_it_says_what_runs_and_how_far_it_is():
    progress, clock = progress_and_clock()
    with progress.step("push, 64 connections", seconds=4):
        clock.now += 1
        line = progress.line()
    assert "burst (2 of 10)" in line and "push, 64 connections" in line and "25 %" in line


def test_a_step_that_takes_longer_than_thought_stays_at_its_end():
    progress, clock = progress_and_clock()
    with progress.step("push", seconds=2):
        clock.now += 60
        assert "100 %" in progress.line()


def test_a_step_may_know_itself_how_far_it_is():
    progress, _ = progress_and_clock()
    with progress.step("filling") as step:
        step.at(30, 40)
        assert "75 %" in progress.line()


def test_a_step_of_unknown_length_shows_its_time():
    progress, clock = progress_and_clock()
    with progress.step("settling"):
        clock.now += 7
        assert "7 s" in progress.line()


def test_what_is_left_is_judged_from_what_is_done():
    progress, clock = progress_and_clock()
    progress.expect(4)
    with progress.step("first", seconds=30):
        assert "left" not in progress.line()  # nothing to judge from
        clock.now += 30
    with progress.step("second", seconds=30):
        clock.now += 15
        assert "table: 1 min 15 s left" in progress.line()


def test_steps_beyond_those_expected_promise_nothing():
    progress, _ = progress_and_clock()
    progress.expect(1)
    for _ in range(2):
        with progress.step("step"):
            pass
    with progress.step("one more"):
        assert "left" not in progress.line()


def test_words_that_stay_do_not_mix_with_the_live_line():
    stream = Terminal()
    progress, _ = progress_and_clock(stream)
    progress.say("tried again")
    assert stream.getvalue().endswith("\r\033[K  burst (2 of 10): tried again\n")


def test_a_bar_is_never_longer_than_it_is():
    assert [bar(f).count("#") for f in (None, 0, 0.5, 1)] == [0, 0, 10, 20]
    assert {len(bar(f)) for f in (None, 0, 0.37, 1)} == {22}


def test_durations_are_for_people():
    assert [duration(s) for s in (0.2, 59.6, 125)] == ["0 s", "1 min 00 s", "2 min 05 s"]
