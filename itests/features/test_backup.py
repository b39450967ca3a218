"""conf/redis/dueq-backup: a copy of the jobs while the node works, and what is back after it has
been restored as doc/operations/backup.md says."""

import os
import shutil
import subprocess

from harness.background import in_background
from harness.build import ROOT
from harness.wait import wait_until

BACKUP = ROOT / "conf/redis/dueq-backup"
HOUR_MS = 3600 * 1000
DURING = 300  # pushes that go on while the copy is made


def back_up(redis, to, directory=None, **more):
    return subprocess.run([BACKUP, directory or redis.directory, to, "-s", redis.socket], text=True,
                          capture_output=True, check=False, **more)


def percentage(redis):
    return redis.client().config_get("auto-aof-rewrite-percentage")


def put_back(redis, copy):
    """As the page says: Redis stopped, its files put aside, the copy in their place."""
    redis.destroy()
    files = redis.directory / "appendonlydir"
    files.rename(redis.directory / "appendonlydir.before")
    shutil.copytree(copy / "appendonlydir", files)
    redis.start()


def ids(api, topic, state):
    return {job["id"] for job in api.all_jobs(topic, state=state)}


def test_what_was_acknowledged_before_a_backup_is_there_after_it_is_restored(
        make_node, redis, topic, tmp_path):
    node = make_node({"store.redis": redis.address, "store.hold": "60s"}).start()
    with node.api() as api, node.api() as other:
        ready = {api.push(topic)["id"] for _ in range(50)}
        redis.client().bgrewriteaof()  # a base, and what comes after it
        delayed = {api.push(topic, delay_ms=HOUR_MS)["id"] for _ in range(50)}
        done = api.pop_one(topic)
        api.ack(done)
        ready.remove(done["id"])
        held = api.pop_one(topic, ttr_ms=HOUR_MS)

        before = percentage(redis)
        pushing = in_background(lambda: [other.push("during") for _ in range(DURING)])
        copied = back_up(redis, tmp_path / "copy")
        assert copied.returncode == 0, copied.stderr
        assert len(pushing.result()) == DURING
        assert percentage(redis) == before
        assert not list(redis.directory.glob(".dueq-backup"))

        api.ack(held)
        later = api.push(topic, delay_ms=HOUR_MS)["id"]
        put_back(redis, tmp_path / "copy")
        assert ids(api, topic, "delayed") == delayed, "later ones are lost"
        assert ids(api, topic, "ready") == ready - {held["id"]}
        assert ids(api, topic, "reserved") == {held["id"]}, "its ack is lost: it comes again"
        assert later not in delayed and done["id"] not in ready
        wait_until(lambda: "this Redis has rolled back" in node.output(), "the node says so")
        api.push(topic)


def test_a_backup_says_that_it_is_done_when_its_name_is_on_the_disk(redis, tmp_path):
    """A power cut after `done` must not lose what the last rename has made."""
    programs, told = tmp_path / "programs", tmp_path / "told"
    programs.mkdir()
    (programs / "sync").write_text(
        f'#!/bin/sh\nfor each; do echo "$each $(ls -A "$each" | tr "\\n" " ")"; done >>{told}\n')
    (programs / "sync").chmod(0o755)
    to = tmp_path / "copy"
    copied = back_up(redis, to, env={**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"})
    assert copied.returncode == 0, copied.stderr
    lines = told.read_text().splitlines()
    assert any(line.startswith(f"{to}/.part/") for line in lines), "the files"
    assert any(line.startswith(f"{to}/.part appendonly") for line in lines), "their names"
    assert lines[-2] == f"{to} appendonlydir " and lines[-1].startswith(f"{to}/.. copy ")


def test_a_backup_says_what_it_lacks_and_leaves_all_as_it_was(redis, tmp_path):
    before = percentage(redis)
    copied = back_up(redis, tmp_path / "copy")
    assert copied.returncode == 0, copied.stderr
    again = back_up(redis, tmp_path / "copy")
    assert again.returncode == 1 and "is there already" in again.stderr

    other = back_up(redis, tmp_path / "other", directory=tmp_path)
    assert other.returncode == 1 and "is appendonly on" in other.stderr
    assert subprocess.run([BACKUP], capture_output=True, check=False).returncode == 2

    redis.destroy()
    away = back_up(redis, tmp_path / "away")
    assert away.returncode == 1 and "Redis does not answer" in away.stderr, away.stderr
    assert not (tmp_path / "away").exists() and not (tmp_path / "other").exists()
    redis.start()
    assert percentage(redis) == before
