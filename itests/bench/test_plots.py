"""Pictures. Those in doc/ are looked at everywhere; drawing needs the drawing library, which
./dev bench installs."""

import xml.etree.ElementTree as xml

import pytest

from bench import page
from bench.result import Result

SVG = "{http://www.w3.org/2000/svg}"
BYTES_MAX = 60_000

SERIES = {
    "throughput": {"connections": [1, 64, 1000], "bars": [
        {"work": work, "kind": kind, "rates": [1000, None, 3000]}
        for work in ("push", "cycle") for kind in ("gmq", "HTTP", "scripts", "beanstalkd")]},
    "latency": {what: [{"rate": 1000 * i, "p50": 0.1 * i, "p99": i, "p999": i * i}
                       for i in range(1, 6)]
                for what in ("push, gmq", "push, HTTP", "cycle, gmq", "cycle, HTTP")},
    "lateness": {f"gmq, {rate}/s{loaded}": [[0.1 * i, 1 - 0.5 ** i] for i in range(1, 60)]
                 + [[9, 1]] for rate in (1000, 5000) for loaded in ("", " loaded")},
    "memory": {"bodies": [0, 100, 1000],
               "used": [{"what": "delayed", "bytes": [200, 300, 1200]},
                        {"what": "ready", "bytes": [150, 250, None]}]},
    "depth": {"lengths": [10_000, 10_000_000], "costs_us": [30.0, 40.0]},
}
RESULTS = {name: Result(name, "", ["measured"], series=series)
           for name, series in SERIES.items()}


@pytest.fixture(scope="module")
def plots():
    pytest.importorskip("matplotlib", reason="python3-matplotlib, which ./dev bench installs")
    from bench import plots as module
    return module


def check(path):
    """A small picture that says something; its texts."""
    data = path.read_bytes()
    assert len(data) <= BYTES_MAX, f"{path.name} has {len(data)} bytes"
    root = xml.fromstring(data)
    assert root.tag == f"{SVG}svg"
    texts = ["".join(text.itertext()) for text in root.iter(f"{SVG}text")]
    assert len(texts) > 4, f"{path.name}: text has become outlines"
    return texts


def test_every_result_with_a_picture_gets_one(plots, tmp_path):
    drawn = plots.draw(RESULTS, tmp_path)
    assert set(drawn) == set(SERIES)
    for files in drawn.values():
        for name, words in files:
            assert check(tmp_path / name) and words


def test_the_same_results_are_drawn_the_same(plots, tmp_path):
    for folder in ("one", "two"):
        plots.draw(RESULTS, tmp_path / folder)
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()


def test_ink_is_the_readers_own(plots, tmp_path):
    plots.draw(RESULTS, tmp_path)
    text = (tmp_path / "depth.svg").read_text()
    assert plots.INK not in text and "currentColor" in text
    assert "prefers-color-scheme: dark" in text


def test_what_was_not_measured_has_no_picture(plots, tmp_path):
    assert plots.draw({"depth": Result("depth", "", ["measured"])}, tmp_path) == {}


def test_the_pictures_of_the_page_are_there_and_small():
    for path in sorted(page.PLOTS.glob("*.svg")):
        check(path)
        assert f"plots/{path.name}" in page.PAGE.read_text()


def test_the_page_is_made_of_the_results_on_file():
    results = page.load_results()
    if not results:
        pytest.skip("nothing has been measured for the page yet")
    inner = page.PAGE.read_text().partition(page.BEGIN)[2].partition(page.END)[0]
    for result in results.values():
        for row in result.rows:
            assert row.what in inner, f"{result.name}: {row.what}; ./dev bench --redraw"


def test_the_pictures_of_the_page_are_drawn_from_the_results_on_file(plots, tmp_path):
    plots.draw(page.load_results(), tmp_path)
    drawn = {path.name: path.read_bytes() for path in tmp_path.glob("*.svg")}
    there = {path.name: path.read_bytes() for path in page.PLOTS.glob("*.svg")}
    assert drawn == there, "./dev bench --redraw"
