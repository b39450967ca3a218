"""Many jobs in one request: each has its own result, in its place."""

import json

import pytest

from harness.http_api import Refused, new_job, path_of, refused


def push_text(api, topic, text):
    return api.done("POST", path_of("topics", topic, "jobs"), text.encode(), is_wrong=True)


def code_of(result):
    return result["error"]["code"] if "error" in result else "pushed"


def test_a_thousand_jobs_in_order(api, topic):
    jobs = [new_job(f"body {number}", id=f"job-{number}") for number in range(1000)]
    results = api.push_all(topic, jobs)
    assert [result["id"] for result in results] == [job["id"] for job in jobs]
    assert api.counts(topic) == (0, 1000, 0, 0)
    got = [job for _ in range(16) for job in api.pop(topic, count=64)]
    assert [(job["id"], job["body"]) for job in got] == [(job["id"], job["body"]) for job in jobs]


def test_a_list_of_one(api, topic):
    (result,) = api.push_all(topic, [new_job("b", id="only")])
    assert result["id"] == "only"


BAD_ITEMS = [
    ("bad_request", {}), ("bad_request", {"body": 1}), ("bad_request", {"body": None}),
    ("bad_request", 17), ("bad_request", "text"), ("bad_request", []), ("bad_request", None),
    ("bad_request", {"body": {"nested": True}}), ("bad_request", {"body": "b", "delay": 1}),
    ("bad_request", {"body": "b", "body_base64": "Yg=="}),
    ("bad_request", {"body_base64": "Yg="}),
    ("bad_request", {"body": "b", "delay_ms": 1, "at_ms": 1900000000000}),
    ("out_of_range", {"body": "b", "at_ms": 1900000000}),
    ("bad_request", {"body": "b", "delay_ms": "1"}),
    ("bad_request", {"body": "b", "ttr_ms": 1.5}),
    ("bad_request", {"body": "b", "id": 1}),
    ("bad_id", {"body": "b", "id": ""}), ("bad_id", {"body": "b", "id": "a b"}),
    ("out_of_range", {"body": "b", "ttr_ms": -1}),
    ("out_of_range", {"body": "b", "ttr_ms": 604800001}),
    ("out_of_range", {"body": "b", "delay_ms": 315360000001}),
    ("out_of_range", {"body": "b", "at_ms": 281474976710656}),
    ("out_of_range", {"body": "b", "priority": 4294967296}),
    ("out_of_range", {"body": "b", "max_tries": 65535}),
    ("out_of_range", {"body": "b", "ttl_ms": 315360000001}),
    ("bad_request", {"body": "b", "mode": "overwrite"}),
    ("bad_request", {"body": "b", "backoff": {"kind": "fixed"}}),
    ("bad_request", {"body": "b", "backoff": {"kind": "none", "base_ms": 1}}),
    ("out_of_range", {"body": "b", "backoff": {"kind": "fixed", "base_ms": 0}}),
]


def test_bad_items_among_good_ones_fail_alone(api, topic):
    items = [each for number, (_, bad) in enumerate(BAD_ITEMS)
             for each in (new_job(id=f"good-{number}"), bad)]
    results = api.push_all(topic, items, is_wrong=True)
    assert [code_of(result) for result in results[1::2]] == [code for code, _ in BAD_ITEMS]
    assert [result.get("id") for result in results[::2]] == [item["id"] for item in items[::2]]
    assert api.counts(topic) == (0, len(BAD_ITEMS), 0, 0)


def test_a_list_of_nothing_but_bad_items(api, topic):
    results = api.push_all(topic, [bad for _, bad in BAD_ITEMS], is_wrong=True)
    assert [code_of(result) for result in results] == [code for code, _ in BAD_ITEMS]
    assert api.counts(topic) == (0, 0, 0, 0)


@pytest.mark.parametrize("code, item", [each for each in BAD_ITEMS if each[1] != []])
def test_a_bad_job_by_itself_is_refused(api, topic, code, item):
    with refused(code):
        push_text(api, topic, json.dumps(item))


@pytest.mark.parametrize("name, value", [
    ("delay", 1), ("delay_ms", "1"), ("delay_ms", -1), ("at_ms", 1e300), ("ttr_ms", None),
    ("ttr_ms", True), ("id", {}), ("prio", 1), ("priority", "high"), ("backoff", 5), ("\u00e4", 1)])
def test_what_is_wrong_is_named(api, topic, name, value):
    for text in ({"body": "b", name: value}, {name: value, "body": "b"}):
        with pytest.raises(Refused, match=name):
            push_text(api, topic, json.dumps(text))


def test_an_id_twice_in_a_list_is_a_duplicate_the_second_time(api, topic):
    results = api.push_all(topic, [new_job("first", id="twin"), new_job("second", id="twin")])
    assert [code_of(result) for result in results] == ["pushed", "duplicate"]
    assert api.get(topic, "twin")["body"] == "first"


def test_results_differ_by_item(api, topic):
    now = api.push_all(topic, [new_job(), new_job(delay_ms=5000), new_job(ttr_ms=0)])
    assert len({result["id"] for result in now}) == 3
    assert 4900 < now[1]["due_ms"] - now[0]["due_ms"] < 60000


@pytest.mark.parametrize("count", [0, 1001])
def test_too_few_or_too_many_items_are_refused_as_a_whole(api, topic, count):
    with refused("out_of_range", "1000"):
        api.push_all(topic, [new_job("b")] * count, is_wrong=True)
    assert api.counts(topic) == (0, 0, 0, 0)


@pytest.mark.parametrize("text", [
    '[{"body":"b"},', '[{"body":"b"}', '{"body":"b"', '{"body":"b"}}', '[{"body":"b"}] x', "",
    '{"body":"b",}', "{'body':'b'}", '{"body":"\\x"}', '{"body":"\\ud800"}', "[" * 5000],
    ids=lambda text: text[:20])
def test_what_is_not_json_is_refused_as_a_whole(api, topic, text):
    with refused("bad_request"):
        push_text(api, topic, text)
    assert api.counts(topic) == (0, 0, 0, 0)


def test_what_is_not_utf8_is_refused(api, topic):
    with refused("bad_request", "UTF-8"):
        api.done("POST", path_of("topics", topic, "jobs"), b'{"body":"\xff"}', is_wrong=True)


@pytest.mark.parametrize("text", ['{"body":"a","body":"b"}',
                                  '{"body":"a","b\\u006fdy":"b"}',
                                  '{"id":"1","id":"1","body":""}'])
def test_a_member_twice_is_refused(api, topic, text):
    with refused("bad_request", "twice"):
        push_text(api, topic, text)


def test_the_content_type_of_a_request_does_not_matter(api, topic):
    for number, kind in enumerate(["text/plain", "application/x-www-form-urlencoded", "nonsense"]):
        api.done("POST", path_of("topics", topic, "jobs"), new_job(id=f"kind-{number}"),
                 headers={"Content-Type": kind})


def test_space_around_and_within_does_not_matter(api, topic):
    text = b' \r\n\t[ { "body" : "b" , "id" : "spaced" } ]\n\n'
    results = api.done("POST", path_of("topics", topic, "jobs"), text).json["results"]
    assert results[0]["id"] == "spaced"
