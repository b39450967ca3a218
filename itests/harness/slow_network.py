"""A network whose cables are slow and lose some.

Each host's cable leads through a relay (slowlink.c), which holds back what the host sends, or loses
it. So a frame from one host to another is late once, and may be lost once, on its way; an answer
the same again.

    with SlowNetwork() as network:
        a, b = network.add_host("a"), network.add_host("b")
        network.slow_down(delay_ms=100, lost=0.05)     # round trips take 200 ms
        ...
        network.slow_down(0, 0)
"""

import fcntl
import os
import random
import struct
import subprocess
from dataclasses import dataclass

from harness.build import slowlink_program
from harness.network import Network, NoNetwork, entered

TUNSETIFF, IFF_TAP, IFF_NO_PI = 0x400454CA, 0x0002, 0x1000
END_S = 20


@dataclass(frozen=True)
class Counts:
    """Frames that a host sent so far: all, those lost on purpose, and those that found no room."""

    sent: int
    lost: int
    spilled: int


class Cable:
    """The relay of a host, from its eth0 to its port of the bridge."""

    def __init__(self, host, bridge, seed):
        ends = []
        try:
            for netns, name in ((host.netns, "eth0"), (bridge, host.port)):
                with entered(netns):
                    ends.append(_open_tap(name))
            self._relay = subprocess.Popen(
                [slowlink_program(), *map(str, ends), str(seed)], stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, text=True, bufsize=1, pass_fds=ends)
        finally:
            for each in ends:
                os.close(each)
        self.pid, self._ask = self._relay.pid, (0, 0)

    def slow_down(self, delay_ms, lost):
        """From now on; what is on its way comes before what follows. The counts until now."""
        self._ask = (round(delay_ms * 1000), round(lost * 1_000_000))
        return self.counts()

    def counts(self):
        self._relay.stdin.write("%d %d\n" % self._ask)
        return Counts(*map(int, self._relay.stdout.readline().split()))

    def close(self):
        self._relay.stdin.close()
        code = self._relay.wait(END_S)
        self._relay.stdout.close()
        assert code == 0, f"slowlink ended with {code}"


class SlowNetwork(Network):
    """All cables are quick at first."""

    def __init__(self):
        super().__init__()
        self._dice = random.Random(1)  # of what is lost
        self._cables, self._now = {}, (0, 0)

    def __exit__(self, *unused):
        try:
            while self._cables:
                self._cables.popitem()[1].close()
        finally:
            super().__exit__()

    def slow_down(self, delay_ms, lost):
        """What hosts send is so late, and this share of the frames does not arrive; on all cables,
        also of hosts that are added later."""
        self._now = (delay_ms, lost)
        for cable in self._cables.values():
            cable.slow_down(*self._now)

    def counts(self):
        """{a host's name: Counts}"""
        return {name: cable.counts() for name, cable in self._cables.items()}

    def relays(self):
        """Their process ids."""
        return [cable.pid for cable in self._cables.values()]

    def _lay_cable(self, host):
        cable = Cable(host, self._bridge, 1 + self._dice.getrandbits(32))
        self._cables[host.name] = cable
        cable.slow_down(*self._now)


def _open_tap(name):
    """The descriptor of a new TAP device; it is there for as long as somebody has it open."""
    try:
        descriptor = os.open("/dev/net/tun", os.O_RDWR)
    except OSError as error:
        raise NoNetwork(f"TAP devices: {error}") from None
    try:
        fcntl.ioctl(descriptor, TUNSETIFF, struct.pack("16sH22x", name.encode(),
                                                       IFF_TAP | IFF_NO_PI))
    except OSError as error:
        os.close(descriptor)
        raise NoNetwork(f"the TAP device {name}: {error}") from None
    return descriptor
