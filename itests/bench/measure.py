"""A node to measure, and the load generator: runs of both kinds on one Redis, each from an
empty store."""

import json
import subprocess
import tempfile
import time

from harness.build import ROOT, node_program
from harness.node import Node
from harness.wait import wait_until

BUCKETS = 64
TOPICS = 16


class Bench:
    """`with Bench(say) as bench:` starts a node of the chosen build."""

    def __init__(self, say, settings=None):
        self.say = say
        self._scratch = tempfile.TemporaryDirectory(prefix="bench-", dir=_scratch_root())
        self.node = Node(self._scratch.name, settings)
        self._next_id = 10_000_000_000_000

    def __enter__(self):
        self.node.start()
        self.redis = self.node.redis()
        self.socket = next(self.node.data_dir.glob("*.sock"))
        return self

    def __exit__(self, kind, *unused):
        try:
            if kind is None:
                self.node.stop()
        finally:
            self.node.destroy()
            self._scratch.cleanup()

    def start_load(self, mode, **options):
        """The load generator in the background; result_of() waits for it."""
        self._next_id += 100_000_000  # no id twice, without asking what an earlier run used
        options = {"port": self.node.gmq_port, "redis": self.socket, "topics": TOPICS,
                   "buckets": BUCKETS, "first_id": self._next_id, **options}
        words = [node_program().parent / "dueq-load", mode]
        for name, value in options.items():
            words += ["--" + name.replace("_", "-"), str(value)]
        return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    @staticmethod
    def result_of(process):
        out, errors = process.communicate(timeout=300)
        if process.returncode != 0:
            raise RuntimeError(f"{process.args[1]}: {errors}")
        return json.loads(out)

    def load(self, mode, **options):
        """Runs the load generator to its end; what it reports."""
        return self.result_of(self.start_load(mode, **options))

    def fill(self, count, **options):
        return self.load("fill", count=count, **options)

    def wipe(self):
        """No jobs, no topics, but no counter falls back; waits until Redis has nothing to do."""
        keys = [key for key in self.redis.scan_iter(count=10000)
                if key != b"dq:meta" and not key.endswith(b"}:n")]
        for start in range(0, len(keys), 1000):
            self.redis.unlink(*keys[start:start + 1000])
        self.wait_quiet()

    def wait_quiet(self):
        def is_quiet():
            info = self.redis.info()
            return not (info["lazyfree_pending_objects"] or info["aof_rewrite_in_progress"]
                        or info["aof_rewrite_scheduled"])

        wait_until(is_quiet, "Redis is quiet", timeout_s=120, interval_s=0.05)

    def now_ms(self):
        seconds, micros = self.redis.time()
        return seconds * 1000 + micros / 1000

    def count_in(self, letter):
        """Members of the sorted sets of all topics: d delayed, v reserved."""
        keys = list(self.redis.scan_iter(match=f"dq:{{*}}:{letter}:*", count=10000))
        pipeline = self.redis.pipeline(transaction=False)
        for key in keys:
            pipeline.zcard(key)
        return sum(pipeline.execute()) if keys else 0

    def settled_memory(self):
        """used_memory without buffers, once it has stopped moving (rehashing, freeing)."""
        last = [None, 0.0]

        def is_stable():
            info = self.redis.info("memory")
            used = info["used_memory"] - info["mem_aof_buffer"] - info["mem_clients_normal"]
            if last[0] is None or abs(used - last[0]) > 4096:
                last[:] = [used, time.monotonic()]
            return time.monotonic() - last[1] > 1.0

        self.wait_quiet()
        wait_until(is_stable, "memory settles", timeout_s=60, interval_s=0.1)
        return last[0]


def _scratch_root():
    """On the disk of the build, not in a tmpfs: fsync is part of what is measured."""
    root = ROOT / "build" / "bench"
    root.mkdir(parents=True, exist_ok=True)
    return root
