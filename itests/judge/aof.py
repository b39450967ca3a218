"""Redis's append-only file, read while Redis goes on writing it: all that was written to the store,
in the order in which it happened. What a script did stands between MULTI and EXEC, so it comes
as one.

    aof = AofTail(directory)
    for stroke in aof.strokes():   # new since the last time: a list of commands
        ...

A Redis that gets a whole copy of another's data begins a new file, with the copy before it, and
deletes the old ones. Files are kept open, so what was written to them is still read. `is_whole` says
that nothing is missing: what stands before the file is empty.
"""

import re
from pathlib import Path

_NAME = re.compile(r"file (\S+) seq (\d+) type ([bi])")
_CHUNK = 1 << 20


class AofTail:
    """`directory`: of the Redis. `is_whole` and `generation` (the number of what stands before)
    are those of the strokes that were read last."""

    def __init__(self, directory):
        self._directory = Path(directory) / "appendonlydir"
        self._file, self._number = None, 0
        self.generation, self.is_whole = 0, False

    def strokes(self):
        """Those that are written whole."""
        while True:
            if self._file:
                yield from self._file.strokes()
            following = self._following()
            if not following:
                return
            if self._file:
                yield from self._file.strokes()  # the very last
                self._file.close()
            self._open(*following)

    def close(self):
        if self._file:
            self._file.close()
            self._file = None

    def _open(self, name, number, base, base_name):
        if base != self.generation:
            self.is_whole = not base_name or self._is_empty(base_name)
        self.is_whole = self.is_whole and (base != self.generation or number == self._number + 1)
        self.generation, self._number = base, number
        self._file = _Strokes(self._directory / name)

    def _is_empty(self, base_name):
        try:
            return is_empty_copy((self._directory / base_name).read_bytes())
        except FileNotFoundError:  # a newer one took its place just now
            return False

    def _following(self):
        """The first file not read yet: its name and number, and the number and name of what
        stands before; None: there is none."""
        try:
            manifest = next(self._directory.glob("*.manifest")).read_text(encoding="ascii")
        except (StopIteration, FileNotFoundError):
            return None
        files = [(name, int(number), kind) for name, number, kind in _NAME.findall(manifest)]
        base, base_name = max(((number, name) for name, number, kind in files if kind == "b"),
                              default=(0, ""))
        later = sorted((number, name) for name, number, kind in files
                       if kind == "i" and number > self._number)
        for number, name in later:
            if (self._directory / name).exists():
                return name, number, base, base_name
        return None


class _Strokes:
    """Of one file."""

    def __init__(self, path):
        self._file = open(path, "rb")  # pylint: disable=consider-using-with
        self._rest, self._open = b"", None  # `_open`: a MULTI's commands so far

    def close(self):
        self._file.close()

    def strokes(self):
        while True:
            more = self._file.read(_CHUNK)
            if not more:
                return
            text, at = self._rest + more, 0
            while True:
                command, end = parse_command(text, at)
                if command is None:
                    break
                at = end
                yield from self._stroke(command)
            self._rest = text[at:]

    def _stroke(self, command):
        name = command[0].upper()
        if name == b"MULTI":
            self._open = []
        elif name == b"EXEC":
            done, self._open = self._open, None
            yield done or []
        elif self._open is not None:
            self._open.append(command)
        else:
            yield [command]


AUX, END = 0xfa, 0xff  # opcodes of a copy (RDB)


def is_empty_copy(data):
    """Has it only words about itself, and no key?"""
    at = len(b"REDIS0010")
    while data[at:at + 1] == bytes([AUX]):
        at = _behind_text(data, _behind_text(data, at + 1))
    return data[at:at + 1] == bytes([END])


def _behind_text(data, at):
    """Of up to 63 bytes, of more, or a number of 1, 2 or 4."""
    kind, low = data[at] >> 6, data[at] & 63
    if kind == 0:
        return at + 1 + low
    if kind == 1:
        return at + 2 + (low << 8 | data[at + 1])
    return at + 1 + (1 << low)


def parse_command(text, at):
    """(arguments, where the next begins); (None, at) where it is not whole yet. Comments, which
    tell the time, are passed over."""
    while text[at:at + 1] == b"#":
        line = text.find(b"\n", at)
        if line < 0:
            return None, at
        at = line + 1
    end = text.find(b"\r\n", at)
    if end < 0:
        return None, at
    place, arguments = end + 2, []
    for _ in range(int(text[at + 1:end])):
        end = text.find(b"\r\n", place)
        if end < 0:
            return None, at
        begin = end + 2
        length = int(text[place + 1:end])
        if len(text) < begin + length + 2:
            return None, at
        arguments.append(text[begin:begin + length])
        place = begin + length + 2
    return arguments, place
