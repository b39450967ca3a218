"""When a process of the node cannot start, or dies: what ends the node, what does not, and
that the log says it even where it says little else."""

import re

import pytest

from crash.faults import end_of
from harness.redis_programs import (redis_slow_to_load, redis_that_fails,
                                    redis_with_little_disk)
from harness.wait import holds_for, wait_until

COULD_NOT_START = 1
JOBS = 3000
TO_BE_ASKED_IN = 6 * 1024  # commands: while Redis loads it answers after each 1,024
CALL_MAX = 64  # pushes that share a call to Redis: SCRIPT_MANY_MAX


# ---- the embedded Redis ----

def test_a_redis_that_cannot_start_ends_the_node_and_is_quoted(make_node, tmp_path):
    program = redis_that_fails(tmp_path, "bad luck today")
    node = make_node({"store.redis_server": program, "log.level": "error"}).launch()
    assert end_of(node) == COULD_NOT_START
    assert "bad luck today" in node.output() and "cannot start" in node.output()


@pytest.fixture
def stopped_with_data(make_node, tmp_path):
    """A node with some thousand jobs whose Redis takes a while to load them."""
    program = redis_slow_to_load(tmp_path, key_us=300)
    node = make_node({"store.redis_server": program, "log.level": "warn"}).start()
    with node.raw_client() as raw:
        for first in range(0, JOBS, 100):
            for number in range(first, first + 100):
                job = {"id": f"job-{number}", "topic": "topic", "body": "b" * 1000,
                       "delay": 3600}
                raw.send_request("Push", job, id=number)
            assert all(raw.reply()["result"] == "success" for _ in range(100))
    node.stop()
    return node


def log_of_redis(node):
    return next(node.data_dir.glob("appendonlydir/*.incr.aof"))


def test_a_damaged_file_ends_the_node_though_redis_answered(stopped_with_data):
    node = stopped_with_data
    path = log_of_redis(node)
    data = bytearray(path.read_bytes())
    assert len(data) > 3_000_000
    at = data.index(b"\r\n*", len(data) * 19 // 20)
    data[at + 2] = ord("!")
    path.write_bytes(TO_BE_ASKED_IN * b"*2\r\n$6\r\nSELECT\r\n$1\r\n0\r\n" + data)
    node.settings["log.level"] = "info"
    node.launch()
    assert end_of(node) == COULD_NOT_START
    said = node.output()
    assert "worker: IDLE -> STARTING" in said, "Redis has answered that it loads"
    assert "Bad file format" in said and "redis-check-aof" in said
    assert said.count("-> STARTING") == 2, "nothing was tried again"


def cut_short(path, size):
    with open(path, "r+b") as file:
        file.truncate(size)


def test_a_file_that_was_cut_short_loads_and_that_is_told_everywhere(stopped_with_data):
    node = stopped_with_data
    path = log_of_redis(node)
    cut_short(path, path.stat().st_size - 7)
    settings = dict(node.settings)
    node.settings["store.redis_server"] = "/bin/false"
    node.launch()
    assert end_of(node) == COULD_NOT_START
    node.settings, before = settings, len(node.output())
    node.start()
    left = node.redis().zcard(next(node.redis().scan_iter("dq:{*}:d:*")))
    assert JOBS - CALL_MAX <= left <= JOBS, "the last call to Redis is lost"
    warning = re.search(r" warn  warden .* within a command, and (\d+) bytes were cut off",
                        node.output())
    cut = 7 + int(warning[1])
    assert 7 < cut < 1_000_000
    assert "is 7 bytes shorter than when this node was stopped" in node.output()[before:], (
        "a loss is told until a start has succeeded")
    wait_until(lambda: node.metrics()['dueq_store_weak{why="aof_cut"}'] == 1, "it is weak")
    assert node.metrics()["dueq_store_aof_cut_bytes"] == cut
    with node.api() as api:
        assert api.ask("GET", "/health/ready").json["store"]["weak"] == ["aof_cut"]
    node.stop()
    node.start()
    assert node.metrics()["dueq_store_aof_cut_bytes"] == 0, "a restart ends it"


def test_what_redis_or_a_crash_leaves_is_no_shortened_file(stopped_with_data):
    """A start, a rewrite, and an end of which nobody made a mark."""
    node = stopped_with_data
    for end in node.stop, lambda: node.kill("all"), node.stop:
        node.start()
        node.redis().execute_command("BGREWRITEAOF")
        wait_until(lambda: node.redis().info("persistence")["aof_rewrite_in_progress"] == 0,
                   "it is rewritten")
        assert "shorter than when" not in node.output()
        end()
    node.start()
    assert "shorter than when" not in node.output()
    assert node.metrics()["dueq_store_aof_cut_bytes"] == 0


def as_listed(files):
    return sum(path.stat().st_size for path in files.iterdir() if ".incr." in path.name)




def test_a_strict_node_does_not_begin_without_the_list_of_its_files_and_another_puts_them_aside(
        stopped_with_data):
    node = stopped_with_data
    files = log_of_redis(node).parent
    size = as_listed(files)
    (files / "appendonly.aof.manifest").unlink()
    missing = "appendonly.aof.manifest is missing, .*"
    node.settings["store.strict"] = "true"
    node.launch()
    assert end_of(node) == COULD_NOT_START
    assert re.search(f" error warden .*{missing} store.strict is on", node.output())
    assert " begins with an empty store" in node.output()
    assert as_listed(files) == size, "nothing was overwritten"

    node.settings["store.strict"] = "false"
    node.start()
    assert re.search(f" warn  warden .*{missing} begins empty: ", node.output())
    wait_until(lambda: node.metrics()['dueq_store_weak{why="aof_cut"}'] == 1, "it is weak")
    assert node.metrics()["dueq_store_aof_cut_bytes"] >= size > 0
    assert as_listed(files.parent / "appendonlydir.unlisted") >= size
    node.stop()
    node.start()
    assert node.metrics()["dueq_store_aof_cut_bytes"] == 0, "a restart ends it"


def test_a_strict_node_does_not_cut_a_file_until_it_is_told_to(stopped_with_data):
    node = stopped_with_data
    path = log_of_redis(node)
    cut_short(path, path.stat().st_size // 3)
    size = path.stat().st_size
    node.settings["store.strict"] = "true"
    node.launch()
    assert end_of(node) == COULD_NOT_START
    assert "or start once with store.strict: false" in node.output()
    assert path.stat().st_size == size, "nothing was cut"
    node.settings["store.strict"] = "false"
    node.start()
    node.stop()
    node.settings["store.strict"] = "true"
    node.start()
    assert node.metrics()["dueq_store_aof_cut_bytes"] == 0


def test_a_full_disk_is_named_and_not_only_the_connection_that_it_costs(make_node, tmp_path):
    node = make_node({"store.redis_server": redis_with_little_disk(tmp_path, kib=64)}).start()
    with node.raw_client() as raw:
        raw.send_request("Push", {"id": "large", "topic": "topic", "body": "b" * 100_000}, id=1)
        wait_until(lambda: "cannot write its file: the disk of" in node.http("/health/ready")[1],
                   "the reason is told")
    assert " error warden   " in node.output()
    assert f"the disk of {node.data_dir} is full, or fails. Make room" in node.output()


# ---- the worker ----

def make_misfit(client):
    client.hset("dq:meta", "buckets", 32)


def make_fit(client):
    client.hset("dq:meta", "buckets", 64)


def fill_up(client):
    client.config_set("maxclients", 1)  # those that are there stay


def make_room(client):
    client.config_set("maxclients", 100)


@pytest.mark.parametrize("spoil, mend, why", [
    (make_misfit, make_fit, "this store cannot be used"),
    (fill_up, make_room, "max number of clients")])
def test_a_redis_that_was_good_is_waited_for(make_node, make_redis, spoil, mend, why):
    redis = make_redis(appendonly="yes", appendfsync="always")
    node = make_node({"store.redis": redis.address}).start()
    client = redis.client()
    with node.python_client() as producer:
        producer.push("topic", "before-1", ttr=60)
    old, before = node.worker_pid, len(node.output())
    spoil(client)  # before: the next worker is there within ten milliseconds
    node.kill("worker")
    wait_until(lambda: node.worker_pid not in (None, old), "there is another worker")
    wait_until(lambda: why in node.output()[before:], "it has looked at Redis")
    assert holds_for(lambda: node.process.returncode is None, 0.5)
    mend(client)
    node.wait_ready()
    with node.python_client() as consumer:
        assert consumer.pop("topic")["id"] == "before-1"


@pytest.mark.parametrize("who", ["worker", "redis"])
def test_a_child_that_dies_is_a_warning(make_node, who):
    node = make_node({"log.level": "warn"}).start()
    before = len(node.output())
    node.kill(who)
    wait_until(lambda: f"{who}: UP -> BACKOFF" in node.output()[before:], "it is said")
    node.wait_ready()
