"""What Redis itself has on record of those who scan, for the judge. Times as in journal.py."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Move:
    """A due job was made ready by a script of that node, in a bucket. All moves of a bucket are
    in the order in which they happened."""

    bucket: str
    id: str
    node: str
    boot_ms: float


@dataclass(frozen=True)
class Delivered:
    """A node counts a job as handed over, by its line in the history, whose time is that node's
    estimate of Redis's clock. `node`: as consumers name it; "": not told apart."""

    id: str
    node: str
    boot_ms: float


@dataclass(frozen=True)
class Entry:
    """A line of the history, whatever it says (history.WORDS). `client`: as the node saw it."""

    id: str
    event: int
    node: str
    client: str
    boot_ms: float


@dataclass(frozen=True)
class TakenBack:
    """A job that a node had handed out is ready again: its reservation ran out, by a scan of `node`;
    or its consumer had left, by the line of the node that had handed it out, whose time is an
    estimate."""

    id: str
    node: str
    boot_ms: float
    has_left: bool = False  # its consumer


@dataclass(frozen=True)
class Lock:
    """A topic's lock was written: taken, or renewed. `place`: of which Redis's file, and where in
    it; a place that is further on happened later. `is_known`: is it known who had it before, where
    no Lock stands before?"""

    place: tuple
    bucket: str
    topic: str
    node: str
    owner: str
    view: int
    token: int
    until_ms: int
    is_known: bool = True


@dataclass(frozen=True)
class Unlock:
    """A topic's lock is gone; or, not `is_known`, it is not known who has it: the key came from
    another Redis."""

    place: tuple
    bucket: str
    topic: str
    is_known: bool = True


@dataclass(frozen=True)
class LockedMove:
    """A job was made ready by a scan, by Redis's file. `redis_ms`: when, on Redis's clock;
    `due_ms`: when it was due, None where that is not known, or its reservation had run out. `is_known`: is it known who has the
    lock, where no Lock stands before?"""

    place: tuple
    bucket: str
    topic: str
    id: str
    node: str
    redis_ms: int
    due_ms: int = None
    is_known: bool = True
    boot_ms: float = None
