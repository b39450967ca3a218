"""Programs run as an ordinary user, by tests that are root."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

NOBODY = 65534


def reachable_by_all(path):
    """Lets other users pass through pytest's private directories; returns the path."""
    for each in (path, *path.parents):
        if each.stat().st_uid != os.getuid() or each == Path(tempfile.gettempdir()):
            break
        each.chmod(0o755)
    return path


def as_nobody(argv, *options):
    """The command, without root's rights; more options are setpriv's."""
    return ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *options, *argv]


def copy_program(program, directory, capabilities=""):
    """A copy in a directory that all can reach, with these file capabilities."""
    copy = shutil.copy(program, reachable_by_all(directory))
    if capabilities:
        subprocess.run(["setcap", capabilities, copy], check=True)
    return copy
