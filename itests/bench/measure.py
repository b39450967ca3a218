"""A node to measure, and the load generator: runs of all kinds on one Redis, each from an
empty store, shown by the progress line while they last."""

import json
import os
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path

from bench.progress import Silence
from harness.build import ROOT, node_program
from harness.node import Node
from harness.process import is_alive, kill_now
from harness.wait import wait_until

BUCKETS = 64
TOPICS = 16
WARM_UP_S = 1  # more than the load generator's
PATIENCE_S = 900  # filling in takes longest
IDS_A_RUN = 100_000_000
TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")


class LoadFailed(Exception):
    """The load generator gave up; its last words."""


class Bench:
    """`with Bench(progress) as bench:` starts a node of the chosen build."""

    def __init__(self, progress=None, settings=None):
        allow_many_files()
        self.progress = progress or Silence()
        self._scratch = tempfile.TemporaryDirectory(prefix=f"bench-{os.getpid()}-",
                                                    dir=_scratch_root())
        self.directory = self._scratch.name
        self.node = Node(self.directory, settings)
        self._loads = []
        self._next_id = 10_000_000_000_000
        self.generator_percent = 0  # of a processor: the busiest run since somebody set it to 0

    def __enter__(self):
        try:
            self.node.start()
        except BaseException:
            self.__exit__(True)
            raise
        self.redis = self.node.redis()
        self.socket = next(self.node.data_dir.glob("*.sock"))
        return self

    def __exit__(self, kind, *unused):
        with undisturbed():
            try:
                kill_now([load.pid for load in self._loads if load.poll() is None])
                if kind is None:
                    self.node.stop()
            finally:
                self.node.destroy()
                self._scratch.cleanup()

    # ---- the load generator ----

    def start_load(self, mode, **options):
        """The load generator in the background; result_of() waits for it."""
        options = {"protocol": "gmq", "redis": self.socket, "topics": TOPICS,
                   "buckets": BUCKETS, "first_id": self.next_id(), **options}
        options.setdefault("port", self._port_of(options["protocol"]))
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

    def _port_of(self, protocol):
        return self.node.http_port if protocol == "http" else self.node.gmq_port

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

    def fill(self, count, what=None, **options):
        """Jobs that no measurement waits for: written without a sync each, and synced once."""
        usual = self.redis.config_get("appendfsync")["appendfsync"]
        self.redis.config_set("appendfsync", "no")
        try:
            return self.load("fill", what or f"filling in {count:,} jobs", count=count,
                             depth=1000, **options)
        finally:
            self.redis.config_set("appendfsync", usual)
            for path in self.node.data_dir.rglob("*.aof"):
                with open(path, "rb") as file:
                    os.fsync(file.fileno())

    # ---- the store ----

    def wipe(self):
        """No jobs, no topics, but no counter falls back; waits until Redis has nothing to do."""
        keys = [key for key in self.redis.scan_iter(count=10000)
                if key != b"dq:meta" and not key.endswith(b"}:n")]
        for start in range(0, len(keys), 1000):
            self.redis.unlink(*keys[start:start + 1000])
        self.wait_quiet()

    def wait_quiet(self, timeout_s=300):
        def is_quiet():
            info = self.redis.info()
            return not (info["lazyfree_pending_objects"] or info["aof_rewrite_in_progress"]
                        or info["aof_rewrite_scheduled"])

        wait_until(is_quiet, "Redis is quiet", timeout_s=timeout_s, interval_s=0.05)

    def never_rewrite(self):
        """From now on the append-only file only grows: no rewrite in the middle of a run."""
        self.redis.config_set("auto-aof-rewrite-percentage", 0)

    def now_ms(self):
        seconds, micros = self.redis.time()
        return seconds * 1000 + micros / 1000

    def keys_of(self, letter):
        """The keys of all topics for one place: d delayed, r ready, v reserved."""
        return list(self.redis.scan_iter(match=f"dq:{{*}}:{letter}:*", count=10000))

    def count_in(self, letter):
        """Members of the sorted sets of all topics: d delayed, v reserved."""
        pipeline = self.redis.pipeline(transaction=False)
        for key in self.keys_of(letter):
            pipeline.zcard(key)
        return sum(pipeline.execute())

    def settled_memory(self, still_s=1.0):
        """used_memory without buffers, once it has stopped moving (rehashing, freeing)."""
        last = [None, 0.0]

        def is_stable():
            info = self.redis.info("memory")
            used = info["used_memory"] - info["mem_aof_buffer"] - info["mem_clients_normal"]
            if last[0] is None or abs(used - last[0]) > 4096:
                last[:] = [used, time.monotonic()]
            return time.monotonic() - last[1] > still_s

        self.wait_quiet()
        wait_until(is_stable, "memory settles", timeout_s=60, interval_s=0.1)
        return last[0]

    # ---- its processes ----

    def busy_share(self, pids, seconds):
        """How much of a processor each process uses over so many seconds; percent."""
        before, since = [_cpu_ticks(pid) for pid in pids], time.monotonic()
        time.sleep(seconds)  # the length of the measurement: nothing is waited for
        taken = time.monotonic() - since
        return [100 * (_cpu_ticks(pid) - ticks) / TICKS_A_SECOND / taken
                for pid, ticks in zip(pids, before)]

    def worker_rss_bytes(self):
        with open(f"/proc/{self.node.worker_pid}/status", encoding="ascii") as file:
            return int(re.search(r"VmRSS:\s+(\d+) kB", file.read()).group(1)) * 1024


def allow_many_files():
    """As many descriptors as we may have, for us and those we start; how many."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard if hard != resource.RLIM_INFINITY else 1 << 20


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


def _cpu_ticks(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        fields = file.read().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])  # utime, stime


def _scratch_root():
    """On the disk of the build, not in a tmpfs: fsync is part of what is measured."""
    root = ROOT / "build" / "bench"
    root.mkdir(parents=True, exist_ok=True)
    return root
