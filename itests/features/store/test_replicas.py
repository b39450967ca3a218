"""store.min_replicas: a push, an ack or a cancel is answered when replicas have it, too."""

import pytest

from harness.gmq import GmqError
from harness.http_api import new_job, refused
from harness.ports import free_port
from harness.producers import Producers
from harness.redis_server import stored_ids
from harness.sentinel import SentinelSet
from harness.wait import wait_until

TOPIC = "orders"
WORD = "too few replicas have it"
LATE = "15s"  # a replica that is not frozen is faster
SOON = "300ms"


def replica_of(server, make_redis):
    """One more, in sync."""
    port = server.client().config_get("port")["port"]
    count = server.client().info("replication")["connected_slaves"]
    replica = make_redis(appendonly="yes")
    replica.client().replicaof("127.0.0.1", port)
    wait_until(lambda: is_in_sync(server, count + 1), "the replica is in sync")
    return replica


def is_in_sync(server, count):
    states = server.client().info("replication")
    return sum(states.get(f"slave{number}", {}).get("state") == "online"
               for number in range(count)) == count


@pytest.fixture
def master(make_redis):
    return make_redis(appendonly="yes", appendfsync="always", bind="127.0.0.1", port=free_port(),
                      **{"repl-diskless-sync-delay": 0})


@pytest.fixture
def start(master, make_node):
    def start_node(replica_timeout, min_replicas=1):
        node = make_node({"store.redis": master.address, "store.min_replicas": min_replicas,
                          "store.replica_timeout": replica_timeout,
                          "store.command_timeout": "20s"})
        node.start().wait_settled()
        return node
    return start_node


def push_until_safe(client, id, **members):
    """It has happened the first time, whatever that said."""
    def is_safe():
        try:
            client.push(TOPIC, id=id, **members)
        except GmqError as error:
            assert WORD in str(error) or "has exist" in str(error), error
            return "has exist" in str(error)
        return True
    wait_until(is_safe, f"a replica has {id}")


# ---- safe ----

def test_all_that_was_acknowledged_is_on_the_replica(master, make_redis, start):
    replica = replica_of(master, make_redis)
    node = start(LATE)
    producers = Producers(node, TOPIC, count=8, is_patient=True)
    producers.wait_more(500)
    master.destroy()
    node.destroy()
    producers.stop()
    assert set(producers.pushed) <= stored_ids(replica.client())


def test_all_that_was_acknowledged_outlives_a_failover(tmp_path, make_node):
    watched = SentinelSet(tmp_path / "watched", appendonly="yes", appendfsync="always")
    try:
        node = make_node({"store.redis": watched.start().url, "store.min_replicas": 1}).start()
        producers = Producers(node, TOPIC, count=8, is_patient=True)
        producers.wait_more(300)
        killed = watched.kill_master()
        producers.wait_more(300)
        producers.stop()
        assert set(producers.pushed) <= stored_ids(watched.wait_master(other_than=killed).client())
    finally:
        watched.destroy()


def test_what_is_gone_is_gone_on_the_replica(master, make_redis, start):
    replica = replica_of(master, make_redis)
    node = start(LATE)
    with node.api() as api:
        for id in ("acked", "cancelled", "purged"):
            api.push(TOPIC, id=id)
        assert stored_ids(replica.client()) == {"acked", "cancelled", "purged"}
        job = api.pop_one(TOPIC)
        api.ack(job)
        assert stored_ids(replica.client()) == {"cancelled", "purged"}
        api.cancel(TOPIC, "cancelled")
        assert stored_ids(replica.client()) == {"purged"}
        assert api.sweep(TOPIC, "purge", states=["ready"])["count"] == 1
        assert stored_ids(replica.client()) == set()


# ---- not safe ----

def test_without_a_replica_pushes_are_unknown_and_the_node_goes_on(master, make_redis, start):
    node = start(SOON)
    with node.api() as api, node.python_client() as client:
        with refused("unknown", WORD):
            api.push(TOPIC, id="one")
        with pytest.raises(GmqError, match=f"unknown: {WORD}"):
            client.push(TOPIC, id="two", ttr=60)
        results = api.push_all(TOPIC, [new_job(id="three"), new_job(id="four")])
        assert [result["error"]["code"] for result in results] == ["unknown"] * 2
        assert node.is_ready()
        assert {api.pop_one(TOPIC)["id"] for _ in range(4)} == {"one", "two", "three", "four"}
        replica_of(master, make_redis)
        push_until_safe(client, "five")
