"""Where a long measurement is: one line that lives on a terminal; elsewhere a line now and then.

The bench says which table it is in and how many steps that has, and wraps every step in
`with progress.step(...)`. A step knows its end by its duration, or tells it itself (`at`).
How long the table still takes is judged from the steps it has done.
"""

import shutil
import sys
import threading
import time
from contextlib import contextmanager

REDRAW_S = 0.2
QUIET_S = 10  # between two lines where nobody sees a line live
BAR = 20


class Progress:
    """On standard error, so that tables on standard output can be piped."""

    def __init__(self, stream=sys.stderr, clock=time.monotonic):
        self._stream = stream
        self._clock = clock
        self._is_live = stream.isatty()
        self._lock = threading.Lock()
        self._spoke = clock()
        self._what = None
        self.begin_table("", 1, 1)

    def begin_table(self, name, number, of):
        self._where = f"{name} ({number} of {of})"
        self._steps, self._done, self._begun = 0, 0, self._clock()

    def expect(self, steps):
        """The table has so many steps; those beyond are shown without a promise."""
        self._steps, self._done, self._begun = steps, 0, self._clock()

    @contextmanager
    def step(self, what, seconds=None):
        """Draws the line while the body runs."""
        self._what, self._seconds, self._fraction = what, seconds, None
        self._step_begun = self._clock()
        over = threading.Event()
        ticker = threading.Thread(target=self._tick_until, args=(over,), daemon=True)
        ticker.start()
        try:
            yield self
        finally:
            over.set()
            ticker.join()
            self._what = None
            self._done += 1
            self._clear()

    def at(self, done, of):
        """The step itself knows how far it is."""
        self._fraction = done / of if of else None

    def say(self, message):
        """A line that stays."""
        with self._lock:
            self._erase()
            print(f"  {self._where}: {message}", file=self._stream, flush=True)

    def line(self):
        """What there is to say now."""
        now = self._clock()
        taken = now - self._step_begun
        fraction = self._fraction
        if fraction is None and self._seconds:
            fraction = taken / self._seconds
        fraction = min(1, fraction) if fraction is not None else None
        words = [self._where, bar(self._overall(fraction)), self._what]
        words.append(f"{fraction * 100:.0f} %" if fraction is not None else f"{taken:.0f} s")
        left = self._left_s(now, fraction or 0)
        if left is not None:
            words.append(f"table: {duration(left)} left")
        return "  ".join(words)

    def _overall(self, fraction):
        if not self._steps:
            return fraction
        return min(1, (self._done + (fraction or 0)) / self._steps)

    def _left_s(self, now, fraction):
        done = self._done + fraction
        if not self._steps or done < 1 or done > self._steps:
            return None
        return (now - self._begun) / done * (self._steps - done)

    def _tick_until(self, over):
        while not over.wait(REDRAW_S):
            if self._is_live:
                self._draw("\r\033[K" + self.line()[:terminal_width()])
            elif self._clock() - self._spoke >= QUIET_S:
                self._draw("  " + self.line() + "\n")

    def _draw(self, characters):
        with self._lock:
            self._spoke = self._clock()
            self._stream.write(characters)
            self._stream.flush()

    def _clear(self):
        with self._lock:
            self._erase()

    def _erase(self):
        if self._is_live:
            self._stream.write("\r\033[K")
            self._stream.flush()


def bar(fraction):
    filled = int((fraction or 0) * BAR)
    return "[" + "#" * filled + "." * (BAR - filled) + "]"


def duration(seconds):
    minutes, seconds = divmod(int(seconds + 0.5), 60)
    return f"{minutes} min {seconds:02} s" if minutes else f"{seconds} s"


def terminal_width():
    return shutil.get_terminal_size().columns - 1


class Silence(Progress):
    """For tests."""

    @contextmanager
    def step(self, what, seconds=None):
        yield self

    def say(self, message):
        pass
