"""The network of namespaces: what a cut stops, what it lets pass, and what is left afterwards."""

import errno
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from harness import network as subject
from harness.network import NAMESPACES, Network
from harness.process import Process, is_alive
from harness.wait import PATIENCE_S, wait_until

ITESTS = Path(__file__).resolve().parents[2]
PORT = 5000
UNREACHABLE = (errno.EHOSTUNREACH, errno.ENETUNREACH)
SOON_S = 0.3  # what passes, passes in a millisecond; what must pass may take PATIENCE_S


@pytest.fixture
def abc(network):
    """Three hosts; a listens."""
    hosts = [network.add_host(name) for name in "abc"]
    with hosts[0].entered(), socket.create_server((hosts[0].address, PORT)):
        yield hosts


def reaches(source, target, timeout_s=SOON_S):
    """Does a connection to the listening `target` come about?"""
    with source.entered():
        try:
            socket.create_connection((target.address, PORT), timeout_s).close()
            return True
        except OSError as error:
            assert isinstance(error, TimeoutError) or error.errno in UNREACHABLE, error
            return False


def test_a_namespace_goes_while_its_owner_is_in_it(network):
    """Ctrl-C may strike when the owner's first thread is on the way back from there."""
    netns = network.add_host("a").netns
    done = subprocess.run(
        [sys.executable, "-c", "import sys; from harness import network as n\n"
         "n.enter_namespace(sys.argv[1]); n.remove_namespace(sys.argv[1]); print('lives')", netns],
        cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "lives\n"), done
    assert not (NAMESPACES / netns).exists()


def test_a_cut_is_between_two_hosts_and_heals(network, abc):
    a, b, c = abc
    with network.cut([a], [b]):
        assert (reaches(b, a), reaches(c, a, PATIENCE_S)) == (False, True)
    wait_until(lambda: reaches(b, a), "it heals: hardware addresses are asked for each second")


def test_a_host_alone_reaches_itself_only(network, abc):
    a, b, _ = abc
    with network.cut_off(a):
        assert (reaches(b, a), reaches(a, a, PATIENCE_S)) == (False, True)


def test_a_group_is_cut_from_a_group(network, abc):
    a, b, c = abc
    with network.cut([b, c], [a]):
        assert (reaches(b, a), reaches(c, a)) == (False, False)


def udp_of(host):
    with host.entered():
        end = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    end.bind((host.address, PORT))
    return end


def arrives(sender, receiver, timeout_s=SOON_S):
    sender.sendto(b"x", receiver.getsockname())
    receiver.settimeout(timeout_s)
    try:
        return receiver.recv(1) == b"x"
    except TimeoutError:
        return False


def test_a_one_way_cut_stops_one_way(network, abc):
    a, b, _ = abc
    assert reaches(b, a, PATIENCE_S), "they know each other's hardware address"
    end_a, end_b = udp_of(a), udp_of(b)
    with network.cut_one_way([a], [b]):
        assert not arrives(end_a, end_b)
        assert arrives(end_b, end_a, PATIENCE_S)
    assert arrives(end_a, end_b, PATIENCE_S)


def test_a_lossy_link_loses_some_and_a_cable_all(network, abc):
    a, b, _ = abc
    sender, receiver = udp_of(a), udp_of(b)
    assert arrives(sender, receiver, PATIENCE_S), "they know each other's hardware address"
    with network.lose(50, [a], [b]):
        assert 50 < sum(arrives(sender, receiver, 0.02) for _ in range(200)) < 150
    b.pull_cable()
    assert not arrives(sender, receiver)
    b.put_cable()
    wait_until(lambda: arrives(sender, receiver), "it is plugged in again")


def test_connections_are_reset(abc):
    a, b, _ = abc
    with a.entered():
        server = socket.create_server((a.address, PORT + 1))
    with b.entered():
        client = socket.create_connection((a.address, PORT + 1))
    accepted, _ = server.accept()
    b.reset_connections(a.address, PORT + 1)
    with pytest.raises(ConnectionResetError):
        accepted.recv(1)
    for each in (server, client, accepted):
        each.close()


def test_a_process_of_a_host_has_a_known_id_and_goes_with_the_network(tmp_path):
    with Network() as network:
        host = network.add_host("a")
        process = Process(host.command(["sleep", "3600"]), tmp_path / "log")
        wait_until(lambda: str(process.pid) in subprocess.run(
            ["ip", "netns", "pids", host.netns], capture_output=True, text=True,
            check=True).stdout.split(), "it is on its host")
    assert not is_alive(process.pid)
    process.wait()
    assert not list(NAMESPACES.glob(f"{network.prefix}*"))


def test_nothing_is_left_when_the_block_fails():
    with pytest.raises(ZeroDivisionError), Network() as network:
        network.add_host("a")
        raise ZeroDivisionError
    assert not list(NAMESPACES.glob(f"{network.prefix}*"))


def test_what_a_dead_run_left_is_removed_by_the_next():
    prefix = a_dead_run()
    subject.remove_stale()
    assert not list(NAMESPACES.glob(f"{prefix}*"))


def test_runs_that_begin_together_remove_what_a_dead_one_left():
    prefix = a_dead_run(hosts=8)
    script = "import sys\nfrom harness.network import remove_stale\nsys.stdin.read()\nremove_stale()"
    signal, starter = os.pipe()
    runs = [subprocess.Popen([sys.executable, "-c", script], cwd=ITESTS, stdin=signal)
            for _ in range(4)]
    os.close(signal)
    os.close(starter)
    assert [run.wait() for run in runs] == [0] * 4
    assert not list(NAMESPACES.glob(f"{prefix}*"))


def a_dead_run(hosts=1):
    """The prefix of what it has left."""
    script = (f"from harness.network import NAMESPACES, Network\nimport os\n"
              f"network = Network().__enter__()\n"
              f"for number in range({hosts}): network.add_host(f'a{{number}}')\n"
              f"left = list(NAMESPACES.glob(network.prefix + '*'))\n"  # until somebody comes
              f"print(network.prefix, len(left), flush=True)\nos._exit(0)\n")
    told = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True,
                          text=True, cwd=ITESTS).stdout.split()
    assert int(told[1]) == hosts + 1
    return told[0]
