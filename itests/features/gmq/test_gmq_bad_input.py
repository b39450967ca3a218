"""Bad input gets a clear error and changes nothing.

Every test here runs under a fixture that counts the keys and jobs in Redis before and after.
"""

import json

import pytest

from harness.gmq import GmqError

LIMIT_BYTES = 1 << 20


def contents(node):
    """Everything in Redis, by key: what must not change."""
    client = node.redis()
    return {key: client.dump(key) for key in client.scan_iter(count=1000)}


@pytest.fixture(autouse=True)
def nothing_changes(node):
    before = contents(node)
    yield
    assert contents(node) == before


def refusal(client, job):
    with pytest.raises(GmqError) as error:
        client.call("Push", job)
    return str(error.value)


@pytest.mark.parametrize("job, text", [
    ({"topic": "t", "body": "b"}, "job.id is empty"),
    ({"id": "", "topic": "t", "body": "b"}, "job.id is empty"),
    ({"id": "a", "body": "b"}, "job.topic is empty"),
    ({"id": "a", "topic": "", "body": "b"}, "job.topic is empty"),
    ({}, "job.id is empty"),
])
def test_missing_fields(client, job, text):
    assert refusal(client, job) == text


@pytest.mark.parametrize("topic", ["-first", "with space", "ümlaut", "a{b}", "a\nb", "a\0b",
                                   "t" * 201, ["a", "b"], [], {"a": 1}])
def test_a_topic_that_is_not_allowed(client, topic):
    assert "topic" in refusal(client, {"id": "a", "topic": topic, "body": "b"})


@pytest.mark.parametrize("id", ["with space", "tab\t", "line\n", "nul\0", "i" * 201, ["a"],
                                {"a": 1}, True])
def test_an_id_that_is_not_allowed(client, id):
    assert "id" in refusal(client, {"id": id, "topic": "t", "body": "b"})


@pytest.mark.parametrize("field", ["delay", "TTR"])
@pytest.mark.parametrize("number", [-1, "-1", 1.5, "1.5", 1e300, "9" * 30, 10 ** 18, -0.5])
def test_numbers_that_make_no_sense(client, field, number):
    job = {"id": "number", "topic": "t", "body": "b", field: number}
    assert field.lower() in refusal(client, job).lower()


def test_delays_and_times_to_run_have_a_highest_value(client):
    ten_years_s, seven_days_s = 3650 * 86400, 7 * 86400
    for field, highest in (("delay", ten_years_s), ("TTR", seven_days_s)):
        refusal(client, {"id": "high", "topic": "t", "body": "b", field: highest + 1})


@pytest.mark.parametrize("request_text", [
    '[]', '[1,2]', '"text"', "17", "null", "true",
])
def test_json_of_the_wrong_kind_is_answered_or_closes(node, request_text):
    with node.raw_client() as raw:
        raw.send(request_text + "\n")
        raw.socket.shutdown(1)
        line = raw.line()
        assert line == b"" or json.loads(line)["error"]


@pytest.mark.parametrize("request_text", [
    "{}",
    '{"method":"Service.Push"}',
    '{"method":"Service.Push","params":[]}',
    '{"method":"Service.Push","params":{}}',
    '{"method":"Service.Push","params":[[]]}',
    '{"method":"Service.Push","params":["text"]}',
    '{"method":"Service.Push","params":[null]}',
    '{"method":"Service.Pop","params":[{}]}',
    '{"method":"Service.Pop","params":[[1,2]]}',
    '{"method":"Service.Pop","params":[["a b"]]}',
    '{"method":"Service.Pop"}',
    '{"method":"Service.Ack","params":[[]]}',
    '{"method":"Service.Ack","params":[null]}',
    '{"method":"Service.Ack","params":[""]}',
    '{"method":17,"params":[]}',
    '{"method":null,"params":[]}',
    '{"method":"","params":[]}',
])
def test_requests_of_the_wrong_shape_are_answered_and_the_connection_lives(node, request_text):
    with node.raw_client() as raw:
        for _ in range(2):
            reply = raw.ask(request_text)
            assert reply["error"] and reply["result"] is None


@pytest.mark.parametrize("method, text", [
    ("Service.Peek", "rpc: can't find method Service.Peek"),
    ("Service.Push ", "rpc: can't find method Service.Push "),
    ("service.push", "rpc: can't find service service.push"),
    ("Push", "rpc: service/method request ill-formed: Push"),
])
def test_an_unknown_method_is_named_in_gmqs_words(node, method, text):
    with node.raw_client() as raw:
        assert raw.ask({"method": method, "params": [1], "id": 1})["error"] == text


def test_json_that_is_not_utf8_is_answered(node):
    with node.raw_client() as raw:
        reply = raw.ask(b'{"method":"Service.Ack","params":["\xff"],"id":1}')
        assert "UTF-8" in reply["error"] and reply["id"] == 1


@pytest.mark.parametrize("text", ["hello\n", "GET / HTTP/1.1\r\n\r\n", "}", '{"method":}', "{]",
                                  '{"id":1,"id":}', "\0\0\0\0"])
def test_text_that_is_not_json_closes_the_connection(node, text):
    with node.raw_client() as raw:
        raw.send(text.encode("latin-1"))
        assert raw.is_closed_by_server()


def test_finished_answers_come_before_the_close(node):
    with node.raw_client() as raw:
        raw.send('{"method":"Service.Pop","params":[[]],"id":1}}oops')
        assert raw.reply()["error"] == "topics is empty"
        assert raw.is_closed_by_server()


def test_too_many_topics_in_a_pop(client):
    with pytest.raises(GmqError, match="topics"):
        client.pop(*(f"many-{number}" for number in range(65)))


def test_a_body_of_two_mebibytes_is_too_large(node):
    body = "x" * (2 << 20)
    with node.raw_client() as raw:
        raw.send_request("Push", {"id": "large", "topic": "t", "body": body}, id=1)
        assert "too large" in raw.reply()["error"]


def test_a_body_of_one_byte_too_much_is_too_large(node):
    with node.raw_client() as raw:
        job = {"id": "large", "topic": "t", "body": "x" * (LIMIT_BYTES + 1)}
        raw.send_request("Push", job, id=1)
        assert "too large" in raw.reply()["error"]


def test_deep_nesting_is_no_way_to_kill_a_node(node):
    with node.raw_client() as raw:
        raw.send('{"method":"Service.Push","params":' + "[" * 100000 + "]" * 100000 + "}")
        raw.socket.shutdown(1)
        raw.line()
    assert node.is_ready()
