"""dueqctl and a job's life: each command for people, for programs, and its exit codes."""

import base64
import os
import signal
import subprocess
import time
from datetime import datetime, timezone

import pytest

from harness.build import ROOT
from harness.dueqctl import (DONE, NOTHING, REFUSED, USAGE, environment, on_terminal, pop_one,
                             program)
from harness.wait import wait_until

BODIES = [b"", b"plain", "\u00e9\u8ba2\u5355\U0001f600".encode(), b'{"a":"\\n"}', b"a\nb\r\n", b"a\0b",
          b"\xff\xfe", bytes(range(256)), b"-", b"x" * 300000]


# ---- push ----

def test_push_prints_id_and_due_and_the_job_is_there(ctl, topic):
    line = ctl.ok("push", topic, "hello").text
    job_id = line.split()[0]
    assert line.count("\n") == 1 and " due 20" in line
    job = pop_one(ctl, topic)
    assert job["id"] == job_id and job["body"] == "hello" and job["ttr_ms"] == 60000


def test_push_tells_programs_what_the_api_does(ctl, topic):
    before_ms = time.time() * 1000
    answer = ctl.json("push", topic, "x", "--id", "a-1", "--delay", "1h")
    assert answer["id"] == "a-1" and set(answer) == {"id", "due_ms"}
    assert -1 <= answer["due_ms"] - before_ms - 3600000 <= time.time() * 1000 - before_ms + 1


def test_every_body_arrives_as_it_was_from_stdin_and_from_a_file(ctl, topic, tmp_path):
    path = tmp_path / "body"
    for body in BODIES:
        path.write_bytes(body)
        ctl.ok("push", topic, "-", stdin=body)
        assert ctl.ok("pop", topic, "--body-only", "--ack").out == body
        job = ctl.json("push", topic, "--file", path)
        assert ctl.ok("get", topic, job["id"], "--body-only").out == body
        popped = pop_one(ctl, topic, "--ack")
        coded = popped.get("body_base64")
        assert (base64.b64decode(coded) if coded else popped["body"].encode()) == body


def test_push_at_a_time_in_local_time_and_with_a_zone(ctl, topic):
    year = datetime.now(timezone.utc).year + 2
    nine_ms = int(datetime(year, 12, 1, 9, tzinfo=timezone.utc).timestamp() * 1000)
    for text, zone, due_ms in [
            (f"{year}-12-01 09:00", "UTC", nine_ms),
            (f"{year}-12-01 09:00", "EST5", nine_ms + 5 * 3600000),
            (f"{year}-12-01T09:00:00.250+08:00", "EST5", nine_ms - 8 * 3600000 + 250),
            (str(nine_ms), "EST5", nine_ms)]:
        answer = ctl.json("push", topic, "x", "--at", text, TZ=zone)
        assert answer["due_ms"] == due_ms, (text, zone)
    done = ctl.ok("push", topic, "--at", f"{year}-12-01T09:00:00Z", TZ="EST5")
    assert f"{year}-12-01 04:00:00.000" in done.text


def test_an_id_that_is_alive_is_refused_with_advice(ctl, topic):
    ctl.ok("push", topic, "x", "--id", "twice")
    done = ctl("push", topic, "x", "--id", "twice")
    assert done.code == REFUSED and done.out == b""
    assert done.complaint.startswith("dueqctl: twice: ")
    assert "duplicate" in done.complaint and "--id" in done.complaint
    done = ctl("push", topic, "x", "--id", "twice", "--json")
    assert done.code == REFUSED and done.json()["error"]["code"] == "duplicate"


def test_names_that_a_path_could_misread(ctl):
    """And every letter that they may have."""
    letters = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
    for name, topic in [(name, name.replace("%", ":")) for name in ("...", "a/..", "%2F", "a+b", "//")] + [
            (letters, "A/b:c+d;e$f(g)-h.i_0")]:
        job = ctl.json("push", topic, "x", "--id", name)
        assert ctl.json("get", topic, name)["topic"] == topic
        assert ctl.json("stats", topic)["topics"][0]["ready"] == 1
        assert pop_one(ctl, topic, "--ack")["id"] == job["id"] == name


def test_names_that_are_no_utf_8_are_wrong_usage_but_bodies_are_not(ctl, topic):
    for words in (("push", b"\xff"), ("push", topic, "--id", b"\xff"), ("get", topic, b"a\xff"),
                  ("ack", topic, "1", b"\xff"), ("pop", topic, b"\xff")):
        done = ctl(*words)
        assert done.code == USAGE and b"UTF-8" in done.err, done
    ctl.ok("push", topic, b"\xff")
    assert ctl.ok("pop", topic, "-b").out == b"\xff"
    done = ctl("cancel", topic, "-", "--json", stdin=b"\xff\n")
    assert done.code == USAGE and done.json()["results"][0]["error"]["code"] == "bad_id"


@pytest.mark.parametrize("name", [".", ".."])
def test_a_name_that_a_path_cannot_have_is_never_sent_as_another(ctl, topic, name):
    """Else `kick TOPIC ..` asks to kick all of the topic, for clients and proxies resolve it."""
    ctl.ok("push", topic, "x", "--id", "a")
    ctl.ok("bury", topic, "a", ctl.json("pop", topic)["jobs"][0]["lease"])
    for words in (("kick", topic, name), ("cancel", topic, name), ("get", topic, name),
                  ("ack", topic, name, "1"), ("push", name, "x"), ("pop", name), ("stats", name),
                  ("kick", name, "a"), ("push", topic, "x", "--id", name)):
        done = ctl(*words)
        assert done.code != DONE and "'..'" in done.complaint, done
    done = ctl("cancel", topic, "-", "--json", stdin=name.encode() + b"\n")
    assert done.code == USAGE and done.json()["results"][0]["error"]["code"] == "bad_id"
    assert ctl.json("get", topic, "a")["state"] == "dead"


# ---- pop ----

def test_pop_shows_people_what_they_need_to_go_on(ctl, topic):
    job_id = ctl.ok("push", topic, "close\tme\x1b[2J").text.split()[0]
    shown = dict(line.split(None, 1) for line in ctl.ok("pop", topic).text.splitlines())
    assert shown["topic"] == topic and shown["id"] == job_id and shown["ttr"] == "1m"
    assert shown["body"] == "close\\tme\\x1b[2J"
    assert ctl.ok("ack", topic, job_id, shown["lease"]).text == f"{job_id}: acknowledged\n"


def test_pop_takes_topics_in_order_of_priority_and_several_jobs(ctl, topic):
    urgent = topic + "-urgent"
    for body in ("1", "2", "3"):
        ctl.ok("push", topic, body)
    ctl.ok("push", urgent, "first")
    assert ctl.json("pop", urgent, topic)["topic"] == urgent
    answer = ctl.json("pop", urgent, topic, "--count", 2)
    assert answer["topic"] == topic and [job["body"] for job in answer["jobs"]] == ["1", "2"]
    assert ctl.ok("pop", topic, "-n", 64, "-b").out == b"3"


def test_pop_of_nothing_says_so_by_its_exit_code(ctl, topic):
    done = ctl("pop", topic)
    assert done.code == NOTHING and done.out == done.err == b""
    done = ctl("pop", topic, "--json")
    assert done.code == NOTHING and done.json() == {"topic": None, "jobs": []}


def test_pop_of_nothing_tells_people_in_words(ctl, topic):
    with on_terminal(ctl.url, "pop", topic, ends=("stdout",)) as (process, _):
        assert b"no job is ready" in process.stderr.read() and process.wait() == NOTHING


def test_pop_waits_for_a_job(ctl, topic):
    with ctl.start("pop", topic, "--wait", "1m", "--body-only", "--ack") as running:
        wait_until(lambda: ctl.json("status")["consumers_waiting"] > 0, "it waits")
        ctl.ok("push", topic, "at last")
        assert running.wait() == DONE
        assert running.out == ["at last"]


def test_pop_holds_for_a_time_of_its_own(ctl, topic):
    ctl.ok("push", topic, "x", "--ttr", "1h")
    job = pop_one(ctl, topic, "--ttr", "300ms")
    again = wait_until(lambda: ctl("pop", topic, "--json").json()["jobs"], "it comes again")
    assert again[0]["id"] == job["id"] and again[0]["lease"] != job["lease"]


# ---- ack, release, touch ----

def test_release_gives_back_for_now_or_for_later(ctl, topic):
    ctl.ok("push", topic, "x")
    job = pop_one(ctl, topic)
    answer = ctl.json("release", topic, job["id"], job["lease"])
    due_ms = ctl.json("get", topic, job["id"])["due_ms"]
    assert answer == {"topic": topic, "id": job["id"], "done": "released", "due_ms": due_ms,
                      "tries": 1}
    job = pop_one(ctl, topic)
    assert job["tries"] == 1
    ctl.ok("release", topic, job["id"], job["lease"], "--delay", "1h")
    assert ctl.json("get", topic, job["id"])["state"] == "delayed"


def test_touch_holds_a_job_longer(ctl, topic):
    ctl.ok("push", topic, "x")
    job = pop_one(ctl, topic, "--ttr", "2s")
    assert ctl.ok("touch", topic, job["id"], job["lease"], "--ttr", "1h").text.endswith("touched\n")
    assert ctl.json("ack", topic, job["id"], job["lease"])["done"] == "acknowledged"


@pytest.mark.parametrize("command", ["ack", "release", "touch"])
def test_a_lease_that_is_not_the_jobs_changes_nothing(ctl, topic, command):
    ctl.ok("push", topic, "x")
    job = pop_one(ctl, topic)
    number, check = job["lease"].split("-")
    done = ctl(command, topic, job["id"], f"{int(number) - 1}-{check}")
    assert done.code == REFUSED and "not_owner" in done.complaint
    assert "stop working" in done.complaint
    assert ctl.json("get", topic, job["id"])["state"] == "reserved"
    assert ctl(command, topic, "no-such", job["lease"]).code == NOTHING
    assert ctl(command, topic, job["id"]).code == USAGE


# ---- cancel and get ----

def test_cancel_removes_what_there_is_and_names_what_there_is_not(ctl, topic):
    ids = [ctl.json("push", topic, "x", "--delay", "1h")["id"] for _ in range(4)]
    assert ctl.ok("cancel", topic, ids[0]).text == f"{ids[0]}: cancelled\n"
    done = ctl("cancel", topic, "nope", "-", ids[3], stdin=f"{ids[1]}\n\n{ids[2]}".encode())
    assert done.code == NOTHING and "nope: no such job (not_found)" in done.complaint
    assert done.text == "".join(f"{each}: cancelled\n" for each in ids[1:])
    done = ctl("cancel", topic, "nope", ids[0], "--json")
    assert done.code == NOTHING
    assert [result["error"]["code"] for result in done.json()["results"]] == ["not_found"] * 2


def test_get_shows_a_job_and_leaves_it_there(ctl, topic):
    job_id = ctl.json("push", topic, "a\nb", "--delay", "1h", "--ttr", "90s")["id"]
    shown = dict(line.split(None, 1) for line in ctl.ok("get", topic, job_id).text.splitlines())
    assert shown["state"] == "delayed" and shown["delay"] == "1h" and shown["ttr"] == "1m 30s"
    assert shown["body"] == "a\\nb" and "lease" not in shown
    assert ctl.json("get", topic, job_id)["state"] == "delayed"
    done = ctl("get", topic, "nope", "--json")
    assert done.code == NOTHING and done.json()["error"]["code"] == "not_found"


# ---- the worker of the man page ----

def test_the_worker_of_the_man_page_loses_no_byte_and_no_id(ctl, tmp_path):
    text = (ROOT / "doc" / "man" / "dueqctl.1").read_text()
    begin = text.index("set -o pipefail")
    worker = text[begin:text.index(".Ed", begin)].replace("\\e", "\\")
    (tmp_path / "close-order").write_text('#!/bin/sh\ncat >"$(mktemp body-XXXXXX)"\n')
    (tmp_path / "close-order").chmod(0o755)
    jobs = {"plain": b"order 7", "--url": b"\0\xff\n\n", "a'b\"$(false)*;": b"", "\\n": b"\n"}
    for name, body in jobs.items():
        ctl.ok("push", "unpaid", f"--id={name}", "-", stdin=body)
    with subprocess.Popen(["bash", "-c", worker], cwd=tmp_path, start_new_session=True,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          env=environment(ctl.url, PATH=f"{program().parent}:/usr/bin:/bin")
                          ) as process:
        try:
            wait_until(lambda: all(ctl("get", "--", "unpaid", name).code == NOTHING
                                   for name in jobs), "all are acknowledged")
        finally:
            os.killpg(process.pid, signal.SIGKILL)
        assert process.stderr.read() == b""
    assert sorted(path.read_bytes() for path in tmp_path.glob("body-*")) == sorted(jobs.values())
