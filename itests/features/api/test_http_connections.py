"""Connections: kept, pipelined, reused after errors; and the id that names a request."""

import re

import pytest

from harness.http_api import new_job, path_of
from harness.http_raw import RawHttp
from harness.http_tables import API
from harness.wait import wait_until


def test_a_thousand_requests_on_one_connection(node, topic):
    with node.api() as api:
        opened = _accepted(node)
        for number in range(250):
            api.push(topic, f"b{number}", id="same")
            job = api.pop_one(topic)
            assert job["body"] == f"b{number}"
            api.ack(job)
        assert api.ask("GET", path_of("topics", topic, "jobs", "same")).status == 404
        assert _accepted(node) - opened <= 3  # the metrics', and this one


def _accepted(node):
    return node.metrics()['dueq_connections_accepted_total{protocol="http"}']


def test_pipelined_requests_are_answered_in_order(node, topic):
    with RawHttp(node.http_port) as raw:
        for number in range(200):
            raw.request("POST", f"/v1/topics/{topic}/jobs", b'{"body":"","id":"p%d"}' % number)
        raw.request("POST", f"/v1/topics/{topic}/pop?count=64")
        assert [raw.reply().json["id"] for _ in range(200)] == [f"p{n}" for n in range(200)]
        assert [job["id"] for job in raw.reply().json["jobs"]] == [f"p{n}" for n in range(64)]


def test_a_refused_request_does_not_cost_the_connection(node, topic):
    with RawHttp(node.http_port) as raw:
        for target, body in [("/nothing", b"x" * 4000), (f"/v1/topics/{topic}/jobs", b"nonsense"),
                             (f"/v1/topics/{topic}/jobs", b'{"body":1}'),
                             ("/v1/topics/-/pop", b""), (f"/v1/topics/{topic}", b"{}"),
                             (f"/v1/topics/{topic}/pop?a=b", b"")]:
            raw.request("POST", target, body)
            assert raw.reply().status in (400, 404, 405)
        raw.request("POST", f"/v1/topics/{topic}/jobs", b'{"body":"good"}')
        assert raw.reply().status == 201


def test_a_body_is_not_taken_for_a_request(node, topic):
    """What a request may not have as a body is not what the connection goes on with."""
    smuggled = b"GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n"
    with RawHttp(node.http_port) as raw:
        raw.request("GET", "/health/live", smuggled)
        assert raw.reply().status == 200
        raw.request("POST", f"/v1/topics/{topic}/jobs", smuggled)
        assert raw.reply().status == 400
        raw.request("GET", "/health/live")
        assert raw.reply().json == {"status": "live"}


@pytest.mark.parametrize("headers, is_kept", [
    ("HTTP/1.1\r\nHost: h\r\n", True), ("HTTP/1.1\r\nHost: h\r\nConnection: close\r\n", False),
    ("HTTP/1.0\r\n", False), ("HTTP/1.0\r\nConnection: keep-alive\r\n", True)])
def test_a_connection_is_kept_or_not_as_it_wishes(node, topic, headers, is_kept):
    with RawHttp(node.http_port) as raw:
        for _ in range(2 if is_kept else 1):
            raw.send(f"GET /v1/topics/{topic} {headers}\r\n")
            assert raw.reply().status == 200
        assert is_kept or raw.is_closed_by_server()


def test_nothing_to_say_is_no_reason_to_close(node, api, topic):
    api.push(topic, id="1")
    with RawHttp(node.http_port) as raw:
        raw.request("DELETE", f"/v1/topics/{topic}/jobs/1")
        raw.request("DELETE", f"/v1/topics/{topic}/jobs/1")
        raw.request("GET", "/health/live")
        assert [raw.reply().status for _ in range(3)] == [204, 404, 200]


@pytest.mark.parametrize("id", ["a", "A-z_0.9:", "x" * 64, "1"])
def test_a_requests_own_id_comes_back(node, topic, id):
    with RawHttp(node.http_port) as raw:
        for target in (f"/v1/topics/{topic}", "/nothing", "/metrics"):
            raw.request("GET", target, headers=f"X-Request-Id: {id}\r\n")
            assert raw.reply().headers["x-request-id"] == id


@pytest.mark.parametrize("id", ["", " ", "a b", "x" * 65, "ä", "<script>", "a,b", 'a"b'])
def test_an_id_of_another_form_is_replaced(node, topic, id):
    with RawHttp(node.http_port) as raw:
        raw.request("GET", f"/v1/topics/{topic}", headers=f"X-Request-Id: {id}\r\n")
        given = raw.reply().headers["x-request-id"]
        assert given != id and re.fullmatch(r"[A-Za-z0-9_.:-]{1,64}", given)


def test_ids_that_the_node_gives_never_repeat(node, topic):
    given = []
    for _ in range(3):
        with RawHttp(node.http_port) as raw:
            for _ in range(100):
                raw.request("GET", "/health/live")
                given.append(raw.reply().headers["x-request-id"])
    assert len(set(given)) == len(given)


def test_the_contract_is_served_as_it_is_in_the_source(api):
    reply = api.done("GET", "/v1/openapi.yaml")
    assert reply.body == (API / "openapi.yaml").read_bytes()
    assert reply.headers["content-type"].startswith("application/yaml")


def test_every_path_says_405_with_its_methods(api):
    for template in api.contract.document["paths"]:
        target = re.sub(r"{\w+}", "x", template)
        allowed = api.contract.allowed_methods(template)
        for method in {"GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"} - allowed:
            assert api.ask(method, target, is_wrong=True).status == 405, f"{method} {target}"


def test_the_health_and_the_numbers_follow_the_contract(api):
    for target in ("/health/live", "/health/ready", "/health/leader", "/metrics"):
        for method in ("GET", "HEAD"):
            assert api.done(method, target).status == 200


def test_the_status_of_a_node(node, api, topic):
    status = api.status()
    assert status["role"] == "leader"
    assert status["ready"] is True and status["why_not_ready"] is None
    assert status["pid"] == node.worker_pid
    assert status["connections"]["http"] >= 1 and status["connections"]["gmq"] == 0
    assert status["store"]["up"] is True and status["buckets"] == 64
    with node.python_client():
        wait_until(lambda: api.status()["connections"]["gmq"] == 1, "it was accepted")
    with RawHttp(node.http_port) as raw:
        raw.request("POST", f"/v1/topics/{topic}/pop?wait_ms=60000")
        wait_until(lambda: api.status()["consumers_waiting"] == 1, "it is told")
    api.push_all(topic, [new_job()] * 10)
    assert api.status()["store"]["round_trips"] >= status["store"]["round_trips"] + 10
