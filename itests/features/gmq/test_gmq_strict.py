"""gmq.strict: exactly what gmq says, its strings and its errors in `result` included."""

import pytest

NODE_SETTINGS = {"gmq.strict": "true"}


def test_numbers_are_strings(client, topic):
    client.push(topic, "strict-1", "b", delay=0, ttr=60)
    job = client.pop(topic)
    assert {type(value) for value in job.values()} == {str}
    assert (job["status"], job["consume_num"], job["delay"]) == ("3", "0", "0")


@pytest.mark.parametrize("job, text", [
    ({"id": "", "topic": "t", "body": "b"}, "job.id is empty"),
    ({"id": "a", "topic": "", "body": "b"}, "job.topic is empty"),
])
def test_push_errors_are_results(client, job, text):
    assert client.call("Push", job) == text


def test_a_duplicate_is_a_result(client, topic):
    client.push(topic, "strict-2", "b", delay=60)
    assert client.push(topic, "strict-2", "b") == "jobKey:gmq:jobpool:strict-2,error:has exist"
