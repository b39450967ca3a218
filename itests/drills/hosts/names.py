"""A name service that is as slow as one likes: a DNS server on a host of its own, for some names.
"""

import socket
import struct
import threading

TYPE_A, CLASS_IN, NO_SUCH_NAME = 1, 1, 3
TTL_S = 0


class SlowNames:
    """`table`: {name: address}. Each answer takes `delay_s`."""

    def __init__(self, host, table):
        self.host, self.table, self.delay_s = host, table, 0
        self.late = 0  # answers that were kept back
        self._is_closed = threading.Event()
        with host.entered():
            self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind((host.address, 53))
        threading.Thread(target=self._answer_all, daemon=True).start()

    def serve(self, host):
        """Programs of that host, started from now on, ask this one."""
        host.write_etc("resolv.conf",
                       f"nameserver {self.host.address}\noptions timeout:30 attempts:1\n")
        host.write_etc("hosts", "127.0.0.1 localhost\n")

    def close(self):
        self._is_closed.set()
        self._socket.close()

    def _answer_all(self):
        while not self._is_closed.is_set():
            try:
                question, sender = self._socket.recvfrom(512)
            except OSError:
                return
            threading.Thread(target=self._answer, args=(question, sender), daemon=True).start()

    def _answer(self, question, sender):
        self.late += self.delay_s > 0
        self._is_closed.wait(self.delay_s)
        try:
            self._socket.sendto(reply_to(question, self.table), sender)
        except OSError:
            pass  # closed meanwhile


def reply_to(question, table):
    """The bytes of an answer: one address of a name in `table`, nothing for another type."""
    name, end = _name_of(question)
    kind, = struct.unpack_from("!H", question, end)
    echoed = question[12:end + 4]
    address = table.get(name)
    found = [address] if address and kind == TYPE_A else []
    flags = 0x8180 | (0 if address else NO_SUCH_NAME)
    head = question[:2] + struct.pack("!HHHHH", flags, 1, len(found), 0, 0)
    records = b"".join(struct.pack("!HHHIH", 0xC00C, TYPE_A, CLASS_IN, TTL_S, 4)
                       + socket.inet_aton(each) for each in found)
    return head + echoed + records


def _name_of(question):
    """(name, where it ends)"""
    labels, at = [], 12
    while question[at]:
        labels.append(question[at + 1:at + 1 + question[at]].decode())
        at += 1 + question[at]
    return ".".join(labels).lower(), at + 1
