"""The ensemble of real servers: it serves, survives, and grants the sessions we ask for. Without a
quorum, cut off, or wiped: rows 8 to 11, which are void where that does not show."""

from contextlib import contextmanager

import pytest
from kazoo.client import KazooClient

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


@pytest.mark.parametrize("tick_ms, asked_s, granted_ms", [(500, 1.0, 1000), (200, 0.5, 1000)])
def test_a_session_is_granted_from_a_second_on(make_ensemble, tick_ms, asked_s, granted_ms):
    ensemble = make_ensemble(tick_ms=tick_ms, size=3)
    with client_of(ensemble.addresses, asked_s) as client:
        server = ensemble.server_of("%s:%d" % client._connection._socket.getpeername())
        assert f"to={granted_ms}," in server.ask("cons")
