"""Every table: what it makes of the figures it is given, and the quick ones against a real node.

No figure is judged: a slow machine passes. `./dev bench --quick` runs all of them for real.
"""

import io
import json
from contextlib import contextmanager, nullcontext
from types import SimpleNamespace

import pytest

from bench import bench as program
from bench.loads import LoadFailed
from bench.progress import Silence
from bench.result import Result
from bench.tables import TABLES, cost, large, life
from bench.tables.table import Options, Table, generator_note
from harness.build import build_dir

QUICK = Options(rounds=1, seconds=1, scale="quick")
FAST_ENOUGH = ("burst", "depth", "memory", "idle", "history", "priorities", "reconciler", "large",
               "purge", "replicas", "due_synced", "tls", "flood", "beanstalkd")
RATES = {"gmq": 30_000, "http": 20_000, "beanstalk": 90_000}
DIRECT_RATE = 40_000


@pytest.mark.parametrize("name", FAST_ENOUGH)
def test_a_table_is_measured(name):
    result = TABLES[name].measure(QUICK, Silence(), {"commit": "abc"})
    assert not result.broken
    assert result.rows and all(row.values[0] is not None for row in result.rows)
    assert Result.from_json(json.loads(json.dumps(result.as_json()))) == result


def test_an_older_build_takes_turns():
    options = Options(rounds=1, seconds=1, scale="quick", compare=build_dir())
    result = TABLES["cost_synced"].measure(options, Silence(), {})
    assert not result.broken and result.columns == [cost.THIS, cost.OLDER, "%"]
    assert all(None not in row.values for row in result.rows if row.what.startswith(
        ("push, gmq", "push, HTTP", "pop+ack", "a lone push")) and "beanstalkd" not in row.what)


def test_what_is_compared_is_the_ratio_of_each_round():
    result = Result("t", "", [cost.THIS, cost.OLDER, "%"])
    runs = {cost.THIS: [{"node_us": us} for us in (300, 100, 200)],
            cost.OLDER: [{"node_us": us} for us in (100, 50, 150)]}
    cost.add_compared(result, "push", runs, "node_us")
    assert (result.rows[0].what, result.rows[0].values) == ("push: node", [200, 100, 200])
    assert result.rows[0].note == "133 to 300 %"


def test_a_build_that_failed_leaves_a_gap_and_has_met_nothing():
    result = Result("t", "", [cost.THIS, cost.OLDER, "%"])
    runs = {cost.THIS: [], cost.OLDER: [{"node_us": 7, "slow": 0}]}
    cost.add_compared(result, "push", runs, "node_us")
    cost.add_sums(result, "slow", runs, "slow")
    assert [row.values for row in result.rows] == [[None, 7, None], [None, 0, None]]
    assert result.rows[1].is_met is None


def test_a_build_that_does_not_count_calls_has_no_figure_for_them():
    result = Result("t", "", [cost.THIS, cost.OLDER, "%"])
    runs = {cost.THIS: [{"operations_a_call": 4}], cost.OLDER: [{"operations_a_call": None}]}
    cost.add_compared(result, "push", runs, "operations_a_call")
    assert result.rows[0].values == [4, None, None]


# ---- the others, with figures that are known ----

class FakeLoad:
    """A load generator that is over before it begins, or (--rate with no end) never."""

    def __init__(self, mode, options):
        self.mode, self.options = mode, options
        self.stdin = io.StringIO()
        self.stdout = io.StringIO('{"mode":"echo","port":1}\n')

    def poll(self):
        return None

    def kill(self):
        pass

    def wait(self):
        pass


class FakeBench:
    """Reports of `rate()`; a protocol in `dead` makes the load generator give up."""

    def __init__(self, dead=(), directory="/nonexistent"):
        self.progress, self.directory, self.dead = Silence(), directory, dead
        self.node = SimpleNamespace(metrics=self._metrics, worker_pid=1, redis_pid=2)
        self.generator_percent = 50
        self.reads = 0

    def _metrics(self):
        """Each reading has seen 1,000 jobs more, all but 5 of them within 1 ms."""
        self.reads += 1
        steps = (("0.001", 995), ("0.01", 1000), ("+Inf", 1000))
        return {f'dueq_{kind}_lateness_seconds_bucket{{le="{bound}"}}': count * self.reads
                for kind in ("move", "delivery") for bound, count in steps}

    def start_load(self, mode, **options):
        return FakeLoad(mode, options)

    def result_of(self, load, begun=""):
        protocol = load.options.get("protocol", "gmq")
        if protocol in self.dead and "direct" not in load.mode:
            raise LoadFailed(f"{load.mode}: no answer")
        rate = load.options.get("rate", 0) or (
            DIRECT_RATE if "direct" in load.mode else RATES[protocol])
        times = {f"{name}_us": us for name, us in
                 (("p50", 200), ("p90", 400), ("p99", 900), ("p999", 4000), ("max", 9000))}
        return {**times, "per_second": rate, "early": 0, "unmatched": 0, "unfinished": 0,
                "doubles": 0, "errors": 0, "cpu_percent": 50, "send_late_p99_us": 30,
                "distribution": [[200, 500], [900, 490], [9000, 10]]}

    def load(self, mode, what=None, **options):
        return self.result_of(self.start_load(mode, **options))

    def fill(self, count, what=None, **options):
        pass

    def wipe(self):
        pass

    def count_in(self, letter):
        return 0

    def busy_share(self, pids, seconds):
        return [1.5, 0.5]


@contextmanager
def no_peer(directory, is_synced):
    yield SimpleNamespace(port=1)


@pytest.fixture
def fill_in(monkeypatch):
    """fill_in(name, dead=[...]): the table, on figures that are known."""
    monkeypatch.setattr("bench.tables.throughput.Beanstalkd", no_peer)

    def measured(name, options=Options(), **rest):
        result = Result(name, TABLES[name].title, ["measured"])
        TABLES[name].fill_in(FakeBench(**rest), options, result)
        return result
    return measured


def values(result, what):
    return next(row.values for row in result.rows if row.what == what)


def test_throughput_has_everybody_at_all_numbers_of_connections(fill_in):
    result = fill_in("throughput")
    assert result.columns == ["1 conn.", "64 conn.", "1,000 conn."]
    for what, rate in (("gmq", 30_000), ("the scripts alone", 40_000),
                       ("beanstalkd, log synced", 90_000)):
        assert values(result, f"push, {what}") == [rate] * 3
    assert values(result, "push+pop+ack, HTTP against scripts") == [50] * 3
    assert [what for what in result.failures] == [
        f"{work}, HTTP against scripts" for work in ("push", "push+pop+ack")]


def test_a_protocol_that_gives_up_leaves_a_gap_and_is_named(fill_in):
    result = fill_in("throughput", dead=["http"])
    assert values(result, "push, HTTP") == [None] * 3
    assert values(result, "push, gmq") == [30_000] * 3
    assert len(result.broken) == 6 and "no answer" in result.broken[0]
    assert result.failures


@pytest.mark.parametrize("name", ["sequential", "everysec"])
def test_one_connection_has_pairs_and_the_scripts(fill_in, name):
    result = fill_in(name)
    assert values(result, "push") == [30_000, 20_000, 40_000]
    assert values(result, "pop+ack pairs") == [30_000, 20_000, None]
    assert not result.failures


def test_latency_is_measured_at_shares_of_what_is_possible(fill_in):
    result = fill_in("latency")
    assert values(result, "push, HTTP, rate") == [20_000, 2_000, 5_000, 10_000, 14_000, 18_000]
    assert values(result, "push, HTTP, p99")[0] == 0.9
    assert len(result.series["push, HTTP"]) == 5, "the closed loop is no point of the curve"


def test_lateness_has_all_rates_with_and_without_load(fill_in):
    result = fill_in("lateness")
    assert result.columns == ["1,000/s", "5,000/s", "20,000/s", "1,000/s loaded",
                              "5,000/s loaded", "20,000/s loaded"]
    assert values(result, "gmq, move by the node's histogram, p99") == [1.0] * 6
    assert values(result, "HTTP, in the consumer's hands, p99") == [0.9] * 6
    assert values(result, "HTTP, handed out early") == [0] * 6
    assert any("12,000 cycles/s" in note for note in result.notes)
    assert len(result.series) == 12 and not result.failures


def test_topics_tells_both_processes_at_rest(fill_in):
    result = fill_in("topics")
    assert [row.values for row in result.rows if row.unit == "% of one"] == [[1.5] * 3, [0.5] * 3]
    assert result.rows[-1].values == [1.0] * 3


def test_the_generator_is_measured_in_its_three_protocols(fill_in):
    assert values(fill_in("generator"), "push, 64 connections") == [30_000, 20_000, 90_000]


# ---- a purge, and what others notice ----

def purge_run(alone_ms, beside_ms):
    alone, beside = ({name: {f"{figure}_us": ms * 1000 for figure in large.FIGURES}
                      for name in large.OTHERS} for ms in (alone_ms, beside_ms))
    return 1.0, 100, alone, beside


def others_of(ready, delayed):
    result = Result("purge", "", list(large.STATES))
    large.add_others(result, {"ready": ready, "delayed": delayed})
    return result


def test_a_purge_that_others_notice_is_a_failure_in_either_state():
    assert not others_of(purge_run(5, 20), purge_run(5, 49)).failures
    assert len(others_of(purge_run(5, 20), purge_run(5, 51)).failures) == 2
    assert len(others_of(purge_run(5, 51), purge_run(5, 20)).failures) == 2


def test_a_machine_that_is_as_slow_without_a_purge_excuses_it_and_is_named():
    result = others_of(purge_run(90, 60), purge_run(5, 20))
    assert not result.failures
    assert sum("90 ms" in row.excuse for row in result.rows) == 2


def test_rates_stand_beside_each_other_with_their_share():
    result = Result("t", "", ["measured"])
    rates = {("push", 0): 200, ("push", 16): 100, ("cycle", 0): 80, ("cycle", 16): None}
    life.add_rates(result, rates, (0, "one"), (16, "many"))
    assert result.columns == ["push", "push+pop+ack"]
    assert [row.values for row in result.rows] == [[200, 80], [100, None], [50, None]]


# ---- the command ----

def test_unknown_tables_and_figures_of_quick_on_the_page_are_refused(capsys):
    for words in (["nonsense"], ["--quick", "--write"], ["--quick", "--long"]):
        with pytest.raises(SystemExit) as info:
            program.parse_arguments(words)
        assert info.value.code == 2
    assert "no table 'nonsense'" in capsys.readouterr().err


@pytest.mark.parametrize("words", [
    ["cost", "--compare", "/nonexistent"], ["burst", "--compare", str(build_dir())],
    ["cost", "--write", "--compare", str(build_dir())]])
def test_an_older_build_is_one_for_a_table_that_compares_and_not_for_the_page(words):
    with pytest.raises(SystemExit) as info:
        program.parse_arguments(words)
    assert info.value.code == 2


def test_rounds_and_seconds_go_before_the_scale():
    options = program.parse_arguments(["--long", "--rounds", "2", "burst"])
    assert program.sizes(options) == Options(2, program.SCALES["long"].seconds, "long")
    assert options.tables == ["burst"]


def test_a_missed_target_ends_with_1_but_not_in_a_quick_run():
    result = Result("t", "", ["measured"])
    result.add("slow", 7, "ms", at_most=5)
    assert program.exit_code([result], "usual") == 1
    assert program.exit_code([result], "quick") == 0
    result.broken.append("gone")
    assert program.exit_code([result], "quick") == 1


def test_a_quick_run_judges_nothing_and_a_broken_table_is_a_result(monkeypatch):
    def breaks(bench, options, result):
        result.add("slow", 7, "ms", at_most=5)
        raise RuntimeError("gone\nand more")

    monkeypatch.setattr("bench.tables.table.Bench", lambda *_: nullcontext())
    table = Table("t", "", {}, breaks)
    usual = table.measure(Options(), Silence(), {})
    assert usual.failures == ["slow", "RuntimeError: gone"]
    quick = table.measure(QUICK, Silence(), {})
    assert quick.failures == ["RuntimeError: gone"] and quick.rows[0].at_most is None


@pytest.mark.parametrize("scripts, excused", [(7000, False), (5000, True)])
def test_a_miss_is_excused_where_the_scripts_miss_too(fill_in, monkeypatch, scripts, excused):
    monkeypatch.setitem(RATES, "gmq", 3000)
    monkeypatch.setattr(f"{__name__}.DIRECT_RATE", scripts)
    assert ("push" in fill_in("sequential").failures) is not excused


def test_a_busy_generator_is_marked():
    assert "LIMIT" in generator_note(80) and "LIMIT" not in generator_note(79)


@pytest.mark.parametrize("word", ["0", "-1", "601", "two"])
def test_rounds_and_seconds_are_numbers_that_make_sense(word):
    for option in ("--rounds", "--seconds"):
        with pytest.raises(SystemExit):
            program.parse_arguments([option, word])
