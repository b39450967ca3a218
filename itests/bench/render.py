"""Tables for people, Markdown for doc/, JSON for programs; and the machine they were made on."""

import os
import platform
import subprocess
from dataclasses import asdict
from datetime import date

from harness.build import ROOT, build_dir, node_program

HEAD = ("what", "measured", "target", "", "")


def machine():
    """What a reader must know to compare with figures of his own."""
    return {
        "date": date.today().isoformat(),
        "cpu": f"{os.cpu_count()} x {_first_line('/proc/cpuinfo', 'model name')}",
        "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') >> 30} GiB",
        "kernel": platform.release(),
        "build": build_dir().name,
        "commit": _output("git", "-C", ROOT, "rev-parse", "--short", "HEAD"),
        "dueq": _output(node_program(), "--version"),
        "redis": _output("redis-server", "--version").split(" sha=")[0],
    }


def _first_line(path, name):
    with open(path, encoding="ascii", errors="replace") as file:
        for line in file:
            if line.startswith(name):
                return line.partition(":")[2].strip()
    return "unknown"


def _output(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def _number(value, unit):
    digits = 0 if unit in ("/s", "bytes", "jobs") or value >= 100 else 1 if value >= 10 else 2
    return f"{value:,.{digits}f}"


def _cells(row):
    target = ""
    if row.at_least is not None:
        target = f"at least {_number(row.at_least, row.unit)}"
    elif row.at_most is not None:
        target = f"at most {_number(row.at_most, row.unit)}"
    verdict = {None: "", True: "met", False: "MISSED"}[row.is_met]
    return (row.what, f"{_number(row.value, row.unit)} {row.unit}", target, verdict, row.note)


def text(title, rows):
    lines = [HEAD, *(_cells(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEAD))]
    aligned = ("  ".join(cell.rjust(width) if column == 1 else cell.ljust(width)
                         for column, (cell, width) in enumerate(zip(line, widths))).rstrip()
               for line in lines)
    return "\n".join([title, *("  " + line for line in aligned)])


def markdown(title, rows):
    lines = [f"### {title}", "", "| what | measured | target | | |", "|---|---:|---|---|---|"]
    lines += ["| " + " | ".join(_cells(row)) + " |" for row in rows]
    return "\n".join(lines)


def as_json(results, about):
    return {"machine": about, "tables": {
        name: [{**asdict(row), "is_met": row.is_met} for row in rows]
        for name, rows in results.items()}}
