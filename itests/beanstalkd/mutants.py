"""Servers that are not quite like beanstalkd: what comes from a true one is changed on its way.

Each is a function of a reply, whole, that gives the replies that the client is told. A comparison that
does not see one of them is no test of what it changes.
"""

import re

TEXTS = {  # said: told instead
    "a timeout for a deadline": (b"DEADLINE_SOON", b"TIMED_OUT"),
    "a deadline for a timeout": (b"TIMED_OUT", b"DEADLINE_SOON"),
    "a delete that found nothing": (b"NOT_FOUND", b"DELETED"),
    "a delete in vain": (b"DELETED", b"NOT_FOUND"),
    "a bury in vain": (b"BURIED", b"NOT_FOUND"),
    "a release that buries": (b"RELEASED", b"BURIED"),
    "a touch in vain": (b"TOUCHED", b"NOT_FOUND"),
    "bad format for an unknown command": (b"UNKNOWN_COMMAND", b"BAD_FORMAT"),
    "an unknown command for bad format": (b"BAD_FORMAT", b"UNKNOWN_COMMAND"),
    "bad format for a body too big": (b"JOB_TOO_BIG", b"BAD_FORMAT"),
    "bad format for a body without end": (b"EXPECTED_CRLF", b"BAD_FORMAT"),
    "the last tube may be ignored": (b"NOT_IGNORED", b"WATCHING 0"),
    "a pause of nothing": (b"PAUSED", b"NOT_FOUND"),
}
LINES = {  # a pattern of a page's line: what stands there instead
    "a job that was not given": (rb"reserves: (\d+)", lambda n: b"reserves: %d" % (n + 1)),
    "a release uncounted": (rb"releases: ([1-9]\d*)", lambda n: b"releases: %d" % (n - 1)),
    "a bury uncounted": (rb"buries: ([1-9]\d*)", lambda n: b"buries: %d" % (n - 1)),
    "a kick uncounted": (rb"kicks: ([1-9]\d*)", lambda n: b"kicks: %d" % (n - 1)),
    "another priority": (rb"pri: (\d+)", lambda n: b"pri: %d" % (n + 1)),
    "another ttr": (rb"ttr: (\d+)", lambda n: b"ttr: %d" % (n + 1)),
    "put counted twice": (rb"cmd-put: (\d+)", lambda n: b"cmd-put: %d" % (2 * n)),
    "urgent ones uncounted": (rb"current-jobs-urgent: \d+", lambda: b"current-jobs-urgent: 0"),
    "buried ones shown as ready": (rb"state: buried", lambda: b"state: ready"),
    "users uncounted": (rb"current-using: (\d+)", lambda n: b"current-using: %d" % (n + 1)),
    "deletes uncounted": (rb"cmd-delete: ([1-9]\d*)", lambda n: b"cmd-delete: %d" % (n - 1)),
    "no version": (rb'version: "[\d.]+"', lambda: b"version: "),
    "a page of its own": (rb"pause: (\d+)", lambda n: b"paused: %d" % n),
}


def _text(said, told):
    return lambda reply: [told + b"\r\n" if reply == said + b"\r\n" else reply]


def _line(pattern, changed):
    at_line = re.compile(rb"(?m)^" + pattern + rb"$")

    def lie(reply):
        if not reply.startswith(b"OK "):
            return [reply]
        _, _, page = reply.partition(b"\r\n")
        page = at_line.sub(lambda match: changed(*map(int, match.groups())), page)
        return [b"OK %d\r\n%s" % (len(page) - 2, page)]

    return lie


def _one_kick_less(reply):
    kicked = re.match(rb"KICKED ([1-9]\d*)\r\n", reply)
    return [b"KICKED %d\r\n" % (int(kicked[1]) - 1) if kicked else reply]


def _watches_one_more(reply):
    watching = re.match(rb"WATCHING (\d+)\r\n", reply)
    return [b"WATCHING %d\r\n" % (int(watching[1]) + 1) if watching else reply]


def _one_tube_less(reply):
    tubes = re.match(rb"OK \d+\r\n(---\n(?:- .*\n)*)- .*\n\r\n\Z", reply)
    return [b"OK %d\r\n%s\r\n" % (len(tubes[1]), tubes[1]) if tubes else reply]


def _another_body(reply):
    body = re.match(rb"(RESERVED \d+ (?!0\r)\d+\r\n)(.*)(.\r\n)\Z", reply, re.DOTALL)
    return [body[1] + body[2] + b"!\r\n" if body else reply]


def _another_job():
    """The one before, which somebody may hold."""
    last = []

    def lie(reply):
        given = re.match(rb"RESERVED (\d+)(.*)\Z", reply, re.DOTALL)
        if not given:
            return [reply]
        last.append(given[1])
        return [b"RESERVED %s%s" % (last[-2:][0], given[2])]

    return lie


def _says_it_twice(reply):
    return [reply, reply] if reply.startswith(b"USING ") else [reply]


def lies():
    """{name: lie}, fresh ones."""
    return {**{name: _text(*texts) for name, texts in TEXTS.items()},
            **{name: _line(*line) for name, line in LINES.items()},
            "a job less is kicked": _one_kick_less, "one tube more is watched": _watches_one_more,
            "the last tube is not listed": _one_tube_less, "another body": _another_body,
            "the job before": _another_job(), "an answer twice": _says_it_twice}
