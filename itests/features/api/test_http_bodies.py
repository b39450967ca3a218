"""A job's body comes back byte for byte, whatever it is."""

import json

import pytest

from harness.http_api import body_of, new_job, refused
from harness.http_raw import RawHttp

LIMIT = 1 << 20

BODIES = {
    "nothing": b"",
    "every byte": bytes(range(256)),
    "every byte of ASCII": bytes(range(128)),
    "text": "äöüßéЖ中文 🦆👩‍👩‍👧🇩🇪 \u2028\u2029".encode(),
    "the ends of unicode": "\u0000\u007f\u0080\u07ff\u0800\ud7ff\ue000\uffff\U00010000\U0010ffff".encode(),
    "broken UTF-8": b"\xc3", "an overlong form": b"\xc0\xaf", "half a surrogate": b"\xed\xa0\x80",
    "beyond unicode": b"\xf4\x90\x80\x80",
    "as large as allowed": b"x" * LIMIT,
    "as large as allowed, escaped sixfold": b"\1" * LIMIT,
    "as large as allowed, binary": b"\xff" * LIMIT,
}


@pytest.mark.parametrize("name", BODIES)
def test_a_body_comes_back(api, topic, name):
    body = BODIES[name]
    api.push(topic, body, id="encoded")
    jobs = [api.get(topic, "encoded"), api.pop_one(topic)]
    is_text = _is_text(body)
    if is_text:
        api.push(topic, body.decode(), id="plain")
        jobs += [api.get(topic, "plain"), api.pop_one(topic)]
    for job in jobs:
        assert body_of(job) == body
        assert ("body" in job) == is_text


def _is_text(body):
    try:
        body.decode()
        return True
    except UnicodeDecodeError:
        return False


@pytest.mark.parametrize("body", ["x" * (LIMIT + 1), b"\xff" * (LIMIT + 1), "\1" * (LIMIT + 1)])
def test_one_byte_too_many_is_refused(api, topic, body):
    with refused("too_large", "limits.body_bytes"):
        api.push(topic, body)
    results = api.push_all(topic, [new_job("small"), new_job(body), new_job("small")])
    assert ["error" in result for result in results] == [False, True, False]
    assert results[1]["error"]["code"] == "too_large"
    assert api.counts(topic) == (0, 2, 0, 0)


def test_a_body_that_waits_to_be_asked_for(node, api, topic):
    body = json.dumps(new_job("c" * 5000, id="waited")).encode()
    with RawHttp(node.http_port) as raw:
        raw.send(f"POST /v1/topics/{topic}/jobs HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n"
                 f"Content-Length: {len(body)}\r\n\r\n")
        assert raw.reply().status == 100
        raw.send(body)
        assert raw.reply().status == 201
    assert api.get(topic, "waited")["body"] == "c" * 5000
