"""The Redis of a drill: how it keeps what it is told, and what is in its way.

On a host of its own; it can be restarted, killed, cut short, filled up, frozen and made slow.
"""

import os
import signal
import subprocess
from dataclasses import dataclass

from drills.relay import Relay
from harness.build import slowsync_library
from harness.redis_server import RedisServer

REDIS_PORT, RELAY_PORT = 6379, 6380
ROOMY = "1g"


@dataclass(frozen=True)
class StorePlan:
    """`sync` as appendfsync has it; "none": no append-only file."""

    sync: str = "always"
    sync_ms: int = 0         # so much longer takes each fsync
    has_disk: bool = False   # one of its own, that can be full
    has_relay: bool = False  # on the nodes' way to it, that can be slow

    @property
    def options(self):
        if self.sync == "none":
            return {"appendonly": "no"}
        return {"appendonly": "yes", "appendfsync": self.sync}


class Store:
    """`server` is the Redis, `address` what the nodes are told, `hosts` whom to cut off."""

    def __init__(self, network, directory, plan, env):
        self.plan, self.directory = plan, directory / "redis"
        host = network.add_host("redis")
        self.hosts = [host]
        if plan.sync_ms:
            env = {**env, "LD_PRELOAD": str(slowsync_library()),
                   "DUEQ_SLOWSYNC_MS": str(plan.sync_ms)}
        self.directory.mkdir()
        if plan.has_disk:
            _run("mount", "-t", "tmpfs", "-o", f"size={ROOMY}", "dueq-drill", self.directory)
        self.server = RedisServer(self.directory, host, env, port=REDIS_PORT, bind=host.address,
                                  **plan.options, **{"protected-mode": "no"})
        self.relay = None
        if plan.has_relay:
            self.relay = Relay(host, RELAY_PORT, (host.address, REDIS_PORT))

    @property
    def address(self):
        return f"{self.hosts[0].address}:{RELAY_PORT if self.relay else REDIS_PORT}"

    def start(self):
        self.server.start()

    def destroy(self):
        self.server.destroy()
        if self.relay:
            self.relay.close()
        if self.plan.has_disk and os.path.ismount(self.directory):
            _run("umount", "--lazy", self.directory)  # a log may still be open

    # ---- faults ----

    def freeze(self):
        os.kill(self.server.process.pid, signal.SIGSTOP)

    def thaw(self):
        os.kill(self.server.process.pid, signal.SIGCONT)

    def fill_disk(self):
        """Not a page more than what is on it."""
        _run("mount", "-o", f"remount,size={self._used_bytes()}", self.directory)

    def empty_disk(self):
        _run("mount", "-o", f"remount,size={ROOMY}", self.directory)

    def _used_bytes(self):
        stat = os.statvfs(self.directory)
        return (stat.f_blocks - stat.f_bfree) * stat.f_frsize

    @property
    def log(self):
        """The file with the last commands of the append-only log."""
        return max((self.directory / "appendonlydir").glob("*.incr.aof"),
                   key=lambda path: int(path.name.split(".")[-3]))


def _run(*words):
    subprocess.run([str(word) for word in words], check=True, capture_output=True)
