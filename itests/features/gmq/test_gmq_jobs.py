"""What becomes of a job that is pushed, popped and acknowledged the gmq way."""

import threading
import time

import pytest

from harness.gmq import GmqError
from harness.wait import wait_until


def test_a_plain_job_is_there_at_once(client, topic):
    assert client.push(topic, "plain-1", "hello") == "success"
    assert client.pop(topic)["body"] == "hello"


def test_an_empty_topic_answers_empty_after_two_seconds(client, topic):
    since = time.monotonic()
    assert client.pop_or_none(topic) is None, "before the client's own patience is over"
    assert time.monotonic() - since > 1.9


def test_a_delayed_job_waits_for_its_time(client, topic):
    since = time.monotonic()
    client.push(topic, "later-1", delay=1)
    assert client.pop(topic)["id"] == "later-1"
    assert time.monotonic() - since >= 1


@pytest.mark.parametrize("delay, ttr", [("1", "60"), (1, 60), ("", ""), (None, None),
                                        ("soon", "long")])
def test_numbers_may_be_strings_and_nonsense_counts_as_zero(client, topic, delay, ttr):
    job = {"id": f"lenient-{delay}-{ttr}", "topic": topic, "body": "b", "delay": delay,
           "TTR": ttr}
    assert client.call("Push", job) == "success"
    popped = client.pop(topic)
    assert popped["delay"] == (1 if delay in (1, "1") else 0)


def test_missing_numbers_count_as_zero(client, topic):
    assert client.call("Push", {"id": "bare-1", "topic": topic, "body": "b"}) == "success"
    popped = client.pop(topic)
    assert (popped["delay"], popped["TTR"]) == (0, 0)


def test_a_list_of_one_topic_is_a_topic(client, topic):
    assert client.call("Push", {"id": "listed-1", "topic": [topic], "body": "b"}) == "success"
    assert client.pop(topic)["topic"] == topic


def test_topics_are_popped_in_the_order_of_the_call(client, topic):
    urgent, normal, idle = (f"{topic}-{name}" for name in ("urgent", "normal", "idle"))
    for each in (idle, normal, urgent):
        for number in range(2):
            client.push(each, f"{each}-{number}")
    popped = [client.pop(urgent, normal, idle)["topic"] for _ in range(6)]
    assert popped == [urgent, urgent, normal, normal, idle, idle]


def test_jobs_of_a_topic_come_in_the_order_of_their_push(client, topic):
    pushed = [f"fifo-{number}" for number in range(50)]
    for id in pushed:
        client.push(topic, id)
    assert [client.pop(topic)["id"] for _ in pushed] == pushed


def test_a_job_that_is_not_acknowledged_comes_again(client, topic):
    client.push(topic, "again-1", "b", ttr=1)
    assert client.pop(topic)["consume_num"] == 0
    again = wait_until(lambda: client.pop_or_none(topic), "the job comes again")
    assert (again["id"], again["consume_num"]) == ("again-1", 1)


def test_an_acknowledged_job_does_not_come_again(client, topic):
    client.push(topic, "done-1", "b", ttr=1)
    client.pop(topic)
    assert client.ack("done-1") is True
    assert client.pop_or_none(topic) is None


def is_free(client, topic, id):
    """Pushes it; False while a job with this id is alive."""
    try:
        return client.push(topic, id) == "success"
    except GmqError as error:
        assert str(error).endswith("has exist"), error
        return False


def test_a_job_without_time_to_run_is_gone_once_delivered(client, topic):
    client.push(topic, "once-1", "b", ttr=0)
    assert client.pop(topic)["id"] == "once-1"
    wait_until(lambda: is_free(client, topic, "once-1"), "its id is free again")


def test_acknowledging_a_job_that_is_gone_is_an_error_text(client, topic):
    client.push(topic, "gone-1", "b", ttr=0)
    client.pop(topic)
    wait_until(lambda: is_free(client, topic, "gone-1"), "it is gone, and waits anew")
    with pytest.raises(GmqError):
        client.ack("gone-1")
    assert client.push(topic, "gone-2") == "success", "the connection lives"


def test_another_connection_may_acknowledge(node, client, topic):
    client.push(topic, "other-1", "b", ttr=60)
    with node.python_client() as worker:
        assert worker.pop(topic)["id"] == "other-1"
    assert client.ack("other-1") is True


def test_a_stale_acknowledgement_is_refused_and_changes_nothing(node, topic):
    with node.python_client() as slow, node.python_client() as quick:
        slow.push(topic, "stale-1", "b", ttr=1)
        slow.pop(topic)
        wait_until(lambda: quick.pop_or_none(topic), "the job goes to the next consumer")
        with pytest.raises(GmqError, match="^TTR has expired and will be consumed again$"):
            slow.ack("stale-1")
        assert quick.ack("stale-1") is True


def test_an_acknowledgement_after_the_time_to_run_is_refused(client, topic):
    client.push(topic, "late-1", "b", ttr=1)
    client.pop(topic)
    redelivered = wait_until(lambda: client.pop_or_none(topic), "the job comes again")
    assert redelivered["consume_num"] == 1
    assert client.ack("late-1") is True, "this connection holds the newest lease"


def test_a_job_that_waits_cannot_be_acknowledged(client, topic):
    client.push(topic, "waiting-1", "b", delay=60, ttr=60)
    with pytest.raises(GmqError):
        client.ack("waiting-1")


def test_an_unknown_id_cannot_be_acknowledged(client):
    with pytest.raises(GmqError) as error:
        client.ack("never-pushed")
    assert str(error.value)


def test_a_live_id_is_refused(client, topic):
    client.push(topic, "twin-1", "first", delay=1)
    with pytest.raises(GmqError, match="^jobKey:gmq:jobpool:twin-1,error:has exist$"):
        client.push(topic, "twin-1", "second")
    assert client.pop(topic)["body"] == "first"


def test_an_acknowledged_id_may_be_pushed_again(client, topic):
    for body in ("first", "second"):
        client.push(topic, "reborn-1", body, ttr=60)
        assert client.pop(topic)["body"] == body
        client.ack("reborn-1")


def test_consumers_share_a_topic_and_none_gets_a_job_twice(node, client, topic):
    pushed = {f"share-{number}" for number in range(200)}
    popped = []

    def consume():
        with node.python_client() as consumer:
            while (job := consumer.pop_or_none(topic)):
                popped.append(job["id"])
                consumer.ack(job["id"])

    consumers = [threading.Thread(target=consume) for _ in range(8)]
    for thread in consumers:
        thread.start()
    for id in pushed:
        client.push(topic, id, ttr=60)
    for thread in consumers:
        thread.join()
    assert sorted(popped) == sorted(pushed)
