"""Who moved what, and with which lock, where all nodes scan: by Redis's append-only files.

A scan writes the topic's lock and what it has moved in one stroke, so the order of a file proves
whether a node ever moved a job of a topic whose lock it had not. Nothing is sampled, and no node's
word is taken. What it cannot show: the owner's process, for a move names its node alone; and
where a file begins with a copy of another's data, the locks until each is written again.
"""

from collections import defaultdict, namedtuple
from dataclasses import replace

from harness.clock import offset_ms, wall_now_ms
from judge.aof import AofTail
from judge.history import DUE, HANDED_ON, MOVED, parse_line
from judge.journal import now_ms
from judge.redis_events import Lock, LockedMove, Unlock

LOCK_MS = 5000  # queue.lock_time
NOT_LOOKED_UP = -1
VIEW, OWNER, UNTIL, TOKEN = slice(0, 16), slice(16, 32), slice(32, 38), slice(38, 45)
NODE = slice(45, None)

Late = namedtuple("Late", "topic late_ms due_ms redis_ms node")


class Ledger:
    """`directories`: {name: that of a Redis}. The events of all so far, in the order of each
    file."""

    def __init__(self, directories):
        self._dues = defaultdict(list)  # {(topic, id): when it was to be due}
        self._readers = [_Reader(name, directory, self._dues)
                         for name, directory in directories.items()]
        self.events = []
        self.moved = set()  # ids
        self.locks = {}  # {topic: its lock as last written}, whether that is over or not

    def read(self):
        """What is new, which is in `events` from then on."""
        new = [self._with_due(event) for event in [event for reader in self._readers
                                                   for event in reader.events()]]
        self.events += new
        for event in new:
            if isinstance(event, Lock):
                before = self.locks.get(event.topic)
                if before is None or event.until_ms >= before.until_ms:
                    self.locks[event.topic] = event
            elif isinstance(event, LockedMove):
                self.moved.add(event.id)
        return new

    def _with_due(self, event):
        """When all has been read: the push may be in another Redis's file."""
        if not isinstance(event, LockedMove) or event.due_ms != NOT_LOOKED_UP:
            return event
        dues = self._dues[event.topic, event.id]
        return replace(event, due_ms=max((due for due in dues if due <= event.redis_ms),
                                         default=None))

    def close(self):
        for reader in self._readers:
            reader.close()

    def moved_late(self, from_ms, until_ms):
        """How late each job was moved that became due then, on Redis's clock."""
        return [Late(each.topic, each.redis_ms - each.due_ms, each.due_ms, each.redis_ms, each.node)
                for each in self.events if isinstance(each, LockedMove)
                and each.due_ms is not None and from_ms <= each.due_ms <= until_ms]


class _Reader:
    """Of one Redis."""

    def __init__(self, name, directory, dues):
        self._name, self._aof, self._count, self._dues = name, AofTail(directory), 0, dues
        self._ahead_ms = offset_ms(wall_now_ms, now_ms)  # of Redis's clock

    def close(self):
        self._aof.close()

    def events(self):
        for stroke in self._aof.strokes():
            for event in self._of_stroke(stroke):
                yield event

    def _place(self):
        self._count += 1
        return self._name, self._aof.generation, self._count

    def _of_stroke(self, stroke):
        """Locks first: a scan has looked at them before it moves anything."""
        for command in stroke:
            yield from self._locks_of(command)
        for command in stroke:
            if command[0].upper() == b"XADD" and command[1].endswith(b":h"):
                yield from self._moves_of(command)

    def _locks_of(self, command):
        name = command[0].upper()
        if name in (b"SET", b"RESTORE", b"RESTORE-ASKING"):
            key = _lock_key(command[1])
            if key and name == b"SET":
                yield lock_of(self._place(), *key, command[2], self._aof.is_whole)
            elif key:
                yield Unlock(self._place(), *key, is_known=False)
        elif name in (b"DEL", b"UNLINK"):
            for key in filter(None, map(_lock_key, command[1:])):
                yield Unlock(self._place(), *key)

    def _moves_of(self, command):
        bucket = command[1].decode().split(":")[1]
        for record in command[4::2]:
            line = parse_line(record)
            job = line.topic, line.id
            if line.event in HANDED_ON:
                self._dues[job].append(line.at_ms)
            elif line.event in MOVED:
                yield LockedMove(self._place(), bucket, *job, line.node, line.time_ms,
                                 NOT_LOOKED_UP if line.event == DUE else None,
                                 self._aof.is_whole, line.time_ms - self._ahead_ms)


def lock_of(place, bucket, topic, value, is_known=True):
    """As a scan writes it (doc/cluster.md)."""
    return Lock(place, bucket, topic, value[NODE].decode(), value[OWNER].decode(),
                int(value[VIEW], 16), int.from_bytes(value[TOKEN], "big"),
                int.from_bytes(value[UNTIL], "big"), is_known)


def _lock_key(key):
    """(bucket, topic) of dq:{7}:l:topic; None of another."""
    parts = key.decode("utf-8", "replace").split(":", 3)
    if len(parts) < 4 or parts[2] != "l":
        return None
    return parts[1], parts[3]
