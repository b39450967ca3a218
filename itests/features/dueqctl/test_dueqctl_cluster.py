"""dueqctl about the cluster, against answers written before, and against a node that is alone."""

import json
import re
from datetime import datetime, timedelta, timezone

import pytest

from harness.canned import reply, server
from harness.dueqctl import (DONE, NOTHING, REFUSED, UNKNOWN, UNREACHABLE, USAGE, Dueqctl,
                             on_terminal)
from harness.ports import free_port
from harness.wait import PATIENCE_S, wait_until

REQUESTS = [("switchover",), ("switchover", "--to", "b"), ("failover", "--force"),
          ("cluster", "pause"), ("cluster", "resume"), ("forget", "b"), ("fence", "adopt")]
LOOKS = [("nodes",), ("history",), ("check",), ("events",)]
ACCEPTED = reply(b"202 Accepted", b'{"status":"accepted"}')


def node_row(name, **more):
    return {"name": name, "here": True, "member": True, "store_up": True, "priority": 50,
            "fenced": False, "no_failover": False, "version": "1.0.0", "http": None, "gmq": f"{name}:9503",
            "admin": None, "peer": f"{name}:9504", **more}


def page(**more):
    """GET /v1/cluster of a, which leads, and of b."""
    return {"mode": "standby", "node": "a", "role": "leader", "reason": "elected",
            "role_age_ms": 5000, "leader": "a", "leader_epoch": 7, "paused": False,
            "wanted": None, "wanted_at_ms": None, "refused": None,
            "zookeeper": {"session": "connected"},
            "nodes": [node_row("a"), node_row("b")],
            "history": [{"at_ms": 1900000000000, "node": "a", "reason": "elected", "epoch": 7,
                         "without_leader_ms": None}],
            "can_fail_over": True, "check": [], **more}


def answer(document):
    return reply(b"200 OK", json.dumps(document).encode())


def after(leader, epoch, without_ms):
    """The page once another one leads."""
    change = {"at_ms": 1900000001000, "node": leader, "reason": "elected", "epoch": epoch,
              "without_leader_ms": without_ms}
    return page(leader=leader, leader_epoch=epoch, history=page()["history"] + [change])


def error(status, code, message):
    return reply(status, json.dumps({"error": {"code": code, "message": message}}).encode())


def ask(answers, *words):
    """What a run says, and the requests it made."""
    requests = []
    with server(answers, requests) as url:
        done = Dueqctl(url)(*words)
    return done, [request.split(b"\r\n")[0].decode() for request in requests], requests


# ---- trouble ----

@pytest.mark.parametrize("words", REQUESTS + LOOKS)
def test_where_nobody_listens(words):
    done = Dueqctl(f"http://127.0.0.1:{free_port()}")(*words)
    assert done.code == UNREACHABLE and done.out == b"" and "DUEQ_URL" in done.complaint


@pytest.mark.parametrize("words", [("cluster", "pause"), ("forget", "b"), ("fence", "adopt")])
def test_a_request_that_is_not_answered_may_have_happened(words):
    with server(None) as url:
        done = Dueqctl(url)(*words, "--timeout", "300ms")
    assert done.code == UNKNOWN and "dueqctl nodes" in done.complaint


@pytest.mark.parametrize("words, typed, is_done", [
    (("fence", "adopt"), "y\n", True), (("fence", "adopt"), "\n", False),
    (("fence", "adopt", "--yes"), "", True)])
def test_on_a_terminal_a_takeover_of_redis_is_asked_for(words, typed, is_done):
    with server(ACCEPTED) as url, on_terminal(url, *words) as (process, person):
        person.types(typed)
        assert process.wait(PATIENCE_S) == (DONE if is_done else REFUSED)
        assert process.stdout.read() == (b"fence: adopted\n" if is_done else b"")
        assert person.has_seen("[y/N]") == (typed != "")
        assert person.has_seen("nothing was adopted") != is_done


def test_a_refusal_says_why_and_what_to_do():
    done, _, _ = ask(error(b"409 Conflict", "wrong_state", "b is not here"), "forget", "b")
    assert done.code == REFUSED and "b is not here" in done.complaint
    assert "dueqctl check" in done.complaint and "kick" not in done.complaint
    done, _, _ = ask(error(b"404 Not Found", "not_found", "no node x"), "forget", "x", "--json")
    assert done.code == NOTHING and done.json()["error"]["code"] == "not_found"


# ---- looking ----

def test_nodes_as_a_table_and_as_json():
    rows = [node_row("a"), node_row("b", store_up=False, no_failover=True),
            node_row("c", here=False, version=None), node_row("d", member=False)]
    done, lines, _ = ask(answer(page(nodes=rows, paused=True)), "nodes")
    assert lines == ["GET /v1/cluster HTTP/1.1"] and done.code == DONE
    table = [line.split() for line in done.text.splitlines()]
    assert table[0][:4] == ["NODE", "ROLE", "PRIORITY", "STORE"]
    assert [row[:4] for row in table[1:]] == [["a", "leader", "50", "up"], ["b", "standby", "50", "down"],
                                              ["c", "away", "50", "-"], ["d", "standby", "50", "up"]]
    assert table[2][-2:] == ["no", "failover"] and table[4][-3:] == ["no", "member", "yet"]
    assert "paused" in done.complaint and "dueqctl cluster resume" in done.complaint
    done, _, _ = ask(answer(page()), "nodes", "--json")
    assert done.json() == {"mode": "standby", "leader": "a", "leader_epoch": 7, "paused": False, "wanted": None,
                           "wanted_at_ms": None, "refused": None, "session": "connected",
                           "nodes": page()["nodes"]}


def test_ports_for_operators_are_shown_where_there_are_some():
    def table_of(b):
        done, _, _ = ask(answer(page(nodes=[node_row("a"), node_row("b", admin=b, fenced=True)])),
                         "nodes")
        return [line.split() for line in done.text.splitlines()]

    assert "ADMIN" not in table_of(None)[0]
    heading, a, b = table_of("b:8001")
    assert heading[-3:] == ["GMQ", "ADMIN", "NOTES"]
    assert a[-1] == "a:9503" and b[-3:] == ["b:9503", "b:8001", "fenced"]


def shared_page(**more):
    """The same where all nodes scan."""
    nodes = [node_row(name, mode="cluster", scanning=True) for name in "ab"]
    return page(**{"mode": "cluster", "nodes": nodes, **more,
                   "sharing": {"view": 4294967303, "scanners": 2, "shares": 16384,
                               "own_shares": 8200}})


def test_nodes_say_who_scans_in_cluster_mode():
    rows = [node_row("a", mode="cluster", scanning=True),
            node_row("b", mode="cluster", scanning=False),
            node_row("c", mode="standby", scanning=False),
            node_row("d", here=False, mode=None, scanning=False)]
    done, _, _ = ask(answer(shared_page(nodes=rows)), "nodes")
    table = [line.split() for line in done.text.splitlines()]
    assert table[0][:4] == ["NODE", "ROLE", "SCANS", "PRIORITY"]
    assert [row[2] for row in table[1:5]] == ["yes", "no", "no", "-"]
    assert table[3][-2:] == ["ha.mode", "standby"] and "ha.mode" not in table[4]
    assert done.text.endswith("\nView 4294967303: 2 scan, 8200 of 16384 shares are this node's.\n")
    assert "c is set to ha.mode: standby, this node to cluster" in done.complaint
    done, _, _ = ask(answer(shared_page()), "nodes")
    assert done.complaint == ""
    done, _, _ = ask(answer(shared_page()), "nodes", "--json")
    assert done.json()["mode"] == "cluster" and done.json()["sharing"]["scanners"] == 2


def test_a_node_of_the_other_mode_is_said_by_a_standby_too():
    rows = [node_row("a", mode="standby"), node_row("b", mode="cluster", scanning=True)]
    done, _, _ = ask(answer(page(nodes=rows)), "nodes")
    assert "SCANS" not in done.text and done.text.splitlines()[2].endswith("ha.mode cluster")
    assert "b is set to ha.mode: cluster, this node to standby" in done.complaint


# ---- topics and who scans them ----

def topic_row(name, owner=None, preferred=None, **more):
    return {"topic": name, "delayed": 1, "ready": 2, "reserved": 3, "dead": 4,
            "oldest_ready_age_ms": 17, "next_due_in_ms": None, "bucket": 23, "owner": owner,
            "preferred": preferred, **more}


def topics_page(*rows):
    return answer({"topics": rows, "next": None})


def test_topics_with_their_owners():
    lock = {"node": "b", "token": 1882, "left_ms": 3120, "view": 7}
    answers = topics_page(topic_row("orders", lock, "a"), topic_row("mails", None, "b"))
    done, lines, _ = ask(answers, "topics", "--owners")
    assert lines == ["GET /v1/topics?limit=1000&owners=true HTTP/1.1"]
    table = [line.split() for line in done.text.splitlines()]
    assert table[0] == ["TOPIC", "BUCKET", "OWNER", "PREFERRED", "TOKEN", "LEFT", "DELAYED",
                        "READY", "NEXT", "DUE"]
    assert table[1] == ["mails", "23", "-", "b", "-", "-", "1", "2", "-"]
    assert table[2] == ["orders", "23", "b", "a", "1882", "3.1s", "1", "2", "-"]
    assert done.complaint == ""
    done, lines, _ = ask(answers, "topics", "--owners", "--json")
    assert done.json() == {"topics": [topic_row("mails", None, "b"),
                                      topic_row("orders", lock, "a")], "unreached": []}
    _, lines, _ = ask(topics_page(), "topics")
    assert lines == ["GET /v1/topics?limit=1000 HTTP/1.1"]


def test_topics_of_buckets_that_are_not_reached_are_said_to_be_missing():
    pages = [answer({"topics": [topic_row("a", None, "a")], "next": "7.", "unreached": [3, 4]}),
             answer({"topics": [topic_row("b", None, "a")], "next": None, "unreached": [9]})]
    done, lines, _ = ask(pages, "topics", "--owners")
    assert lines[1] == "GET /v1/topics?limit=1000&owners=true&cursor=7. HTTP/1.1"
    assert done.code == DONE and done.text.count("\n") == 3
    assert "these buckets are missing: 3, 4, 9; 'dueqctl check', or the node's log" in done.complaint
    done, _, _ = ask(pages, "topics", "--owners", "--json")
    assert done.json()["unreached"] == [3, 4, 9] and done.complaint == ""


@pytest.mark.parametrize("about, said", [
    (page(), "outside ha.mode: cluster"),
    (page(mode="standalone"), "this node is alone"),
    (shared_page(), "does not know who scans"),
])
def test_why_there_are_no_owners(about, said):
    done, lines, _ = ask([topics_page(topic_row("t")), answer(about)], "topics", "--owners")
    assert lines[1:] == ["GET /v1/cluster HTTP/1.1"]
    assert done.code == DONE and said in done.complaint and done.text.count("\n") == 2


def test_owners_as_a_node_of_the_other_mode_sees_them():
    lock = {"node": "b", "token": 1882, "left_ms": 3120, "view": 7}
    done, _, _ = ask([topics_page(topic_row("t", lock)), answer(page())], "topics", "--owners")
    assert done.code == DONE and "does not know who is preferred" in done.complaint
    assert "no owners" not in done.complaint


@pytest.mark.parametrize("words", [("topics",), ("stats",)])
def test_topics_that_a_master_away_spoils_can_be_had_with_their_owners(words):
    refused = error(b"503 Service Unavailable", "unavailable", "bucket 3 cannot be used")
    done, _, _ = ask([refused], *words)
    assert done.code == REFUSED and "'dueqctl topics --owners' lists" in done.complaint
    done, _, _ = ask([refused], "topics", "--owners")
    assert done.code == REFUSED and "--owners" not in done.complaint


# ---- a store of several masters ----

def status_page(masters, unreached):
    return {"name": "a", "version": "1.0.0", "store": {"up": True, "masters": masters,
                                                       "unreached": unreached, "check": [],
                                                       "redirects": {"moved": 4}}}


def master_row(address, state="up", why=None, buckets=32):
    return {"state": state, "address": address, "why": why, "buckets": buckets, "in_flight": 1,
            "breaker": "closed"}


def test_status_says_what_the_times_of_a_cluster_are():
    document = {"name": "a", "ready": True, "store": {"up": True}, "cluster": {
        "leader": "b", "leaderless_ms": 1500, "stale_ms": 0, "wanted": "c"}}
    done, _, _ = ask(answer(document), "status")
    for line in (r"cluster without a leader for +1\.5s", r"cluster without ZooKeeper for +0",
                 r"cluster wanted as leader +c"):
        assert re.search(rf"^{line}$", done.text, re.M), done.text
    done, _, _ = ask(answer(document), "status", "--json")
    assert done.json() == document


def test_status_shows_masters_where_there_are_several():
    rows = [master_row("10.0.0.1:7001"),
            master_row("10.0.0.2:7001", "connecting", "Connection refused")]
    gone = {"buckets": [3, 7], "master": "10.0.0.2:7001", "why": "Connection refused",
            "message": "10.0.0.2:7001: Connection refused; the topics of buckets 3, 7 stand still",
            "advice": "look at that Redis"}
    done, _, _ = ask(answer(status_page(rows, [gone])), "status")
    members, table = done.text.split("\n\n")
    assert "masters" not in members and "unreached" not in members
    assert "redirects moved" in members
    lines = table.splitlines()
    assert lines[0].split() == ["MASTER", "STATE", "BUCKETS", "IN", "FLIGHT", "BREAKER", "WHY"]
    assert lines[1].split() == ["10.0.0.1:7001", "up", "32", "1", "closed"]
    assert lines[2].endswith("Connection refused")
    assert lines[3:] == ["warning: " + gone["message"], "  hint: look at that Redis"]
    done, _, _ = ask(answer(status_page(rows[1:], [gone])), "status")
    assert "MASTER" not in done.text and "masters" not in done.text and "7" not in done.text
    assert "redirects" not in done.text
    done, _, _ = ask(answer(status_page(rows, [gone])), "status", "--json")
    assert done.json()["store"]["unreached"] == [gone]


def test_no_leader_is_said():
    done, _, _ = ask(answer(page(leader=None, leader_epoch=None)), "nodes")
    assert "no node leads" in done.complaint and " leader" not in done.text


def test_what_is_not_known_is_said():
    """Without ZooKeeper a node knows itself; of the others only how it was."""
    document = page(leader=None, stale_ms=8200, leaderless_ms=9000, role="offline")
    done, _, _ = ask(answer(document), "nodes")
    assert [line.split()[:4] for line in done.text.splitlines()[1:]] == [
        ["a", "offline", "50", "up"], ["b", "unknown", "50", "-"]]
    assert "no connection to ZooKeeper for 8 s" in done.complaint
    assert "who leads is not known" in done.complaint and "no node leads" not in done.complaint
    done, _, _ = ask(answer(page(leaderless_ms=3000)), "nodes")
    assert "a holds the lead, but has not proven its lease for 3000 ms" in done.complaint


def test_a_leader_that_redis_refuses():
    document = page(nodes=[node_row("a", fenced=True), node_row("b")], leaderless_ms=3000)
    done, _, _ = ask(answer(document), "nodes")
    assert [line.split()[-1] for line in done.text.splitlines()[1:]] == ["fenced", "b:9503"]
    assert "a leads, but Redis follows another ZooKeeper ensemble" in done.complaint
    assert "proven" not in done.complaint


def test_what_operators_want_is_shown_with_its_time():
    done, _, _ = ask(answer(page(wanted="b", wanted_at_ms=1900000000000, paused=True, paused_by="c",
                                 paused_at_ms=1900000000000)), "nodes")
    assert "wants b to lead from 2030-03-17 17:46:40.000 on" in done.complaint
    assert "switchover --cancel" in done.complaint
    assert "paused since 2030-03-17 17:46:40.000, asked of c" in done.complaint
    done, _, _ = ask(answer(page(wanted="*")), "nodes")
    assert "wants another node to lead;" in done.complaint
    done, _, _ = ask(answer(page(wanted="b", forced=True)), "nodes")
    assert "wants b to lead; it is by force" in done.complaint and "--cancel" not in done.complaint


def test_history_as_a_table_and_as_json():
    document = after("b", 8, 1234)
    done, _, _ = ask(answer(document), "history")
    rows = done.text.splitlines()
    assert rows[1].split() == ["2030-03-17", "17:46:40.000", "a", "elected", "7", "-"]
    assert rows[2].split()[2:] == ["b", "elected", "8", "1.2s"]
    done, _, _ = ask(answer(document), "history", "--json")
    assert done.json() == {"history": document["history"]}


def test_check_ends_with_what_it_found():
    done, _, _ = ask(answer(page()), "check")
    assert (done.code, done.text) == (DONE, "A failover would succeed now.\n")
    findings = [{"level": "error", "message": "no other node", "advice": "start one"},
                {"level": "warning", "message": "b is old", "advice": "update it"}]
    bad = answer(page(can_fail_over=False, check=findings))
    done, _, _ = ask(bad, "check")
    assert done.code == REFUSED and done.text.splitlines() == [
        "error: no other node", "  hint: start one", "warning: b is old", "  hint: update it",
        "A failover would not succeed now."]
    done, _, _ = ask(bad, "check", "--json")
    assert done.code == REFUSED and done.json() == {"can_fail_over": False, "check": findings}


def test_no_answer_reaches_the_terminal_raw():
    evil = "\x1b]0;owned\x07"
    document = page(nodes=[node_row(evil)], leader=evil, can_fail_over=False, refused=evil,
                    check=[{"level": evil, "message": evil, "advice": evil}])
    for words in (("nodes",), ("check",)):
        done, _, _ = ask(answer(document), *words)
        assert not set(done.out + done.err) & {0x1b, 7}


# ---- requests ----

@pytest.mark.parametrize("words, path, body, said", [
    (("cluster", "pause"), "pause", None, "automatic failover: paused\n"),
    (("cluster", "resume"), "resume", None, "automatic failover: resumed\n"),
    (("forget", "b"), "forget", {"node": "b"}, "b: forgotten\n"),
    (("fence", "adopt"), "fence/adopt", None, "fence: adopted\n")])
def test_plain_requests(words, path, body, said):
    done, lines, requests = ask(ACCEPTED, *words)
    assert (done.code, done.text) == (DONE, said)
    assert lines == [f"POST /v1/cluster/{path} HTTP/1.1"]
    sent = requests[0].split(b"\r\n\r\n")[1]
    assert (json.loads(sent) if sent else None) == body
    done, _, _ = ask(ACCEPTED, *words, "--json")
    assert done.json() == {"status": "accepted"}


@pytest.mark.parametrize("words, path, body", [
    (("switchover",), "switchover", {}), (("switchover", "--to", "b"), "switchover", {"to": "b"}),
    (("failover", "--force"), "failover", {"force": True}),
    (("failover", "--force", "-t", "b"), "failover", {"force": True, "to": "b"})])
def test_another_leader_is_waited_for(words, path, body):
    wanted = answer(page(wanted="b"))
    nobody = answer(page(leader=None, leader_epoch=None))
    unwritten = answer(page(leader="b", leader_epoch=8))
    answers = [answer(page()), ACCEPTED, answer(page()), wanted, nobody, b"", unwritten,
               answer(after("b", 8, 23))]
    done, lines, requests = ask(answers, *words)
    assert done.text == "b: leads now (epoch 8); due jobs stood still for 23ms\n"
    assert done.code == DONE and lines[1] == f"POST /v1/cluster/{path} HTTP/1.1"
    assert json.loads(requests[1].split(b"\r\n\r\n")[1]) == body
    done, _, _ = ask([answer(page()), ACCEPTED, answer(after("b", 8, None))], *words, "--json")
    assert done.json() == {"leader": "b", "leader_epoch": 8, "without_leader_ms": None}


@pytest.mark.parametrize("seen", [[answer(page(wanted="b"))], []], ids=["given up", "ended unseen"])
def test_a_request_that_ends_in_vain_ends_the_waiting(seen):
    with server([answer(page()), ACCEPTED] + seen + [answer(page())] * 900) as url:
        done = Dueqctl(url)("switchover", "--json")
    assert done.code == REFUSED and "a still leads" in done.complaint
    assert done.json()["error"]["code"] == "wrong_state"


@pytest.mark.parametrize("words, leader, said", [
    (("switchover", "--to", "c"), "b", "b leads now, not c"),
    (("switchover", "--to", "c"), "a", "a leads now, not c"),
    (("failover", "--force", "--to", "c"), "b", "b leads now, not c"),
    (("switchover",), "a", "nobody took the lead over; a leads again")])
def test_another_leader_than_was_wanted_is_no_success(words, leader, said):
    """While the request stands it may still be carried out."""
    other = [answer({**after(leader, 8, 23), "wanted": "c"})] * 3 + [answer(after(leader, 8, 23))] * 900
    with server([answer(page()), ACCEPTED] + other) as url:
        done = Dueqctl(url)(*words)
    assert done.code == REFUSED and said in done.complaint and done.out == b""


def test_the_time_without_a_leader_is_that_of_the_new_one():
    """Nobody led before, and the history tells of an older change."""
    nobody = answer(page(leader=None, leader_epoch=None))
    old = answer(page(leader="b", leader_epoch=8))
    done, _, _ = ask([nobody, ACCEPTED, nobody, answer(page()), old, answer(after("b", 8, 5800))],
                     "failover", "--force")
    assert done.code == DONE
    assert done.text == "b: leads now (epoch 8); due jobs stood still for 5.8s\n"


def test_a_switchover_is_taken_back():
    done, lines, requests = ask([ACCEPTED], "switchover", "--cancel")
    assert (done.code, done.text) == (DONE, "switchover: taken back\n")
    assert json.loads(requests[0].split(b"\r\n\r\n")[1]) == {"cancel": True}
    assert Dueqctl("http://127.0.0.1:9")("switchover", "--cancel", "--to", "b").code == USAGE


def test_a_switchover_for_later_is_not_waited_for():
    at = datetime.now(timezone.utc).replace(microsecond=0) + timedelta(days=1)
    done, lines, requests = ask([ACCEPTED], "switchover", "--at", f"{at:%Y-%m-%d %H:%M:%S}")
    assert done.code == DONE and len(lines) == 1
    assert done.text == "switchover: taken down, for " + f"{at:%Y-%m-%d %H:%M:%S}.000\n"
    assert json.loads(requests[0].split(b"\r\n\r\n")[1]) == {"at_ms": int(at.timestamp()) * 1000}


# ---- events ----

def test_events_shows_how_it_is_and_what_changes():
    """The server plays node a; b tells no address."""
    answers = [answer(page(nodes=[]))]
    with server(answers) as url:
        rows = [node_row("a", http=url.removeprefix("http://")), node_row("b")]
        answers += [answer(page(nodes=rows)), answer(page(nodes=rows)),
                    answer(page(nodes=rows, role="draining", reason="switchover")),
                    answer(page(nodes=rows, role="standby", reason="handed_over", leader="b")),
                    answer(page(nodes=rows, role="standby", reason="handed_over", leader="b"))]
        with Dueqctl(url).start("events", "--json") as running:
            wait_until(lambda: len(running.out) >= 5, "a is gone")
    events = [json.loads(line) for line in running.out]
    assert [(e["node"], e["before"], e["role"], e["reason"], e["epoch"]) for e in events] == [
        ("a", None, "leader", "elected", 7), ("b", None, "unreachable", "", 0),
        ("a", "leader", "draining", "switchover", 7),
        ("a", "draining", "standby", "handed_over", 0),
        ("a", "standby", "unreachable", "", 0)]
    assert all(event["at_ms"] > 1700000000000 for event in events)


def test_events_does_not_take_one_node_for_another():
    """Both give the same address, as where each listens on loopback."""
    answers = [answer(page(nodes=[]))]
    with server(answers) as url:
        rows = [node_row(name, http=url.removeprefix("http://")) for name in ("a", "b")]
        answers += [answer(page(nodes=rows))] * 4
        with Dueqctl(url).start("events", "--json") as running:
            wait_until(lambda: len(running.out) >= 2, "both are shown")
    events = [json.loads(line) for line in running.out]
    assert [(e["node"], e["role"]) for e in events[:2]] == [("a", "leader"), ("b", "another answers")]


# ---- a node that is alone ----

def test_a_node_alone(ctl):
    assert ctl.json("nodes") == {"mode": "standalone", "leader": ctl.json("status")["name"], "leader_epoch": None,
                                 "paused": False, "refused": None, "nodes": []}
    assert "is alone, and leads" in ctl.ok("nodes").text
    assert ctl.json("history") == {"history": []}
    done = ctl("check")
    assert done.code == REFUSED and "nobody to take over" in done.text and "ha.mode" in done.text
    for words in REQUESTS:
        done = ctl(*words)
        assert done.code == REFUSED
        assert ("nothing to adopt" if words[0] == "fence" else "ha.mode is standalone") in done.complaint
    assert ctl("events").code == NOTHING
