"""How long a request takes: open loops at several rates, beside the closed loop's maximum."""

from bench.tables.table import PROTOCOLS, attempt, generator_note, table

SHARES = (0.1, 0.25, 0.5, 0.7, 0.9)
CONNECTIONS = 64
PERCENTILES = {"p50": "p50", "p99": "p99", "p999": "p99.9"}
WORKS = {"push": "push", "cycle": "push+pop+ack"}


@table("from the moment a request was to be sent, at shares of the closed loop's rate",
       plan=(0, 24, 5))
def latency(bench, options, result):
    shares = options.pick(SHARES, quick=(0.1,))
    bench.progress.expect(len(WORKS) * len(PROTOCOLS) * (1 + len(shares)))
    result.columns = ["closed loop", *(f"{share * 100:.0f} %" for share in shares)]
    for work, label in WORKS.items():
        for protocol, name in PROTOCOLS.items():
            what = f"{label}, {name}"
            runs = attempt(result, what, lambda work=work, protocol=protocol: _runs(
                bench, work, protocol, shares, options.seconds))
            if runs:
                _add_rows(result, what, runs)
    result.notes.append(f"{CONNECTIONS} connections; an open loop sends at fixed times, and a "
                        "request that could not be sent in time counts from then; sent late: by the "
                        "generator, with a free connection")


def _runs(bench, work, protocol, shares, seconds):
    def run(rate):
        bench.wipe()
        what = f"{WORKS[work]}, {protocol}, " + (f"{rate:,}/s" if rate else "closed loop")
        return bench.load(work, what, protocol=protocol, connections=CONNECTIONS, rate=rate,
                          seconds=seconds)

    closed = run(0)
    return [closed, *(run(max(1, int(closed["per_second"] * share))) for share in shares)]


def _add_rows(result, what, runs):
    result.add(f"{what}, rate", [run["per_second"] for run in runs], "/s")
    for key, percentile in PERCENTILES.items():
        result.add(f"{what}, {percentile}", [run[f"{key}_us"] / 1000 for run in runs], "ms")
    result.add(f"{what}, sent late, p99",
               [None, *(run["send_late_p99_us"] / 1000 for run in runs[1:])], "ms",
               note=generator_note(max(run["cpu_percent"] for run in runs)))
    unfinished = sum(run["unfinished"] for run in runs)
    if unfinished:
        result.notes.append(f"{what}: {unfinished:,} requests had no answer when it ended")
    result.series[what] = [{"rate": run["per_second"],
                            **{key: run[f"{key}_us"] / 1000 for key in PERCENTILES}}
                           for run in runs[1:]]
