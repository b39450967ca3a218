"""A Redis master with its replicas, and the Sentinels that watch over them.

    watched = SentinelSet(directory, appendonly="yes").start()
    watched.url                    # "sentinel://dueq@127.0.0.1:...,..." for store.redis
    watched.kill_master()
    watched.wait_master(other_than=old)
    watched.failover()             # by hand; returns the new master

On loopback ports, or each on a host of a network (`hosts`, `sentinel_hosts`). A Redis that comes
back after kill() begins with what it was started with: the first master as a master, for some
seconds, until a Sentinel makes it a replica. The Sentinels know each other from the start, which
saves the seconds in which they would find each other.
"""

import socket
from contextlib import nullcontext
from pathlib import Path

import redis

from harness.ports import free_port
from harness.process import Process, Restartable
from harness.redis_server import LOOPBACK, TcpRedis
from harness.wait import wait_until

NAME = "dueq"
SENTINEL_PORT = 26379


class WatchedRedis(TcpRedis):
    """One that Sentinels know."""

    def reaches(self, count):
        """Do so many replicas have what is written now? One whose first copy is made hears of no
        write before it has said that it has it, though its link is up."""
        pipeline = self.client().pipeline(transaction=False)
        pipeline.set("harness:probe", 1).execute_command("WAIT", count, 1000)
        try:
            return pipeline.execute()[-1] >= count
        except redis.exceptions.ResponseError:  # a replica now, or min-replicas-to-write
            return False


class Sentinel(Restartable):
    """One process, its configuration in `directory`, where it keeps what it has learned."""

    def __init__(self, directory, number, host=None, password=None, tls=None):
        self.directory, self.host = Path(directory), host
        self.ip = host.address if host else LOOPBACK
        self.port = SENTINEL_PORT if host else free_port()
        self.id = f"{number:040x}"
        self._password, self._tls = password, tls
        self.process = None

    @property
    def address(self):
        return f"{self.ip}:{self.port}"

    def configure(self, lines, others):
        self.directory.mkdir(parents=True, exist_ok=True)
        own = [f"bind {self.ip}", f"dir {self.directory}", f"sentinel myid {self.id}",
               *self._port_lines()]
        if self._password:
            own.append(f"requirepass {self._password}")
        known = [f"sentinel known-sentinel {NAME} {each.ip} {each.port} {each.id}"
                 for each in others]
        (self.directory / "sentinel.conf").write_text("\n".join([*own, *lines, *known, ""]))

    def _port_lines(self):
        if not self._tls:
            return [f"port {self.port}"]
        return ["port 0", f"tls-port {self.port}",
                *(f"{word} {value}" for word, value in self._tls.redis_conf().items())]

    def start(self):
        words = ["redis-server", self.directory / "sentinel.conf", "--sentinel"]
        self.process = Process(self.host.command(words) if self.host else words,
                               self.directory / "sentinel.log")

    def ask(self, *words):
        """The answer to a command; None when there is none."""
        try:
            with self.host.entered() if self.host else nullcontext():
                with self.client(socket_timeout=2) as client:
                    return client.execute_command(*words)
        except (redis.exceptions.ConnectionError, redis.exceptions.TimeoutError,
                redis.exceptions.ResponseError, socket.error):
            return None

    def client(self, **options):
        """It connects with its first command: on the Sentinel's host, or on one that reaches it."""
        words = self._tls.redis_client() if self._tls else {}
        return redis.Redis(self.ip, self.port, password=self._password, decode_responses=True,
                           **words, **options)

    def master_address(self):
        """(ip, port) as it would tell a client; None when it does not."""
        found = self.ask("SENTINEL", "GET-MASTER-ADDR-BY-NAME", NAME)
        return (found[0], int(found[1])) if found else None

    def tilts(self):
        """How often it has entered TILT."""
        return self.process.output().count("+tilt #tilt mode entered")

    def facts(self):
        """What SENTINEL MASTER says: {"num-other-sentinels": "2", ...}."""
        found = self.ask("SENTINEL", "MASTER", NAME) or {}
        return found if isinstance(found, dict) else dict(zip(found[::2], found[1::2]))


class SentinelSet:
    """`options` are words of redis.conf for each Redis. `hosts`: of a network, one for each
    Redis (the first is the first master), `sentinel_hosts` one for each Sentinel."""

    def __init__(self, directory, replicas=2, sentinels=3, down_after_ms=500,
                 failover_timeout_ms=5000, hosts=None, sentinel_hosts=None,
                 sentinel_password=None, tls=None, **options):
        self.directory, self._tls = Path(directory), tls
        hosts = hosts or [None] * (replicas + 1)
        sentinel_hosts = sentinel_hosts or [None] * sentinels
        if options.get("requirepass"):
            options["masterauth"] = options["requirepass"]
        options = {"protected-mode": "no", "repl-diskless-sync-delay": 0,
                   "repl-ping-replica-period": 1, **options}
        self.servers = [WatchedRedis(self.directory / "redis0", hosts[0], tls=tls, **options)]
        first = self.servers[0]
        self.servers += [
            WatchedRedis(self.directory / f"redis{number}", host, tls=tls,
                         replicaof=f"{first.ip} {first.port}", **options)
            for number, host in enumerate(hosts[1:], 1)]
        self.sentinels = [Sentinel(self.directory / f"sentinel{number}", number, host,
                                   sentinel_password, tls)
                          for number, host in enumerate(sentinel_hosts, 1)]
        quorum = len(self.sentinels) // 2 + 1
        self._lines = [f"sentinel monitor {NAME} {first.ip} {first.port} {quorum}",
                       f"sentinel down-after-milliseconds {NAME} {down_after_ms}",
                       f"sentinel failover-timeout {NAME} {failover_timeout_ms}"]
        if options.get("requirepass"):
            self._lines.append(f"sentinel auth-pass {NAME} {options['requirepass']}")

    @property
    def url(self):
        """For store.redis."""
        scheme = "rediss+sentinel" if self._tls else "sentinel"
        return f"{scheme}://{NAME}@" + ",".join(each.address for each in self.sentinels)

    # ---- life ----

    def start(self):
        """Until the replicas follow the master, and all Sentinels see all there is."""
        for server in self.servers:
            server.start()
        wait_until(self.is_replicated, "the replicas follow the master")
        for sentinel in self.sentinels:
            sentinel.configure(self._lines, [each for each in self.sentinels
                                             if each is not sentinel])
            sentinel.start()
        wait_until(self.is_watched, "the Sentinels see all there is")
        return self

    def stop(self):
        for each in [*self.sentinels, *self.servers]:
            each.stop()

    def destroy(self):
        """kill -9 of all."""
        for each in [*self.sentinels, *self.servers]:
            each.kill()

    # ---- looking ----

    def is_replicated(self):
        """Is one the master, and has each other what that has?"""
        running = [server for server in self.servers if server.is_running]
        masters = [server for server in running if _is_master(server)]
        return len(masters) == 1 and masters[0].reaches(len(running) - 1)

    def is_watched(self):
        """Does each Sentinel see the others and the replicas, with nothing down?"""
        facts = [sentinel.facts() for sentinel in self.sentinels if sentinel.is_running]
        return all(each and each["flags"] == "master"
                   and int(each["num-other-sentinels"]) == len(self.sentinels) - 1
                   and int(each["num-slaves"]) == len(self.servers) - 1
                   for each in facts)

    def server_at(self, address):
        """The Redis at (ip, port)."""
        return next(each for each in self.servers if (each.ip, each.port) == address)

    def master(self):
        """Whom more than half of the Sentinels name, and who says so himself; else None."""
        named = [sentinel.master_address() for sentinel in self.sentinels
                 if sentinel.is_running]
        for address in set(named) - {None}:
            if named.count(address) > len(self.sentinels) // 2:
                server = self.server_at(address)
                if server.is_running and _is_master(server):
                    return server
        return None

    def replicas(self):
        master = self.master()
        return [each for each in self.servers if each is not master]

    def wait_master(self, other_than=None):
        def found():
            master = self.master()
            return master if master is not other_than else None

        return wait_until(found, "the Sentinels have made another the master", 60)

    def wait_healthy(self):
        """All run, one is the master, the others follow it, and no Sentinel misses any."""
        wait_until(lambda: self.master() and self.is_replicated() and self.is_watched(),
                   "all is well again", 60)

    # ---- faults ----

    def kill_master(self):
        """kill -9; the Redis that was the master."""
        master = wait_until(self.master, "there is a master")
        master.kill()
        return master

    def failover(self):
        """By hand, at a Sentinel; the new master."""
        before = wait_until(self.master, "there is a master")
        sentinel = next(each for each in self.sentinels if each.is_running)
        wait_until(lambda: sentinel.ask("SENTINEL", "FAILOVER", NAME),
                   "a Sentinel begins a failover", 60)
        return self.wait_master(other_than=before)


def _is_master(server):
    """By its own word. One that is made another's replica ends its connections."""
    try:
        return server.info()["role"] == "master"
    except redis.ConnectionError:
        return False
