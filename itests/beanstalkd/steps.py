"""A sequence: what clients do to a server, one step after the other.

A step is bytes that a connection sends, or its end, or SIGUSR1 to the server. Ids differ from server to server, so a command
names a job by who put it: @a0@ is the first job that connection a put. @a!0@ is the job that connection
a was the last to be given, @a!1@ the one before it. Sequences are written and read as text, a step a
line, to be repeated by hand.
"""

import ast
import re
from typing import NamedTuple, Union

CLOSE, SHUT = "close", "shut"  # at once; only its writing half
DRAIN = "drain"                # of no connection: SIGUSR1
REFERENCE = re.compile(rb"@([a-z])(!?)(\d+)@")
NOBODYS_ID = 987654321987  # of a job that is not there (yet)


class Step(NamedTuple):
    conn: str
    what: Union[bytes, str]  # bytes to send, CLOSE, SHUT or DRAIN
    replies: int = 1         # how many it should bring; -1: whatever comes. The pace, no more
    window: int = 0          # see play.py

    def __str__(self):
        return f"{self.window} {self.conn} {self.replies} {self.what!r}"


def as_text(steps):
    return "".join(f"{step}\n" for step in steps)


def from_text(text):
    steps = []
    for line in text.splitlines():
        if line.strip() and not line.startswith("#"):
            window, conn, replies, what = line.split(" ", 3)
            steps.append(Step(conn, ast.literal_eval(what), int(replies), int(window)))
    return steps
