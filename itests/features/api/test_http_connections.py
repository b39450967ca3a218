"""Connections, kept and pipelined; and what a node tells of itself."""

import re

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


def test_a_request_id_of_another_form_is_replaced(api):
    """HttpApi.ask judges what comes back."""
    for id in ("<script>", "a,b", 'a"b', "-_.:"):
        api.done("GET", "/health/live", headers={"X-Request-Id": id})


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


def test_bodies_of_pipelined_requests_are_taken_with_their_heads(node):
    """All bytes are there, so none waits for more: wherever a turn ends, it is behind a body."""
    for count in (15, 16, 17, 40):
        with RawHttp(node.http_port) as raw:
            raw.send(b"POST /v1/topics/t/jobs HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\n{"
                     * count)
            assert [raw.error() for _ in range(count)] == [(400, "bad_request")] * count
