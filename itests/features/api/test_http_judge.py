"""The judge of all HTTP tests notices what it must: each of these is a planted fault."""

import copy
import json

import pytest

from harness.http_tables import contract_in_source
from harness.openapi import Broken, Contract, parse_json

CONTRACT = contract_in_source()

JOBS = "/v1/topics/orders/jobs"
JOB = JOBS + "/1"
GOOD = [("Date", "today"), ("X-Request-Id", "r1"), ("Content-Type", "application/json"),
        ("Content-Length", "9")]
NOTHING = [("Date", "today"), ("X-Request-Id", "r1")]
LISTED = ('{"jobs":[{"id":"1","topic":"t","body_bytes":1,"state":"%s","due_ms":5,"delay_ms":0,'
          '"ttr_ms":0,"tries":0,"priority":0,"max_tries":0,"backoff":{"kind":"none"},%s}]}')
ERROR = '{"error":{"code":"%s","message":"m"}}'


def with_header(headers, name, value):
    return [(each, text) for each, text in headers if each != name] + [(name, value)]


def without_header(headers, name):
    return [(each, text) for each, text in headers if each != name]


def judge(method, target, status, headers, body):
    return CONTRACT.check_reply(method, target, status, headers, body.encode())


def test_good_replies_pass():
    judge("POST", JOBS, 201, GOOD, '{"id":"1","due_ms":5}')
    judge("DELETE", JOB, 204, NOTHING, "")
    judge("GET", JOB, 404, GOOD, ERROR % "not_found")
    judge("HEAD", JOB, 200, GOOD, "")
    judge("POST", JOBS, 200, GOOD, '{"id":"1","due_ms":5,"existed":true}')
    judge("POST", JOB + "/release", 200, GOOD, '{"due_ms":null,"tries":3,"death":"tries"}')
    judge("GET", JOBS, 200, GOOD, '{"jobs":[],"next":null}')
    judge("GET", "/nowhere", 404, GOOD, ERROR % "no_such_path")
    judge("PUT", JOB, 405, with_header(GOOD, "Allow", "GET, HEAD, DELETE"),
          ERROR % "method_not_allowed")
    judge("GET", JOB, 503, with_header(GOOD, "Retry-After", "1"), ERROR % "unavailable")


@pytest.mark.parametrize("why, arguments", [
    ("an undocumented member", ("POST", JOBS, 201, GOOD, '{"id":"1","due_ms":5,"new":1}')),
    ("a missing member", ("POST", JOBS, 201, GOOD, '{"id":"1"}')),
    ("a push that is ignored for none", ("POST", JOBS, 200, GOOD, '{"id":"1","due_ms":5}')),
    ("due, and dead", ("POST", JOB + "/release", 200, GOOD,
                       '{"due_ms":5,"tries":3,"death":"tries"}')),
    ("neither due nor dead", ("POST", JOB + "/release", 200, GOOD, '{"due_ms":null,"tries":3}')),
    ("a dead job without a reason", ("GET", JOBS, 200, GOOD, LISTED % ("dead", '"died_ms":5'))),
    ("a ready job with a deadline", ("GET", JOBS, 200, GOOD, LISTED % ("ready", '"deadline_ms":5'))),
    ("a reserved job without one", ("GET", JOBS, 200, GOOD, LISTED % ("reserved", '"holder":"h"'))),
    ("a wrong type", ("POST", JOBS, 201, GOOD, '{"id":1,"due_ms":5}')),
    ("a member twice", ("POST", JOBS, 201, GOOD, '{"id":"1","due_ms":5,"id":"1"}')),
    ("not JSON", ("POST", JOBS, 201, GOOD, '{"id":"1","due_ms":5')),
    ("NaN", ("POST", JOBS, 201, GOOD, '{"id":"1","due_ms":NaN}')),
    ("a status that is not described", ("POST", JOBS, 202, GOOD, '{"id":"1","due_ms":5}')),
    ("a wrong status of success", ("POST", JOBS, 204, NOTHING, "")),
    ("no X-Request-Id", ("POST", JOBS, 201, without_header(GOOD, "X-Request-Id"),
                         '{"id":"1","due_ms":5}')),
    ("an X-Request-Id out of form", ("DELETE", JOB, 204, [("X-Request-Id", "a b")], "")),
    ("a header twice", ("DELETE", JOB, 204, NOTHING + NOTHING, "")),
    ("an undocumented header", ("DELETE", JOB, 204, NOTHING + [("Server", "dueq")], "")),
    ("a body with 204", ("DELETE", JOB, 204, NOTHING, "{}")),
    ("a length with 204", ("DELETE", JOB, 204, NOTHING + [("Content-Length", "0")], "")),
    ("a wrong Content-Type", ("POST", JOBS, 201, with_header(GOOD, "Content-Type", "text/plain"),
                              '{"id":"1","due_ms":5}')),
    ("no Content-Type", ("POST", JOBS, 201, without_header(GOOD, "Content-Type"),
                         '{"id":"1","due_ms":5}')),
    ("a body for HEAD", ("HEAD", JOB, 200, GOOD, "{}")),
    ("an error without its form", ("GET", JOB, 404, GOOD, '{"error":"not_found"}')),
    ("an unknown code", ("GET", JOB, 404, GOOD, ERROR % "gone")),
    ("a code with another's status", ("GET", JOB, 404, GOOD, ERROR % "bad_id")),
    ("a status with another's code", ("GET", JOB, 418, GOOD, ERROR % "not_found")),
    ("a code that this path cannot have", ("GET", "/health/live", 404, GOOD,
                                           ERROR % "not_found")),
    ("503 without Retry-After", ("GET", JOB, 503, GOOD, ERROR % "unavailable")),
    ("Retry-After without 503", ("GET", JOB, 404, with_header(GOOD, "Retry-After", "1"),
                                 ERROR % "not_found")),
    ("405 without Allow", ("PUT", JOB, 405, GOOD, ERROR % "method_not_allowed")),
    ("405 with too few methods", ("PUT", JOB, 405, with_header(GOOD, "Allow", "GET, HEAD"),
                                  ERROR % "method_not_allowed")),
    ("405 with too many", ("PUT", JOB, 405, with_header(GOOD, "Allow", "GET, HEAD, DELETE, POST"),
                           ERROR % "method_not_allowed")),
    ("success under a path that there is not", ("GET", "/nowhere", 200, GOOD, "{}")),
    ("jobs without a topic", ("POST", "/v1/topics/a/pop", 200, GOOD, '{"topic":"a","jobs":[]}')),
    ("a lease where none may be", ("GET", JOB, 200, GOOD, '{"id":"1","topic":"a","body":"b",'
     '"state":"ready","due_ms":1,"delay_ms":0,"ttr_ms":1,"tries":0,"lease":"1"}')),
    ("two bodies", ("GET", JOB, 200, GOOD, '{"id":"1","topic":"a","body":"b","body_base64":"Yg==",'
     '"state":"ready","due_ms":1,"delay_ms":0,"ttr_ms":1,"tries":0}')),
])
def test_a_bad_reply_is_noticed(why, arguments):
    with pytest.raises(Broken):
        judge(*arguments)


@pytest.mark.parametrize("method, target, body", [
    ("POST", JOBS, '{"body":"b"}'),
    ("POST", JOBS, '[{"body_base64":"Yg==","delay_ms":0}]'),
    ("POST", "/v1/topics/a,b%2Fc/pop?count=64&wait_ms=0", ""),
    ("POST", JOB + "/ack", '{"lease":"1"}'),
    ("POST", "/v1/topics/a/ack", '{"leases":[{"id":"1","lease":"1"}]}'),
    ("POST", JOB + "/run", ""),
    ("POST", JOB + "/run", "{}"),
    ("POST", "/v1/topics/a/resume", "{}"),
    ("POST", JOB + "/reschedule", '{"at_ms":100000000000}'),
    ("POST", JOBS, '{"body":"","backoff":{"kind":"fixed","base_ms":1},"mode":"ignore"}'),
    ("GET", JOBS + "?state=dead&limit=100", ""),
    ("POST", "/v1/topics/a/kick", "{}"),
    ("POST", "/v1/topics/a/purge", '{"states":["dead"],"since_ms":100000000000}'),
    ("POST", "/v1/topics/a/kick", '{"since_ms":0,"before_ms":100000000000}'),
    ("POST", "/v1/topics/a/purge", '{"states":["dead","ready"]}'),
    ("POST", "/v1/topics/a/pause", '{"for_ms":1}'),
    ("PATCH", "/v1/topics/a/settings", '{"ttr_ms":null,"backoff":{"kind":"none"}}'),
    ("GET", JOB + "/history?limit=1000", ""),
    ("GET", "/v1/topics?limit=1000&cursor=ab", ""),
    ("HEAD", JOBS + "/a%2Fb%20"[:-3], ""),
])
def test_good_requests_pass(method, target, body):
    CONTRACT.check_request(method, target, body.encode())


@pytest.mark.parametrize("why, method, target, body", [
    ("no such path", "GET", "/v2/topics", ""),
    ("no such method", "PUT", JOB, ""),
    ("an unknown parameter", "POST", "/v1/topics/a/pop?counts=1", ""),
    ("a parameter twice", "POST", "/v1/topics/a/pop?count=1&count=1", ""),
    ("not a number", "POST", "/v1/topics/a/pop?count=one", ""),
    ("out of range", "POST", "/v1/topics/a/pop?count=65", ""),
    ("too many topics", "POST", "/v1/topics/" + ",".join(["a"] * 65) + "/pop", ""),
    ("an empty topic", "POST", "/v1/topics/a,,b/pop", ""),
    ("a bad topic", "GET", "/v1/topics/a%20b", ""),
    ("a bad id", "GET", JOBS + "/a%20b", ""),
    ("a body where none is wanted", "GET", JOB, "{}"),
    ("a time where none is wanted", "POST", JOB + "/run", '{"at_ms":1}'),
    ("a number where none is wanted", "POST", JOB + "/kick", '{"limit":1}'),
    ("a list where nothing is wanted", "POST", "/v1/topics/a/resume", "[]"),
    ("no body where one must be", "POST", JOB + "/reschedule", ""),
    ("an unknown member", "POST", JOBS, '{"body":"b","delay":1}'),
    ("no body", "POST", JOBS, '{}'),
    ("two bodies", "POST", JOBS, '{"body":"b","body_base64":"Yg=="}'),
    ("two times", "POST", JOBS, '{"body":"b","delay_ms":1,"at_ms":1900000000000}'),
    ("bad base64", "POST", JOBS, '{"body_base64":"Yg="}'),
    ("no lease", "POST", JOB + "/ack", "{}"),
    ("an empty array", "POST", JOBS, "[]"),
    ("a backoff without a base", "POST", JOBS, '{"body":"","backoff":{"kind":"fixed"}}'),
    ("a backoff of no kind", "POST", JOBS, '{"body":"","backoff":{"base_ms":1}}'),
    ("none, and a base", "POST", JOBS, '{"body":"","backoff":{"kind":"none","base_ms":1}}'),
    ("no such mode", "POST", JOBS, '{"body":"","mode":"overwrite"}'),
    ("no leases", "POST", "/v1/topics/a/ack", '{"leases":[]}'),
    ("a lease without an id", "POST", "/v1/topics/a/ack", '{"leases":[{"lease":"1"}]}'),
    ("no such state", "GET", JOBS + "?state=alive", ""),
    ("no time", "POST", JOB + "/reschedule", "{}"),
    ("a time in seconds", "POST", JOB + "/reschedule", '{"at_ms":1900000000}'),
    ("two other times", "POST", JOB + "/reschedule", '{"at_ms":1900000000000,"delay_ms":1}'),
    ("a purge of nothing", "POST", "/v1/topics/a/purge", "{}"),
    ("a time of those that are not dead", "POST", "/v1/topics/a/purge",
     '{"states":["dead","ready"],"since_ms":1900000000000}'),
    ("a sweep since a time in seconds", "POST", "/v1/topics/a/kick", '{"since_ms":1900000000}'),
    ("a sweep before a time in seconds", "POST", "/v1/topics/a/kick", '{"before_ms":1900000000}'),
    ("a pause until a time in seconds", "POST", "/v1/topics/a/pause", '{"until_ms":1900000000}'),
    ("a pause with two ends", "POST", "/v1/topics/a/pause",
     '{"for_ms":1,"until_ms":1900000000000}'),
    ("no setting", "PATCH", "/v1/topics/a/settings", "{}"),
])
def test_a_bad_request_is_noticed(why, method, target, body):
    with pytest.raises(Broken):
        CONTRACT.check_request(method, target, body.encode())


# What the node refuses by protocol/api/tests/, too: bodies, and queries.
WRONG_BODIES = {
    JOBS: [
        17, "text", None, [[]], {"body": None}, {"body": 1}, {"body": {"nested": True}},
        {"body": "b", "delay_ms": "1"}, {"body": "b", "delay_ms": -1}, {"body": "b", "at_ms": 1e300},
        {"body": "b", "delay_ms": 315360000001}, {"body": "b", "at_ms": 1900000000},
        {"body": "b", "at_ms": 281474976710656}, {"body": "b", "ttr_ms": 1.5},
        {"body": "b", "ttr_ms": -1}, {"body": "b", "ttr_ms": 604800001}, {"body": "b", "ttr_ms": None},
        {"body": "b", "ttr_ms": True}, {"body": "b", "ttl_ms": 315360000001},
        {"body": "b", "id": 1}, {"body": "b", "id": {}}, {"body": "b", "id": ""},
        {"body": "b", "id": "a b"}, {"body": "b", "prio": 1}, {"body": "b", "\u00e4": 1},
        {"body": "b", "priority": "high"}, {"body": "b", "priority": 4294967296},
        {"body": "b", "max_tries": 65535}, {"body": "b", "backoff": 5},
        {"body": "b", "backoff": {"kind": "fixed", "base_ms": 0}}, [{"body": "b"}] * 1001,
        *({"body_base64": text} for text in ("Y", "Yg", "Yg===", "Y g=", "Yg==Yg==", "_-8=", "=",
                                             "===="))],
    JOB + "/reschedule": [{"at": 1}, {"delay_ms": -1}, {"delay_ms": 315360000001}],
    "/v1/topics/a/ack": [
        [], {}, {"leases": {}}, {"leases": [{"id": "1", "lease": "1"}] * 1001},
        {"leases": [{"id": "1", "lease": "1"}], "lease": "1"}],
    "/v1/topics/a/pause": [{"for_ms": 0}, {"for": 1}, {"until_ms": 281474976710655}],
    "/v1/topics/a/kick": [{"limit": 0}, {"states": ["dead"]}, {"since": 1}, {"since_ms": -1}],
    "/v1/topics/a/purge": [
        {"states": []}, {"states": ["alive"]}, {"states": "dead"}, {"states": ["dead", "dead"]},
        {"states": ["ready"], "since_ms": 0}],
    "/v1/topics/a/pop": [{"count": 2}],
    "/v1/topics/a/settings": [
        {"ttr": 1}, {"ttr_ms": "1m"}, {"ttr_ms": -1}, {"history": 1}, {"dead_max": 4294967296},
        {"backoff": {"kind": "fixed"}}],
}
WRONG_QUERIES = {
    "/v1/topics/a/pop": [
        "count=0", "count=-1", "count=99999999999999999999", "wait_ms=-1", "wait_ms=3600001",
        "ttr_ms=-1", "ttr_ms=604800001", "count=", "count=1.5", "count=0x1", "count=+1",
        "count=%201"],
    JOBS: ["limit=0", "limit=101", "limit=x", "state=", "cursor=", "states=dead"],
    JOB + "/history": ["limit=0", "limit=1001", "count=1"],
    "/v1/topics": ["limit=0", "limit=1001", "limit=x", "cursor=", "page=2"],
    "/v1/deliveries": ["after=-1", "after=x", "wait_ms=3600001", "topic=", "topic=a%20b", "since=1"],
}


@pytest.mark.parametrize("target, body", [
    (target, body) for target, bodies in WRONG_BODIES.items() for body in bodies],
    ids=lambda value: str(value)[:60])
def test_a_body_that_the_node_refuses_is_noticed(target, body):
    method = "PATCH" if target.endswith("settings") else "POST"
    with pytest.raises(Broken):
        CONTRACT.check_request(method, target, json.dumps(body).encode())


@pytest.mark.parametrize("target, query", [
    (target, query) for target, queries in WRONG_QUERIES.items() for query in queries])
def test_a_query_that_the_node_refuses_is_noticed(target, query):
    method = "POST" if target.endswith("pop") else "GET"
    with pytest.raises(Broken):
        CONTRACT.check_request(method, f"{target}?{query}")


def test_json_with_a_member_twice_is_none():
    with pytest.raises(Broken):
        parse_json('{"a":1,"a":2}')


def test_a_closed_object_that_is_opened_lets_more_pass():
    """The planted member above fails because of the file, not of something else."""
    document = copy.deepcopy(CONTRACT.document)
    del document["components"]["schemas"]["Pushed"]["additionalProperties"]
    Contract(document).check_reply("POST", JOBS, 201, GOOD,
                                   b'{"id":"1","due_ms":5,"new":1}')
