"""Who may do what, once a node knows identities: every operation by every role, with a pattern of
topics and without; the file of identities, its mistakes and its changes; dueqctl with a token."""

import base64
import contextlib
import hashlib
import http.client
import json
import os
import re
import signal
import socket
import ssl
import threading
import urllib.request

import pytest

from harness.beanstalkd import Client, Lost
from harness.certificates import Certificates
from harness.dueqctl import DONE, REFUSED, UNKNOWN, USAGE, Dueqctl
from harness.gmq import GmqError, PythonClient
from harness.http_raw import RawHttp
from harness.http_tables import contract_in_source
from harness.node import Node
from harness.openapi import METHODS
from harness.ports import free_port
from harness.refused import said_by
from harness.wait import wait_until

ROLES = ["produce", "consume", "inspect", "operate", "admin"]
# What a request needs so that its path is looked at, and nothing else of it matters.
BODIES = {"push": b'{"body": ""}', "ackAll": b'{"leases": []}', "setSettings": b"{}",
          "pause": b"{}", "putIdentity": b'{"line": ""}'}
# Whoever may change identities may have any right: these are not for an identity with topics.
FOR_ALL_TOPICS = {"listIdentities", "putIdentity", "deleteIdentity"}


def line(name, roles, token=None, **members):
    words = [name, roles, *(f"{key}={value}" for key, value in members.items())]
    if token:
        words.append("token=" + hashlib.sha256(token.encode()).hexdigest())
    return " ".join(words) + "\n"


def identities():
    """For each role one for all topics and one for those that begin with "in"."""
    return "".join(line(role, role, f"{role}-token") +
                   line(f"{role}-in", role, f"{role}-in-token", topics="in*") for role in ROLES)


@pytest.fixture(scope="module", name="guarded")
def guarded_node(tmp_path_factory, request):
    directory = tmp_path_factory.mktemp("guarded")
    file = directory / "identities"
    file.write_text("# for the tests\n" + identities())
    file.chmod(0o600)
    node = Node(directory, {"access.file": file})
    request.node.dueq_nodes = [node]
    try:
        yield node.start()
        node.stop()
    finally:
        node.destroy()


def ask(node, method, target, token=None, body=b"", headers=""):
    if token is not None:
        headers += f"Authorization: Bearer {token}\r\n"
    with RawHttp(node.http_port) as raw:
        raw.request(method, target, body, headers)
        return raw.reply()


def operations():
    """(method, path, operationId, roles) of all that the API describes."""
    for path, item in contract_in_source().document["paths"].items():
        for method in sorted(set(METHODS) & item.keys()):
            roles = item[method].get("x-roles", [])
            yield (method.upper(), path, item[method]["operationId"],
                   ROLES if roles == ["all"] else roles)


def target_of(path, topic):
    return re.sub(r"{\w+}", "1", re.sub(r"{topics?}", topic, path))


# ---- the table ----

@pytest.mark.parametrize("method, path, name, roles", list(operations()),
                         ids=[row[2] for row in operations()])
def test_an_operation_is_for_its_roles_and_for_nobody_else(guarded, method, path, name, roles):
    """What an allowed request then comes to (no such job, no cluster here) does not matter."""
    contract = contract_in_source()

    def code_of(token, topic):
        target = target_of(path, topic)
        reply = ask(guarded, method, target, token, BODIES.get(name, b""))
        contract.check_reply(method, target, reply.status, reply.pairs, reply.body)
        is_error = reply.status >= 400
        return reply.json["error"]["code"] if is_error else str(reply.status)

    refusals = {"unauthorized", "forbidden"}
    if not roles:
        assert code_of(None, "in") not in refusals
        return
    for token in (None, "no-token-of-this-node"):
        assert code_of(token, "in") in ("unauthorized", "too_many_attempts")
    for role in ROLES:
        may, has_topic = role in roles, "{topic" in path or name in FOR_ALL_TOPICS
        assert (code_of(f"{role}-token", "out") in refusals) == (not may), role
        may_with_topics = may and name not in FOR_ALL_TOPICS
        assert (code_of(f"{role}-in-token", "in-1") in refusals) == (not may_with_topics), role
        expected = not may or has_topic
        assert (code_of(f"{role}-in-token", "out") == "forbidden") == expected, role


def test_the_table_has_every_role_and_every_path():
    rows = list(operations())
    assert len(rows) > 35
    assert {role for *_, roles in rows for role in roles} == set(ROLES)
    assert {path for _, path, _, roles in rows if not roles} == {
        "/", "/v1", "/v1/", "/v1/openapi.yaml", "/health/live", "/health/ready",
        "/health/leader", "/health/standby"} & {path for _, path, _, _ in rows}


GMQ_CALLS = {"Push": ("produce", lambda client, topic: client.push(topic, "1")),
             "Pop": ("consume", lambda client, topic: client.pop(topic)),
             "Ack": ("consume", lambda client, topic: client.ack("1"))}


@pytest.mark.parametrize("role", ROLES)
def test_gmqs_clients_act_as_the_identity_of_their_port(make_node, tmp_path, role):
    file = tmp_path / "identities"
    file.write_text(identities())
    file.chmod(0o600)
    node = make_node({"access.file": file, "gmq.as": f"{role}-in", "gmq.pop_wait": "0s"}).start()
    for method, (needed, call) in GMQ_CALLS.items():
        for topic in ("in-1", "out"):
            error = gmq_error(node, call, topic)
            is_refused = needed != role or (topic == "out" and method != "Ack")
            assert error.startswith("forbidden:") == is_refused, (method, topic, error)
    assert tokenless(node) == 2 * len(GMQ_CALLS)


def tokenless(node):
    page = ask(node, "GET", "/metrics", "inspect-token").body.decode()
    name = 'dueq_requests_without_token_total{protocol="gmq"} '
    return int(page.partition(f"\n{name}")[2].partition("\n")[0])


def gmq_error(node, call, topic):
    try:
        call(node.php_client(), topic)
    except GmqError as error:
        return str(error)
    return ""


# ---- what a role sees ----

def test_lists_and_deliveries_leave_out_what_is_not_for_the_identity(guarded):
    for topic in ("in-list", "out-list"):
        assert ask(guarded, "POST", f"/v1/topics/{topic}/jobs", "produce-token",
                   b'{"id": "1", "body": "b", "ttr_ms": 60000}').status in (201, 409)
        assert ask(guarded, "POST", f"/v1/topics/{topic}/pause", "operate-token",
                   b"{}").status == 200
    for target in ("/v1/topics?limit=1000", "/v1/settings?limit=1000"):
        def names(token, target=target):
            page = ask(guarded, "GET", target, token).json
            return {row["topic"] for row in page["topics"]}

        assert {"in-list", "out-list"} <= names("inspect-token")
        assert names("inspect-in-token") >= {"in-list"}
        assert all(name.startswith("in") for name in names("inspect-in-token"))
    for topic in ("in-list", "out-list"):
        assert ask(guarded, "POST", f"/v1/topics/{topic}/resume", "operate-token").status == 200
    after = ask(guarded, "GET", "/v1/deliveries", "inspect-token").json["next"]
    for topic in ("out-list", "in-list"):
        assert ask(guarded, "POST", f"/v1/topics/{topic}/pop?wait_ms=10000",
                   "consume-token").json["jobs"]
    def seen(token):
        page = ask(guarded, "GET", f"/v1/deliveries?after={after}&wait_ms=20000", token).json
        return [row["topic"] for row in page["deliveries"]]

    wait_until(lambda: seen("inspect-token") == ["out-list", "in-list"], "both were told")
    assert seen("inspect-in-token") == ["in-list"]


def test_metrics_name_no_topics_to_an_identity_with_topics(guarded):
    assert ask(guarded, "POST", "/v1/topics/in-metrics/jobs", "produce-token",
               b'{"body": "b"}').status == 201
    wait_until(lambda: b'topic="in-metrics"' in ask(guarded, "GET", "/metrics",
                                                   "inspect-token").body, "it is counted")
    page = ask(guarded, "GET", "/metrics", "inspect-in-token").body
    assert b'topic="in-' not in page and b'topic="*"' in page


def test_a_look_shows_no_body(guarded, tmp_path):
    assert ask(guarded, "POST", "/v1/topics/in-look/jobs", "produce-token",
               b'{"id": "7", "body": "secret words"}').status == 201
    for role in ("produce", "consume"):
        job = ask(guarded, "GET", "/v1/topics/in-look/jobs/7", f"{role}-in-token").json
        assert job["body"] == "secret words"
    reply = ask(guarded, "GET", "/v1/topics/in-look/jobs/7", "inspect-token")
    assert b"secret" not in reply.body and reply.json["body_bytes"] == 12
    contract_in_source().check_reply("GET", "/v1/topics/in-look/jobs/7", reply.status, reply.pairs,
                                     reply.body)
    token = tmp_path / "token"
    token.write_text("inspect-token\n")
    token.chmod(0o600)
    ctl = Dueqctl(guarded.url())
    assert "(not shown: " in ctl.ok("get", "in-look", "7", "--token-file", token).text
    refused = ctl("get", "in-look", "7", "--body-only", "--token-file", token)
    assert refused.code == REFUSED and refused.out == b""


# ---- clients ----

def test_clients_of_the_standard_library_and_dueqctl(guarded, tmp_path):
    request = urllib.request.Request(f"http://127.0.0.1:{guarded.http_port}/v1/access",
                                     headers={"Authorization": "Bearer operate-in-token"})
    with urllib.request.urlopen(request, timeout=30) as reply:
        assert json.load(reply) == {"name": "operate-in", "roles": ["operate"],
                                    "topics": ["in*"], "until_ms": None, "known_by": "token"}
    token = tmp_path / "token"
    token.write_text("inspect-token\n")
    token.chmod(0o600)
    url = f"http://127.0.0.1:{guarded.http_port}"
    ctl = Dueqctl(url)

    def refused():  # after a moment where the tests before have used up the address's attempts
        done = ctl("topics")
        assert done.code == REFUSED, done
        return "--token-file" in done.complaint
    wait_until(refused, "it says what is missing")
    assert ctl("topics", "--token-file", token).code == DONE
    assert ctl("token", "check", "--token-file", token, "--json").json()["name"] == "inspect"
    assert ctl("pause", "in-1", "--token-file", token).code == REFUSED
    token.chmod(0o644)
    refused = ctl("topics", "--token-file", token)
    assert refused.code == USAGE and "chmod o-r" in refused.complaint
    token.chmod(0o600)
    token.write_text("two words\n")
    assert "there is no token" in ctl("topics", "--token-file", token).complaint
    assert ctl("topics", "--token-file", tmp_path / "none").code == USAGE


def test_the_token_is_nowhere_in_the_process_list_or_the_log(make_node, tmp_path):
    file, token = tmp_path / "identities", tmp_path / "token"
    file.write_text(line("eye", "consume,inspect", "secret-token"))
    token.write_text("secret-token\n")
    for each in (file, token):
        each.chmod(0o600)
    node = make_node({"access.file": file, "log.level": "debug"}).start()
    pop = "/v1/topics/t/pop"
    assert ask(node, "POST", pop, "secret-token").status == 200
    assert ask(node, "POST", pop, "secret-tokem").status == 401
    assert ask(node, "POST", pop, "secret-token", headers="broken\r\n").status == 400
    with Dueqctl(node.url()).start("tail", "t", "--token-file", token) as waiting:
        def words():
            with open(f"/proc/{waiting.pid}/cmdline", "rb") as file:
                return file.read()

        wait_until(lambda: b"tail" in words(), "it is dueqctl")
        assert b"secret" not in words()
    assert "secret" not in node.output()


# ---- the file, over time ----

class Pusher(threading.Thread):
    """Pushes with a token that holds, until it is told to use another one, or to end."""

    def __init__(self, node, token):
        super().__init__(daemon=True)
        self.node, self.token, self.pushes, self.others, self.is_over = node, token, 0, [], False
        self.start()

    def run(self):
        while not self.is_over:
            status = ask(self.node, "POST", "/v1/topics/orders/jobs", self.token,
                         b'{"body": ""}').status
            self.pushes += status == 201
            if status != 201:
                self.others.append(status)

    def go_on(self):
        """Some more pushes."""
        before = self.pushes
        wait_until(lambda: self.pushes > before + 3 or self.others, "it pushes on")

    def end(self):
        self.is_over = True
        self.join()


def test_a_token_is_made_takes_over_and_is_revoked_while_clients_go_on(make_node, tmp_path):
    file = tmp_path / "identities"
    ctl = Dueqctl()

    def make(*words):
        made = ctl("token", "new", *words, "--file", file)
        assert made.code == DONE, made.complaint
        return made.text.strip()

    first = make("shop", "--roles", "produce", "--topics", "orders")
    ops = make("ops", "--roles", "all")
    assert file.stat().st_mode & 0o007 == 0
    assert first not in file.read_text() and ops not in file.read_text()
    node = make_node({"access.file": file}).start()

    def status(token, target="/v1/topics/orders/jobs"):
        return ask(node, "POST", target, token, b'{"body": ""}').status

    def reload_until(condition, what):
        node.process.signal(signal.SIGHUP)
        wait_until(condition, what)

    assert status(first) == 201
    pusher = Pusher(node, first)
    second = make("shop")
    reload_until(lambda: status(second) == 201, "the second token is known")
    pusher.go_on()
    pusher.token = second
    pusher.go_on()
    pusher.go_on()  # the request that was under way with the first token is over
    assert ctl("token", "revoke", "shop", "--old", "--file", file).code == DONE
    reload_until(lambda: status(first) in (401, 429), "the first token is gone")
    pusher.go_on()
    pusher.end()
    assert pusher.others == [], "no request was refused"
    assert status(second, "/v1/topics/other/jobs") == 403
    rows = ctl("token", "list", "--file", file, "--json").json()["identities"]
    assert [(row["name"], row["tokens"]) for row in rows] == [("shop", 1), ("ops", 1)]
    assert ctl("token", "revoke", "shop", "--file", file).code == DONE
    reload_until(lambda: status(second) in (401, 429), "nobody is shop any more")
    assert status(ops) == 201


def test_a_bad_file_at_a_reload_leaves_the_identities_and_says_so(make_node, tmp_path):
    file = tmp_path / "identities"
    file.write_text(line("ops", "all", "t"))
    file.chmod(0o600)
    node = make_node({"access.file": file}).start()
    file.write_text(line("ops", "all", "t") + "eve everything\n")
    node.process.signal(signal.SIGHUP)
    wait_until(lambda: "line 2: roles are produce, consume, inspect, operate, admin, with commas "
                       "between, or all; the identities of before hold" in node.output(),
               "the log says so")
    assert ask(node, "GET", "/v1/topics", "t").status == 200
    assert ask(node, "GET", "/v1/topics").status == 401


def test_a_worker_that_finds_a_bad_file_lets_nobody_in(make_node, tmp_path):
    """A node must not open because its file broke."""
    file = tmp_path / "identities"
    file.write_text(line("ops", "all", "t"))
    file.chmod(0o600)
    node = make_node({"access.file": file}).start()
    file.unlink()
    worker = node.worker_pid
    node.kill("worker")
    wait_until(lambda: node.worker_pid not in (None, worker), "the warden has a new worker")
    node.wait_ready()
    assert ask(node, "GET", "/v1/topics", "t").status == 401
    file.write_text(line("ops", "all", "t"))
    file.chmod(0o600)
    node.process.signal(signal.SIGHUP)
    wait_until(lambda: ask(node, "GET", "/v1/topics", "t").status == 200, "it is mended")


@pytest.mark.parametrize("mode, text, said", [
    (0o602, line("a", "all"), "others may write it; chmod go-w"),
    (0o620, line("a", "all"), "others may write it; chmod go-w"),
    (0o600, "a\n", "line 1: roles are"),
    (0o600, "ops all topics=ord", "line 1: it does not end: was the file cut short?"),
    (0o600, line("a", "all") + line("a", "all"), "there are two identities a"),
    (None, "", "cannot open it: No such file or directory"),
])
def test_a_node_does_not_start_with_a_file_that_is_wrong(make_node, tmp_path, mode, text, said):
    file = tmp_path / "identities"
    if mode is not None:
        file.write_text(text)
        file.chmod(mode)
    assert f"access.file: {file}: " in said_by(make_node({"access.file": file}))
    assert said in said_by(make_node({"access.file": file}))


def test_a_file_that_all_may_read_is_warned_of(make_node, tmp_path):
    file = tmp_path / "identities"
    file.write_text(line("a", "all", "t"))
    file.chmod(0o644)
    node = make_node({"access.file": file}).start()
    assert "everybody on this machine may read it (mode 0644): chmod o-r" in node.output()
    assert ask(node, "GET", "/v1/topics", "t").status == 200


def test_the_last_identity_gone_does_not_open_the_node(make_node, tmp_path):
    file = tmp_path / "identities"
    file.write_text(line("ops", "all", "t"))
    file.chmod(0o600)
    node = make_node({"access.file": file}).start()
    assert Dueqctl()("token", "revoke", "ops", "--file", file).code == DONE
    node.process.signal(signal.SIGHUP)
    wait_until(lambda: "0 identities are known" in node.output(), "the node has read it")
    assert ask(node, "GET", "/v1/topics", "t").status == 401
    assert ask(node, "GET", "/v1/topics").status == 401


def test_a_first_file_that_is_bad_changes_nothing_and_says_so(make_node, tmp_path):
    file, path = tmp_path / "identities", tmp_path / "dueq.yaml"
    path.write_text("log: {level: info}\n")
    node = make_node()
    node.argv = lambda argv=node.argv: [*argv(), "--config", path]
    node.start()
    file.write_text("nonsense\n")
    file.chmod(0o600)
    path.write_text(f"access: {{file: {file}}}\n")
    node.process.signal(signal.SIGHUP)
    wait_until(lambda: "there are no identities, as before" in node.output(), "it is said")
    assert ask(node, "GET", "/v1/topics").status == 200
    file.write_text(line("ops", "all", "t"))
    node.process.signal(signal.SIGHUP)
    wait_until(lambda: ask(node, "GET", "/v1/topics").status == 401, "from now on it asks")
    assert ask(node, "GET", "/v1/topics", "t").status == 200


def test_changes_at_the_same_time_are_all_there(tmp_path):
    file = tmp_path / "identities"
    runs = [Dueqctl().start("token", "new", f"n{i}", "--roles", "produce", "--file", file)
            for i in range(12)]
    for run in runs:
        with run:
            run.wait()
    rows = Dueqctl().json("token", "list", "--file", file)["identities"]
    assert sorted(row["name"] for row in rows) == sorted(f"n{i}" for i in range(12))


def test_the_file_that_is_changed_is_the_one_that_a_link_names(tmp_path):
    file, link = tmp_path / "identities", tmp_path / "link"
    file.write_text("# kept\r\n" + line("a", "all", "t")[:-1] + "\r\n")
    file.chmod(0o640)
    link.symlink_to(file)
    assert Dueqctl()("token", "revoke", "a", "--file", link).code == DONE
    assert link.is_symlink() and file.read_bytes() == b"# kept\n"
    assert file.stat().st_mode & 0o777 == 0o640
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    done = Dueqctl()("token", "new", "a", "--roles", "all", "--file", fifo)
    assert done.code == REFUSED and "is not a regular file" in done.complaint


def test_a_token_that_is_lost_on_its_way_out_may_be_in_the_file(tmp_path):
    done = Dueqctl().on_full_disk("token", "new", "a", "--roles", "all", "--file",
                                  str(tmp_path / "identities"))
    assert done.code == UNKNOWN


def test_a_flood_without_valid_tokens_does_not_fill_the_audit_log(make_node, tmp_path):
    file, log = tmp_path / "identities", tmp_path / "audit"
    file.write_text(line("ops", "operate", "o"))
    file.chmod(0o600)
    node = make_node({"access.file": file, "log.audit": log}).start()
    statuses = [ask(node, "POST", "/v1/topics/t/resume", token).status
                for token in ["wrong", None] * 30]
    assert statuses.count(401) + statuses.count(429) == 60
    assert len(log.read_text().splitlines()) == statuses.count(401) < 60


def test_operators_have_names_in_the_audit_log(make_node, tmp_path):
    file, log = tmp_path / "identities", tmp_path / "audit"
    file.write_text(line("ops", "operate", "o") + line("shop", "produce", "s"))
    file.chmod(0o600)
    node = make_node({"access.file": file, "log.audit": log}).start()
    for token in ("o", "s", None, "wrong"):
        ask(node, "POST", "/v1/topics/t/resume", token)
    entries = [json.loads(row) for row in log.read_text().splitlines()]
    assert [(row["who"], row["status"]) for row in entries] == [
        ("ops", 200), ("shop", 403), (None, 401), (None, 401)]
    assert os.path.getsize(log) and "Bearer" not in log.read_text()


# ---- an identity that goes, and its limits ----

def test_a_long_poll_ends_when_its_identity_goes_and_loses_no_job(make_node, tmp_path):
    file = tmp_path / "identities"
    ops = line("ops", "all", "ops-token")
    file.write_text(line("shop", "consume", "shop-token") + ops)
    file.chmod(0o600)
    node = make_node({"access.file": file}).start()
    with RawHttp(node.http_port) as gone, RawHttp(node.http_port) as stays:
        for raw, token in ((gone, "shop-token"), (stays, "ops-token")):
            raw.request("POST", "/v1/topics/t/pop?wait_ms=60000", b"",
                        f"Authorization: Bearer {token}\r\n")
        wait_until(lambda: waiting(node) == 2, "both wait")
        file.write_text(ops)
        node.process.signal(signal.SIGHUP)
        assert json.loads(gone.reply().body)["jobs"] == []
        assert waiting(node) == 1, "the other one still does"
        assert ask(node, "POST", "/v1/topics/t/jobs", "ops-token", b'{"body": "b"}').status == 201
        assert json.loads(stays.reply().body)["jobs"][0]["tries"] == 0
        gone.request("POST", "/v1/topics/t/pop", b"", "Authorization: Bearer shop-token\r\n")
        assert gone.reply().status == 401


def waiting(node):
    reply = ask(node, "GET", "/metrics", "ops-token")
    return int(re.search(rb"^dueq_consumers_waiting (\d+)", reply.body, re.M)[1])


def test_dueqctl_sets_limits_of_an_identity(tmp_path):
    file, ctl = tmp_path / "identities", Dueqctl("http://127.0.0.1:1")
    new = ["token", "new", "shop", "--file", file]
    words = ["--roles", "all", "--rate", "50", "--connections", "5", "--bytes", "16MiB"]
    assert ctl(*new, *words).code == DONE
    assert " rate=50 connections=5 bytes=16MiB\n" in file.read_text()
    assert ctl(*new, "--rate", "0", "--bytes", "1KiB").code == DONE
    assert " connections=5 bytes=1KiB\n" in file.read_text()
    assert ctl(*new, "--rate", "many").code == USAGE


# ---- clients' certificates ----

@pytest.fixture(scope="module", name="certified")
def certificates_of_clients(tmp_path_factory):
    return Certificates(tmp_path_factory.mktemp("certificates"))


def certified_node(make_node, certificates, file, **more):
    return make_node({**certificates.settings(http="optional", gmq="optional"),
                      "tls.client_ca": certificates.ca, "tls.client": "optional",
                      "access.file": file, **more})


def seen_as(node, context, token=None, raw=None):
    """As whom the node sees a request, and by what; the status where it is refused."""
    headers = f"Authorization: Bearer {token}\r\n" if token else ""
    with contextlib.ExitStack() as stack:
        raw = raw or stack.enter_context(RawHttp(node.http_port, context=context))
        raw.request("GET", "/v1/access", b"", headers)
        reply = raw.reply()
        if reply.status != 200:
            return reply.status
        answer = json.loads(reply.body)
        return answer["name"], answer["known_by"]


def test_a_certificate_is_an_identity(make_node, certified, tmp_path):
    file = tmp_path / "identities"
    file.write_text(line("shop", "produce,consume", "shop-token", topics="orders") +
                    line("mill", "produce", cert="DNS:Client.dueq", topics="flour") +
                    line("guest", "inspect"))
    file.chmod(0o600)
    node = certified_node(make_node, certified, file, **{"http.as": "guest"}).start()
    shown = certified.context(certified.client, certified.client_key)
    bare = certified.context()
    assert seen_as(node, shown) == ("mill", "certificate")
    assert seen_as(node, bare) == ("guest", "port")
    assert seen_as(node, None) == ("guest", "port")
    assert seen_as(node, shown, "shop-token") == ("shop", "token")
    assert seen_as(node, shown, "wrong") == 401
    with PythonClient(node.gmq_port, shown) as client:
        assert client.push("flour", "1") == "success"
        with pytest.raises(GmqError, match=r"forbidden: the identity of this client's certificate"):
            client.push("orders", "2")
    with PythonClient(node.gmq_port, bare) as client, \
            pytest.raises(GmqError, match=r"forbidden: the identity of this port .*gmq\.as"):
        client.push("flour", "3")


def ask_lmstfy(port, context, method, target, body=None):
    connection = http.client.HTTPSConnection("localhost", port, timeout=20, context=context)
    with contextlib.closing(connection):
        connection.request(method, target, body)
        reply = connection.getresponse()
        text = reply.read()
        return reply.status, json.loads(text) if text else None


def test_a_certificate_is_an_identity_of_other_protocols_too(make_node, certified, tmp_path):
    file = tmp_path / "identities"
    file.write_text(line("mill", "produce,consume", cert="DNS:client.dueq", topics="ns/*"))
    file.chmod(0o600)
    tubes, queues = free_port(), free_port()
    make_node({"beanstalkd.listen": f"127.0.0.1:{tubes}", "lmstfy.listen": f"127.0.0.1:{queues}",
               **certified.settings(beanstalkd="required", lmstfy="required"),
               "tls.client_ca": certified.ca, "tls.client": "optional", "access.file": file}).start()
    shown, bare = certified.context(certified.client, certified.client_key), certified.context()
    with Client(tubes, context=shown) as client:
        client.ask("use ns/flour")
        assert client.ask("put 0 0 60 3", b"one").startswith(b"INSERTED ")
        status, job = ask_lmstfy(queues, shown, "GET", "/api/ns/flour")
        assert (status, base64.b64decode(job["data"])) == (200, b"one")
        assert ask_lmstfy(queues, shown, "PUT", "/api/ns/bread", b"two" * 10_000)[0] == 201
        client.ask("watch ns/bread")
        reply = client.ask("reserve")
        assert reply.endswith(b"\r\n" + b"two" * 10_000)
        assert client.ask(f"delete {reply.split()[1].decode()}") == b"DELETED"
        client.ask("use others")
        assert client.ask("put 0 0 60 3", b"one") == b"FORBIDDEN"
    assert ask_lmstfy(queues, shown, "PUT", "/api/others/bread", b"x")[0] == 401
    assert ask_lmstfy(queues, bare, "PUT", "/api/ns/bread", b"x")[0] == 401
    with Client(tubes, context=bare) as client:
        client.ask("use ns/flour")
        assert client.ask("put 0 0 60 3", b"one") == b"FORBIDDEN"
    with Client(tubes) as client, pytest.raises(Lost):  # it speaks plain
        client.ask("stats")


def test_a_certificate_holds_until_its_identity_goes_also_on_a_kept_connection(
        make_node, certified, tmp_path):
    file = tmp_path / "identities"
    mill = line("mill", "produce", cert="DNS:client.dueq")
    other = line("other", "produce", cert="URI:acme:other")
    file.write_text(mill + other)
    file.chmod(0o600)
    node = certified_node(make_node, certified, file).start()
    shown = certified.context(certified.client, certified.client_key)
    with RawHttp(node.http_port, context=shown) as raw:
        assert seen_as(node, shown, raw=raw) == ("mill", "certificate")
        file.write_text(other)
        node.process.signal(signal.SIGHUP)
        wait_until(lambda: seen_as(node, shown, raw=raw) in (401, 429), "it is nobody any more")
        file.write_text(mill.replace("mill", "miller") + other)
        node.process.signal(signal.SIGHUP)
        wait_until(lambda: seen_as(node, shown, raw=raw) == ("miller", "certificate"), "it is back")


def test_a_certificate_is_known_again_where_tls_is_resumed(make_node, certified, tmp_path):
    file = tmp_path / "identities"
    file.write_text(line("mill", "produce", cert="DNS:client.dueq"))
    file.chmod(0o600)
    node = certified_node(make_node, certified, file).start()
    shown = certified.context(certified.client, certified.client_key)
    shown.maximum_version = ssl.TLSVersion.TLSv1_2
    session = None
    for is_resumed in (False, True):
        with socket.create_connection(("127.0.0.1", node.http_port), 10) as plain, \
                shown.wrap_socket(plain, server_hostname="localhost", session=session) as client:
            client.sendall(b"GET /v1/access HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert b'"known_by":"certificate"' in client.recv(4096)
            assert client.session_reused == is_resumed
            session = client.session


def test_dueqctl_names_a_certificate(make_node, certified, tmp_path):
    file = tmp_path / "identities"
    ctl = Dueqctl("http://127.0.0.1:1")
    done = ctl("token", "new", "mill", "--roles", "all", "--san", "DNS:client.dueq", "--file", file)
    assert done.code == DONE and done.text == "", done
    made = ctl("token", "new", "mill", "--file", file)
    (tmp_path / "token").write_text(made.text)
    (tmp_path / "token").chmod(0o600)
    assert "cert=DNS:client.dueq" in file.read_text(), "a new token leaves the certificate"
    assert "DNS:client.dueq" in ctl.ok("token", "list", "--file", file).text
    assert ctl("token", "new", "x", "--roles", "all", "--san", "CN=x", "--file", file).code == USAGE
    file.chmod(0o600)
    node = certified_node(make_node, certified, file).start()
    ctl = Dueqctl(f"https://localhost:{node.http_port}")
    words = ["--ca", certified.ca, "--cert", certified.client, "--key", certified.client_key]
    assert "certificate" in ctl.ok("token", "check", *words).text
    assert "token" in ctl.ok("token", "check", "--token-file", tmp_path / "token", *words).text
