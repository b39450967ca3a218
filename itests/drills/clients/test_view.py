"""The client's view of the address, with holders made by hand: what moves well is seen as that, and
each way to do it badly is planted and seen."""

import json
import socket
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import pytest

from drills.clients.view import DEAF, VANISHING, Sight, View, Visit, longest_gap
from drills.clients.view_client import outcome_of
from drills.graceful import FEW_LATE, ONE_LATE_IN
from drills.rows.matrix import MATRIX
from drills.rows.vip_row import (ANNOUNCED_MS, accepted_by_the_dead, begun_with_nobody, gaps,
                            left_in_silence, lost_with_somebody, strangers, untold, with_nobody)
from harness.neighbours import add_address, announce, drop, take
from harness.wait import wait_until
from judge import address as holders
from judge.address import KEPT_MS, LATE_MS, UNRENEWED_MS, HolderWatch, judge_holders
from judge.journal import DIED, Gone, Journal, Lease, Put, Role, Stall, Vip, now_ms
from judge.leaders import SILENT_MS

PORT = 8000
ADDRESSES = ["10.213.0.200", "fd00:213::200"]


def visit(how, resent=0, connected=1001):
    return Visit(1, ADDRESSES[0], 1000, connected, max(1005, connected + 1), how, "a", "leader",
                 resent)


class Server(ThreadingHTTPServer):
    """On every address of a host: it tells its name, and lets pops wait."""

    daemon_threads, request_queue_size = True, 128
    address_family = socket.AF_INET6
    IP_TRANSPARENT, IPV6_TRANSPARENT = 19, 75

    def __init__(self, host):
        self.host, self.lets_go, self.is_frozen = host, threading.Event(), threading.Event()
        self.waiters = set()  # connections that wait in a pop
        with host.entered():
            super().__init__(("::", PORT), Handler)
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    def server_bind(self):
        """As a node does: who has come has his answer, though the address has gone meanwhile."""
        self.socket.setsockopt(socket.SOL_IP, self.IP_TRANSPARENT, 1)
        self.socket.setsockopt(socket.IPPROTO_IPV6, self.IPV6_TRANSPARENT, 1)
        super().server_bind()

    def handle_error(self, *unused):
        """A client has gone."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    has_answered = False

    def log_message(self, *unused):
        pass

    def handle_one_request(self):
        """Idle, it looks whether it is to go; not before it has answered once, for on a busy machine
        the first request may come late."""
        self.connection.settimeout(0.01)
        while not self.connection_has_more():
            if self.server.lets_go.is_set() and self.has_answered:
                self.close_connection = True
                return
        self.connection.settimeout(10)
        super().handle_one_request()

    def connection_has_more(self):
        try:
            return self.connection.recv(1, socket.MSG_PEEK) is not None
        except TimeoutError:
            return False

    def do_GET(self):
        self.reply({"node": self.server.host.name, "role": "leader"})

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        if "/pop?" in self.path:
            self.server.waiters.add(self.connection)
            self.server.lets_go.wait(30)
            self.reply({"jobs": []})
        else:
            self.reply({"id": "x", "due_ms": 0})

    def reply(self, said):
        while self.server.is_frozen.is_set():
            threading.Event().wait(0.01)
        text = json.dumps(said).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        if self.server.lets_go.is_set():
            self.send_header("Connection", "close")
        self.end_headers()
        self.has_answered = True
        self.wfile.write(text)


class Stage:
    """Two hosts that may have the address, a bystander, and a client with a view."""

    def __init__(self, network, directory, addresses):
        self.addresses = addresses
        self.a, self.b, self.c = (network.add_host(name) for name in "abc")
        self.client = network.add_host("client")
        self.servers = {host.name: Server(host) for host in (self.a, self.b)}
        self.journal = Journal()
        self.watch = HolderWatch([self.a, self.b], addresses, self.journal.add)
        self.view = View(directory, self.client, addresses, PORT)

    def take(self, host, *words):
        take(host, self.addresses, *words)

    def tell(self, host):
        for address in self.addresses:
            announce(host, address)

    def drop(self, host):
        drop(host, self.addresses)

    def begin(self):
        """With the address at a, and everybody there."""
        self.take(self.a)
        self.view.start()
        self.view.wait_settled("a")
        return now_ms()

    def drill(self, since_ms):
        """As a row sees it: b leads."""
        return SimpleNamespace(since_ms=since_ms, cluster=SimpleNamespace(
            view=self.view, leader=lambda: self.b, stalls=lambda: [], events=lambda: [
                *self.journal.of(Role), *self.journal.of(Vip), *self.journal.of(Gone)]))

    def close(self):
        for server in self.servers.values():
            server.is_frozen.clear()
            server.lets_go.set()
            server.shutdown()
            server.server_close()
        self.watch.close()
        self.view.close()


@pytest.fixture
def stage(request, network, tmp_path):
    made = Stage(network, tmp_path, getattr(request, "param", ADDRESSES))
    yield made
    made.close()


def kinds_of(sight):
    return set(sight.failed) - {"crossed"}


@pytest.mark.parametrize("stage", [ADDRESSES[:1], ADDRESSES], ids=["IPv4", "both"], indirect=True)
def test_make_before_break_fails_nobody(stage):
    stage.begin()
    judged = 11 * len(stage.addresses)

    def all_are_there():
        return sum(tie.kind not in (DEAF, VANISHING) for tie in stage.view.ties_with("a")) == judged

    wait_until(all_are_there, "all are there")
    server, waiters = stage.servers["a"], 4 * len(stage.addresses)
    wait_until(lambda: len(server.waiters) == waiters, "those that wait have asked, too")
    since = now_ms()
    server.lets_go.set()
    wait_until(lambda: not any(tie.kind != VANISHING for tie in stage.view.ties_with("a")),
               "all are let go")
    stage.take(stage.b)
    stage.view.wait_seen("b", since)
    stage.drop(stage.a)
    stage.view.wait_settled("b")
    sight = stage.view.sight("a", "b", since, now_ms())
    assert not kinds_of(sight)
    assert sight.first_ms > 0 and sight.gap_ms > 0
    assert sight.popped == {"in order": waiters}
    assert set(sight.broken) <= {"in order", "closed"}
    assert sight.back_ms > 0
    assert ["no job came" in text for text in untold(sight)] == [True], "nobody had one here"
    assert not list(begun_with_nobody(sight))
    assert not stage.view.strangers_of("b", stage.view.answers_of("b", since))


def test_a_gap_is_the_longest_time_without_an_answer():
    assert longest_gap([2, 3, 8, 9], 1, 10) == 5
    assert longest_gap([0, 3, 11], 1, 10) == 7, "of that time alone"
    assert longest_gap([], 1, 10) == 9


def test_a_frozen_leader_counts_by_its_answers_though_it_takes_connections(stage):
    since = stage.begin()
    stage.servers["a"].is_frozen.set()
    wait_until(lambda: now_ms() > since + 300, "some have connected in vain")
    struck = now_ms()
    stage.take(stage.b)
    stage.view.wait_settled("b")
    until = now_ms()
    stage.view.wait_known(since, until)
    sight = stage.view.sight("a", "b", since, until)
    assert sight.first_ms > struck - since and sight.gap_ms > 250
    assert sight.failed["silent"] > 10, "a kernel took the request, and nobody will ever say more"
    assert sight.popped["silent"] >= len(stage.addresses), "the same; some of them probe"
    assert any("were not told of their end" in text for text in untold(sight))
    assert stage.watch.holders(ADDRESSES[0]) == {"a", "b"}


def test_a_leader_that_ends_refuses_and_resets(stage):
    since = stage.begin()
    stage.servers["a"].shutdown()
    stage.servers["a"].server_close()
    stage.journal.add(Role("a", "offline", now_ms(), reason=DIED))
    wait_until(lambda: stage.view.sight("a", None, since, now_ms()).failed["refused"] > 5,
               "nobody listens")
    stage.take(stage.b)
    stage.drop(stage.a)
    stage.view.wait_seen("b", since)
    sight = stage.view.sight("a", "b", since, now_ms())
    assert sight.failed["refused"] > 5 and not sight.failed["lost"]
    assert len(sight.failed_ms) == sight.failures and min(sight.failed_ms) >= since
    wait_until(lambda: stage.journal.of(Gone), "it has gone")
    assert not list(accepted_by_the_dead(stage.drill(since)))


def test_a_dead_leader_whose_kernel_goes_on_accepting_is_seen(stage):
    """As it does where somebody else holds the listening socket."""
    since = stage.begin()
    stage.servers["a"].shutdown()
    died = now_ms()
    stage.journal.add(Role("a", "offline", died, reason=DIED))
    wait_until(lambda: now_ms() > died + 100, "some have connected, and asked")
    stage.servers["a"].server_close()
    wait_until(lambda: stage.view.sight("a", None, since, now_ms()).failed["reset"] > 5,
               "they are reset")
    stage.take(stage.b)
    stage.drop(stage.a)
    stage.view.wait_seen("b", since)
    wait_until(lambda: len(stage.journal.of(Gone)) == len(stage.addresses), "it has gone")
    complaints = list(accepted_by_the_dead(stage.drill(since)))
    assert complaints and "a accepted a new connection" in complaints[0]


@pytest.mark.parametrize("how, connected_ms, is_wrong", [
    ("silent", 1150, True), ("silent", 1301, False), ("silent", None, False), ("refused", None, False)])
def test_a_dead_host_that_takes_and_says_nothing_is_seen(how, connected_ms, is_wrong):
    """As one would where the warden keeps the sockets, and the address, and nobody serves."""
    events = [Role("a", "offline", 1000, reason=DIED), Gone("a", "v", 1300)]
    visits = [Visit(1, "v", 1100, connected_ms, 4100, how)]
    drill = SimpleNamespace(since_ms=990, cluster=SimpleNamespace(
        events=lambda: events, view=SimpleNamespace(visits=lambda since_ms: visits)))
    assert bool(list(accepted_by_the_dead(drill))) == is_wrong
    assert not list(left_in_silence(Sight()))
    assert list(left_in_silence(Sight(failed=Counter(silent=1))))


@pytest.mark.parametrize("most_ms", [KEPT_MS, holders.LIVES_MS])
@pytest.mark.parametrize("more_ms, is_wrong", [(-200, False), (LATE_MS, False),
                                               (LATE_MS + 1, True), (None, True)])
def test_an_address_that_the_dead_keep_too_long_is_seen(most_ms, more_ms, is_wrong):
    journal = Journal()
    journal.add(Role("a", "leader", 0, "e:1"), Lease("a", "e:1", 0, 9000), Put("a", "v", 10),
                Role("a", "offline", 1000, reason=DIED), Role("b", "leader", 1020, "e:2"),
                Lease("b", "e:2", 1020, 9000), Put("b", "v", 1021))
    if more_ms:
        journal.add(Gone("a", "v", 1000 + most_ms + more_ms))
    events = [event for kind in journal.events.values() for event in kind]
    assert len(list(holders.kept_too_long(events, most_ms))) == is_wrong
    if most_ms == holders.LIVES_MS:
        assert [each.rule for each in judge_holders(journal)] == ["KEPT"] * is_wrong


def test_one_that_had_gone_before_is_not_kept():
    journal = Journal()
    journal.add(Role("a", "leader", 0, "e:1"), Lease("a", "e:1", 0, 9000), Put("a", "v", 10),
                Gone("a", "v", 900), Role("a", "offline", 1000, reason=DIED),
                Role("a", "leader", 1500, "e:2"), Lease("a", "e:2", 1500, 9000),
                Put("a", "v", 1510))
    assert not list(judge_holders(journal))


def test_a_single_client_that_is_left_alone_is_one_too_many():
    assert len(list(untold(Sight()))) == 1, "there was no job"
    told = Sight(job_ms=7)
    told.broken.update(["in order", "reset", "closed"])
    told.failed.update(["refused", "reset", "crossed"])
    assert not list(untold(told)) and not list(begun_with_nobody(told))
    for name in ("broken", "popped"):
        sight = Sight(job_ms=7)
        getattr(sight, name)["silent"] = 1
        assert len(list(untold(sight))) == 1
    assert len(list(begun_with_nobody(Sight(lost=[("v", 7)])))) == 1


def fault_of(events, stalls=(), since_ms=990):
    """A drill whose leader, a, was hit, as those were told who look afterwards."""
    return SimpleNamespace(leader=SimpleNamespace(name="a"), since_ms=since_ms,
                           cluster=SimpleNamespace(events=lambda: events, stalls=lambda: stalls))


@pytest.mark.parametrize("address, begun_ms, is_wrong", [
    ("v", 1000 + KEPT_MS - 1, False), ("v", 1400 + ANNOUNCED_MS, False),
    ("v", 1000 + KEPT_MS - 2, True),  # it was to be there still
    ("v", 1400 + ANNOUNCED_MS + 1, True),  # it was there again
    ("w", 1300, True)])               # that one was never away
def test_a_successor_that_comes_later_than_the_address_is_kept(address, begun_ms, is_wrong):
    events = [Role("a", "offline", 1000, reason=DIED), Put("a", "v", 1100), Put("b", "v", 1400),
              Put("b", "w", 1010), Put("b", "v", 9000)]
    sight = Sight(lost=[(address, begun_ms)])
    assert len(list(begun_with_nobody(sight, gaps(fault_of(events))))) == is_wrong
    events[0] = Role("a", "offline", 980, reason=DIED)  # that was another time
    assert list(begun_with_nobody(sight, gaps(fault_of(events))))


@pytest.mark.parametrize("reason, begun_ms, is_wrong", [
    ("lease_over", 4000, False), ("lease_over", 5000, False), ("lease_over", 3400, True),
    ("lease_over", 5600, True), ("fenced", 4500, True)])
def test_a_successor_whose_lease_runs_out_has_the_address_no_more(reason, begun_ms, is_wrong):
    events = [Role("a", "offline", 1000, reason=DIED), Put("b", "v", 1010),
              Role("b", "leader", 1010), Role("b", "offline", 4000, reason=reason),
              Role("b", "leader", 5000)]
    sight = Sight(lost=[("v", begun_ms)])
    assert len(list(begun_with_nobody(sight, gaps(fault_of(events))))) == is_wrong


@pytest.mark.parametrize("age_ms, begun_ms, is_wrong", [
    (UNRENEWED_MS, 1100, False), (UNRENEWED_MS, 1060 - LATE_MS, False),
    (UNRENEWED_MS, 1060 - LATE_MS - 1, True), (UNRENEWED_MS - 1, 1100, True)])
def test_an_address_that_nobody_renewed_before_the_death_is_not_kept(age_ms, begun_ms, is_wrong):
    events = [Role("a", "offline", 1000, reason=DIED), Gone("a", "v", 1060, age_ms),
              Put("b", "v", 1200)]
    stalls = [Stall("c", 1100, SILENT_MS)]
    drill = fault_of(events, stalls)
    lost = Sight(lost=[("v", begun_ms)])
    assert len(list(begun_with_nobody(lost, gaps(drill)))) == is_wrong
    stalls[0] = Stall("c", 1100, SILENT_MS - 1)
    assert list(begun_with_nobody(lost, gaps(drill))), "nobody stood still"


def test_a_worker_that_the_fault_has_frozen_excuses_nothing():
    """Its warden ends it as it hangs, and is to keep the address (row 4)."""
    events = [Role("a", "offline", 1000, reason=DIED), Gone("a", "v", 1060, UNRENEWED_MS),
              Put("b", "v", 1200), Role("b", "leader", 1150)]
    stalls = [Stall("a", 1000, 950, is_last=True)]
    drill = fault_of(events, stalls, since_ms=40)
    lost = Sight(lost=[("v", 1100)])
    assert list(begun_with_nobody(lost, gaps(drill)))
    stalls.append(Stall("c", 1100, SILENT_MS))  # it stands still as well: the kernel's word counts
    assert not list(begun_with_nobody(lost, gaps(drill)))
    assert list(begun_with_nobody(Sight(lost=[("v", 1059 - LATE_MS)]), gaps(drill)))


OVER = [Role("b", "leader", 1100), Role("b", "offline", 4000, reason="lease_over"), Role("c", "leader", 5000)]


@pytest.mark.parametrize("gone_ms, put_ms, roles, begun_ms, is_wrong", [
    (2000, 1080, [], 1500, True), (2000, 1080, [], 2100, True),    # it was there already
    (2000, 2600, [], 1499, True), (2000, 2600, [], 1500, False),   # as the kernel's news are late
    (2000, 2600, [], 2600 + ANNOUNCED_MS, False), (2000, 2600, [], 2601 + ANNOUNCED_MS, True),
    (None, 1080, [], 2000, True),                                  # the dead host has it to the end
    (2000, 1080, OVER, 3499, True), (2000, 1080, OVER, 3500, False),
    (2000, 1080, OVER, 5500, False), (2000, 1080, OVER, 5501, True)])
def test_connections_are_lost_where_nobody_has_the_address(gone_ms, put_ms, roles, begun_ms,
                                                           is_wrong):
    """And nobody lives who could take it away (row 2)."""
    events = [Put("b", "v", put_ms), *([Gone("a", "v", gone_ms)] if gone_ms else ()), *roles,
              Gone("b", "v", 9500), Gone("a", "v", 900), Put("c", "v", 9600)]
    events.sort(key=lambda each: each.boot_ms)
    spans = with_nobody(fault_of(events, since_ms=1000))
    assert bool(list(lost_with_somebody(Sight(lost=[("v", begun_ms)]), spans, 1000))) == is_wrong
    assert list(lost_with_somebody(Sight(lost=[("w", begun_ms)]), spans, 1000)), "nobody put that"


def test_an_address_is_with_nobody_in_few_rounds():
    row = type(MATRIX["1"])()
    row.looked_at, row.with_some = 20, 3
    assert not list(row.check_often(None))
    row.with_some = 4
    assert len(list(row.check_often(None))) == 1


def test_connections_are_lost_in_few_rounds():
    row = type(MATRIX["2"])()
    row.seen, row.unserved = 20, 3
    assert len(list(row.check_often(None))) == (3 > FEW_LATE + 20 // ONE_LATE_IN)
    row.unserved = 20
    assert len(list(row.check_often(None))) == 1


def test_an_address_that_is_put_back_is_stolen(stage):
    """By a leader of before, as after a freeze."""
    since = stage.begin()
    stage.journal.add(Role("a", "leader", since - 60_000, "e:1"),
                      Lease("a", "e:1", since - 60_000, since + 100))
    stage.drop(stage.a)
    stage.take(stage.b)
    stage.view.wait_seen("b", since)
    stage.journal.add(Role("b", "leader", since, "e:2"),
                      Lease("b", "e:2", since, now_ms() + 60_000))
    wait_until(lambda: now_ms() > since + 700, "the lease before has ended long ago")
    assert not list(judge_holders(stage.journal))
    assert not list(strangers(stage.drill(since)))
    again = now_ms()
    stage.take(stage.a)
    stage.view.wait_seen("a", again)
    complaint = "a answered a new connection after b, which leads"
    assert list(strangers(stage.drill(since))) == [complaint]
    wait_until(lambda: len(stage.journal.of(Put)) == 3 * len(stage.addresses), "it is told")
    assert [each.rule for each in judge_holders(stage.journal)] == ["STOLEN"] * len(stage.addresses)


def test_a_renewal_is_no_news_and_what_its_lifetime_ends_has_gone(stage):
    stage.take(stage.a, "valid_lft", "1", "preferred_lft", "1")
    wait_until(lambda: stage.watch.holders(ADDRESSES[0]) == {"a"}, "it is there")
    wait_until(lambda: stage.watch.holders(ADDRESSES[0]) == set(), "it has gone")
    assert [each.node for each in stage.journal.of(Put)] == ["a"] * len(stage.addresses)


def test_a_watch_that_looks_no_more_says_so(network):
    host = network.add_host("a")
    watch = HolderWatch([host], ADDRESSES, lambda event: 1 / 0)
    assert watch.holders(ADDRESSES[0]) == set()
    add_address(host, ADDRESSES[0])
    with pytest.raises(RuntimeError, match="nobody looks"):
        wait_until(lambda: watch.holders(ADDRESSES[0]) is None, "it has ended")
    with pytest.raises(RuntimeError, match="nobody looks"):
        watch.close()
    watch.destroy()


def test_a_bystander_that_has_the_address_is_seen(stage):
    """It does not listen."""
    since = stage.begin()
    stage.take(stage.c)

    def has_them_all():
        """A while in which several are refused, and nobody is answered."""
        from_ms = now_ms()
        wait_until(lambda: stage.view.sight("a", None, from_ms, now_ms()).failed["refused"] > 5,
                   "clients are refused")
        return stage.view.answers_of("a", from_ms) == {}

    wait_until(has_them_all, "no client comes to the one that listens")
    assert stage.view.sight("a", "b", since, now_ms()).first_ms is None


def test_a_client_that_nobody_tells_does_not_come(network, stage):
    """Until it is told: then who tried meanwhile comes, a second late."""
    since = stage.begin()
    with network.hush([stage.b], stage.addresses[0]):
        stage.drop(stage.a)
        stage.take(stage.b)
        wait_until(lambda: now_ms() > since + 300, "some have tried")
        assert stage.view.sight("a", "b", since, now_ms()).first_ms is None
    told = now_ms()
    stage.tell(stage.b)
    seen = stage.view.wait_seen("b", since)
    assert min(seen.values()) - since > 0 and max(seen.values()) > told

    def lost():
        return stage.view.sight("a", "b", since, now_ms()).failed["lost"]

    wait_until(lambda: lost() > 5, "those who sent again have come")
    sight = stage.view.sight("a", "b", since, now_ms())
    assert any("were begun with nobody" in text for text in begun_with_nobody(sight))


@pytest.mark.parametrize("visit, left_ms, kind", [
    (visit("answered"), [], "answered"),
    (visit("answered", resent=1), [], "answered"),                  # not a SYN: it came at once
    (visit("answered", resent=1, connected=2000), [], "lost"),
    (visit("answered", resent=0, connected=2000), [], "answered"),  # a slow machine
    (visit("unreachable"), [], "refused"),
    (visit("closed"), [], "closed"), (visit("closed"), [985, 1010], "closed"),
    (visit("closed"), [1003], "crossed"), (visit("reset"), [1003], "reset"),
    (visit("crossed"), [], "crossed"), (visit("silent"), [], "silent"), (visit("503"), [], "503")])
def test_what_went_wrong_has_a_name(visit, left_ms, kind):
    assert visit.kind(left_ms) == kind


@pytest.mark.parametrize("status, code, outcome", [
    (200, None, "ok"), (201, None, "ok"), (409, "not_owner", "refused"), (503, "unavailable", "refused"),
    (503, "unknown", "unknown")])
def test_an_answer_says_what_became_of_a_change(status, code, outcome):
    assert outcome_of(status, {"error": {"code": code}} if code else {}) == outcome
