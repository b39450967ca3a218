"""Faults and moves of a Redis Cluster in random order, under a load that finds out at once what is
lost or comes twice. A few in CI; more with ./dev drill redis, and DUEQ_SEED for the same again."""

import os

import pytest

from harness.redis_cluster import RedisCluster, slot_of
from harness.steady import BUCKETS, Steady, topic_in
from harness.wait import wait_until

ROUNDS = int(os.environ.get("DUEQ_ROUNDS", 3))


class Faults:
    """Each leaves the Redis Cluster as it will be well again by itself."""

    def __init__(self, servers, dice, buckets):
        self._servers, self._dice, self._buckets = servers, dice, buckets

    def _master(self):
        return self._dice.choice(self._servers.masters())

    def _bucket(self):
        return self._dice.choice(self._buckets)

    def _other(self, source):
        return self._dice.choice([each for each in self._servers.masters() if each is not source])

    def move_a_bucket(self, steady):
        bucket = self._bucket()
        to = self._other(self._servers.master_of(bucket))
        self._servers.move_bucket(bucket, to, portion=1)

    def move_half_way_first(self, steady):
        """As when redis-cli is stopped, and later its `fix` ends the move."""
        bucket = self._bucket()
        slot, source = slot_of(bucket), self._servers.master_of(bucket)
        to = self._other(source)
        self._servers.begin_move(slot, to)
        self._servers.move_keys(slot, source, to, 3)
        steady.wait_rounds(1, [topic_in(each) for each in self._buckets if each != bucket])
        while self._servers.move_keys(slot, source, to):
            pass
        self._servers.end_move(slot, to)

    def failover_by_hand(self, steady):
        self._servers.failover(self._bucket())

    def kill_a_master(self, steady):
        bucket = self._bucket()
        killed = self._servers.kill_master_of(bucket)
        self._servers.wait_master_of(bucket, other_than=killed)
        killed.start()

    def kill_a_master_that_is_back_at_once(self, steady):
        self._servers.kill_master_of(self._bucket()).start()

    def freeze_a_master(self, steady):
        bucket = self._bucket()
        frozen = self._servers.master_of(bucket)
        frozen.freeze()
        self._servers.wait_master_of(bucket, other_than=frozen)
        frozen.thaw()

    def kill_a_replica(self, steady):
        replica = self._dice.choice(self._servers.replicas_of(self._master()))
        replica.kill()
        replica.start()

    def drop_all_connections(self, steady):
        self._master().ask("CLIENT KILL TYPE normal")
        self._master().ask("CLIENT KILL TYPE pubsub")

    def lose_a_slot(self, steady):
        bucket = self._bucket()
        master = self._servers.master_of(bucket)
        wait_until(lambda: self._servers.forget_slot(slot_of(bucket)), "nobody has it")
        steady.wait_rounds(1, [topic_in(each) for each in self._buckets if each != bucket])
        master.ask("CLUSTER ADDSLOTS", slot_of(bucket))

    def kill_all(self, steady):
        self._servers.destroy()
        self._servers.launch_all()


FAULTS = [name for name in vars(Faults) if name[0] != "_"]


@pytest.fixture
def servers(tmp_path):
    """With everysec a Redis that waits for its disk has answered what it has not written yet: all
    killed at once would have lost that."""
    made = RedisCluster(tmp_path / "redis", node_timeout_ms=2000, appendfsync="always")
    yield made.start()
    made.destroy()


def test_faults_in_random_order(servers, make_node, dice):
    node = make_node({"store.redis": servers.address, "store.min_replicas": 1}).start()
    buckets = dice.sample(range(BUCKETS), 12)
    faults = Faults(servers, dice, buckets)
    with Steady(node, [topic_in(bucket) for bucket in buckets]) as steady:
        for _ in range(ROUNDS):
            steady.wait_rounds(5)
            name = dice.choice(FAULTS)
            print(name, steady.troubles)
            getattr(faults, name)(steady)
            servers.wait_healthy()
        steady.wait_rounds(5)
    assert node.is_ready()
    with node.api() as api:
        wait_until(lambda: not api.status()["store"]["unreached"], "all buckets are reached")
