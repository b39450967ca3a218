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
SECONDS = ("age", "time-left", "pause", "pause-time-left")
OF_TUBES = ("total-jobs", "cmd-delete", "cmd-pause-tube")
TTR_MAX_S = 604_800
DELAY_SHOWN_S = 549_755_813
QUOTED = ("name", "tube", "hostname", "os", "platform")


class Difference(NamedTuple):
    """`is_one(theirs, ours)`: of a row of a YAML page, (name, value); or of a whole page, a list of rows.
    `only_where`: and only on a page whose other rows, {name: value}, are such."""
    name: str
    why: str
    is_one: Callable
    of: type = tuple
    only_where: Callable = lambda page: True


def _is_next(theirs, ours):
    return (theirs[0] == ours[0] in SECONDS and len(theirs) == len(ours) == 2
            and abs(int(theirs[1]) - int(ours[1])) == 1)


def _are_the_same_tubes(theirs, ours):
    return (theirs[0] == ours[0] == ("---",) and theirs[1] == ours[1] == ("- default",)
            and all(len(row) == 1 for row in theirs) and sorted(theirs) == sorted(ours))


def _is_quoted(theirs, ours):
    name, value = theirs if len(theirs) == 2 else ("", "")
    return name in QUOTED and ours == (name, f'"{value}"')


DIFFERENCES = [
    Difference("moments", "seconds are cut to whole ones: a moment later it is one more, or less", _is_next),
    Difference("a long delay", "a delay above 549,755,813 s, which are 17 years, is shown as that",
               lambda theirs, ours: theirs[0] == "delay" and int(theirs[1]) > DELAY_SHOWN_S
               and ours == ("delay", str(DELAY_SHOWN_S))),
    Difference("the delay of a release", "stats-job shows the delay of the put for ever",
               lambda theirs, ours: theirs[0] == ours[0] == "delay",
               only_where=lambda page: page.get("releases", "0") != "0"),
    Difference("a long time to run", "a time to run above 7 days is cut to that",
               lambda theirs, ours: theirs[0] == ours[0] in ("ttr", "time-left")
               and int(theirs[1]) >= TTR_MAX_S - 1 and TTR_MAX_S - 1 <= int(ours[1]) <= TTR_MAX_S),
    Difference("order of tubes", "list-tubes has them in no order that would mean anything, but `default` first",
               _are_the_same_tubes, of=list),
    Difference("counts of a tube", "a tube that has vanished and comes again has its counts still, where "
               "beanstalkd begins at 0: a node does not know when it was empty",
               lambda theirs, ours: theirs[0] == ours[0] in OF_TUBES and int(ours[1]) > int(theirs[1])),
    Difference("quotes", "version 1.13 has double quotes around all strings of its statistics, Debian's "
               "1.12 around the version alone; dueq is like 1.13", _is_quoted),
]


class Differ:
    """`used`: how often each named difference was met."""

    def __init__(self):
        self.used = Counter()
        self.rows = []  # of the last two pages that are not the same: those that differ

    def are_same(self, theirs, ours, sides):
        """Two whole replies."""
        if theirs == ours and not theirs.startswith((b"INSERTED", b"RESERVED", b"FOUND", b"OK ")):
            return True
        mine, other = (normal(reply, side) for reply, side in zip((theirs, ours), sides))
        if mine == other:
            return True
        return self._is_named(mine, other)

    def _is_named(self, theirs, ours):
        if self._find(theirs, ours):
            return True
        if not (isinstance(theirs, list) and isinstance(ours, list) and len(theirs) == len(ours)):
            return False
        page = {row[0]: row[1] for row in theirs if len(row) == 2}
        self.rows = [(each, other) for each, other in zip(theirs, ours)
                     if each != other and not self._find(each, other, page)]
        return not self.rows

    def _find(self, theirs, ours, page=None):
        for difference in DIFFERENCES:
            if (isinstance(theirs, difference.of) and difference.is_one(theirs, ours)
                    and difference.only_where(page)):
                self.used[difference.name] += 1
                return True
        return False


def normal(reply, side):
    """A reply in which nothing is left that must differ: bytes, or the lines of a YAML page."""
    named = NAMED_ID.match(reply)
    if named:
        return b"%s %s%s" % (named[1], side.name_of(int(named[2])), named[3])
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
        name = next((row[1].strip('"') for row in rows if row[0] == "name"), None)
        begin, is_server = side.baseline_of_tubes.get(name, {}), False
    return [_row(row, begin, is_server, side) for row in rows]


def _row(row, begin, is_server, side):
    if len(row) < 2:
        return row
    name, value = row
    if is_server and name in ITS_OWN and re.fullmatch(ITS_OWN[name], value):
        return name, "of its own"
    if name == "id" and value.isdigit():
        return name, side.name_of(int(value))
    if CUMULATIVE.fullmatch(name) and value.isdigit() and begin:
        asked = side.controls[name[4:]] if name.startswith("cmd-") and is_server else 0
        return name, str(int(value) - begin.get(name, 0) - asked)
    return name, value


def numbers_of(page):
    """{name: number} of a YAML page of statistics, as it came."""
    return {name.decode(): int(value) for name, value in
            re.findall(rb"^([a-z-]+): (\d+)$", page.replace(b"\r", b""), re.MULTILINE)}
