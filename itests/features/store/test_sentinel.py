"""Nodes whose Redis is named by Sentinels: what clients notice when the master changes. Whom a node
believes: node/store/redis/topology/tests/sentinel_view_test.c; set-ups that are refused, and a failover
by hand: node/store/redis/tests/follow_test.c."""

import time

import pytest

from harness.background import in_background
from harness.producers import Producers
from harness.redis_server import stored_ids
from harness.refused import said_by
from harness.scripted_sentinel import ScriptedSentinel
from harness.sentinel import NAME, SentinelSet, WatchedRedis
from harness.users import secret_file
from harness.wait import wait_until

PASSWORD, ANOTHER = "zx81-sesame", "zx81-poppy"


@pytest.fixture
def watched(tmp_path):
    """watched(**options): Redis servers and their Sentinels of the test's own, running."""
    made = []

    def make(**options):
        # So long that a master on a loaded machine does not look down: no failover but ours.
        options = {"appendonly": "yes", "appendfsync": "always", "down_after_ms": 2000, **options}
        made.append(SentinelSet(tmp_path / f"watched{len(made)}", **options))
        return made[-1].start()

    yield make
    for each in made:
        each.destroy()


def is_used(node, server):
    """Is this Redis the last one that the node has said it is up with?"""
    ups = [line for line in node.output().splitlines() if line.endswith(" is up")]
    return bool(ups) and f" {server.tcp_address} is up" in ups[-1]


def assert_serves(node, id):
    with node.python_client() as client:
        assert client.push("served", id) == "success"
        assert client.pop("served")["id"] == id


# ---- another master ----

def test_a_killed_master_is_a_pause_for_clients(make_node, watched):
    servers = watched()
    node = make_node({"store.redis": servers.url, "gmq.pop_wait": "20s"}).start()
    with node.python_client() as consumer, node.python_client() as client:
        blocked = in_background(consumer.pop, "later")
        producer = Producers(node, "steady")
        producer.wait_more()
        killed = servers.kill_master()
        after = servers.wait_master(other_than=killed)
        producer.wait_more()
        assert client.push("later", "after-1") == "success"
        assert blocked.result(20)["id"] == "after-1"
        producer.stop()
    assert is_used(node, after)
    assert f"the master of '{NAME}' is {after.tcp_address}" in node.output()
    assert f'"address":"{after.tcp_address}"' in node.http("/v1/status")[1]


def test_an_old_master_that_comes_back_is_not_written_to(make_node, watched):
    """For some seconds it takes itself for the master."""
    servers = watched()
    node = make_node({"store.redis": servers.url}).start()
    producer = Producers(node, "steady")
    producer.wait_more()
    killed = servers.kill_master()
    after = servers.wait_master(other_than=killed)
    wait_until(lambda: is_used(node, after), "the node is at the new master")
    before = len(producer.pushed) + 1  # one may be on its way
    killed.start()
    producer.wait_more()
    seen = stored_ids(killed.client()) if killed.info()["role"] == "master" else set()
    pushed = producer.stop()
    assert not seen & set(pushed[before:])
    assert set(pushed[before:]) <= stored_ids(after.client())
    assert is_used(node, after)


def test_a_sentinel_that_has_missed_the_failover_is_not_believed(make_node, watched):
    """It is all that can be reached, and the old master has become a replica."""
    servers = watched()
    before = servers.master()
    node = make_node({"store.redis": servers.url, "store.command_timeout": "500ms"}).start()
    *others, stale = servers.sentinels
    stale.kill()
    after = servers.failover()
    wait_until(lambda: is_used(node, after), "the node is at the new master")
    for each in others:
        each.freeze()
    stale.start()
    wait_until(lambda: stale.master_address() == (before.ip, before.port), "it is behind")

    def has_asked_it():
        """The node asks when its link has broken, and may not have come back to it by then."""
        after.client().client_kill_filter(_type="normal")
        return "names a master from before the last failover" in node.output()

    wait_until(has_asked_it, "the node knows that it is behind", interval_s=1)
    for each in others:
        each.thaw()
    wait_until(node.is_ready, "the node is up again")
    assert is_used(node, after)
    assert_serves(node, "after-1")


def test_losing_all_sentinels_costs_nothing_while_the_master_stays(make_node, watched):
    servers = watched()
    node = make_node({"store.redis": servers.url}).start()
    for sentinel in servers.sentinels:
        sentinel.kill()
    wait_until(lambda: all(f"Sentinel {each.address}: " in node.output()
                           for each in servers.sentinels), "the node has noticed")
    assert_serves(node, "alone-1")
    assert node.is_ready()
    for sentinel in servers.sentinels:
        sentinel.start()
    wait_until(servers.is_watched, "the Sentinels see all there is")
    after = servers.failover()
    wait_until(lambda: is_used(node, after), "the node listens to them again")


# ---- Sentinels that say what they should not ----

@pytest.fixture
def two_masters(tmp_path):
    """Of two deployments, or the old and the new one."""
    servers = [WatchedRedis(tmp_path / name, appendonly="yes") for name in ("ours", "other")]
    for each in servers:
        each.start()
    yield servers
    for each in servers:
        each.kill()


@pytest.fixture
def scripted():
    """scripted(master, epoch): a ScriptedSentinel."""
    made = []

    def make(master, epoch):
        made.append(ScriptedSentinel((master.ip, master.port), epoch))
        return made[-1]

    yield make
    for each in made:
        each.__exit__()


def url_of(*sentinels):
    return f"sentinel://{NAME}@" + ",".join(each.address for each in sentinels)


def wait_asked(sentinel, times):
    """So often from now on."""
    target = sentinel.asked + times
    wait_until(lambda: sentinel.asked >= target, f"it is asked {times} times")


def test_a_sentinel_of_another_deployment_is_not_believed(make_node, two_masters, scripted):
    ours, foreign = two_masters
    stranger = scripted(foreign, 7)
    watchers = [scripted(ours, 0) for _ in range(2)]
    node = make_node({"store.redis": url_of(stranger, *watchers)}).start()
    wait_until(lambda: f"Sentinel {stranger.address} says that the master of '{NAME}' is "
               f"{foreign.tcp_address}, and is not believed: it is {ours.tcp_address}"
               in node.output(), "the node says who says what")
    stranger.says((foreign.ip, foreign.port), 8)
    wait_asked(stranger, 3)
    assert_serves(node, "ours-1")
    assert is_used(node, ours)
    assert foreign.client().dbsize() == 0
    assert node.output().count("is not believed") == 1


def test_a_newer_word_that_the_others_deny_is_given_up(make_node, two_masters, scripted):
    """It had agreed before, as one does that was set up anew for another deployment."""
    ours, foreign = two_masters
    changed, *others = [scripted(ours, 3) for _ in range(3)]
    node = make_node({"store.redis": url_of(changed, *others)}).start()
    for each in (changed, *others):
        wait_asked(each, 1)
    changed.says((foreign.ip, foreign.port), 9)
    wait_until(lambda: is_used(node, foreign), "that is what a failover looks like")
    wait_until(lambda: is_used(node, ours), "but nobody else hears of it", 60)
    assert (f"the master of '{NAME}' is {foreign.tcp_address} no more: for 10 s 2 of 3 Sentinels "
            "have named another" in node.output())
    changed.says((foreign.ip, foreign.port), 10)
    wait_asked(changed, 3)
    assert_serves(node, "ours-1")
    assert is_used(node, ours)


def test_who_listens_is_proved_alive_by_who_asks(make_node, two_masters, scripted):
    """Its host may have gone without a word; nothing is sent on the connection that listens."""
    sentinel = scripted(two_masters[0], 1)
    node = make_node({"store.redis": url_of(sentinel)}).start()
    wait_until(lambda: sentinel.listened == 1, "the node listens")
    sentinel.drop_asking()
    wait_until(lambda: sentinel.listened == 2 and sentinel.listeners == 1,
               "the node listens on a new connection only")
    assert node.is_ready()


# ---- passwords ----

def test_the_password_of_the_sentinels_and_another_one_of_redis(make_node, watched, tmp_path):
    servers = watched(replicas=1, sentinels=1, requirepass=PASSWORD, sentinel_password=ANOTHER)
    files = {"store.redis": servers.url, "store.password_file": secret_file(tmp_path / "a", PASSWORD)}
    wrong = secret_file(tmp_path / "wrong", "zx81-barley")
    said = said_by(make_node({**files, "store.sentinel_password_file": wrong}))
    assert "WRONGPASS" in said and "zx81-" not in said
    right = secret_file(tmp_path / "right", ANOTHER)
    node = make_node({**files, "store.sentinel_password_file": right}).start()
    after = servers.failover()
    wait_until(lambda: is_used(node, after), "the node is at the new master")
    assert_serves(node, "after-1")
    assert "zx81-" not in node.output()


# ---- what drills go by ----

def test_a_sentinel_for_which_time_stood_still_is_known(watched):
    """For 30 s it starts no failover; a drill excuses what that takes."""
    sentinel = watched().sentinels[0]
    assert sentinel.tilts() == 0
    sentinel.freeze()
    time.sleep(2.5)  # the fault: a Sentinel takes more than 2 s for a jump
    sentinel.thaw()
    wait_until(lambda: sentinel.tilts() == 1, "it tells of the jump")
