"""The dueqctl program: run to its end, or left running with its output read line by line."""

import json
import os
import pty
import re
import signal
import subprocess
import threading
from contextlib import contextmanager, suppress

from harness.build import build_dir
from harness.wait import PATIENCE_S, wait_until

DONE, REFUSED, USAGE, UNREACHABLE, UNKNOWN, NOTHING = range(6)
LATE_BEAT = re.compile(rb"^dueqctl: \w+ holds the lead, but has not proven its lease for \d{3,4} ms\n\Z")


def program():
    return build_dir() / "bin" / "dueqctl"


class Done:
    """How a run has ended: `code`, `out` and `err` (bytes, as they were written)."""

    def __init__(self, code, out, err):
        self.code = code
        self.out = out
        self.err = err

    @property
    def text(self):
        return self.out.decode()

    @property
    def complaint(self):
        return self.err.decode()

    def json(self):
        """What was printed; fails when it is not exactly one document."""
        assert self.out.isascii(), self.out
        return json.loads(self.out)

    def __repr__(self):
        return f"exit code {self.code}, stdout {self.out!r}, stderr {self.err!r}"


def environment(url=None, **more):
    clean = {name: value for name, value in os.environ.items() if not name.startswith("DUEQ_")}
    clean.update({"TZ": "UTC", "LC_ALL": "C.UTF-8", **more})
    if url:
        clean["DUEQ_URL"] = url
    return clean


def _word(word):
    return word if isinstance(word, bytes) else str(word)


class Dueqctl:
    """Commands for one node; url None: dueqctl's own default."""

    def __init__(self, url=None):
        self.url = url

    def __call__(self, *words, stdin=b"", **env):
        done = subprocess.run(
            [program(), *map(_word, words)], input=stdin, capture_output=True, check=False,
            timeout=PATIENCE_S * 2, env=environment(self.url, **env))
        assert b"Sanitizer" not in done.stderr, done.stderr.decode()
        return Done(done.returncode, done.stdout, done.stderr)

    def ok(self, *words, **options):
        """Runs it; fails when it does, or says a word of more than a beat that ZooKeeper's disk has
        held up."""
        done = self(*words, **options)
        assert done.code == DONE and LATE_BEAT.sub(b"", done.err) == b"", done
        return done

    def json(self, *words, **options):
        return self.ok(*words, "--json", **options).json()

    def on_full_disk(self, *words, stdin=b""):
        """A run whose output cannot be written."""
        with open("/dev/full", "wb") as full:
            done = subprocess.run([program(), *words], input=stdin, stdout=full, check=False,
                                  stderr=subprocess.PIPE, env=environment(self.url),
                                  timeout=PATIENCE_S)
        return Done(done.returncode, b"", done.stderr)

    def start(self, *words, **env):
        return Running([program(), *map(str, words)], environment(self.url, **env))


class Running:
    """A dueqctl that goes on: its lines as they come."""

    def __init__(self, argv, env):
        self.out, self.err = [], []
        self._process = subprocess.Popen(argv, env=env, stdin=subprocess.PIPE,
                                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self._readers = [threading.Thread(target=self._read, args=pair, daemon=True)
                         for pair in ((self._process.stdout, self.out),
                                      (self._process.stderr, self.err))]
        for reader in self._readers:
            reader.start()

    @staticmethod
    def _read(file, lines):
        for line in file:
            lines.append(line.decode().rstrip("\n"))

    def signal(self, name):
        self._process.send_signal(signal.Signals[f"SIG{name}"])

    @property
    def pid(self):
        return self._process.pid

    def write(self, data):
        self._process.stdin.write(data)
        self._process.stdin.flush()

    def end_input(self):
        self._process.stdin.close()

    def is_asking(self):
        """It has a connection, and an interrupt would be caught. (A socket alone is no sign:
        libcurl tries one at its start.)"""
        proc = f"/proc/{self._process.pid}"
        with open(f"{proc}/status", encoding="ascii") as file:
            caught = next(int(line.split()[1], 16) for line in file if line.startswith("SigCgt"))
        if not caught & 1 << (signal.SIGINT - 1):
            return False
        try:
            return any(os.readlink(f"{proc}/fd/{fd}").startswith("socket:")
                       for fd in os.listdir(f"{proc}/fd"))
        except FileNotFoundError:
            return False

    def wait_for(self, text, where="out"):
        """The first line with the text."""
        lines = getattr(self, where)
        return wait_until(lambda: next((line for line in lines if text in line), None),
                          f"dueqctl prints '{text}'")

    def wait(self):
        """The exit code, after the end of the input."""
        self.end_input()
        code = self._process.wait(PATIENCE_S)
        for reader in self._readers:
            reader.join(PATIENCE_S)
        return code

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self._process.kill()
        self._process.wait()
        for file in (self._process.stdin, self._process.stdout, self._process.stderr):
            file.close()


def pop_one(ctl, topic, *options):
    [job] = ctl.json("pop", topic, *options)["jobs"]
    return job


class Person:
    """Somebody in front of a terminal."""

    def __init__(self, people):
        self._people, self.shown = people, ""

    def sees(self, text):
        try:
            self.shown += os.read(self._people, 65536).decode()
        except (BlockingIOError, OSError):
            pass
        return text in self.shown

    def has_seen(self, text):
        """When the process is over: all that it has shown, which may come a moment later."""
        os.set_blocking(self._people, True)
        with suppress(OSError):  # the terminal is closed
            while found := os.read(self._people, 65536):
                self.shown += found.decode()
        return text in self.shown

    def waits_for(self, text):
        wait_until(lambda: self.sees(text), f"the terminal shows '{text}'")

    def types(self, keys):
        os.write(self._people, keys.encode())


@contextmanager
def on_terminal(url, *words, ends=("stdin", "stderr")):
    """The process, and the person at the terminal that is its `ends`; the others are pipes."""
    people, terminal = pty.openpty()
    os.set_blocking(people, False)
    streams = {name: terminal if name in ends else subprocess.PIPE
               for name in ("stdin", "stdout", "stderr")}
    with subprocess.Popen([program(), *words], env=environment(url), **streams) as process:
        os.close(terminal)
        try:
            yield process, Person(people)
        finally:
            process.kill()
            process.wait()
            os.close(people)
