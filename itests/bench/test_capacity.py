"""The capacity model: on costs that are known, by hand; and the page holds what it says now."""

import pytest

from bench import bench as program
from bench import capacity, page
from bench.capacity import Costs
from bench.result import Result

ABOUT = {"cpu": "2 x A Processor", "date": "2026-11-22"}


def figures_of(phase, node_us, redis_us, per_second=1000.0, share=0.8):
    return {f"{phase}.{name}": value for name, value in {
        "node_us": node_us, "redis_us": redis_us, "loader_us": 5.0, "busiest_redis": share,
        "client_bytes": 400.0, "redis_bytes": 500.0, "file_bytes": 450.0,
        "per_second": per_second}.items()}


def life(factor=1.0, **rest):
    return {**figures_of("push", 10 * factor, 20 * factor, **rest),
            **figures_of("due", 0.1 * factor, 4 * factor, **rest),
            **figures_of("hand", 20 * factor, 40 * factor, **rest)}


def result(name, cells, **series):
    return Result(name, "", [], series={"cells": cells, **series}, about=ABOUT)


@pytest.fixture
def results():
    memory = Result("memory", "", [], series={"bodies": [0, 100, 1000]}, about=ABOUT)
    memory.add("delayed, id the server's", [200, 300, 1400], "bytes")
    return {
        "operations": result("operations", [
            {"size": 1, **life()},
            {"size": 60, **figures_of("push", 5, 18), **figures_of("hand", 4, 10)}]),
        "nodes": result("nodes", [
            {"nodes": 1, "masters": 1, **life(per_second=20_000)},
            {"nodes": 3, "masters": 3, **life(per_second=40_000)}]),
        "hot": result("hot", [{"nodes": 1, **life()}]),
        "idle_topics": result("idle_topics", [
            {"nodes": 1, "masters": 1, **life(2), **figures_of("due", 2, 10)},
            {"nodes": 3, "masters": 1, **figures_of("due", 6, 12)},
            {"nodes": 3, "masters": 3, **figures_of("due", 6, 11)}]),
        "reload": result("reload", [{"jobs": 10 ** 6, "memory": 3e8, "load_s": 3.0,
                                     "fork_ms": 6.0}]),
        "memory": memory,
        "depth": Result("depth", "", [], about=ABOUT, series={
            "lengths": [1024, 1024 ** 2], "costs_us": [10.0, 20.0]})}


def values(table, what, nth=0):
    return [row.values for row in table.rows if row.what == what][nth]


# ---- placing ----

def test_the_fullest_master_has_at_least_its_part():
    for masters in (1, 3, 6, 64):
        assert capacity.heaviest(masters) >= capacity.heaviest(masters, by_hand=True) \
            >= 1 / masters
    assert capacity.heaviest(1) == 1
    assert capacity.heaviest(3, by_hand=True) == 22 / 64


def test_more_masters_than_buckets_are_no_use():
    assert capacity.heaviest(100, by_hand=True) == 1 / 64


# ---- limits ----

def test_who_runs_out_first_bounds_the_rate(results):
    costs = Costs.of(results["operations"].series["cells"][0])
    assert capacity.bound(capacity.limits(costs, "push", 1, 1)) == (40_000, "Redis")
    rate, what = capacity.bound(capacity.limits(costs, "push", 1, 1, processors=1))
    assert (round(rate), what) == (28_571, "this machine")
    costs.node_us["push"] = 100
    assert capacity.bound(capacity.limits(costs, "push", 2, 1)) == (20_000, "nodes")


def test_masters_carry_as_much_as_the_fullest_of_them(results):
    costs = Costs.of(results["operations"].series["cells"][0])
    one = capacity.limits(costs, "push", 9, 1)["Redis"]
    three = capacity.limits(costs, "push", 9, 3)["Redis"]
    assert three == one / capacity.heaviest(3) < 3 * one


def test_the_model_is_held_against_what_was_measured(results):
    table = capacity.check(results)
    assert table.columns == ["1 x 1", "3 x 3"]
    assert values(table, "push: measured") == [20_000, 40_000]
    assert values(table, "push: by the model")[0] == 40_000
    assert values(table, "... the model is off by")[0] == pytest.approx(100)


def test_a_cell_that_was_not_measured_is_left_out(results):
    results["nodes"].series["cells"].append({"nodes": 2, "masters": 1})
    assert len(capacity.check(results).columns) == 2


# ---- sizes ----

def test_a_billion_jobs_take_as_many_masters_as_have_room():
    room = capacity.MACHINE_BYTES * 0.3
    assert capacity.masters_for(room) == (1, 1)
    masters, share = capacity.masters_for(10 * room)
    assert masters == 11 and share == 6 / 64, "ten would have seven buckets of 64 at one"
    assert capacity.masters_for(1000 * room)[0] is None


def test_what_is_stored_takes_its_bytes(results):
    table = capacity.stored(results)
    assert values(table, "bodies of 100 bytes: memory") == [0.3, 3, 30, 300]
    assert values(table, "... reads its file at a start in")[0] == 3
    assert values(table, "... forks in")[0] == 6


def test_a_line_by_the_logarithm_goes_through_two_points(results):
    table = capacity.depth(results)
    assert values(table, "by the line")[0] == pytest.approx(1.9932, abs=1e-4)


# ---- rates ----

def test_a_rate_takes_nodes_and_masters_at_half_their_processors(results):
    costs = Costs.of(results["operations"].series["cells"][0])
    assert capacity.nodes_for(costs, 10_000) == 1  # 301,000 us of every second's million
    assert capacity.nodes_for(costs, 100_000) == 7
    assert capacity.redis_busy_us(costs) == pytest.approx(80)
    assert capacity.masters_at(costs, 10_000) == 2
    assert capacity.masters_at(costs, 10_000_000) is None


def test_batches_keep_what_they_do_not_change(results):
    table = capacity.rates(results)
    assert values(table, "60 in a request: nodes") == [1, 2, 19]
    assert values(table, "... between clients and nodes")[0] == pytest.approx(0.096)
    assert values(table, "one in a request, one in a topic: nodes")[1] == 13  # 62 us each
    assert values(table, "... masters, were there a bucket for each") == [2, 16, 160]
    assert values(table, "... masters, 64 or 128 buckets dealt by hand") == [2, 16, None]


def test_what_all_hear_is_what_each_more_costs(results):
    table = capacity.breaks(results)
    assert values(table, "wake-ups heard by a node") == [500_000]
    assert values(table, "wake-ups heard by a Redis, more nodes listening") == [1_000_000]
    assert values(table, "wake-ups heard by a Redis, the others' over the bus") == [None]
    assert values(table, "one topic: push") == [40_000]


# ---- the command and the page ----

def test_what_is_missing_is_named(results, monkeypatch, capsys):
    del results["hot"]
    monkeypatch.setattr(page, "load_results", lambda: results)
    assert capacity.main([]) == 2
    assert "hot" in capsys.readouterr().err


def test_the_command_prints_all_tables(results, monkeypatch, capsys):
    monkeypatch.setattr(page, "load_results", lambda: results)
    monkeypatch.setattr(program.sys, "argv", ["bench.py", "capacity"])
    assert program.main() == 0
    shown = capsys.readouterr().out
    for table in ("check", "each", "stored", "depth", "rates", "placed", "breaks"):
        assert f"{table}: " in shown


def test_the_page_holds_what_the_model_says_now():
    """After new figures: ./dev bench capacity --write"""
    results = page.load_results()
    if not set(capacity.NEEDED) <= set(results):
        pytest.skip("not all of it has been measured")
    text = capacity.PAGE.read_text()
    assert text == page.page_with(text, capacity.figures(results))
