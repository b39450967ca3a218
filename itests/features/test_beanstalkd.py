"""doc/beanstalkd.md: its examples, run from top to bottom, and what needs a whole node: other protocols,
signals, a socket of this machine, identities, Redis away."""

import os
import re
import signal

import pytest

from harness.beanstalkd import Client, Lost
from harness.node import Node
from harness.page import DOC
from harness.ports import free_port
from harness.wait import wait_until

EXAMPLE = re.compile(r"((?:    > .*\n)+)((?:    <.*\n)*)")
ID = re.compile(r"\b\d{10,}\b")


@pytest.fixture(scope="module")
def node(tmp_path_factory):
    port = free_port()
    path = tmp_path_factory.mktemp("beanstalkd")
    node = Node(path, {"beanstalkd.listen": f"127.0.0.1:{port}"})
    node.beanstalkd_port = port
    node.start()
    yield node
    node.stop()
    node.destroy()


@pytest.fixture
def client(node):
    with Client(node.beanstalkd_port, timeout_s=20) as client:
        yield client


def lines_of(text, mark):
    return [line[6:] for line in text.splitlines() if line.startswith(f"    {mark}")]


def in_general(reply):
    """Numbers that differ from run to run, and the length of what has them."""
    return re.sub(r"^OK \d+", "OK *", ID.sub("*", reply))


def test_the_examples_of_the_page(client):
    """Each reply is what the page says; an id that a reply shows stands for the node's own."""
    given, count = {}, 0
    for said, shown in EXAMPLE.findall((DOC / "beanstalkd.md").read_text(encoding="utf-8")):
        said = "\r\n".join(lines_of(said, ">")) + "\r\n"
        for there, here in given.items():
            said = said.replace(there, here)
        client.send_raw(said.encode())
        expected, reply = "\n".join(lines_of(shown, "<")), ""
        while len(reply.splitlines()) < len(expected.splitlines()):
            reply += client.reply().decode().replace("\r\n", "\n") + "\n"
        assert in_general(reply.strip()) == in_general(expected.strip()), said
        given.update(zip(ID.findall(expected), ID.findall(reply)))
        count += 1
    assert count > 30


def test_tubes_are_topics(node, client):
    with node.api() as api:
        api.push("shared", id="by-http", body="over http", ttr_ms=60000)
    client.ask("watch shared")
    reserved = client.ask("reserve").split(b"\r\n")
    number = int(reserved[0].split()[1])
    assert reserved[1] == b"over http" and 1 << 52 <= number < 1 << 53
    assert client.ask(f"delete {number}") == b"DELETED"
    client.ask("use shared")
    assert client.ask("put 0 0 60 15", b"over beanstalkd").startswith(b"INSERTED ")
    with node.api() as api:
        assert api.pop_one("shared")["body"] == "over beanstalkd"


def test_the_end_of_a_connection_gives_its_jobs_back(node, client):
    client.ask("use back")
    client.ask("watch back")
    number = client.ask("put 0 0 600 1", b"x").split()[1].decode()
    with Client(node.beanstalkd_port) as other:
        other.ask("watch back")
        assert other.ask("reserve").startswith(b"RESERVED")
        assert client.ask(f"delete {number}") == b"NOT_FOUND"
        client.send("reserve-with-timeout 20")
    assert client.reply() == b"RESERVED %s 1\r\nx" % number.encode()
    assert b"timeouts: 0\n" in client.ask(f"stats-job {number}")
    assert client.ask(f"delete {number}") == b"DELETED"


def test_a_signal_drains_it_and_what_is_there_is_served(tmp_path):
    path = f"{tmp_path}/b.sock"
    node = Node(tmp_path, {"beanstalkd.listen": f"unix:{path}"})
    try:
        node.start()
        client = Client(path)
        number = client.ask("put 0 0 60 1", b"x").split()[1].decode()
        os.kill(node.warden_pid, signal.SIGUSR1)
        wait_until(lambda: b"draining: true" in client.ask("stats"), "it drains")
        assert client.ask("put 0 0 60 1", b"y") == b"DRAINING"
        assert client.ask("reserve") == b"RESERVED %s 1\r\nx" % number.encode()
        client.send("reserve")
        node.stop()
        with pytest.raises(Lost):
            client.reply()
    finally:
        node.destroy()
