"""Redis over TLS and nothing else: one by itself, Sentinels, a Redis Cluster; certificates that are
refused, and renewed; an answer that is cut. Whom a connection takes for Redis, case by case:
node/store/redis/wire/tests/tls_test.c."""

import shutil
import signal
import time

import pytest

from harness.certificates import Certificates
from harness.process import frozen
from harness.producers import HOUR_S, Producers
from harness.redis_cluster import RedisCluster, bucket_of
from harness.redis_server import TcpRedis, stored_ids
from harness.refused import said_by
from harness.sentinel import SentinelSet
from harness.tap import Tap
from harness.users import secret_file
from harness.wait import wait_until

PASSWORD, BODY = "zx81-sesame", "a body that nobody else should read"
HANDSHAKE = 0x16  # the first byte of TLS


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    return Certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def others(tmp_path_factory):
    """Of another authority."""
    return Certificates(tmp_path_factory.mktemp("others"))


@pytest.fixture
def make_secure(tmp_path, certificates):
    """make_secure(**options): a running Redis of the test's own that speaks TLS only, and wants
    certificates of its clients."""
    made = []

    def make(tls=certificates, **options):
        made.append(TcpRedis(tmp_path / f"secure{len(made)}", tls=tls, appendonly="yes",
                             appendfsync="always", **options))
        return made[-1].start()

    yield make
    for each in made:
        each.destroy()


def address_of(server):
    return f"rediss://{server.tcp_address}"


def assert_serves(node, id, topic="served"):
    with node.python_client() as client:
        assert client.push(topic, id) == "success"
        assert client.pop(topic)["id"] == id


# ---- one by itself ----

def test_nothing_can_be_read_on_the_way(make_node, make_secure, certificates, tmp_path):
    server = make_secure(requirepass=PASSWORD)
    with Tap("127.0.0.3", server.port, server.ip) as tap:
        node = make_node({**certificates.store(f"rediss://127.0.0.3:{server.port}"),
                          "store.tls.server_name": "localhost",
                          "store.password_file": secret_file(tmp_path / "password", PASSWORD)})
        node.start()
        with node.python_client() as client:
            assert client.push("secret", "secret-1", body=BODY) == "success"
            assert client.pop("secret")["body"] == BODY
        seen = tap.seen()
        assert set(tap.first_bytes()) == {HANDSHAKE}
    for words in (PASSWORD, BODY, "EVALSHA", "secret-1", "SUBSCRIBE"):
        assert words.encode() not in seen
    assert len(seen) > 10000
    node.destroy()


def test_wake_ups_come_and_a_restart_is_a_pause(make_node, make_secure, certificates):
    server = make_secure()
    node = make_node({**certificates.store(address_of(server)), "gmq.pop_wait": "20s"}).start()
    producer = Producers(node, "steady")
    producer.wait_more()
    server.kill()
    server.start()
    producer.wait_more()
    assert set(producer.stop()) <= stored_ids(server.client())
    assert_serves(node, "after-1")


def test_an_answer_that_is_cut_costs_no_job(make_node, make_secure, certificates):
    server = make_secure()
    with Tap("127.0.0.3", server.port, server.ip) as tap:
        node = make_node({**certificates.store(f"rediss://127.0.0.3:{server.port}"),
                          "store.tls.server_name": "localhost"}).start()
        producer = Producers(node, "steady")
        for _ in range(10):
            producer.wait_more(5)
            tap.cut()
        producer.wait_more(5)
        assert set(producer.stop()) <= stored_ids(server.client())
        assert node.metrics()["dueq_store_connects_total"] > 1
        node.stop()


def test_a_frozen_redis_opens_the_breaker(make_node, make_secure, certificates):
    """The first connection is given up for a late answer, the next ones for TLS's handshake."""
    server = make_secure()
    node = make_node({**certificates.store(address_of(server)), "store.command_timeout": "200ms",
                      "store.breaker.after": "0s", "store.breaker.failures": 3}).start()
    assert_serves(node, "before-1")
    with frozen(server.process.pid):
        wait_until(lambda: node.metrics()["dueq_store_breaker_trips_total"] == 1, "it opens")
        assert "no TLS handshake in time" in node.output()
        assert "tls-port" not in node.output()
    node.wait_ready()
    assert_serves(node, "after-1")


# ---- who is refused ----

def test_a_redis_of_another_authority_is_refused(make_node, make_secure, certificates, others):
    server = make_secure(tls=others)
    said = said_by(make_node(certificates.store(address_of(server))))
    assert "TLS: nobody in store.tls.ca vouches for its certificate" in said


def test_without_an_authority_the_machine_s_are_asked(make_node, make_secure):
    said = said_by(make_node({"store.redis": address_of(make_secure())}))
    assert "TLS: none of this machine's authorities vouches for its certificate, and " \
        "store.tls.ca is not set: self-signed" in said


def test_a_certificate_that_has_ended_is_refused(make_node, make_secure, certificates):
    certificate, key = certificates.redis_ended()
    server = make_secure(**{"tls-cert-file": certificate, "tls-key-file": key})
    said = said_by(make_node(certificates.store(address_of(server))))
    assert "TLS: its certificate, or one of those behind it, has expired" in said


def test_a_certificate_for_somebody_else_is_refused(make_node, make_secure, certificates):
    settings = certificates.store(address_of(make_secure()))
    said = said_by(make_node({**settings, "store.tls.server_name": "redis.internal"}))
    assert "TLS: its certificate is not for 'redis.internal' but for localhost" in said


def test_a_redis_that_wants_a_certificate_says_so(make_node, make_secure, certificates):
    said = said_by(make_node({"store.redis": address_of(make_secure()),
                              "store.tls.ca": certificates.ca}))
    assert "TLS: it wants a certificate (tls-auth-clients)" in said


def test_a_redis_takes_no_certificate_of_another_authority(make_node, make_secure, certificates,
                                                           others):
    said = said_by(make_node({**certificates.store(address_of(make_secure())),
                              "store.tls.certificate": others.client,
                              "store.tls.key": others.client_key}))
    assert "TLS: nobody it trusts vouches for store.tls.certificate" in said


def test_a_port_for_tls_and_one_that_is_not_are_told_apart(make_node, make_secure, make_redis,
                                                           certificates):
    secure, plain = make_secure(), make_secure(tls=None)
    node = make_node({"store.redis": secure.tcp_address}).launch()
    wait_until(lambda: "does it want TLS (rediss://)?" in node.output(), "the node says why")
    node.destroy()
    node = make_node({**certificates.store(address_of(plain)),
                      "store.command_timeout": "500ms"}).launch()
    wait_until(lambda: "does Redis speak TLS at this port" in node.output(), "the node says why")
    node.destroy()


def test_a_redis_without_room_cannot_say_so(make_node, make_secure, certificates):
    """It ends the connection before TLS."""
    server = make_secure(maxclients=1)
    node = make_node(certificates.store(address_of(server)))
    with server.client() as only:
        only.ping()
        node.launch()
        wait_until(lambda: "instead of TLS's handshake" in node.output(), "the node says why")
        only.config_set("maxclients", 100)
    node.wait_ready()


def test_advice_does_not_lead_out_of_tls(make_node, make_secure, certificates):
    server = make_secure()
    for scheme in ("rediss+sentinel://dueq@", "rediss+cluster://"):
        said = said_by(make_node(certificates.store(f"{scheme}{server.tcp_address}")))
        assert "as rediss://host:port" in said


# ---- certificates that are renewed ----

def test_a_reload_takes_another_authority(make_node, make_secure, certificates, others, tmp_path):
    """The old Redis is gone; the new one is of the other authority, as its clients are."""
    files = {name: tmp_path / name for name in ("ca", "certificate", "key")}

    def write(source):
        for name, path in (("ca", source.ca), ("certificate", source.client),
                           ("key", source.client_key)):
            shutil.copy(path, files[name])
        files["key"].chmod(0o600)

    write(certificates)
    server = make_secure()
    node = make_node({"store.redis": address_of(server),
                      **{f"store.tls.{name}": path for name, path in files.items()}}).start()
    assert_serves(node, "before-1")
    server.kill()
    server.launch(**others.redis_conf())
    wait_until(lambda: "TLS: nobody in store.tls.ca vouches" in node.output(), "it is refused")
    files["ca"].write_text("no certificate")
    node.process.signal(signal.SIGHUP)
    wait_until(lambda: "holds no good certificates" in node.output(), "bad files are refused")
    write(others)
    node.process.signal(signal.SIGHUP)
    node.wait_ready()
    assert "the file of store.tls.ca" in node.output()
    assert node.metrics()["dueq_store_tls_certificate_end_time_seconds"] > time.time()
    assert_serves(node, "after-1")


def test_a_change_of_store_redis_waits_for_a_restart_as_a_whole(make_node, make_secure,
                                                                certificates, tmp_path):
    """The node still trusts whom it trusted: Redis is taken after it has come back."""
    server = make_secure()
    path = tmp_path / "node.yaml"
    lines = "\n".join(f"{key}: '{value}'"
                      for key, value in certificates.store(address_of(server)).items())
    path.write_text(f"{lines}\n")
    node = make_node()
    node.argv = lambda argv=node.argv: [*argv(), "--config", path]
    node.start()
    path.write_text("store.redis: 127.0.0.1:1\nstore.hold: 7s\n")
    node.process.signal(signal.SIGHUP)
    wait_until(lambda: "takes a restart: store.redis, store.tls.ca" in node.output(), "it is told")
    server.kill()
    server.start()
    node.wait_ready()
    assert_serves(node, "after-1")


def test_a_redis_renews_its_certificate(make_node, make_secure, certificates, tmp_path):
    files = {word: tmp_path / word for word in ("tls-cert-file", "tls-key-file")}

    def write(certificate, key):
        shutil.copy(certificate, files["tls-cert-file"])
        shutil.copy(key, files["tls-key-file"])

    write(*certificates.redis_ended())
    server = make_secure(**files)
    settings = certificates.store(address_of(server))
    assert "has expired" in said_by(make_node(settings))
    write(certificates.redis, certificates.redis_key)
    words = [str(word) for pair in files.items() for word in pair]
    server.client().execute_command("CONFIG SET", *words)  # of the same names
    assert_serves(make_node(settings).start(), "renewed-1")


# ---- Sentinels, and a Redis Cluster ----

def test_sentinels_are_asked_over_tls_too(make_node, tmp_path):
    """They tell addresses, and all have certificates for one name."""
    certificates = Certificates(tmp_path / "named", names="DNS:redis.internal")
    servers = SentinelSet(tmp_path / "watched", replicas=1, sentinels=3, down_after_ms=2000,
                          appendonly="yes", appendfsync="always", tls=certificates)
    try:
        node = make_node({**certificates.store(servers.start().url),
                          "store.tls.server_name": "redis.internal"}).start()
        assert_serves(node, "before-1")
        after = servers.failover()
        wait_until(lambda: f" {after.tcp_address} is up" in node.output(), "it has followed")
        assert_serves(node, "after-1")
        servers.sentinels[0].kill()
        assert_serves(node, "after-2")
        node.stop()
    finally:
        servers.destroy()


def test_sentinels_with_a_name_that_is_none_of_theirs(make_node, tmp_path, certificates):
    servers = SentinelSet(tmp_path / "watched", replicas=0, sentinels=1, tls=certificates)
    try:
        said = said_by(make_node({**certificates.store(servers.start().url),
                                  "store.tls.server_name": "redis.internal"}))
        alone = f"rediss://{servers.sentinels[0].address}"
        assert "has to be rediss+sentinel://" in said_by(make_node(certificates.store(alone)))
        assert "Sentinel" in said and "TLS: its certificate is not for 'redis.internal'" in said
    finally:
        servers.destroy()


def test_all_masters_of_a_redis_cluster_are_reached_over_tls(make_node, tmp_path, certificates):
    servers = RedisCluster(tmp_path / "cluster", masters=3, replicas=1, node_timeout_ms=2500,
                           appendfsync="always", cluster_replica_validity_factor=0,
                           tls=certificates)
    try:
        servers.start()
        alone = address_of(servers.servers[0])
        assert "has to be rediss+cluster://" in said_by(make_node(certificates.store(alone)))
        node = make_node(certificates.store(servers.address)).start()
        topics = {servers.master_of(bucket_of(f"t{number}")): f"t{number}"
                  for number in range(50)}
        assert len(topics) == 3
        for topic in topics.values():
            assert_serves(node, f"{topic}-1", topic)
        bucket = bucket_of(next(iter(topics.values())))
        servers.wait_master_of(bucket, other_than=servers.kill_master_of(bucket))
        for topic in topics.values():
            with node.python_client() as client:
                assert client.push(topic, f"{topic}-2", delay=HOUR_S) == "success"
        node.stop()
    finally:
        servers.destroy()


def test_a_redis_cluster_that_tells_names(make_node, tmp_path):
    """Its certificates have no addresses."""
    certificates = Certificates(tmp_path / "named", names="DNS:localhost")
    servers = RedisCluster(tmp_path / "cluster", masters=3, replicas=0, tls=certificates,
                           cluster_announce_hostname="localhost",
                           cluster_preferred_endpoint_type="hostname")
    try:
        servers.start()
        seed = f"rediss+cluster://localhost:{servers.servers[0].port}"
        node = make_node(certificates.store(seed)).start()
        for number in range(20):
            assert_serves(node, f"t{number}-1", f"t{number}")
        node.stop()
    finally:
        servers.destroy()
