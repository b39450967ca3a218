"""Every size that a client chooses has a limit, and reaching it has an answer."""

import json
import socket

from harness.flood import connected
from harness.gmq import request
from harness.http_raw import RawHttp
from harness.wait import wait_until



def test_a_request_over_gmq_has_its_time_to_arrive(make_node):
    node = make_node({"limits.request_time": "500ms"}).start()
    with node.raw_client() as client:
        client.send('{"method": "Service.Pop", ')
        assert client.reply()["error"].startswith("request_timeout: ")
        assert client.is_closed_by_server()


def test_the_default_limit_is_what_there_is_room_for(make_node):
    """It is nothing to warn of; a limit that somebody has set is."""
    default, high = make_node(), make_node({"limits.connections": 1000000})
    assert not _warnings(default.start())
    assert any("limits.connections (1000000)" in line for line in _warnings(high.start()))


def _warnings(node):
    return [line for line in node.output().splitlines()
            if " warn  app " in line and "open files" in line]


def test_with_few_descriptors_clients_are_told_that_there_are_too_many(make_node):
    """`ulimit -n 64`: nobody hangs, and the node can still be asked how it is."""
    node = make_node()
    argv = node.argv()
    node.argv = lambda: ["prlimit", "--nofile=64:64", *argv]
    node.start()
    silent = [socket.create_connection(("127.0.0.1", node.http_port), 10) for _ in range(100)]
    silent += [socket.create_connection(("127.0.0.1", node.gmq_port), 10) for _ in range(100)]
    with node.raw_client() as client:
        assert "limits.connections" in client.reply()["error"]
    with RawHttp(node.http_port) as raw:
        raw.request("GET", "/v1/topics")
        assert raw.error() == (503, "too_many")
    assert node.is_ready()
    assert node.metrics()['dueq_connections_rejected_total{protocol="http"}'] > 80
    assert "room for 12 clients of each protocol" in node.output()
    assert "cannot accept clients" not in node.output()
    for each in silent:
        each.close()


def test_many_more_pipelined_requests_than_allowed_are_all_answered(make_node):
    node = make_node({"limits.pipelined": 4}).start()
    jobs = [{"id": f"pipe-{n}", "topic": "topic", "body": "b"} for n in range(500)]
    with node.raw_client() as raw:
        raw.send("".join(json.dumps(request("Push", job, id=n)) for n, job in enumerate(jobs)))
        assert sorted(raw.reply()["id"] for _ in jobs) == list(range(500))


def test_a_client_that_does_not_read_is_cut_off(make_node):
    # Ten megabytes: twice what the kernel may buffer for the server.
    node = make_node({"limits.body_bytes": "100000", "limits.output_bytes": "600000"}).start()
    with node.api() as api:
        for _ in range(100):
            api.push("topic", "x" * 100_000)
    with node.raw_client() as lazy:
        lazy.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        for _ in range(100):
            lazy.send_request("Pop", ["topic"])
        popped = 'dueq_operations_total{verb="pop",result="ok"}'
        wait_until(lambda: node.metrics().get(popped, 0) > 0, "some are on their way")
        wait_until(lambda: connected(node, "gmq") == 0, "the connection is cut")
    assert node.is_ready()


# ---- behind a proxy ----

def _through_proxy(port, client):
    """A connection as a proxy at 127.0.0.2 opens it for `client`, and what it says first."""
    at = socket.create_connection(("127.0.0.1", port), 10, ("127.0.0.2", 0))
    at.sendall(f"PROXY TCP4 {client} 127.0.0.1 40712 {port}\r\n".encode())
    return at


def test_a_proxy_says_whose_a_connection_is(make_node, tmp_path):
    node = make_node({"http.proxies": "127.0.0.2", "gmq.proxies": "127.0.0.2",
                      "log.audit": tmp_path / "audit"}).start()
    with _through_proxy(node.http_port, "192.0.2.7") as client:
        client.sendall(b"POST /v1/topics/t/pause HTTP/1.1\r\nHost: localhost\r\n"
                       b"Content-Length: 2\r\n\r\n{}")
        assert client.recv(4096).startswith(b"HTTP/1.1 200 ")
    [line] = (tmp_path / "audit").read_text().splitlines()
    assert json.loads(line)["from"] == "http 192.0.2.7:40712"
    with _through_proxy(node.gmq_port, "192.0.2.8") as client:
        client.sendall(json.dumps(request("Push", {"id": "1", "topic": "u", "body": "b"})).encode())
        assert b"success" in client.recv(4096)
    with socket.create_connection(("127.0.0.1", node.http_port), 10, ("127.0.0.2", 0)) as bare:
        bare.sendall(b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert _is_cut(bare)
    assert node.metrics()['dueq_proxy_headers_wrong_total{protocol="http"}'] == 1
    assert "which is in http.proxies, does not begin with a PROXY header" in node.output()


def _is_cut(client):
    try:
        return client.recv(4096) == b""
    except ConnectionResetError:
        return True


# ---- what an address may ask for ----

def test_an_address_over_its_rate_is_told_to_wait_and_others_are_not(make_node):
    node = make_node({"limits.requests_per_address": 5}).start()
    with RawHttp(node.http_port) as raw:
        for _ in range(5):
            raw.request("GET", "/v1/topics")
            assert raw.reply().status == 200
        raw.request("GET", "/v1/topics")
        reply = raw.reply()
        assert reply.status == 429 and reply.headers["retry-after"] == "1"
        raw.request("GET", "/v1/topics")
        assert raw.reply().status == 200, "a second later it is answered"
    with socket.create_connection(("127.0.0.1", node.http_port), 10, ("127.0.0.2", 0)) as other:
        other.sendall(b"GET /v1/topics HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert other.recv(4096).startswith(b"HTTP/1.1 200 ")
    assert node.metrics()['dueq_requests_slowed_total{protocol="http"}'] >= 1


def test_clients_of_gmq_over_the_rate_are_served_later(make_node):
    node = make_node({"limits.requests_per_address": 10}).start()
    with node.raw_client() as raw:
        raw.send("".join(json.dumps(request("Push", {"id": str(n), "topic": "t", "body": "b"}, id=n))
                         for n in range(15)))
        assert [raw.reply()["result"] for _ in range(15)] == ["success"] * 15
    assert node.metrics()['dueq_requests_slowed_total{protocol="gmq"}'] >= 1


def test_connections_of_an_address_have_a_rate(make_node):
    """Another address notices nothing, and who waits for a moment comes in again."""
    node = make_node({"limits.connects_per_address": 5}).start()

    def is_served(host):
        with socket.create_connection(("127.0.0.1", node.http_port), 10, (host, 0)) as client:
            try:
                client.sendall(b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n")
                return client.recv(4096).startswith(b"HTTP/1.1 200 ")
            except ConnectionError:
                return False

    assert not all(is_served("127.0.0.2") for _ in range(100))
    assert is_served("127.0.0.3")
    wait_until(lambda: is_served("127.0.0.2"), "it comes in again")
