"""Nodes on a Redis Cluster of six servers: all buckets work, slots move and masters fail while
clients work, and what a fault does not touch goes on."""

from contextlib import contextmanager

import pytest

from harness.background import in_background
from harness.cluster import Cluster
from harness.redis_cluster import RedisCluster, slot_of
from harness.steady import BUCKETS, Steady, topic_in
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
        made.start("a", "b", queue__audit_rate="100000", **PATIENT)
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


@pytest.fixture
def other(nodes, node):
    """The one that stands by."""
    return next(each for each in nodes.nodes.values() if each is not node)


def waiting_at(node):
    return sum(value for name, value in node.metrics().items() if "waiting" in name)


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


# ---- nothing happens ----

def test_all_buckets_work(node, other):
    with node.api() as here, other.api() as there:
        for bucket in range(BUCKETS):
            topic = topic_in(bucket, "all")
            pushed = here.push(topic, f"of {bucket}")
            job = there.pop_one(topic)
            assert (job["id"], job["body"]) == (pushed["id"], f"of {bucket}")
            there.ack(job)


def test_who_waits_is_woken_whichever_master_it_comes_from(servers, node, other):
    """The node subscribes at one of them."""
    topics = list(spread(servers, "wakes", 1))
    apis = [other.api() for _ in topics]
    waiting = [in_background(api.pop_one, topic) for api, topic in zip(apis, topics)]
    wait_until(lambda: waiting_at(other) >= len(topics), "all wait")
    with node.api() as api:
        ids = [api.push(topic)["id"] for topic in topics[:1]]
        ids += [api.push(topic, delay_ms=200)["id"] for topic in topics[1:]]
    assert [popped.result(20)["id"] for popped in waiting] == ids
    for api in apis:
        api.close()


def test_the_reconciler_looks_at_all_masters(servers, nodes, node):
    """It is the leader's: whichever node that is, for on a busy machine the lead may move."""
    topics = spread(servers, "mended", 1)
    with node.api() as api:
        for topic, master in topics.items():
            api.push(topic, id="lost", delay_ms=HOUR_MS)
            bucket = next(b for b in range(BUCKETS) if topic_in(b, "mended") == topic)
            with master.client() as client:
                assert client.zrem(f"dq:{{{bucket}}}:d:{topic}", "lost") == 1

    def log():
        return "".join(each.output() for each in nodes.nodes.values())

    wait_until(lambda: all(f"repaired job lost of topic {topic}: no_place" in log()
                           for topic in topics), "each is mended", 60)


# ---- slots that move ----

def test_a_bucket_that_moved_while_nobody_used_it(servers, node):
    topic = topic_in(9, "idle")
    source = servers.master_of(9)
    to = next(master for master in servers.masters() if master is not source)
    with node.api() as api:
        api.push(topic, id="before")
        servers.move_bucket(9, to)
        assert api.pop_one(topic)["id"] == "before"
        api.push(topic, id="after")
        assert api.pop_one(topic)["id"] == "after"
        assert api.counts(topic) == (0, 0, 2, 0)
    servers.move_bucket(9, source)


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


def test_a_redis_cluster_that_wants_all_slots_stops_as_a_whole(servers, node):
    """Redis' default; what waits is done when the slot is somebody's again."""
    master, slot = servers.master_of(33), slot_of(33)
    topics = list(spread(servers, "whole", 1))
    apis = [node.api() for _ in topics]

    def are_all(state):
        return all(each.facts()["cluster_state"] == state for each in servers.there())

    for each in servers.there():
        each.ask("CONFIG SET cluster-require-full-coverage yes")
    wait_until(lambda: servers.forget_slot(slot) and are_all("fail"), "all stop")
    pushes = [in_background(api.push, topic) for api, topic in zip(apis, topics)]
    for each in servers.there():
        assert each.facts()["cluster_state"] == "fail"
    assert not any(push.done() for push in pushes)
    master.ask("CLUSTER ADDSLOTS", slot)
    wait_until(lambda: are_all("ok"), "all go on")
    ids = [push.result(20)["id"] for push in pushes]
    assert [api.pop_one(topic)["id"] for api, topic in zip(apis, topics)] == ids
    for each in servers.there():
        each.ask("CONFIG SET cluster-require-full-coverage no")
    for api in apis:
        api.close()


def test_all_servers_restart(servers, node):
    topics = spread(servers, "restart")
    with Steady(node, topics) as steady:
        steady.wait_rounds(ROUNDS)
        servers.destroy()
        servers.launch_all()
        servers.wait_healthy()
        steady.wait_rounds(ROUNDS)
