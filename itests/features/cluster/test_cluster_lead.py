"""Two nodes, one Redis and a real ZooKeeper: one node leads, another one takes over."""

import os
import signal

import pytest

from harness.cluster import are_members, page_of
from harness.dueqctl import Dueqctl
from harness.ports import free_port
from harness.users import SECRET, secret_file
from harness.wait import wait_until
from harness.zookeeper import Ensemble
from judge.journal import Fenced, Journal, Lease, Role, read_events
from judge.leaders import judge_leaders

RARE = "60s"  # a safety scan, so that what comes in time did not come by one


@pytest.fixture(scope="module")
def zookeeper(tmp_path_factory):
    ensemble = Ensemble(tmp_path_factory.mktemp("zk"))
    try:
        yield ensemble.start()
    finally:
        ensemble.destroy()


@pytest.fixture
def cluster(zookeeper, make_node, make_redis, tmp_path):
    """make(name, **settings): a node of a cluster of the test's own, started."""
    redis = make_redis()
    secret = secret_file(tmp_path / "secret", SECRET)

    def make(name, **settings):
        return make_node({
            "node.id": name, "store.redis": redis.address, "ha.mode": "standby",
            "ha.zookeeper": zookeeper.addresses, "ha.cluster": tmp_path.name,
            "ha.secret_file": secret, "ha.peer.listen": f"127.0.0.1:{free_port()}",
            "ha.journal": "true", "queue.scan_interval": RARE, **settings}, name=name).start()

    make.redis = redis
    return make


def written(node, *kinds):
    """What its journal says of these."""
    return [each for each in read_events(node.data_dir / "ha.journal") if isinstance(each, kinds)]


def role(node):
    return next(reversed(written(node, Role)), Role("", "", 0))


def wait_role(node, wanted):
    return wait_until(lambda: role(node).role == wanted and role(node),
                      f"{node.settings['node.id']} is {wanted}")


def assert_moves_in_time(pusher, popper, topic):
    """A delayed job comes long before a safety scan would find it."""
    pushed = pusher.api().push(topic, "body", delay_ms=300)
    job = popper.api().pop_one(topic, wait_ms=20000)
    assert job["id"] == pushed["id"]
    popper.api().ack(job)


def test_what_a_standby_is_given_comes_in_time(cluster):
    one = cluster("one")
    wait_role(one, "leader")
    two = cluster("two")
    wait_role(two, "standby")
    for topic in ("a", "b", "c"):
        assert_moves_in_time(two, two, topic)
        assert_moves_in_time(one, two, topic)


def complaint(node):
    """Why it takes no part; "" where it does."""
    return page_of(node)["refused"] or ""


def fences(cluster):
    """The tokens that the buckets have."""
    tokens = [cluster.redis.client().get(f"dq:{{{bucket}}}:f") for bucket in range(64)]
    return {token.decode() if isinstance(token, bytes) else token for token in tokens}


def wait_for_a_higher_token(nodes, token):
    """Of `two` mostly; the killed worker of `one` may be back first, where `two` is stalled."""
    def higher():
        return max((each for each in map(role, nodes) if each.role == "leader"
                    and each.token > token), key=lambda each: each.token, default=None)
    return wait_until(higher, "a node leads with a higher token")


@pytest.mark.parametrize("how", ["killed", "hung"])
def test_the_warden_ends_the_session_of_its_dead_worker(cluster, how):
    """No other node could do it, and by the clock it would take a minute: the next worker has the
    node's name long before. One that hangs is killed first."""
    one = cluster("one", **{"ha.session_timeout": "60s", "warden.hang_timeout": "500ms"})
    wait_role(one, "standby")
    before = len(written(one, Role))
    if how == "killed":
        one.kill("worker")
    else:
        os.kill(one.worker_pid, signal.SIGSTOP)
    wait_until(lambda: any(each.role == "standby" for each in written(one, Role)[before:]),
               "its next worker has joined")


@pytest.mark.parametrize("how", ["stop", "worker", "all"])
def test_another_node_takes_over(cluster, how):
    one = cluster("one")
    before = wait_role(one, "leader")
    two = cluster("two")
    wait_role(two, "standby")
    wait_until(lambda: are_members(page_of(two), ["two"]), "it could take over")
    pushed = one.api().push("t", "body", delay_ms=1500)
    if how == "stop":
        one.stop()
    else:
        one.kill(how)
    after = wait_for_a_higher_token([one, two], before.token)
    job = two.api().pop_one("t", wait_ms=20000)
    assert job["id"] == pushed["id"]
    assert_moves_in_time(two, two, "u")
    assert fences(cluster) == {after.token}
    if how != "all" and role(two).role == "leader":  # all: nobody wrote down when it died
        assert_one_acts_at_a_time(one, two)


def assert_one_acts_at_a_time(one, two):
    """Leases with different tokens do not overlap."""
    journal = Journal()
    for node in (one, two):
        assert written(node, Lease)
        for each in written(node, Role, Lease):
            journal.add(each)
    assert not {each.rule for each in judge_leaders(journal)} & {"TWO_LEADERS", "TOKEN_BACK"}


def test_an_operator_gives_the_redis_of_a_living_cluster_to_a_standalone_node(cluster, make_node):
    """It keeps it: the leader, which lives, is refused, and says so."""
    one = cluster("one")
    before = wait_role(one, "leader")
    alone = make_node({"store.redis": cluster.redis.address}).start()
    wait_until(lambda: alone.http("/health/leader")[0] == 503, "Redis refuses it")
    assert fences(cluster) == {before.token}

    assert "adopted" in Dueqctl(alone.url()).ok("fence", "adopt").text
    wait_until(lambda: alone.http("/health/leader")[0] == 200, "it moves the jobs")
    wait_until(lambda: "standalone nodes" in complaint(one), "the leader says to whom Redis went")
    wait_until(lambda: sum(each.seen == "standalone" for each in written(one, Fenced)) > 1,
               "and is refused again when it tries again")
    assert fences(cluster) == {"standalone"}
    assert_moves_in_time(alone, alone, "t")
    assert alone.output().count("moving what is due") == 1

    assert "adopted" in Dueqctl(one.url()).ok("fence", "adopt").text  # and back
    after = wait_role(one, "leader")
    wait_until(lambda: fences(cluster) == {after.token}, "all buckets have its token")


def divide(cluster, token, buckets):
    """As adoptions that ran at the same time would have left them."""
    client = cluster.redis.client()
    for bucket in range(buckets):
        client.set(f"dq:{{{bucket}}}:f", token)


def test_divided_buckets_are_told_at_both_nodes_until_one_of_them_adopts(cluster, make_node):
    one = cluster("one", **{"queue.scan_interval": "1s"})  # it meets the fence soon
    token = wait_role(one, "leader").token
    alone = make_node({"store.redis": cluster.redis.address}).start()
    divide(cluster, "standalone", 44)
    said = {one: "44 of 64 follow nodes that are standalone",
            alone: f"20 of 64 follow the leader with the token {token}"}
    for node, why in said.items():
        wait_until(lambda node=node, why=why: why in Dueqctl(node.url())("check").text, why)
        code, text = node.http("/health/leader")
        assert code == 503 and why in str(text)
    job = alone.api().push("t", "body", delay_ms=100)
    assert alone.api().pop_one("t", wait_ms=20000)["id"] == job["id"]  # late, but it comes

    assert "adopted" in Dueqctl(alone.url()).ok("fence", "adopt").text
    assert alone.http("/health/leader")[0] == 200  # at once
    assert fences(cluster) == {"standalone"}
    wait_until(lambda: "Redis was given to standalone nodes" in complaint(one), "they are divided no more")


def test_an_operator_gives_the_redis_of_one_cluster_to_another(cluster):
    """Another cluster of the same ZooKeeper is another ensemble to Redis all the same."""
    one = cluster("one")
    before = wait_role(one, "leader")
    two = cluster("two", **{"ha.cluster": "other"})
    wait_until(lambda: "dueqctl fence adopt" in complaint(two), "it says what to do")
    assert before.token in complaint(two)
    assert "dueqctl fence adopt" in two.output() and two.is_ready()
    assert two.http("/health/leader")[0] == 503
    assert_moves_in_time(two, two, "t")  # it serves clients, and `one` moves the jobs
    assert fences(cluster) == {before.token}

    assert "adopted" in Dueqctl(two.url()).ok("fence", "adopt").text
    after = wait_role(two, "leader")
    wait_until(lambda: fences(cluster) == {after.token}, "all buckets have its token")
    wait_until(lambda: any(each.seen == after.token for each in written(one, Fenced)),
               "the other one is fenced")
    wait_until(lambda: "dueqctl fence adopt" in complaint(one), "and says what to do")
    assert one.http("/health/leader")[0] == 503
    assert_moves_in_time(one, one, "u")
    wait_until(lambda: not complaint(two), "the new one has nothing to complain of")
    assert fences(cluster) == {after.token}
