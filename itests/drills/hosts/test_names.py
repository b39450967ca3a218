"""The slow name service, asked by the system's own resolver on another host; and by a node, which
has Redis, or its Sentinels, by name, and which it does not stall."""

import subprocess
import time

import pytest

from drills.hosts.names import SlowNames
from harness.build import node_program
from harness.node import answer_of
from harness.process import Process, descendants_of, kill_now
from harness.sentinel import NAME, SentinelSet
from harness.wait import wait_until

HTTP_PORT = 8000
FOR_EVER_S = 600


@pytest.fixture
def names(network):
    served = SlowNames(network.add_host("dns"), {})
    yield served
    served.close()


@pytest.fixture
def start(network, names, tmp_path):
    """start(store_redis): a node on a host of its own that asks this name service."""
    host = network.add_host("node")
    names.serve(host)
    made = []

    def make(store_redis):
        made.append(Process(host.command(
            [node_program(), "--set", f"node.data_dir={tmp_path}/data", "--set", "gmq.listen=",
             "--set", f"http.listen=127.0.0.1:{HTTP_PORT}", "--set", "store.command_timeout=1s",
             "--set", f"store.redis={store_redis}"]), tmp_path / "node.log"))
        return made[-1]

    def status_of(path):
        with host.entered():
            return answer_of(f"http://127.0.0.1:{HTTP_PORT}{path}", timeout_s=20)[0]

    make.status_of = status_of
    yield make
    for process in made:
        if process.returncode is None:
            kill_now([process.pid, *descendants_of(process.pid)])


def ask(host, name):
    return subprocess.run(host.command(["getent", "ahostsv4", name]), check=False, text=True,
                          capture_output=True).stdout


def test_it_answers_late_and_only_what_it_knows(network, names):
    asking = network.add_host("a")
    names.table["zk1.drill"] = "10.1.2.3"
    names.serve(asking)
    assert ask(asking, "zk1.drill").startswith("10.1.2.3 ")
    assert ask(asking, "zk9.drill") == ""
    names.delay_s = 0.3
    since = time.monotonic()
    assert ask(asking, "zk1.drill").startswith("10.1.2.3 ")
    assert time.monotonic() - since >= 0.3


@pytest.mark.parametrize("store_redis", ["redis.drill:6379",
                                         f"sentinel://{NAME}@s1.drill,s2.drill"])
def test_a_silent_name_service_stalls_nothing(names, start, store_redis):
    """The system's resolver would wait for half a minute, and all clients with it."""
    names.delay_s = FOR_EVER_S
    node = start(store_redis)
    wait_until(lambda: start.status_of("/health/live") == 200, "the node answers")
    said = "the name service does not answer in time"
    wait_until(lambda: said in node.output(), "the node says what it waits for")
    assert start.status_of("/health/live") == 200
    assert start.status_of("/health/ready") == 503
    assert node.terminate() == 0


def test_names_of_sentinels_are_found(network, names, start, tmp_path):
    hosts = [network.add_host(name) for name in ("r1", "r2", "s1")]
    servers = SentinelSet(tmp_path / "watched", hosts=hosts[:2], sentinel_hosts=hosts[2:])
    names.table.update({"s1.drill": hosts[2].address})
    names.delay_s = 0.2
    try:
        servers.start()
        node = start(f"sentinel://{NAME}@s1.drill")
        wait_until(lambda: start.status_of("/health/ready") == 200, "the node is ready")
        after = servers.failover()
        said = f"{after.tcp_address} is up"
        wait_until(lambda: said in node.output().splitlines()[-1], "it is at the new master")
        assert node.terminate() == 0
    finally:
        servers.destroy()
