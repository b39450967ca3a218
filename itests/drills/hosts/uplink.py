"""The way from a node to ZooKeeper, on which what the node sends can be made late.

A relay for each server on the node's own host; the node's ha.zookeeper names the relays. They pass
on the packets of ZooKeeper's protocol (a length, and so many bytes), whole, and know of them what a
drill needs: which is a beat, and when a server has acknowledged it. What is kept back waits in
order.
"""

import socket
import struct
import threading
import time
from contextlib import contextmanager, suppress

from drills.hosts.relay import Relay, end, start
from judge.journal import now_ms

FIRST_PORT = 2181
PATIENCE_S = 60
MULTI = 14  # the opcode of a beat (and of an election)
LENGTH, REQUEST, ANSWER = map(struct.Struct, (">I", ">ii", ">iqi"))  # xid, opcode; xid, zxid, error


class Uplink:
    """Of `host` to `servers`, pairs of address and port."""

    def __init__(self, host, servers):
        self._gate, self._news = threading.Event(), threading.Condition()
        self._gate.set()
        self.beats = 0               # acknowledged so far
        self.acknowledged_by = None  # the address of the server that did so last
        self.arrived_ms = now_ms()   # when the newest packet was passed on to a server
        self._relays = [_Packets(self, host, FIRST_PORT + number, server)
                        for number, server in enumerate(servers)]
        self.addresses = ",".join(f"{host.address}:{FIRST_PORT + number}"
                                  for number in range(len(servers)))

    def close(self):
        self._gate.set()
        for each in self._relays:
            each.close()

    # ---- faults ----

    def hold(self, ms):
        """Nothing arrives at the servers until `ms` after the packet that arrived last; then all
        that was kept back does."""
        self._gate.clear()
        time.sleep(max(0, self.arrived_ms + ms - now_ms()) / 1000)  # the fault's length
        self._gate.set()

    @property
    def holds(self):
        return not self._gate.is_set()

    def wait_beat(self, count=1):
        """Until servers have acknowledged so many more."""
        with self._news:
            goal = self.beats + count
            assert self._news.wait_for(lambda: self.beats >= goal, PATIENCE_S), "no beat"

    # ---- what passes ----

    def passes(self):
        """When nothing is kept back; what waited for that arrives now."""
        self._gate.wait()
        self.arrived_ms = now_ms()  # before: who knows of its answer knows of this

    def note_beat(self, address):
        with self._news:
            self.beats, self.acknowledged_by = self.beats + 1, address
            self._news.notify_all()


class _Packets(Relay):
    """One of an uplink's."""

    def __init__(self, uplink, host, port, server):
        self._uplink, self._address = uplink, server[0]
        super().__init__(host, port, server)

    def carry(self, client, server):
        asked = set()  # the xids of beats that have no answer yet
        return [start(self._pass_requests, client, server, asked),
                start(self._pass_answers, server, client, asked)]

    def _pass_requests(self, client, server, asked):
        with _ending(client, server):
            for number, packet in enumerate(_packets(client)):
                if number > 0:  # the first asks for a session
                    xid, opcode = REQUEST.unpack_from(packet)
                    if opcode == MULTI:
                        asked.add(xid)
                self._uplink.passes()
                server.sendall(LENGTH.pack(len(packet)) + packet)

    def _pass_answers(self, server, client, asked):
        with _ending(server, client):
            for number, packet in enumerate(_packets(server)):
                client.sendall(LENGTH.pack(len(packet)) + packet)
                if number > 0:
                    xid, _, error = ANSWER.unpack_from(packet)
                    if xid in asked and error == 0:
                        self._uplink.note_beat(self._address)


def _packets(source):
    """Until the end; half a packet is none."""
    while True:
        head = source.recv(LENGTH.size, socket.MSG_WAITALL)
        if len(head) < LENGTH.size:
            return
        length, = LENGTH.unpack(head)
        packet = source.recv(length, socket.MSG_WAITALL)
        if len(packet) < length:
            return
        yield packet


@contextmanager
def _ending(one, other):
    """When the block ends, and be it by an error, both connections do."""
    try:
        with suppress(OSError):
            yield
    finally:
        for each in (one, other):
            end(each)
