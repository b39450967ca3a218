"""What hosts of a network think where an address is, and what they are told about it.

An address is told with raw frames as any host sends them when it has got one: gratuitous ARP for
IPv4, an unsolicited neighbour advertisement for IPv6. A host without an entry for it learns nothing from
that; one that has an entry follows.
"""

import ipaddress
import json
import socket
import struct
import subprocess

BROADCAST, ALL_NODES_MAC = b"\xff" * 6, bytes.fromhex("333300000001")
ALL_NODES = ipaddress.ip_address("ff02::1").packed
ARP, IPV6, ICMPV6 = 0x0806, 0x86DD, 58
ADVERTISEMENT, OVERRIDE, TARGET_LINK = 136, 0x20000000, 2
DISCARD_PORT = 9


def add_address(host, address, *words):
    """By hand, for that host alone. `words`: more of what `ip addr add` takes."""
    width = ipaddress.ip_address(address).max_prefixlen
    nodad = ["nodad"] if width == 128 else []
    _ip(host, "addr", "add", f"{address}/{width}", "dev", "eth0", *nodad, *words)


def remove_address(host, address):
    """By hand. False: it was not there."""
    width = ipaddress.ip_address(address).max_prefixlen
    return _try(host, "addr", "del", f"{address}/{width}", "dev", "eth0").returncode == 0


def addresses_of(host):
    """All that it has, as text."""
    return {info["local"] for link in _ip(host, "addr", "show")
            for info in link.get("addr_info", ())}


def mac_of(host):
    return _ip(host, "link", "show", "eth0")[0]["address"]


def entry_of(host, address):
    """(hardware address or None, state) by which that host would reach an address; None when it
    has no entry."""
    found = _ip(host, "neigh", "show", "to", str(address), "dev", "eth0")
    return (found[0].get("lladdr"), found[0]["state"][0]) if found else None


def forget(host, address):
    """Its entry, so that it asks anew."""
    _ip(host, "neigh", "flush", "to", address, "dev", "eth0")


def touch(host, address):
    """One datagram, which nobody reads: so that the host has an entry."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with host.entered(), socket.socket(family, socket.SOCK_DGRAM) as sender:
        sender.connect((address, DISCARD_PORT))
        try:
            sender.send(b"x")
        except OSError:
            pass  # an answer to an earlier one: nobody listens


def announce(host, address):
    """Tells all others that it has the address."""
    mac = bytes.fromhex(mac_of(host).replace(":", ""))
    with host.entered(), socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as raw:
        raw.bind(("eth0", 0))
        raw.send(frame_of(mac, ipaddress.ip_address(address)))


def take(host, addresses, *words):
    """It has all of them from now on, and says so."""
    for each in addresses:
        add_address(host, each, *words)
    for each in addresses:
        announce(host, each)


def drop(host, addresses):
    """Not one of them any more."""
    for each in addresses:
        remove_address(host, each)


def frame_of(mac, address):
    """What an owner of the address sends unasked."""
    if address.version == 4:
        return (BROADCAST + mac + struct.pack("!HHHBBH", ARP, 1, 0x0800, 6, 4, 1)
                + mac + address.packed + bytes(6) + address.packed)
    said = (struct.pack("!I", OVERRIDE) + address.packed
            + struct.pack("!BB", TARGET_LINK, 1) + mac)
    length = 4 + len(said)
    pseudo = address.packed + ALL_NODES + struct.pack("!II", length, ICMPV6)
    told = struct.pack("!BBH", ADVERTISEMENT, 0, _checksum(
        pseudo + struct.pack("!BBH", ADVERTISEMENT, 0, 0) + said)) + said
    head = struct.pack("!IHBB", 6 << 28, length, ICMPV6, 255)
    return (ALL_NODES_MAC + mac + struct.pack("!H", IPV6) + head + address.packed + ALL_NODES
            + told)


def _checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def _ip(host, *words):
    done = _try(host, *words)
    assert done.returncode == 0, f"ip {' '.join(words)}: {done.stderr.strip()}"
    return json.loads(done.stdout or "[]")


def _try(host, *words):
    return subprocess.run(["ip", "-n", host.netns, "-j", *words], check=False,
                          capture_output=True, text=True)
