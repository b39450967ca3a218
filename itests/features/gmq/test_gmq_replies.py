"""The form of gmq's replies, which its published clients depend on."""

import json
import socket
import struct

import pytest

from harness.gmq import PhpClient, request


def data_segments_received(connection):
    """tcp_info.tcpi_data_segs_in: how many TCP segments brought the answers."""
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 160)
    return struct.unpack_from("I", info, 152)[0]


def test_a_reply_has_id_result_and_error_in_this_order(node, topic):
    with node.raw_client() as raw:
        raw.send_request("Push", {"id": "order-1", "topic": topic, "body": "b"}, id=7)
        assert raw.line() == b'{"id":7,"result":"success","error":null}\n'


@pytest.mark.parametrize("id", ["0", "17", "-1", "1.50", '"a b"', '"\\u00e9"', "null", "true",
                                '[1, {"a":2}]', '{"k" : "v"}', "12345678901234567890"])
def test_the_id_comes_back_as_it_was_written(node, id):
    with node.raw_client() as raw:
        raw.send('{"method":"Service.Pop","params":[[]],"id":%s}' % id)
        assert raw.line() == b'{"id":%s,"result":null,"error":"topics is empty"}\n' % id.encode()


def test_a_missing_id_comes_back_as_null(node):
    with node.raw_client() as raw:
        assert raw.ask('{"method":"Service.Pop","params":[[]]}')["id"] is None


def test_every_reply_is_one_segment(node, topic):
    with node.python_client() as client:
        calls = 0
        for number in range(20):
            client.push(topic, f"segment-{number}", "x" * 300, ttr=60)
            client.pop(topic)
            client.ack(f"segment-{number}")
            calls += 3
        assert data_segments_received(client.socket) == calls


def test_a_popped_job_is_flat_and_its_numbers_are_numbers(client, topic):
    client.push(topic, "flat-1", "the body", delay=0, ttr=60)
    job = client.pop(topic)
    assert job == {"id": "flat-1", "topic": topic, "body": "the body", "delay": 0, "TTR": 60,
                   "status": 3, "consume_num": 0}
    assert {type(job[name]) for name in ("TTR", "delay", "status", "consume_num")} == {int}


def test_the_delay_comes_back_in_seconds(client, topic):
    client.push(topic, "seconds-1", delay=1, ttr=30)
    assert client.pop(topic)["delay"] == 1


def test_requests_may_end_with_a_newline_or_not(node):
    text = json.dumps(request("Pop", [], id=1))
    with node.raw_client() as raw:
        for end in ("", "\n", "\r\n", "  \n\n", ""):
            assert raw.ask(text + end)["error"] == "topics is empty"


def test_a_request_may_arrive_byte_by_byte(node, topic):
    text = json.dumps(request("Push", {"id": "split-1", "topic": topic, "body": "}{\"\\"}, id=5))
    with node.raw_client() as raw:
        for byte in text:
            raw.send(byte)
        assert raw.reply() == {"id": 5, "result": "success", "error": None}
    with node.python_client() as client:
        assert client.pop(topic)["body"] == "}{\"\\"


def test_many_requests_may_arrive_in_one_piece(node, topic):
    jobs = [{"id": f"pipe-{n}", "topic": topic, "body": str(n), "TTR": 60} for n in range(100)]
    with node.raw_client() as raw:
        raw.send("".join(json.dumps(request("Push", job, id=n)) for n, job in enumerate(jobs)))
        replies = [raw.reply() for _ in jobs]
        assert {reply["result"] for reply in replies} == {"success"}
        assert sorted(reply["id"] for reply in replies) == list(range(100))


def test_a_blocked_pop_does_not_hold_up_the_requests_behind_it(node, topic):
    with node.raw_client() as raw:
        raw.send_request("Pop", [topic], id=1)
        raw.send_request("Push", {"id": "overtake-1", "topic": topic, "body": "b"}, id=2)
        assert sorted(raw.reply()["id"] for _ in range(2)) == [1, 2]


def test_a_client_that_stops_sending_still_gets_its_answers(node, topic):
    with node.raw_client() as raw:
        raw.send_request("Push", {"id": "half-1", "topic": topic, "body": "b"}, id=1)
        raw.socket.shutdown(socket.SHUT_WR)
        assert raw.reply()["result"] == "success"
        assert raw.is_closed_by_server()


def test_the_php_client_gets_through_a_whole_life_on_new_connections(node, topic):
    php = PhpClient(node.gmq_port)
    assert php.push(topic, "php-1", "größe", ttr=60) == "success"
    assert php.pop(topic)["body"] == "größe"
    assert php.ack("php-1") is True
