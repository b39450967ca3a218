"""A Redis Cluster that is named wrongly, or in part, or belongs to somebody else."""

import pytest

from harness.ports import free_port
from harness.redis_cluster import RedisCluster, SLOTS
from harness.redis_server import RedisServer
from harness.refused import said_by
from harness.steady import topic_in
from harness.wait import holds_for, wait_until

PASSWORD = "zx81-sesame"


@pytest.fixture(scope="module")
def servers(tmp_path_factory):
    """Two masters without replicas, and a password."""
    made = RedisCluster(tmp_path_factory.mktemp("redis"), masters=2, replicas=0,
                        requirepass=PASSWORD)
    yield made.start()
    made.destroy()


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """A Redis by itself."""
    made = RedisServer(tmp_path_factory.mktemp("plain"), port=free_port(), requirepass=PASSWORD)
    yield made.start()
    made.destroy()


@pytest.fixture
def secret(tmp_path):
    return password_file(tmp_path, PASSWORD)


@pytest.fixture
def prefix(request):
    """Of the test's own: an installation that nobody has used."""
    return f"p{abs(hash(request.node.name)) % 10 ** 9}"


def password_file(directory, password):
    file = directory / password
    file.write_text(password + "\n")
    file.chmod(0o600)
    return file


def assert_serves_all_masters(node, servers):
    with node.api() as api:
        for master in servers.masters():
            topic = topic_in(servers.buckets_of(master)[0], "served")
            api.push(topic, "body")
            api.ack(api.pop_one(topic))


def port_of(server):
    return server.client().config_get("port")["port"]


# ---- works ----

def test_one_seed_that_answers_is_enough(make_node, servers, secret, prefix):
    seeds = f"127.0.0.1:{free_port()},127.0.0.1:{free_port()},{servers.servers[1].tcp_address}"
    node = make_node({"store.redis": f"cluster://{seeds}", "store.password_file": secret,
                      "store.prefix": prefix}).start()
    assert_serves_all_masters(node, servers)
    assert PASSWORD not in node.output()


def test_a_seed_that_is_a_redis_by_itself_is_passed_over(make_node, servers, plain, secret,
                                                         prefix):
    seeds = f"127.0.0.1:{port_of(plain)},{servers.servers[0].tcp_address}"
    node = make_node({"store.redis": f"cluster://{seeds}", "store.password_file": secret,
                      "store.prefix": prefix}).start()
    assert_serves_all_masters(node, servers)
    assert f"127.0.0.1:{port_of(plain)}: is a Redis by itself" in node.output()


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


def test_seeds_that_cannot_be_reached_are_waited_for(make_node, servers, secret, prefix):
    frozen, *_ = servers.servers
    frozen.freeze()
    node = make_node({"store.redis": f"cluster://{frozen.tcp_address}",
                      "store.password_file": secret, "store.prefix": prefix}).launch()
    wait_until(lambda: f"Redis Cluster: {frozen.tcp_address}: " in node.output(),
               "the node says which it cannot reach")
    assert holds_for(lambda: node.process.returncode is None, 0.3)
    frozen.thaw()
    servers.wait_healthy()
    node.wait_ready()


# ---- refused ----

def test_a_redis_by_itself_is_refused(make_node, plain, secret):
    address = f"cluster://127.0.0.1:{port_of(plain)}"
    said = said_by(make_node({"store.redis": address, "store.password_file": secret}))
    assert "is a Redis by itself" in said and "without cluster://" in said


def test_a_node_of_a_redis_cluster_by_itself_is_refused(make_node, servers, secret, prefix):
    said = said_by(make_node({"store.redis": servers.servers[0].tcp_address,
                              "store.password_file": secret, "store.prefix": prefix}))
    assert "cluster://" in said


def test_the_password(make_node, servers, tmp_path):
    said = said_by(make_node({"store.redis": servers.address}))
    assert "store.password_file" in said
    wrong = password_file(tmp_path, "zx81-barley")
    said = said_by(make_node({"store.redis": servers.address, "store.password_file": wrong}))
    assert "WRONGPASS" in said and "zx81-" not in said.replace(str(tmp_path), "")
