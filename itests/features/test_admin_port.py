"""The operators' ways in: the node's socket, and admin.listen; and what a port that other machines
reach is for, as long as the node knows no identities."""

import hashlib
import http.client
import json
import os
import signal
import socket
import stat
import subprocess

import pytest

from harness.canned import reply
from harness.dueqctl import DONE, REFUSED, UNREACHABLE, Dueqctl
from harness.http_api import HttpApi
from harness.http_raw import RawHttp
from harness.node import Node
from harness.ports import free_port
from harness.refused import said_by
from harness.wait import PATIENCE_S, wait_until


@pytest.fixture(name="admin")
def node_with_admin_port(make_node):
    port = free_port()
    node = make_node({"admin.listen": f"127.0.0.1:{port}"}).start()
    node.admin_port = port
    return node


def socket_of(node):
    return f"unix:{node.data_dir}/admin.sock"


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=30)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def ask_socket(node, method, target, headers=None):
    connection = UnixConnection(node.data_dir / "admin.sock")
    try:
        connection.request(method, target, headers=headers or {})
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read() or b"null")
    finally:
        connection.close()


def with_identities(directory):
    file = directory / "identities"
    file.write_text("shop produce,consume topics=in* token=" +
                    hashlib.sha256(b"shop-token").hexdigest() + "\n")
    file.chmod(0o600)
    return file


# ---- the socket ----

def test_the_socket_is_the_nodes_users_alone_and_goes_with_the_node(make_node):
    node = make_node().start()
    path = node.data_dir / "admin.sock"
    about = path.lstat()
    assert stat.S_ISSOCK(about.st_mode) and stat.S_IMODE(about.st_mode) == 0o600
    assert f"socket {path}" in node.output()
    node.stop()
    assert not path.exists()


def test_dueqctl_does_everything_over_the_socket(make_node):
    ctl = Dueqctl(socket_of(make_node().start()))
    ctl.ok("push", "t", "hello", "--id", "a")
    assert "hello" in ctl.ok("pop", "t").text
    ctl.ok("topic", "set", "t", "max_jobs=5")
    ctl.ok("purge", "t", "--state", "ready")
    assert ctl.json("status")["name"]


def test_dueqctl_finds_the_socket_of_a_node_that_was_started_here(make_node, tmp_path, monkeypatch):
    here = tmp_path / "here"
    here.mkdir()
    node = make_node({"node.data_dir": here / "dueq-data"}).start()
    monkeypatch.chdir(here)
    assert Dueqctl().ok("push", "t", "x").code == DONE
    wait_until(lambda: node.metrics().get('dueq_requests_total{protocol="socket"}', 0) > 0,
               "it went through the socket")
    before = node.metrics()['dueq_requests_total{protocol="socket"}']
    (here / "dueq-data").chmod(0o777)  # whose socket that is, others decide
    Dueqctl()("status")
    assert node.metrics()['dueq_requests_total{protocol="socket"}'] == before


def test_a_command_opens_one_connection_to_the_socket_it_finds(make_node, tmp_path, monkeypatch):
    node = make_node({"node.data_dir": tmp_path / "dueq-data"}).start()
    accepted = 'dueq_connections_accepted_total{protocol="socket"}'
    monkeypatch.chdir(tmp_path)
    before = node.metrics().get(accepted, 0)
    Dueqctl().ok("push", "t", "--lines", stdin=b"a\nb\n")
    Dueqctl().ok("topics")
    assert node.metrics()[accepted] == before + 2


def test_a_command_does_not_change_over_to_another_node(tmp_path, monkeypatch):
    (tmp_path / "dueq-data").mkdir()
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.settimeout(PATIENCE_S)
        listener.bind("dueq-data/admin.sock")
        listener.listen()
        with Dueqctl().start("cancel", "t", "1", "2") as ctl:
            connection = listener.accept()[0]
            with connection:
                assert connection.recv(65536).startswith(b"DELETE ")
                listener.close()
                connection.sendall(reply(b"204 No Content"))
            ctl.wait_for("2: no connection to unix:dueq-data/admin.sock", "err")


def test_a_socket_left_behind_by_a_killed_node_is_replaced(make_node):
    node = make_node().start()
    node.destroy()
    assert (node.data_dir / "admin.sock").exists()
    assert Dueqctl(socket_of(node))("status").code == UNREACHABLE
    node.start()
    assert Dueqctl(socket_of(node)).ok("status")


def test_the_socket_serves_through_a_new_worker(make_node):
    node = make_node().start()
    old = node.worker_pid
    os.kill(old, signal.SIGKILL)
    wait_until(lambda: node.worker_pid not in (None, old) and node.is_ready(), "a new worker")
    assert Dueqctl(socket_of(node)).ok("status")


def test_with_identities_the_socket_needs_no_token_and_takes_one(make_node, tmp_path):
    node = make_node({"access.file": with_identities(tmp_path)}).start()
    assert ask_socket(node, "POST", "/v1/topics/t/resume")[0] == 200
    assert ask_socket(node, "GET", "/v1/access")[1]["roles"] == [
        "produce", "consume", "inspect", "operate", "admin"]
    shop = {"Authorization": "Bearer shop-token"}
    assert ask_socket(node, "POST", "/v1/topics/t/resume", shop)[0] == 403
    assert ask_socket(node, "GET", "/v1/access", {"Authorization": "Bearer no"})[0] == 401
    with RawHttp(node.http_port) as raw:
        raw.request("POST", "/v1/topics/t/pause")
        assert raw.reply().status == 401


def test_the_audit_log_says_which_user_came_over_the_socket(make_node, tmp_path):
    log = tmp_path / "audit"
    node = make_node({"log.audit": log}).start()
    Dueqctl(socket_of(node)).ok("pause", "t")
    line = json.loads(log.read_text().splitlines()[-1])
    assert line["operation"] == "pause" and line["who"] is None
    assert line["from"].startswith(f"socket user {os.getuid()}, pid ")


def test_the_socket_can_be_elsewhere_or_nowhere(make_node, tmp_path):
    path = tmp_path / "s"
    node = make_node({"admin.socket": path}).start()
    assert Dueqctl(f"unix:{path}").ok("status")
    assert not (node.data_dir / "admin.sock").exists()
    node.stop()
    assert not path.exists()
    node = make_node({"admin.socket": ""}).start()
    assert "socket off" in node.output()


def test_a_path_that_is_taken_keeps_the_node_from_starting_only_when_it_was_given(make_node,
                                                                                   tmp_path):
    path = tmp_path / "s"
    path.write_text("precious")
    node = make_node({"admin.socket": path})
    said = said_by(node)
    assert f"admin.socket: cannot listen at {path}" in said and path.read_text() == "precious"
    node = make_node()
    node.data_dir.mkdir()
    (node.data_dir / "admin.sock").write_text("precious")
    node.start()
    assert "admin.socket: cannot listen" in node.output() and "socket off" in node.output()


def test_a_node_removes_no_socket_but_its_own(make_node, tmp_path):
    path = tmp_path / "s"
    first = make_node({"admin.socket": path}).start()
    path.unlink()
    second = make_node({"admin.socket": path}).start()
    first.stop()
    assert Dueqctl(f"unix:{path}").ok("status")
    second.stop()
    assert not path.exists()


@pytest.mark.parametrize("name", ["redis.sock", "lock", "..", "redis.conf"])
def test_the_socket_has_no_name_that_the_directory_needs(make_node, name):
    assert "admin.socket: is a name in node.data_dir" in said_by(make_node({"admin.socket": name}))


def test_curl_speaks_with_the_socket(make_node):
    node = make_node().start()
    done = subprocess.run(["curl", "-sS", "--unix-socket", node.data_dir / "admin.sock",
                           "http://dueq/v1/topics"], capture_output=True, check=True, timeout=30)
    assert json.loads(done.stdout)["topics"] == []


# ---- admin.listen ----

def test_the_admin_port_serves_the_same(admin):
    api = HttpApi(admin.admin_port)
    api.push("t", body="x", id="a")
    assert HttpApi(admin.http_port).get("t", "a")["id"] == "a"
    text = api.done("GET", "/metrics").body.decode()
    assert 'dueq_requests_total{protocol="admin"}' in text
    assert 'dueq_requests_total{protocol="http"}' in text


def test_the_admin_port_answers_while_clients_have_all_places(make_node):
    port = free_port()
    node = make_node({"admin.listen": f"127.0.0.1:{port}", "limits.connections": 2}).start()
    admin = HttpApi(port)
    wait_until(lambda: b'dueq_connections{protocol="http"} 0\n' in admin.ask("GET", "/metrics").body,
               "the connection that saw it begin is gone")
    with RawHttp(node.http_port) as one, RawHttp(node.http_port) as other:
        for client in (one, other):
            client.request("GET", "/v1/topics")
            assert client.reply().status == 200
        with RawHttp(node.http_port) as late:
            late.request("GET", "/v1/topics")
            assert late.reply().status == 503
        assert HttpApi(port).done("GET", "/v1/topics").json["topics"] == []
        assert Dueqctl(socket_of(node)).ok("topics")


# ---- a port that other machines reach ----

@pytest.fixture(name="open_node")
def node_open_to_others(make_node):
    http_port, admin_port = free_port(), free_port()
    node = make_node({"http.listen": f"0.0.0.0:{http_port}",
                      "admin.listen": f"0.0.0.0:{admin_port}"})
    node.http_port, node.admin_port = http_port, admin_port
    return node.start()


def test_an_open_port_without_identities_is_for_producers_and_consumers(open_node):
    for port in (open_node.http_port, open_node.admin_port):
        ctl = Dueqctl(f"http://127.0.0.1:{port}")
        ctl.ok("push", "t", "x")
        ctl.ok("pop", "t")
        ctl.ok("push", "t", "y")
        ctl.ok("topics")
        done = ctl("purge", "t", "--state", "delayed,ready")
        assert done.code == REFUSED and "which nobody has here" in done.complaint
        done = ctl("pause", "t")
        assert done.code == REFUSED and "admin.socket" in done.complaint
    Dueqctl(socket_of(open_node)).ok("pause", "t")
    said = open_node.output()
    assert "http.listen is open to other machines" in said
    assert "admin.listen is open to other machines" in said
