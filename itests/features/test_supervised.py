"""What systemd, or who speaks its protocol (sd_notify), hears from a node."""

import os
import signal
import socket
from contextlib import contextmanager

from harness.process import descendants_of

WATCHDOG_US = "400000"


class Supervisor:
    def __init__(self, listening):
        self.listening, self.heard = listening, []

    def wait_for(self, *lines):
        """Until a message has all of these lines; all until then are forgotten."""
        self.listening.settimeout(60)
        while True:
            message = self.listening.recv(4096).decode()
            self.heard.append(message)
            if set(lines) <= set(message.splitlines()):
                return message


@contextmanager
def listening_at(address):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(address)
        yield Supervisor(listening)


def test_a_life(make_node, tmp_path):
    with listening_at(str(tmp_path / "notify")) as supervisor:
        node = make_node(env={"NOTIFY_SOCKET": str(tmp_path / "notify"),
                              "WATCHDOG_USEC": WATCHDOG_US}).launch()
        supervisor.wait_for("READY=1", "STATUS=serving")
        assert node.is_ready(), "ready means that jobs can come"
        node.process.signal(signal.SIGHUP)
        supervisor.wait_for("RELOADING=1")
        supervisor.wait_for("READY=1")
        for _ in range(2):
            supervisor.wait_for("WATCHDOG=1")
        node.stop()
        supervisor.wait_for("STOPPING=1", "STATUS=stopping")


def test_a_child_that_hangs_is_not_the_watchdogs_business(make_node, tmp_path):
    """The warden replaces it, and goes on telling that it does its work."""
    with listening_at(str(tmp_path / "notify")) as supervisor:
        node = make_node({"warden.hang_timeout": "500ms"},
                         env={"NOTIFY_SOCKET": str(tmp_path / "notify"),
                              "WATCHDOG_USEC": WATCHDOG_US}).launch()
        supervisor.wait_for("READY=1")
        worker = node.worker_pid
        os.kill(worker, signal.SIGSTOP)
        supervisor.wait_for("STATUS=the worker has ended: a new one is about to start")
        supervisor.wait_for("STATUS=serving")
        supervisor.wait_for("WATCHDOG=1")
        assert worker not in descendants_of(node.warden_pid)
