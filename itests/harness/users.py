"""Programs run as an ordinary user, by tests that are root; and files for one user alone."""

import os
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

NOBODY = 65534
SECRET = "a secret that only tests know"


@contextmanager
def directory_for_all():
    """One that other users reach. Not one of pytest's: each run closes theirs to others, those of
    runs beside it included."""
    with tempfile.TemporaryDirectory(prefix="dueq-test-") as path:
        os.chmod(path, 0o755)
        yield Path(path)


def secret_file(path, text):
    """One that its owner alone may read."""
    path.write_text(f"{text}\n")
    path.chmod(0o600)
    return path


def as_nobody(argv):
    """The command, without root's rights."""
    return ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *argv]


def copy_program(program, directory, capabilities=""):
    """A copy in this directory, with these file capabilities."""
    copy = shutil.copy(program, directory)
    if capabilities:
        subprocess.run(["setcap", capabilities, copy], check=True)
    return copy
