"""Nodes on a Redis Cluster of six servers: all buckets work, slots move and masters fail while
clients work, and what a fault does not touch goes on."""

from contextlib import contextmanager

import pytest

from harness.background import in_background
from harness.cluster import Cluster
from harness.redis_cluster import RedisCluster, slot_of
from harness.steady import Steady, topic_in
from harness.wait import wait_until

ROUNDS = 20  # of each worker, between two events
HOUR_MS = 3600 * 1000
# What a fault does not touch is never refused, however busy the machine.
PATIENT = {"store__min_replicas": 1, "store__replica_timeout": "15s",
           "store__command_timeout": "20s", "store__hold": "60s"}


@pytest.fixture(scope="module")
def servers(tmp_path_factory):
    made = RedisCluster(tmp_path_factory.mktemp("redis"), node_timeout_ms=2500,
                        appendfsync="always", cluster_replica_validity_factor=0)
    yield made
    made.destroy()


@pytest.fixture(scope="module")
def nodes(servers, tmp_path_factory, request):
    """Two that stand by for each other."""
    made = Cluster(tmp_path_factory.mktemp("cluster"), redis=servers)
    try:
        made.start("a", "b", **PATIENT)
        request.node.dueq_nodes = list(made.nodes.values())
        yield made
        made.stop()
    finally:
        made.destroy()


@pytest.fixture
def node(nodes, servers):
    """The leader; all of the Redis Cluster is well."""
    servers.wait_healthy()
    return nodes.leader()


def bucket_at(servers, master):
    return servers.buckets_of(master)[0]


@contextmanager
def nobody_follows(servers, master):
    """Its replicas take its place afterwards only, when it is away."""
    replicas = servers.replicas_of(master)
    for each in replicas:
        each.ask("CONFIG SET cluster-replica-no-failover yes")
    yield
    for each in replicas:
        each.ask("CONFIG SET cluster-replica-no-failover no")


def spread(servers, name, count=2):
    """{topic: the master of its bucket}, some of each master."""
    return {topic_in(bucket, name): master for master in servers.masters()
            for bucket in servers.buckets_of(master)[:count]}


# ---- slots that move ----

def test_buckets_that_move_while_they_work(servers, node):
    """One after the other, in small portions; nothing is lost, comes twice, or is refused."""
    first, second, third = servers.masters()
    moving = servers.buckets_of(first)[:4]
    staying = [bucket_at(servers, second), bucket_at(servers, third)]
    with node.api() as api:  # so that a move takes more than one portion
        for bucket in moving:
            api.push_all(topic_in(bucket, "many"), [{"body": "", "delay_ms": HOUR_MS}] * 200)
    with Steady(node, [topic_in(bucket) for bucket in moving + staying]) as steady:
        steady.wait_rounds(ROUNDS)
        for bucket in moving:
            source = servers.begin_move(slot_of(bucket), second)
            while servers.move_keys(slot_of(bucket), source, second, 2):
                steady.wait_rounds(1, [topic_in(each) for each in staying])
            servers.end_move(slot_of(bucket), second)
            steady.wait_rounds(2)
        for bucket in moving:
            servers.move_bucket(bucket, first)
        steady.wait_rounds(ROUNDS)
    assert not steady.troubles
    with node.api() as api:
        assert [api.counts(topic_in(bucket, "many"))[0] for bucket in moving] == [200] * 4


# ---- masters that change ----

def test_a_failover_by_hand(servers, node):
    """In it Redis lets clients wait until the replica has all. Here for longer, to look meanwhile."""
    topics = spread(servers, "hand")
    before = servers.masters()[0]
    untouched = [topic for topic, master in topics.items() if master is not before]
    with Steady(node, topics) as steady:
        steady.wait_rounds(ROUNDS)
        before.ask("CLIENT PAUSE", HOUR_MS, "WRITE")
        made = steady.rounds()
        steady.wait_rounds(ROUNDS, untouched)
        assert all(steady.rounds()[topic] <= made[topic] + 1 for topic in topics
                   if topic not in untouched)
        after = servers.failover(bucket_at(servers, before))
        assert after is not before
        before.ask("CLIENT UNPAUSE")
        steady.wait_rounds(ROUNDS)
    assert not set(steady.troubles) & set(untouched)


def test_a_master_that_is_killed_stops_its_buckets_only(servers, node):
    """min_replicas is 1, so until it is back as a replica nothing new is acknowledged there."""
    topics = spread(servers, "killed")
    killed = servers.masters()[1]
    untouched = [topic for topic, master in topics.items() if master is not killed]
    with Steady(node, topics) as steady:
        steady.wait_rounds(ROUNDS)
        bucket = bucket_at(servers, killed)
        with nobody_follows(servers, killed):
            servers.kill_master_of(bucket)
            steady.wait_rounds(ROUNDS, untouched)
            assert not servers.master_of(bucket)
        servers.wait_master_of(bucket, other_than=killed)
        steady.wait_rounds(ROUNDS, untouched)
        killed.start()
        steady.wait_rounds(ROUNDS)
    assert not set(steady.troubles) & set(untouched)


def test_a_slot_that_nobody_has_stops_its_bucket_only(servers, node):
    bucket = 21
    master, slot = servers.master_of(bucket), slot_of(bucket)
    lost, kept = topic_in(bucket, "nowhere"), topic_in(bucket + 1, "nowhere")
    with node.api() as api, node.api() as beside:
        api.push(lost, id="before")
        wait_until(lambda: servers.forget_slot(slot), "nobody has it")
        pushed = in_background(lambda: api.push(lost, id="meanwhile"))
        for number in range(ROUNDS):
            beside.push(kept, id=f"beside-{number}")
        assert not pushed.done()
        master.ask("CLUSTER ADDSLOTS", slot)
        assert pushed.result(20)["id"] == "meanwhile"
        assert [api.pop_one(lost)["id"] for _ in range(2)] == ["before", "meanwhile"]


def test_all_servers_restart(servers, node):
    topics = spread(servers, "restart")
    with Steady(node, topics) as steady:
        steady.wait_rounds(ROUNDS)
        servers.destroy()
        servers.launch_all()
        servers.wait_healthy()
        steady.wait_rounds(ROUNDS)
