"""Two builds of the node that differ, for a rolling upgrade: which is the older one, how it is
made, and which are running.

    find(None)        the newest tag; without tags the last commit of the day before HEAD's
    find("v1.2")      a commit; find("path/to/dueq-node") a program that is there already
    make(found, ...)  the program: a commit is built in a git worktree, once, build/old keeps it
    altered_node()    without an older one: the build under test, with another version and a
                      comment changed in each of its scripts, so that Redis has both of each
"""

import hashlib
import os
import re
import subprocess
from functools import lru_cache
from pathlib import Path

from harness.build import ROOT, build_dir, node_program

OLD = ROOT / "build/old"
COMMENT, ALTERED = b"-- The head of every script", b"-- THE HEAD OF EVERY SCRIPT"
SCRIPT_BYTES = 1000  # no script is shorter; other texts that name redis.call are
_LABEL = re.compile(r'(\w+)="([^"]*)"')


class NoSuchBuild(Exception):
    """In words for whoever named it."""


# ---- an older build ----

def find(word):
    """A program's path, or a commit; neither where nothing was named and nothing is older."""
    if word is None:
        return _newest_tag() or _day_before()
    path = Path(word)
    if path.is_file():
        if not os.access(path, os.X_OK):
            raise NoSuchBuild(f"{word} is no program")
        return path.resolve()
    commit = git("rev-parse", "--verify", "--quiet", f"{word}^{{commit}}")
    if not commit:
        raise NoSuchBuild(f"{word} is neither a commit nor a program")
    return commit


def make(found, report):
    """The path of its program. `found`: what find() said."""
    if not found:
        report("no commit is older than a day, and there is no tag: row 20 takes an altered copy "
               "of this build; --old names another")
        return altered_node()
    return found if isinstance(found, Path) else _build(found, report)


def _newest_tag():
    tag = git("describe", "--tags", "--abbrev=0", "HEAD^")
    return tag and git("rev-parse", f"{tag}^{{commit}}")


def _day_before():
    day = git("log", "-1", "--format=%cd", "--date=format-local:%Y-%m-%d")
    return day and git("log", "-1", "--format=%H", f"--before={day} 00:00:00")


def git(*words):
    """What it says; "" when it cannot."""
    try:
        return subprocess.run(["git", "-C", ROOT, *words], check=False, capture_output=True,
                              text=True).stdout.strip()
    except FileNotFoundError:
        return ""


def _build(commit, report):
    program, tree = OLD / f"dueq-node-{commit[:12]}", OLD / f"tree-{commit[:12]}"
    if program.exists():
        return program
    report(f"building the node of {commit[:12]}, output in {OLD / 'log'}")
    OLD.mkdir(parents=True, exist_ok=True)
    with open(OLD / "log", "w", encoding="utf-8") as log:
        try:
            git("worktree", "remove", "--force", tree)  # of a run that was killed
            for argv in (["git", "-C", ROOT, "worktree", "add", "--detach", "--force", tree,
                          commit],
                         ["cmake", "-S", tree, "-B", tree / "build", "-G", "Ninja",
                          "-DCMAKE_BUILD_TYPE=Release"],
                         ["cmake", "--build", tree / "build", "--target", "dueq-node"]):
                done = subprocess.run(argv, check=False, stdout=log, stderr=log)
                if done.returncode != 0:
                    raise NoSuchBuild(f"the node of {commit[:12]} cannot be built; see {log.name}")
            (tree / "build/bin/dueq-node").rename(program)
        finally:
            git("worktree", "remove", "--force", tree)
    return program


# ---- another one, cheaply ----

@lru_cache(maxsize=None)
def altered_node():
    """Its commit begins with x."""
    program = build_dir() / "drills/altered-node"
    program.parent.mkdir(exist_ok=True)
    made = program.with_name(f"altered-node-{os.getpid()}")
    alter(node_program(), made)
    made.rename(program)  # another run may be using the one of before
    return program


def alter(program, made):
    """
    Writes it to `made`, with another comment in each script, and a commit that begins with x; a
    version, where the commit is not known. The linker lets a shorter text be the end of a longer
    one: the commit is the end of `--version`, and the commit's end may be the end of others.
    """
    version, text = _version_of(program), Path(program).read_bytes()
    told = version.partition(b"+")[2] or version
    assert COMMENT in text and told in text
    made.write_bytes(text.replace(COMMENT, ALTERED).replace(told, b"x" + told[1:]))
    made.chmod(0o755)


def _version_of(program):
    said = subprocess.run([program, "--version"], check=True, capture_output=True).stdout
    return said.split()[1]


# ---- which they are ----

def scripts_of(program):
    """The hashes by which Redis knows its scripts."""
    texts = Path(program).read_bytes().split(b"\0")
    return {hashlib.sha1(text).hexdigest() for text in texts
            if len(text) >= SCRIPT_BYTES and b"redis.call" in text}


def build_of(node):
    """What a node that runs says of its build: version, and commit where it knows it."""
    name = next(name for name in node.metrics() if name.startswith("dueq_build_info{"))
    labels = dict(_LABEL.findall(name))
    return " of ".join(filter(None, (labels["version"], labels["commit"])))
