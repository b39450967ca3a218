"""Health and metrics, as a load balancer and Prometheus see them."""

import re

from harness.redis_programs import RemovableRedis
from harness.wait import wait_until

LINE = re.compile(r'^[a-zA-Z_:][a-zA-Z0-9_:]*(\{[^{}]*\})? [0-9.eE+-]+(Inf|NaN)?$')


def test_a_node_that_works_is_live_ready_and_standalone_leader(node):
    for path in ("/health/live", "/health/ready", "/health/leader"):
        assert node.http(path)[0] == 200, path


def test_an_unknown_path_is_a_json_error(node):
    status, text = node.http("/nothing/here")
    assert status == 404 and '"error"' in text


def test_metrics_have_prometheus_form(node):
    status, text = node.http("/metrics")
    assert status == 200
    lines = text.splitlines()
    assert all(line.startswith("# ") or LINE.match(line) for line in lines if line), text
    named = {line.split()[2] for line in lines if line.startswith("# TYPE ")}
    assert named and all(name.startswith("dueq_") for name in named)


def test_a_push_is_counted(node, client, topic):
    def pushes():
        return sum(value for name, value in node.metrics().items()
                   if 'push"' in name and 'ok"' in name)

    before = pushes()
    for number in range(5):
        client.push(topic, f"counted-{number}")
    assert pushes() == before + 5


def test_both_latenesses_are_measured(node, client, topic):
    def counts():
        metrics = node.metrics()
        return [sum(value for name, value in metrics.items()
                    if kind in name and name.split("{")[0].endswith("_count"))
                for kind in ("move", "delivery")]

    before = counts()
    client.push(topic, "measured-1", delay=1)
    assert client.pop(topic)["id"] == "measured-1"
    wait_until(lambda: counts() == [before[0] + 1, before[1] + 1], "both are counted")


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
