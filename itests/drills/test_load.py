"""Load and judge together, on a real node: what is done to it is survived and acquitted, and what
is done to its Redis behind its back is seen."""

import pytest

from drills.journal import OK, Ack, HandOver, Journal, Push
from drills.judge import judge
from drills.load import TOPICS, Load
from harness.ports import free_port
from harness.wait import wait_until


@pytest.fixture
def started(make_node, tmp_path, dice):
    """(node, load, journal) while the load is on; the first address is of nobody."""
    node = make_node().start()
    journal = Journal(tmp_path / "journal")
    load = Load(journal, [("127.0.0.1", free_port()), ("127.0.0.1", node.http_port)], dice)
    with load:
        load.wait_flowing()
        yield node, load, journal
    load.finish()
    journal.close()


def rules_after(load, journal):
    load.__exit__()
    load.drain()
    load.finish()
    print(journal.summary())
    return sorted({violation.rule for violation in judge(journal).violations})


def test_a_quiet_time_is_without_blame_and_everything_happens_in_it(started):
    _, load, journal = started
    wait_until(lambda: len(journal.of(HandOver)) > 400, "enough has happened")
    assert rules_after(load, journal) == []
    assert all(push.outcome == OK for push in journal.of(Push) if push.due_ms)
    assert {type(each) for kind in journal.events.values() for each in kind} >= {
        Push, HandOver, Ack}
    assert len({each.id for each in journal.of(HandOver)}) > 350


def find_delayed(client):
    """(topic's key of delayed jobs, a member) of a job that is not due for a while."""
    for key in client.scan_iter(match="dq:{*}:d:drill-*"):
        members = client.zrange(key, -1, -1, withscores=True)
        if members:
            return key, members[0][0]
    return None


def test_jobs_deleted_behind_its_back_are_lost(started):
    node, load, journal = started
    client = node.redis()
    for _ in range(3):
        key, member = wait_until(lambda: find_delayed(client), "a job is delayed")
        client.zrem(key, member)
        client.hdel(key.replace(b":d:", b":j:"), member)
    assert rules_after(load, journal) == ["LOST"]


def test_jobs_that_nobody_of_the_load_pushed_are_invented(started):
    node, load, journal = started
    with node.api() as api:
        api.push(TOPICS[0], "x", id="stranger")
    wait_until(lambda: any(each.id == "stranger" for each in journal.of(HandOver)), "it comes")
    assert rules_after(load, journal) == ["INVENTED"]


def test_jobs_that_are_made_due_behind_its_back_are_early(started):
    node, load, journal = started
    with node.api() as api:
        def made_due():
            for push in reversed(journal.of(Push)):
                job = api.ask("GET", f"/v1/topics/{push.topic}/jobs/{push.id}")
                if job.status == 200 and job.json["state"] == "delayed":
                    ran = api.ask("POST", f"/v1/topics/{push.topic}/jobs/{push.id}/run")
                    if ran.status == 200:
                        return True
            return False

        wait_until(made_due, "a delayed job is run now")
    assert "EARLY" in rules_after(load, journal)
