"""A cluster of three nodes through the eyes of its operators: dueqctl, health, metrics, hooks."""

import json

import pytest

from harness.cluster import running_cluster
from harness.dueqctl import DONE, NOTHING, REFUSED
from harness.wait import wait_until

NAMES = ("a", "b", "c")
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
    """The leader's name, once all nodes see it."""
    name = cluster.wait_leader()
    wait_until(lambda: all(cluster.page(each)["leader"] == name for each in NAMES), "all see it")
    return name


def test_all_nodes_show_the_same_cluster(cluster):
    leader = settled(cluster)
    for name in NAMES:
        rows = cluster.ctl(name).ok("nodes").text.splitlines()[1:]
        roles = {row.split()[0]: row.split()[1] for row in rows}
        assert roles == {leader: "leader", **{each: "standby" for each in cluster.others(leader)}}
        status = cluster.ctl(name).json("status")
        assert status["role"] == roles[name] and status["cluster"]["leader"] == leader
    assert cluster.ctl().ok("check").text.endswith("A failover would succeed now.\n")


def test_health_tells_load_balancers_who_leads(cluster):
    leader = settled(cluster)
    for name in NAMES:
        codes = [cluster.nodes[name].http(f"/health/{path}")[0]
                 for path in ("live", "ready", "leader", "standby")]
        assert codes == ([200, 200, 200, 503] if name == leader else [200, 200, 503, 200])


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


def test_a_failover_by_force_of_a_leader_that_answers_is_one_in_order(cluster):
    before = settled(cluster)
    done = cluster.ctl(before).json("failover", "--force")
    assert done["leader"] in cluster.others(before)


def test_only_the_leader_takes_redis_over(cluster):
    def refused():
        leader = settled(cluster)
        said = [cluster.ctl(name)("fence", "adopt") for name in cluster.others(leader)]
        return all(done.code == REFUSED and f"{leader} leads, and only the leader can: dueqctl "
                   f"--url {cluster.nodes[leader].url()} fence adopt" in done.complaint
                   for done in said)

    wait_until(refused, "others refuse, and name the leader")
    wait_until(lambda: "there is nothing to adopt" in cluster.ctl(settled(cluster))(
        "fence", "adopt").complaint, "the leader has it already")


def test_while_failover_is_paused_nobody_takes_over(cluster):
    leader = settled(cluster)
    cluster.ctl().ok("cluster", "pause")
    ctl = cluster.ctl(cluster.others(leader)[0])
    wait_until(lambda: ctl("check").code == REFUSED, "the pause is known")
    assert "paused" in ctl("nodes").complaint
    assert ctl.json("switchover")["leader"] != leader  # what operators want is done all the same
    cluster.ctl().ok("cluster", "resume")
    wait_until(lambda: ctl("check").code == DONE, "that it is over, too")


def test_what_cannot_be_is_refused_with_a_reason(cluster):
    leader = settled(cluster)
    ctl = cluster.ctl()
    for words, code, said in [
            (("switchover", "--to", leader), REFUSED, f"{leader} leads already"),
            (("switchover", "--to", "nobody"), NOTHING, "there is no node nobody"),
            (("forget", cluster.others(leader)[0]), REFUSED, "is here; stop it first"),
            (("forget", "nobody"), NOTHING, "nobody is no member")]:
        done = ctl(*words)
        assert done.code == code and said in done.complaint, done
    assert cluster.wait_leader() == leader


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


def test_a_member_that_left_can_be_forgotten(cluster):
    cluster.add("guest").start()
    wait_until(lambda: "guest" in [row["name"] for row in cluster.page()["nodes"] if row["member"]],
               "it is a member")
    cluster.nodes.pop("guest").stop()
    ctl = cluster.ctl()
    wait_until(lambda: "guest is a member, and not here" in ctl("check").text, "it is missed")
    ctl.ok("forget", "guest")
    wait_until(lambda: "guest" not in ctl.ok("nodes").text, "it is forgotten")
