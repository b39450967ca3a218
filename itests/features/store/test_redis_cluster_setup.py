"""A Redis Cluster with a password, and one that is named wrongly. Seeds that are away, or no cluster:
node/store/redis/topology/tests/cluster_map_test.c."""

import pytest

from harness.redis_cluster import RedisCluster
from harness.refused import said_by
from harness.steady import topic_in
from harness.users import secret_file

PASSWORD = "zx81-sesame"


@pytest.fixture(scope="module")
def servers(tmp_path_factory):
    """Two masters without replicas, and a password."""
    made = RedisCluster(tmp_path_factory.mktemp("redis"), masters=2, replicas=0,
                        requirepass=PASSWORD)
    yield made.start()
    made.destroy()


@pytest.fixture
def secret(tmp_path):
    return secret_file(tmp_path / "right", PASSWORD)


def assert_serves_all_masters(node, servers):
    with node.api() as api:
        for master in servers.masters():
            topic = topic_in(servers.buckets_of(master)[0], "served")
            api.push(topic, "body")
            api.ack(api.pop_one(topic))


def test_what_the_node_knows_of_itself_may_be_at_another_master(make_node, servers, secret):
    """dq:meta has a slot of its own."""
    prefixes = [f"m{number}" for number in range(64)]
    there = servers.servers[1].claim()
    prefix = next(each for each in prefixes if there.has(
        int(servers.servers[0].ask("CLUSTER KEYSLOT", f"{each}:meta"))))
    settings = {"store.redis": servers.address, "store.password_file": secret,
                "store.prefix": prefix}
    make_node(settings).start().stop()
    with servers.servers[1].client() as client:
        assert client.hget(f"{prefix}:meta", "buckets") == b"64"
    said = said_by(make_node({**settings, "store.buckets": 32}))
    assert "store.buckets" in said and "64" in said


def test_a_node_of_a_redis_cluster_by_itself_is_refused(make_node, servers, secret):
    said = said_by(make_node({"store.redis": servers.servers[0].tcp_address,
                              "store.password_file": secret}))
    assert "cluster://" in said


def test_the_password_opens_all_masters_and_a_wrong_one_is_not_told(make_node, servers, secret,
                                                                    tmp_path):
    wrong = secret_file(tmp_path / "wrong", "zx81-barley")
    said = said_by(make_node({"store.redis": servers.address, "store.password_file": wrong}))
    assert "WRONGPASS" in said and "zx81-" not in said
    node = make_node({"store.redis": servers.address, "store.password_file": secret}).start()
    assert_serves_all_masters(node, servers)
    assert PASSWORD not in node.output()
