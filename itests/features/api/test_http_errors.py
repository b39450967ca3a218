"""The table of errors, row by row: each is provoked on the wire of a real node, and its status,
code and message are those of errors.h. A new row without a way to it here fails.
"""

import json
import select
import signal
from contextlib import ExitStack

import pytest

from harness.http_api import path_of
from harness.http_raw import TIMEOUT_S, RawHttp
from harness.http_tables import contract_in_source, error_rows
from harness.process import frozen
from harness.redis_programs import RemovableRedis
from harness.redis_server import RedisServer
from harness.wait import wait_until

# These messages say what exactly is wrong, instead of the row's text.
OWN_WORDS = {"BAD_REQUEST", "OUT_OF_RANGE", "NOT_READY", "FORBIDDEN"}

# After these the connection ends.
FINAL = {"LINE_END", "REQUEST_LINE", "FIELD", "LENGTH", "CHUNK", "NO_HOST", "SLOW", "TOO_LARGE",
         "EXPECTATION", "HEAD", "CODING", "STOPPING", "FULL", "FULL_FOR_ADDRESS", "BODIES",
         "DISPLACED", "BYTES", "IDENTITY_BYTES", "PROXY", "VERSION"}

JOBS = path_of("topics", "topic", "jobs")
JOB = path_of("topics", "topic", "jobs", "1")
POP = path_of("topics", "topic", "pop")


class Stage:
    """What a way may need: the file's shared node, or one of its own."""

    def __init__(self, node, make_node, directory):
        self.shared, self._make_node, self.directory = node, make_node, directory

    def node(self, **settings):
        """limits__waiting=1 is limits.waiting: 1"""
        named = {name.replace("__", "."): value for name, value in settings.items()}
        return self._make_node(named).start()


ways = {}  # name of a row: function of a stage, which returns method, target and reply


@pytest.mark.parametrize("row", error_rows(), ids=lambda row: row.name)
def test_an_error_is_told_as_the_table_says(row, node, make_node, tmp_path):
    assert row.name in ways, "write a way to provoke it"
    method, target, reply = ways[row.name](Stage(node, make_node, tmp_path))
    contract_in_source().check_reply(method, target, reply.status, reply.pairs, reply.body)
    error = reply.json["error"]
    assert (reply.status, error["code"]) == (row.status, row.code), error
    assert row.name in OWN_WORDS or error["message"] == row.text
    assert ("retry-after" in reply.headers) == (row.status in (429, 503))
    assert (reply.headers.get("connection") == "close") == (row.name in FINAL)


def test_every_way_leads_to_a_row():
    assert set(ways) == {row.name for row in error_rows()}


def ask(node, method, target, body=b""):
    if not isinstance(body, bytes):
        body = json.dumps(body).encode()
    with RawHttp(node.http_port) as connection:
        connection.request(method, target, body)
        return method, target, connection.reply()


# ---- what any node says ----


def by_bytes(name, text, method="GET", target="/health/live"):
    def go(stage):
        with RawHttp(stage.shared.http_port) as connection:
            connection.send(text)
            reply = connection.reply()
            if name in FINAL:
                assert connection.is_closed_by_server()
            return method, target, reply

    ways[name] = go


GET = "GET /health/live HTTP/1.1\r\nHost: h\r\n"
POST = f"POST {JOBS} HTTP/1.1\r\nHost: h\r\n"
by_bytes("LINE_END", "GET /health/live HTTP/1.1\n\n")
by_bytes("REQUEST_LINE", "GET /health/live\r\n\r\n")
by_bytes("PROXY", "PROXY TCP4 192.0.2.7 192.0.2.1 1 2\r\n" + GET + "\r\n")
by_bytes("FIELD", GET + "no colon\r\n\r\n")
by_bytes("LENGTH", POST + "Content-Length: many\r\n\r\n", "POST", JOBS)
by_bytes("CHUNK", POST + "Transfer-Encoding: chunked\r\n\r\nzz\r\n", "POST", JOBS)
by_bytes("NO_HOST", "GET /health/live HTTP/1.1\r\n\r\n")
by_bytes("FOREIGN", POST + "Origin: http://evil.example\r\n\r\n", "POST", JOBS)
by_bytes("ESCAPE", "GET /v1/topics/%zz HTTP/1.1\r\nHost: h\r\n\r\n", "GET", "/v1/topics/t")
by_bytes("TOO_LARGE", POST + "Content-Length: 99999999999\r\n\r\n", "POST", JOBS)
by_bytes("EXPECTATION", POST + "Expect: miracles\r\nContent-Length: 1\r\n\r\n", "POST", JOBS)
by_bytes("HEAD", GET + "X: y\r\n" * 101 + "\r\n")
by_bytes("CODING", POST + "Transfer-Encoding: gzip\r\n\r\n", "POST", JOBS)
by_bytes("VERSION", "GET /health/live HTTP/2.0\r\n\r\n")


def by_request(name, method, target, body=b""):
    ways[name] = lambda stage: ask(stage.shared, method, target, body)


by_request("BAD_REQUEST", "POST", JOBS, {"body": 1})
by_request("BAD_TOPIC", "GET", "/v1/topics/-")
by_request("BAD_ID", "GET", JOBS + "/%20")
by_request("OUT_OF_RANGE", "POST", POP + "?count=65")
by_request("NO_PATH", "GET", "/nothing")
by_request("NOT_FOUND", "GET", JOBS + "/nobody")
by_request("METHOD", "PUT", JOB)
by_request("JOB_TOO_LARGE", "POST", JOBS, {"body": "x" * ((1 << 20) + 1)})


# ---- what depends on a setting ----


def guest_of(stage, roles="inspect"):
    """A file with an identity that has no token."""
    file = stage.directory / "identities"
    file.write_text(f"guest {roles}\n")
    file.chmod(0o600)
    return file


def with_token(name, times, *headers):
    """Of a node that knows one identity, which may look."""
    def go(stage):
        node = stage.node(access__file=guest_of(stage),
                          http__as="guest" if name == "FORBIDDEN" else "")
        for _ in range(times):
            with RawHttp(node.http_port) as connection:
                connection.request("DELETE", JOB, b"", "".join(headers))
                reply = connection.reply()
        return "DELETE", JOB, reply

    ways[name] = go


with_token("UNAUTHORIZED", 1)
with_token("FORBIDDEN", 1)
with_token("ATTEMPTS", 30, "Authorization: Bearer wrong\r\n")


def way(name):
    def keep(function):
        ways[name] = function
        return function

    return keep


@way("WRONG_HOST")
def call_the_node_by_another_name(stage):
    return ask(stage.node(http__hosts="dueq"), "GET", "/v1/status")


# ---- what depends on a job ----


@way("DUPLICATE")
def push_twice(stage):
    with stage.shared.api() as api:
        api.push("twice", id="1")
    return ask(stage.shared, "POST", path_of("topics", "twice", "jobs"), {"body": "", "id": "1"})


@way("TOPIC_FULL")
def push_one_more_than_the_topic_may_have(stage):
    with stage.shared.api() as api:
        api.set_settings("full", max_jobs=1)
        api.push("full")
    return ask(stage.shared, "POST", path_of("topics", "full", "jobs"), {"body": ""})


@way("TOPIC_FULL_BYTES")
def push_more_bytes_than_the_topic_may_have(stage):
    with stage.shared.api() as api:
        api.set_settings("heavy", max_bytes=3)
        api.push("heavy", body="ab")
    return ask(stage.shared, "POST", path_of("topics", "heavy", "jobs"), {"body": "cd"})


@way("NOT_RESERVED")
def acknowledge_what_was_released(stage):
    with stage.shared.api() as api:
        api.push("released", id="1")
        job = api.pop_one("released")
        api.release(job)
    return acknowledge(stage, job)


@way("WRONG_STATE")
def kick_what_is_not_dead(stage):
    with stage.shared.api() as api:
        api.push("alive", id="1")
    return ask(stage.shared, "POST", path_of("topics", "alive", "jobs", "1", "kick"))


@way("NOT_OWNER")
def acknowledge_what_somebody_else_has(stage):
    with stage.shared.api() as api:
        api.push("passed-on", id="1")
        job = api.pop_one("passed-on")
        api.release(job)
        api.pop_one("passed-on")
    return acknowledge(stage, job)


def acknowledge(stage, job):
    target = path_of("topics", job["topic"], "jobs", job["id"], "ack")
    return ask(stage.shared, "POST", target, {"lease": job["lease"]})


# ---- what is too much, or too slow ----


@way("SLOW")
def send_half_a_request(stage):
    node = stage.node(limits__request_time="300ms")
    with RawHttp(node.http_port) as connection:
        connection.send(GET)
        reply = connection.reply()
        assert connection.is_closed_by_server()
        return "GET", "/health/live", reply


@way("FULL")
def connect_once_too_often(stage):
    return _connect_once_too_often(stage.node(limits__connections=1))


@way("FULL_FOR_ADDRESS")
def connect_once_too_often_from_an_address(stage):
    return _connect_once_too_often(stage.node(limits__connections_per_address=1))


def _connect_once_too_often(node):
    with wait_until(lambda: _only_connection(node), "there is a place"):
        return ask(node, "GET", "/v1/topics")


def _only_connection(node):
    """A connection that has the node's only place, or None."""
    connection = RawHttp(node.http_port)
    connection.request("GET", "/v1/topics")
    if connection.reply().status == 200:
        return connection
    connection.close()
    return None


@way("BODIES")
def send_many_bodies_at_once(stage):
    node = _node_with_room_for_one_body(stage)

    def refusal():
        """While the other one is on its way: it loses its place when it stalls for a second."""
        with RawHttp(node.http_port) as half, RawHttp(node.http_port) as other:
            half.send(HALF)
            other.request("POST", JOBS, b" " * 100000)
            reply = other.reply()
            return reply if reply.status == 503 else None

    return "POST", JOBS, wait_until(refusal, "the budget is used up")


@way("DISPLACED")
def stall_while_others_want_the_room(stage):
    node = _node_with_room_for_one_body(stage)
    with RawHttp(node.http_port) as half:
        half.send(HALF)
        wait_until(lambda: ask(node, "POST", JOBS, b" " * 100000)[2].status == 400
                   and not half.is_silent_for(0), "it has lost its place")
        return "POST", JOBS, half.reply()


HALF = POST + "Content-Length: 100000\r\n\r\n" + " " * 99999


def _node_with_room_for_one_body(stage):
    return stage.node(limits__body_bytes="1KiB", limits__http_body_bytes="128KiB",
                      limits__http_bodies_bytes="128KiB")


def _half_beside(stage, token="", **settings):
    """A refusal of a body while another one is on its way: what that one has is not known before."""
    node = stage.node(limits__body_bytes="1KiB", limits__http_body_bytes="128KiB", **settings)

    def refusal():
        with RawHttp(node.http_port) as half, RawHttp(node.http_port) as other:
            half.send(POST + token + "Content-Length: 100000\r\n\r\n" + " " * 99999)
            other.request("POST", JOBS, b" " * 100000, token)
            reply = other.reply()
            return reply if reply.status == 429 else None

    return "POST", JOBS, wait_until(refusal, "the other one takes all there is")


@way("BYTES")
def send_more_from_one_address_than_it_may(stage):
    return _half_beside(stage, limits__bytes_per_address="128KiB")


@way("REQUESTS")
def ask_too_often(stage):
    node = stage.node(limits__requests_per_address=1)
    with RawHttp(node.http_port) as connection:
        for _ in range(2):
            connection.request("GET", "/v1/topics")
            reply = connection.reply()
        return "GET", "/v1/topics", reply


def _limited(stage, words):
    """The settings with an identity that has these limits."""
    file = stage.directory / "identities"
    file.write_text(f"guest all {words}\n")
    file.chmod(0o600)
    return {"access__file": file, "http__as": "guest"}


@way("IDENTITY_RATE")
def ask_too_often_as_somebody(stage):
    node = stage.node(**_limited(stage, "rate=1"))
    with RawHttp(node.http_port) as connection:
        for _ in range(2):
            connection.request("GET", "/v1/topics")
            reply = connection.reply()
        return "GET", "/v1/topics", reply


@way("IDENTITY_CONNECTIONS")
def connect_too_often_as_somebody(stage):
    node = stage.node(**_limited(stage, "connections=1"))
    with RawHttp(node.http_port) as first:
        first.request("GET", "/v1/topics")
        assert first.reply().status == 200
        return ask(node, "GET", "/v1/topics")


@way("IDENTITY_BYTES")
def send_more_as_somebody_than_it_may(stage):
    return _half_beside(stage, **_limited(stage, "bytes=128KiB"))


@way("WAITERS")
def wait_with_one_too_many(stage):
    node = stage.node(limits__waiting=1)
    with RawHttp(node.http_port) as first:
        first.request("POST", POP + "?wait_ms=600000")
        wait_until(lambda: node.metrics()["dueq_consumers_waiting"] == 1, "one waits")
        return ask(node, "POST", POP + "?wait_ms=600000")


def ask_all_at_once(stage, count, method, target, body=b""):
    """While the node's Redis hangs. The reply to the first that gets one."""
    node = stage.node(store__command_timeout="30s")
    with frozen(node.redis_pid), ExitStack() as stack:
        crowd = [stack.enter_context(RawHttp(node.http_port)) for _ in range(count)]
        for each in crowd:
            each.request(method, target, body)
        answered, _, _ = select.select([each.socket for each in crowd], [], [], TIMEOUT_S)
        assert len(answered) == 1
        refused = next(each for each in crowd if each.socket in answered)
        return method, target, refused.reply()


@way("POPS")
def ask_for_too_many_topics(stage):
    topics = ",".join(f"topic-{number}" for number in range(64))
    return ask_all_at_once(stage, 20000 // 64 + 1, "POST", path_of("topics", topics, "pop"))


@way("FOLLOWERS")
def follow_with_one_too_many(stage):
    return ask_all_at_once(stage, 101, "GET", "/v1/deliveries?wait_ms=60000")


@way("SWEEPS")
def kick_with_one_too_many(stage):
    return ask_all_at_once(stage, 17, "POST", path_of("topics", "topic", "kick"), b"{}")


@way("TRACES")
def read_a_history_with_one_too_many(stage):
    return ask_all_at_once(stage, 17, "GET", path_of("topics", "topic", "jobs", "1", "history"))


# ---- what the store is to blame for ----


@way("STORE_ERROR")
def push_into_a_full_redis(stage):
    node = stage.node()
    node.redis().config_set("maxmemory", 1)
    return ask(node, "POST", JOBS, {"body": "b"})


@way("UNKNOWN")
def cancel_in_a_redis_that_hangs(stage):
    node = stage.node(store__command_timeout="500ms")
    with frozen(node.redis_pid):
        return ask(node, "DELETE", JOB)


@way("NOT_REPLICATED")
def push_into_a_redis_without_replicas(stage):
    redis = RedisServer(stage.directory / "redis").start()
    try:
        node = stage.node(store__redis=redis.address, store__min_replicas=1,
                          store__replica_timeout="50ms")
        return ask(node, "POST", JOBS, {"body": "b"})
    finally:
        redis.destroy()


def test_a_question_to_a_redis_that_hangs_changed_nothing(make_node, tmp_path):
    node = Stage(None, make_node, tmp_path).node(store__command_timeout="500ms")
    with frozen(node.redis_pid):
        method, target, reply = ask(node, "GET", JOB)
    contract_in_source().check_reply(method, target, reply.status, reply.pairs, reply.body)
    assert (reply.status, reply.json["error"]["code"]) == (503, "unavailable")


def node_without_redis(stage, **settings):
    redis = RemovableRedis(stage.directory)
    settings = {"store__hold": "300ms", **settings}
    node = stage.node(store__redis_server=redis.program, warden__backoff_max="100ms", **settings)
    redis.remove()
    node.kill("redis")
    node.wait_store_lost()
    return node


@way("UNAVAILABLE")
def push_without_a_redis(stage):
    return ask(node_without_redis(stage), "POST", JOBS, {"body": "b"})


@way("IDENTITIES")
def ask_with_a_token_before_identities_are_read(stage):
    node = node_without_redis(stage, access__file=guest_of(stage), http__as="guest",
                              access__in_redis="true")
    worker = node.worker_pid
    node.kill("worker")
    wait_until(lambda: node.worker_pid not in (None, worker), "the worker is a new one")
    with RawHttp(node.http_port) as connection:
        connection.request("DELETE", JOB, b"", "Authorization: Bearer perhaps\r\n")
        return "DELETE", JOB, connection.reply()


@way("TOO_MANY_IDENTITIES")
def make_an_identity_beside_a_thousand(stage):
    node = stage.node(access__file=guest_of(stage, "admin"), http__as="guest",
                      access__in_redis="true")
    node.redis().hset("dq:{0}:i", mapping={f"n{number}": f"1 n{number} produce"
                                           for number in range(1000)})
    return ask(node, "PUT", "/v1/identities/one-more", {"line": "one-more produce"})


@way("TOO_MANY")
def push_twice_where_one_may_wait(stage):
    node = node_without_redis(stage, store__hold="20s", store__hold_max=1,
                              store__breaker__after="0s", store__breaker__failures=0)
    with RawHttp(node.http_port) as first:
        first.request("POST", JOBS, b'{"body": "b"}')
        held = 'dueq_store_operations_held'
        wait_until(lambda: node.metrics()[held] == 1, "one waits")
        return ask(node, "POST", JOBS, {"body": "b"})


@way("NOT_READY")
def ask_a_node_without_its_redis(stage):
    node = node_without_redis(stage)
    answers = []

    def both_say_why():
        """The reason changes as one attempt after the other fails."""
        answers.append(ask(node, "GET", "/health/ready"))
        return answers[-1][2].json["error"]["message"] in node.http("/v1/status")[1]

    wait_until(both_say_why, "health and status give one reason")
    return answers[-1]


@way("STOPPING")
def ask_a_node_that_stops(stage):
    """A request whose answer hangs keeps it from being gone."""
    node = stage.node(store__command_timeout="5s")
    node.wait_settled()
    with RawHttp(node.http_port) as connection, RawHttp(node.http_port) as busy:
        connection.request("GET", "/health/live")
        connection.reply()
        with frozen(node.redis_pid):
            busy.request("POST", JOBS, b'{"body":"b"}')
            wait_until(lambda: node.metrics()["dueq_store_operations_in_flight"] > 0, "it hangs")
            node.process.signal(signal.SIGTERM)
            reply = wait_until(lambda: _refusal(connection), "the node has heard")
        assert busy.reply().status == 201
        return "GET", "/health/live", reply


def _refusal(connection):
    connection.request("GET", "/health/live")
    reply = connection.reply()
    return reply if reply.status != 200 else None
