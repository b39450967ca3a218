"""A port that one process was given is given to no other, as long as that one lives."""

import subprocess
import sys
from pathlib import Path

from harness import ports as subject

GIVE = "from harness.ports import free_port; print(free_port(), flush=True); input()"


def test_a_port_is_claimed_until_its_process_ends(monkeypatch):
    with subprocess.Popen([sys.executable, "-c", GIVE], cwd=Path(__file__).parents[2], text=True,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        theirs = int(other.stdout.readline())
        ours = subject.free_port()
        drawn, draw = [theirs, ours], subject._draw  # pylint: disable=protected-access
        monkeypatch.setattr(subject, "_draw", lambda top: drawn.pop(0) if drawn else draw(top))
        assert subject.free_port() not in (theirs, ours), "theirs is claimed, ours was given"
        assert not drawn
        other.communicate("\n")
        drawn.append(theirs)
        assert subject.free_port() == theirs
