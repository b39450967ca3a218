"""The Redis of a drill: how it keeps what it is told, and what is in its way.

One on a host of its own, that can be restarted, killed, cut short, filled up, frozen and made slow;
or three, each on its own host, and as many Sentinels. A Redis Cluster is in cluster_store.py.
"""

import os
import subprocess
from dataclasses import dataclass

import redis

from drills.hosts import safety
from drills.hosts.relay import Relay
from harness.build import slowsync_library
from harness.redis_server import TcpRedis
from harness.sentinel import NAME, SentinelSet
from harness.wait import wait_until
from judge.journal import now_ms

RELAY_PORT = 6380
ROOMY = "1g"
FAILOVER_MS = 3000  # a Sentinel tries no second one within twice that time
DOWN_AFTER_MS = 2000  # less, and Sentinels on a busy machine take each other's Redis for dead


@dataclass(frozen=True)
class StorePlan:
    """`sync` as appendfsync has it; "none": no append-only file."""

    sync: str = "always"
    sync_ms: int = 0         # so much longer takes each fsync
    has_disk: bool = False   # one of its own, that can be full
    has_relay: bool = False  # on the nodes' way to it, that can be slow
    is_watched: bool = False  # a master and two replicas, with three Sentinels
    has_masters: bool = False  # several: a Redis Cluster, a replica behind each of them
    keeps_log: bool = False  # the append-only file is never made shorter

    @property
    def is_safe(self):
        """May a node that is strict use it?"""
        return self.sync == "always" and not self.is_watched and not self.has_masters

    @property
    def options(self):
        if self.sync == "none":
            return {"appendonly": "no"}
        whole = {"auto-aof-rewrite-percentage": 0} if self.keeps_log else {}
        return {"appendonly": "yes", "appendfsync": self.sync, **whole}


class Store:
    """`server` is the Redis, `address` what the nodes are told, `hosts` whom to cut off."""

    def __init__(self, network, directory, plan, env):
        self.plan, self.directory = plan, directory
        host = network.add_host("redis")
        self.hosts = [host]
        if plan.sync_ms:
            env = {**env, "LD_PRELOAD": str(slowsync_library()),
                   "DUEQ_SLOWSYNC_MS": str(plan.sync_ms)}
        self.directory.mkdir()
        if plan.has_disk:
            _run("mount", "-t", "tmpfs", "-o", f"size={ROOMY}", "dueq-drill", self.directory)
        self._tls = safety.certificates()
        self.server = TcpRedis(self.directory, host, env, self._tls, **plan.options,
                               **{"protected-mode": "no"})
        self.relay = None
        if plan.has_relay:
            self.relay = Relay(host, RELAY_PORT, (host.address, self.server.port))

    @property
    def address(self):
        return f"{'rediss://' if self._tls else ''}{self.server.ip}:{self._port}"

    @property
    def _port(self):
        return RELAY_PORT if self.relay else self.server.port

    @property
    def masters(self):
        """Those that have the jobs between them."""
        return [self.server]

    @property
    def logs(self):
        """{name: the directory of a Redis}"""
        return {"redis": self.directory}

    def start(self):
        self.server.start()

    def wait_steady(self):
        """Whoever heals it starts it."""

    def destroy(self):
        self.server.destroy()
        if self.relay:
            self.relay.close()
        if self.plan.has_disk and os.path.ismount(self.directory):
            _run("umount", "--lazy", self.directory)  # a log may still be open

    # ---- faults ----

    def answers_in_ms(self):
        """By the nodes' way to it: the quickest of three."""
        with self.hosts[0].entered():
            client = redis.Redis(self.server.ip, self._port, socket_timeout=20,
                                 **(self._tls.redis_client() if self._tls else {}))
            client.ping()  # connects it there

        def took_ms():
            begun_ms = now_ms()
            client.ping()
            return now_ms() - begun_ms

        with client:
            return min(took_ms() for _ in range(3))

    def fill_disk(self):
        """Not a page more than what is on it: refused while more is written."""
        wait_until(lambda: _try("mount", "-o", f"remount,size={self._used_bytes()}",
                                self.directory), "the disk is full")

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


class WatchedStore:
    """As Store; `watched` is the set, `server` its master of now."""

    def __init__(self, network, directory, plan, env):
        assert not env, "whose clock would it be?"
        self.hosts = [network.add_host(name) for name in ("redis", "redis1", "redis2")]
        sentinels = [network.add_host(f"sn{number}") for number in (1, 2, 3)]
        self.watched = SentinelSet(directory, hosts=self.hosts, sentinel_hosts=sentinels,
                                   failover_timeout_ms=FAILOVER_MS,
                                   down_after_ms=DOWN_AFTER_MS, tls=safety.certificates(),
                                   **plan.options, **{"protected-mode": "no"})
        self._asked = []

    @property
    def address(self):
        return self.watched.url

    @property
    def server(self):
        return wait_until(self.watched.master, "the Sentinels agree on a master", 60)

    @property
    def masters(self):
        return [self.server]

    @property
    def logs(self):
        return {each.directory.name: each.directory for each in self.watched.servers}

    def start(self):
        self.watched.start()
        self._ask_sentinels()

    def _ask_sentinels(self):
        for each in self.watched.sentinels:
            with each.host.entered():
                self._asked.append(each.client())
                self._asked[-1].ping()  # connects it there

    def failover_by_hand(self):
        """Begins one, as soon as the last is long enough ago."""
        wait_until(lambda: self.watched.sentinels[0].ask("SENTINEL", "FAILOVER", NAME),
                   "a Sentinel begins a failover", 60, interval_s=0.05)

    def wait_promoted(self, old):
        """When the first Sentinel names another master, as near as can be asked."""
        def is_told():
            return any(each.sentinel_get_master_addr_by_name(NAME) != (old.ip, old.port)
                       for each in self._asked)

        wait_until(is_told, "a Sentinel names another master", 60, interval_s=0.001)
        return now_ms()

    def wait_left(self, old, nodes):
        """When none of those hosts is connected to the old master, and no Sentinel names it."""
        addresses = {host.address for host in nodes}
        with old.client() as client:
            def is_left():
                return self._has_gone(old) and not any(
                    each["addr"].rpartition(":")[0] in addresses for each in client.client_list())

            wait_until(is_left, "the nodes leave the old master", 60, interval_s=0.002)
        return now_ms()

    def wait_over(self, old):
        """Until all Sentinels have done with the old master, and the others follow the new one."""
        wait_until(lambda: self._has_gone(old) and all(
            "failover_in_progress" not in each.sentinel_master(NAME)["flags"]
            for each in self._asked), "the failover is over", 60, interval_s=0.02)
        others = [each for each in self.watched.servers if each is not old]
        wait_until(lambda: sum(each.info().get("master_link_status") == "up" for each in others)
                   == len(others) - 1, "the others follow the new master", 60, interval_s=0.02)

    def _has_gone(self, old):
        """For all Sentinels."""
        return all(each.sentinel_get_master_addr_by_name(NAME) != (old.ip, old.port)
                   for each in self._asked)

    def wait_steady(self):
        """Until all is well, and all Sentinels name the same master."""
        self.watched.wait_healthy()
        wait_until(lambda: len({each.sentinel_get_master_addr_by_name(NAME)
                                for each in self._asked}) == 1, "all Sentinels agree", 60)

    def failovers(self):
        """How many the Sentinels have tried: a number that only grows."""
        return max(int(each.sentinel_master(NAME)["config-epoch"]) for each in self._asked)

    def tilts(self):
        """How often Sentinels found that time had jumped, or stood still for 2 s: each then only
        looks on for 30 s (TILT). A number that only grows."""
        return sum(each.tilts() for each in self.watched.sentinels)

    def destroy(self):
        self.watched.destroy()


def _run(*words):
    assert _try(*words), words


def _try(*words):
    """Did it work?"""
    return subprocess.run([str(word) for word in words], check=False,
                          capture_output=True).returncode == 0
