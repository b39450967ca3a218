"""Three nodes that all move due jobs (ha.mode: cluster): who has which topics, and that the topics
of one that goes are moved by the others. The tests go on with the cluster that the ones before
have left, whole."""

import pytest

from harness.cluster import page_of, running_cluster
from harness.wait import wait_until

NAMES = ("a", "b", "c")
TOPICS = [f"topic-{number}" for number in range(24)]  # some for each node
SHARES = 256 * 64


@pytest.fixture(scope="module")
def cluster(tmp_path_factory, request):
    with running_cluster(tmp_path_factory.mktemp("cluster"), request, NAMES, ha_mode="cluster",
                         queue__lock_time="1s") as made:
        wait_view(made, NAMES)
        yield made


def number(node, name):
    return node.metrics().get(name, 0)


def wait_view(cluster, names):
    """All of these see that just these scan."""
    nodes = [cluster.nodes[name] for name in names]

    def is_seen():
        rows = [page_of(node)["nodes"] for node in nodes]
        views = {number(node, "dueq_view") for node in nodes}
        return len(views) == 1 and 0 not in views and all(
            {row["name"] for row in each if row["scanning"]} == set(names) for each in rows)

    wait_until(is_seen, f"{names} scan, and know it")


def assert_jobs_come(pusher, popper):
    """One of each topic, with a delay: only a scan makes it ready."""
    pushed = {topic: pusher.api().push(topic, "body", delay_ms=200)["id"] for topic in TOPICS}
    with popper.api() as api:
        for topic in TOPICS:
            job = api.pop_one(topic, wait_ms=20000)
            assert job["id"] == pushed[topic]
            api.ack(job)


def moved(node):
    return number(node, "dueq_move_lateness_seconds_count")


def start_again(cluster, name):
    cluster.nodes[name].start()
    wait_view(cluster, NAMES)
    cluster.wait_members(*NAMES)


def test_each_node_moves_the_jobs_of_its_topics(cluster):
    nodes = list(cluster.nodes.values())
    assert sum(number(node, "dueq_shares_own") for node in nodes) == SHARES
    before = [moved(node) for node in nodes]
    assert_jobs_come(nodes[0], nodes[1])
    now = [moved(node) for node in nodes]
    assert all(late > early for early, late in zip(before, now)), (before, now)
    assert sum(now) - sum(before) == len(TOPICS)
    wait_until(lambda: sum(number(node, 'dueq_role{role="leader"}') for node in nodes) == 1,
               "one leads")


@pytest.mark.parametrize("how", ["stop", "all"])
def test_the_topics_of_one_that_goes_are_moved_by_the_others(cluster, how):
    leader = cluster.wait_leader()
    gone, *others = cluster.others(leader) + [leader]
    if how == "stop":
        cluster.nodes[gone].stop()
    else:
        cluster.nodes[gone].kill(how)
    first, second = (cluster.nodes[name] for name in others)
    assert_jobs_come(first, second)
    wait_view(cluster, others)
    start_again(cluster, gone)
    assert_jobs_come(cluster.nodes[gone], first)


def test_a_redis_that_is_away_takes_all_out_of_the_view_for_so_long(cluster):
    node = cluster.nodes["a"]
    before = number(node, "dueq_view")
    cluster.redis.kill()
    wait_until(lambda: not any(row["scanning"] for row in page_of(node)["nodes"]), "nobody scans")
    cluster.redis.start()
    wait_view(cluster, NAMES)
    assert number(node, "dueq_view") > before
    assert_jobs_come(cluster.nodes["a"], cluster.nodes["b"])


def test_without_zookeeper_all_goes_on_and_a_dead_nodes_topics_too(cluster):
    a, b, c = (cluster.nodes[name] for name in NAMES)
    before = number(a, "dueq_view")
    for server in cluster.zookeeper.servers:
        server.kill()
    wait_until(lambda: page_of(a)["leader"] is None, "the lead has ended")
    assert_jobs_come(a, b)
    c.kill("all")
    assert_jobs_come(a, b)
    assert number(a, "dueq_view") == before
    cluster.zookeeper.start()
    start_again(cluster, "c")
    assert_jobs_come(c, a)


def test_a_cluster_of_both_modes_loses_nothing(cluster):
    """As while it is changed node by node."""
    a, b = cluster.nodes["a"], cluster.nodes["b"]
    b.stop()
    b.settings["ha.mode"] = "standby"
    b.start()
    wait_view(cluster, ("a", "c"))
    wait_until(lambda: "has ha.mode: cluster, this one standby" in b.output(), "it says so")
    cluster.wait_members(*NAMES)
    for leader in ("b", "a"):
        if cluster.wait_leader() != leader:
            cluster.ctl("a").ok("switchover", "--to", leader)
        assert_jobs_come(b, a)
        assert_jobs_come(a, b)
    b.stop()
    b.settings["ha.mode"] = "cluster"
    start_again(cluster, "b")
