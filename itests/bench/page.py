"""doc/benchmarks.md and doc/plots: made of doc/plots/results.json, which keeps the latest result
of each table. So one table can be measured anew, and everything drawn again without measuring.

The page's words are written by hand; between its two marks stands what is made here.
"""

import json

from bench import render
from bench.result import Result
from harness.build import ROOT

PAGE = ROOT / "doc" / "benchmarks.md"
PLOTS = ROOT / "doc" / "plots"
BEGIN, END = "<!-- figures begin -->\n", "<!-- figures end -->\n"


def load_results(folder=PLOTS):
    """{name: Result}; empty before the first --write."""
    path = folder / "results.json"
    if not path.exists():
        return {}
    answer = json.loads(path.read_text())
    return {name: Result.from_json(plain) for name, plain in answer["tables"].items()}


def save_results(results, folder=PLOTS):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "results.json").write_text(as_json(results))


def as_json(results):
    tables = {name: result.as_json() for name, result in results.items()}
    return json.dumps({"tables": tables}, indent=1) + "\n"


def merged(old, new, order):
    """The new ones in the place of the old; tables that are no more are dropped."""
    return {name: new.get(name) or old[name] for name in order if name in new or name in old}


def figures(results, pictures):
    """The part between the marks; `pictures` are {table: [(file name, words), ...]}."""
    newest = max((result.about for result in results.values()),
                 key=lambda about: about.get("date", ""), default={})
    parts = ["\n".join(f"- {name}: {value}" for name, value in newest.items())]
    for name, result in results.items():
        parts.append(render.markdown(result))
        other = {key: value for key, value in result.about.items() if newest.get(key) != value}
        if other:
            parts.append("Measured at another time: "
                         + ", ".join(f"{key} {value}" for key, value in other.items()) + ".")
        parts += [f"![{words}](plots/{file})" for file, words in pictures.get(name, [])]
    return "\n\n".join(parts)


def page_with(page, inner):
    """The page with another part between its marks."""
    before, mark, rest = page.partition(BEGIN)
    _, second_mark, after = rest.partition(END)
    if not mark or not second_mark:
        raise ValueError("the page has lost its marks")
    return f"{before}{BEGIN}\n{inner}\n\n{END}{after}"


def write(results, draw, folder=PLOTS, page=PAGE):
    """Results, pictures, page. draw(results, folder) gives `pictures`."""
    save_results(results, folder)
    pictures = draw(results, folder)
    page.write_text(page_with(page.read_text(), figures(results, pictures)))
