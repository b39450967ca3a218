"""Requests that are too long, too slow or too many: each limit of what comes in over HTTP is
flooded. The node answers as documented, serves others meanwhile, and its memory comes back.
"""

import json
import time
from contextlib import ExitStack

import pytest

from harness.flood import MIB, connected, costs_less_than, serves
from harness.http_api import new_job
from harness.http_raw import RawHttp
from harness.memory import cpu_s, is_sanitized
from harness.wait import wait_until

GET = "GET /health/live HTTP/1.1\r\nHost: h\r\n"
PUSH = "POST /v1/topics/t/jobs HTTP/1.1\r\nHost: h\r\n"

# ---- slow ones ----


@pytest.mark.parametrize("text, piece", [
    (GET, "A"), (GET + "X: ", "y"), ("GET /v1/topics?cursor=", "9"),
    (PUSH + "Content-Length: 9999\r\n\r\n{", "\n"),
], ids=["headers", "a header", "a query", "a body"])
def test_a_slow_sender_is_cut_off(flooded, text, piece):
    """A byte now and then is no sign of life: the time is the whole request's."""
    node = flooded({"limits.request_time": "500ms"})
    with RawHttp(node.http_port) as raw:
        since = time.monotonic()
        raw.send(text)
        while raw.is_silent_for(0.02):
            raw.send(piece)
        assert time.monotonic() - since > 0.4
        assert raw.error() == (408, "request_timeout")
        assert raw.is_closed_by_server()


def test_many_slow_senders_do_no_harm(flooded):
    node = flooded({"limits.request_time": "1s"})
    with ExitStack() as stack:
        slow = [stack.enter_context(RawHttp(node.http_port)) for _ in range(500)]
        for each in slow:
            each.send(PUSH + "Content-Length: 60000\r\n\r\n{")
        serves(node)
        assert all(each.error() == (408, "request_timeout") for each in slow)


def is_all_read(node):
    """The kernel has nothing left for the node: it has all that clients have sent."""
    port = f":{node.http_port:04X}"
    with open("/proc/net/tcp", encoding="ascii") as file:
        rows = [line.split() for line in file]
    return all(row[4].endswith(":00000000") for row in rows if row[1].endswith(port))


def test_stalled_bodies_stop_nobody(flooded):
    """They use up limits.http_bodies_bytes: small bodies go through at once, and a large one when
    they have stalled for a second."""
    node = flooded()
    large = json.dumps({"body": "x" * MIB}).encode()

    def takes_a_large_one():
        with RawHttp(node.http_port) as raw:
            raw.request("POST", "/v1/topics/t/jobs", large)
            return raw.reply().status == 201

    with ExitStack() as stack:
        stalled = [stack.enter_context(RawHttp(node.http_port)) for _ in range(8)]
        for each in stalled:
            each.send(PUSH + f"Content-Length: {16 * MIB}\r\n\r\n")
            each.send(b" " * (16 * MIB - 1))
        wait_until(lambda: is_all_read(node), "all but their last bytes are there")
        serves(node)
        wait_until(takes_a_large_one, "there is room for a large one")
        assert [each.error() for each in stalled if not each.is_silent_for(0)] == [
            (503, "too_many")]


# ---- long ones ----


def endless(piece, count=20000):
    return (piece for _ in range(count))


@pytest.mark.parametrize("start, pieces, error", [
    ("GET /", endless("a" * 4096), (431, "headers_too_large")),
    ("GET /v1/topics?cursor=", endless("9" * 4096), (431, "headers_too_large")),
    (GET, endless("X: y\r\n" * 1000), (431, "headers_too_large")),
    (GET + "X: ", endless("y" * 4096), (431, "headers_too_large")),
    (PUSH + "Transfer-Encoding: chunked\r\n\r\n",
     endless("1000\r\n" + " " * 4096 + "\r\n"), (413, "too_large")),
    ("POST /v1/topics/t/jobs/1/ack HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n",
     endless("1000\r\n" + " " * 4096 + "\r\n"), (413, "too_large")),
    ("POST /v1/topics/t/pop HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n",
     endless("1000\r\n" + " " * 4096 + "\r\n"), (413, "too_large")),
    (PUSH + "Transfer-Encoding: chunked\r\n\r\n1;",
     endless("e" * 4096), (400, "bad_request")),
    (PUSH + "Transfer-Encoding: chunked\r\n\r\n0\r\n",
     endless("X: y\r\n" * 1000), (431, "headers_too_large")),
], ids=["a path", "a query", "headers", "a header", "jobs", "a small body", "an unwanted body",
        "a chunk's extension", "trailers"])
def test_what_never_ends_is_refused_at_its_limit(flooded, start, pieces, error):
    node = flooded()
    with RawHttp(node.http_port) as raw:
        raw.send(start)
        for piece in pieces:
            try:
                raw.send(piece)
            except OSError:
                break  # the refusal came before we were done, and the connection went
            if not raw.is_silent_for(0):
                break
        costs_less_than(node, 40 * MIB)
        assert raw.error() == error
        assert raw.is_closed_by_server()


def test_the_largest_allowed_request_goes_through(flooded):
    node = flooded()
    job = b'{"body":""},'
    text = b"[" + job * 999 + b'{"body":"' + b"x" * MIB + b'"}'
    text += b" " * (16 * MIB - len(text) - 1) + b"]"
    with RawHttp(node.http_port) as raw:
        raw.request("POST", "/v1/topics/big/jobs", text)
        reply = raw.reply()
        assert reply.status == 200 and len(reply.json["results"]) == 1000
    with node.api() as api:
        assert api.counts("big") == (0, 1000, 0, 0)


@pytest.mark.parametrize("piece", [b"[", b'{"a":', b"[],", b'"\\u0000",', b"{},", b"1,"])
def test_large_nonsense_costs_little(flooded, piece):
    node = flooded()
    before_s = cpu_s(node.worker_pid)
    text = b"[" + piece * (15 * MIB // len(piece)) + b"1]"
    with RawHttp(node.http_port) as raw:
        raw.request("POST", "/v1/topics/t/jobs", text)
        assert raw.reply().status == 400
    assert is_sanitized() or cpu_s(node.worker_pid) - before_s < 1


# ---- many ----


def test_bodies_on_their_way_have_a_budget(flooded):
    """200 clients announce 1 MiB each and send almost all of it: 20 MiB fit."""
    node = flooded({"limits.http_body_bytes": "8MiB", "limits.http_bodies_bytes": "20MiB"})
    text = f"{PUSH}Content-Length: {MIB}\r\n\r\n".encode() + b" " * (MIB - 1)
    with ExitStack() as stack:
        clients = [stack.enter_context(RawHttp(node.http_port)) for _ in range(200)]
        for each in clients:
            try:
                each.send(text)
            except OSError:
                pass  # it was refused in the middle

        def refused():
            return [each for each in clients if not each.is_silent_for(0)]

        wait_until(lambda: len(refused()) >= 150, "most are refused")
        costs_less_than(node, 60 * MIB)
        assert len(refused()) < 200
        assert all(each.error() == (503, "too_many") for each in refused())
        with RawHttp(node.http_port) as raw:  # what has no body has no need of the budget
            raw.request("GET", "/v1/topics/others")
            assert raw.reply().status == 200
    wait_until(lambda: connected(node, "http") < 5, "they are gone")


def test_a_flood_of_small_requests_does_not_keep_others_waiting(flooded):
    node = flooded()
    with ExitStack() as stack:
        for _ in range(20):
            raw = stack.enter_context(RawHttp(node.http_port))
            raw.send(b"GET /v1/topics/t HTTP/1.1\r\nHost: h\r\n\r\n" * 3000)
        for _ in range(5):
            serves(node)


def test_a_list_of_a_thousand_over_and_over_leaves_nothing(flooded):
    node = flooded()
    with node.api() as api:
        for _ in range(10):
            api.push_all("many", [new_job("x" * 100, ttr_ms=0)] * 1000)
            for _ in range(16):
                api.pop("many", count=64)
        wait_until(lambda: api.counts("many") == (0, 0, 0, 0), "all are gone")
