"""Which binaries are tested: DUEQ_BUILD, else the newest build that has a node."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def build_dir():
    """The build directory; raises with advice when nothing has been built."""
    chosen = os.environ.get("DUEQ_BUILD")
    if chosen:
        return _with_node(ROOT / chosen)
    built = [ROOT / "build" / preset for preset in ("asan", "release")]
    built = [directory for directory in built if _node_in(directory).exists()]
    if not built:
        raise RuntimeError("no node has been built: run ./dev build, or set DUEQ_BUILD")
    return max(built, key=lambda directory: _node_in(directory).stat().st_mtime)


def node_program(build=None):
    """Of that build, or of the one that is tested."""
    return _node_in(build or build_dir())


def slowsync_library():
    return build_dir() / "lib" / "libslowsync.so"


def wallclock_library():
    return build_dir() / "lib" / "libwallclock.so"


def slowlink_program():
    return build_dir() / "bin" / "slowlink"


def _node_in(directory):
    return directory / "bin" / "dueq-node"


def _with_node(directory):
    if not _node_in(directory).exists():
        raise RuntimeError(f"DUEQ_BUILD: there is no {_node_in(directory)}")
    return directory
