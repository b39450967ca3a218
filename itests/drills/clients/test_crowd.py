"""The crowd: it sees who serves it, and finds out who does not; and the descriptors that a process
keeps of clients that have gone."""

import json
import os
import socket
import struct
import threading
from contextlib import contextmanager, suppress

import pytest

from drills.clients import crowd as subject
from drills.clients.crowd import Crowd
from drills.clients.descriptors import left_open, open_files
from harness.wait import wait_until
from judge.journal import OK, Ack, HandOver, Journal

HERE, IDLE, CONSUMERS = "127.0.0.1", 30, 10
BRIEF_S = 0.5


@pytest.fixture
def journal():
    return Journal()


def address_of(node):
    return HERE, node.gmq_port, node.http_port


def push_to_all(node, crowd, number):
    ids = [f"{each.topic}-{number}" for each in crowd.consumers]
    with node.api() as api:
        for each, id in zip(crowd.consumers, ids):
            api.push(each.topic, id, id=id, ttr_ms=60_000)
    return ids


def test_all_are_served_before_and_after_the_node_died_and_each_job_comes_once(make_node, journal):
    node = make_node().start()
    with Crowd(None, [address_of(node)], journal, IDLE, CONSUMERS) as crowd:
        crowd.wait_served()
        ids = push_to_all(node, crowd, 1)
        crowd.wait_taken(ids)
        node.kill("worker")
        crowd.ask_all()
        crowd.wait_served()
        assert crowd.lost >= IDLE + CONSUMERS
        ids += push_to_all(node, crowd, 2)
        crowd.wait_taken(ids)
        wait_until(lambda: node.metrics()["dueq_consumers_waiting"] == CONSUMERS, "they wait")
    assert sorted(each.id for each in journal.of(HandOver)) == sorted(ids)
    assert {(each.id, each.outcome) for each in journal.of(Ack)} == {(id, OK) for id in ids}
    wait_until(lambda: node.metrics()['dueq_connections{protocol="gmq"}'] == 0, "they have left")
    wait_until(lambda: node.metrics()["dueq_consumers_waiting"] == 0, "nobody waits")


def test_who_is_turned_away_comes_in_when_others_leave(make_node, journal):
    node = make_node({"limits.connections": IDLE // 2}).start()
    with Crowd(None, [address_of(node)], journal, IDLE) as crowd:
        wait_until(lambda: len(crowd.served()) == IDLE // 2 and crowd.turned_away, "it is full")
        while crowd.owing():
            crowd.leave(crowd.served())
            wait_until(lambda: crowd.served() or not crowd.owing(), "others come in")


# ---- servers that break the promises ----

@contextmanager
def server(answer):
    """`answer`: bytes of what was asked to bytes, or None to say nothing. Its address."""
    listener = socket.create_server((HERE, 0))
    open_ones = []

    def serve(connection):
        with connection, suppress(ConnectionResetError):
            while asked := connection.recv(1 << 16):
                if text := answer(asked):
                    connection.sendall(text)

    def accept():
        while True:
            try:
                open_ones.append(listener.accept()[0])
            except OSError:
                return
            threading.Thread(target=serve, args=open_ones[-1:], daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield HERE, listener.getsockname()[1], listener.getsockname()[1]
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()


def test_a_server_that_says_nothing_serves_nobody(journal, monkeypatch):
    monkeypatch.setattr(subject, "PATIENCE_S", BRIEF_S)
    with server(lambda asked: None) as address:
        with Crowd(None, [address], journal, IDLE) as crowd:
            with pytest.raises(AssertionError, match="the crowd is served"):
                crowd.wait_served()
            assert crowd.owing() == IDLE


def test_an_answer_to_another_is_found_out(journal):
    def answer(asked):
        return json.dumps({"id": json.loads(asked)["id"] + 1, "result": "success",
                           "error": None}).encode() + b"\n"

    with server(answer) as address:
        with Crowd(None, [address], journal, 1) as crowd:
            with pytest.raises(AssertionError, match="answer to another"):
                crowd.wait_served()


def test_a_job_that_does_not_come_is_missed_and_one_that_comes_again_written_down(
        journal, monkeypatch):
    job = {"id": "again", "topic": "t", "lease": "1", "tries": 0, "due_ms": 0, "delay_ms": 0}

    def answer(asked):
        if b"/ack " in asked:
            return b"HTTP/1.1 204 No Content\r\n\r\n"
        text = json.dumps({"topic": "t", "jobs": [job]}).encode()
        return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(text), text)

    with server(answer) as address:
        with Crowd(None, [address], journal, 0, 1) as crowd:
            crowd.wait_taken(["again"])
            wait_until(lambda: len(journal.of(HandOver)) > 1, "it is seen twice")
            monkeypatch.setattr(subject, "PATIENCE_S", BRIEF_S)
            with pytest.raises(AssertionError, match="get their jobs"):
                crowd.wait_taken(["again", "never"])


# ---- descriptors ----

@pytest.fixture
def pair():
    """(client, the server's end), both of this process, at addresses of their own."""
    with socket.create_server(("127.0.0.2", 0)) as listener:
        client = socket.create_connection(listener.getsockname(), 20, ("127.0.0.3", 0))
        accepted, _ = listener.accept()
        with client, accepted:
            yield client, accepted


def left_by(address, accepted):
    return [line for line in left_open(os.getpid(), address)
            if line.startswith(f"{accepted.fileno()}:")]


def test_a_connection_of_a_client_is_found_also_when_the_client_has_closed_it(pair):
    client, accepted = pair
    assert left_by("127.0.0.3", accepted)
    assert not left_by("127.0.0.4", accepted)
    client.close()
    assert accepted.recv(1) == b""
    assert left_by("127.0.0.3", accepted)
    before = open_files(os.getpid())
    accepted.close()
    assert open_files(os.getpid()) == before - 1


def test_a_connection_that_was_reset_and_not_closed_is_found(pair):
    client, accepted = pair
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()
    with pytest.raises(ConnectionResetError):
        accepted.recv(1)
    assert left_by("127.0.0.3", accepted)
