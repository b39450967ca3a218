"""dueqctl push --lines: a job for each line, and the truth about each."""

import json
import os
import signal

import pytest

from harness.dueqctl import DONE, NOTHING, REFUSED, UNKNOWN, USAGE, Dueqctl, on_terminal
from harness.wait import PATIENCE_S, wait_until


def ready(ctl, topic):
    return ctl.json("stats", topic)["topics"][0]["ready"]


def test_each_line_is_a_job_in_order(ctl, topic):
    lines = [f"line {number}" for number in range(2500)]
    assert ctl.ok("push", topic, "--lines", stdin="\n".join(lines).encode()).text == "2500 pushed\n"
    assert ready(ctl, topic) == 2500
    popped = ctl.json("pop", topic, "--count", 64)["jobs"]
    assert [job["body"] for job in popped] == lines[:64]


def test_programs_get_a_result_for_each_line(ctl, topic, tmp_path):
    path = tmp_path / "lines"
    path.write_bytes(b"one\n\n\xff\0three\n")
    results = ctl.json("push", topic, "--lines", "--file", path)["results"]
    assert len(results) == 3
    for result, body in zip(results, (b"one", b"", b"\xff\0three")):
        assert ctl.ok("get", topic, result["id"], "--body-only").out == body


def test_no_line_is_no_job(ctl, topic):
    assert ctl.ok("push", topic, "--lines").text == "0 pushed\n"
    assert ctl.json("push", topic, "--lines") == {"results": []}


def test_options_are_for_every_line(ctl, topic):
    ctl.ok("push", topic, "--lines", "--delay", "1h", "--ttr", "5s", stdin=b"a\nb\n")
    assert ctl.json("stats", topic)["topics"][0]["delayed"] == 2


def test_a_line_that_is_refused_is_named_and_the_others_go_on(make_node):
    node = make_node({"limits.body_bytes": "1KiB"}).start()
    ctl = Dueqctl(f"http://127.0.0.1:{node.http_port}")
    data = b"good\n" + b"x" * 2000 + b"\nalso good\n"
    done = ctl("push", "topic", "--lines", stdin=data)
    assert done.code == REFUSED and done.text == "2 pushed, 1 refused\n"
    assert "line 2: " in done.complaint and "too_large" in done.complaint
    done = ctl("push", "topic", "--lines", "--json", stdin=data)
    codes = [result.get("error", {}).get("code") for result in done.json()["results"]]
    assert done.code == REFUSED and codes == [None, "too_large", None]
    done = ctl("push", "topic", "--lines", stdin=(b"x" * 2000 + b"\n") * 30)
    assert "line 10: " in done.complaint and "line 11: " not in done.complaint
    assert "20 more lines" in done.complaint


def test_a_pipe_that_drips_is_not_held_up(ctl, topic):
    with ctl.start("push", topic, "--lines") as running:
        for number in range(1, 4):
            running.write(b"drop\n")
            wait_until(lambda number=number: ready(ctl, topic) == number, "the drop has arrived")
        running.write(b"last")
        assert running.wait() == DONE
        assert running.out == ["4 pushed"]
    assert ready(ctl, topic) == 4


def test_lines_that_may_be_in_are_named_and_nothing_more_is_sent(make_node):
    """The node freezes between two batches."""
    node = make_node().start()
    ctl = Dueqctl(f"http://127.0.0.1:{node.http_port}")
    with ctl.start("push", "topic", "--lines", "--json", "--timeout", "1s") as running:
        running.write(b"in\n")
        wait_until(lambda: ready(ctl, "topic") == 1, "the first line has arrived")
        os.kill(node.worker_pid, signal.SIGSTOP)
        try:
            running.write(b"perhaps\n" * 3)
            running.wait_for("]}")
            assert running.wait() == UNKNOWN
        finally:
            os.kill(node.worker_pid, signal.SIGCONT)
        running.wait_for("lines 2 to 4: ", "err")
        running.wait_for("These lines may be in", "err")
        assert "".join(running.out).count('"code":"unknown"') == 3


def test_progress_is_shown_to_people_who_wait(ctl, topic):
    with on_terminal(ctl.url, "push", topic, "--lines", ends=("stderr",)) as (process, person):
        def is_shown():
            process.stdin.write(b"line\n")
            process.stdin.flush()
            return person.sees(" lines, ")

        wait_until(is_shown, "progress is shown")
        out, _ = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == DONE and out.endswith(b" pushed\n")


@pytest.mark.parametrize("name", ["INT", "TERM"])
def test_who_interrupts_is_told_what_is_in(ctl, topic, name):
    with ctl.start("push", topic, "--lines", "--json") as running:
        running.write(b"one\ntwo\nhalf a li")
        wait_until(lambda: ready(ctl, topic) == 2, "the lines have arrived")
        running.signal(name)
        running.wait_for("]}")
        running.wait_for("what follows line 2 was not sent", "err")
        assert running.wait() == -signal.Signals[f"SIG{name}"]
    assert ready(ctl, topic) == 2


def test_an_interrupted_list_to_cancel_is_complete_json(ctl, topic):
    ctl.ok("push", topic, "x", "--id", "a")
    with ctl.start("cancel", topic, "-", "--json") as running:
        running.write(b"a\n")
        running.wait_for('{"id":"a"}')
        running.signal("INT")
        running.wait_for("]}")
        assert running.wait() == -signal.SIGINT


def test_ids_behind_the_list_are_left_alone_after_an_interrupt(make_node):
    """The node is frozen while the first of them is under way."""
    node = make_node().start()
    ctl = Dueqctl(f"http://127.0.0.1:{node.http_port}")
    for name in ("a", "b"):
        ctl.ok("push", "topic", "x", "--id", name)
    os.kill(node.worker_pid, signal.SIGSTOP)
    try:
        with ctl.start("cancel", "topic", "-", "a", "b", "--json") as running:
            running.end_input()
            wait_until(running.is_asking, "its request is under way")
            running.signal("INT")
            os.kill(node.worker_pid, signal.SIGCONT)
            running.wait_for("]}")
            running.wait_for("what follows was not cancelled", "err")
            assert running.wait() == -signal.SIGINT
    finally:
        os.kill(node.worker_pid, signal.SIGCONT)
    assert json.loads("".join(running.out)) == {"results": [{"id": "a"}]}
    assert ctl("get", "topic", "a").code == NOTHING
    assert ctl.json("get", "topic", "b")["state"] == "ready"


def test_a_second_interrupt_kills_at_once(make_node):
    node = make_node().start()
    ctl = Dueqctl(f"http://127.0.0.1:{node.http_port}")
    os.kill(node.worker_pid, signal.SIGSTOP)
    try:
        with ctl.start("push", "topic", "--lines", "--timeout", "1h") as running:
            running.write(b"x\n")
            wait_until(running.is_asking, "its request is under way")
            running.signal("INT")
            running.signal("TERM")
            assert running.wait() == -signal.SIGTERM
    finally:
        os.kill(node.worker_pid, signal.SIGCONT)


def test_a_line_with_a_nul_is_no_id_and_cancels_nothing(ctl, topic):
    for name in ("a", "b"):
        ctl.ok("push", topic, "x", "--id", name)
    done = ctl("cancel", topic, "-", "--json", stdin=b"a\0z\n\xff\nb\n")
    codes = [result.get("error", {}).get("code") for result in done.json()["results"]]
    assert done.code == USAGE and codes == ["bad_id", "bad_id", None]
    assert ctl.json("get", topic, "a")["id"] == "a"


def test_what_was_cancelled_is_printed_before_the_next_id_is_awaited(ctl, topic):
    ctl.ok("push", topic, "x", "--id", "a")
    with ctl.start("cancel", topic, "-") as running:
        running.write(b"a\n")
        running.wait_for("a: cancelled")


def test_results_are_printed_before_the_next_line_is_awaited(ctl, topic):
    with ctl.start("push", topic, "--lines", "--json") as running:
        running.write(b"a\n")
        running.wait_for('"due_ms"')


def test_a_batch_that_is_too_large_for_a_request_goes_in_parts(make_node):
    node = make_node({"limits.body_bytes": "1KiB", "limits.http_body_bytes": "64KiB"}).start()
    ctl = Dueqctl(f"http://127.0.0.1:{node.http_port}")
    data = b"".join(b"%d" % number + b"x" * 500 + b"\n" for number in range(999))
    assert ctl.ok("push", "topic", "--lines", stdin=data).text == "999 pushed\n"
    done = ctl("push", "topic", "--lines", stdin=data + b"x" * 300000 + b"\n" + data)
    assert done.code == REFUSED and done.text == "1998 pushed, 1 refused\n"
    assert "line 1000: " in done.complaint
