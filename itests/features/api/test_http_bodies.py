"""A job's body comes back byte for byte, whatever it is."""

import json

import pytest

from harness.http_api import body_of, new_job, path_of, refused
from harness.http_raw import RawHttp

LIMIT = 1 << 20

BODIES = {
    "nothing": b"",
    "text": b"close the order",
    "every byte": bytes(range(256)),
    "every byte, backwards": bytes(range(255, -1, -1)),
    "a zero byte": b"\0",
    "control characters": bytes(range(32)) + b"\x7f",
    "quotes": b'"\\/\b\f\n\r\t{}[]',
    "umlauts": "äöüßéЖ中文".encode(),
    "emoji": "🦆👩‍👩‍👧🇩🇪".encode(),
    "the ends of unicode": "\u0000\u007f\u0080\u07ff\u0800\ud7ff\ue000\uffff\U00010000\U0010ffff".encode(),
    "separators": "\u2028\u2029".encode(),
    "broken UTF-8": b"\xc3", "an overlong form": b"\xc0\xaf", "half a surrogate": b"\xed\xa0\x80",
    "beyond unicode": b"\xf4\x90\x80\x80",
    "json": b'{"a": [1, 2, {"b": null}]}',
    "1023 bytes": b"x" * 1023, "1024 bytes": b"x" * 1024, "1025 bytes": b"x" * 1025,
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


def test_many_kinds_of_bodies_in_one_answer(api, topic):
    small = {name: body for name, body in BODIES.items() if len(body) < 2000}
    api.push_all(topic, [new_job(body) for body in small.values()])
    assert [body_of(job) for job in api.pop(topic, count=64)] == list(small.values())


def test_escapes_of_json_are_understood(api, topic):
    text = r'{"body":"\u00e4\ud83e\udd86\/\n\u0000","id":"\u0031"}'
    api.done("POST", path_of("topics", topic, "jobs"), text.encode())
    job = api.get(topic, "1")
    assert job["body"] == json.loads(text)["body"]


@pytest.mark.parametrize("encoded", ["Y", "Yg", "Yg=", "Yg===", "Yh==", "Y g=", "Yg==Yg==", "_-8=",
                                     "Yg==\n", "=", "===="])
def test_base64_must_be_exact(api, topic, encoded):
    job = {"body_base64": encoded}
    # Bits that mean nothing, and a newline at the end, are more than the pattern can tell.
    is_wrong = encoded not in ("Yh==", "Yg==\n")
    with refused("bad_request", "body_base64"):
        api.done("POST", path_of("topics", topic, "jobs"), job, is_wrong=is_wrong)


@pytest.mark.parametrize("body", ["x" * (LIMIT + 1), b"\xff" * (LIMIT + 1), "\1" * (LIMIT + 1)])
def test_one_byte_too_many_is_refused(api, topic, body):
    with refused("too_large", "limits.body_bytes"):
        api.push(topic, body)
    results = api.push_all(topic, [new_job("small"), new_job(body), new_job("small")])
    assert ["error" in result for result in results] == [False, True, False]
    assert results[1]["error"]["code"] == "too_large"
    assert api.counts(topic) == (0, 2, 0, 0)


def test_large_jobs_come_one_answer_after_the_other(api, topic):
    bodies = [bytes([65 + number]) * LIMIT for number in range(10)]
    for body in bodies:
        api.push(topic, body.decode())
    answers = [api.pop(topic, count=10) for _ in bodies]
    assert [len(jobs) for jobs in answers] == [1] * len(bodies)
    assert [body_of(jobs[0]) for jobs in answers] == bodies


def test_a_body_in_chunks_and_after_a_hundred_continue(node, api, topic):
    body = json.dumps(new_job("c" * 5000, id="chunked")).encode()
    with RawHttp(node.http_port) as raw:
        raw.send(f"POST /v1/topics/{topic}/jobs HTTP/1.1\r\nHost: h\r\n"
                 "Transfer-Encoding: chunked\r\n\r\n")
        for start in range(0, len(body), 700):
            piece = body[start:start + 700]
            raw.send(b"%x;ignored=yes\r\n%s\r\n" % (len(piece), piece))
        raw.send(b"0\r\nTrailer: ignored\r\n\r\n")
        assert raw.reply().status == 201
        body = body.replace(b"chunked", b"waited!")
        raw.send(f"POST /v1/topics/{topic}/jobs HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n"
                 f"Content-Length: {len(body)}\r\n\r\n")
        assert raw.reply().status == 100
        raw.send(body)
        assert raw.reply().status == 201
    assert api.get(topic, "chunked")["body"] == api.get(topic, "waited!")["body"] == "c" * 5000


def test_a_request_in_single_bytes(node, topic):
    body = b'{"body":"slowly"}'
    text = b"POST /v1/topics/%s/jobs HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n%s" % (
        topic.encode(), len(body), body)
    with RawHttp(node.http_port) as raw:
        for byte in text:
            raw.send(bytes([byte]))
        assert raw.reply().status == 201
