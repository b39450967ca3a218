"""A line of a bucket's history, as scripts write it."""

import struct
from collections import namedtuple

HEAD = struct.Struct(">BBHIHIH")  # event, death, when and its own time (6 bytes each), tries

# enum job_event
PUSHED, REPLACED, DUE, DELIVERED, RETURNED = 0, 1, 2, 3, 4
RELEASED, TIMED_OUT, RESCHEDULED = 6, 7, 10
WORDS = dict(enumerate((
    "pushed", "replaced", "due", "delivered", "returned", "touched", "released", "timed_out",
    "acked", "died", "moved", "cancelled", "repaired")))
HANDED_ON = (PUSHED, REPLACED, RELEASED, RESCHEDULED)  # its own time says when the job is due
MOVED = (DUE, TIMED_OUT)  # what a scan alone writes

Line = namedtuple("Line", "event time_ms at_ms topic id node client")


def parse_line(record):
    event, _, high, low, at_high, at_low, _ = HEAD.unpack_from(record)
    place, names = HEAD.size, []
    for _ in range(4):
        length = record[place]
        names.append(record[place + 1:place + 1 + length].decode())
        place += 1 + length
    return Line(event, high << 32 | low, at_high << 32 | at_low, *names)
