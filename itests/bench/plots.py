"""The pictures of doc/benchmarks.md, as SVG, drawn from results alone: the same results give the
same bytes.

Text stays text, and small. Ink has no colour of its own: it is dark on a light page and light on
a dark one; the colours of bars and lines stand out on both.
"""

import io

import matplotlib

matplotlib.use("svg")
# pylint: disable=wrong-import-position
from matplotlib import pyplot, ticker

INK = "#010203"  # replaced by the reader's own
BARS = 0.8  # of the room for a group
COLOURS = ["#2f81f7", "#e3742f", "#8b949e", "#2da44e", "#a371f7", "#d4a72c"]
STYLE = ("<style>svg { color: #1f2328 } "
         "@media (prefers-color-scheme: dark) { svg { color: #e6edf3 } }</style>")
SETTINGS = {
    "svg.fonttype": "none", "svg.hashsalt": "dueq", "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"], "font.size": 9, "axes.titlesize": 10,
    "axes.spines.top": False, "axes.spines.right": False, "axes.axisbelow": True,
    "axes.prop_cycle": matplotlib.cycler(color=COLOURS), "legend.frameon": False,
    "legend.fontsize": 8, "grid.color": "#8b949e", "grid.alpha": 0.3, "axes.grid": True,
    **{name: INK for name in ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color",
                              "ytick.color", "axes.titlecolor")},
}


def draw(results, folder):
    """A file for each picture whose table is there; {table: [(file name, words), ...]}."""
    folder.mkdir(parents=True, exist_ok=True)
    drawn = {}
    with matplotlib.rc_context(SETTINGS):
        for name, (picture, words) in PICTURES.items():
            if name in results and results[name].series:
                (folder / f"{name}.svg").write_text(_svg(picture(results[name].series)))
                drawn[name] = [(f"{name}.svg", words)]
    return drawn


def _svg(figure):
    out = io.StringIO()
    figure.savefig(out, format="svg", transparent=True, bbox_inches="tight",
                   metadata={"Date": None, "Creator": None})
    pyplot.close(figure)
    text = out.getvalue().replace(INK, "currentColor")
    head, tag, rest = text.partition("<defs>")
    lines = (line.rstrip() for line in f"{head}{STYLE}\n {tag}{rest}".splitlines())
    return "\n".join(lines) + "\n"


def _thousands(axis):
    axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:,.0f}"))


def _plain(axis, ticks=None):
    """A logarithmic axis with numbers that people write."""
    if ticks is not None:
        axis.set_major_locator(ticker.FixedLocator(ticks))
    axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axis.set_minor_locator(ticker.NullLocator())


def _bars(axes, groups, series):
    """series: [(label, a value a group)]; None is no bar."""
    thin = BARS / len(series)
    for number, (label, values) in enumerate(series):
        places = [i - BARS / 2 + thin * (number + 0.5) for i in range(len(groups))]
        axes.bar(places, [value or 0 for value in values], thin * 0.92, label=label)
    axes.set_xticks(range(len(groups)), groups)
    axes.grid(axis="x", visible=False)


def throughput(series):
    works = list(dict.fromkeys(bar["work"] for bar in series["bars"]))
    figure, panels = pyplot.subplots(1, len(works), figsize=(8.4, 3.2))
    groups = [f"{number:,}" for number in series["connections"]]
    for axes, work in zip(panels, works):
        _bars(axes, groups, [(bar["kind"], bar["rates"]) for bar in series["bars"]
                             if bar["work"] == work])
        axes.set(title=f"{work}, a second", xlabel="connections")
        _thousands(axes.yaxis)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, ncols=len(labels), loc="upper center",
                  bbox_to_anchor=(0.5, -0.01), columnspacing=1.2)
    return figure


def latency(series):
    figure, panels = pyplot.subplots(1, len(series), figsize=(2.6 * len(series), 2.9),
                                     sharey=True, squeeze=False)
    for axes, (what, points) in zip(panels[0], series.items()):
        rates = [point["rate"] / 1000 for point in points]
        for key, label in (("p50", "p50"), ("p99", "p99"), ("p999", "p99.9")):
            axes.plot(rates, [point[key] for point in points], marker="o", markersize=3,
                      label=label)
        axes.set(title=what, xlabel="thousand a second", yscale="log", xlim=(0, None))
    panels[0][0].set_ylabel("ms")
    _plain(panels[0][0].yaxis)
    panels[0][0].legend()
    return figure


def lateness(series):
    """How many are later than that: a straight look at the tail."""
    figure, axes = pyplot.subplots(figsize=(6.4, 3.4))
    axes.set(xscale="log", yscale="log", xlabel="ms after the due time", ylabel="share later",
             ylim=(1e-4, 1.2))
    colours = {}  # one a protocol and rate; loaded is the same, dashed
    for label, points in series.items():
        case = label.removesuffix(" loaded")
        colour = colours.setdefault(case, COLOURS[len(colours) % len(COLOURS)])
        late = [(ms, 1 - share) for ms, share in points if share < 1]
        axes.plot(*zip(*late), label=label, color=colour, linewidth=1.3,
                  linestyle="-" if label == case else "--")
    _plain(axes.xaxis)
    _plain(axes.yaxis)
    axes.set_yticks([1, 0.1, 0.01, 0.001, 0.0001], ["all", "10 %", "1 %", "0.1 %", "0.01 %"])
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def memory(series):
    """Without the body: what dueq and Redis add."""
    figure, axes = pyplot.subplots(figsize=(7.2, 3.0))
    groups = [f"{number:,}" for number in series["bodies"]]
    _bars(axes, groups, [
        (used["what"], [b and b - body for b, body in zip(used["bytes"], series["bodies"])])
        for used in series["used"]])
    axes.set(xlabel="bytes of body", ylabel="bytes a job beside the body")
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def depth(series):
    figure, axes = pyplot.subplots(figsize=(4.6, 2.8))
    axes.plot(series["lengths"], series["costs_us"], marker="o")
    axes.axhline(1.5 * series["costs_us"][0], color=COLOURS[2], linestyle=":",
                 label="target: at most")
    axes.set(xscale="log", xlabel="delayed jobs in the topic", ylabel="us a push",
             ylim=(0, None))
    _plain(axes.xaxis, series["lengths"])
    axes.legend()
    return figure


PICTURES = {
    "throughput": (throughput, "Pushes and cycles a second, by connections"),
    "latency": (latency, "Latency at several rates, open loop"),
    "lateness": (lateness, "How many jobs come later than so many ms"),
    "memory": (memory, "Redis memory a job without its body"),
    "depth": (depth, "Time of a push by the length of the topic"),
}
