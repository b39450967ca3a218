"""Latencies as counts by upper bound: [[bound, count], ...], rising. Pure.

From the load generator's report (microseconds), or from the difference of two readings of a
Prometheus histogram (seconds).
"""

import math


def of_histogram(before, after, metric):
    """What came between two readings of the metrics {name{labels}: value}."""
    totals = {}
    for name, value in after.items():
        head, _, labels = name.partition("{")
        if head == f"{metric}_bucket":
            bound = float(labels.split('le="')[1].split('"')[0])
            totals[bound] = totals.get(bound, 0) + value - before.get(name, 0)
    steps, below = [], 0
    for bound, total in sorted(totals.items()):
        if total > below:
            steps.append([bound, total - below])
            below = total
    return steps


def total(steps):
    return sum(count for _, count in steps)


def quantile(steps, fraction):
    """The bound below which `fraction` of all lie; None when there is nothing."""
    wanted = total(steps) * fraction
    below = 0
    for bound, count in steps:
        below += count
        if below >= wanted and below:
            return bound
    return None


def known_quantile(steps, fraction):
    """As quantile(), but RuntimeError where there is no figure to give."""
    bound = quantile(steps, fraction)
    if bound is None:
        raise RuntimeError("nothing was counted")
    if bound == math.inf:
        raise RuntimeError(f"the {fraction * 100:g} % mark is beyond the histogram's last bound")
    return bound


def thinned(steps, points=60):
    """[[bound, fraction of all at or below]], few enough to be drawn: evenly spread over the
    nines (0.9, 0.99, 0.999 are as far from each other), the last bound always among them."""
    everything = total(steps)
    chosen, below, last = [], 0, -math.inf
    for number, (bound, count) in enumerate(steps):
        below += count
        nines = -math.log10(max(1 - below / everything, 1e-9))
        if nines - last >= 5 / points or number + 1 == len(steps):
            chosen.append([bound, round(below / everything, 7)])
            last = nines
    return chosen
