"""The result of drills: a table for people, JSON for programs."""

from collections import Counter

from drills.clients.view import CROSSED
from drills.hosts.cluster import STANDALONE
from drills.rounds import summary
from judge.lateness import percentile

HEAD = ("#", "fault", "rounds", "active", "p99", "worst", "served", "p99", "worst", "address",
        "p99", "worst", "failed", "outside", "violations")


def line_of(result):
    """The row's cells. Times are medians, p99 and worst, in ms; `failed` are new connections over
    the address, and behind a plus those that it crossed on its way."""
    cells = [result.row.number, result.row.title, str(len(result.rounds))]
    for name in ("active_ms", "served_ms", "address_ms"):
        cells += map(_ms, summary(result.times(name)) or (None, None, None))
    cells.append(failed_of(result.times("sight")))
    cells += [_ms(percentile(result.outside_ms, 0.99)), str(len(result.verdict.violations)
                                                            + len(result.complaints)
                                                            + len(result.slow))]
    return cells


def failed_of(sights):
    """As text."""
    if not sights:
        return "-"
    crossed = sum(each.failed[CROSSED] for each in sights)
    return f"{sum(each.failures for each in sights)}" + (f"+{crossed}" if crossed else "")


def seen_of(sights):
    """{failed, open, waiting: {kind: count}} of all rounds; None of nothing."""
    if not sights:
        return None
    return {name: dict(sum((getattr(each, member) for each in sights), Counter()))
            for name, member in (("failed", "failed"), ("open", "broken"), ("waiting", "popped"))}


def _ms(value):
    if value is None:
        return "-"
    return f"{value:.1f}" if value < 100 else f"{value:.0f}"


def table_of(results):
    """Lines of text, columns aligned."""
    rows = [HEAD, *map(line_of, results)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEAD))]
    lines = ["  ".join(cell.ljust(width) if column == 1 else cell.rjust(width)
                       for column, (cell, width) in enumerate(zip(row, widths))).rstrip()
             for row in rows]
    plans = [result.row.plan(result.row.variants[0]) for result in results]
    times = sorted({(plan.session_ms, plan.tick_ms) for plan in plans if plan.mode != STANDALONE})
    lines += [f"row {result.row.number}: {result.row.note}" for result in results
              if result.row.note]
    return lines + [f"session timeout {session} ms, tick {tick} ms" for session, tick in times]


def json_of(results, seed):
    return {"seed": seed, "rows": [_json_of(result) for result in results]}


def _json_of(result):
    times = {}
    for name in ("active_ms", "served_ms", "stood_ms", "address_ms", "gap_ms"):
        found = summary(result.times(name))
        times[name] = dict(zip(("median", "p99", "worst"), found)) if found else None
    plan = result.row.plan(result.row.variants[0])
    return {"row": result.row.number, "fault": result.row.title, "rounds": len(result.rounds),
            "note": result.row.note, "session_ms": plan.session_ms, "tick_ms": plan.tick_ms,
            "target_ms": result.row.target_ms, **times,
            "connections": seen_of(result.times("sight")),
            "outside_p99_ms": percentile(result.outside_ms, 0.99),
            "violations": [{"rule": each.rule, "of": each.id, "why": each.why}
                           for each in result.verdict.violations],
            "complaints": result.complaints, "slow": result.slow, "said": result.said,
            "explained": dict(result.verdict.explained)}
