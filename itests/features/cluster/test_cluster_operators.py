"""What operators are told in an emergency: a ZooKeeper that stands still, a pause, wrong requests."""

from datetime import datetime, timedelta, timezone

import pytest

from harness.cluster import running_cluster
from harness.dueqctl import DONE, REFUSED, USAGE
from harness.wait import wait_until

NAMES = ("a", "b", "c")
FROZEN_MS = 3000


@pytest.fixture(scope="module")
def cluster(tmp_path_factory, request):
    with running_cluster(tmp_path_factory.mktemp("cluster"), request, NAMES) as made:
        yield made


def settled(cluster):
    """The leader's name, once all nodes see it prove its lease, it is in the history, and no request
    stands."""
    def found():
        name = cluster.wait_leader()
        pages = [cluster.page(each) for each in NAMES]
        return name if all((each["leader"], each["leaderless_ms"], each["wanted"], each["paused"])
                           == (name, 0, None, False)
                           and [change["epoch"] for change in each["history"]][-1:] == [each["leader_epoch"]]
                           for each in pages) else None
    return wait_until(found, "all see the same leader")


def test_while_zookeeper_stands_still_nobody_is_said_to_lead(cluster):
    leader = settled(cluster)
    changes = len(cluster.page(leader)["history"])
    servers = cluster.zookeeper.servers
    for server in servers:
        server.freeze()
    try:
        def is_told():
            pages = [cluster.page(name) for name in NAMES]
            return all(each["leader"] is None and each["stale_ms"] > 0
                       and each["leaderless_ms"] > FROZEN_MS for each in pages)
        wait_until(is_told, "no node knows of a leader")
        for name in NAMES:
            shown = cluster.ctl(name)("nodes")
            roles = {row.split()[0]: row.split()[1] for row in shown.text.splitlines()[1:]}
            assert roles == {name: "offline", **{each: "unknown" for each in cluster.others(name)}}
            assert "who leads is not known" in shown.complaint
            assert cluster.ctl(name)("check").code == REFUSED
            numbers = cluster.nodes[name].metrics()
            assert numbers["dueq_without_leader_seconds"] * 1000 > FROZEN_MS
            assert numbers["dueq_without_leader_seconds_total"] * 1000 > FROZEN_MS
            assert numbers["dueq_without_zookeeper_seconds"] > 0
    finally:
        for server in servers:
            server.thaw()

    def told():
        """A new leader, or the same again."""
        return cluster.page(settled(cluster))["history"][changes:]
    last = wait_until(told, "it is in the history")[-1]
    assert last["without_leader_ms"] > FROZEN_MS - cluster.session_ms, last


def test_a_pause_is_told_everywhere(cluster):
    leader = settled(cluster)
    asked, other = cluster.others(leader)
    cluster.ctl(asked).ok("cluster", "pause")
    try:
        wait_until(lambda: all(cluster.page(name)["paused"] for name in NAMES), "all know of it")
        for name in NAMES:
            assert f"asked of {asked}" in cluster.ctl(name)("check").text
            assert "paused since" in cluster.ctl(name)("nodes").complaint
            assert cluster.nodes[name].metrics()["dueq_failover_paused"] == 1
            assert cluster.ctl(name).json("status")["cluster"]["paused_at_ms"] > 0
            wait_until(lambda name=name: f"failover is paused (asked of node {asked})"
                       in cluster.nodes[name].output(), "in the log")
    finally:
        cluster.ctl(other).ok("cluster", "resume")
    wait_until(lambda: all(cluster.nodes[name].metrics()["dueq_failover_paused"] == 0
                           for name in NAMES), "it is over")
    wait_until(lambda: "failover is resumed" in cluster.nodes[leader].output(), "in the log, too")


def test_a_switchover_to_come_is_shown_and_cancelled(cluster):
    leader = settled(cluster)
    to = cluster.others(leader)[0]
    ctl = cluster.ctl(to)
    assert ctl("switchover", "--cancel").code == REFUSED
    assert "that time is over" in ctl("switchover", "--at", "2020-01-01 09:00").complaint
    at = f"{datetime.now(timezone.utc) + timedelta(days=1):%Y-%m-%d %H:%M:%S}"
    ctl.ok("switchover", "--to", to, "--at", at)
    try:
        wait_until(lambda: f"{at}.000" in ctl("nodes").complaint, "it is shown")
        done = ctl("check")
        assert done.code == DONE and f"planned (to {to})" in done.text
    finally:
        ctl.ok("switchover", "--cancel")
    wait_until(lambda: cluster.page(leader)["wanted"] is None, "it is gone")
    assert settled(cluster) == leader
    assert ctl("switchover", "--cancel", "--to", to).code == USAGE


def test_a_switchover_that_nobody_can_take_is_refused_at_once(cluster):
    leader = settled(cluster)
    try:
        for name in cluster.others(leader):
            cluster.nodes[name].stop()
        wait_until(lambda: not any(row["here"] for row in cluster.page(leader)["nodes"]
                                   if row["name"] != leader), "they are gone")
        done = cluster.ctl(leader)("switchover", "--json")
        assert done.code == REFUSED
        message = done.json()["error"]["message"]
        assert "no other node could lead now" in message
        assert all(f"{name} is not here" in message for name in cluster.others(leader))
    finally:
        for name in cluster.others(leader):
            if cluster.nodes[name].process is None:
                cluster.nodes[name].start()
        cluster.wait_members(*NAMES)
