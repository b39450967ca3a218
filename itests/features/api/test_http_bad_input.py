"""Bad input gets a clear error and changes nothing. Each thing that can be wrong with a request:
protocol/api/tests/ and protocol/http/tests/; that the contract finds it wrong, too: test_http_judge.
"""

import pytest

from harness.http_api import new_job, path_of, refused
from harness.names import BAD_IDS, BAD_TOPICS
from harness.redis_server import contents

TOPIC = "/v1/topics/t"
JOBS, POP, JOB = TOPIC + "/jobs", TOPIC + "/pop", TOPIC + "/jobs/waits"

BAD = [  # a request of each kind, and how it is refused: the code, and what is named
    ("POST", JOBS, {"body": 1}, "bad_request", "body"),
    ("POST", JOBS, b'{"body":"b"', "bad_request", "JSON"),
    ("POST", JOBS, {"body": "b", "at_ms": 1900000000}, "out_of_range", "seconds"),
    ("POST", JOBS, [new_job()] * 1001, "out_of_range", "1000"),
    ("POST", POP + "?count=65", b"", "out_of_range", "count"),
    ("POST", POP + "?count=1%00", b"", "bad_request", "count"),
    ("POST", POP + "?count", b"", "bad_request", "count"),
    ("POST", POP + "?Count=1", b"", "bad_request", "Count"),
    ("POST", POP + "?=1", b"", "bad_request", ""),
    ("POST", POP + "?wait_ms=%4", b"", "bad_request", "wait_ms"),
    ("POST", POP, {"count": 2}, "bad_request", "in the query"),
    ("POST", "/v1/topics/t,,u/pop", b"", "bad_topic", ""),
    ("POST", JOB + "/ack", {"lease": "x"}, "bad_request", "lease"),
    ("POST", JOB + "/release", {"lease": "1", "delay_ms": -1}, "out_of_range", "delay_ms"),
    ("POST", JOB + "/touch", {"lease": "1", "ttr_ms": 604800001}, "out_of_range", "ttr_ms"),
    ("POST", JOB + "/bury", {}, "bad_request", "lease"),
    ("POST", TOPIC + "/ack", {"leases": [{"id": "1", "lease": "1"}] * 1001}, "out_of_range", "1000"),
    ("POST", JOB + "/run", {"delay_ms": 1}, "bad_request", "delay_ms"),
    ("POST", JOB + "/kick", {"delay_ms": 1}, "bad_request", "delay_ms"),
    ("POST", JOB + "/reschedule", {"at": 1}, "bad_request", "at"),
    ("POST", JOB + "/reschedule", {"delay_ms": 315360000001}, "out_of_range", "delay_ms"),
    ("DELETE", JOB, {"lease": "1"}, "bad_request", "lease"),
    ("POST", TOPIC + "/kick", {"limit": 0}, "out_of_range", "limit"),
    ("POST", TOPIC + "/purge", {"states": ["ready", "alive"]}, "bad_request", "states"),
    ("POST", TOPIC + "/pause", {"for_ms": 0}, "out_of_range", "for_ms"),
    ("POST", TOPIC + "/resume", {"for_ms": 1}, "bad_request", "for_ms"),
    ("PATCH", TOPIC + "/settings", {"max_tries": 5, "ttr_ms": -1}, "out_of_range", "ttr_ms"),
    ("GET", JOB + "/history?limit=0", b"", "out_of_range", "limit"),
    ("GET", "/v1/deliveries?after=-1", b"", "out_of_range", "after"),
    *(("GET", f"{target}?cursor={cursor}", b"", "bad_request", "cursor")
      for target in (JOBS, "/v1/topics") for cursor in ("%00", "%F0%9F%A6%86", "1" * 2000)),
]


def test_bad_input_gets_a_clear_error_and_changes_nothing(make_node):
    node = make_node().start()
    node.wait_settled()
    with node.api() as api:
        api.push("t", id="ready")
        api.push("t", id="waits", delay_ms=3600000)
        before = contents(node.redis())
        for method, target, body, code, named in BAD:
            with refused(code, named):
                api.done(method, target, body, is_wrong=True)
        assert contents(node.redis()) == before


@pytest.mark.parametrize("name", BAD_TOPICS)
def test_a_bad_topic_is_refused_everywhere(api, name):
    for method, target, body in [
            ("POST", path_of("topics", name, "jobs"), new_job()),
            ("POST", path_of("topics", name, "pop"), b""),
            ("GET", path_of("topics", name), b""),
            ("GET", path_of("topics", name, "jobs", "1"), b""),
            ("DELETE", path_of("topics", name, "jobs", "1"), b""),
            ("POST", path_of("topics", name, "jobs", "1", "ack"), {"lease": "1"})]:
        with refused("bad_topic"):
            api.done(method, target, body, is_wrong=True)


@pytest.mark.parametrize("id", BAD_IDS)
def test_a_bad_id_is_refused_everywhere(api, topic, id):
    with refused("bad_id"):
        api.done("POST", path_of("topics", topic, "jobs"), new_job(id=id), is_wrong=True)
    for method, verb, body in [("GET", (), b""), ("DELETE", (), b""),
                               ("POST", ("ack",), {"lease": "1"}),
                               ("POST", ("release",), {"lease": "1"}),
                               ("POST", ("touch",), {"lease": "1"})]:
        with refused("bad_id"):
            api.done(method, path_of("topics", topic, "jobs", id, *verb), body, is_wrong=True)
    assert api.counts(topic) == (0, 0, 0, 0)
