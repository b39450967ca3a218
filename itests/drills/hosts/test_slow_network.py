"""Cables that are slow and lose some: what was set is what happens, in order, whole, and no more."""

import os
import socket
import threading
import time
from contextlib import contextmanager

import pytest

from harness.slow_network import SlowNetwork
from harness.wait import wait_until

SO_RCVBUFFORCE = 33
PORT, PATIENCE_S, DELAY_MS, MTU_BYTES = 7000, 20, 40, 1472  # of UDP in a frame of 1500


@pytest.fixture
def slow(needs_network):  # pylint: disable=unused-argument
    with SlowNetwork() as network:
        yield network


@pytest.fixture
def ends(slow):
    """(UDP socket of a, of b), connected, that know each other's hardware address."""
    a, b = slow.add_host("a"), slow.add_host("b")
    with udp_of(a, b) as one, udp_of(b, a) as other:
        pings(one, other, b"first")
        pings(other, one, b"back")
        yield one, other


@contextmanager
def udp_of(host, peer):
    with host.entered():
        end = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with end:
        end.bind((host.address, PORT))
        end.connect((peer.address, PORT))
        end.settimeout(PATIENCE_S)
        yield end


def pings(one, other, text):
    """One way, in ms."""
    began = time.monotonic()
    one.send(text)
    assert other.recv(1 << 16) == text
    return (time.monotonic() - began) * 1000


def test_each_way_is_late_by_what_was_set_and_no_more_when_it_is_over(slow, ends):
    one, other = ends
    slow.slow_down(DELAY_MS, 0)
    assert min(pings(one, other, b"there") for _ in range(5)) >= DELAY_MS
    assert min(pings(other, one, b"back") for _ in range(5)) >= DELAY_MS
    slow.slow_down(0, 0)
    assert min(pings(one, other, b"there") for _ in range(20)) < DELAY_MS


def test_the_order_is_kept_when_a_cable_becomes_quicker(slow, ends):
    one, other = ends
    slow.slow_down(10 * DELAY_MS, 0)
    began = time.monotonic()
    one.send(b"slow")
    slow.counts()  # a relay looks at frames first: it has this one
    slow.slow_down(0, 0)
    for number in range(100):
        one.send(b"%d" % number)
    assert [other.recv(99) for _ in range(101)] == [b"slow", *(b"%d" % n for n in range(100))]
    assert time.monotonic() - began >= 10 * DELAY_MS / 1000


def test_the_share_of_frames_that_was_set_is_lost_and_counted(slow, ends):
    one, other = ends
    slow.slow_down(0, 0.05)
    before = slow.counts()["a"]
    other.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 23)  # nobody reads meanwhile
    for number in range(4000):
        one.send(b"%d" % number)
        if number % 50 == 0:
            slow.counts()  # the device's own queue holds a thousand
    slow.slow_down(0, 0)
    after = slow.counts()["a"]
    one.send(b"last")
    got = []
    while not got or got[-1] != b"last":
        got.append(other.recv(99))
    assert after.sent - before.sent >= 4000
    assert after.spilled == before.spilled
    assert len(got) - 1 >= 4000 - (after.lost - before.lost)  # some arp may be among those lost
    assert 120 < after.lost - before.lost < 280  # 200, and its deviation is 14


def test_a_frame_of_the_mtu_passes_and_tcp_arrives_whole(slow, ends):
    one, other = ends
    text = os.urandom(MTU_BYTES)
    pings(one, other, text)
    pings(one, other, os.urandom(20_000))  # in fragments
    slow.slow_down(5, 0.02)
    a, b = slow.hosts["a"], slow.hosts["b"]
    body = os.urandom(1 << 20)
    with b.entered(), socket.create_server((b.address, PORT)) as server:
        with a.entered():
            client = socket.create_connection((b.address, PORT), PATIENCE_S)
        accepted, _ = server.accept()
        accepted.settimeout(PATIENCE_S)
        with client, accepted:
            def send():
                client.sendall(body)
                client.shutdown(socket.SHUT_WR)

            writer = threading.Thread(target=send)
            writer.start()
            with accepted.makefile("rb") as stream:
                assert stream.read() == body
            writer.join()
    assert slow.counts()["a"].lost > 0


def test_cuts_and_pulled_cables_are_as_ever(slow, ends):
    one, other = ends
    a, b = slow.hosts["a"], slow.hosts["b"]
    with slow.cut([a], [b]):
        one.send(b"cut")
    b.pull_cable()
    one.send(b"pulled")
    b.put_cable()
    wait_until(lambda: arrives(one, other, b"again"), "it is plugged in again")


def arrives(one, other, text):
    one.send(text)
    other.settimeout(0.3)  # what passes, passes in a millisecond
    try:
        while True:
            if other.recv(99) == text:
                return True
    except TimeoutError:
        return False


def test_a_relay_ends_with_its_network():
    with SlowNetwork() as network:
        network.add_host("a")
        relay = network.relays()[0]
        assert os.path.exists(f"/proc/{relay}")
    assert not os.path.exists(f"/proc/{relay}")
