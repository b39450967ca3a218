"""A node with a virtual address, before it leads: what it does not start on, and says so; what it
is with the capabilities of its file; what its warden does with the address when the worker dies.

In a network namespace of its own, without ZooKeeper or Redis: nobody leads here, but at the end.
"""

import os
import re
import signal
import subprocess
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.build import node_program
from harness.network import Network
from harness.node import Node
from harness.process import children_of, is_alive, reap_orphans
from harness.redis_server import RedisServer
from harness.users import (NOBODY, SECRET, as_nobody, copy_program, directory_for_all,
                           secret_file)
from harness.wait import wait_until
from harness.zookeeper import Ensemble

VIP, VIP6 = "10.213.0.200", "fd00:213::200"
FILE_CAPABILITIES = "cap_net_admin,cap_net_raw=p"
NET_ADMIN, NET_RAW = 1 << 12, 1 << 13
REMOVED = re.compile(r"virtual address: removed 1, in \d+ us")


@pytest.fixture(scope="module")
def host(needs_network):  # pylint: disable=unused-argument
    with Network() as network:
        yield network.add_host("a")


@pytest.fixture
def open_path():
    with directory_for_all() as path:
        yield path


@pytest.fixture
def make_node(host, open_path, request):
    """make(settings): a node on the host, not started, as an ordinary user with a program of its
    own, unless file_capabilities is None."""
    made = request.node.dueq_nodes = []

    def make(settings=None, file_capabilities=FILE_CAPABILITIES):
        directory = open_path / f"node{len(made)}"
        directory.mkdir()
        made.append(HostNode(directory, host, settings or {}, file_capabilities))
        return made[-1]

    yield make
    for each in made:
        each.destroy()


class HostNode(Node):
    def __init__(self, directory, host, settings, file_capabilities):
        secret = secret_file(directory / "secret", SECRET)
        super().__init__(directory, {
            "node.id": "a", "ha.mode": "standby", "ha.zookeeper": "127.0.0.1:1",
            "ha.secret_file": secret, "store.redis": "127.0.0.1:1", "log.level": "debug",
            "ha.advertise": host.address, "ha.peer.listen": f"{host.address}:9504",
            "gmq.listen": "0.0.0.0:9503", "http.listen": "0.0.0.0:8000",
            "vip.address": VIP, **settings})
        self._host = host
        self._program = node_program()
        self._is_ordinary = file_capabilities is not None
        if self._is_ordinary:
            self._program = copy_program(node_program(), directory, file_capabilities)
            self.data_dir.mkdir()
            for path in (secret, self.data_dir):
                os.chown(path, NOBODY, NOBODY)

    def argv(self):
        argv = [self._program, *super().argv()[1:]]
        if self._is_ordinary:
            argv = as_nobody(argv)
        return self._host.command(argv)

    def launch_and_wait(self):
        """Until its worker works; there is neither ZooKeeper nor Redis to wait for."""
        self.launch()
        wait_until(lambda: "STARTING -> UP" in self.output() or self.process.returncode,
                   "the worker works")
        assert self.process.returncode is None, self.output()
        return self

    def refusal(self):
        """What it says when it must not start."""
        self.launch()
        assert self.process.wait() == 1, self.output()
        self.process = None
        reap_orphans()
        self.check_sanitizers()
        assert "dueq-node 0" not in self.output(), "it had not started"
        return self.output()


def on_host(host, *words):
    return subprocess.run(host.command(["ip", *words]), capture_output=True, text=True,
                          check=True).stdout


def has_address(host, address=VIP):
    return f" {address}/" in on_host(host, "address")


@contextmanager
def configured(host, address):
    on_host(host, "address", "add", address, "dev", "eth0")
    try:
        yield
    finally:
        on_host(host, "address", "del", address, "dev", "eth0")


def put(host):
    """As a node puts it."""
    on_host(host, "address", "replace", f"{VIP}/32", "dev", "eth0", "noprefixroute",
            "valid_lft", "1", "preferred_lft", "1")


# ---- what it does not start on ----

@pytest.mark.parametrize("settings, said", [
    ({"vip.address": "10.99.0.1"},
     "vip.address: no place for 10.99.0.1: no interface has an address of the same subnet"),
    ({"vip.interface": "eth7"},
     f"vip.interface: no place for {VIP}: there is no interface eth7"),
    ({"vip.address": "10.213.0.255"}, "10.213.0.255 is the network's own or the broadcast address"),
], ids=["subnet", "name", "edge"])
def test_a_place_that_is_none(make_node, settings, said):
    assert said in make_node(settings).refusal()


def test_an_interface_without_ipv6(make_node, host):
    switch = ["sh", "-c", "echo $0 >/proc/sys/net/ipv6/conf/eth0/disable_ipv6"]
    subprocess.run(host.command([*switch, "1"]), check=True)
    try:
        said = make_node({"vip.address": f"{VIP},{VIP6}", "vip.interface": "eth0",
                          "gmq.listen": "[::]:9503", "http.listen": "[::]:8000"}).refusal()
    finally:
        subprocess.run(host.command([*switch, "0"]), check=True)
        on_host(host, "address", "replace", f"{host.address6}/64", "dev", "eth0", "nodad")
    assert f"no place for {VIP6} on eth0: IPv6 is switched off there" in said


def test_an_address_of_another_node_on_this_machine(make_node, host):
    first = make_node().launch_and_wait()
    said = make_node({"gmq.listen": "0.0.0.0:9603", "http.listen": "0.0.0.0:8100",
                      "ha.peer.listen": f"{host.address}:9604"}).refusal()
    assert f"vip.address: {VIP}: another node on this machine has it" in said
    first.kill("warden")  # the name goes with the process
    reap_orphans()
    make_node().launch_and_wait().stop()


def test_all_mistakes_at_once(make_node, host):
    with configured(host, f"{VIP}/24"):
        said = make_node({"vip.address": f"{VIP},10.99.0.1"}).refusal()
        assert has_address(host), "it is not the node's to take away"
    assert f"vip.address: {VIP} is configured on this machine, on eth0" in said
    assert "no place for 10.99.0.1" in said


def test_what_it_may_not_do(make_node):
    """And why else: node/tests/capabilities_test.c."""
    assert ("CAP_NET_ADMIN and CAP_NET_RAW, which this process lacks: give them to the program: "
            "setcap cap_net_admin,cap_net_raw=p /") in make_node(file_capabilities="").refusal()


# ---- what it starts on ----

def test_an_interface_that_is_down_may_come_up(make_node, host):
    host.pull_cable()
    try:
        node = make_node({"ha.peer.listen": "127.0.0.1:9504"}, file_capabilities=None)
        node.launch_and_wait()
        assert f"{VIP} is to be on eth0: the interface is down" in node.output()
        node.stop()
    finally:
        host.put_cable()


def test_what_a_node_before_has_left_is_removed(make_node, host):
    done = threading.Event()

    def keep():
        while not done.wait(0.1):
            put(host)

    put(host)
    keeper = threading.Thread(target=keep)
    keeper.start()
    try:
        node = make_node().launch_and_wait()
    finally:
        done.set()
        keeper.join()
    assert f"{VIP} was still on eth0, as a node before this one has left it" in node.output()
    node.stop()


# ---- with the capabilities of its file ----

def capabilities_of(pid, which):
    text = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(re.search(rf"^Cap{which}:\s+(\w+)$", text, re.M).group(1), 16)


def test_an_ordinary_user_with_the_capabilities_of_the_file(make_node):
    node = make_node().launch_and_wait()
    assert os.stat(f"/proc/{node.warden_pid}").st_uid == NOBODY, "it can be looked at"
    assert capabilities_of(node.warden_pid, "Eff") == NET_ADMIN | NET_RAW
    worker = children_of(node.warden_pid)[0]
    assert capabilities_of(worker, "Eff") & NET_ADMIN
    for pid in (node.warden_pid, worker):
        assert not capabilities_of(pid, "Amb") and not capabilities_of(pid, "Inh")
        assert not capabilities_of(pid, "Prm") & ~(NET_ADMIN | NET_RAW)
    node.stop()


def test_roots_worker_has_what_the_address_needs_and_little_else(make_node):
    node = make_node(file_capabilities=None).launch_and_wait()
    of_files = 1 << 1 | 1 << 2
    assert capabilities_of(node.worker_pid, "Eff") & ~NET_RAW == of_files | NET_ADMIN
    node.stop()


def test_the_address_goes_when_the_node_is_stopped_the_hard_way(make_node, host):
    """Its worker is frozen, and does not obey."""
    node = make_node().launch_and_wait()
    os.kill(children_of(node.warden_pid)[0], signal.SIGSTOP)

    def ended():
        put(host)
        node.process.signal(signal.SIGTERM)
        return node.process.returncode is not None

    wait_until(ended, "the second request, some time after the first, ends it", interval_s=0.1)
    assert node.process.returncode == 1
    node.process = None
    reap_orphans()
    assert REMOVED.search(node.output()), node.output()
    wait_until(lambda: not has_address(host), "the address has gone")


# ---- and leads ----

@pytest.fixture(scope="module")
def zookeeper(host, tmp_path_factory):
    """One server is enough here."""
    ensemble = Ensemble(tmp_path_factory.mktemp("zookeeper"), hosts=[host])
    try:
        ensemble.servers[0].start()
        wait_until(ensemble.servers[0].mode, "ZooKeeper serves", 60, interval_s=0.05)
        yield ensemble
    finally:
        ensemble.destroy()


@pytest.fixture
def cluster(host, zookeeper, tmp_path):
    """The settings of a node that leads."""
    server = RedisServer(tmp_path / "redis", host, port="6379", bind=host.address,
                         protected_mode="no").start()
    yield {"ha.zookeeper": zookeeper.addresses, "log.modules": "zookeeper=error",
           "store.redis": f"{host.address}:6379", "ha.cluster": tmp_path.name}
    server.stop()


def test_an_ordinary_user_leads_with_the_address_and_gives_it_back(make_node, host, cluster):
    """When its worker dies, and no other node would take over: the address goes at once, the session
    ends, the next worker starts. That it waits for a successor: node/warden/tests/warden_end_test.c, and drills."""
    node = make_node(cluster).launch_and_wait()
    wait_until(lambda: has_address(host), "the leader has the address")
    wait_until(lambda: "no other node would take over" in node.output(), "it knows that it is alone")
    worker = children_of(node.warden_pid)[0]
    assert capabilities_of(worker, "Prm") == NET_ADMIN, "it has given up what it needs no more"
    before = len(node.output())
    os.kill(worker, signal.SIGKILL)
    wait_until(lambda: "the worker's session is over" in node.output()[before:],
               "the session is ended")
    wait_until(lambda: "reason=start anew" in node.output()[before:], "the next worker starts")
    said = node.output()[before:]
    assert REMOVED.search(said).start() < min(
        said.index("died of SIGKILL"), said.index("the worker's session is over")), said
    assert "new clients are refused" not in said
    wait_until(lambda: has_address(host), "the next worker leads and has the address")
    node.stop()
    assert not has_address(host)


def write_hook(directory, *lines):
    """A program for vip.hook."""
    hook = directory / "hook"
    hook.write_text("\n".join(["#!/bin/sh", *lines, ""]))
    hook.chmod(0o755)
    return hook


def test_a_hook_that_takes_the_address_ends_with_the_worker_that_wanted_it(make_node, cluster,
                                                                           open_path):
    """With all that it has started: it would take the address from the next leader."""
    seen = open_path / "seen"
    hook = write_hook(open_path, "[ $1 = take ] || exit 0", "sleep 1000 &",
                      f"echo $$ $! >>{seen}", "wait")
    seen.touch()
    seen.chmod(0o666)
    node = make_node({**cluster, "vip.address": "10.99.0.1", "vip.hook": hook},
                     file_capabilities="").launch_and_wait()
    wait_until(lambda: seen.read_text().endswith("\n"), "it takes the address")
    pids = [int(word) for word in seen.read_text().split()]
    assert len(pids) == 2 and all(map(is_alive, pids))
    os.kill(children_of(node.warden_pid)[0], signal.SIGKILL)
    wait_until(lambda: not any(map(is_alive, pids)), "it has ended, and what it started")
    wait_until(lambda: "vip.hook take was at work" in node.output(), "it is said")
    node.stop()


def test_a_hook_moves_the_address_without_capabilities(make_node, host, cluster, open_path):
    seen = open_path / "seen"
    hook = write_hook(open_path, f"echo $1 $2 $3 >>{seen}")
    seen.touch()
    seen.chmod(0o666)
    node = make_node({**cluster, "vip.address": "10.99.0.1", "vip.hook": hook},
                     file_capabilities="").launch_and_wait()
    wait_until(lambda: seen.read_text().startswith("take 10.99.0.1 a\n"), "it is to be taken")
    node.stop()
    assert seen.read_text().endswith("drop 10.99.0.1 a\n")
    assert not has_address(host, "10.99.0.1")
