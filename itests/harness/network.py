"""A network of hosts on one machine: network namespaces joined by a bridge, and cuts in it.

Each host has a namespace of its own with one interface, eth0, joined by veth to a bridge, which
has a namespace of its own too, so that nothing of the machine's network is touched and two runs
never meet. nft rules in the bridge's namespace drop frames between the ports of two hosts: ARP
and all, like a pulled cable. A rule is about frames in one direction. No host forwards: else who
had an address before would pass on what still comes to it, and hide that it should not come.

Namespaces are called dq<pid>-<number>-<host>, after the process of the run. Those of runs that are
dead are removed by the next one, with the processes in them.

    with Network() as network:
        a, b = network.add_host("a"), network.add_host("b")
        Process(a.command(["redis-server", ...]), log)
        with b.entered():            # this thread's new sockets are b's
            socket.create_connection((a.address, 6379))
        with network.cut([a], [b]):  # both ways
            ...
"""

import ctypes
import fcntl
import ipaddress
import itertools
import os
import re
import shutil
import subprocess
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

from harness.process import is_alive, kill_now

NAMESPACES = Path("/run/netns")
ETC = Path("/etc/netns")  # ETC/<namespace>/<file> is in the place of /etc/<file> for its programs
CLONE_NEWNET = 0x40000000
SUBNET, SUBNET6 = "10.213.0", "fd00:213:"
VIP, VIP6 = f"{SUBNET}.200", f"{SUBNET6}:200"  # of no host: for nodes that lead
_OURS = re.compile(r"dq(\d+)-\d+-[a-z0-9]+")
_numbers = itertools.count(1)  # of networks in this process


class NoNetwork(Exception):
    """Namespaces, or rules in a bridge, are not possible here."""


@lru_cache(maxsize=None)
def why_not():
    """Why there can be no such network; None where there can."""
    try:
        with Network() as network:
            with network.cut([network.add_host("a")], [network.add_host("b")]):
                return None
    except (NoNetwork, FileNotFoundError) as error:
        return str(error).strip() or repr(error)


class Host:
    """A namespace, with one address of each family in the network."""

    def __init__(self, network, name, number):
        self.name, self.address = name, f"{SUBNET}.{number}"
        self.address6 = f"{SUBNET6}:{number}"
        self.netns = network.prefix + name
        self.port = f"v-{name}"  # of the bridge

    def command(self, argv):
        """The same command on this host. Its process id is that of the process started."""
        return ["ip", "netns", "exec", self.netns, *argv]

    @contextmanager
    def entered(self):
        """This thread's sockets that are made in the block are the host's."""
        with entered(self.netns):
            yield self

    def write_etc(self, name, text):
        """A file that its programs, started from now on, find in /etc."""
        directory = ETC / self.netns
        directory.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(text, encoding="utf-8")

    def set_kernel(self, name, value):
        """Of its own /proc/sys/net."""
        with self.entered():
            Path("/proc/sys/net", name).write_text(f"{value}\n", encoding="ascii")

    def pull_cable(self):
        """Its link has no carrier until put_cable()."""
        _ip("-n", self.netns, "link", "set", "eth0", "down")

    def put_cable(self):
        _ip("-n", self.netns, "link", "set", "eth0", "up")

    @property
    def has_link(self):
        """Is its cable in place, by its kernel?"""
        return "LOWER_UP" in _ip("-n", self.netns, "link", "show", "eth0")

    def connections(self, address, port):
        """The local ends of its connections to that port of another host."""
        listed = _run(self.command(["ss", "-Htn", "dst", address, "dport", "=", str(port)]))
        return {line.split()[3] for line in listed.splitlines()}

    @contextmanager
    def unreachable(self):
        """Whoever sends it something over TCP is told that there is no way to it, as by a router.
        Gives a function: how often that was."""
        _run(self.command(["nft", "-f", "-"]),
             "table ip way {\n chain in {\n  type filter hook input priority 0\n"
             "  ip protocol tcp counter reject with icmp type host-unreachable\n }\n}\n")
        try:
            yield lambda: int(re.search(r"packets (\d+)", _run(self.command(
                ["nft", "list", "table", "ip", "way"])))[1])
        finally:
            _run(self.command(["nft", "delete", "table", "ip", "way"]))

    def reset_connections(self, address, port):
        """Ends its connections to that port of another host; its peer is sent a reset."""
        _run(self.command(["ss", "-K", "-t", "dst", address, "dport", "=", str(port)]))


class Cut:
    """Frames that do not pass, until heal() or the end of the block."""

    def __init__(self, network, rules):
        self._network, self.rules = network, rules

    def heal(self):
        self._network.heal(self)

    def dropped(self):
        """How many frames it has kept from passing since the last change of any cut."""
        return self._network.dropped(self)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.heal()


class Network:
    """One bridge and its hosts; several in one process do not meet either."""

    def __init__(self):
        self.prefix = f"dq{os.getpid()}-{next(_numbers)}-"
        self.hosts = {}
        self._bridge = f"{self.prefix}br"
        self._cuts = []

    @property
    def cuts(self):
        """Those that are not healed."""
        return tuple(self._cuts)

    def __enter__(self):
        remove_stale()
        try:
            _ip("netns", "add", self._bridge)
            _ip("-n", self._bridge, "link", "add", "br0", "type", "bridge", "mcast_snooping", "0")
            _ip("-n", self._bridge, "link", "set", "br0", "up")
            self._nft("table bridge dueq {\n chain cuts {\n"
                      "  type filter hook forward priority 0; policy accept;\n }\n}\n")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *unused):
        for host in self.hosts.values():
            remove_namespace(host.netns)
        remove_namespace(self._bridge)
        self.hosts, self._cuts = {}, []

    def add_host(self, name):
        """A host of that name, up; lower-case letters and digits, 13 at most."""
        host = Host(self, name, len(self.hosts) + 1)
        self.hosts[name] = host
        _ip("netns", "add", host.netns)
        self._lay_cable(host)
        _ip("-n", self._bridge, "link", "set", host.port, "master", "br0", "up")
        host.set_kernel("ipv4/ip_forward", 0)
        host.set_kernel("ipv6/conf/eth0/keep_addr_on_down", 1)  # as IPv4 does
        _run(["ip", "-n", host.netns, "-batch", "-"],
             f"addr add {host.address}/24 dev eth0\naddr add {host.address6}/64 dev eth0 nodad\n"
             "link set lo up\nlink set eth0 up\n")
        return host

    def _lay_cable(self, host):
        """From eth0, of the host, to its port of the bridge."""
        _ip("link", "add", "eth0", "netns", host.netns, "type", "veth",
            "peer", "name", host.port, "netns", self._bridge)

    # ---- cuts ----

    def cut(self, some, others):
        """Nothing passes between some hosts and others, in either direction."""
        return self._add([*_drops(some, others), *_drops(others, some)])

    def cut_one_way(self, senders, receivers):
        """What these send does not arrive at those."""
        return self._add(_drops(senders, receivers))

    def cut_off(self, host):
        """Alone in the world."""
        return self.cut([host], [each for each in self.hosts.values() if each is not host])

    def lose(self, percent, some, others):
        """Each frame is lost with this probability, in both directions."""
        chance = f"numgen random mod 1000 < {round(percent * 10)} "
        return self._add([*_drops(some, others, chance), *_drops(others, some, chance)])

    def hush(self, hosts, address, unasked=False):
        """Nobody hears from these hosts that they have the address, asked or not; or, `unasked`,
        where nobody has asked."""
        return self._add([_claims(host, ipaddress.ip_address(address), unasked)
                          for host in hosts])

    def heal(self, cut):
        """Again as before it; harmless when it has healed already."""
        if cut in self._cuts:
            self._cuts.remove(cut)
            self._apply()

    def heal_all(self):
        self._cuts.clear()
        self._apply()

    def _add(self, rules):
        cut = Cut(self, rules)
        self._cuts.append(cut)
        self._apply()
        return cut

    def _apply(self):
        """All rules anew, in one transaction."""
        rules = [rule for cut in self._cuts for rule in cut.rules]
        lines = [f"add rule bridge dueq cuts {rule}" for rule in rules]
        self._nft("\n".join(["flush chain bridge dueq cuts", *lines, ""]))

    def dropped(self, cut):
        """By its rules: they are listed in the order in which they were added."""
        listed = _run(["ip", "netns", "exec", self._bridge, "nft", "list", "chain", "bridge", "dueq",
                       "cuts"])
        counts = iter(map(int, re.findall(r"counter packets (\d+)", listed)))
        by_cut = [sum(next(counts) for _ in each.rules) for each in self._cuts]
        return by_cut[self._cuts.index(cut)]

    def _nft(self, text):
        _run(["ip", "netns", "exec", self._bridge, "nft", "-f", "-"], text)


def _drops(senders, receivers, chance=""):
    return [f'iifname "{one.port}" oifname "{other.port}" {chance}counter drop'
            for one in senders for other in receivers]


def _claims(host, address, unasked):
    """ARP with it as the sender's; neighbour advertisements for it (a target is 8 bytes on).
    Unasked: about itself, and to all nodes."""
    if address.version == 4:
        about = f" arp daddr ip {address}" if unasked else ""
        return f'iifname "{host.port}" ether type arp arp saddr ip {address}{about} counter drop'
    to_all = "ip6 daddr ff02::1 " if unasked else ""
    return (f'iifname "{host.port}" {to_all}icmpv6 type nd-neighbor-advert '
            f'@th,64,128 0x{int(address):032x} counter drop')


# ---- namespaces ----

def enter_namespace(netns):
    """For this thread, from now on."""
    with open(NAMESPACES / netns, "rb") as file:
        _setns(file.fileno())


@contextmanager
def entered(netns):
    """This thread, and what it opens, for the time of the block."""
    with open("/proc/thread-self/ns/net", "rb") as own:
        try:
            enter_namespace(netns)
            yield
        finally:
            _setns(own.fileno())


def remove_namespace(netns):
    """With the processes that are still in it; harmless when there is none. This one may be in it,
    too: Ctrl-C struck while its first thread was on the way back."""
    if (NAMESPACES / netns).exists():
        pids = map(int, _ip("netns", "pids", netns).split())
        kill_now([pid for pid in pids if pid != os.getpid()])
        _ip("netns", "delete", netns)
    shutil.rmtree(ETC / netns, ignore_errors=True)


def remove_stale():
    """The namespaces of runs that have died."""
    for_each_stale(_OURS, remove_namespace)


def for_each_stale(pattern, remove):
    """remove(name) of the namespaces with such a name whose process, the pattern's first group,
    is dead. By one process at a time: those of a run beside it would all find the same ones."""
    if not _stale(pattern):
        return
    with _alone():
        for name in _stale(pattern):
            remove(name)


def _stale(pattern):
    found = [pattern.fullmatch(path.name) for path in NAMESPACES.glob("dq*-*")]
    return [each.group() for each in found if each and not is_alive(int(each.group(1)))]


@contextmanager
def _alone():
    """No other process is in here meanwhile."""
    try:
        with open("/run/lock/dueq-stale", "ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
    except PermissionError as error:
        raise NoNetwork(str(error)) from error


def _setns(descriptor):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(descriptor, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")


def _ip(*words):
    return _run(["ip", *words])


def _run(argv, text=None):
    done = subprocess.run(argv, input=text, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise NoNetwork(f"{' '.join(argv)}: {done.stderr.strip()}")
    return done.stdout
