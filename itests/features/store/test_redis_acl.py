"""A user of Redis's own for the nodes: the rights that doc/security.md gives are enough for all that a
node does, and it starts with none of them missing."""

import json
import re

import pytest

from harness.build import ROOT
from harness.http_raw import RawHttp
from harness.redis_server import RedisServer
from harness.refused import said_by
from harness.wait import wait_until

PASSWORD = "for-the-nodes"


def rights():
    """The words of the page's ACL SETUSER, without the name."""
    page = (ROOT / "doc/security.md").read_text(encoding="utf-8")
    command = re.search(r"ACL SETUSER dueq (.*?)```", page, re.S)[1]
    return command.replace("\\\n", " ").replace("PASSWORD", PASSWORD).split()


@pytest.fixture(name="server")
def redis_with_a_user(tmp_path):
    server = RedisServer(tmp_path / "redis", appendonly="yes").start()
    server.client().execute_command("ACL", "SETUSER", "dueq", *rights())
    try:
        yield server
    finally:
        server.destroy()


def settings(server, directory, password=PASSWORD):
    secret = directory / "redis-password"
    secret.write_text(password + "\n")
    secret.chmod(0o600)
    return {"store.redis": server.address, "store.user": "dueq", "store.password_file": secret}


def denied(server):
    """[(what, why)] that Redis has refused to the user."""
    return [(row["object"], row["reason"]) for row in server.client().acl_log()]


def ask(node, method, target, body=None):
    with RawHttp(node.http_port) as raw:
        raw.request(method, target, b"" if body is None else json.dumps(body).encode())
        reply = raw.reply()
    assert reply.status < 300, (method, target, reply.status, reply.body)
    return reply.json if reply.status == 200 else None


def live(node):
    """Each script of the store at least once."""
    jobs = "/v1/topics/t/jobs"
    ask(node, "PATCH", "/v1/topics/t/settings",
        {"history": True, "max_tries": 5, "max_jobs": 100, "max_bytes": 100})
    ask(node, "POST", jobs, {"id": "1", "body": "b", "ttr_ms": 60000})
    ask(node, "POST", jobs, {"id": "2", "body": "b", "priority": 5, "ttl_ms": 600000})
    ask(node, "POST", jobs, [{"id": "3", "body": "b"}, {"id": "4", "body": "b", "delay_ms": 10**7}])
    ask(node, "POST", jobs, {"id": "4", "body": "c", "delay_ms": 10**7, "mode": "replace"})
    for target in (jobs, f"{jobs}/1", "/v1/topics/t", "/v1/topics", "/v1/settings"):
        ask(node, "GET", target)
    ask(node, "POST", "/v1/topics/t/pause", {"for_ms": 60000})
    ask(node, "POST", "/v1/topics/t/resume")
    ask(node, "POST", f"{jobs}/4/reschedule", {"delay_ms": 1})
    leases = {}
    while len(leases) < 4:
        page = ask(node, "POST", "/v1/topics/t/pop?count=4&wait_ms=20000&ttr_ms=60000")
        leases.update((job["id"], job["lease"]) for job in page["jobs"])
    ask(node, "POST", f"{jobs}/1/touch", {"lease": leases["1"], "ttr_ms": 1000})
    ask(node, "POST", f"{jobs}/2/release", {"lease": leases["2"], "delay_ms": 1})
    ask(node, "POST", f"{jobs}/3/bury", {"lease": leases["3"]})
    ask(node, "POST", f"{jobs}/4/ack", {"lease": leases["4"]})
    ask(node, "POST", f"{jobs}/3/kick")
    wait_until(lambda: ask(node, "GET", f"{jobs}/1")["state"] == "ready", "its TTR is over")
    ask(node, "POST", f"{jobs}/1/run")
    ask(node, "DELETE", f"{jobs}/1")
    ask(node, "POST", "/v1/topics/t/kick", {})
    ask(node, "POST", "/v1/topics/t/purge", {"states": ["delayed", "ready", "dead"]})
    ask(node, "GET", f"{jobs}/1/history")
    ask(node, "POST", jobs, {"id": "5", "body": "b", "delay_ms": 10**9})
    client = node.php_client()
    client.push("g", "g1", ttr=60)
    assert client.pop_patiently("g")["id"] == "g1"
    client.ack("g1")


def test_the_rights_of_the_page_are_enough(server, make_node, tmp_path):
    node = make_node({**settings(server, tmp_path), "queue.audit_rate": 100000}).start()
    live(node)
    wait_until(lambda: node.metrics()["dueq_audited_total"] > 0, "jobs were audited")
    assert denied(server) == []
    assert "NOPERM" not in node.output()


def test_the_rights_name_what_the_scripts_call():
    """So that none is forgotten that no test calls, and none stays that nothing needs."""
    given = {word[1:].partition("|")[0] for word in rights() if word[0] == "+"}
    scripts = "".join(path.read_text(encoding="utf-8")
                      for path in (ROOT / "node/store/redis/lua").rglob("*.lua"))
    code = re.sub(r"--.*", "", scripts)
    called = {word.lower() for word in re.findall(r"call\(\s*'([A-Z]+)'", code)}
    assert called and called <= given, called - given
    named = {word.lower() for word in re.findall(r"'([A-Z]+)'", code)}
    of_the_connection = {"ping", "info", "config", "scan", "script", "eval", "evalsha", "subscribe",
                         "wait"}
    assert given - named <= of_the_connection, given - named - of_the_connection


def test_the_user_reaches_no_key_of_others(server):
    client = server.client()
    client.set("other:1", "x")
    client.execute_command("AUTH", "dueq", PASSWORD)
    for words in (["GET", "other:1"], ["FLUSHALL"], ["KEYS", "*"], ["CONFIG", "SET", "save", ""],
                  ["ACL", "LIST"], ["SHUTDOWN"], ["REPLICAOF", "NO", "ONE"]):
        with pytest.raises(Exception, match="no permissions"):
            client.execute_command(*words)


def test_a_wrong_password_of_the_user_says_so(server, make_node, tmp_path):
    assert "WRONGPASS" in said_by(make_node(settings(server, tmp_path, "wrong")))


def test_a_user_without_a_password_or_of_the_embedded_redis_is_a_mistake(make_node):
    assert "store.user" in said_by(make_node({"store.user": "dueq"}))
    assert "needs a password: store.password_file" in said_by(
        make_node({"store.user": "dueq", "store.redis": "127.0.0.1:1"}))
