"""Clients in crowds: connections, consumers that wait, replies that nobody reads. The node answers
as documented, serves others meanwhile, and its memory comes back.
"""

import socket
from contextlib import ExitStack

import pytest

from harness.flood import MIB, connected, costs_less_than, grown_bytes, serves
from harness.http_raw import RawHttp
from harness.memory import is_sanitized
from harness.process import allow_many_files, frozen
from harness.wait import wait_until

# ---- connections ----


@pytest.mark.parametrize("protocol", ["http", "gmq"])
def test_thousands_of_idle_connections_cost_little(flooded, protocol):
    count = 9800 if allow_many_files() >= 10500 else 500
    node = flooded()
    port = node.http_port if protocol == "http" else node.gmq_port
    with ExitStack() as stack:
        for _ in range(count):
            stack.enter_context(socket.create_connection(("127.0.0.1", port), 30))
        wait_until(lambda: connected(node, protocol) >= count, "all are taken")
        each = grown_bytes(node) / count
        print(f"{count} idle {protocol} connections: {each:.0f} bytes each")
        assert is_sanitized() or each < 2048
    wait_until(lambda: connected(node, protocol) < 10, "all have ended")


def test_silent_connections_end_and_those_who_wait_do_not(flooded):
    node = flooded({"limits.idle": "3s"})
    with ExitStack() as stack:
        silent = [stack.enter_context(RawHttp(node.http_port)) for _ in range(200)]
        gmq = stack.enter_context(node.raw_client())
        waiting = stack.enter_context(RawHttp(node.http_port))
        waiting.request("POST", "/v1/topics/quiet/pop?wait_ms=600000")
        for each in silent[:100]:  # idle after a request, too
            each.request("GET", "/health/live")
            assert each.reply().status == 200
        assert all(each.is_closed_by_server() for each in [*silent, gmq])
        with node.api() as api:
            api.push("quiet", id="awaited")
        assert waiting.reply().json["jobs"][0]["id"] == "awaited"


def test_connections_that_come_and_go_leave_nothing(flooded):
    node = flooded()
    starts = [b"", b"G", b"POST /v1/topics/t/pop?wait_ms=9999 HTTP/1.1\r\nHost: h\r\n\r\n",
              b"POST /v1/topics/t/jobs HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\n{"]
    for number in range(3000):
        raw = RawHttp(node.http_port)
        raw.send(starts[number % 4])
        raw.reset() if number % 3 else raw.close()
    wait_until(lambda: connected(node, "http") < 5, "all have ended")
    wait_until(lambda: node.metrics()["dueq_consumers_waiting"] == 0, "and wait no more")


# ---- reads ----


def test_what_nobody_reads_is_not_asked_of_redis(flooded):
    """2,500 ask for a job of 1 MB, and close: those that are on their way to Redis then bring what
    they may before anybody knows the size, the others nothing.
    """
    node = flooded()
    with node.api() as api:
        api.push("t", "x" * 1_000_000, id="large", delay_ms=3_600_000)
    before, accepted = node.redis().info("stats")["total_net_output_bytes"], _accepted(node)
    with frozen(node.redis_pid):
        for _ in range(2500):
            with RawHttp(node.http_port) as raw:
                raw.request("GET", "/v1/topics/t/jobs/large")
        wait_until(lambda: _accepted(node) >= accepted + 2500, "all have come")
    wait_until(lambda: connected(node, "http") < 5, "all have ended")
    wait_until(lambda: not any(node.metrics()[f"dueq_store_operations_{what}"]
                               for what in ("in_flight", "held")), "Redis has answered them")
    sent = node.redis().info("stats")["total_net_output_bytes"] - before
    print(f"{sent / MIB:.1f} MiB of Redis's answers")
    assert sent < 100 * MIB
    serves(node)


def _accepted(node):
    return node.metrics()['dueq_connections_accepted_total{protocol="http"}']


# ---- consumers ----


def test_a_thousand_wait_on_sixty_four_topics_each(flooded):
    """All sit down while no topic is known to be empty, and each prefers another one."""
    node = flooded({"limits.waiting": 64 * 1000})
    topics = [f"wide-{number}" for number in range(64)]
    with ExitStack() as stack:
        waiting = [stack.enter_context(RawHttp(node.http_port)) for _ in range(1000)]
        with frozen(node.redis_pid):
            for number, each in enumerate(waiting):
                turned = ",".join(topics[number % 64:] + topics[:number % 64])
                each.request("POST", f"/v1/topics/{turned}/pop?wait_ms=600000")
            wait_until(lambda: _operations(node, "held") + _operations(node, "in_flight") >= 64,
                       "each topic is asked")
        wait_until(lambda: node.metrics()["dueq_consumers_waiting"] == 1000, "all wait")
        serves(node)
        with node.api() as api:
            for topic in topics:
                api.push(topic)
        wait_until(lambda: node.metrics()["dueq_consumers_waiting"] == 936, "64 have a job")
        answered = [each for each in waiting if not each.is_silent_for(0)]
        assert {each.reply().json["topic"] for each in answered} == set(topics)
    wait_until(lambda: node.metrics()["dueq_consumers_waiting"] == 0, "nobody waits any more")


def _operations(node, which):
    return node.metrics()[f"dueq_store_operations_{which}"]


# ---- memory for those who do not read, or do not finish ----


def test_a_slow_reader_is_cut_off_and_its_jobs_come_again(flooded):
    node = flooded({"limits.request_time": "500ms"})
    with node.api() as api:
        for number in range(40):
            api.push("large", "x" * MIB, id=f"{number}", ttr_ms=1000)
        with RawHttp(node.http_port, receive_buffer=4096) as lazy:
            lazy.request("POST", "/v1/topics/large/pop?count=40")
            wait_until(lambda: api.counts("large")[2] > 0, "they are on their way")
            wait_until(lambda: api.counts("large")[1] > 0, "they come back")
        left = {f"{number}" for number in range(40)}
        while left:
            for job in api.pop("large", count=5, wait_ms=20000, ttr_ms=60000):
                left.discard(job["id"])
                api.ack(job)
    costs_less_than(node, 200 * MIB)


def test_requests_whose_replies_are_not_read_pile_up_outside(flooded):
    """The node takes no further request of a client with unread replies."""
    node = flooded({"limits.request_time": "500ms"})
    with ExitStack() as stack:
        for _ in range(50):
            raw = stack.enter_context(RawHttp(node.http_port, receive_buffer=4096))
            raw.socket.setblocking(False)
            try:
                while True:
                    raw.socket.send(b"GET /v1/openapi.yaml HTTP/1.1\r\nHost: h\r\n\r\n" * 100)
            except OSError:
                pass  # the kernel's buffers are full
        serves(node)
        costs_less_than(node, 32 * MIB)
        wait_until(lambda: connected(node, "http") < 10, "they are cut off")


def test_unread_replies_have_a_budget_and_the_slowest_readers_pay(flooded):
    """Each of 120 clients leaves a reply of 6 MiB unread: 256 MiB are for all of them."""
    node = flooded()
    with node.api() as api:
        api.push("t", "\1" * MIB, id="large")
    with ExitStack() as stack:
        for _ in range(120):
            raw = stack.enter_context(RawHttp(node.http_port, receive_buffer=4096))
            raw.request("GET", "/v1/topics/t/jobs/large")
        wait_until(lambda: connected(node, "http") < 100, "some are cut off", timeout_s=90)
        with node.api() as api:
            assert api.get("t", "large")["body"] == "\1" * MIB  # who reads is served
        costs_less_than(node, 320 * MIB)
        serves(node)


def test_unread_replies_of_gmq_have_the_same(flooded):
    if is_sanitized():
        pytest.skip("slow, and memory is all that it looks at")
    node = flooded()
    with node.api() as api:
        for number in range(130):
            api.push("t", "\1" * MIB, id=f"{number}", ttr_ms=1000)
    with ExitStack() as stack:
        for _ in range(130):
            raw = stack.enter_context(node.raw_client())
            raw.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            raw.send_request("Pop", ["t"])
        wait_until(lambda: connected(node, "gmq") < 125, "some are cut off", timeout_s=90)
        costs_less_than(node, 450 * MIB)  # what Redis answers, 64 jobs at once, among it
        serves(node)


UNFINISHED = (b'{"method":"Service.Push","params":[{"id":"a","topic":"t","body":"'
              + b"x" * 5_000_000)


def test_requests_of_gmq_that_do_not_end_have_a_budget(flooded):
    node = flooded()
    with ExitStack() as stack:
        for _ in range(100):
            raw = stack.enter_context(node.raw_client())
            try:
                raw.send(UNFINISHED)
            except OSError:
                pass  # it was cut off in the middle
        wait_until(lambda: connected(node, "gmq") < 30, "most are cut off")
        costs_less_than(node, 240 * MIB)  # 88 MiB, in buffers twice as large, and what is read
        serves(node)


def test_the_memory_of_large_requests_comes_back_from_below_smaller_ones(flooded):
    """An allocator likes to keep what lies under a block that is still in use."""
    node = flooded()
    with node.raw_client() as first:
        first.send(UNFINISHED)
        serves(node)
    with ExitStack() as small:
        with ExitStack() as large:
            for _ in range(16):
                large.enter_context(node.raw_client()).send(UNFINISHED)
                serves(node)  # so it is read
                for _ in range(3):
                    small.enter_context(node.raw_client()).send(UNFINISHED[:60000])
                serves(node)
            assert grown_bytes(node) > 16 * 5_000_000
        wait_until(lambda: connected(node, "gmq") == 48, "the large ones have left")
        wait_until(lambda: is_sanitized() or grown_bytes(node) < 16 * MIB,
                   "what is left is small")
