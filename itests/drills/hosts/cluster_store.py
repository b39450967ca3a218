"""A Redis Cluster as the Redis of a drill: three masters, a replica each, each on its own host."""

from drills.hosts import safety
from harness.redis_cluster import BUCKETS, RedisCluster, slot_of
from harness.wait import wait_until

MASTERS = 3
NODE_TIMEOUT_MS = 2000  # less, and servers on a busy machine take each other for dead


class ClusterStore:
    """As stores.Store; `redis` is the cluster."""

    def __init__(self, network, directory, plan, env):
        assert not env, "whose clock would it be?"
        self.hosts = [network.add_host(f"redis{number}") for number in range(2 * MASTERS)]
        self.redis = RedisCluster(directory, MASTERS, hosts=self.hosts,
                                  node_timeout_ms=NODE_TIMEOUT_MS, tls=safety.certificates(),
                                  **plan.options)

    @property
    def address(self):
        return self.redis.address

    @property
    def masters(self):
        return self.redis.masters()

    @property
    def logs(self):
        return {each.directory.name: each.directory for each in self.redis.servers}

    def start(self):
        self.redis.start()

    def wait_steady(self):
        self.redis.wait_healthy()

    def wait_promoted(self, old, buckets):
        """Until others have its buckets."""
        def has_others():
            return all(self.redis.master_of(bucket) not in (None, old) for bucket in buckets)

        wait_until(has_others, f"{old.tcp_address} has a successor", 60, interval_s=0.01)

    def destroy(self):
        self.redis.destroy()


class SlotMove:
    """A bucket's slot on its way to another master, step by step."""

    def __init__(self, store, bucket, to):
        self._redis, self._slot, self._to = store.redis, slot_of(bucket), to
        self._source = None

    def begin(self):
        self._source = self._redis.begin_move(self._slot, self._to)

    def move_some(self, count):
        """So many keys at most; how many."""
        return self._redis.move_keys(self._slot, self._source, self._to, count)

    def count_keys(self):
        return int(self._source.ask("CLUSTER COUNTKEYSINSLOT", self._slot))

    def finish(self):
        while self.move_some(100):
            pass
        self._redis.end_move(self._slot, self._to)


def masters_and_buckets(store):
    """{master: its buckets}"""
    return {master: store.redis.buckets_of(master, BUCKETS) for master in store.masters}
