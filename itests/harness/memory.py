"""How much memory a process has, for tests of limits."""

import os
from pathlib import Path

from harness.build import node_program

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def resident_bytes(pid):
    return int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]) * PAGE_BYTES


def is_sanitized():
    """A sanitizer keeps freed memory, so that sizes mean nothing."""
    return b"__asan_init" in node_program().read_bytes()
