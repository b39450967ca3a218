"""A cluster of three nodes through the eyes of its operators: dueqctl, metrics, hooks."""

import json

import pytest

from harness.cluster import running_cluster
from harness.dueqctl import DONE, REFUSED, Dueqctl
from harness.ports import free_port
from harness.wait import wait_until

NAMES = ("a", "b", "c")
FROZEN_MS = 3000
HOOK = """#!/bin/sh
echo "$@" >>"$(dirname "$0")/$2.told"
echo "told of $1"
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory, request):
    """Three nodes, each with a hook that writes down what it is told."""
    directory = tmp_path_factory.mktemp("cluster")
    hook = directory / "hook"
    hook.write_text(HOOK)
    hook.chmod(0o755)
    with running_cluster(directory, request, NAMES, ha_hook=hook) as made:
        yield made


def told(cluster, name):
    """[[what, node, token, reason]] of its hook."""
    path = cluster.directory / f"{name}.told"
    return [line.split(" ") for line in path.read_text().splitlines()] if path.exists() else []


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
    return wait_until(found, "all see it")


def test_all_nodes_show_the_same_cluster(cluster):
    leader = settled(cluster)
    for name in NAMES:
        rows = cluster.ctl(name).ok("nodes").text.splitlines()[1:]
        roles = {row.split()[0]: row.split()[1] for row in rows}
        assert roles == {leader: "leader", **{each: "standby" for each in cluster.others(leader)}}
        status = cluster.ctl(name).json("status")
        assert status["role"] == roles[name] and status["cluster"]["leader"] == leader
    assert cluster.ctl().ok("check").text.endswith("A failover would succeed now.\n")


def test_metrics_tell_who_leads(cluster):
    leader = settled(cluster)
    numbers = {name: cluster.nodes[name].metrics() for name in NAMES}
    assert sum(each['dueq_role{role="leader"}'] for each in numbers.values()) == 1
    assert numbers[leader]['dueq_role_changes_total{role="leader",reason="elected"}'] >= 1
    assert 0 < numbers[leader]["dueq_lease_left_seconds"] < cluster.session_ms / 1000
    for each in numbers.values():
        assert each['dueq_zookeeper_session{state="connected"}'] == 1
        assert each["dueq_zookeeper_session_timeout_seconds"] == cluster.session_ms / 1000
        assert each["dueq_leader_epoch"] == numbers[leader]["dueq_leader_epoch"] >= 1


@pytest.mark.parametrize("asks", ["leader", "standby"])
def test_a_switchover_names_the_new_leader_and_how_long_it_took(cluster, asks):
    before = settled(cluster)
    to = cluster.others(before)[0]
    asked = before if asks == "leader" else cluster.others(before)[1]
    done = cluster.ctl(asked).json("switchover", "--to", to)
    assert done["leader"] == to and 0 <= done["without_leader_ms"] < cluster.session_ms
    last = cluster.ctl(to).json("history")["history"][-1]
    assert (last["node"], last["reason"], last["epoch"]) == (to, "switchover", done["leader_epoch"])
    assert last["without_leader_ms"] == done["without_leader_ms"]
    wait_until(lambda: told(cluster, before)[-1][::3] == ["demote", "handed_over"], "demoted")
    wait_until(lambda: told(cluster, to)[-1][::3] == ["promote", "elected"], "promoted")
    assert told(cluster, to)[-1][2].endswith(f":{done['leader_epoch']:016x}")
    wait_until(lambda: "hook promote: told of promote" in cluster.nodes[to].output(), "in the log")
    runs = 'dueq_hook_runs_total{what="promote",result="done"}'
    wait_until(lambda: cluster.nodes[to].metrics()[runs] >= 1, "the hook's end is counted")


def test_only_the_leader_takes_redis_over(cluster):
    def refused():
        leader = settled(cluster)
        said = [cluster.ctl(name)("fence", "adopt") for name in cluster.others(leader)]
        return all(done.code == REFUSED and f"{leader} leads, and only the leader can: dueqctl fence "
                   f"adopt on its machine, or with a token dueqctl --url {cluster.nodes[leader].url()} fence adopt" in done.complaint
                   for done in said)

    wait_until(refused, "others refuse, and name the leader")
    wait_until(lambda: "there is nothing to adopt" in cluster.ctl(settled(cluster))(
        "fence", "adopt").complaint, "the leader has it already")


def test_while_failover_is_paused_nobody_takes_over_and_all_say_so(cluster):
    leader = settled(cluster)
    asked, other = cluster.others(leader)
    cluster.ctl(asked).ok("cluster", "pause")
    wait_until(lambda: all(cluster.page(name)["paused"] for name in NAMES), "all know of it")
    for name in NAMES:
        check = cluster.ctl(name)("check")
        assert check.code == REFUSED and f"asked of {asked}" in check.text
        assert "paused since" in cluster.ctl(name)("nodes").complaint
        assert cluster.nodes[name].metrics()["dueq_failover_paused"] == 1
        wait_until(lambda name=name: f"failover is paused (asked of node {asked})"
                   in cluster.nodes[name].output(), "in the log")
    assert cluster.ctl(asked).json("switchover")["leader"] != leader  # what operators want is done
    cluster.ctl(other).ok("cluster", "resume")
    wait_until(lambda: all(cluster.nodes[name].metrics()["dueq_failover_paused"] == 0
                           for name in NAMES), "it is over")
    wait_until(lambda: cluster.ctl(asked)("check").code == DONE, "a failover would succeed")
    wait_until(lambda: "failover is resumed" in cluster.nodes[leader].output(), "in the log, too")


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


def test_events_follow_all_nodes(cluster):
    leader = settled(cluster)
    to = cluster.others(leader)[0]

    def seen(name, role):
        return any(event["node"] == name and event["role"] == role
                   for event in map(json.loads, list(running.out)))

    def all_seen():
        return seen(leader, "leader") and all(seen(each, "standby")
                                              for each in cluster.others(leader))

    with cluster.ctl(cluster.others(leader)[1]).start("events", "--json") as running:
        wait_until(all_seen, "all are shown")
        cluster.ctl(leader).ok("switchover", "--to", to)
        wait_until(lambda: seen(to, "leader") and seen(leader, "standby"), "so is the change")


def test_operators_find_the_nodes_by_their_admin_addresses(cluster):
    """Also from the socket of one, which has no address."""
    port = free_port()
    guest = cluster.add("guest", admin__listen=f"127.0.0.1:{port}").start()
    try:
        def row():
            return {each["name"]: each for each in cluster.page("guest")["nodes"]}.get("guest")
        wait_until(lambda: row() and row()["admin"], "it is told of")
        assert {each["name"]: each["admin"] for each in cluster.page("guest")["nodes"]} == {
            **dict.fromkeys(NAMES), "guest": f"127.0.0.1:{port}"}
        other = cluster.nodes["a"]
        with Dueqctl(f"unix:{other.data_dir}/admin.sock").start("events", "--json") as running:
            wait_until(lambda: {json.loads(line)["node"] for line in list(running.out)}
                       == {*NAMES, "guest"}, "all are shown")
            asked = guest.metrics()
        assert asked['dueq_requests_total{protocol="admin"}'] > 0
        assert other.metrics()['dueq_requests_total{protocol="socket"}'] > 1
    finally:
        cluster.nodes.pop("guest").stop()
    cluster.ctl("a").ok("forget", "guest")


def test_a_member_that_left_can_be_forgotten(cluster):
    cluster.add("guest").start()
    wait_until(lambda: "guest" in [row["name"] for row in cluster.page()["nodes"] if row["member"]],
               "it is a member")
    cluster.nodes.pop("guest").stop()
    ctl = cluster.ctl()
    wait_until(lambda: "guest is a member, and not here" in ctl("check").text, "it is missed")
    ctl.ok("forget", "guest")
    wait_until(lambda: "guest" not in ctl.ok("nodes").text, "it is forgotten")
