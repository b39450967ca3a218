"""How much memory a process has, and how much processor time, for tests of limits."""

import os
import re
from pathlib import Path

from harness.build import node_program

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def resident_bytes(pid):
    return int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]) * PAGE_BYTES


def cpu_s(pid):
    """The processor time that it has had: no matter how busy the machine is."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def available_bytes():
    """Of this machine, for new processes."""
    text = Path("/proc/meminfo").read_text(encoding="ascii")
    return int(re.search(r"^MemAvailable: +(\d+) kB$", text, re.MULTILINE)[1]) * 1024


def is_sanitized():
    """A sanitizer keeps freed memory, so that sizes mean nothing."""
    return b"__asan_init" in node_program().read_bytes()
