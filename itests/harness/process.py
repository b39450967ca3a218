"""Processes: started with their output in a file, found through /proc, never left over.

The test process makes itself the reaper of its descendants, so that a process whose parent was
killed becomes a child of ours and is seen, instead of living on unnoticed under init.
"""

import ctypes
import os
import resource
import signal
import subprocess
from contextlib import contextmanager
from pathlib import Path

from harness.wait import PATIENCE_S, wait_until

PR_SET_CHILD_SUBREAPER = 36


def become_reaper():
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def children_of(pid):
    """The ids of the living children of a process; empty when it has gone."""
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    except OSError:
        return []
    return [child for child in map(int, text.split()) if is_alive(child)]


def descendants_of(pid):
    found = []
    for child in children_of(pid):
        found += [child, *descendants_of(child)]
    return found


def is_alive(pid, dead="ZX"):
    """Does it run? A zombie does not. `dead`: the states, as proc(5) has them, of what does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in dead


PF_EXITING, SIGKILL_PENDING = 0x4, 1 << (signal.SIGKILL - 1)


def is_dying(pid):
    """Has it been killed, and only not come to its end? A process that was stopped runs for that."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return True
    pending = [int(line.split()[1], 16) for line in status.splitlines()
               if line.startswith(("SigPnd:", "ShdPnd:"))]
    return bool(int(stat.rpartition(")")[2].split()[6]) & PF_EXITING
                or any(each & SIGKILL_PENDING for each in pending))


def name_of(pid):
    try:
        return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def kill_now(pids):
    """kill -9, and waits until they have gone; ids that are gone already are fine."""
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    for pid in pids:
        wait_until(lambda pid=pid: not is_alive(pid), f"process {pid} dies of SIGKILL")
    reap_orphans()


@contextmanager
def frozen(pid):
    """SIGSTOP, and SIGCONT when the block ends."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def allow_many_files():
    """As many descriptors as we may have, for us and those we start; how many."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard if hard != resource.RLIM_INFINITY else 1 << 20


def reap_orphans():
    """Buries adopted children; those that subprocess started are left to subprocess."""
    own = {process.pid for process in Process.started if process.returncode is None}
    for pid in _zombies():
        if pid not in own:
            try:
                os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                pass


def _zombies():
    text = Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="ascii")
    return [pid for pid in map(int, text.split()) if not is_alive(pid)]


class Process:
    """A program with its output in `log`."""

    started = []
    detached = False  # from the terminal, and its Ctrl-C

    def __init__(self, argv, log, env=None):
        self.argv = [str(word) for word in argv]
        self.log = Path(log)
        with open(self.log, "ab") as output:
            self._popen = subprocess.Popen(
                self.argv, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                env={**os.environ, **(env or {})}, start_new_session=Process.detached)
        self.pid = self._popen.pid
        Process.started.append(self)

    @property
    def returncode(self):
        """None while it runs; minus the signal's number when one killed it."""
        return self._popen.poll()

    def signal(self, number):
        self._popen.send_signal(number)

    def wait(self, timeout_s=PATIENCE_S):
        return self._popen.wait(timeout_s)

    def terminate(self):
        """SIGTERM; the exit code. Killed and reported when it does not obey."""
        self.signal(signal.SIGTERM)
        try:
            return self.wait()
        except subprocess.TimeoutExpired:
            kill_now([self.pid, *descendants_of(self.pid)])
            raise AssertionError(f"{self.argv[0]} ignored SIGTERM for {PATIENCE_S} s") from None

    def output(self):
        return self.log.read_text(encoding="utf-8", errors="replace")


class Restartable:
    """A process that is started, frozen, ended and started again; `process` is None, or of class
    Process."""

    process = None

    @property
    def is_running(self):
        return self.process is not None and self.process.returncode is None

    def kill(self):
        """kill -9, whatever state it is in."""
        if self.process is not None:
            kill_now([self.process.pid])
            self.process.wait()
            self.process = None

    def stop(self):
        """SIGTERM."""
        if self.process is not None:
            self.process.terminate()
            self.process = None

    def freeze(self):
        os.kill(self.process.pid, signal.SIGSTOP)

    def thaw(self):
        os.kill(self.process.pid, signal.SIGCONT)
