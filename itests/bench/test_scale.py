"""The tables about several nodes: what they make of what was used, on figures that are known; and
one of them for real, as small as it gets."""

import time
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from bench import bench as program
from bench.loads import LoadFailed
from bench.meter import Look, Used, cpu_us
from bench.progress import Silence
from bench.result import Result
from bench.site import OneRedis, Site
from bench.tables import GROUPS, TABLES, scale
from bench.tables.table import Options
from harness.process import Process, kill_now

QUICK = Options(rounds=1, seconds=1, scale="quick")


# ---- the meter ----

def used(**rest):
    return Used(2.0, [10_000, 30_000], [50_000], jobs=1000, **rest)


def test_what_was_used_is_told_by_the_job_and_by_the_second():
    figures = used(loader_us=10_000, scripts=3000, redis_bytes=500_000).figures()
    assert figures["per_second"] == 500
    assert (figures["node_us"], figures["redis_us"], figures["loader_us"]) == (40, 50, 10)
    assert (figures["scripts"], figures["redis_bytes"]) == (3, 500)
    assert figures["processors"] == pytest.approx(0.05)
    assert figures["busiest_node"] == pytest.approx(0.015)


def test_a_process_that_works_is_seen_to_work(tmp_path):
    busy = Process(["sh", "-c", "while :; do :; done"], tmp_path / "output")
    try:
        look = Look([busy.pid], [], [])
        while cpu_us(busy.pid) - look.node_us[0] < 50_000:
            time.sleep(0.01)
        assert look.used().node_us[0] >= 50_000
    finally:
        kill_now([busy.pid])
        busy.wait()


def test_a_script_and_its_bytes_are_counted(tmp_path):
    store = OneRedis(tmp_path).start()
    try:
        client = store.servers[0].client()
        sha = client.script_load("return redis.call('SET', KEYS[1], ARGV[1])")
        look = Look([], [store.servers[0].process.pid], [client])
        for _ in range(5):
            client.evalsha(sha, 1, "key", "x" * 1000)
        seen = look.used()
        assert seen.scripts == 5 and seen.redis_bytes > 5000 and seen.redis_us[0] > 0
        assert store.address.endswith(str(client.config_get("port")["port"]))
    finally:
        store.destroy()


class SlowSite(Site):
    """To fill in takes as many seconds as it is told, by a clock of its own."""

    def __init__(self, takes_s):  # pylint: disable=super-init-not-called
        self.name, self.loads, self.takes_s = "slow", FakeFarm(), list(takes_s)
        self.now_s, self.filled = 1000.0, []

    def fill(self, jobs, topics, name, due_ms=0):
        self.filled.append(name)
        self.now_s += self.takes_s.pop(0)
        if self.now_s * 1000 >= due_ms:
            raise LoadFailed("late")

    def wait_at_rest(self):
        pass

    def _moved(self, due_ms):
        return used()


def slow_site(monkeypatch, *takes_s):
    site = SlowSite(takes_s)
    monkeypatch.setattr("bench.site.time", SimpleNamespace(time=lambda: site.now_s))
    return site


def test_a_slow_machine_fills_in_again_with_more_time_in_other_topics(monkeypatch):
    site = slow_site(monkeypatch, 5, 5, 5)
    assert site.fall_due(10, 3, fill_s=1).jobs == 9
    assert site.filled == ["due0", "due1", "due2"] and site.topic_name == "due2"


def test_filling_in_is_given_up(monkeypatch):
    with pytest.raises(LoadFailed, match="took too long"):
        slow_site(monkeypatch, 50, 50, 50, 50).fall_due(10, 3, fill_s=1)


def test_filling_in_that_fails_in_time_has_failed(monkeypatch):
    def fail(*unused):
        raise LoadFailed("no Redis")

    site = slow_site(monkeypatch)
    site.fill = fail
    with pytest.raises(LoadFailed, match="no Redis"):
        site.fall_due(10, 3, fill_s=1)


# ---- tables ----

class FakeSite:
    """A node takes 10 us a push, 1 us a job that falls due, 20 us a hand-over; Redis twice that,
    and in cluster mode 10 % more. Each phase takes what Redis takes."""

    def __init__(self, farm, mode, masters):
        self.farm, self.mode, self.masters, self.loads = farm, mode, masters, farm
        self.name, self.nodes = f"{mode}{masters}", []

    @contextmanager
    def running(self, count):
        if (self.mode, count) in self.farm.dead:
            raise LoadFailed("no answer")
        self.nodes = [SimpleNamespace(http_port=1)] * count
        yield self

    def _used(self, jobs, us):
        redis_us = 2 * us * jobs * (1 if self.mode == "standby" else 1.1)
        each = len(self.nodes)
        self.farm.phases.append((self.mode, self.masters, each, jobs))
        return Used(redis_us / 1e6, [us * jobs / each] * each,
                    [redis_us / self.masters] * self.masters, scripts=jobs, jobs=jobs)

    def push(self, jobs, topics, name="push"):
        return self._used(jobs, 10)

    def fall_due(self, jobs, topics, fill_s, again_s=None):
        return self._used(jobs, 1)

    def hand_over(self, jobs, topics, mode="pop_ack"):
        return self._used(jobs, 15 if mode == "pop" else 20)

    def load(self, mode, jobs, **options):
        return self._used(jobs, 10)

    def look(self):
        return SimpleNamespace(used=lambda: self._used(100, 5))

    def wait_at_rest(self):
        pass

    def rss_bytes(self):
        return [8_000_000] * len(self.nodes)


class FakeFarm:
    def __init__(self, dead=()):
        self.progress, self.dead, self.phases, self.names = Silence(), dead, [], set()

    def site(self, name, mode, masters=1):
        assert name not in self.names, f"two sites are called {name}"
        self.names.add(name)
        return FakeSite(self, mode, masters)


@pytest.fixture
def fill_in(monkeypatch):
    """fill_in(name): (the table, the phases that were run)."""
    monkeypatch.setattr("bench.tables.scale.MODE", "cluster")
    monkeypatch.setattr("bench.tables.scale.LOCK_MODES",
                        {"standby": "without", "cluster": "with"})
    monkeypatch.setattr("bench.tables.fleet.time", SimpleNamespace(sleep=lambda seconds: None))
    monkeypatch.setattr("bench.tables.operations.Batches", FakeBatches)

    def measured(name, options=Options(), **rest):
        farm = FakeFarm(**rest)
        result = Result(name, TABLES[name].title, ["measured"])
        TABLES[name].fill_in(farm, options, result)
        return result, farm.phases
    return measured


class FakeBatches:
    def __init__(self, port, name, size, topics):
        self.bytes_moved = 0

    def push(self, jobs, delay_ms=0):
        self.bytes_moved += 1000 * jobs

    def pop(self, jobs, is_acked=False):
        pass

    def close(self):
        pass


def values(result, what, nth=0):
    return [row.values for row in result.rows if row.what == what][nth]


def test_all_numbers_of_nodes_and_masters_stand_beside_each_other(fill_in):
    result, phases = fill_in("nodes")
    assert result.columns == ["1 node, 1 Redis", "2 nodes, 1 Redis", "3 nodes, 1 Redis",
                              "1 node, 3 Redis", "2 nodes, 3 Redis", "3 nodes, 3 Redis"]
    assert values(result, "... a job: nodes") == [10] * 6
    assert values(result, "... a job: Redis", 2) == pytest.approx([44] * 6)
    assert len(phases) == 3 * 3 * 6 and not result.broken
    assert [cell["hand.node_us"] for cell in result.series["cells"]] == [20] * 6


def test_a_site_that_gives_up_leaves_a_gap_and_is_named(fill_in):
    result, _ = fill_in("nodes", dead=[("cluster", 2)])
    assert values(result, "push")[1] is None and values(result, "push")[0] is not None
    assert [why.split(":")[0] for why in result.broken] == ["1 2", "3 2"]


def test_locks_that_cost_a_tenth_are_too_dear(fill_in):
    result, _ = fill_in("locks")
    shares = values(result, "... with locks, against without")
    assert shares == pytest.approx([100 / 1.1] * 3)
    assert result.failures == ["... with locks, against without"]


def test_topics_that_cost_nothing_more_than_none_are_free(fill_in):
    result, _ = fill_in("idle_topics")
    assert result.columns == ["1 node, 1 Redis", "3 nodes, 1 Redis", "3 nodes, 3 Redis"]
    assert values(result, "no topic: memory of a node") == [8, 8, 8]
    assert values(result, "what the topics add: processor of a node") == [0, 0, 0]
    assert not result.failures and not result.broken


def test_one_topic_is_measured_at_one_and_at_three_nodes(fill_in):
    result, phases = fill_in("hot")
    assert {nodes for _, _, nodes, _ in phases} == {1, 3}
    assert values(result, "pop+ack")[0] == pytest.approx(1e6 / 44)


def test_operations_are_by_the_job_one_by_one_and_in_batches(fill_in):
    result, phases = fill_in("operations")
    assert result.columns == ["1 job", "10 jobs", "60 jobs"]
    assert values(result, "pop+ack: node")[0] == 20
    assert values(result, "due: from delayed to ready: node") == [1, None, None]
    assert values(result, "push, delayed: bytes between client and node")[1] == 1000


# ---- words ----

def test_a_word_stands_for_several_tables():
    assert program.parse_arguments(["scale", "burst"]).tables == [*GROUPS["scale"], "burst"]
    assert set(GROUPS["scale"]) <= set(TABLES)


# ---- for real ----

def test_a_table_of_several_nodes_is_measured():
    result = TABLES["nodes"].measure(QUICK, Silence(), {})
    assert not result.broken
    assert result.columns == ["1 node, 1 Redis", "2 nodes, 1 Redis"]
    for phase in scale.PHASES.values():
        assert None not in values(result, phase) and min(values(result, phase)) > 0
    assert all(0 < cell["push.scripts"] < 2 for cell in result.series["cells"])
