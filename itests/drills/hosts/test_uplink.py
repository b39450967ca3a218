"""The way to ZooKeeper: what passes, what is kept back and for how long, and which are beats."""

import socket
import threading
from contextlib import contextmanager

import pytest

from drills.hosts.uplink import ANSWER, LENGTH, MULTI, REQUEST, Uplink
from harness.wait import wait_until
from judge.journal import now_ms

PORT, PING, PATIENCE_S, HELD_MS = 2181, 11, 20, 400


def packet(body):
    return LENGTH.pack(len(body)) + body


def request(xid, opcode):
    return packet(REQUEST.pack(xid, opcode) + b"more")


def answer(xid, error=0):
    return packet(ANSWER.pack(xid, 7, error) + b"more")


@pytest.fixture
def ends(network):
    """(uplink, the node's end of a connection, the server's)."""
    node, server = network.add_host("n1"), network.add_host("zk1")
    with server.entered():
        listener = socket.create_server((server.address, PORT))
    uplink = Uplink(node, [(server.address, PORT)])
    with connected(uplink, node, listener) as pair:
        yield uplink, *pair
    uplink.close()
    listener.close()


@contextmanager
def connected(uplink, node, listener):
    host, port = uplink.addresses.split(":")
    with node.entered(), socket.create_connection((host, int(port)), PATIENCE_S) as asking:
        listener.settimeout(PATIENCE_S)
        answering = listener.accept()[0]
        answering.settimeout(PATIENCE_S)
        yield asking, answering
        answering.close()


def takes(end, expected):
    text = b""
    while len(text) < len(expected):
        piece = end.recv(len(expected) - len(text))
        if not piece:
            break
        text += piece
    return text == expected


def exchange(asking, answering, question, reply):
    asking.sendall(question)
    assert takes(answering, question)
    answering.sendall(reply)
    assert takes(asking, reply)


def test_packets_pass_and_beats_that_were_acknowledged_are_counted(ends):
    uplink, asking, answering = ends
    exchange(asking, answering, packet(b"a session"), packet(b"granted"))
    exchange(asking, answering, request(1, PING), answer(1))
    exchange(asking, answering, request(2, MULTI), answer(2, error=-101))
    exchange(asking, answering, request(3, MULTI), answer(3))
    exchange(asking, answering, request(4, PING), answer(4))
    assert uplink.beats == 1


def test_what_is_kept_back_arrives_late_and_in_order(ends):
    uplink, asking, answering = ends
    exchange(asking, answering, packet(b"a session"), packet(b"granted"))
    exchange(asking, answering, request(1, MULTI), answer(1))
    last_ms = uplink.arrived_ms
    held = threading.Thread(target=uplink.hold, args=(HELD_MS,))
    held.start()
    wait_until(lambda: uplink.holds or not held.is_alive(), "it holds, or did so")
    asking.sendall(request(2, MULTI) + request(3, PING))
    assert takes(answering, request(2, MULTI) + request(3, PING))
    assert now_ms() - last_ms >= HELD_MS
    held.join()
    answering.sendall(answer(2))
    wait_until(lambda: uplink.beats == 2, "the late beat is counted")


def test_a_connection_that_ends_on_one_side_ends_on_the_other(ends):
    _, asking, answering = ends
    asking.sendall(packet(b"a session"))
    assert takes(answering, packet(b"a session"))
    answering.close()
    assert asking.recv(1) == b""


def test_what_no_server_takes_is_refused(network):
    node = network.add_host("n1")
    uplink = Uplink(node, [(node.address, PORT + 9)])
    host, port = uplink.addresses.split(":")
    with node.entered(), socket.create_connection((host, int(port)), PATIENCE_S) as asking:
        assert asking.recv(1) == b""
    uplink.close()
