"""A node to measure: runs of all kinds on one Redis, each from an empty store."""

import os
import time

from bench.loads import Loads, undisturbed
from harness.clock import redis_now_ms
from harness.memory import cpu_s
from harness.node import Node
from harness.wait import wait_until


class Bench(Loads):
    """`with Bench(progress) as bench:` starts a node of the chosen build, or of that folder."""

    def __init__(self, progress=None, settings=None, build=None):
        super().__init__(progress)
        self.settings = settings
        self.node = Node(self.directory, settings, build=build)

    def __enter__(self):
        try:
            self.node.start()
        except BaseException:
            self.__exit__(True)
            raise
        self.redis = self.node.redis()
        self.socket = self.node.data_dir / "redis.sock"
        return self

    def __exit__(self, kind, *unused):
        with undisturbed():
            try:
                self.kill_loads()
                if kind is None:
                    self.node.stop()
            finally:
                self.node.destroy()
                self.clean_up()

    # ---- the load generator ----

    def start_load(self, mode, **options):
        options.setdefault("redis", self.socket)
        options.setdefault("port", self._port_of(options.get("protocol", "gmq")))
        return super().start_load(mode, **options)

    def _port_of(self, protocol):
        return self.node.http_port if protocol == "http" else self.node.gmq_port

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

    def wait_quiet(self):
        def is_quiet():
            info = self.redis.info()
            return not (info["lazyfree_pending_objects"] or info["aof_rewrite_in_progress"]
                        or info["aof_rewrite_scheduled"])

        wait_until(is_quiet, "Redis is quiet", timeout_s=300, interval_s=0.05)

    def never_rewrite(self):
        """From now on the append-only file only grows: no rewrite in the middle of a run."""
        self.redis.config_set("auto-aof-rewrite-percentage", 0)

    def now_ms(self):
        return redis_now_ms(self.redis)

    def keys_of(self, letter):
        """The keys of all topics for one place: d delayed, r ready, v reserved; u: of all ledgers."""
        return list(self.redis.scan_iter(match=f"dq:{{*}}:{letter}:*", count=10000))

    def count_in(self, letter):
        """Members of the sorted sets of all topics: d delayed, v reserved."""
        pipeline = self.redis.pipeline(transaction=False)
        for key in self.keys_of(letter):
            pipeline.zcard(key)
        return sum(pipeline.execute())

    def settled_memory(self, still_s):
        """used_memory without buffers and without the ledger of pushes, which does not grow with
        the jobs, once it has stopped moving (rehashing, freeing)."""
        last = [None, 0.0]

        def is_stable():
            info = self.redis.info("memory")
            used = info["used_memory"] - info["mem_aof_buffer"] - info["mem_clients_normal"]
            if last[0] is None or abs(used - last[0]) > 4096:
                last[:] = [used, time.monotonic()]
            return time.monotonic() - last[1] > still_s

        self.wait_quiet()
        wait_until(is_stable, "memory settles", timeout_s=60, interval_s=0.1)
        return last[0] - sum(map(self.redis.memory_usage, self.keys_of("u")))

    # ---- its processes ----

    def busy_share(self, pids, seconds):
        """How much of a processor each process uses over so many seconds; percent."""
        before, since = [cpu_s(pid) for pid in pids], time.monotonic()
        time.sleep(seconds)  # the length of the measurement: nothing is waited for
        taken = time.monotonic() - since
        return [100 * (cpu_s(pid) - used) / taken for pid, used in zip(pids, before)]
