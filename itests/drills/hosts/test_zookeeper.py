"""The ensemble of real servers: it serves, survives, and grants the sessions we ask for."""

from contextlib import contextmanager

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

from harness.wait import wait_until

SESSION_S = 2.0


@contextmanager
def client_of(addresses, timeout_s=SESSION_S):
    client = KazooClient(hosts=addresses, timeout=timeout_s)
    client.start(timeout=20)
    try:
        yield client
    finally:
        client.stop()
        client.close()


def test_it_serves_and_survives_the_death_of_its_leader(make_ensemble):
    ensemble = make_ensemble()
    assert sorted(each.mode() for each in ensemble.servers) == ["follower", "follower", "leader"]
    with client_of(ensemble.addresses) as client:
        client.create("/kept", b"value")
        dead = ensemble.leader()
        dead.kill()
        wait_until(lambda: client.retry(client.get, "/kept")[0] == b"value", "it is read again")
        assert ensemble.leader() is not dead
        dead.start()
        ensemble.wait_serving()
        assert dead.mode() == "follower"


def test_without_a_quorum_nothing_serves_until_the_frozen_go_on(make_ensemble):
    ensemble = make_ensemble()
    leader, followers = ensemble.leader(), ensemble.followers()
    for each in followers:
        each.freeze()
    wait_until(lambda: leader.mode() is None, "the leader has lost its quorum")
    for each in followers:
        each.thaw()
    ensemble.wait_serving()


def test_data_that_is_wiped_is_gone(make_ensemble):
    ensemble = make_ensemble()
    with client_of(ensemble.addresses) as client:
        client.create("/lost", b"")
    for each in ensemble.servers:
        each.stop()
        each.wipe()
    ensemble.start()
    with client_of(ensemble.addresses) as client, pytest.raises(NoNodeError):
        client.get("/lost")


@pytest.mark.parametrize("tick_ms, asked_s, granted_ms", [(500, 1.0, 1000), (200, 0.5, 1000)])
def test_a_session_is_granted_from_a_second_on(make_ensemble, tick_ms, asked_s, granted_ms):
    ensemble = make_ensemble(tick_ms=tick_ms, size=3)
    with client_of(ensemble.addresses, asked_s) as client:
        server = ensemble.server_of("%s:%d" % client._connection._socket.getpeername())
        assert f"to={granted_ms}," in server.ask("cons")


def test_in_a_network_a_follower_cut_from_its_leader_stops_serving(make_ensemble, network):
    hosts = [network.add_host(f"zk{number}") for number in (1, 2, 3)]
    ensemble = make_ensemble(hosts=hosts)
    follower = ensemble.followers()[0]
    others = [host for host in hosts if host is not follower.host]
    with network.cut([follower.host], others):
        wait_until(lambda: follower.mode() is None, "it has left its leader")
        assert ensemble.leader() is not follower
    ensemble.wait_serving()
