"""A Redis Cluster: masters with their replicas, slots that move, masters that fail.

    cluster = RedisCluster(directory).start()   # three masters, a replica each
    cluster.address                             # "cluster://127.0.0.1:...,..." for store.redis
    cluster.master_of(bucket)                   # a ClusterRedis
    killed = cluster.kill_master_of(bucket)
    cluster.wait_master_of(bucket, other_than=killed)
    cluster.move_bucket(bucket, to=cluster.masters()[1])

On loopback ports, or each on a host of a network (`hosts`: the masters' first, then the replicas'
in the same order). A slot belongs to the server that claims it with the highest epoch of all that answer; a
frozen or ended server is not asked. Replicas stay with their master.
"""

from pathlib import Path

import redis
from redis.crc import key_slot

from harness.ports import free_port
from harness.process import Restartable
from harness.redis_server import TcpRedis
from harness.wait import wait_until

SLOTS, BUCKETS = 16384, 64
BUS_PORT = 16379
PATIENCE_S = 60  # of Redis: a failover, with its votes, on a busy machine


def slot_of(bucket):
    """Of all keys of the bucket."""
    return key_slot(b"%d" % bucket)


def bucket_of(topic, buckets=BUCKETS):
    """Of all jobs of the topic: crc16 of its name (base/crc16.h), for `buckets` that divide 16384."""
    return key_slot(topic.encode()) % buckets


class Claim:
    """What a server says of itself in CLUSTER NODES."""

    def __init__(self, line):
        self.id, _, flags, self.master_id, _, _, epoch, _, *slots = line.split()
        self.is_master = "master" in flags.split(",")
        self.epoch = int(epoch)
        self.ranges = [tuple(map(int, (text.split("-") * 2)[:2])) for text in slots
                       if not text.startswith("[")]  # it moves

    def has(self, slot):
        return any(first <= slot <= last for first, last in self.ranges)


class ClusterRedis(TcpRedis):
    """One node of it."""

    def __init__(self, directory, host=None, env=None, tls=None, **options):
        self.bus_port = BUS_PORT if host else free_port()
        self.is_frozen = False
        self.id = None
        super().__init__(directory, host, env, tls, cluster_enabled="yes",
                         cluster_port=self.bus_port, **options)

    def start(self):
        super().start()
        self.id = self.ask("CLUSTER MYID")
        return self

    def freeze(self):
        super().freeze()
        self.is_frozen = True

    def thaw(self):
        super().thaw()
        self.is_frozen = False

    def kill(self):
        super().kill()
        self.is_frozen = False

    @property
    def is_there(self):
        return self.is_running and not self.is_frozen

    def command(self, *words):
        """The answer as Redis gives it, not as redis-py likes it."""
        with self.client() as client:
            client.response_callbacks.clear()
            return client.execute_command(*words)

    def ask(self, *words):
        """An answer as text, or lists of text."""
        return _text(self.command(*words))

    def facts(self):
        """What CLUSTER INFO says: {"cluster_state": "ok", ...}."""
        return dict(line.split(":", 1) for line in self.ask("CLUSTER INFO").split())

    def nodes(self):
        """The lines of CLUSTER NODES."""
        return self.ask("CLUSTER NODES").splitlines()

    def claim(self):
        return Claim(next(line for line in self.nodes() if "myself" in line.split()[2]))

    def is_master(self):
        return self.claim().is_master

    def reaches(self, count):
        """Do so many replicas have what is written now?"""
        claim = self.claim()
        if not claim.ranges:
            return True
        tag = next(tag for tag in range(SLOTS * 100) if claim.has(key_slot(b"%d" % tag)))
        with self.client() as client:
            pipeline = client.pipeline(transaction=False)
            pipeline.set(f"harness:{{{tag}}}", 1).execute_command("WAIT", count, 1000)
            try:
                return pipeline.execute()[-1] >= count
            except redis.exceptions.ResponseError:  # a replica now, or the cluster is down
                return False


def _text(answer):
    if isinstance(answer, bytes):
        return answer.decode()
    return [_text(each) for each in answer] if isinstance(answer, list) else answer


class RedisCluster(Restartable):
    """`replicas`: of each master. `options` are words of redis.conf for each server."""

    def __init__(self, directory, masters=3, replicas=1, hosts=None, env=None,
                 node_timeout_ms=1000, tls=None, **options):
        self.directory = Path(directory)
        self._env, self._tls = env, tls
        if options.get("requirepass"):
            options["masterauth"] = options["requirepass"]
        self._options = {"protected-mode": "no", "appendonly": "yes",
                         "repl-diskless-sync-delay": 0, "repl-ping-replica-period": 1,
                         "cluster-node-timeout": node_timeout_ms,
                         "cluster-allow-replica-migration": "no",
                         "cluster-require-full-coverage": "no", **options}
        self._first_masters, self._replicas = masters, replicas
        self.servers = []
        for host in hosts or [None] * (masters * (1 + replicas)):
            self._add_server(host)

    def _add_server(self, host=None):
        directory = self.directory / f"redis{len(self.servers)}"
        self.servers.append(ClusterRedis(directory, host, self._env, tls=self._tls,
                                         **self._options))
        return self.servers[-1]

    @property
    def address(self):
        """For store.redis; of all servers there were at the start."""
        count = self._first_masters * (1 + self._replicas)
        servers = ",".join(each.tcp_address for each in self.servers[:count])
        return f"{'rediss+' if self._tls else ''}cluster://{servers}"

    # ---- life ----

    def start(self):
        """Made of empty servers: slots in equal parts, replicas behind their masters."""
        for server in self.servers:
            server.start()
        masters = self.servers[:self._first_masters]
        for number, master in enumerate(masters):
            master.ask("CLUSTER SET-CONFIG-EPOCH", number + 1)
            master.ask("CLUSTER ADDSLOTSRANGE", SLOTS * number // len(masters),
                       SLOTS * (number + 1) // len(masters) - 1)
        for server in self.servers[1:]:
            self._meet(server)
        for number, replica in enumerate(self.servers[self._first_masters:]):
            self._replicate(replica, masters[number % len(masters)])
        self.wait_healthy()
        return self

    def launch_all(self):
        """Again, on their data, those that do not run."""
        for server in self.servers:
            if not server.is_running:
                server.start()

    def stop(self):
        for each in self.servers:
            each.stop()

    def destroy(self):
        """kill -9 of all."""
        for each in self.servers:
            each.kill()

    def kill(self):
        self.destroy()

    def _meet(self, server):
        first = self.servers[0]
        server.ask("CLUSTER MEET", first.ip, first.port, first.bus_port)

    def _replicate(self, replica, master):
        def is_taken():
            try:
                return replica.ask("CLUSTER REPLICATE", master.id)
            except redis.exceptions.ResponseError:  # has not heard of it yet
                return False

        wait_until(is_taken, "a replica follows its master", PATIENCE_S)

    # ---- looking ----

    def there(self):
        """Servers that can be asked."""
        return [server for server in self.servers if server.is_there]

    def claims(self):
        """{server: what it says of itself}, of those that can be asked."""
        return {server: server.claim() for server in self.there()}

    def masters(self):
        """Those that have slots, in the order of their first one."""
        found = {}
        for server, claim in self.claims().items():
            for first, _ in claim.ranges if claim.is_master else ():
                if first not in found or found[first][0] < claim.epoch:
                    found[first] = (claim.epoch, server)
        in_order = [server for _, (_, server) in sorted(found.items())]
        return list(dict.fromkeys(in_order))

    def master_of_slot(self, slot):
        """None while nobody has it that can be asked."""
        claims = [(claim.epoch, server) for server, claim in self.claims().items()
                  if claim.is_master and claim.has(slot)]
        return max(claims, key=lambda each: each[0])[1] if claims else None

    def master_of(self, bucket):
        return self.master_of_slot(slot_of(bucket))

    def buckets_of(self, master, buckets=BUCKETS):
        claim = master.claim()
        return [bucket for bucket in range(buckets) if claim.has(slot_of(bucket))]

    def replicas_of(self, master):
        return [server for server, claim in self.claims().items()
                if not claim.is_master and claim.master_id == master.id]

    def is_healthy(self):
        """All run and see all others, agree on who has which slot, and the replicas have what
        their masters have."""
        if len(self.there()) != len(self.servers):
            return False
        try:
            return (all(self._sees_all(server) for server in self.servers)
                    and len({_owners(server) for server in self.servers}) == 1
                    and all(master.reaches(len(self.replicas_of(master)))
                            for master in self.masters()))
        except redis.exceptions.RedisError:  # one has just ended, or loads its data
            return False

    def _sees_all(self, server):
        flags = [line.split()[2] for line in server.nodes()]
        return (server.facts()["cluster_state"] == "ok" and len(flags) == len(self.servers)
                and not any("fail" in each or "handshake" in each for each in flags)
                and self._has_its_master(server))

    def _has_its_master(self, server):
        info = server.info()
        return info["role"] == "master" or info["master_link_status"] == "up"

    def wait_healthy(self):
        wait_until(self.is_healthy, "all of the Redis Cluster is well", PATIENCE_S)

    def wait_master_of(self, bucket, other_than=None):
        def found():
            master = self.master_of(bucket)
            return master if master is not other_than else None

        return wait_until(found, f"bucket {bucket} has another master", PATIENCE_S)

    def forget_slot(self, slot):
        """True when no server knows a master of the slot. A server that hears a late claim of the
        old master believes it: until it is true, ask again."""
        knowing = [server for server in self.there()
                   if int(server.facts()["cluster_slots_assigned"]) == SLOTS]
        master = self.master_of_slot(slot)
        for server in sorted(knowing, key=lambda each: each is not master):
            server.ask("CLUSTER DELSLOTS", slot)
        return not knowing

    # ---- slots that move ----

    def begin_move(self, slot, to):
        """From now on keys of the slot that are not there are asked for at `to`; returns who has
        it."""
        source = wait_until(lambda: self.master_of_slot(slot), f"somebody has slot {slot}")
        to.ask("CLUSTER SETSLOT", slot, "IMPORTING", source.id)
        source.ask("CLUSTER SETSLOT", slot, "MIGRATING", to.id)
        return source

    def move_keys(self, slot, source, to, portion=100):
        """Some of its keys; how many."""
        keys = source.command("CLUSTER GETKEYSINSLOT", slot, portion)
        password = self._options.get("requirepass")
        if keys:
            source.ask("MIGRATE", to.ip, to.port, "", 0, 60000,
                       *(["AUTH", password] if password else []), "KEYS", *keys)
        return len(keys)

    def end_move(self, slot, to):
        """`to` first, then all masters that can be asked, as redis-cli does it."""
        others = [server for server, claim in self.claims().items()
                  if claim.is_master and server is not to]
        for server in [to, *others]:
            server.ask("CLUSTER SETSLOT", slot, "NODE", to.id)

    def move_bucket(self, bucket, to, portion=100):
        """The whole of it, while it is used."""
        slot = slot_of(bucket)
        source = self.begin_move(slot, to)
        while self.move_keys(slot, source, to, portion):
            pass
        self.end_move(slot, to)

    # ---- faults ----

    def kill_master_of(self, bucket):
        """kill -9; the server that was it."""
        master = wait_until(lambda: self.master_of(bucket), "there is a master")
        master.kill()
        return master

    def failover(self, bucket):
        """By hand, at a replica of the bucket's master; the new master."""
        before = wait_until(lambda: self.master_of(bucket), "there is a master")
        replica = wait_until(lambda: self.replicas_of(before), "it has a replica")[0]

        def is_master():
            try:
                replica.ask("CLUSTER FAILOVER")
            except redis.exceptions.ResponseError:  # it is one now
                pass
            return self.master_of(bucket) is replica

        wait_until(is_master, "the replica becomes the master", PATIENCE_S, 0.2)
        return replica


def _owners(server):
    """As a client is told: who has which slots."""
    return frozenset((first, last, ip, port)
                     for first, last, (ip, port, *_), *_ in server.ask("CLUSTER SLOTS"))
