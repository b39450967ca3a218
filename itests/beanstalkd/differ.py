"""Are two answers the same? Each server's ids become the names of jobs, statistics become what was
counted since the sequence began, what only one server can know (its process, its age) must have the
right form, and the differences that have a name are let pass, and counted.
"""

import re
from collections import Counter
from typing import Callable, NamedTuple

NAMED_ID = re.compile(rb"(INSERTED|RESERVED|FOUND) (\d+)(.*)", re.DOTALL)
ITS_OWN = {  # of a server; the form
    "pid": r"\d+", "version": r'"\d+\.\d+.*"', "rusage-utime": r"\d+\.\d{6}",
    "rusage-stime": r"\d+\.\d{6}", "uptime": r"\d+", "binlog-oldest-index": r"\d+",
    "binlog-current-index": r"\d+", "binlog-records-migrated": r"\d+",
    "binlog-records-written": r"\d+", "binlog-max-size": r"\d+", "id": r"[0-9a-f]{16}"}
CUMULATIVE = re.compile(r"cmd-.*|total-.*|job-timeouts")
SECONDS = {"age", "time-left", "pause-time-left"}  # cut to whole ones: a moment later it is one less


class Difference(NamedTuple):
    """`is_one(theirs, ours)`: of a line of statistics (name, value), or of a whole answer."""
    name: str
    why: str
    is_one: Callable


DIFFERENCES = [
]


class Differ:
    """`used`: how often each named difference was met."""

    def __init__(self):
        self.used = Counter()

    def are_same(self, theirs, ours, sides):
        """Two whole replies."""
        if theirs == ours and not theirs.startswith((b"INSERTED", b"RESERVED", b"FOUND", b"OK ")):
            return True
        mine, other = (normal(reply, side) for reply, side in zip((theirs, ours), sides))
        if mine == other:
            return True
        return self._is_named(mine, other)

    def _is_named(self, theirs, ours):
        if isinstance(theirs, list) and isinstance(ours, list) and len(theirs) == len(ours):
            return all(each == other or self._find(each, other)
                       for each, other in zip(theirs, ours))
        return self._find(theirs, ours)

    def _find(self, theirs, ours):
        for difference in DIFFERENCES:
            if difference.is_one(theirs, ours):
                self.used[difference.name] += 1
                return True
        return False


def normal(reply, side):
    """A reply in which nothing is left that must differ: bytes, or the lines of a YAML page."""
    named = NAMED_ID.match(reply)
    if named:
        return b"%s %s%s" % (named[1], side.keys.get(int(named[2]), named[2]), named[3])
    if reply.startswith(b"OK "):
        lines = reply.split(b"\n")[1:]
        if lines[:1] == [b"---"]:
            return _page([line.decode("latin-1") for line in lines], side)
    return reply


def _page(lines, side):
    rows = [tuple(line.split(": ", 1)) if ": " in line else (line,) for line in lines]
    names = [row[0] for row in rows]
    if "cmd-put" in names:
        begin, is_server = side.baseline, True
    else:
        begin, is_server = {}, False
        if "total-jobs" in names and ("name", "default") in [
                (name, value.strip('"')) for name, value in (row for row in rows if len(row) == 2)]:
            begin = side.baseline_of_default
    return [_row(row, begin, is_server, side) for row in rows]


def _row(row, begin, is_server, side):
    if len(row) < 2:
        return row
    name, value = row
    if is_server and name in ITS_OWN and re.fullmatch(ITS_OWN[name], value):
        return name, "of its own"
    if name == "id" and value.isdigit():
        return name, side.keys.get(int(value), value)
    if CUMULATIVE.fullmatch(name) and value.isdigit() and begin:
        asked = side.controls[name[4:]] if name.startswith("cmd-") and is_server else 0
        return name, str(int(value) - begin.get(name, 0) - asked)
    return name, value


def numbers_of(page):
    """{name: number} of a YAML page of statistics, as it came."""
    return {name.decode(): int(value) for name, value in
            re.findall(rb"^([a-z-]+): (\d+)$", page.replace(b"\r", b""), re.MULTILINE)}
