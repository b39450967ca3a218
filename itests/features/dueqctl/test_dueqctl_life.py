"""dueqctl and all that can become of a job: priorities, tries, dead, lists, settings, pause,
history. Each for people, for programs, and its exit codes."""

import time

import pytest

from harness.dueqctl import NOTHING, REFUSED, USAGE, pop_one
from harness.wait import wait_until


def shown(ctl, *words):
    """{"state": "delayed"} of what people see."""
    return dict(line.split("  ", 1) for line in ctl.ok(*words).text.splitlines())


def field(ctl, topic, job_id, name):
    return shown(ctl, "get", topic, job_id)[name].strip()


def bury(ctl, topic, job_id="x", *options):
    """A dead job."""
    ctl.ok("push", topic, "body", "--id", job_id, *options)
    job = pop_one(ctl, topic)
    ctl.ok("bury", topic, job["id"], job["lease"])
    return job_id


def dead(ctl, topic):
    return [job["id"] for job in ctl.json("list", topic, "--state", "dead")["jobs"]]


# ---- push ----

def test_a_push_says_how_a_job_is_to_be_treated_and_get_shows_it(ctl, topic):
    ctl.ok("push", topic, "x", "--id", "a", "--priority", "7", "--max-tries", "3", "--ttl", "1h",
           "--backoff", "exponential:1s..5m~10%", "--delay", "1m")
    job = ctl.json("get", topic, "a")
    assert (job["priority"], job["max_tries"]) == (7, 3)
    assert job["backoff"] == {"kind": "exponential", "base_ms": 1000, "cap_ms": 300000,
                              "jitter_percent": 10}
    assert 3500000 < job["expires_ms"] - time.time() * 1000 <= 3600000
    assert field(ctl, topic, "a", "priority") == "7"
    assert field(ctl, topic, "a", "max tries") == "3"
    assert field(ctl, topic, "a", "backoff") == "exponential:1s..5m~10%"
    assert field(ctl, topic, "a", "expires").startswith("20")


def test_what_a_push_does_where_its_id_lives(ctl, topic):
    ctl.ok("push", topic, "first", "--id", "a")
    done = ctl("push", topic, "second", "--id", "a", "--mode", "reject")
    assert done.code == REFUSED and "--mode replace" in done.complaint
    line = ctl.ok("push", topic, "second", "--id", "a", "--mode", "ignore").text
    assert line.endswith("(it was there already)\n")
    assert ctl.json("get", topic, "a")["body"] == "first"
    assert ctl.ok("push", topic, "third", "--id", "a", "-m", "replace").text.endswith("(replaced)\n")
    assert ctl.json("push", topic, "third", "--id", "a", "-m", "replace")["existed"] is True
    assert ctl.json("get", topic, "a")["body"] == "third"
    assert "(" not in ctl.ok("push", topic, "--id", "b", "-m", "replace").text


# ---- dead ----

def test_bury_puts_a_job_aside_and_kick_brings_it_back(ctl, topic):
    ctl.ok("push", topic, "x", "--id", "a")
    job = pop_one(ctl, topic)
    assert ctl.ok("bury", topic, "a", job["lease"]).text == "a: buried\n"
    assert field(ctl, topic, "a", "state") == "dead" and field(ctl, topic, "a", "death") == "buried"
    assert field(ctl, topic, "a", "died").startswith("20")
    assert ctl("bury", topic, "a", job["lease"]).code == REFUSED
    assert ctl.ok("kick", topic, "a").text == "a: kicked\n"
    assert pop_one(ctl, topic)["tries"] == 0
    done = ctl("kick", topic, "a", "none")
    assert done.code == REFUSED and "wrong_state" in done.complaint and "not_found" in done.complaint


def test_tries_that_are_used_up_are_told(ctl, topic):
    ctl.ok("push", topic, "x", "--id", "a", "--max-tries", "1", "--backoff", "fixed:1h")
    job = pop_one(ctl, topic)
    assert ctl.ok("release", topic, "a", job["lease"]).text == "a: released, and dead (tries)\n"
    assert field(ctl, topic, "a", "death") == "tries"


def test_a_release_rests_as_the_backoff_says(ctl, topic):
    ctl.ok("push", topic, "x", "--id", "a", "--backoff", "fixed:1h")
    line = ctl.ok("release", topic, "a", pop_one(ctl, topic)["lease"]).text
    assert line.startswith("a: released, due 20") and line.endswith(", in 1h\n")


def test_some_dead_jobs_are_kicked_those_that_died_first(ctl, topic):
    for job_id in "abcd":
        bury(ctl, topic, job_id)
    assert ctl.ok("kick", topic, "--count", 1).text == "1 kicked, there are more\n"
    assert dead(ctl, topic) == ["b", "c", "d"]
    since = ctl.json("get", topic, "c")["died_ms"]
    assert ctl.json("kick", topic, "--since", since) == {"count": 2, "has_more": False}
    assert dead(ctl, topic) == ["b"]
    assert ctl.ok("kick", topic, "--before", "1h").text == "0 kicked\n"
    assert ctl.ok("kick", topic, "--all").text == "1 kicked\n"
    assert ctl.ok("kick", topic, "--all").text == "0 kicked\n"


# ---- another time ----

def test_run_makes_jobs_due_now_and_reschedule_at_another_time(ctl, topic):
    for job_id in ("a", "b"):
        ctl.ok("push", topic, "x", "--id", job_id, "--delay", "1h")
    assert ctl.ok("run", topic, "-", stdin=b"a\nb\n").text == "a: made ready\nb: made ready\n"
    line = ctl.ok("reschedule", topic, "a", "--delay", "2h").text
    assert line.startswith("a: rescheduled, due 20") and line.endswith(", in 2h\n")
    year = time.gmtime().tm_year + 1
    [result] = ctl.json("reschedule", topic, "b", "--at", f"{year}-06-01T00:00:00Z")["results"]
    assert result == {"id": "b", "due_ms": ctl.json("get", topic, "b")["due_ms"]}
    assert ctl("run", topic, "none").code == NOTHING
    assert ctl("run", topic, bury(ctl, topic, "dead")).code == REFUSED
    for words in ((), ("--delay", "1s", "--at", f"{year}-06-01 00:00")):
        assert ctl("reschedule", topic, "a", *words).code == USAGE


# ---- list and purge ----

def test_a_list_shows_where_each_job_is(ctl, topic):
    ctl.ok("push", topic, "12345", "--id", "held", "-p", "1")
    pop_one(ctl, topic)
    bury(ctl, topic, "gone")
    ctl.ok("push", topic, "--id", "later", "--delay", "1h")
    ctl.ok("push", topic, "--id", "now")
    jobs = ctl.json("list", topic)["jobs"]
    assert [(job["id"], job["state"]) for job in jobs] == [
        ("later", "delayed"), ("now", "ready"), ("held", "reserved"), ("gone", "dead")]
    assert jobs[2]["body_bytes"] == 5 and "body" not in jobs[2]
    lines = ctl.ok("list", topic).text.splitlines()
    assert lines[0].split() == ["ID", "STATE", "DUE", "PRIORITY", "TRIES", "BYTES", "NOTE"]
    assert lines[3].split()[:2] == ["held", "reserved"] and " held by http 127.0.0.1" in lines[3]
    assert " until 20" in lines[3] and " buried at 20" in lines[4]
    assert not any(line.endswith(" ") for line in lines)
    assert len(ctl.ok("list", topic, "--state", "dead").text.splitlines()) == 2


def test_a_list_ends_at_its_limit_and_says_so(ctl, topic):
    ctl.ok("push", topic, "--lines", "--delay", "1h", stdin=b"x\n" * 250)
    done = ctl("list", topic)
    assert len(done.text.splitlines()) == 101 and "there are more" in done.complaint
    assert ctl.json("list", topic, "-n", 249)["has_more"] is True
    answer = ctl.json("list", topic, "--all")
    assert answer["has_more"] is False and len({job["id"] for job in answer["jobs"]}) == 250
    assert len(ctl.ok("list", topic, "--limit", 250).text.splitlines()) == 251
    assert ctl.json("list", topic + "-none") == {"jobs": [], "has_more": False}


def test_purge_deletes_what_is_in_the_states_it_is_given(ctl, topic):
    ctl.ok("push", topic, "--lines", stdin=b"x\n" * 2500)
    ctl.ok("push", topic, "--id", "later", "--delay", "1h")
    bury(ctl, topic, "gone", "-p", "0")
    assert ctl.ok("purge", topic, "--state", "ready", "--count", 10).text == (
        "10 purged, there are more\n")
    assert ctl.json("purge", topic, "--state", "ready,dead") == {"count": 2491, "has_more": False}
    [counts] = ctl.json("stats", topic)["topics"]
    assert (counts["delayed"], counts["ready"], counts["dead"]) == (1, 0, 0)


def test_purge_deletes_what_died_between_two_times(ctl, topic):
    for job_id in "abc":
        bury(ctl, topic, job_id)
    middle = ctl.json("get", topic, "b")["died_ms"]
    ctl.ok("purge", topic, "--state", "dead", "--since", middle, "--before", middle + 1)
    assert "b" not in dead(ctl, topic) and dead(ctl, topic)


# ---- settings, pause ----

def test_a_push_into_a_full_topic_says_what_makes_room(ctl, topic):
    ctl.ok("topic", "set", topic, "max_bytes=1KiB")
    ctl.ok("push", topic, "a" * 1000)
    wait_until(lambda: ctl("push", topic, "a" * 25).code == 1, "the limit holds")
    done = ctl("push", topic, "a" * 25)
    assert "purge the dead, or raise max_bytes" in done.complaint
    ctl.ok("push", topic, "a" * 24)


def test_settings_are_set_and_shown_and_hold_for_what_is_pushed_then(ctl, topic):
    ctl.ok("topic", "set", topic, "ttr=5m", "max_tries=3", "backoff=fixed:2s~5%", "history=true")
    lines = [line.split() for line in ctl.ok("topic", "show", topic).text.splitlines()]
    assert lines[:5] == [["SETTING", "VALUE", "FROM"], ["ttr", "5m", "topic"],
                         ["priority", "1024", "built", "in"], ["max_tries", "3", "topic"],
                         ["backoff", "fixed:2s~5%", "topic"]]
    assert ["history", "true", "topic"] in lines and lines[-1] == ["paused", "no"]

    def hold():
        job_id = ctl.json("push", topic, "x")["id"]
        job = ctl.json("get", topic, job_id)
        return job["ttr_ms"] == 300000 and job["max_tries"] == 3

    wait_until(hold, "the settings hold")
    ctl.ok("topic", "set", topic, "max_jobs=3", "max_bytes=100MiB")
    assert "max_jobs=3 max_bytes=100MiB" in ctl.ok("topic", "show").text
    assert ctl.json("topic", "unset", topic, "max_jobs", "max_bytes")["effective"]["max_bytes"] == 0
    answer = ctl.json("topic", "unset", topic, "ttr", "backoff")
    assert answer["own"] == {"max_tries": 3, "history": True}
    assert answer["effective"]["ttr_ms"] == 60000


@pytest.mark.parametrize("words, complaint", [
    (("set", "t", "ttr=5s", "ttr=6s"), "ttr is given twice"),
    (("unset", "t", "ttr", "ttl", "ttr"), "ttr is given twice"),
    (("set", "t", "max_trys=3"), "there is no setting 'max_trys'; did you mean max_tries?"),
    (("set", "t", "ttr_ms=3"), "there is no setting 'ttr_ms'; did you mean ttr?"),
    (("set", "t", "whatever=3"), "there is no setting 'whatever': there are ttr, priority"),
    (("set", "t", "backoff=fixed:31d"), "rests of 1ms to 30d")])
def test_settings_that_are_none_are_told(ctl, words, complaint):
    done = ctl("topic", *words)
    assert done.code == 2 and complaint in done.complaint


def test_the_topics_that_have_settings_are_listed(ctl, topic):
    ctl.ok("topic", "set", topic + "-a", "dead_age=7d", "dead_max=1000")
    ctl.ok("pause", topic + "-b")
    lines = [line.split() for line in ctl.ok("topic", "show").text.splitlines()]
    assert lines[0] == ["TOPIC", "PAUSED", "SETTINGS"]
    assert [topic + "-a", "no", "dead_max=1000", "dead_age=7d"] in lines
    assert [topic + "-b", "yes"] in lines
    names = [each["topic"] for each in ctl.json("topic", "show")["topics"]]
    assert {topic + "-a", topic + "-b"} <= set(names) and names == sorted(names)


def test_a_paused_topic_hands_out_nothing_until_it_is_resumed(ctl, topic):
    ctl.ok("push", topic, "x")
    assert ctl.ok("pause", topic).text == f"{topic}: paused\n"
    assert ctl("pop", topic).code == NOTHING
    assert ctl.ok("stats", topic).text.splitlines()[1].split()[-1] == "yes"
    assert ctl.json("stats", topic)["topics"][0]["paused"] is True
    assert ctl.ok("resume", topic).text == f"{topic}: resumed\n"
    assert pop_one(ctl, topic)["body"] == "x"


def test_a_pause_ends_by_itself(ctl, topic):
    ctl.ok("push", topic, "x")
    assert ctl.ok("pause", topic, "--for", "1h").text.startswith(f"{topic}: paused until 20")
    assert "until 20" in ctl.ok("stats", topic).text
    ctl.ok("pause", topic, "--for", "500ms")
    assert ctl.json("pop", topic, "--wait", "1m")["jobs"][0]["body"] == "x"
    assert ctl("pause", topic, "--for", "1s", "--until", "2036-12-01 09:00").code == USAGE


# ---- history ----

def test_a_trace_tells_what_a_job_went_through(ctl, topic):
    ctl.ok("topic", "set", topic, "history=true")

    def is_written():
        ctl.ok("push", topic, "x", "--id", "a")
        pop_one(ctl, topic, "--ack")
        return "acked" in ctl("trace", topic, "a").text

    wait_until(is_written, "the history is written")
    answer = ctl.json("trace", topic, "a")
    assert answer["is_on"] is True
    assert [each["event"] for each in answer["history"]][-3:] == ["pushed", "delivered", "acked"]
    lines = ctl.ok("trace", topic, "a", "--limit", 1).text.splitlines()
    assert len(lines) == 2 and lines[0].split()[:3] == ["TIME", "EVENT", "TRIES"]
    assert " acked " in lines[1]


def test_a_trace_of_nothing_says_whether_there_is_such_a_job(ctl, topic):
    ctl.ok("push", topic, "--id", "before")
    ctl.ok("topic", "set", topic, "history=true")
    wait_until(lambda: "is off" not in ctl("trace", topic, "none").complaint, "the history is on")
    done = ctl("trace", topic, "none")
    assert (done.code, done.out, done.complaint) == (NOTHING, b"", ctl("get", topic, "none").complaint)
    assert "not_found" in done.complaint
    done = ctl("trace", topic, "before")
    assert done.code == NOTHING and "nothing was written down of it" in done.complaint


def test_a_history_that_is_off_says_how_it_is_turned_on(ctl, topic):
    ctl.ok("push", topic, "x", "--id", "a")
    done = ctl("trace", topic, "a")
    assert done.code == NOTHING and done.out == b""
    assert f"topic set {topic} history=true" in done.complaint
