"""What a reader must know to compare with figures of his own."""

import os
import platform
import subprocess
import time
from datetime import date

from harness.build import ROOT, build_dir, node_program

COMPANY_PERCENT = 20  # of a processor
PACKAGES = {"redis": "redis-server", "beanstalkd": "beanstalkd", "libevent": "libevent-2.1-7",
            "hiredis": "libhiredis0.14"}


def about():
    return {
        "date": date.today().isoformat(),
        "cpu": f"{os.cpu_count()} x {_first_line('/proc/cpuinfo', 'model name')}",
        "memory": f"{_pages('SC_PHYS_PAGES') / 2 ** 30:.0f} GiB",
        "kernel": platform.release(),
        "build": build_dir().name,
        "commit": _commit(),
        "dueq": _output(node_program(), "--version"),
        **{name: _package_version(package) for name, package in PACKAGES.items()},
        **_company(),
    }


def _company():
    """What others do while we do nothing yet, if it is much: not the load average, which still
    remembers how this was built."""
    before = _jiffies()
    time.sleep(1)  # the length of the look: nothing is waited for
    busy, everything = (after - then for after, then in zip(_jiffies(), before))
    percent = 100 * busy * os.cpu_count() / max(everything, 1)
    if percent < COMPANY_PERCENT:
        return {}
    return {"company": f"others used {percent:.0f} % of a processor when it began: figures are "
                       "worse than what the machine can do"}


def _jiffies():
    """(busy, all), of all processors together."""
    with open("/proc/stat", encoding="ascii") as file:
        counts = list(map(int, file.readline().split()[1:9]))
    return sum(counts) - counts[3] - counts[4], sum(counts)  # idle, waiting for a disk


def _pages(name):
    return os.sysconf(name) * os.sysconf("SC_PAGE_SIZE")


def _commit():
    commit = _output("git", "-C", ROOT, "rev-parse", "--short", "HEAD")
    changed = _output("git", "-C", ROOT, "status", "--porcelain", "--untracked-files=no",
                      "--", ":/", ":!/doc")
    return f"{commit} with changes" if commit and changed else commit or "unknown"


def _package_version(package):
    return _output("dpkg-query", "-W", "-f", "${Version}", package) or "not installed"


def _first_line(path, name):
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            if line.startswith(name):
                return line.partition(":")[2].strip()
    return "unknown"


def _output(*command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
