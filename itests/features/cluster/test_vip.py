"""The virtual address: where the leader is, clients that know no other find it, and are let go in
order when it moves. Three hosts with ZooKeeper, two with nodes, one with clients.

The drills have its faults (drills/README.md); here is what it promises.
"""

import json
import os
import re
import socket
import subprocess
import sys
import threading

import pytest

from judge.address import KEPT_MS
from drills.graceful import HEARD_MS, is_late
from judge.journal import DIED, Role, Vip, now_ms
from drills.hosts.nodes import GMQ_PORT, HTTP_PORT, PEER_PORT, HostNode
from harness.cluster import are_members
from harness.http_api import HttpApi
from harness.neighbours import add_address, addresses_of, remove_address
from harness.network import Network, why_not
from harness.redis_server import RedisServer
from harness.wait import wait_until
from harness.zookeeper import Ensemble

ADDRESS, SESSION_MS, TRIES = "10.213.0.200", 2000, 3
POP = b'{"method":"Service.Pop","params":[["nobody-pushes-here"]],"id":1}'
ACK = b'{"method":"Service.Ack","params":["no-such-job"],"id":1}'
LONG_POLL = b"POST /v1/topics/nobody-pushes-here/pop?wait_ms=60000 HTTP/1.1\r\nHost: h\r\n\r\n"
PUSH = (b"POST /v1/topics/pushed/jobs HTTP/1.1\r\nHost: h\r\nContent-Length: 14\r\n\r\n"
        b'{"body":"job"}')
LIVE = b"GET /health/live HTTP/1.1\r\nHost: h\r\n\r\n"


class Pair:
    """Two nodes that stand by for each other, and a host of clients."""

    def __init__(self, network, directory):
        self.network, self.directory = network, directory
        zookeepers = [network.add_host(f"zk{number}") for number in (1, 2, 3)]
        hosts = [network.add_host(name) for name in ("n1", "n2")]
        self.client = network.add_host("client")
        self.zookeeper = Ensemble(directory, 200, hosts=zookeepers)
        self.redis = RedisServer(directory / "redis")  # its socket is no host's
        self.nodes = [self._node(host) for host in hosts]

    def _node(self, host):
        (self.directory / host.name).mkdir()
        return HostNode(self.directory / host.name, host, {
            "gmq.listen": f"0.0.0.0:{GMQ_PORT}", "http.listen": f"0.0.0.0:{HTTP_PORT}",
            "vip.address": ADDRESS, "ha.advertise": host.address, "ha.mode": "standby",
            "store.redis": self.redis.address,
            "ha.zookeeper": self.zookeeper.addresses, "ha.session_timeout": f"{SESSION_MS}ms",
            "ha.secret": "only for this test", "ha.peer.listen": f"{host.address}:{PEER_PORT}",
            "ha.journal": True})

    def start(self):
        self.redis.start()
        self.zookeeper.start()
        for node in self.nodes:
            node.launch()
        return self

    def destroy(self):
        for node in self.nodes:
            node.destroy()
        self.redis.destroy()
        self.zookeeper.destroy()

    def wait_steady(self):
        """(leader, standby): one leads, and the other could."""
        for node in self.nodes:
            wait_until(node.is_ready_or_ended, f"{node.name} is ready")
        wait_until(lambda: sum(node.leads for node in self.nodes) == 1, "one node leads")
        leader = next(node for node in self.nodes if node.leads)
        names = [node.name for node in self.nodes]
        wait_until(lambda: are_members(cluster_page(leader), names), "both are members")
        wait_until(lambda: address_at(self.nodes) == [leader], "the address is where the lead is")
        wait_until(lambda: min(now_ms() - node.role().boot_ms for node in self.nodes) > SESSION_MS,
                   "both are what they are for a while: else they would have to wait for a lease")
        return leader, next(node for node in self.nodes if node is not leader)

    # ---- clients ----

    def dial(self, port, address=ADDRESS):
        with self.client.entered():
            return socket.create_connection((address, port), timeout=30)

    def asked_before(self, port, request, address=ADDRESS):
        """A client that has had an answer, and is silent."""
        made = self.dial(port, address)
        made.sendall(request)
        assert made.recv(65536)
        return made

    def blocked(self, port, request, leader):
        """A client that waits for a job."""
        before = consumers(leader)
        made = self.dial(port)
        made.sendall(request)
        wait_until(lambda: consumers(leader) == before + 1, "a client waits for a job")
        return made


@pytest.fixture(scope="module")
def pair(tmp_path_factory, request):
    reason = why_not()
    if reason:
        assert not os.environ.get("CI"), f"CI must have network namespaces: {reason}"
        pytest.skip(f"no network namespaces here: {reason}")
    with Network() as network:
        made = Pair(network, tmp_path_factory.mktemp("vip"))
        request.node.dueq_nodes = made.nodes
        try:
            yield made.start()
            for node in made.nodes:
                if node.process:
                    wait_until(node.is_ready_or_ended, f"{node.name} is ready")
                    node.stop()
        finally:
            made.destroy()


def asked(node, path):
    """What the node tells, held against its own contract."""
    with node.host.entered():
        return HttpApi(HTTP_PORT).done("GET", path).json


def cluster_page(node):
    return asked(node, "/v1/cluster")


def consumers(node):
    return asked(node, "/v1/status")["consumers_waiting"]


def metric(node, name):
    _, text = node.http("/metrics")
    return next(float(line.split()[1]) for line in text.splitlines() if line.startswith(name + " "))


def address_at(nodes):
    """By the kernel's word."""
    return [node for node in nodes if ADDRESS in addresses_of(node.host)]


def address_events(node):
    lines = (node.data_dir / "ha.journal").read_text().splitlines()
    return [event for event in map(json.loads, lines) if event["event"] == "vip"]


def read_reply(connection):
    """A whole HTTP reply, as (head, body)."""
    data = b""
    while b"\r\n\r\n" not in data:
        piece = connection.recv(65536)
        if not piece:
            raise EOFError("no reply")
        data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
    while len(body) < length:
        body += connection.recv(65536)
    return head, body


def ends(connection):
    """In order or by a reset: there is nobody at the other end."""
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


class Pushing:
    """A client that pushes, each time over a new connection, for as long as the block lasts."""

    def __init__(self, pair):
        self.pair, self.pushed, self.failures = pair, 0, []
        self._since_ms = now_ms()
        self._is_over, self._thread = threading.Event(), threading.Thread(target=self._run)

    def __enter__(self):
        self._thread.start()
        self.wait_more(3)
        return self

    def __exit__(self, *unused):
        self._is_over.set()
        self._thread.join()

    def wait_more(self, count):
        wanted = self.pushed + count
        wait_until(lambda: self.pushed >= wanted, "pushes over the address are answered")

    def check(self):
        """Nothing failed but what may, and nobody was kept waiting."""
        events = [event for node in self.pair.nodes for event in address_events(node)
                  if event["boot_ms"] >= self._since_ms]
        taken, left = ([event["boot_ms"] for event in events if event["state"] == state]
                       for state in ("held", "away"))
        assert not list(wrong(self.failures, taken, left)), (self.failures, taken, left)

    def _run(self):
        while not self._is_over.is_set():
            began_ms = now_ms()
            try:
                with self.pair.dial(HTTP_PORT) as connection:
                    connection.sendall(PUSH)
                    head, _ = read_reply(connection)
                    assert head.startswith(b"HTTP/1.1 201 "), head
                self.pushed += 1
                self._is_over.wait(0.002)  # there are only so many ports
            except (OSError, EOFError) as error:
                self.failures.append((error, began_ms, now_ms()))


GRAIN_MS = 1  # nodes write whole milliseconds


def wrong(failures, taken_ms, left_ms):
    """Of failed connections, (error, began_ms, ended_ms), those that need not have failed. One may
    that the address crossed: its handshake was with the host that then let the address go, its
    request came to the one that had taken it. So it began before the one, and ended, by a reset or
    without a reply, after the other."""
    crossed = [each for each in failures if taken_ms and left_ms
               and isinstance(each[0], (ConnectionResetError, BrokenPipeError, EOFError))
               and each[1] <= max(left_ms) + GRAIN_MS and each[2] >= min(taken_ms) - GRAIN_MS]
    return [each for each in failures if each not in crossed] + crossed[1:]


@pytest.mark.parametrize("error, began_ms, ended_ms, is_wrong", [
    (ConnectionResetError(), 90, 105, False), (EOFError(), 105, 112, False),
    (ConnectionResetError(), 80, 95, True),    # nobody had taken it yet
    (ConnectionResetError(), 115, 116, True),  # only the new one had it
    (ConnectionRefusedError(), 90, 105, True), (TimeoutError(), 90, 105, True)])
def test_what_may_fail_while_the_address_moves(error, began_ms, ended_ms, is_wrong):
    failure = (error, began_ms, ended_ms)
    assert wrong([failure], [100], [110]) == ([failure] if is_wrong else [])
    assert len(wrong([failure, failure], [100], [110])) >= 1, "one, not more"
    assert wrong([failure], [], []) == [failure], "it did not move"


# ---- what is told ----

def test_the_leader_has_the_address_and_all_say_so(pair):
    leader, standby = pair.wait_steady()
    own, other = (cluster_page(node)["vip"] for node in (leader, standby))
    assert (own["address"], own["state"], own["here"]) == (ADDRESS, "held", True)
    assert (own["interface"], own["why"], own["conflict"]) == ("eth0", None, None)
    assert own["taken"] >= 1 and own["announcements"] > 0
    assert (other["state"], other["here"], other["why"]) == ("away", False, None)
    assert other["interface"] == "eth0"
    assert asked(leader, "/v1/status")["cluster"]["vip"]["here"] is True
    assert [metric(node, "dueq_vip_held") for node in (leader, standby)] == [1, 0]
    assert metric(leader, "dueq_vip_taken_total") >= 1
    assert leader.ctl("nodes", "--json").json()["vip"]["state"] == "held"
    assert re.search("^cluster vip here +yes$", leader.ctl("status").text, re.MULTILINE)
    assert leader.ctl("check").code == 0 and standby.ctl("check").code == 0
    with pair.dial(HTTP_PORT) as connection:
        connection.sendall(b"GET /health/leader HTTP/1.1\r\nHost: h\r\n\r\n")
        assert read_reply(connection)[0].startswith(b"HTTP/1.1 200 ")


def test_who_could_not_take_the_address_says_so(pair):
    leader, standby = pair.wait_steady()
    add_address(standby.host, ADDRESS)
    try:
        wait_until(lambda: standby.ctl("check").code == 1, "the standby could not take it")
        complaint = standby.ctl("check").text
        assert "could not take the virtual address" in complaint
        assert "configured it on this machine (eth0)" in complaint
        wait_until(lambda: "no virtual address" in leader.ctl("nodes").text, "the leader knows")
        assert "could not have the virtual address" in leader.ctl("check").text
    finally:
        remove_address(standby.host, ADDRESS)
    wait_until(lambda: standby.ctl("check").code == 0, "it could again")
    wait_until(lambda: "no virtual address" not in leader.ctl("nodes").text, "the leader knows")


# ---- what clients see ----

def once_in_time(change):
    """Make before break has a limit: who hands over waits a second for its successor. On a busy
    machine that may be too short; such a change shows nothing, and is made again. `change` returns
    who led, who leads then, since when, and a function that judges it."""
    for _ in range(TRIES):
        before, after, since_ms, check = change()
        events = [event for event in (*before.events(), *after.events())
                  if isinstance(event, (Role, Vip)) and event.boot_ms >= since_ms]
        if not is_late(events, before.name):
            check()
            return
    pytest.fail(f"the successor was late {TRIES} times")


def test_a_switchover_lets_clients_go_in_order(pair):
    once_in_time(lambda: switched_over(pair))


def switched_over(pair):
    """Who waits, and who does not use the address, is judged whether it was in time or not."""
    leader, standby = pair.wait_steady()
    since_ms = now_ms()
    idle = [pair.asked_before(HTTP_PORT, LIVE), pair.asked_before(GMQ_PORT, ACK)]
    elsewhere = pair.asked_before(HTTP_PORT, LIVE, leader.host.address)
    with Pushing(pair) as pushing:
        pop = pair.blocked(GMQ_PORT, POP, leader)
        poll = pair.blocked(HTTP_PORT, LONG_POLL, leader)
        assert leader.ctl("switchover").code == 0
        assert [connection.recv(1) for connection in idle] == [b"", b""]
        assert b'"error":"empty"' in pop.recv(1024) and ends(pop)
        head, body = read_reply(poll)
        assert head.startswith(b"HTTP/1.1 200 ") and b"Connection: close" in head
        assert json.loads(body)["jobs"] == [] and ends(poll)
        pushing.wait_more(3)
        steady = pair.wait_steady()
        pushing.wait_more(3)
    elsewhere.sendall(LIVE)
    assert read_reply(elsewhere)[0].startswith(b"HTTP/1.1 200 ")
    for connection in (*idle, elsewhere, pop, poll):
        connection.close()

    def check():
        assert steady == (standby, leader)
        pushing.check()
        left, taken = address_events(leader)[-2:], address_events(standby)[-1]
        assert [event["state"] for event in left] == ["leaving", "away"]
        assert left[0]["boot_ms"] <= taken["boot_ms"] <= left[1]["boot_ms"]  # make before break

    return leader, standby, since_ms, check


def test_a_worker_that_is_killed_leaves_neither_address_nor_client_behind(pair):
    leader, standby = pair.wait_steady()
    with pair.blocked(GMQ_PORT, POP, leader) as pop:
        leader.kill("worker")
        assert ends(pop)
    wait_until(lambda: standby.leads, "the other node leads")
    wait_until(lambda: address_at(pair.nodes) == [standby], "the address is there, and only there")
    with Pushing(pair):
        pass
    assert pair.wait_steady() == (standby, leader)


def test_a_node_that_stops_hands_the_address_over_first(pair):
    once_in_time(lambda: stopped(pair))


def stopped(pair):
    for node in pair.nodes:
        if not node.process:  # it was late
            node.launch()
    leader, standby = pair.wait_steady()
    since_ms = now_ms()
    with Pushing(pair) as pushing:
        leader.stop()
        at = address_at(pair.nodes)
        pushing.wait_more(3)
    return leader, standby, since_ms, lambda: check_stopped(leader, standby, at, pushing)


def check_stopped(leader, standby, at, pushing):
    assert at == [standby]
    pushing.check()
    taken, away = address_events(standby)[-1], address_events(leader)[-1]
    assert (taken["state"], away["state"]) == ("held", "away")
    assert taken["boot_ms"] <= away["boot_ms"]


# ---- an interface of its own ----

def link(host, *words):
    subprocess.run(["ip", "-n", host.netns, "link", *words], check=True)


@pytest.fixture
def apart(pair):
    """The pair with the address on eth1, which ZooKeeper and the nodes do not need."""
    for node in pair.nodes:
        if node.process:
            wait_until(node.is_ready_or_ended, f"{node.name} is ready")
            node.stop()
        link(node.host, "add", "eth1", "type", "veth", "peer", "name", "far")
        link(node.host, "set", "eth1", "up")
        link(node.host, "set", "far", "up", "arp", "off")  # else this host answers itself
        node.settings["vip.interface"] = "eth1"
        node.launch()
    yield pair
    for node in pair.nodes:
        node.stop()
        link(node.host, "del", "eth1")
        del node.settings["vip.interface"]
        node.launch()


def complains(node, *parts):
    done = node.ctl("check")
    return done.code == 1 and all(part in done.text for part in parts)


def test_a_leader_whose_interface_goes_down_says_so_and_lets_another_lead(apart):
    leader, standby = apart.wait_steady()
    link(standby.host, "set", "eth1", "down")
    wait_until(lambda: complains(standby, "could not take the virtual address", "eth1"),
               "the standby could not take it")
    link(leader.host, "set", "eth1", "down")
    wait_until(lambda: complains(leader, "does not have the virtual address", "eth1"),
               "the leader says that it has not got it")
    told = cluster_page(leader)["vip"]
    assert (told["state"], told["here"]) == ("held", False)
    assert [metric(node, "dueq_vip_held") for node in apart.nodes] == [0, 0]
    assert leader.leads  # nobody could do it better
    link(standby.host, "set", "eth1", "up")
    wait_until(lambda: standby.leads, "who could have it leads")
    wait_until(lambda: address_at(apart.nodes) == [standby], "and has it")
    assert complains(leader, "could not take the virtual address", "eth1")
    link(leader.host, "set", "eth1", "up")
    wait_until(lambda: leader.ctl("check").code == 0, "it could again")
    assert apart.wait_steady() == (standby, leader)


# ---- a worker that dies ----
# Behind the rest: a lead that changes often is not given away for an interface.

class Dialling:
    """A client that asks over the address, each time over a new connection and at once again. One
    that finds nobody is `refused`, one whose beginning the kernel had to send again is `lost`:
    it has waited for a second."""

    def __init__(self, pair):
        self.pair, self.answered, self.refused, self.lost, self.others = pair, 0, 0, 0, []
        self.answered_by = None
        self._is_over, self._thread = threading.Event(), threading.Thread(target=self._run)

    def __enter__(self):
        self._thread.start()
        self.wait_answered(3)
        return self

    def __exit__(self, *unused):
        self._is_over.set()
        self._thread.join()

    def wait_answered(self, count):
        wanted = self.answered + count
        wait_until(lambda: self.answered >= wanted, "the client is answered")

    def wait_answered_by(self, node):
        wait_until(lambda: self.answered_by == node.name, f"{node.name} answers")

    def _run(self):
        while not self._is_over.is_set():
            try:
                with self.pair.dial(HTTP_PORT) as connection:
                    self.lost += resent(connection) > 0
                    connection.sendall(b"GET /v1/cluster HTTP/1.1\r\nHost: h\r\n\r\n")
                    self.answered_by = json.loads(read_reply(connection)[1])["node"]
                self.answered += 1
            except ConnectionRefusedError:
                self.refused += 1
            except (OSError, EOFError) as error:
                self.others.append(error)
            self._is_over.wait(0.001)  # there are only so many ports


def resent(connection):
    """How often the kernel had to send something again: tcpi_total_retrans."""
    return int.from_bytes(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)[100:],
                          sys.byteorder)


def test_who_comes_back_while_the_address_moves_is_refused_and_does_not_wait(pair):
    leader, standby = pair.wait_steady()
    before = len(leader.output())
    with Dialling(pair) as dialling:
        leader.kill("worker")
        dialling.wait_answered_by(standby)
        dialling.wait_answered(3)
    wait_until(lambda: "reason=start anew" in leader.output()[before:], "the next worker starts")
    if f"has {ADDRESS} now" not in leader.output()[before:]:
        died_ms = next(each.boot_ms for each in reversed(leader.events())
                       if isinstance(each, Role) and each.reason == DIED)
        assert address_events(standby)[-1]["boot_ms"] > died_ms + KEPT_MS - HEARD_MS, "it was heard"
    else:
        assert dialling.lost == 0, "a connection was begun with nobody, and waited for a second"
    # What it asked just then, and what it began before the warden knew.
    assert dialling.refused > 0 and len(dialling.others) <= 2, dialling.others
    wait_until(lambda: address_at(pair.nodes) == [standby], "the address is there, and only there")
    assert pair.wait_steady() == (standby, leader)


def test_an_address_that_nobody_is_heard_to_have_goes_and_the_node_goes_on(pair):
    """The worker's end lets another lead, and nobody hears that this one has the address now."""
    leader, standby = pair.wait_steady()
    with pair.network.hush([standby.host], ADDRESS):
        leader.kill("worker")
        wait_until(lambda: address_at(pair.nodes) == [standby], "the address goes all the same")
        wait_until(leader.is_ready_or_ended, "the next worker serves")
        with pair.dial(HTTP_PORT, leader.host.address) as connection:
            connection.sendall(LIVE)
            assert read_reply(connection)[0].startswith(b"HTTP/1.1 200 ")
    assert pair.wait_steady() == (standby, leader)


def test_where_no_other_node_would_take_over_nobody_is_refused_for_it(pair):
    """The worker's end lets nobody else lead: the next worker starts at once, and serves."""
    leader, standby = pair.wait_steady()
    before = len(leader.output())
    standby.stop()
    wait_until(lambda: "leads, and no other node would take over" in leader.output()[before:],
               "its warden knows that it is alone")
    leader.kill("worker")
    with pair.dial(HTTP_PORT, leader.host.address) as connection:
        connection.sendall(LIVE)
        assert read_reply(connection)[0].startswith(b"HTTP/1.1 200 ")
    wait_until(lambda: "reason=start anew" in leader.output()[before:], "the next worker starts")
    wait_until(lambda: leader.leads, "it leads again")
    wait_until(lambda: address_at(pair.nodes) == [leader], "it comes back with the lead")
    assert "new clients are refused" not in leader.output()[before:]
    standby.launch()
    pair.wait_steady()


@pytest.fixture
def patient(pair):
    """The pair with a hung worker that is found out only after two seconds: longer than an address
    lives by itself."""
    set_session(pair, 2 * SESSION_MS)
    yield pair
    set_session(pair, SESSION_MS)


def set_session(pair, session_ms):
    for node in pair.nodes:
        if node.process:
            wait_until(node.is_ready_or_ended, f"{node.name} is ready")
            node.stop()
        node.settings["ha.session_timeout"] = f"{session_ms}ms"
        node.launch()


def test_a_worker_that_hangs_is_ended_while_the_address_can_tell_its_clients(patient):
    leader, standby = patient.wait_steady()
    clients = [patient.asked_before(HTTP_PORT, LIVE), patient.asked_before(GMQ_PORT, ACK),
               patient.blocked(GMQ_PORT, POP, leader), patient.blocked(HTTP_PORT, LONG_POLL, leader)]
    leader.freeze("worker")
    try:
        assert all(ends(client) for client in clients)
    finally:
        leader.thaw()
    for client in clients:
        client.close()
    wait_until(lambda: address_at(patient.nodes) == [standby], "the other node has the address")
