"""Health, as a load balancer sees it."""

from harness.redis_programs import RemovableRedis
from harness.wait import wait_until


def test_a_node_that_works_is_live_ready_and_standalone_leader(node):
    for path in ("/health/live", "/health/ready", "/health/leader"):
        assert node.http(path)[0] == 200, path


def test_an_unknown_path_is_a_json_error(node):
    status, text = node.http("/nothing/here")
    assert status == 404 and '"error"' in text


def test_a_node_without_its_redis_is_live_but_not_ready(make_node, tmp_path):
    redis = RemovableRedis(tmp_path)
    settings = {"store.redis_server": redis.program, "warden.backoff_max": "100ms"}
    node = make_node(settings).start()
    redis.remove()
    node.kill("redis")
    wait_until(lambda: node.http("/health/ready")[0] == 503, "the node says so")
    assert node.http("/health/live")[0] == 200
    redis.put_back()
    wait_until(node.is_ready, "Redis is back")


def test_a_node_whose_redis_has_become_a_replica_says_so(make_node, make_redis):
    server = make_redis(appendonly="yes", appendfsync="always")
    redis = server.client()
    node = make_node({"store.redis": server.address}).start()
    redis.execute_command("REPLICAOF", "127.0.0.1", 1)
    redis.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
    wait_until(lambda: "replica" in node.http("/health/ready")[1], "the reason is told")
    assert node.http("/health/ready")[0] == 503
    redis.execute_command("REPLICAOF", "NO", "ONE")
    wait_until(node.is_ready, "it is a master again")
