"""The judge of locks, with planted violations; and what Redis's own files say of locks and moves,
as a real Redis writes them."""

import struct

import pytest

from harness.ports import free_port
from harness.wait import wait_until
from judge.aof import AofTail, parse_command
from judge.journal import Journal, Lock, LockedMove, Unlock
from judge.judge import judge
from judge.ledger import Ledger

LOCK_MS = 5000


def lock(place, node, view, token, until, owner=None, topic="t"):
    return Lock(_place(place), "{7}", topic, node, owner or f"owner-{node}", view, token, until)


def move(place, node, at, topic="t", is_known=True):
    return LockedMove(_place(place), "{7}", topic, "a", node, at, None, is_known)


def gone(place, is_known=True):
    return Unlock(_place(place), "{7}", "t", is_known)


def _place(place):
    """A number alone is one in the only file of the only Redis."""
    return place if isinstance(place, tuple) else ("redis", 1, place)


FIRST = lock(1, "n1", 3, 10, 6000)

INNOCENT = {
    "moved by who has the lock": [FIRST, move(2, "n1", 1500)],
    "at its very end": [FIRST, move(2, "n1", 6000)],
    "renewed": [FIRST, lock(2, "n1", 3, 10, 9000), move(3, "n1", 8000)],
    "renewed in a newer view": [FIRST, lock(2, "n1", 4, 10, 9000), move(3, "n1", 8000)],
    "taken over in a newer view": [
        FIRST, move(2, "n1", 1500), lock(3, "n2", 4, 11, 7000), move(4, "n2", 2001)],
    "taken when it was over": [FIRST, lock(2, "n2", 4, 11, 11_001), move(3, "n2", 6001)],
    "taken late, by one after the other": [
        lock(1, "n1", 0, 10, 6000), lock(2, "n2", 0, 11, 11_001), move(3, "n2", 6001)],
    "taken late, and then by whose it is": [
        FIRST, lock(2, "n2", 0, 11, 11_001), lock(3, "n1", 3, 12, 11_002)],
    "taken in an older view when it was over": [
        FIRST, lock(2, "n2", 1, 11, 11_000), move(3, "n2", 6000)],
    "taken when Redis had let it go": [
        FIRST, gone(2), lock(3, "n2", 0, 11, 11_001), move(4, "n2", 6001)],
    "another process of the node, in a newer view": [
        FIRST, lock(2, "n1", 4, 11, 7000, owner="another")],
    "it came from another Redis, and who has it is not known": [
        gone(1, is_known=False), move(2, "n2", 2000)],
    "renewed where it came from another Redis, and a newer one was given since": [
        lock(1, "n2", 3, 12, 6000, topic="u"), gone(2, is_known=False), lock(3, "n1", 3, 10, 7000)],
    "the file begins with a copy": [move(1, "n2", 2000, is_known=False)],
    "of two topics each has its own": [
        FIRST, lock(2, "n2", 3, 11, 6000, topic="u"), move(3, "n1", 1500),
        move(4, "n2", 1500, topic="u")],
    "two Redis, each with its own order": [
        FIRST, lock(("other", 1, 1), "n2", 4, 5, 6000), move(("other", 1, 2), "n2", 1500),
        move(2, "n1", 1500)],
    "a new copy makes what was known unknown": [
        FIRST, move(("redis", 2, 2), "n2", 1500, is_known=False)],
}

GUILTY = {
    "moved by who has no lock": ("UNLOCKED", [move(1, "n1", 1500)]),
    "moved by another": ("UNLOCKED", [FIRST, move(2, "n2", 1500)]),
    "moved by who had it before": (
        "UNLOCKED", [FIRST, lock(2, "n2", 4, 11, 7000), move(3, "n1", 2001)]),
    "moved with a lock that is over": ("UNLOCKED", [FIRST, move(2, "n1", 6001)]),
    "moved with a lock that Redis has let go": (
        "UNLOCKED", [FIRST, gone(2), move(3, "n1", 5000)]),
    "moved with the lock of another topic": (
        "UNLOCKED", [FIRST, move(2, "n1", 1500, topic="u")]),
    "taken over in the same view": ("LOCK_SEIZED", [FIRST, lock(2, "n2", 3, 11, 7000)]),
    "taken over in an older view": ("LOCK_SEIZED", [FIRST, lock(2, "n2", 2, 11, 7000)]),
    "taken over a moment before its end": ("LOCK_SEIZED", [FIRST, lock(2, "n2", 3, 11, 10_999)]),
    "seized by another process of the same node": (
        "LOCK_SEIZED", [FIRST, lock(2, "n1", 3, 11, 7000, owner="another")]),
    "taken over with the token of before": ("LOCK_TOKEN", [FIRST, lock(2, "n2", 4, 10, 7000)]),
    "taken with a token that was given in the bucket before": (
        "LOCK_TOKEN", [FIRST, lock(2, "n2", 4, 9, 7000, topic="u")]),
    "renewed with another, older token": ("LOCK_TOKEN", [FIRST, lock(2, "n1", 3, 9, 7000)]),
    "renewed in an older view": ("LOCK_VIEW", [FIRST, lock(2, "n1", 2, 10, 9000)]),
    "renewed by who only keeps it, in the view of whose it is": (
        "LOCK_VIEW", [FIRST, lock(2, "n1", 4, 10, 9000), lock(3, "n2", 4, 11, 14_001)]),
    "taken when it was over by whose it is not": (
        "LOCK_VIEW", [FIRST, lock(2, "n2", 3, 11, 11_001)]),
}


def rules(events):
    journal = Journal()
    journal.add(*events)
    return sorted({each.rule for each in judge(journal, lock_ms=LOCK_MS).violations})


@pytest.mark.parametrize("events", INNOCENT.values(), ids=INNOCENT)
def test_acquits(events):
    assert rules(events) == []


@pytest.mark.parametrize("rule, events", GUILTY.values(), ids=GUILTY)
def test_sees(rule, events):
    assert rules(events) == [rule]


def test_without_locks_another_rule_holds():
    journal = Journal()
    journal.add(move(1, "n1", 1500))
    assert judge(journal).violations == []


# ---- Redis's files ----

HEAD = struct.Struct(">BBHIHIH")
PUSHED, DUE = 0, 2

SCAN = """
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
redis.call('XADD', KEYS[2], '*', 'e', ARGV[3])
redis.call('XADD', KEYS[2], '*', 'e', ARGV[4])
"""


def lock_value(node, view, token, until_ms):
    return (b"%016x" % view + b"0123456789abcdef" + until_ms.to_bytes(6, "big")
            + token.to_bytes(7, "big") + node)


def line(event, now, at, topic=b"t:u", id=b"a", node=b"n1"):
    head = HEAD.pack(event, 0, now >> 32, now & 0xffffffff, at >> 32, at & 0xffffffff, 0)
    return head + b"".join(bytes([len(each)]) + each for each in (topic, id, node, b"c"))


def scan(client, view, now, lock_ms=60_000):
    """As a scan does it, in one script: the lock of a topic, and a job that it moves."""
    client.eval(SCAN, 2, "dq:{7}:l:t:u", "dq:{7}:h", lock_value(b"n1", view, 9, now + lock_ms),
                lock_ms, line(PUSHED, now - 500, now - 7), line(DUE, now, 0))


def test_a_ledger_reads_what_a_script_did_and_goes_on_where_it_ended(make_redis):
    server = make_redis(appendonly="yes", appendfsync="always")
    ledger, now = Ledger({"r": server.directory}), 1_800_000_000_000
    assert ledger.read() == []
    with server.client() as client:
        scan(client, 3, now)
        assert [type(each) for each in ledger.read()] == [Lock, LockedMove]
        found, moved = ledger.events
        assert (found.bucket, found.topic, found.node, found.owner, found.view, found.token,
                found.until_ms) == ("{7}", "t:u", "n1", "0123456789abcdef", 3, 9, now + 60_000)
        assert (moved.topic, moved.id, moved.node, moved.redis_ms, moved.due_ms, moved.is_known) \
            == ("t:u", "a", "n1", now, now - 7, True)
        assert ledger.read() == []
        scan(client, 4, now + 1000)
        client.unlink("dq:{7}:l:t:u")
    assert [type(each) for each in ledger.read()] == [Lock, LockedMove, Unlock]
    assert ledger.locks["t:u"].view == 4
    assert [late.late_ms for late in ledger.moved_late(now - 100, now)] == [7]
    server.stop()
    server.start()
    with server.client() as client:
        scan(client, 5, now + 2000)
    assert ledger.locks["t:u"].view == 4
    assert [type(each) for each in ledger.read()] == [Lock, LockedMove]
    ledger.close()


def test_a_push_may_be_in_another_redis_than_the_move(make_redis):
    servers = [make_redis(appendonly="yes", appendfsync="always") for _ in range(2)]
    for order in (servers, servers[::-1]):
        ledger = Ledger({each.directory.name: each.directory for each in order})
        if order is servers:
            for server, record in zip(servers, (line(PUSHED, 500, 993), line(DUE, 1000, 0))):
                with server.client() as client:
                    client.xadd("dq:{7}:h", {"e": record})
        assert [each.due_ms for each in ledger.read()] == [993]
        ledger.close()


def test_a_lock_that_runs_out_is_seen_to_be_gone(make_redis):
    server = make_redis(appendonly="yes", appendfsync="always")
    ledger = Ledger({"r": server.directory})
    with server.client() as client:
        scan(client, 3, 1_800_000_000_000, lock_ms=1)
        wait_until(lambda: not client.exists("dq:{7}:l:t:u"), "it is over")
    wait_until(lambda: any(isinstance(each, Unlock) for each in ledger.read()), "that is written")
    ledger.close()


def test_a_replica_that_gets_a_copy_says_that_it_does_not_know(make_redis):
    first = make_redis(appendonly="yes", appendfsync="always", **{"repl-diskless-sync-delay": 0})
    other = make_redis(appendonly="yes", appendfsync="always", port=0)
    ledger, now = Ledger({"other": other.directory}), 1_800_000_000_000
    with first.client() as client, other.client() as copy:
        scan(copy, 1, now)
        assert len(ledger.read()) == 2
        port = _listen(client)
        for is_known in (True, False):  # of nothing, of something
            _replicate(copy, port)
            scan(client, 3, now)
            client.wait(1, 0)
            events = wait_until(ledger.read, "it is written")
            assert [type(each) for each in events] == [Lock, LockedMove]
            assert [each.is_known for each in events] == [is_known] * 2
            assert events[-1].place[1] > 1
            copy.execute_command("REPLICAOF", "NO", "ONE")
            copy.set("another", "history")
    ledger.close()


def _replicate(copy, port):
    copy.execute_command("REPLICAOF", "127.0.0.1", port)
    wait_until(lambda: copy.info("replication")["master_link_status"] == "up"
               and not copy.info("persistence")["aof_rewrite_in_progress"], "it has a copy")


def _listen(client):
    """On a port that the system gives."""
    port = free_port()
    client.config_set("port", port)
    return port


def test_a_stroke_that_is_not_whole_waits_for_its_rest(tmp_path):
    folder = tmp_path / "appendonlydir"
    folder.mkdir()
    (folder / "appendonly.aof.manifest").write_text(
        "file appendonly.aof.1.incr.aof seq 1 type i\n")
    text = (b"#TS:1700000000\r\n" + _resp(b"MULTI") + _resp(b"SET", b"k", b"\r\n*3\r\n")
            + _resp(b"DEL", b"k") + _resp(b"EXEC") + _resp(b"DEL", b"x"))
    strokes, aof, path = [], AofTail(tmp_path), folder / "appendonly.aof.1.incr.aof"
    path.touch()
    for at in range(len(text)):
        with open(path, "ab") as file:
            file.write(text[at:at + 1])
        strokes += aof.strokes()
    assert strokes == [[[b"SET", b"k", b"\r\n*3\r\n"], [b"DEL", b"k"]], [[b"DEL", b"x"]]]
    assert parse_command(text, len(text)) == (None, len(text))
    aof.close()


def _resp(*words):
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word)
                                              for word in words)
