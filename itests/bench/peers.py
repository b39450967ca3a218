"""Programs that others wrote, on the same work: Debian's beanstalkd."""

import itertools
import shutil
import socket
from pathlib import Path

from harness.ports import free_port
from harness.process import Process, kill_now
from harness.wait import wait_until

BODY_BYTES_MAX = 1 << 20  # as dueq's limits.body_bytes
_numbers = itertools.count(1)


class Beanstalkd:
    """`with Beanstalkd(directory, is_synced=True) as peer:` a running one, empty, on
    peer.port. Synced: its log is on the disk before it answers (-f 0); else it has none."""

    def __init__(self, directory, is_synced):
        self._directory = Path(directory) / f"beanstalkd{next(_numbers)}"
        self._is_synced = is_synced
        self.port = free_port()

    def __enter__(self):
        log = self._directory / "log"
        log.mkdir(parents=True)
        words = ["beanstalkd", "-l", "127.0.0.1", "-p", self.port, "-z", BODY_BYTES_MAX]
        if self._is_synced:
            words += ["-b", log, "-f", 0]
        self._process = Process(words, self._directory / "output")
        try:
            wait_until(self._accepts_or_died, "beanstalkd accepts")
            assert self._process.returncode is None, self._process.output()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *unused):
        if self._process.returncode is None:
            kill_now([self._process.pid])
        self._process.wait()
        shutil.rmtree(self._directory)

    def _accepts_or_died(self):
        with socket.socket() as probe:
            return (self._process.returncode is not None
                    or probe.connect_ex(("127.0.0.1", self.port)) == 0)
