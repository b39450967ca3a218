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
