"""Client libraries that Debian has, used as their READMEs show: their programs see of a node what they
see of beanstalkd."""

import subprocess
from pathlib import Path

import pytest

from beanstalkd.servers import settings
from harness.beanstalkd import Beanstalkd
from harness.node import Node
from harness.ports import free_port

CLIENTS = Path(__file__).parent / "clients"
PROGRAMS = {"php": "pheanstalk.php", "ruby": "beaneater.rb"}
SEEN_LINES = 20  # at least


@pytest.fixture(scope="module", name="ports")
def fixture_ports(tmp_path_factory):
    """Of beanstalkd, and of a node."""
    directory, port = tmp_path_factory.mktemp("libraries"), free_port()
    node = Node(directory, settings(port, body_bytes=1 << 20))
    try:
        with Beanstalkd(directory, is_synced=False) as peer:
            node.start()
            yield peer.port, port
            node.stop()
    finally:
        node.destroy()


def seen(program, port):
    words = [program, CLIENTS / PROGRAMS[program], str(port), program]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0 and not done.stderr, done
    return done.stdout.splitlines()


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_sees_what_it_sees_of_beanstalkd(ports, program):
    theirs, ours = (seen(program, port) for port in ports)
    assert len(theirs) >= SEEN_LINES and ours == theirs
