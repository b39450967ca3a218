"""The load generator against a real node, and against servers that misbehave. No figures are
judged here."""

import json
import shutil
import subprocess
from contextlib import contextmanager

import pytest

from bench.loads import LoadFailed
from bench.measure import Bench
from harness.beanstalkd import Beanstalkd
from harness.build import node_program
from harness.process import frozen
from harness.redis_cluster import bucket_of
from harness.wait import PATIENCE_S, wait_until


@pytest.fixture(scope="module")
def bench():
    with Bench() as started:
        yield started


@contextmanager
def echo(protocol):
    """(process, port) of a server that answers at once and does nothing."""
    words = [node_program().parent / "dueq-load", "echo", "--protocol", protocol]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        yield process, json.loads(process.stdout.readline())["port"]
        process.stdin.close()
        assert process.wait(timeout=PATIENCE_S) == 0


def check(report):
    assert report["operations"] == sum(count for _, count in report["distribution"]) > 0
    assert 0 < report["p50_us"] <= report["p90_us"] <= report["p99_us"] <= report["max_us"]
    assert report["errors"] == report["unfinished"] == 0


@pytest.mark.parametrize("mode, options", [
    ("push", {"protocol": "gmq", "connections": 8}),
    ("cycle", {"protocol": "gmq", "connections": 8, "pipeline": 4}),
    ("cycle", {"protocol": "http", "connections": 8, "pipeline": 4}),
    ("direct_push", {"depth": 8}),
    ("direct_cycle", {"depth": 8}),
])
def test_every_mode_runs_and_reports(bench, mode, options):
    bench.wipe()
    check(bench.load(mode, seconds=1, **options))


def test_an_open_loop_does_what_is_due_and_no_more(bench):
    bench.wipe()
    report = bench.load("cycle", protocol="http", connections=8, rate=50, seconds=1)
    check(report)
    assert (report["loop"], report["operations"]) == ("open", 50)


def test_a_closed_loop_of_so_many_does_them_all_and_counts_what_they_took(bench):
    bench.wipe()
    report = bench.load("push", protocol="http", connections=8, topics=10, first_topic=7,
                        total=12, topic_name="some")
    check(report)
    assert report["operations"] == 12
    assert sum(1 for key in bench.keys_of("d") if bench.redis.zcard(key) == 2) == 2
    assert bench.redis.zcard(f"dq:{{{bucket_of('some-7')}}}:d:some-7") == 2, "it begins there"
    assert report["bytes_sent"] > 12 * 200 and report["bytes_received"] > 12 * 50
    assert report["cpu_us"] > 0


def test_what_is_popped_and_not_acknowledged_stays_reserved(bench):
    bench.wipe()
    bench.fill(40, delay=0, topics=2)
    assert bench.load("pop", protocol="http", connections=4, topics=2, total=40)["operations"] == 40
    assert bench.count_in("v") == 40


@pytest.mark.skipif(not shutil.which("beanstalkd"), reason="beanstalkd is not installed")
def test_beanstalkd_is_spoken(bench):
    with Beanstalkd(bench.directory, is_synced=False) as peer:
        options = {"protocol": "beanstalk", "port": peer.port, "connections": 8, "seconds": 1}
        check(bench.load("cycle", pipeline=4, **options))
        report = bench.load("lateness", rate=100, delay=1, **options)
        assert (report["operations"], report["unmatched"], report["early"]) == (100, 0, 0)


def test_filling_fills(bench):
    bench.wipe()
    assert bench.fill(1000, delay=3600)["operations"] == 1000
    assert bench.count_in("d") == 1000


def _what_is_stored(bench):
    """Every value and every score; left out is how long a job's delay was once."""
    jobs = {key: {job_id: value[:19] + value[24:] for job_id, value
                  in bench.redis.hgetall(key).items()} for key in bench.keys_of("j")}
    scores = {key: bench.redis.zrange(key, 0, -1, withscores=True)
              for key in bench.redis.scan_iter(match="dq:{*", _type="zset", count=10000)}
    return jobs, scores


def test_what_is_filled_in_by_bulk_is_what_pushes_leave(bench):
    bench.wipe()
    due_ms = int(bench.now_ms()) + 3_600_000
    bench.fill(12, bulk=4, topics=3, first_id=5000, at_ms=due_ms)
    filled = _what_is_stored(bench)
    bench.wipe()
    for n in range(12):
        job = {"id": str(5000 + n), "body": "x" * 100, "at_ms": due_ms, "ttr_ms": 60_000}
        bench.node.api().ask("POST", f"/v1/topics/bench-{n // 4}/jobs", job)
    assert filled == _what_is_stored(bench)


def test_bulk_leaves_out_the_topics_of_other_buckets(bench):
    bench.wipe()
    wanted = [bucket_of(f"bench-{n}") for n in (3, 5)]
    signs = "".join("+" if bucket in wanted else "-" for bucket in range(64))
    bench.fill(10, bulk=100, delay=3600, topics=6, only_buckets=signs)
    names = sorted(key.rpartition(b":")[2] for key in bench.keys_of("d"))
    assert names == [f"bench-{n}".encode() for n in range(6)
                     if bucket_of(f"bench-{n}") in wanted]
    assert bench.count_in("d") == 10
    with pytest.raises(LoadFailed, match="a sign for each of 64 buckets"):
        bench.fill(10, bulk=100, delay=3600, only_buckets="+-")


def test_what_was_filled_in_can_be_popped(bench):
    bench.wipe()
    bench.fill(20_000, delay=0, topics=1)
    check(bench.load("pop_ack", connections=1, topics=1, seconds=1))


def test_what_was_filled_in_by_bulk_falls_due(bench):
    bench.wipe()
    bench.fill(20_000, bulk=1000, delay=1, topics=1)
    wait_until(lambda: bench.count_in("d") == 0, "all is ready")
    check(bench.load("pop_ack", connections=1, topics=1, seconds=1))


def test_jobs_have_as_many_priorities_as_asked_for(bench):
    bench.wipe()
    check(bench.load("push", protocol="http", connections=4, topics=1, delay=0, priorities=3,
                     seconds=1))
    (key,) = bench.keys_of("q")
    assert {score for _, score in bench.redis.zrange(key, 0, -1, withscores=True)} == {1, 2, 3}
    assert not bench.keys_of("r")


def test_priorities_are_refused_where_a_protocol_has_none(bench):
    with pytest.raises(LoadFailed, match="no --priorities in gmq"):
        bench.load("push", protocol="gmq", priorities=3, seconds=1)


@pytest.mark.parametrize("options", [
    {"protocol": "gmq"},
    {"protocol": "http"},
    {"protocol": "http", "prefill": 1, "ttr": 0},
])
def test_lateness_knows_every_due_time_and_sees_none_early(bench, options):
    bench.wipe()
    report = bench.load("lateness", connections=8, rate=200, seconds=1, delay=1, **options)
    assert (report["operations"], report["unmatched"], report["early"]) == (200, 0, 0)


def test_lateness_leaves_out_topics_that_nobody_waits_for(bench):
    bench.wipe()
    report = bench.load("lateness", connections=1, topics=100, rate=200, seconds=1, delay=1)
    assert (report["operations"], report["unmatched"]) == (128, 0)


@pytest.mark.parametrize("protocol", ["gmq", "http"])
@pytest.mark.parametrize("say", ["nothing", "request", "pop"])
def test_idle_connections_are_held_until_the_input_ends(bench, protocol, say):
    bench.wipe()
    holder = bench.start_load("idle", protocol=protocol, connections=20, say=say)
    assert json.loads(holder.stdout.readline())["connections"] == 20
    name = f'dueq_connections{{protocol="{protocol}"}}'
    assert bench.node.metrics()[name] >= 20
    assert bench.count_in("d") == (20 if say == "request" else 0)
    holder.communicate(timeout=PATIENCE_S)
    assert holder.returncode == 0


@pytest.mark.parametrize("protocol", ["http", "beanstalk"])
def test_the_generator_can_be_measured_by_itself(bench, protocol):
    with echo(protocol) as (_, port):
        check(bench.load("cycle", protocol=protocol, port=port, connections=4, seconds=1))


def test_a_server_that_stands_still_is_not_left_out_of_the_latencies(bench):
    with echo("gmq") as (server, port), frozen(server.pid):
        report = bench.load("push", port=port, connections=4, rate=100, seconds=1, patience=1)
    assert (report["operations"], report["per_second"]) == (100, 0)
    assert report["unfinished"] == 130, "those of the warm-up, too"
    assert report["p50_us"] > 1_000_000, "they count with the age they have reached"


@pytest.mark.parametrize("length", [{"seconds": 1}, {"total": 8}])
def test_a_closed_loop_ends_though_the_server_does_not_answer(bench, length):
    with echo("http") as (server, port), frozen(server.pid):
        with pytest.raises(LoadFailed, match="4 requests were never answered"):
            bench.load("push", protocol="http", port=port, connections=4, patience=1, **length)


def test_an_error_ends_the_run_unless_it_is_to_be_counted(bench):
    bench.wipe()
    again = {"protocol": "http", "connections": 1, "seconds": 1, "first_id": 1000}
    bench.load("push", **again)
    with pytest.raises(LoadFailed, match="the server says HTTP/1.1 409"):
        bench.load("push", **again)
    assert bench.load("push", count_errors=1, **again)["errors"] > 0


def test_an_open_loop_may_end_with_its_input(bench):
    load = bench.start_load("cycle", connections=4, rate=200, seconds=3600, until_eof=1)
    wait_until(lambda: bench.count_in("v") or bench.keys_of("r") or bench.keys_of("d"),
               "it works")
    load.stdin.close()
    report = bench.result_of(load)
    assert report["errors"] == report["unfinished"] == 0 and report["seconds"] < 3600


def test_scripts_pop_with_leases_too(bench):
    check(bench.load("direct_cycle", depth=8, owners=0, seconds=1))
