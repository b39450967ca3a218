"""From measured values to tables and pages: everything that needs no node."""

import json

import pytest

from bench import distribution, page, render
from bench.result import Result


def quick_and_slow():
    result = Result("speeds", "a title", ["1 conn.", "64 conn."], about={"commit": "abc"})
    result.add("quick", [5, 12345.6], "/s", at_least=10000, column=1)
    result.add("slow", [7.25, None], "ms", at_most=5)
    result.add("plain", 0, "jobs", note="no target")
    return result


def verdicts(result):
    return [row.is_met for row in result.rows]


def test_a_bound_is_for_its_column():
    result = quick_and_slow()
    assert verdicts(result) == [True, False, None]
    result.rows[0].column = 0
    assert verdicts(result)[0] is False


def test_a_bound_for_all_columns_is_missed_by_one():
    result = Result("t", "", ["a", "b", "c"])
    result.add("early", [0, 1, None], "jobs", at_most=0, column=None)
    result.add("fast", [3, 2, 2], "/s", at_least=2, column=None)
    assert verdicts(result) == [False, True]


def test_what_was_not_measured_meets_and_misses_nothing():
    result = Result("t", "", ["a"])
    result.add("gone", None, "ms", at_most=5)
    assert verdicts(result) == [None]


def test_a_bound_for_all_columns_is_not_met_while_one_is_missing():
    result = Result("t", "", ["a", "b"])
    result.add("half", [1, None], "times", at_most=1.5, column=None)
    result.add("missed anyway", [2, None], "times", at_most=1.5, column=None)
    assert verdicts(result) == [None, False]


def test_failures_are_targets_without_an_excuse_and_what_broke():
    result = quick_and_slow()
    assert result.failures == ["slow"]
    result.rows[1].excuse = "the disk"
    assert result.failures == []
    result.broken.append("HTTP: no answer")
    assert result.failures == ["HTTP: no answer"]


def test_tables_are_aligned_and_say_what_is_missed():
    lines = render.text(quick_and_slow()).splitlines()
    assert lines[0] == "speeds: a title"
    quick, slow, plain = lines[2:5]
    assert "12,346  /s" in quick and "at least 10,000 (64 conn.)" in quick and "met" in quick
    assert "7.25" in slow and " -  ms" in slow and "MISSED" in slow
    assert plain.endswith("no target")
    assert quick.index("/s") == slow.index("ms") == plain.index("jobs")


def test_an_excused_miss_says_why():
    result = quick_and_slow()
    result.rows[1].excuse = "the disk is slow"
    line = render.text(result).splitlines()[3]
    assert line.endswith("missed  the disk is slow")


def test_columns_without_a_word_are_left_out():
    result = Result("t", "title", ["measured"])
    result.add("something", 3, "/s")
    assert render.markdown(result).splitlines()[2:] == [
        "|  | measured |  |", "|---|---:|---|", "| something | 3 | /s |"]


def test_notes_and_breakage_are_in_both_forms():
    result = quick_and_slow()
    result.notes.append("all on one machine")
    result.broken.append("HTTP: gone")
    assert "(all on one machine)" in render.text(result)
    assert "BROKEN: HTTP: gone" in render.text(result)
    assert render.markdown(result).endswith("All on one machine.\n\nNot measured: HTTP: gone.")


def test_the_summary_names_what_was_missed():
    assert render.summary([quick_and_slow()]).splitlines() == [
        "1 targets met, 1 missed:", "  speeds: slow"]


@pytest.mark.parametrize("value, unit, text", [
    (1234567.8, "/s", "1,234,568"), (0.456, "ms", "0.46"), (45.67, "ms", "45.7"),
    (456.7, "ms", "457"), (99.6, "%", "100"), (None, "ms", "-"), (0, "jobs", "0")])
def test_numbers_have_the_digits_that_mean_something(value, unit, text):
    assert render.number(value, unit) == text


# ---- results on file, and the page ----

def test_a_result_comes_back_from_json_as_it_was():
    result = quick_and_slow()
    answer = json.loads(page.as_json({"speeds": result}))["tables"]["speeds"]
    assert [row["is_met"] for row in answer["rows"]] == [True, False, None]
    assert Result.from_json(answer) == result


def test_one_table_measured_anew_leaves_the_others():
    old, new = quick_and_slow(), quick_and_slow()
    kept = page.merged({"a": old, "b": old, "gone": old}, {"b": new, "c": new}, ["a", "b", "c"])
    assert [kept["a"] is old, kept["b"] is new, kept["c"] is new] == [True] * 3
    assert list(kept) == ["a", "b", "c"]


def test_the_words_around_the_figures_stay(tmp_path):
    path = tmp_path / "page.md"
    path.write_text(f"before\n{page.BEGIN}old{page.END}after\n")
    for _ in range(2):
        page.write({"speeds": quick_and_slow()}, lambda results, folder: {}, tmp_path, path)
        text = path.read_text()
        assert text.startswith("before\n") and text.endswith("after\n")
        assert "old" not in text and text.count("### speeds") == 1
    assert page.load_results(tmp_path)["speeds"] == quick_and_slow()


def test_a_page_without_marks_is_not_written_over():
    with pytest.raises(ValueError):
        page.page_with("only words", "figures")


def test_the_page_says_when_a_table_is_older():
    old, new = quick_and_slow(), quick_and_slow()
    old.about = {"date": "2026-01-01", "commit": "abc", "cpu": "x"}
    new.about = {"date": "2026-02-01", "commit": "def", "cpu": "x"}
    text = page.figures({"old": old, "new": new}, {"new": [("new.svg", "new ones")]})
    assert text.count("Measured at another time: date 2026-01-01, commit abc.") == 1
    assert "- date: 2026-02-01" in text and "![new ones](plots/new.svg)" in text


# ---- distributions ----

def histogram(*counts):
    """Readings of a Prometheus histogram with such cumulative counts."""
    bounds = ("0.001", "0.01", "+Inf")
    return {f'late_bucket{{le="{bound}"}}': count for bound, count in zip(bounds, counts)}


def test_the_difference_of_two_readings_is_what_came_between():
    steps = distribution.of_histogram(histogram(5, 6, 6), histogram(9, 16, 16), "late")
    assert steps == [[0.001, 4], [0.01, 6]]
    assert distribution.total(steps) == 10


def test_other_histograms_are_not_counted():
    assert distribution.of_histogram({}, {'late_more_bucket{le="1"}': 3}, "late") == []


def test_a_quantile_is_the_bound_that_covers_it():
    steps = [[1, 98], [5, 1], [9, 1]]
    assert [distribution.quantile(steps, f) for f in (0.5, 0.98, 0.99, 1)] == [1, 1, 5, 9]
    assert distribution.quantile([], 0.5) is None


@pytest.mark.parametrize("steps", [[], [[1, 1], [float("inf"), 99]]])
def test_a_quantile_that_is_no_figure_is_an_error(steps):
    with pytest.raises(RuntimeError):
        distribution.known_quantile(steps, 0.99)


def test_a_thinned_distribution_keeps_its_ends_and_rises():
    points = distribution.thinned([[i, 10] for i in range(1, 5001)], points=50)
    assert points[0][0] == 1 and points[-1] == [5000, 1]
    assert points == sorted(points) and len(points) < 60
