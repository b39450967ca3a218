"""A body is the client's own: it comes back as it was given."""

import json

import pytest

LIMIT_BYTES = 1 << 20


def roundtrip(node, topic, body):
    """Through a raw socket, because large replies do not fit into one recv(1024)."""
    with node.raw_client() as raw:
        raw.send_request("Push", {"id": f"{topic}-1", "topic": topic, "body": body, "TTR": 60})
        assert raw.reply()["error"] is None
        raw.send_request("Pop", [topic])
        popped = raw.reply()["result"]["body"]
        raw.send_request("Ack", f"{topic}-1")
        assert raw.reply()["result"] is True
    return popped


@pytest.mark.parametrize("body", [
    "", " ", "0", "null", '{"json": ["inside", 1]}', 'quote " backslash \\ slash /',
    "line\nreturn\rtab\t", "\0nul\0", "\x01\x1f\x7f", "ä€😀", "\u2028",
    "x" * 1000, "x" * 1023, "x" * 1024, "x" * 1025, "ü" * 5000,
], ids=lambda body: ascii(body)[:20])
def test_a_body_comes_back_as_it_was(node, topic, body):
    assert roundtrip(node, topic, body) == body


def test_a_body_of_a_mebibyte_comes_back(node, topic):
    body = ("0123456789abcde\n" * (LIMIT_BYTES // 16))
    assert len(body) == LIMIT_BYTES
    assert roundtrip(node, topic, body) == body


def test_many_large_bodies_at_once(node, topic):
    bodies = {f"{topic}-{n}": chr(97 + n) * 300_000 for n in range(10)}
    with node.raw_client() as raw:
        for id, body in bodies.items():
            raw.send_request("Push", {"id": id, "topic": topic, "body": body, "TTR": 60})
        for _ in bodies:
            assert raw.reply()["result"] == "success"
        for _ in bodies:
            raw.send_request("Pop", [topic])
        popped = [raw.reply()["result"] for _ in bodies]
    assert {job["id"]: job["body"] for job in popped} == bodies


def test_a_body_with_escapes_is_not_longer_than_what_it_means(node, topic):
    with node.raw_client() as raw:
        text = json.dumps({"id": "escaped", "topic": topic, "body": "é" * 200_000, "TTR": 60})
        assert len(text) > LIMIT_BYTES
        raw.send('{"method":"Service.Push","params":[' + text + "]}")
        assert raw.reply()["result"] == "success"
