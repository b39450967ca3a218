"""What shows that a fault has struck: seen where it has, and not where it has not."""

import os
import signal
import socket
import sys
from contextlib import suppress
from types import SimpleNamespace

import pytest
import redis

from drills.clients.crowd_cases import FILES, Limit
from drills.hosts.names import SlowNames
from drills.hosts.stores import Store, StorePlan
from drills.hosts.troubles import TROUBLES
from drills.rows.matrix import MATRIX
from drills.witness import all_hurt, changed, cut, hurt, run_ids
from harness.process import Process, is_alive, kill_now
from harness.redis_server import RedisServer
from harness.wait import wait_until

PORT = 5000


@pytest.fixture
def sleepers(tmp_path):
    found = [Process(["sleep", "1000"], tmp_path / f"{number}.log") for number in range(2)]
    yield found
    kill_now([each.pid for each in found])


def test_a_process_is_hurt_when_it_is_stopped_or_gone(sleepers):
    pids = [each.pid for each in sleepers]
    one, both = hurt(pids), all_hurt(pids)
    assert not one() and not both()
    os.kill(pids[0], signal.SIGSTOP)
    wait_until(one, "it is stopped")
    assert not both()
    kill_now(pids[1:])
    assert both()
    assert not hurt(pids)(), "they were hurt before"
    assert not all_hurt([])(), "there was nobody to be hurt"


LARGE = "import signal; large = b'x' * (200 << 20); print(1, flush=True); signal.pause()"


def test_a_process_that_was_stopped_and_is_killed_is_hurt_all_the_time(tmp_path):
    """It runs once more, to end, and takes a while for it if it is large."""
    large = Process([sys.executable, "-c", LARGE], tmp_path / "log")
    wait_until(large.output, "it is large")
    is_hurt = hurt([large.pid])
    os.kill(large.pid, signal.SIGSTOP)
    wait_until(is_hurt, "it is stopped")
    os.kill(large.pid, signal.SIGKILL)
    while is_alive(large.pid):
        assert is_hurt()
    large.wait()


def test_what_changes_is_compared_with_before():
    values = [1]
    has_changed = changed(lambda: values[0])
    assert not has_changed()
    values[0] = 2
    assert has_changed() and not changed(lambda: values[0])()


def send(source, target):
    """Frames that nobody waits for."""
    with source.entered(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        with suppress(OSError):
            sender.sendto(b"x", (target.address, PORT))


def test_a_cut_shows_by_the_frames_that_it_has_dropped(network):
    a, b = (network.add_host(name) for name in "ab")
    is_cut = cut(network)
    assert not is_cut(), "there is none"
    nothing, first = network.cut_one_way([a], [a]), network.cut([a], [b])  # no frame comes back
    send(a, b)
    wait_until(lambda: first.dropped() > 0, "it drops")
    assert nothing.dropped() == 0 and not is_cut(), "nothing has met the other"
    nothing.heal()
    hidden = network.cut_one_way([a], [b])  # behind the first
    send(a, b)
    wait_until(is_cut, "it drops")
    assert hidden.dropped() == 0
    network.heal_all()
    assert not is_cut()


def test_a_link_and_connections_are_seen(network):
    a, b = (network.add_host(name) for name in "ab")
    has_gone = changed(lambda: a.has_link)
    with b.entered(), socket.create_server((b.address, PORT)), a.entered():
        with socket.create_connection((b.address, PORT)) as client:
            assert a.connections(b.address, PORT) == {"%s:%d" % client.getsockname()}
    assert not has_gone()
    a.pull_cable()
    assert has_gone()


def test_a_redis_that_was_restarted_is_another(tmp_path):
    server = RedisServer(tmp_path / "redis").start()
    try:
        is_another = changed(lambda: run_ids([server]))
        assert not is_another()
        server.kill()
        assert is_another() and run_ids([server]) == [None]
        server.start()
        assert is_another()
    finally:
        server.destroy()


@pytest.fixture
def store(network, tmp_path):
    """The Redis of a drill, with a relay on the way to it."""
    made = Store(network, tmp_path / "redis", StorePlan(has_relay=True), {})
    try:
        made.start()
        yield made
    finally:
        made.destroy()


def test_a_slow_redis_is_measured(store):
    drill = SimpleNamespace(variant="slow by 100 ms", cluster=SimpleNamespace(store=store))
    is_slow = MATRIX["16"].witness(drill)
    assert store.answers_in_ms() < 1e9  # how long it takes alone is the machine's
    store.relay.delay_ms = 100
    assert is_slow()


@pytest.mark.parametrize("name, command", [
    ("out of memory", ("EVAL", "return redis.call('SET', 'a', 'b')", 0)),
    ("another password", ("PING",)), ("without scripts", ("EVALSHA", "0" * 40, 0)),
    ("read-only", None)])
def test_a_redis_that_does_not_want_to_is_seen(store, name, command):
    """`command`: it is refused; None: the trouble itself is seen."""
    cluster, trouble = SimpleNamespace(store=store, redis=store.server), TROUBLES[name]
    has_struck = trouble.witness(cluster)
    assert not has_struck()
    trouble.make(cluster)
    if command:
        assert not has_struck(), "nobody has met it"
        with store.server.client() as client, suppress(redis.ResponseError):
            client.execute_command("NO SUCH COMMAND")
        assert not has_struck(), "another error has nothing to do with it"
        with store.server.client() as client, suppress(Exception):
            client.execute_command(*command)
    assert has_struck()
    trouble.heal(cluster)


def test_errors_that_redis_has_forgotten_are_no_errors(store):
    with store.server.client() as client:
        for _ in range(2):
            with suppress(redis.ResponseError):
                client.evalsha("0" * 40, 0)
        has_struck = TROUBLES["without scripts"].witness(
            SimpleNamespace(store=store, redis=store.server))
        client.config_resetstat()
        assert not has_struck()


def test_a_slow_name_service_has_kept_somebody_waiting(network):
    names = SlowNames(network.add_host("dns"), {})
    try:
        is_late = MATRIX["23"].witness(SimpleNamespace(cluster=SimpleNamespace(names=names)))
        names.delay_s = 0.01
        assert not is_late(), "nobody has asked"
        with names.host.entered(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asker:
            asker.sendto(b"\0" * 12 + b"\1a\0\0\1\0\1", (names.host.address, 53))
        wait_until(is_late, "it was asked")
    finally:
        names.close()


def crowded(what, log):
    leader = SimpleNamespace(output=lambda: log[0])
    case = Limit.__new__(Limit)
    vars(case).update(_what=what, _leader=leader, _complaints_before=0,
                      _crowd=SimpleNamespace(turned_away=len(log) - 1))
    return case


def test_a_leader_that_is_full_has_turned_somebody_away():
    assert not crowded(FILES, [""]).has_struck() and not crowded("", [""]).has_struck()
    assert crowded(FILES, ["cannot accept clients"]).has_struck()
    assert crowded("", ["", "one"]).has_struck()


def witness_of(number, variant="", **drill):
    return type(MATRIX[number])().witness(SimpleNamespace(variant=variant, **drill))


def test_links_that_lose_nothing_are_not_slow():
    lost = {"n1": SimpleNamespace(lost=3)}
    is_slow = witness_of("21", network=SimpleNamespace(counts=lambda: dict(lost)))
    assert not is_slow()
    lost["n1"] = SimpleNamespace(lost=4)
    assert is_slow()


class Master:
    is_running, process = True, SimpleNamespace(pid=os.getpid())

    def __init__(self, name):
        self.tcp_address = name


@pytest.mark.parametrize("number, variant", [("30", "several slots"), ("31", "killed"),
                                             ("31", "by hand")])
def test_slots_that_stay_where_they_are_have_not_moved(number, variant):
    one, two = Master("one"), Master("two")
    has = {one: [1, 2], two: [3]}
    store = SimpleNamespace(masters=[one, two], redis=SimpleNamespace(
        buckets_of=lambda master, buckets: has[master]))
    has_moved = witness_of(number, variant, cluster=SimpleNamespace(store=store))
    assert not has_moved()
    has[one], has[two] = [1], [2, 3]
    assert has_moved()


@pytest.mark.parametrize("variant, seconds, is_struck", [
    ("redis forward", [3600], True), ("redis forward", [], False), ("redis forward", [0], False),
    ("redis strobed", [3600, -3600, 0] * 10, True), ("redis strobed", [0] * 30, False)])
def test_clocks_that_were_not_set_are_seen(variant, seconds, is_struck):
    row = type(MATRIX["17"])()
    has_struck = row.witness(SimpleNamespace(variant=variant, cluster=SimpleNamespace(nodes=[])))
    row.shown += seconds
    assert has_struck() == is_struck


def test_every_row_has_a_witness():
    assert [number for number, row in MATRIX.items()
            if not any("witness" in vars(kind) for kind in type(row).__mro__[:-2])] == []
