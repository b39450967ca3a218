"""gmq over the wire of a whole node, as its published clients speak it. What each request is taken
for and each word of a reply: protocol/gmq/tests/.
"""

import json
import socket
import struct
import threading
import time

import pytest

from harness.gmq import GmqError, request
from harness.redis_server import contents
from harness.wait import wait_until

LIMIT_BYTES = 1 << 20


# ---- a job's life ----


def test_the_php_client_gets_through_a_whole_life_on_new_connections(node, topic):
    with node.php_client() as php:
        assert php.push(topic, "php-1", "größe", ttr=60) == "success"
        assert php.pop(topic)["body"] == "größe"
        assert php.ack("php-1") is True


def test_an_empty_topic_answers_empty_after_two_seconds(client, topic):
    since = time.monotonic()
    assert client.pop_or_none(topic) is None, "before the client's own patience is over"
    assert time.monotonic() - since > 1.9


def test_a_delayed_job_waits_for_its_time(client, topic):
    since = time.monotonic()
    client.push(topic, "later-1", delay=1)
    job = client.pop_patiently(topic)
    assert (job["id"], job["delay"]) == ("later-1", 1)
    assert time.monotonic() - since >= 1


def test_a_stale_acknowledgement_is_refused_and_changes_nothing(node, topic):
    with node.python_client() as slow, node.python_client() as quick:
        slow.push(topic, "stale-1", "b", ttr=1)
        assert slow.pop(topic)["consume_num"] == 0
        again = wait_until(lambda: quick.pop_or_none(topic), "the job goes to the next consumer")
        assert again["consume_num"] == 1
        with pytest.raises(GmqError, match="^TTR has expired and will be consumed again$"):
            slow.ack("stale-1")
        assert quick.ack("stale-1") is True


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


def test_every_reply_is_one_segment(node, topic):
    with node.python_client() as client:
        calls = 0
        for number in range(20):
            client.push(topic, f"segment-{number}", "x" * 300, ttr=60)
            client.pop(topic)
            client.ack(f"segment-{number}")
            calls += 3
        assert data_segments_received(client.socket) == calls


def data_segments_received(connection):
    """tcp_info.tcpi_data_segs_in: how many TCP segments brought the answers."""
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 160)
    return struct.unpack_from("I", info, 152)[0]


def test_a_strict_node_says_what_gmq_says(make_node):
    node = make_node({"gmq.strict": "true"}).start()
    with node.python_client() as client:
        client.push("topic", "1", "b", ttr=60)
        twice = client.push("topic", "1", "b")
        assert twice == "jobKey:gmq:jobpool:1,error:has exist", "an error in the result"
        assert {type(value) for value in client.pop("topic").values()} == {str}


# ---- bad input ----


def push(**members):
    return request("Push", {"id": "a", "topic": "t", "body": "b", **members}, id=1)


BAD = [  # a request, and what its error tells
    (push(id=""), "job.id is empty"),
    (push(topic=""), "job.topic is empty"),
    (push(topic="a\nb"), "topic"), (push(topic={"a": 1}), "topic"),
    (push(id="tab\t"), "id"), (push(id="nul\0"), "id"), (push(id="i" * 201), "id"),
    (push(id={"a": 1}), "id"),
    (push(delay=-1), "job.delay is negative"), (push(delay=1.5), "job.delay must be whole"),
    (push(delay=1e300), "job.delay is above"), (push(TTR=-1), "job.TTR is negative"),
    (push(TTR="1.5"), "job.TTR must be whole"), (push(TTR=10 ** 18), "job.TTR is above"),
    (push(body="x" * (LIMIT_BYTES + 1)), "too large"),
    (request("Pop", ["a b"], id=1), "topic"),
    (request("Ack", "never pushed", id=1), "id"), (request("Ack", "waits", id=1), "not_found"),
    (request("Push ", 1, id=1), "rpc: can't find method Service.Push "),
    ({"method": "service.push", "params": [1], "id": 1}, "rpc: can't find service service.push"),
    ({"method": 17, "params": [], "id": 1}, "ill-formed"),
    ({"method": None, "params": [], "id": 1}, "ill-formed"),
    ({}, "ill-formed"),
]


def test_bad_input_gets_a_clear_error_and_changes_nothing(make_node):
    node = make_node().start()
    node.wait_settled()
    with node.python_client() as client, node.raw_client() as raw:
        client.push("t", "waits", "b", delay=3600)
        before = contents(node.redis())
        for bad, text in BAD:
            reply = raw.ask(bad)
            assert text in reply["error"] and reply["result"] is None, json.dumps(bad)[:200]
            assert reply["id"] == bad.get("id")
        raw.send('{"method":"Service.Pop","params":[[]],"id":1}}oops')
        assert raw.reply()["error"] == "topics is empty"
        assert raw.is_closed_by_server()
        assert contents(node.redis()) == before
