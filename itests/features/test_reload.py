"""SIGHUP: what can change while the node runs does, what cannot is named, and a mistake
changes nothing."""

import json
import os
import pathlib
import re
import signal
import socket
import time
import urllib.error
import urllib.request

import pytest

from harness.dueqctl import Dueqctl
from harness.gmq import GmqError, request
from harness.ports import free_port
from harness.wait import wait_until

OPERATIONS = pathlib.Path(__file__).parents[2] / "doc" / "operations" / "node.md"


def configured_node(make_node, text):
    """A node with a file of its own, and a function that writes the file anew and reloads."""
    node = make_node()
    path = node.directory / "dueq.yaml"
    path.write_text(text)
    node.argv = lambda argv=node.argv: [*argv(), "--config", path]

    def reload(new_text):
        path.write_text(new_text)
        node.process.signal(signal.SIGHUP)

    return node.start(), reload


def test_what_can_change_does_and_what_cannot_or_is_wrong_is_named(make_node):
    node, reload = configured_node(make_node, "store:\n  buckets: 64\nlog:\n  level: info\n")

    def is_debugging():
        with node.python_client() as client:
            client.pop_or_none("topic")
        return " debug " in node.output()

    reload("log:\n  level: debug\n  nonsense: 1\n")
    wait_until(lambda: "log.nonsense" in node.output(), "the log names the mistake")
    assert not is_debugging(), "a mistake changes nothing"
    reload("store:\n  buckets: 32\nlog:\n  level: debug\n  file: /nonexistent/log\n")
    wait_until(lambda: "takes a restart: store.buckets" in node.output(), "the log names the key")
    changed(node, "log.level")
    assert "cannot open /nonexistent/log: No such file or directory; the old one stays" \
        in node.output()
    wait_until(is_debugging, "debug lines appear")


def test_a_pipe_in_the_place_of_the_file_changes_nothing_and_holds_up_nothing(make_node):
    node, _ = configured_node(make_node, "log:\n  level: info\n")
    path = node.directory / "dueq.yaml"
    path.unlink()
    os.mkfifo(path)
    node.process.signal(signal.SIGHUP)
    wait_until(lambda: "it is not a regular file" in node.output(), "the log says why")
    assert "the old one stays" in node.output()
    worker = node.worker_pid
    node.kill("worker")
    wait_until(lambda: node.worker_pid not in (None, worker), "the warden has a new worker")
    node.stop()


def changed(node, *keys):
    """The log says that exactly these were taken."""
    wait_until(lambda: f"changed: {', '.join(keys)}\n" in node.output(), "the log names them")


WAIT_S = 12


def test_how_gmq_answers_can_change_on_an_open_connection_and_for_the_next_worker(make_node):
    node, reload = configured_node(make_node, f"gmq:\n  pop_wait: {WAIT_S}s\n")
    with node.python_client() as client:
        reload("gmq:\n  strict: true\n  pop_wait: 0s\nqueue:\n  scan_batch: 1\n  scan_interval: 100ms\n")
        changed(node, "gmq.strict", "gmq.pop_wait", "queue.scan_batch", "queue.scan_interval")
        client.push("topic", "strict-1")
        wait_until(lambda: client.pop_or_none("nothing") is None, "the worker has heard")
        since = time.monotonic()
        assert client.pop_or_none("nothing") is None
        assert time.monotonic() - since < WAIT_S, "it did not wait"
        assert client.pop("topic")["status"] == "3"
        for number in range(20):
            client.push("scanned", f"tuned-{number}", delay=1)
        assert all(client.pop_patiently("scanned") for _ in range(20)), "the scanner works as tuned"
    node.kill("worker")
    node.wait_ready()
    with node.python_client() as client:
        client.push("topic", "later-1")
        assert client.pop("topic")["status"] == "3"


def test_what_mykit_allows_can_change(make_node):
    port = free_port()
    listen = f"mykit:\n  listen: 127.0.0.1:{port}\n"
    node, reload = configured_node(make_node, listen)

    def status_of(path):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=60) as reply:
                return reply.status
        except urllib.error.HTTPError as error:
            return error.code

    assert status_of("/clearAll") == 403
    reload(listen + "  clear_all: true\n  pop_wait: 0s\n")
    changed(node, "mykit.clear_all", "mykit.pop_wait")
    wait_until(lambda: status_of("/clearAll") == 200, "the worker has heard")
    since = time.monotonic()
    assert status_of("/get/topic?topic=t") == 200
    assert time.monotonic() - since < WAIT_S, "it did not wait"


def test_the_proxies_can_change(make_node):
    node, reload = configured_node(make_node, "http:\n  proxies: 192.0.2.1\n")

    def said():
        with socket.create_connection(("127.0.0.1", node.http_port), 10) as client:
            client.sendall(b"PROXY TCP4 192.0.2.7 127.0.0.1 1 2\r\n"
                           b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n")
            return client.recv(4096)

    assert b"is not in http.proxies" in said()
    reload("http:\n  proxies: 192.0.2.1,127.0.0.0/8\nlimits:\n  requests_per_address: 900\n"
           "  connects_per_address: 900\n  bytes_per_address: 1GiB\n")
    changed(node, "http.proxies", "limits.connects_per_address", "limits.requests_per_address",
            "limits.bytes_per_address")
    wait_until(lambda: said().startswith(b"HTTP/1.1 200 "), "the node believes it")


def test_limits_can_change_on_an_open_connection(make_node):
    node, reload = configured_node(make_node, "limits:\n  body_bytes: 100B\n")
    with node.python_client() as client:
        with pytest.raises(GmqError, match="too_large"):
            client.push("topic", "large-1", "x" * 101)
        reload("limits:\n  body_bytes: 200B\n  waiting: 1\n  connections: 2\n")
        changed(node, "limits.body_bytes", "limits.connections", "limits.waiting")

        def taken():
            try:
                return client.push("topic", "large-1", "x" * 101) == "success"
            except GmqError as error:
                assert str(error).startswith("too_large")
                return False

        wait_until(taken, "the worker has heard")
        with node.raw_client() as second, node.raw_client() as third:
            assert "limits.connections" in third.reply()["error"]
            second.send(json.dumps(request("Pop", ["idle"])))
            wait_until(lambda: node.metrics()["dueq_consumers_waiting"] == 1, "it waits")
            with pytest.raises(GmqError, match="too_many"):
                client.pop("idle")


def test_settings_of_topics_can_change(make_node):
    """For jobs that are pushed from then on; and of each setting the first row counts."""
    node, reload = configured_node(
        make_node, "topics:\n  - {name: mail.urgent, priority: 5}\n  - {name: mail.*, ttr: 5m}\n")
    ctl = Dueqctl(f"http://127.0.0.1:{node.http_port}")

    def pushed(topic):
        return ctl.json("get", topic, ctl.json("push", topic, "x")["id"])

    job = pushed("mail.urgent")
    assert (job["ttr_ms"], job["priority"]) == (300000, 5)
    assert (pushed("mail.x")["priority"], pushed("other")["ttr_ms"]) == (1024, 60000)
    ctl.ok("topic", "set", "mail.urgent", "ttr=9m", "ttl=1d")
    assert ctl.json("topic", "show", "mail.urgent")["configured"] == {"ttr_ms": 300000,
                                                                      "priority": 5}
    table = ctl.ok("topic", "show", "mail.urgent").text.splitlines()
    assert [line.split(None, 2) for line in table[1:6]] == [
        ["ttr", "9m", "topic"], ["priority", "5", "configuration"], ["max_tries", "0", "built in"],
        ["backoff", "none", "built in"], ["ttl", "1d", "topic"]]
    ctl.ok("topic", "unset", "mail.urgent", "ttr", "ttl")
    reload("topics:\n  - name: mail.*\n    ttr: 7m\n    backoff: {kind: fixed, base: 2s}\n")
    changed(node, "topics")
    wait_until(lambda: pushed("mail.urgent")["ttr_ms"] == 420000, "the new rows hold")
    job = pushed("mail.urgent")
    assert job["priority"] == 1024 and job["backoff"]["base_ms"] == 2000
    reload("topics:\n  - ttr: 7m\n")
    wait_until(lambda: "topics.name: is missing" in node.output(), "the mistake is named")
    assert pushed("mail.x")["ttr_ms"] == 420000


def test_the_settings_that_the_operators_page_shows_are_those_of_a_node(make_node):
    text = OPERATIONS.read_text(encoding="utf-8").partition("\n## Settings of topics\n")[2]
    (settings,) = re.findall(r"^```yaml\n(.*?)^```$", text.partition("\n## ")[0], re.M | re.S)
    ((command, shown),) = re.findall(r"^\$ dueqctl (topic set .*)\n(SETTING.*?)\n```$", text,
                                     re.M | re.S)
    node, _ = configured_node(make_node, settings)
    ctl = Dueqctl(f"http://127.0.0.1:{node.http_port}")
    rows = re.escape(shown + "\n").replace(re.escape("\n...\n"), "\n(.+\n)+")
    assert re.fullmatch(rows, ctl.ok(*command.split()).text)
    assert ctl.json("topic", "show", "mail.urgent")["configured"] == {
        "priority": 10, "ttr_ms": 300000, "max_tries": 8, "dead_age_ms": 1209600000,
        "backoff": {"kind": "exponential", "base_ms": 1000, "cap_ms": 600000,
                    "jitter_percent": 10}}


def test_limits_of_the_dead_reach_a_topic_in_which_nothing_happens(make_node):
    node, reload = configured_node(make_node, "topics:\n  - {name: mail, ttr: 5m}\n")
    api = node.api()
    for topic in ("mail", "mail", "other", "other"):
        api.push(topic)
        api.bury(api.pop_one(topic))
    wait_until(lambda: not list(node.redis().scan_iter(match="dq:{*}:t", count=10000)),
               "no event is planned any more")
    reload("topics:\n  - {name: mail, dead_max: 1}\n")
    changed(node, "topics")
    wait_until(lambda: api.topic("mail")["dead"] == 1, "the reconciler has come by")
    assert api.topic("other")["dead"] == 2
