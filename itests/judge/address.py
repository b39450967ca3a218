"""On which hosts the virtual address is, by their kernels' own account, and whether it may be.

The kernel tells whoever listens of each address that comes or goes. It is *put* when it was not
there before: a renewal is no news, but how old the last one was says whether the kernel itself has
taken it away. So it does not depend on a sample whether a leader of yesterday,
back from a freeze, has put the address back for a moment.
"""

import ipaddress
import math
import selectors
import socket
import struct
import threading

from judge.jobs import Violation
from judge.journal import DIED, Gone, Put, Role, now_ms
from judge.leaders import leases_of

NEW, DELETED, ADDRESS, LOCAL = 20, 21, 1, 2
GROUPS = 0x10 | 0x100  # RTMGRP_IPV4_IFADDR, RTMGRP_IPV6_IFADDR
HEAD, BODY, ATTRIBUTE = struct.Struct("=IHHII"), struct.Struct("=BBBBI"), struct.Struct("=HH")
ROOM = 1 << 20
LATE_MS = 500  # what is read of the kernel is read a little later, more so on a busy machine
KEPT_MS = 250  # node/warden/vip.h: behind a worker that has died, for those that come
UNRENEWED_MS = 750  # ha/vip/vip.h: renewed every 250 ms, the kernel takes it away after a second
LIVES_MS = 2000  # and where its warden is frozen as well; T of the drills is 2 s


class HolderWatch:
    """Of some hosts and addresses, until close(). Events come to `tell` from a thread. When it
    cannot look any more (the kernel has dropped news), it says so to whoever asks next."""

    def __init__(self, hosts, addresses, tell):
        self._addresses, self._tell = set(addresses), tell
        self._selector, self._lock = selectors.DefaultSelector(), threading.Lock()
        self._holds, self._broken = {host.name: set() for host in hosts}, None
        self._renewed_ms = {}  # by host and address
        for host in hosts:
            with host.entered():
                heard = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
            heard.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, ROOM)
            heard.bind((0, GROUPS))
            self._selector.register(heard, selectors.EVENT_READ, host.name)
        self._wake, waker = socket.socketpair()
        self._selector.register(waker, selectors.EVENT_READ)
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def close(self):
        """Fails where it has not looked until now."""
        self.destroy()
        self._check()

    def destroy(self):
        """Whatever it thinks of it; harmless twice."""
        self._wake.close()
        self._thread.join()
        for key in list((self._selector.get_map() or {}).values()):
            key.fileobj.close()
        self._selector.close()

    def holders(self, address):
        """The names of the hosts that have it now."""
        self._check()
        with self._lock:
            return {name for name, held in self._holds.items() if address in held}

    def _check(self):
        if self._broken:
            raise RuntimeError("nobody looks where the address is any more") from self._broken

    def _listen(self):
        try:
            self._note_all()
        except Exception as error:  # pylint: disable=broad-except
            self._broken = error

    def _note_all(self):
        while True:
            for key, _ in self._selector.select():
                if key.data is None:
                    return
                for kind, address in messages_of(key.fileobj.recv(1 << 16)):
                    if address in self._addresses:
                        self._note(key.data, kind, address)

    def _note(self, name, kind, address):
        held, at_ms = self._holds[name], now_ms()
        renewed_ms = self._renewed_ms.get((name, address), at_ms)
        if kind == NEW:
            self._renewed_ms[name, address] = at_ms
        if (kind == NEW) == (address in held):
            return
        with self._lock:
            (held.add if kind == NEW else held.discard)(address)
        self._tell(Put(name, address, at_ms) if kind == NEW
                   else Gone(name, address, at_ms, at_ms - renewed_ms))


def messages_of(text):
    """(NEW or DELETED, the address as text) of each message about one."""
    at = 0
    while at + HEAD.size <= len(text):
        length, kind, *_ = HEAD.unpack_from(text, at)
        if kind in (NEW, DELETED):
            yield kind, _address_of(text[at + HEAD.size:at + length])
        at += (length + 3) & ~3


def _address_of(text):
    """What a peer-to-peer link has as its own end is LOCAL; without one ADDRESS is it."""
    found, at = {}, BODY.size
    while at + ATTRIBUTE.size <= len(text):
        length, kind = ATTRIBUTE.unpack_from(text, at)
        found[kind] = text[at + ATTRIBUTE.size:at + length]
        at += (length + 3) & ~3
    return str(ipaddress.ip_address(found.get(LOCAL, found.get(ADDRESS))))


def judge_holders(journal):
    """Who puts the address has a lease. Nobody renews it for a worker that has died. (That it is
    still there for a while when the lease has ended is the kernel's way with a node that cannot
    remove it.)"""
    puts = journal.of(Put)
    leases = leases_of(journal) if puts else []
    for put in puts:
        if not any(lease.node == put.node and lease.from_ms <= put.boot_ms
                   and put.boot_ms <= lease.until_ms + LATE_MS for lease in leases):
            yield Violation("STOLEN", put.address, f"{put.node} put it on its interface at "
                                                   f"{put.boot_ms:.0f} ms, and had no lease")
    events = [*puts, *journal.of(Gone), *journal.of(Role)]
    yield from (Violation("KEPT", *each) for each in kept_too_long(events, LIVES_MS))


def kept_too_long(events, most_ms):
    """(address, why) of each that a worker left behind for longer than that."""
    for death in events:
        if not isinstance(death, Role) or death.reason != DIED:
            continue
        for address in {each.address for each in events if isinstance(each, Put)}:
            kept_ms = _kept_ms(events, death, address)
            if kept_ms > most_ms + LATE_MS:
                yield address, f"{death.node} had it {kept_ms:.0f} ms after its worker's death"


def _kept_ms(events, death, address):
    """0: it was not there."""
    mine = sorted((each for each in events if isinstance(each, (Put, Gone))
                   and (each.node, each.address) == (death.node, address)),
                  key=lambda each: each.boot_ms)
    before = [each for each in mine if each.boot_ms <= death.boot_ms]
    if not before or isinstance(before[-1], Gone):
        return 0
    return next((each.boot_ms for each in mine if each.boot_ms > death.boot_ms),
                math.inf) - death.boot_ms
