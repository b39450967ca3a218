"""dueqctl when something is wrong: what it says, and how it ends."""

import signal
import subprocess

import pytest

from harness.canned import reply, server
from harness.dueqctl import (DONE, NOTHING, REFUSED, UNKNOWN, UNREACHABLE, USAGE, Dueqctl,
                             environment, program)
from harness.ports import free_port
from harness.wait import PATIENCE_S

WRITES = [("push", "t", "x"), ("pop", "t"), ("ack", "t", "1", "2"), ("release", "t", "1", "2"),
          ("touch", "t", "1", "2"), ("bury", "t", "1", "2"), ("cancel", "t", "1"), ("kick", "t", "1"),
          ("kick", "t", "--count", "5"), ("run", "t", "1"), ("reschedule", "t", "1", "--delay", "1s"),
          ("topic", "set", "t", "ttr=5s"), ("topic", "unset", "t", "ttr"), ("pause", "t"), ("resume", "t")]
QUESTIONS = [("get", "t", "1"), ("topics",), ("stats",), ("stats", "t"), ("status",), ("tail",),
             ("list", "t"), ("trace", "t", "1"), ("topic", "show"), ("topic", "show", "t"),
             ("purge", "t", "--state", "dead"), ("kick", "t", "--all")]


@pytest.mark.parametrize("words", WRITES + QUESTIONS)
def test_where_nobody_listens_nothing_happened(words):
    url = f"http://127.0.0.1:{free_port()}"
    done = Dueqctl(url)(*words)
    assert done.code == UNREACHABLE and done.out == b""
    assert f"no connection to {url}: Connection refused (" in done.complaint
    assert "DUEQ_URL" in done.complaint


@pytest.mark.parametrize("words", WRITES)
def test_a_change_that_is_not_answered_may_have_happened(words):
    requests = []
    with server(None, requests) as url:
        done = Dueqctl(url)(*words, "--timeout", "300ms")
    assert done.code == UNKNOWN and done.out == b""
    is_of_settings = words[0] in ("topic", "pause", "resume")
    assert "may have happened" in done.complaint
    assert ("dueqctl topic show" in done.complaint) == is_of_settings
    assert ("dueqctl get" in done.complaint) != is_of_settings
    assert len(requests) == 1, "it was sent once"


@pytest.mark.parametrize("words", QUESTIONS)
def test_a_question_that_is_not_answered_changed_nothing(words):
    with server(None) as url:
        done = Dueqctl(url)(*words, "--timeout", "300ms")
    assert done.code == UNREACHABLE and "did not answer" in done.complaint


@pytest.mark.parametrize("answer", [
    b"", b"HTTP/1.1 201 Cre", b"HTTP/1.1 201 Created\r\nContent-Length: 100\r\n\r\n{",
    reply(b"504 Gateway Timeout", b"<html>proxy</html>"), reply(b"500 Oops"),
    reply(b"504 Gateway Timeout", b'{"error":{"code":504,"message":"upstream timeout"}}'),
    reply(b"502 Bad Gateway", b'{"error":{"code":"UPSTREAM_RESET","message":"reset"}}'),
    reply(b"201 Created", b"not json"), reply(b"200 OK", b"[1]")])
def test_a_change_answered_by_half_or_by_a_proxy_may_have_happened(answer):
    requests = []
    with server(answer, requests) as url:
        done = Dueqctl(url)("push", "t", "x", "--json")
    assert done.code == UNKNOWN and done.json()["error"]["code"] == "unknown"
    assert len(requests) == 1, "it was sent once"


@pytest.mark.parametrize("answer", [
    reply(b"404 Not Found", b"<html>"), reply(b"301 Moved", b"", b"Location: http://127.0.0.1:1/\r\n"),
    reply(b"403 Forbidden", b'{"detail": "no"}')])
def test_what_another_server_refuses_did_not_happen(answer):
    with server(answer) as url:
        done = Dueqctl(url)("push", "t", "x", "--json")
    assert done.code == REFUSED and done.json()["error"]["code"] == "bad_answer"
    assert "--url" in done.complaint


def error(status, code, headers=b""):
    body = b'{"error":{"code":"%s","message":"for a reason"}}' % code
    return reply(status, body, headers)


@pytest.mark.parametrize("answer, expected", [
    (error(b"400 Bad Request", b"bad_topic"), USAGE),
    (error(b"400 Bad Request", b"bad_id"), USAGE),
    (error(b"503 Service Unavailable", b"unavailable"), REFUSED),
    (error(b"504 Gateway Timeout", b"unknown"), UNKNOWN),
    (error(b"418 Teapot", b"news"), REFUSED)])
def test_what_the_node_says_decides(answer, expected):
    with server(answer) as url:
        done = Dueqctl(url)("push", "t", "x", "--json")
    assert done.code == expected and done.json()["error"]["message"] == "for a reason"
    assert "for a reason" in done.complaint


def test_no_answer_reaches_the_terminal_raw():
    evil = b'{"error":{"code":"\\u001b[1m","message":"\\u001b]0;owned\\u0007\\u202e"}}'
    with server(reply(b"400 Bad Request", evil)) as url:
        for words in (("push", "t"), ("push", "t", "--json")):
            done = Dueqctl(url)(*words)
            assert done.code == REFUSED and not set(done.out + done.err) & {0x1b, 7, 0xe2}
    topics = (b'{"topics":[{"topic":"\\u001b[31m\\u009b","delayed":1,"ready":"x"}],"next":null}')
    with server(reply(b"200 OK", topics)) as url:
        done = Dueqctl(url)("topics")
        assert done.code == DONE and b"\\x1b[31m\\u009b" in done.out


def test_a_list_to_cancel_ends_where_the_node_does_not_answer():
    with server(None) as url:
        done = Dueqctl(url)("cancel", "t", "1", "2", "--json", "--timeout", "300ms")
    assert done.code == UNKNOWN
    assert [result["id"] for result in done.json()["results"]] == ["1"]


# ---- where the node is ----

def test_the_address_comes_from_the_option_then_the_environment(node):
    good, bad = f"127.0.0.1:{node.http_port}", f"http://127.0.0.1:{free_port()}"
    assert Dueqctl(bad)("status", "--url", good).code == DONE
    assert Dueqctl(bad)("--url", f"http://{good}/", "status").code == DONE
    assert Dueqctl(f"http://localhost:{node.http_port}")("status").code == DONE
    assert Dueqctl(bad)("status").code == UNREACHABLE


def test_proxies_of_the_environment_are_not_asked(ctl):
    assert ctl("status", http_proxy="http://127.0.0.1:9", ALL_PROXY="http://127.0.0.1:9").code == DONE


def test_a_path_in_front_and_a_password_are_sent_but_the_password_not_shown():
    requests = []
    with server(reply(b"404 Not Found"), requests) as url:
        done = Dueqctl(url.replace("//", "//me:secret@") + "/base/")("status")
    assert requests[0].startswith(b"GET /base/v1/status HTTP/1.1\r\n")
    assert b"Authorization: Basic bWU6c2VjcmV0\r\n" in requests[0]
    assert "secret" not in done.complaint and "/base" in done.complaint


@pytest.mark.parametrize("url", ["ftp://127.0.0.1", "http://", "http://a b", "http://a/?q=1",
                                 "http://a/#f", "://", "http://a:99999"])
def test_what_is_no_address_is_wrong_usage(url):
    done = Dueqctl(url)("status")
    assert done.code == USAGE and "$DUEQ_URL" in done.complaint


def test_an_address_that_is_none_is_not_shown_for_its_password():
    wrong = "http://me:secret@host:99999"
    for done in (Dueqctl(wrong)("status"), Dueqctl()("status", "--url", wrong)):
        assert done.code == USAGE and "secret" not in done.complaint
    assert "--url" in done.complaint


@pytest.mark.parametrize("words", [("help",), ("help", "push"), ("--version",), ("version",),
                                   ("completion", "bash"), ("push", "--help")])
def test_what_asks_no_node_needs_no_address(words):
    assert Dueqctl("://").ok(*words).out


@pytest.mark.parametrize("words", [
    ("push", ""), ("push", "t", "--id", ""), ("pop", "t", ""), ("get", "t", ""),
    ("ack", "t", "1", ""), ("cancel", "t", "1", ""), ("stats", ""), ("tail", ""),
    ("forget", ""), ("switchover", "--to", ""), ("failover", "--force", "-t", "")])
def test_no_topic_id_lease_or_node_is_empty(words):
    requests = []
    with server(None, requests) as url:
        done = Dueqctl(url)(*words)
    assert done.code == USAGE and requests == []
    assert f"{words[0]}: " in done.complaint and "the name of a node is empty" in done.complaint


@pytest.mark.parametrize("line", [
    "", "no-such", "--no-such", "-x status", "help no-such", "status word", "completion", "completion tcsh",
    "--timeout 5 status", "tail a b",
    "push", "push t body more", "push t --delay 10", "push t --delay -1s", "push t --delay 3653d",
    "push t --ttr 8d", "push t --at tomorrow", "push t --at 1796115600",
    "push t --delay 1s --at 2036-12-01T09:00Z", "push t body --file /dev/null",
    "push t body --lines", "push t --lines --id x", "push t --no-such", "push t -x",
    "push t x --priority -1", "push t x --priority 4294967296", "push t x --max-tries 65535",
    "push t x --ttl 5", "push t x --backoff linear:1s", "push t x --backoff fixed",
    "push t x --mode maybe --id a", "push t x --mode replace",
    "pop", "pop t --count 0", "pop t --count 65", "pop t --wait 61m", "pop t --wait 5",
    "pop t --json --body-only", "pop" + " t" * 65,
    "kick t", "kick t 1 --all", "kick t --all --count 1", "kick t --count 0", "kick t --since soon",
    "purge t", "purge t --state gone", "purge t --state ready,dead --since 1h",
    "purge t more --state dead",
    "topic set t", "topic set t ttr", "topic set t ttr=5", "topic set t colour=red",
    "topic set t history=on", "topic set t priority=", "topic unset t", "topic unset t ttr=1s",
    "topic show t ttr", "topic forget t",
    "cluster", "cluster stop", "fence x", "forget", "failover", "failover --to b", "nodes x"])
def test_what_is_used_wrongly_asks_no_node_and_shows_the_way_to_the_help(line):
    done = Dueqctl("http://127.0.0.1:9")(*line.split())
    assert done.code == USAGE and done.out == b"" and done.complaint.startswith("dueqctl: ")
    assert "--help" in done.complaint


def test_words_of_the_command_line_are_escaped_in_messages():
    done = Dueqctl("http://127.0.0.1:9")("pu\x1b[31msh")
    assert done.code == USAGE and b"pu\\x1b[31msh" in done.err


# ---- output that cannot be written ----

def test_head_ends_it_quietly(node, ctl):
    with node.python_client() as client:
        for number in range(1500):
            client.push(f"pipe-{number}-" + "x" * 150, f"pipe-{number}")
    with subprocess.Popen([program(), "topics"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=environment(ctl.url)) as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(PATIENCE_S) == -signal.SIGPIPE and process.stderr.read() == b""


def test_output_that_the_shell_has_closed_is_no_success(ctl):
    ctl.ok("push", "closed", "x", "--id", "a")
    done = subprocess.run(["bash", "-c", '"$0" pop closed --ack >&-', program()], check=False,
                          stderr=subprocess.PIPE, env=environment(ctl.url), timeout=PATIENCE_S)
    assert done.returncode == UNKNOWN and b"not acknowledged" in done.stderr
    assert ctl.json("get", "closed", "a")["state"] == "reserved"


def test_a_full_disk_is_no_success(ctl):
    for words in (("status",), ("help",), ("topics", "--json")):
        done = ctl.on_full_disk(*words)
        assert done.code == REFUSED and "cannot be written" in done.complaint


@pytest.mark.parametrize("size", [8, 4096, 5000, 100000])
@pytest.mark.parametrize("form", ["--body-only", "--json", "--count=2"])
def test_a_job_that_could_not_be_printed_is_not_acknowledged(ctl, topic, size, form):
    ctl.ok("push", topic, "-", "--id", "a", stdin=b"x" * size)
    done = ctl.on_full_disk("pop", topic, "--ack", form)
    assert done.code == UNKNOWN and "not acknowledged" in done.complaint
    assert ctl.json("get", topic, "a")["state"] == "reserved"


def test_a_change_whose_output_is_lost_has_happened_all_the_same(ctl, topic):
    for words in (("push", topic, "x", "--id", "a"), ("cancel", topic, "a")):
        done = ctl.on_full_disk(*words)
        assert done.code == UNKNOWN and "has happened" in done.complaint
    assert ctl("get", topic, "a").code == NOTHING


def test_nothing_has_happened_where_nothing_was_popped_or_pushed(make_node):
    node = make_node({"limits.body_bytes": "1KiB"}).start()
    ctl = Dueqctl(f"http://127.0.0.1:{node.http_port}")
    for words, lines in ((("pop", "none", "--json"), b""),
                         (("push", "none", "--lines"), b"x" * 2000 + b"\n")):
        done = ctl.on_full_disk(*words, stdin=lines)
        assert done.code == REFUSED and "cannot be written" in done.complaint
        assert "has happened" not in done.complaint


def test_what_is_no_file_is_no_body(tmp_path):
    for path, reason in ((tmp_path, "Is a directory"), ("/no/such/file", "No such file or directory")):
        done = Dueqctl("http://127.0.0.1:9")("push", "t", "--file", path)
        assert done.code == USAGE and done.complaint == f"dueqctl: {path}: {reason}\n"


def test_a_closed_input_is_no_empty_body(ctl, topic):
    for words in ("push TOPIC -", "push TOPIC --lines", "cancel TOPIC -"):
        command = f'"$0" {words.replace("TOPIC", topic)} <&-'
        done = subprocess.run(["bash", "-c", command, program()], capture_output=True,
                              check=False, env=environment(ctl.url), timeout=PATIENCE_S)
        assert done.returncode == USAGE and b"cannot be read" in done.stderr
    assert ctl("pop", topic).code == NOTHING


# ---- a node that goes away between two requests ----

POPPED = reply(b"200 OK", b'{"topic":"t","jobs":[%s]}' % b",".join(
    b'{"id":"%d","topic":"t","body":"x","lease":"1","tries":1}' % number for number in range(3)))


def paths(requests):
    return [request.split(b" ")[1] for request in requests]


def test_the_first_acknowledgement_that_is_not_answered_is_the_last():
    requests = []
    with server([POPPED, reply(b"504 Gateway Timeout")], requests) as url:
        done = Dueqctl(url)("pop", "t", "--count", "3", "--ack", "--timeout", "5s")
    assert done.code == UNKNOWN and "not acknowledged: '1' '2'" in done.complaint
    assert paths(requests) == [b"/v1/topics/t/pop?count=3", b"/v1/topics/t/jobs/0/ack"]


@pytest.mark.parametrize("words", [words for words in QUESTIONS if words != ("tail",)])
def test_a_proxy_that_has_no_node_is_no_refusal(words):
    with server(reply(b"502 Bad Gateway", b"<html>")) as url:
        done = Dueqctl(url)(*words)
    assert done.code == UNREACHABLE and "502" in done.complaint


def test_tail_goes_on_behind_a_proxy_that_loses_its_node():
    answers = [reply(b"200 OK", b'{"deliveries":[],"next":7,"missed":0}'),
               reply(b"502 Bad Gateway", b"<html>"),
               reply(b"200 OK", b'{"deliveries":[],"next":8,"missed":0}')]
    requests = []
    with server(answers, requests) as url, Dueqctl(url).start("tail") as running:
        running.wait_for("502", "err")
        running.wait_for("is back", "err")
    assert [b"after=7" in path for path in paths(requests)] == [False, True, True]


@pytest.mark.parametrize("words", WRITES + QUESTIONS)
def test_another_servers_success_is_none(words):
    with server(reply(b"200 OK", b'{"hello":"world"}')) as url:
        done = Dueqctl(url)(*words)
    assert done.code == (UNKNOWN if words in WRITES else REFUSED)
