"""The link between nodes on the wire: encrypted, with a node of the version before, and while its
secret changes. What each node does by itself: ha/peer/tests/peer_tls_test.c."""

import re

import pytest

from harness.cluster import Cluster
from harness.ports import free_port
from harness.tap import Tap
from harness.users import SECRET, secret_file
from harness.wait import wait_until

NAMES = ("a", "b", "c")
HANDSHAKE = 0x16  # the first byte of TLS
SESSION = re.compile(rb"\nsession [0-9a-f]{16} [0-9a-f]{32}\n")
WORDS = (b"dueq-peer", b"hello", b"proof", b"session", b"beat")
ANOTHER = "another secret of 16 and more"


@pytest.fixture
def cluster(tmp_path, request):
    made = Cluster(tmp_path / "cluster")
    request.node.dueq_nodes = []
    try:
        yield made
        made.stop()
    finally:
        request.node.dueq_nodes = list(made.nodes.values())
        made.destroy()


def behind_tap(cluster, name, **settings):
    """A node that others reach by a tap alone, not started; and the tap."""
    port = free_port()
    cluster.add(name, ha_peer__listen=f"127.0.0.2:{port}", ha_advertise="127.0.0.3", **settings)
    return Tap("127.0.0.3", port, "127.0.0.2")


def start(cluster, *names):
    for name in names:
        if name not in cluster.nodes:
            cluster.add(name)
        cluster.nodes[name].launch()
    for name in names:
        cluster.nodes[name].wait_ready()
    cluster.wait_members(*names)


def restart(cluster, name, **settings):
    node = cluster.nodes[name]
    node.stop()
    for key, value in settings.items():
        node.settings[key.replace("__", ".").replace("ha_", "ha.", 1)] = value
    node.settings = {key: value for key, value in node.settings.items() if value is not None}
    node.start()


def plain_links(cluster):
    """{name: its links without TLS}, once every node has a link to every other one."""
    def found():
        numbers = {name: node.metrics() for name, node in cluster.nodes.items() if node.process}
        joined = all(each["dueq_peers_missing"] == 0
                     and each["dueq_peers_connected"] == len(numbers) - 1
                     for each in numbers.values())
        return joined and {name: each["dueq_peers_plain"] for name, each in numbers.items()}

    return wait_until(found, "every node has a link to every other one")


def kill_leader(cluster):
    """Its host has died, and the others prove that by their links. It is back in the end."""
    leader = cluster.wait_leader()
    cluster.nodes[leader].kill("all")
    successor = cluster.wait_leader(other_than=leader)
    wait_until(lambda: cluster.ctl(successor).json("history")["history"][-1]["node"] == successor,
               "it is in the history")
    assert cluster.ctl(successor).json("history")["history"][-1]["reason"] == "died"
    cluster.nodes[leader].start()
    cluster.wait_members(*cluster.nodes)


def test_nobody_on_the_way_reads_what_nodes_say(cluster):
    cluster.start_servers()
    with behind_tap(cluster, "a") as tap:
        start(cluster, *NAMES)
        assert plain_links(cluster) == {"a": 0, "b": 0, "c": 0}
        assert set(tap.first_bytes()) == {HANDSHAKE}
        seen = tap.seen()
        assert len(seen) > 1000 and not [word for word in WORDS if word in seen]


def test_a_node_of_the_version_before_takes_part_in_plain_text(cluster):
    cluster.start_servers()
    with behind_tap(cluster, "c", ha_peer__tls="off", ha_no_failover="true") as tap:
        start(cluster, *NAMES)
        assert plain_links(cluster) == {"a": 1, "b": 1, "c": 2}
        assert SESSION.search(tap.seen())
        assert "connected, without TLS" in cluster.nodes["a"].output()
        kill_leader(cluster)
        restart(cluster, "c", ha_peer__tls="optional")
        assert plain_links(cluster) == {"a": 0, "b": 0, "c": 0}
        restart(cluster, "c", ha_peer__tls="off")  # and back
        assert plain_links(cluster) == {"a": 1, "b": 1, "c": 2}


def test_a_node_without_tls_is_kept_out_where_it_is_required(cluster):
    cluster.start_servers()
    cluster.add("a", ha_peer__tls="required")
    cluster.add("b", ha_peer__tls="off")
    start(cluster, "a", "b")
    a, b = cluster.nodes["a"], cluster.nodes["b"]
    for words in ("it takes no TLS: it is of an older version, or has ha.peer.tls: off",
                  "it speaks plain text, and ha.peer.tls is required here"):
        wait_until(lambda words=words: words in a.output(), "a says what is wrong")
    assert a.metrics()["dueq_peers_connected"] == b.metrics()["dueq_peers_connected"] == 0


def test_the_secret_changes_node_by_node_and_a_leader_dies_meanwhile(cluster, tmp_path):
    """As doc/operations/upgrade.md has it."""
    older = secret_file(tmp_path / "older", SECRET)
    newer = secret_file(tmp_path / "newer", ANOTHER)
    cluster.start_servers()
    start(cluster, *NAMES)
    for steps in ({"ha_secret_file": newer, "ha_secret_old_file": older},
                  {"ha_secret_old_file": None}):
        leader = cluster.wait_leader()
        for name in (*cluster.others(leader), leader):
            restart(cluster, name, **steps)
            assert plain_links(cluster) == {"a": 0, "b": 0, "c": 0}
            if name == cluster.others(leader)[0]:
                cluster.wait_members(*NAMES)
                kill_leader(cluster)
                plain_links(cluster)
    restart(cluster, "b", ha_secret_file=older)  # that is over
    words = "the secrets differ: check that ha.secret is the same on both nodes"
    for other in ("a", "c"):
        wait_until(lambda other=other: any(f"peer {other} " in line and words in line for line
                                           in cluster.nodes["b"].output().splitlines()),
                   f"b says why it does not reach {other}")
