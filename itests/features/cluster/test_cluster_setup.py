"""Set-ups of a cluster that cannot work are refused, and the message says what to do. What the
configuration alone tells: conf/tests/ha_test.c."""

import json
import subprocess

import pytest

from harness.cluster import Cluster
from harness.dueqctl import Dueqctl
from harness.users import secret_file
from harness.wait import wait_until

EX_CONFIG = 78
GRANTED_MS = 1500  # at least


@pytest.fixture(scope="module")
def cluster(tmp_path_factory, request):
    """Of one node, a; its servers grant no session timeout below GRANTED_MS."""
    made = Cluster(tmp_path_factory.mktemp("cluster"), min_session_ms=GRANTED_MS)
    try:
        made.start("a")
        request.node.dueq_nodes = list(made.nodes.values())
        yield made
        made.nodes["a"].stop()
    finally:
        made.destroy()


@pytest.fixture
def add(cluster, request):
    """add(ha_priority=70): another node, launched; gone after the test."""
    request.node.dueq_nodes = made = []

    def launch(**settings):
        node = cluster.add(f"{request.node.name[:40]}{len(made)}".replace("[", "-").replace("]", ""),
                           **settings)
        made.append(node)
        return node.launch()

    yield launch
    for node in made:
        node.destroy()


def refusal(node):
    """What a node said that ended by itself, because its configuration is wrong."""
    wait_until(lambda: node.process.returncode is not None, "the node ends")
    assert node.process.returncode == EX_CONFIG, node.output()
    return node.output()


def error_of(node):
    """What /v1/cluster says of why this node takes no part, as soon as it does."""
    def found():
        status, text = node.http("/v1/cluster")
        return json.loads(text)["refused"] if status == 200 else None

    return wait_until(found, "the node says what is wrong")


def test_two_nodes_of_one_name(add, cluster):
    said = refusal(add(node__id="a"))
    assert said.count("another node of the name a is in this cluster") == 1
    assert "node.id of its own" in said
    assert f"in this cluster, at {cluster.nodes['a'].settings['ha.peer.listen']}" in said
    assert cluster.leader_name() == "a"


def test_a_session_timeout_that_is_not_granted(add):
    said = refusal(add(ha_session_timeout="1s"))
    assert f"grants a session timeout of {GRANTED_MS} ms, not ha.session_timeout: 1000 ms" in said
    assert "minSessionTimeout" in said


def test_new_credentials_for_a_cluster(add, cluster, tmp_path):
    """As doc/operations/upgrade.md has it, between the last node's end and the first one's start."""
    def command(*lines):
        done = subprocess.run(["java", "-cp", "/usr/share/java/*",
                               "org.apache.zookeeper.ZooKeeperMain", "-waitforconnection",
                               "-server", cluster.zookeeper.addresses], check=False, text=True,
                              input="\n".join([*lines, "quit", ""]), capture_output=True)
        assert done.returncode == 0, done.stdout + done.stderr

    settings = {"ha_cluster": "renewed", "store__prefix": "renewed"}
    first = add(**settings, node__id="b", ha_auth_file=secret_file(tmp_path / "first", "us:pass"))
    wait_until(lambda: first.http("/health/leader")[0] == 200, "it leads")
    first.stop()
    command("addauth digest us:pass", "addauth digest us:other",
            "setAcl -R /dueq/renewed auth::cdrwa")
    command("addauth digest us:other", "setAcl -R /dueq/renewed auth::cdrwa")
    second = add(**settings, node__id="b",
                 ha_auth_file=secret_file(tmp_path / "second", "us:other"))
    wait_until(lambda: second.http("/health/leader")[0] == 200, "it leads")
    said = refusal(add(**settings, ha_auth_file=tmp_path / "first"))
    assert "/dueq/renewed" in said and "give all nodes the same ha.auth" in said
    assert "pass" not in said


def test_a_standalone_node_at_the_redis_of_a_cluster(add):
    alone = add(ha_mode="standalone", ha_zookeeper=None)
    assert "ha.mode: standby" in error_of(alone)
    assert alone.http("/health/leader")[0] == 503 and alone.http("/health/ready")[0] == 200
    ctl, numbers = Dueqctl(alone.url()), alone.metrics()
    assert ctl.json("status")["role"] == "offline"
    assert json.loads(ctl("nodes", "--json").out)["leader"] is None
    assert numbers['dueq_role{role="offline"}'] == 1 and numbers["dueq_fenced_total"] >= 1
    check = ctl("check")
    assert "this node is fenced, and does not lead" in check.text and not check.complaint
    assert "alone, and moves nothing" in ctl("events").complaint


def test_another_secret_than_that_of_the_other_nodes(add, cluster, tmp_path):
    """ZooKeeper knows no secret: the node is in the cluster, but nobody sees it die."""
    node = add(ha_secret_file=secret_file(tmp_path / "other", "another secret of 16 and more"))
    name = node.settings["node.id"]
    words = "the secrets differ: check that ha.secret is the same on both nodes"
    wait_until(lambda: words in node.output(), "the node says so")
    wait_until(lambda: any(words in line and f"peer {name} " in line
                           for line in cluster.nodes["a"].output().splitlines()), "so does a")
    wait_until(lambda: f"somebody from 127.0.0.1 on the peer port is sent away: {words}"
               in cluster.nodes["a"].output(), "of the one who comes, too")

    def found():
        check = Dueqctl(node.url())("check")
        return "connected with 0 of " in check.text and "ha.secret" in check.text

    wait_until(found, "so does dueqctl check")
    assert "another secret" not in node.output() and cluster.leader_name() == "a"
