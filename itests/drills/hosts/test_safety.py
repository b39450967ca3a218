"""With safety on nobody gets at a drill's Redis without TLS and a certificate: at no server of it, and
at no Sentinel."""

import pytest
import redis

from drills.hosts.cluster_store import ClusterStore
from drills.hosts.stores import RELAY_PORT, Store, StorePlan, WatchedStore


def alone(store):
    return [store.server.host], [(store.server.ip, port) for port in (store.server.port, RELAY_PORT)]


def watched(store):
    servers = [*store.watched.servers, *store.watched.sentinels]
    return store.hosts, [(each.ip, each.port) for each in servers]


def cluster(store):
    for each in store.redis.servers:
        assert each.ask("CONFIG GET tls-cluster")[1] == "yes"
    return store.hosts, [(each.ip, each.port) for each in store.redis.servers]


def takes(address, **words):
    try:
        with redis.Redis(*address, socket_timeout=20, **words) as client:
            return client.ping()
    except redis.ConnectionError:
        return False


@pytest.mark.parametrize("make, plan, scheme, places", [
    (Store, StorePlan(has_relay=True), "rediss://", alone),
    (WatchedStore, StorePlan(is_watched=True), "rediss+sentinel://", watched),
    (ClusterStore, StorePlan(has_masters=True), "rediss+cluster://", cluster)])
def test_a_redis_takes_nobody_without_a_certificate(  # pylint: disable=too-many-arguments
        make, plan, scheme, places, network, safety_on, tmp_path):
    store = make(network, tmp_path / "redis", plan, {})
    try:
        store.start()
        assert store.address.startswith(scheme)
        (host, *_), addresses = places(store)
        with host.entered():
            for address in addresses:
                assert takes(address, **safety_on.certificates.redis_client()), address
                assert not takes(address), address
                assert not takes(address, ssl=True, ssl_ca_certs=str(safety_on.certificates.ca)), address
    finally:
        store.destroy()
