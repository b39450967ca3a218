"""dueqctl looks on: topics, stats, tail, status."""

import http.client
import json
import os
import re
import subprocess

from harness.dueqctl import DONE, Dueqctl, environment, on_terminal, program
from harness.wait import PATIENCE_S, wait_until


def fresh(make_node, **settings):
    node = make_node(settings).start()
    return node, Dueqctl(f"http://127.0.0.1:{node.http_port}")


# ---- topics and stats ----

def test_topics_are_sorted_and_counted(make_node):
    _, ctl = fresh(make_node)
    assert ctl.json("topics") == {"topics": []}
    for topic, body in (("b", "1"), ("a/x", "2"), ("b", "3")):
        ctl.ok("push", topic, body)
    ctl.ok("push", "c", "later", "--delay", "1h")
    topics = ctl.json("topics")["topics"]
    assert [each["topic"] for each in topics] == ["a/x", "b", "c"]
    assert [each["ready"] for each in topics] == [1, 2, 0]
    lines = ctl.ok("topics").text.splitlines()
    assert lines[0].split()[:5] == ["TOPIC", "DELAYED", "READY", "RESERVED", "DEAD"]
    assert lines[2].split()[:5] == ["b", "0", "2", "0", "0"]
    assert lines[3].split()[:2] == ["c", "1"] and re.search(r" 5\dm( \d+s)?$", lines[3])
    assert not any(line.endswith(" ") for line in lines)


def test_stats_of_some_topics_come_in_the_order_asked(ctl, topic):
    ctl.ok("push", topic, "1")
    ctl.ok("push", topic, "2", "--delay", "1h")
    answer = ctl.json("stats", "nothing-here", topic)["topics"]
    assert [each["topic"] for each in answer] == ["nothing-here", topic]
    assert (answer[1]["ready"], answer[1]["delayed"]) == (1, 1)
    assert answer[0]["oldest_ready_age_ms"] is None
    assert len(ctl.ok("stats", topic).text.splitlines()) == 2


def test_stats_of_all_are_sums(make_node):
    _, ctl = fresh(make_node)
    empty = ctl.json("stats")["total"]
    assert empty["topics"] == empty["ready"] == 0 and empty["next_due_in_ms"] is None
    for topic, delay in (("a", "1h"), ("b", "2h"), ("b", "0")):
        ctl.ok("push", topic, "x", "--delay", delay)
    total = ctl.json("stats")["total"]
    assert (total["topics"], total["delayed"], total["ready"]) == (2, 2, 1)
    assert 3500000 < total["next_due_in_ms"] <= 3600000 and total["oldest_ready_age_ms"] >= 0
    assert "delayed           2\n" in ctl.ok("stats").text


def test_numbers_have_separators_on_a_terminal_only(ctl, topic):
    ctl.ok("push", topic, "--lines", stdin=b"x\n" * 1234)
    assert " 1234 " in ctl.ok("stats", topic).text
    with on_terminal(ctl.url, "stats", topic, ends=("stdout",)) as (_, person):
        person.waits_for(" 1,234 ")


# ---- status ----

def members(text):
    """{name: value} of a page with a member a line."""
    return dict(re.split(r"  +", line, maxsplit=1) for line in text.splitlines())


def test_status_for_people_and_for_programs(ctl):
    status = ctl.json("status")
    assert status["ready"] is True and status["pid"] > 1 and status["version"]
    shown = members(ctl.ok("status").text)
    assert shown["version"] == status["version"]
    assert (shown["ready"], shown["store up"]) == ("yes", "yes")
    assert shown["store address"] == status["store"]["address"]
    assert shown["store breaker state"] == "closed" and shown["store weak"] == "-"


def test_a_node_that_is_not_ready_says_why(make_node, make_redis):
    server = make_redis(appendonly="yes", appendfsync="always")
    node, ctl = fresh(make_node, **{"store.redis": server.address})
    server.stop()
    node.wait_store_lost()
    shown = members(ctl.ok("status").text)
    assert shown["ready"] == "no" and "the store cannot be used" in shown["why not ready"]
    server.start()
    wait_until(lambda: ctl.json("status")["ready"], "Redis is back")


# ---- tail ----

def hand_over(ctl, topic, body="x"):
    job_id = ctl.json("push", topic, body)["id"]
    ctl.ok("pop", topic, "--ack")
    return job_id


def until_seen(ctl, topic, running):
    """Hands jobs over until tail, which says nothing of its own, shows one; returns its line."""
    ids = []

    def is_seen():
        ids.append(hand_over(ctl, topic))
        return any(job_id in line for line in running.out for job_id in ids)

    wait_until(is_seen, "tail follows")
    return running.out[0]


def test_tail_shows_people_each_hand_over(ctl, topic):
    with ctl.start("tail", topic) as running:
        line = until_seen(ctl, topic, running)
        assert topic in line and line.startswith("20") and " to http 127.0.0.1:" in line
        hand_over(ctl, topic + "-other")
        job_id = hand_over(ctl, topic)
        running.wait_for(job_id)
        assert not any("-other" in line for line in running.out)


def test_tail_gives_programs_a_document_a_line(ctl, topic):
    with ctl.start("tail", "--json") as running:
        until_seen(ctl, topic, running)
        job_id = hand_over(ctl, topic)
        delivery = json.loads(running.wait_for(job_id))
        assert delivery["topic"] == topic and delivery["id"] == job_id
        assert all(json.loads(line) for line in running.out)


def test_tail_outlives_a_restart_of_the_node(make_node):
    node, ctl = fresh(make_node)
    with ctl.start("tail") as running:
        until_seen(ctl, "topic", running)
        node.stop()
        running.wait_for("asked again", "err")
        node.start()
        running.wait_for("is back", "err")
        running.wait_for(hand_over(ctl, "topic"))


def test_tail_says_how_many_it_has_missed(make_node):
    """It stands still while more is handed out than the node remembers."""
    node, ctl = fresh(make_node)
    with ctl.start("tail") as running:
        until_seen(ctl, "topic", running)
        running.signal("STOP")
        ctl.ok("push", "many", "--lines", stdin=b"x\n" * 5120)
        client = http.client.HTTPConnection("127.0.0.1", node.http_port, timeout=PATIENCE_S)
        for _ in range(80):
            client.request("POST", "/v1/topics/many/pop?count=64")
            assert len(json.load(client.getresponse())["jobs"]) == 64
        client.close()
        running.signal("CONT")
        running.wait_for("missed ", "err")
        running.wait_for(hand_over(ctl, "topic"))


def test_head_ends_a_tail(ctl, topic):
    reader, writer = os.pipe()
    with subprocess.Popen([program(), "tail", topic], stdout=writer, stderr=subprocess.PIPE,
                          env=environment(ctl.url)) as process:
        os.close(writer)
        os.close(reader)

        def has_ended():
            hand_over(ctl, topic)
            return process.poll() is not None

        wait_until(has_ended, "it ends with its reader")
        assert process.stderr.read() == b""
        assert process.returncode != DONE
