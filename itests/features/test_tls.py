"""TLS for clients: as the programs see it that people use, and when something is wrong."""

import json
import re
import resource
import signal
import socket
import ssl
import subprocess
import threading

import pytest

from harness.build import ROOT, node_program
from harness.certificates import Certificates
from harness.dueqctl import REFUSED, UNREACHABLE, Dueqctl
from harness.gmq import PythonClient, RawClient
from harness.http_api import HttpApi, path_of
from harness.http_raw import RawHttp
from harness.memory import is_sanitized, resident_bytes
from harness.tls_in_hand import TlsInHand
from harness.wait import wait_until

MIB = 1 << 20
BAD_CONFIG = 78


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    return Certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture
def secure(make_node, certificates):
    """A node whose ports take nothing but TLS."""
    node = make_node(certificates.settings(http="required", gmq="required"))
    node.context = certificates.context()
    return node.start()


# ---- the programs that people use ----

def curl(node, certificates, path, *words, stdin=b""):
    done = subprocess.run(["curl", "-sS", "--cacert", certificates.ca, node.url(path), *words],
                          input=stdin, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_curl_pushes_and_pops_a_large_body(secure, certificates):
    body = "x" * MIB
    pushed = json.loads(curl(secure, certificates, "/v1/topics/t/jobs", "--data-binary", "@-",
                             stdin=json.dumps({"id": "1", "body": body}).encode()))
    assert pushed["id"] == "1"
    [job] = json.loads(curl(secure, certificates, "/v1/topics/t/pop", "-X", "POST"))["jobs"]
    assert job["body"] == body
    assert secure.metrics()['dueq_tls_handshakes_failed_total{protocol="http"}'] == 0


def s_client(node, certificates, *words):
    """What it says of a connection that it opens and closes, and asks for the health of the node
    meanwhile: so it has the ticket."""
    asked = b"GET /health/live HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    done = subprocess.run(["openssl", "s_client", "-connect", f"localhost:{node.http_port}",
                           "-CAfile", certificates.ca, "-verify_return_error", "-ign_eof", *words],
                          input=asked, capture_output=True, check=False)
    return done.returncode, (done.stdout + done.stderr).decode(errors="replace")


@pytest.mark.parametrize("version", ["1.2", "1.3"])
def test_openssl_connects_and_comes_back_with_a_ticket(secure, certificates, tmp_path, version):
    option, ticket = f"-tls{version.replace('.', '_')}", tmp_path / "ticket"
    code, said = s_client(secure, certificates, option, "-sess_out", ticket)
    assert code == 0 and f"New, TLSv{version}" in said and "HTTP/1.1 200 OK" in said, said
    code, said = s_client(secure, certificates, option, "-sess_in", ticket)
    assert code == 0 and f"Reused, TLSv{version}" in said and "HTTP/1.1 200 OK" in said, said


def test_older_versions_are_refused(secure, certificates):
    code, said = s_client(secure, certificates, "-tls1_1", "-cipher", "ALL:@SECLEVEL=0")
    assert code != 0 and "protocol version" in said, said
    assert secure.metrics()['dueq_tls_handshakes_failed_total{protocol="http"}'] == 1


def test_gmq_clients_speak_either_where_that_is_optional(make_node, certificates):
    node = make_node(certificates.settings(gmq="optional")).start()
    with PythonClient(node.gmq_port) as plain, \
            PythonClient(node.gmq_port, certificates.context()) as secure:
        secure.push("t", "1", "body")
        assert plain.pop("t")["id"] == "1"
        assert plain.ack("1")
    assert node.metrics()['dueq_tls_handshakes_total{protocol="gmq"}'] == 1


def test_a_full_gmq_port_closes_without_a_word_and_counts(make_node, certificates):
    node = make_node({**certificates.settings(gmq="required"), "limits.connections": 1}).start()
    with PythonClient(node.gmq_port, certificates.context()) as client:
        client.push("t", "1", "body")
        with RawClient(node.gmq_port) as late:
            assert late.is_closed_by_server()
    metrics = node.metrics()
    assert metrics['dueq_connections_rejected_total{protocol="gmq"}'] == 1
    assert metrics['dueq_tls_handshakes_failed_total{protocol="gmq"}'] == 0


def test_clients_that_speak_plain_are_told(secure):
    with RawHttp(secure.http_port) as raw:
        raw.request("POST", "/v1/topics/t/jobs", body=b"x" * MIB)  # all of it is heard out
        reply = raw.reply()
        assert reply.status == 400 and b"TLS only" in reply.body
        assert raw.is_closed_by_server()
    with RawClient(secure.gmq_port) as raw:
        raw.send_request("Pop", ["t"])
        assert raw.reply()["error"].startswith("tls_required")
        assert raw.is_closed_by_server()


def test_dueqctl_speaks_tls(secure, certificates, tmp_path):
    ctl = Dueqctl(secure.url())
    ctl.ok("push", "t", "--id", "1", "x", "--ca", certificates.ca)
    assert ctl.ok("stats", "t", DUEQ_CA=str(certificates.ca))
    done = ctl("push", "t", "x")
    assert done.code == UNREACHABLE and "certificate" in done.complaint
    stranger = Certificates(tmp_path / "strangers")
    assert ctl("push", "t", "x", "--ca", stranger.ca).code == UNREACHABLE
    plain = Dueqctl(f"http://127.0.0.1:{secure.http_port}")("push", "t", "x")
    assert plain.code == REFUSED


# ---- manners ----

def test_replies_come_after_the_client_has_ended_its_side(secure, certificates):
    """Without a goodbye of TLS, as many clients do."""
    with RawHttp(secure.http_port, context=certificates.context()) as raw:
        raw.request("POST", "/v1/topics/t/jobs", b'{"id": "1", "body": "b"}')
        socket.socket.shutdown(raw.socket, socket.SHUT_WR)
        assert raw.reply().json["id"] == "1"
        assert raw.is_closed_by_server()


def test_requests_may_come_many_at_a_time(secure, certificates):
    with RawHttp(secure.http_port, context=certificates.context()) as raw:
        body = b'{"body": "%s"}' % (b"x" * 3000)
        raw.send(b"POST /v1/topics/t/jobs HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n%s"
                 % (len(body), body) * 50)
        assert [raw.reply().status for _ in range(50)] == [201] * 50


LARGE = "x" * 1_000_000  # more than goes into a receive buffer, and less than into a send buffer


def ask_by_gmq(node, topic):
    raw = RawClient(node.gmq_port, receive_buffer=65536, context=node.context)
    raw.send_request("Pop", [topic])
    return raw


def ask_by_http(node, topic):
    raw = RawHttp(node.http_port, receive_buffer=65536, context=node.context)
    raw.request("POST", path_of("topics", topic, "pop") + "?wait_ms=600000")
    return raw


def waiting(node):
    return sum(value for name, value in node.metrics().items() if "waiting" in name)


def test_a_consumer_that_closes_unread_gives_its_job_back(secure):
    """With a time to run and without: what its kernel has not acknowledged was not delivered."""
    with secure.api() as api:
        for ask in (ask_by_gmq, ask_by_http):
            for ttr_ms in (0, 600_000):
                topic = f"{ask.__name__}-{ttr_ms}"
                reader = ask(secure, topic)
                wait_until(lambda: waiting(secure) == 1, "it waits")
                api.push(topic, LARGE, id="large", ttr_ms=ttr_ms)
                wait_until(lambda: waiting(secure) == 0, "it is answered")
                reader.close()
                job = api.pop_one(topic)
                assert (job["id"], job["tries"]) == ("large", 0)
                if ttr_ms:
                    api.ack(job)
    assert secure.metrics()["dueq_jobs_returned_total"] == 4


def test_a_job_without_a_time_to_run_is_gone_once_its_reply_is_read(secure):
    with secure.api() as api:
        reader = ask_by_http(secure, "t")
        wait_until(lambda: waiting(secure) == 1, "it waits")
        api.push("t", LARGE, id="large", ttr_ms=0)
        assert reader.reply().json["jobs"][0]["body"] == LARGE
        wait_until(lambda: secure.metrics()["dueq_deliveries_unconfirmed"] == 0, "it is delivered")
        reader.close()
        assert api.pop("t") == []


# ---- certificates of clients ----

@pytest.fixture
def asking(make_node, certificates):
    """A node that takes only clients with a certificate."""
    node = make_node({**certificates.settings(http="required"), "tls.client_ca": certificates.ca})
    node.context = certificates.context(certificates.client, certificates.client_key)
    return node.start()


def is_refused(node, context):
    """Over TLS 1.3 it is told when it reads."""
    try:
        with HttpApi(node.http_port, context=context) as api:
            api.ask("GET", "/health/live")
        return False
    except (OSError, Exception) as error:  # pylint: disable=broad-except
        return isinstance(error.__cause__ or error, OSError)


def test_only_clients_with_a_good_certificate_are_taken(asking, certificates, tmp_path):
    stranger = Certificates(tmp_path / "strangers")
    assert asking.http("/health/live")[0] == 200
    assert is_refused(asking, certificates.context())
    assert is_refused(asking, certificates.context(*certificates.ended()))
    assert is_refused(asking, certificates.context(stranger.client, stranger.client_key))
    failed = 'dueq_tls_handshakes_failed_total{protocol="http"}'
    assert asking.metrics()[failed] == 3


def test_dueqctl_shows_its_certificate_or_nothing_has_happened(asking, certificates):
    ctl = Dueqctl(asking.url())
    ctl.ok("push", "t", "x", "--ca", certificates.ca, "--cert", certificates.client, "--key",
           certificates.client_key)
    done = ctl("push", "t", "x", "--ca", certificates.ca)
    assert done.code == UNREACHABLE and "certificate required" in done.complaint, done
    done = ctl("push", "t", "x", "--ca", certificates.ca, "--cert", certificates.odd(), "--key",
               certificates.client_key)
    assert done.code == UNREACHABLE and "certificate unknown" in done.complaint, done
    assert ctl.json("stats", "t", DUEQ_CA=str(certificates.ca), DUEQ_CERT=str(certificates.client),
                    DUEQ_KEY=str(certificates.client_key))["topics"][0]["ready"] == 1


# ---- certificates that change ----

def serial_of(node, certificates):
    with socket.create_connection(("127.0.0.1", node.http_port)) as raw, \
            certificates.context().wrap_socket(raw, server_hostname="localhost") as connected:
        return connected.getpeercert()["serialNumber"]


def test_certificates_change_under_load_and_no_connection_notices(make_node, tmp_path):
    certificates = Certificates(tmp_path / "certificates")
    node = make_node(certificates.settings(http="required", gmq="optional"))
    node.context = certificates.context()
    node.start()
    is_over, pushed, lost = threading.Event(), [0] * 4, []

    def push(number):
        try:
            with HttpApi(node.http_port, context=node.context) as api:
                local = api._connection  # pylint: disable=protected-access
                api.push("t", "b", id=f"{number}-first")
                first = local.sock
                while not is_over.is_set():
                    api.push("t", "b", id=f"{number}-{pushed[number]}")
                    pushed[number] += 1
                    assert local.sock is first, "the connection is the same"
        except BaseException as error:  # pylint: disable=broad-except
            lost.append(error)

    threads = [threading.Thread(target=push, args=[number]) for number in range(4)]
    for thread in threads:
        thread.start()
    seen = {serial_of(node, certificates)}
    for turn in range(1, 4):
        certificates.renew()
        node.process.signal(signal.SIGHUP)
        wait_until(lambda: node.output().count("the certificate is good until") == turn + 1,
                   "the worker has the new certificate")
        seen.add(serial_of(node, certificates))
        before = list(pushed)
        wait_until(lambda: all(a > b for a, b in zip(pushed, before)) or lost, "all go on")
    is_over.set()
    for thread in threads:
        thread.join()
    assert not lost and len(seen) == 4
    assert node.output().count("changed: the file of tls.certificate, the file of tls.key") == 3


def test_files_that_do_not_fit_leave_the_old_certificate(make_node, tmp_path):
    """Also to the next worker: it gets what was good."""
    certificates = Certificates(tmp_path / "certificates")
    node = make_node(certificates.settings(http="required"))
    node.context = certificates.context()
    node.start()
    before = serial_of(node, certificates)
    certificates.server_key.write_bytes(certificates.client_key.read_bytes())
    node.process.signal(signal.SIGHUP)
    wait_until(lambda: "is not the key of the first certificate" in node.output(), "it says so")
    assert "the old one stays" in node.output()
    assert serial_of(node, certificates) == before
    worker = node.worker_pid
    node.kill("worker")
    wait_until(lambda: node.worker_pid not in (None, worker), "there is another worker")
    node.wait_ready()
    assert serial_of(node, certificates) == before


@pytest.mark.parametrize("words", [[], ["--check-config"]])
def test_a_node_does_not_begin_with_files_that_do_not_fit(certificates, words):
    settings = {**certificates.settings(http="required"), "tls.key": certificates.client_key}
    sets = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    done = subprocess.run([node_program(), *sets, *words], capture_output=True, check=False)
    assert done.returncode == BAD_CONFIG
    assert b"tls.key" in done.stderr and b"is not the key" in done.stderr


def test_a_certificate_that_ends_soon_is_told(make_node, tmp_path):
    certificates = Certificates(tmp_path / "certificates", days=5)
    node = make_node(certificates.settings(http="optional")).start()
    assert re.search("ends in [45] days, at", node.output())
    end = node.metrics()['dueq_tls_certificate_end_time_seconds{protocol="http"}']
    told = ssl.cert_time_to_seconds(subprocess.run(
        ["openssl", "x509", "-noout", "-enddate", "-in", certificates.server], check=True,
        capture_output=True, text=True).stdout.strip().partition("=")[2])
    assert end == told
    assert node.metrics()['dueq_tls_certificate_end_time_seconds{protocol="gmq"}'] == 0


# ---- slow ones ----

def hello_of(context):
    """What a client says first."""
    return TlsInHand(context, "localhost").sent()


def test_a_crowd_that_is_slow_to_shake_hands_hurts_nobody(make_node, certificates):
    """Half of a hello each, and a byte more from time to time; some say all of it and then
    nothing. An honest client is served meanwhile, and the crowd is gone when its time is over."""
    crowd_size = min(10_000, resource.getrlimit(resource.RLIMIT_NOFILE)[1] - 1000)
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft[1], soft[1]))
    node = make_node({**certificates.settings(http="required"), "limits.connections": crowd_size + 100,
                      "limits.request_time": "60s", "gmq.listen": ""})
    node.context = certificates.context()
    node.start()
    hello = hello_of(node.context)
    before = resident_bytes(node.worker_pid)
    crowd = []
    try:
        for number in range(crowd_size):
            member = socket.create_connection(("127.0.0.1", node.http_port))
            member.sendall(hello if number % 10 == 0 else hello[:len(hello) // 2])
            crowd.append(member)
        connected = 'dueq_connections{protocol="http"}'
        wait_until(lambda: node.metrics()[connected] >= crowd_size, "all of them are there")
        with node.api() as api:
            for number in range(20):
                for member in crowd[number * 37::50]:
                    member.send(b"\0" if number % 2 else b"\1")
                api.push("t", "b", id=str(number))
        if not is_sanitized():
            grown = resident_bytes(node.worker_pid) - before
            assert grown < crowd_size * 16384, f"{grown / crowd_size:.0f} bytes each"
        node.process.signal(signal.SIGHUP)
    finally:
        for member in crowd:
            member.close()
    wait_until(lambda: node.metrics()[connected] <= 2, "the crowd is gone")


def test_handshakes_have_their_time(make_node, certificates):
    node = make_node({**certificates.settings(http="required"), "limits.request_time": "300ms"})
    node.context = certificates.context()
    node.start()
    hello = hello_of(node.context)
    for said in (b"", hello[:1], hello[:-1], hello):
        with socket.create_connection(("127.0.0.1", node.http_port)) as slow:
            slow.sendall(said)
            wait_until(lambda: _is_ended(slow), "the node ends it")


def _is_ended(connected):
    """Has all been read, and the end?"""
    connected.settimeout(10)
    try:
        return connected.recv(65536) == b""
    except ConnectionResetError:
        return True


# ---- for a trial ----

def test_dev_makes_certificates_for_a_trial(tmp_path):
    done = subprocess.run([ROOT / "dev", "tls", tmp_path / "here"], capture_output=True, text=True,
                          check=True)
    assert f"certificate: {tmp_path}/here/server.pem" in done.stdout
    assert "curl --cacert" in done.stdout


class InHand:
    """A TLS client whose bytes for the wire are at hand, to be sent in parts."""

    def __init__(self, port, context):
        self.socket = socket.create_connection(("127.0.0.1", port), 30)
        self._tls = TlsInHand(context, "localhost")
        self.socket.sendall(self._tls.sent())
        while not self._tls.is_up:
            self._hear()

    def _hear(self):
        said, answer = self._tls.came(self.socket.recv(65536))
        self.socket.sendall(answer)
        return said

    def encrypted(self, data):
        return self._tls.sent(data)

    def read(self):
        while not (said := self._hear()):
            pass
        return said


def test_one_clients_bad_record_is_nothing_to_the_others(secure):
    """The library's errors are in one queue for all; nobody reads it at the default log level."""
    body = json.dumps({"id": "1", "body": "x" * 9000}).encode()
    honest = InHand(secure.http_port, secure.context)
    head = f"POST /v1/topics/t/jobs HTTP/1.1\r\nHost: h\r\nContent-Length: {len(body)}\r\n\r\n"
    wire = honest.encrypted(head.encode() + body)
    for port in (secure.http_port, secure.gmq_port):
        bad = InHand(port, secure.context)
        bad.socket.sendall(b"\x17\x03\x03\x00\x20" + bytes(32))  # a record that nobody encrypted
        wait_until(lambda bad=bad: _is_ended(bad.socket), "the node has ended it")
        honest.socket.sendall(wire[:3000])
        wire = wire[3000:]
        RawHttp(secure.http_port, context=secure.context).close()
    honest.socket.sendall(wire)
    assert honest.read().startswith(b"HTTP/1.1 201 ")
