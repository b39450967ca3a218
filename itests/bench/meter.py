"""What some processes, and some Redis, have used between two looks.

Processor time is each process's own, so it says the same on a machine of two processors, where
all are in each other's way, as on one of twenty.
"""

import time
from dataclasses import dataclass, field
from pathlib import Path


def cpu_us(pid):
    """Processor time of all its threads that live, since they began; microseconds."""
    used_ns = 0
    for thread in Path(f"/proc/{pid}/task").iterdir():
        used_ns += int((thread / "schedstat").read_text(encoding="ascii").split()[0])
    return used_ns / 1000


@dataclass
class Used:
    """Between two looks. Lists have an entry a process, in the order of the site."""

    seconds: float
    node_us: list
    redis_us: list
    commands: int = 0  # that Redis ran, those that scripts call included
    scripts: int = 0
    script_us: float = 0  # Redis's own measure of the time in them
    redis_bytes: int = 0  # to and from Redis
    file_bytes: int = 0  # appended to their files; a replica is sent as many
    loader_us: float = 0
    client_bytes: int = 0  # to and from the load generator
    jobs: int = 0

    def figures(self):
        """{name: value}, by the job where that means something."""
        jobs, seconds = max(self.jobs, 1), max(self.seconds, 1e-6)
        all_us = sum(self.node_us) + sum(self.redis_us) + self.loader_us
        return {
            "per_second": self.jobs / seconds,
            "node_us": sum(self.node_us) / jobs,
            "redis_us": sum(self.redis_us) / jobs,
            "loader_us": self.loader_us / jobs,
            "script_us": self.script_us / jobs,
            "commands": self.commands / jobs,
            "scripts": self.scripts / jobs,
            "redis_bytes": self.redis_bytes / jobs,
            "file_bytes": self.file_bytes / jobs,
            "client_bytes": self.client_bytes / jobs,
            "processors": all_us / 1e6 / seconds,
            "busiest_node": max(self.node_us, default=0) / 1e6 / seconds,
            "busiest_redis": max(self.redis_us, default=0) / 1e6 / seconds,
        }


@dataclass
class Look:
    """`clients` are redis.Redis, one for each of `redis_pids`."""

    node_pids: list
    redis_pids: list
    clients: list
    at_s: float = 0
    node_us: list = field(default_factory=list)
    redis_us: list = field(default_factory=list)
    counts: list = field(default_factory=list)

    def __post_init__(self):
        self.counts = [_counts(client) for client in self.clients]
        self.at_s = time.monotonic()
        self.node_us = [cpu_us(pid) for pid in self.node_pids]
        self.redis_us = [cpu_us(pid) for pid in self.redis_pids]

    def used(self, seconds=None):
        """Since this look; `seconds`, where somebody knows better how long it took."""
        now_s = time.monotonic()
        node_us = [cpu_us(pid) - then for pid, then in zip(self.node_pids, self.node_us)]
        redis_us = [cpu_us(pid) - then for pid, then in zip(self.redis_pids, self.redis_us)]
        used = Used(seconds or now_s - self.at_s, node_us, redis_us)
        for client, before in zip(self.clients, self.counts):
            for name, value in _counts(client).items():
                setattr(used, name, getattr(used, name) + value - before[name])
        return used


def _counts(client):
    info = client.info("everything")
    script = info.get("cmdstat_evalsha", {})
    return {"commands": info["total_commands_processed"], "scripts": script.get("calls", 0),
            "script_us": script.get("usec", 0),
            "file_bytes": info.get("aof_current_size", 0),
            "redis_bytes": info["total_net_input_bytes"] + info["total_net_output_bytes"]}
