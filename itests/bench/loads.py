"""The load generator: runs of it, shown by the progress line while they last."""

import json
import os
import re
import signal
import shutil
import subprocess
import tempfile
import threading
from contextlib import contextmanager
from pathlib import Path

from bench.progress import Silence
from harness.build import ROOT, node_program
from harness.process import allow_many_files, is_alive, kill_now
from harness.redis_cluster import BUCKETS

TOPICS = 16
WARM_UP_S = 1  # more than the load generator's
PATIENCE_S = 900  # filling in takes longest
IDS_A_RUN = 100_000_000


class LoadFailed(Exception):
    """The load generator gave up; its last words."""


class Loads:
    """Runs it in a folder of the disk that is measured; `port`, and whatever else it is to be
    told, is the caller's."""

    def __init__(self, progress=None):
        allow_many_files()
        self.progress = progress or Silence()
        self._scratch = tempfile.TemporaryDirectory(prefix=f"bench-{os.getpid()}-",
                                                    dir=_scratch_root())
        self.directory = self._scratch.name
        self._loads = []
        self._next_id = 10_000_000_000_000
        self.generator_percent = 0  # of a processor: the busiest run since somebody set it to 0

    def kill_loads(self):
        kill_now([load.pid for load in self._loads if load.poll() is None])

    def clean_up(self):
        self._scratch.cleanup()

    def start_load(self, mode, **options):
        """The load generator in the background; result_of() waits for it."""
        options = {"protocol": "gmq", "topics": TOPICS, "buckets": BUCKETS,
                   "first_id": self.next_id(), **options}
        words = [node_program().parent / "dueq-load", mode]
        for name, value in options.items():
            words += ["--" + name.replace("_", "-"), str(value)]
        self._loads = [load for load in self._loads if load.returncode is None]
        self._loads.append(subprocess.Popen(words, stdin=subprocess.PIPE, text=True,
                                            stdout=subprocess.PIPE, stderr=subprocess.PIPE))
        return self._loads[-1]

    def next_id(self):
        """The first of many; none comes twice, without asking what an earlier run used."""
        self._next_id += IDS_A_RUN
        return self._next_id

    def result_of(self, process, begun=""):
        """Waits for its end, which comes, and passes its progress on. `begun` has been read
        of its report."""
        words = []
        listener = threading.Thread(target=self._listen, args=(process.stderr, words))
        listener.start()
        watchdog = threading.Timer(PATIENCE_S, process.kill)
        watchdog.start()
        try:
            report = begun + process.stdout.read()
            code = process.wait()
        except BaseException:
            process.kill()
            raise
        finally:
            watchdog.cancel()
            listener.join()
        if code != 0:
            raise LoadFailed(f"{process.args[1]}: {' '.join(words[:1])} (ended with {code})")
        answer = json.loads(report)
        self.generator_percent = max(self.generator_percent, answer.get("cpu_percent", 0))
        return answer

    def _listen(self, lines, words):
        for line in lines:
            numbers = re.fullmatch(r"progress (\d+)/(\d+)\n", line)
            if numbers:
                self.progress.at(*map(int, numbers.groups()))
            else:
                words.append(line.strip())

    def load(self, mode, what=None, **options):
        """Runs the load generator to its end; what it reports."""
        seconds = options["seconds"] + WARM_UP_S if "seconds" in options else None
        with self.progress.step(what or mode, seconds):
            return self.result_of(self.start_load(mode, **options))


@contextmanager
def undisturbed():
    """Nobody who is impatient keeps us from cleaning up."""
    before = {number: signal.signal(number, signal.SIG_IGN)
              for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def sweep_abandoned():
    """Removes what a killed run has left, unless something still works in it."""
    for folder in _scratch_root().glob("bench-*"):
        owner = folder.name.split("-")[1]
        if not (owner.isdigit() and is_alive(int(owner))) and not _is_in_use(folder):
            shutil.rmtree(folder, ignore_errors=True)


def _is_in_use(folder):
    """Does a process have it in its command line, or work in it?"""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if bytes(folder) in (process / "cmdline").read_bytes() \
                    or folder in (Path(os.readlink(process / "cwd")) / "x").parents:
                return True
        except OSError:
            pass  # it has ended
    return False


def _scratch_root():
    """On the disk of the build, not in a tmpfs: fsync is part of what is measured."""
    root = ROOT / "build" / "bench"
    root.mkdir(parents=True, exist_ok=True)
    return root
