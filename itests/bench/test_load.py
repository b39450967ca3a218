"""The bench itself: it works, and its tables say what they should. No figures are judged here."""

import json

import pytest

from bench import render
from bench.measure import Bench
from bench.tables import Row


@pytest.fixture(scope="module")
def bench():
    with Bench(lambda message: None) as started:
        yield started


@pytest.mark.parametrize("mode, options", [
    ("push", {"connections": 8}),
    ("cycle", {"connections": 8}),
    ("direct_push", {"depth": 8}),
    ("direct_cycle", {"depth": 8}),
])
def test_every_mode_runs_and_reports(bench, mode, options):
    bench.wipe()
    report = bench.load(mode, seconds=1, **options)
    assert report["operations"] > 0 and 0 < report["p50_us"] <= report["max_us"]


def test_filling_fills(bench):
    bench.wipe()
    assert bench.fill(1000, delay=3600)["operations"] == 1000
    assert bench.count_in("d") == 1000


def test_what_was_filled_in_can_be_popped(bench):
    bench.wipe()
    bench.fill(20_000, delay=0, topics=1)
    assert bench.load("pop_ack", connections=1, topics=1, seconds=1)["operations"] > 0


def test_lateness_knows_every_due_time_and_sees_none_early(bench):
    bench.wipe()
    report = bench.load("lateness", connections=8, rate=200, seconds=1, delay=1)
    assert (report["operations"], report["unmatched"], report["early"]) == (200, 0, 0)


ROWS = [Row("quick", 12345.6, "/s", at_least=10000), Row("slow", 7.25, "ms", at_most=5),
        Row("plain", 0, "jobs", note="no target")]


def test_tables_are_aligned_and_say_what_is_missed():
    lines = render.text("a title", ROWS).splitlines()
    assert lines[0] == "a title"
    assert "12,346 /s" in lines[2] and "met" in lines[2]
    assert "7.25 ms" in lines[3] and "MISSED" in lines[3]
    assert lines[4].endswith("no target")


def test_markdown_has_a_row_each():
    assert render.markdown("a title", ROWS).count("\n|") == 2 + len(ROWS)


def test_json_is_complete():
    answer = json.loads(json.dumps(render.as_json({"table": ROWS}, {"cpu": "x"})))
    assert [row["is_met"] for row in answer["tables"]["table"]] == [True, False, None]
