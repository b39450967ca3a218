"""Every size that a client chooses has a limit, and reaching it has an answer."""

import json
import socket
import struct
import time

import pytest

from harness.gmq import GmqError, LostConnection, request
from harness.wait import wait_until

POP_OF_NOTHING = json.dumps(request("Pop", ["idle"], id=1))
POP_OF_NO_TOPIC = json.dumps(request("Pop", [], id=1))


def test_more_connections_than_allowed_are_told_and_the_others_live(make_node):
    node = make_node({"limits.connections": 3}).start()
    clients = [node.raw_client() for _ in range(3)]
    for client in clients:
        assert client.ask(POP_OF_NO_TOPIC)["error"]
    with node.raw_client() as fourth:
        assert "limits.connections" in fourth.reply()["error"]
        assert fourth.is_closed_by_server()
    clients[0].close()

    def there_is_room_again():
        try:
            with node.python_client() as client:
                return client.push("topic", "room-1") == "success"
        except (LostConnection, AssertionError):  # the refusal has no request to answer
            return False

    wait_until(there_is_room_again, "a place that was left can be taken")
    for client in clients[1:]:
        assert client.ask(POP_OF_NO_TOPIC)["error"]
        client.close()


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
    with socket.create_connection(("127.0.0.1", node.http_port), 10) as connection:
        status, _, body = http_reply(connection, GET)
        assert (status, body["error"]["code"]) == (503, "too_many")
    assert node.is_ready()
    assert node.metrics()['dueq_connections_rejected_total{protocol="http"}'] > 80
    assert "room for 12 clients of each protocol" in node.output()
    assert "cannot accept clients" not in node.output()
    for each in silent:
        each.close()


GET = b"GET /v1/topics HTTP/1.1\r\nHost: h\r\n\r\n"


def http_reply(connection, request=GET):
    """Status and headers of the answer to a request on a kept connection, and its body."""
    connection.sendall(request)
    file = connection.makefile("rb")
    status = int(file.readline().split()[1])
    headers = dict(line.decode().rstrip().split(": ", 1) for line in iter(file.readline, b"\r\n"))
    return status, headers, json.loads(file.read(int(headers["Content-Length"])))


def http_connection(node):
    """A connection to the node's HTTP port that has been answered once."""
    connection = socket.create_connection(("127.0.0.1", node.http_port), 10)
    assert http_reply(connection)[0] == 200
    return connection


def test_more_http_connections_than_allowed_are_told_and_the_others_live(make_node):
    node = make_node({"limits.connections": 3}).start()
    wait_until(lambda: established_on(node.http_port) == 0, "those of the start are gone")
    kept = [http_connection(node) for _ in range(3)]
    for _ in range(200):
        with socket.create_connection(("127.0.0.1", node.http_port), 10) as one_more:
            status, headers, body = http_reply(one_more)
            assert (status, body["error"]["code"]) == (503, "too_many")
            assert headers["Retry-After"] and headers["X-Request-Id"]
            assert one_more.recv(1) == b""
    for connection in kept:
        assert http_reply(connection)[0] == 200
    with node.python_client() as client:  # has places of its own
        assert client.push("topic", "other-door") == "success"
    kept[0].close()
    kept[1].setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    kept[1].close()  # as a reset
    assert http_reply(kept[2], GET[:-2] + b"Connection: close\r\n\r\n")[0] == 200
    wait_until(lambda: established_on(node.http_port) == 0, "all three have ended")
    for connection in [http_connection(node) for _ in range(3)]:
        connection.close()
    wait_until(lambda: node.http("/metrics")[0] == 200, "places are free again")
    metrics = node.metrics()
    assert metrics['dueq_connections_rejected_total{protocol="http"}'] >= 200
    assert metrics['dueq_connections{protocol="http"}'] <= 3


def test_a_large_body_to_a_path_that_wants_none_is_refused_at_once(make_node):
    node = make_node().start()
    head = b"POST /metrics HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\n"
    with socket.create_connection(("127.0.0.1", node.http_port), 10) as connection:
        status, headers, body = http_reply(connection, head)
        assert (status, body["error"]["code"]) == (405, "method_not_allowed")
        assert headers["Connection"] == "close"
    with socket.create_connection(("127.0.0.1", node.http_port), 10) as connection:
        status, _, body = http_reply(connection, head.replace(b"POST", b"GET"))
        assert (status, body["error"]["code"]) == (413, "too_large")


def test_more_waiting_consumers_than_allowed_are_told(make_node):
    node = make_node({"limits.waiting": 2, "gmq.pop_wait": "20s"}).start()
    waiting = [node.raw_client() for _ in range(2)]
    for client in waiting:
        client.send(POP_OF_NOTHING)
    wait_until(lambda: node.metrics().get("dueq_consumers_waiting") == 2, "two consumers wait")
    with node.python_client() as third:
        with pytest.raises(GmqError, match="too_many"):
            third.pop("idle")
        third.push("idle", "for-one-of-them")
    for client in waiting:
        client.close()


def test_many_more_pipelined_requests_than_allowed_are_all_answered(make_node):
    node = make_node({"limits.pipelined": 4}).start()
    jobs = [{"id": f"pipe-{n}", "topic": "topic", "body": "b"} for n in range(500)]
    with node.raw_client() as raw:
        raw.send("".join(json.dumps(request("Push", job, id=n)) for n, job in enumerate(jobs)))
        assert sorted(raw.reply()["id"] for _ in jobs) == list(range(500))


def test_a_client_that_does_not_read_is_cut_off_and_no_job_is_lost(make_node):
    # Ten megabytes: twice what the kernel may buffer for the server.
    node = make_node({"limits.body_bytes": "100000", "limits.output_bytes": "600000"}).start()
    left = {f"unread-{number}" for number in range(100)}
    with node.python_client() as client:
        for id in left:
            client.push("topic", id, "x" * 100_000, ttr=1)
    with node.raw_client() as lazy:
        lazy.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        for _ in range(100):
            lazy.send_request("Pop", ["topic"])
        popped = 'dueq_operations_total{verb="pop",result="ok"}'
        wait_until(lambda: node.metrics().get(popped, 0) > 0, "some are on their way")
        wait_until(lambda: established_on(node.gmq_port) == 0, "the connection is cut")
    assert node.is_ready()
    with node.raw_client() as raw:
        def all_came():
            raw.send_request("Pop", ["topic"])
            job = raw.reply()["result"]
            if job:
                left.discard(job["id"])
                raw.send_request("Ack", job["id"])
                raw.reply()
            return not left

        wait_until(all_came, "no job was lost to it", interval_s=0)


def established_on(port):
    """Connections to a port as the kernel counts them on the server's side: the client's side
    does not hear of the end while it reads nothing."""
    with open("/proc/net/tcp", encoding="ascii") as file:
        fields = [line.split() for line in file][1:]
    return sum(each[1].endswith(f":{port:04X}") and each[3] == "01" for each in fields)


def test_a_silent_client_is_disconnected_and_a_waiting_one_is_not(make_node):
    node = make_node({"limits.idle": "300ms", "gmq.pop_wait": "1s"}).start()
    since = time.monotonic()
    with node.raw_client() as silent, node.raw_client() as waiting:
        waiting.send(POP_OF_NOTHING)
        assert silent.is_closed_by_server()
        assert time.monotonic() - since > 0.25
        assert waiting.reply()["error"] == "empty"


def test_a_body_limit_of_ones_own(make_node):
    node = make_node({"limits.body_bytes": "100"}).start()
    with node.python_client() as client:
        assert client.push("topic", "small", "x" * 100) == "success"
        with pytest.raises(GmqError, match="too_large"):
            client.push("topic", "large", "x" * 101)


def test_a_thousand_consumers_wait_on_a_hundred_topics_and_all_are_woken(make_node):
    node = make_node({"gmq.pop_wait": "20s"}).start()
    consumers = [node.raw_client() for _ in range(1000)]
    for number, consumer in enumerate(consumers):
        consumer.send_request("Pop", [f"topic-{number % 100}"], id=number)
    wait_until(lambda: node.metrics().get("dueq_consumers_waiting") == 1000, "all are waiting")
    with node.python_client() as client:
        for number in range(1000):
            client.push(f"topic-{number % 100}", f"job-{number}", ttr=60)
    ids = {consumer.reply()["result"]["id"] for consumer in consumers}
    assert len(ids) == 1000
    for consumer in consumers:
        consumer.close()
