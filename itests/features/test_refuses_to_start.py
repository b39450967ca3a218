"""What a node does not start on: it says what is wrong, ends soon, and harms nothing."""

import os
import re
import socket
import subprocess
from pathlib import Path

import pytest

from harness.build import node_program
from harness.refused import said_by
from harness.users import NOBODY, as_nobody, copy_program, directory_for_all
from harness.wait import PATIENCE_S


def test_a_second_node_on_the_same_data_directory(make_node):
    first = make_node().start()
    second = make_node({"node.data_dir": first.data_dir})
    said = said_by(second)
    assert "waiting up to" not in said, "its owner lives"
    assert str(first.data_dir) in said and str(first.warden_pid) in said
    with first.python_client() as client:
        assert client.push("topic", "unharmed-1") == "success"


@pytest.mark.parametrize("key", ["gmq.listen", "http.listen"])
def test_a_port_in_use(make_node, key):
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = holder.getsockname()[1]
        node = make_node({key: f"127.0.0.1:{port}"})
        said = said_by(node)
    assert key in said and str(port) in said and "ddress already in use" in said
    assert not list(node.directory.glob("data/appendonlydir")), "Redis was not started"


def test_an_unwritable_data_directory():
    """As an ordinary user, since nothing is unwritable for root."""
    with directory_for_all() as directory:
        home = directory / "home"
        home.mkdir(mode=0o755)
        program = copy_program(node_program(), directory)
        command = [program, "--set", f"node.data_dir={home}/data", "--set", "gmq.listen=",
                   "--set", "http.listen="]
        if os.getuid() == 0:
            command = as_nobody(command)
        else:
            home.chmod(0o555)
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S,
                              check=False)
        assert done.returncode > 0
        assert f"{home}/data" in done.stderr and "ermission denied" in done.stderr
        assert not list(home.iterdir())


needs_root = pytest.mark.skipif(os.getuid() != 0 and "CI" not in os.environ, reason="not root")


def plant(target, name):
    """Another user's link, as anybody could make it where everybody may write."""
    name.symlink_to(target)
    os.lchown(name, NOBODY, NOBODY)


@needs_root
@pytest.mark.parametrize("name", ["lock", "redis.conf", "appendonlydir"])
def test_root_writes_nothing_where_others_have_put_a_link(make_node, name):
    with directory_for_all() as directory:
        data, precious = directory / "data", directory / "precious"
        data.mkdir()
        data.chmod(0o777)
        precious.mkdir()
        target = precious if name == "appendonlydir" else precious / "file"
        plant(target, data / name)
        node = make_node({"node.data_dir": data})
        assert f"node.data_dir: {data} can be written to by others" in said_by(node)
        data.chmod(0o755)  # the link is there all the same
        assert f"node.data_dir: {data / name} is another user's" in said_by(node)
        assert not list(precious.iterdir())


@needs_root
@pytest.mark.parametrize("key", ["log.file", "log.audit"])
def test_root_logs_through_no_link_of_others(make_node, key):
    with directory_for_all() as directory:
        plant(directory / "precious", directory / "log")
        assert key in said_by(make_node({key: directory / "log"}))
        assert not (directory / "precious").exists()


@needs_root
def test_roots_node_says_so_and_its_children_have_little_of_root(make_node):
    node = make_node().start()
    assert "runs as root, which it need not" in node.output()

    def has(pid):
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
        return int(re.search(r"^CapPrm:\s+(\w+)$", status, re.M)[1], 16)

    of_files = 1 << 1 | 1 << 2  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
    assert has(node.worker_pid) == has(node.warden_pid) & of_files
    assert has(node.redis_pid) == 0
    with node.python_client() as client:
        assert client.push("topic", "1") == "success"


def test_a_strict_node_refuses_a_redis_that_loses_jobs(make_node, make_redis):
    redis = make_redis(appendonly="yes", appendfsync="everysec")
    said = said_by(make_node({"store.redis": redis.address, "store.strict": "true"}))
    assert "appendfsync" in said
    assert not redis.client().keys(), "nothing was written"
