"""The descriptors of a process, and those that are left of clients that have gone.

A socket whose other end is at the clients' address, in whatever state, is one of theirs. So is a
TCP socket that the kernel has taken out of its tables, as it does when a reset ends it: it is
nowhere but in the process, which has not closed it.
"""

import os
import socket
import struct
from contextlib import suppress
from pathlib import Path

FIN_WAIT_1 = "04"
TABLES = ("tcp", "tcp6", "udp", "udp6", "unix", "netlink", "packet", "raw", "icmp")
INODE_AT = {"unix": 6, "packet": 8}  # the column; netlink: 9 as the rest


def open_files(pid):
    """How many it has."""
    return len(os.listdir(f"/proc/{pid}/fd"))


def left_open(pid, address):
    """What it still has of clients at this address: a list of words."""
    peers, known = _tables(pid)
    found = []
    for file in os.listdir(f"/proc/{pid}/fd"):
        with suppress(FileNotFoundError):
            target = os.readlink(f"/proc/{pid}/fd/{file}")
            if target.startswith("socket:["):
                inode = int(target[8:-1])
                if peers.get(inode) == address:
                    found.append(f"{file}: connected to {address}")
                elif inode not in known:
                    found.append(f"{file}: of nobody")
    return found


def unended(pid, address):
    """How many connections to this address the process's kernel still tries to end, of those that no
    process has any more."""
    lines = Path(f"/proc/{pid}/net/tcp").read_text(encoding="ascii").splitlines()[1:]
    words = (line.split() for line in lines)
    return sum(each[3] == FIN_WAIT_1 and _address_of(each[2].partition(":")[0]) == address
               for each in words)


def _tables(pid):
    """({inode: the peer's address}, all inodes) of the sockets where the process is."""
    peers, known = {}, set()
    for table in TABLES:
        path = Path(f"/proc/{pid}/net/{table}")
        for line in path.read_text(encoding="ascii", errors="replace").splitlines()[1:]:
            words = line.split()
            inode = int(words[INODE_AT.get(table, 9)])
            known.add(inode)
            if table.startswith("tcp"):
                peers[inode] = _address_of(words[2].partition(":")[0])
    return peers, known


def _address_of(digits):
    """Of IPv4, also where a socket of IPv6 has it; the digits where it is none."""
    words = [int(digits[at:at + 8], 16) for at in range(0, len(digits), 8)]
    if len(words) == 4 and words[:3] != [0, 0, 0xFFFF0000]:
        return digits
    return socket.inet_ntoa(struct.pack("=I", words[-1]))
