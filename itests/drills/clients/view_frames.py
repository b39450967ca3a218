"""Which host took a connection, and which one reset it, by the hardware addresses of the frames.

A packet socket with a filter in the kernel, for TCP segments with SYN or RST that come in. It is
read before it is asked: a segment is here before the connection knows of it.
"""

import ctypes
import socket
import struct
from contextlib import suppress

SO_ATTACH_FILTER, ALL_PROTOCOLS = 26, 3
SYN, RST = 2, 4
ETHERNET, IPV4, IPV6_BYTES = 14, 0x0800, 40
REMEMBERED = 20_000  # ports: more than are open at once
FILTER = (  # code, jump if true, jump if false, operand
    (0x20, 0, 0, 0xFFFFF004),       # packet type
    (0x15, 13, 0, 4),               # outgoing: drop
    (0x28, 0, 0, 12),               # EtherType
    (0x15, 0, 5, IPV4),
    (0x30, 0, 0, 23),               # protocol
    (0x15, 0, 9, 6),                # not TCP: drop
    (0xB1, 0, 0, ETHERNET),         # the length of the header
    (0x50, 0, 0, ETHERNET + 13),    # TCP's flags behind it
    (0x05, 0, 0, 4),
    (0x15, 0, 5, 0x86DD),           # not IPv6: drop
    (0x30, 0, 0, 20),               # next header
    (0x15, 0, 3, 6),                # not TCP: drop
    (0x30, 0, 0, ETHERNET + IPV6_BYTES + 13),
    (0x45, 0, 1, SYN | RST),
    (0x06, 0, 0, 128),              # these bytes
    (0x06, 0, 0, 0))                # drop


class Frames:
    def __init__(self):
        self._took, self._reset = {}, {}  # hardware addresses by our own port
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW,
                                    socket.htons(ALL_PROTOCOLS))
        self.socket.setblocking(False)
        code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *each)
                                                    for each in FILTER))
        program = struct.pack("@HP", len(FILTER), ctypes.addressof(code))
        self.socket.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, program)
        self._forget_unfiltered()

    def _forget_unfiltered(self):
        """What has come before the filter was there: anything."""
        with suppress(BlockingIOError):
            while True:
                self.socket.recv(1)

    def read(self):
        """All that is there."""
        while True:
            try:
                frame = self.socket.recv(128)
            except BlockingIOError:
                return
            sender, port, flags = _parse(frame)
            seen = self._reset if flags & RST else self._took
            seen.pop(port, None)  # last is newest
            seen[port] = sender
            if len(seen) > REMEMBERED:
                del seen[next(iter(seen))]

    def is_by_another(self, port):
        """Was the connection of that port reset by another host than the one that took it?"""
        self.read()
        took, reset = self._took.get(port), self._reset.get(port)
        return None not in (took, reset) and took != reset


def _parse(frame):
    """(the sender's hardware address, our port, flags)"""
    kind, = struct.unpack_from("!H", frame, 12)
    at = ETHERNET + ((frame[ETHERNET] & 0xF) * 4 if kind == IPV4 else IPV6_BYTES)
    return frame[6:12], struct.unpack_from("!H", frame, at + 2)[0], frame[at + 13]
