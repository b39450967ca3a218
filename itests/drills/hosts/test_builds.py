"""Builds for a rolling upgrade: which one a word means, and that the altered one does differ."""

import os
import subprocess

import pytest

from drills.hosts import builds
from harness.build import node_program


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """git(...) in a repository of its own, which is the one that is asked."""
    monkeypatch.setattr(builds, "ROOT", tmp_path)

    def git(*words, day="2026-01-02", hour=12):
        date = f"{day}T{hour:02}:00:00"
        identity = ("-c", "user.name=x", "-c", "user.email=x@example.org")
        return subprocess.run(["git", *identity, *words], cwd=tmp_path, check=True,
                              capture_output=True, text=True,
                              env={**os.environ, "GIT_AUTHOR_DATE": date,
                                   "GIT_COMMITTER_DATE": date}).stdout.strip()

    git("init", "-q")
    return git


def commit(git, **when):
    git("commit", "-q", "--allow-empty", "-m", "x", **when)
    return git("rev-parse", "HEAD")


def test_the_older_one_is_the_last_commit_of_the_day_before(repository):
    assert builds.find(None) == "", "there is no commit at all"
    commit(repository, day="2026-01-02", hour=10)
    assert builds.find(None) == "", "nor one of an earlier day"
    older = commit(repository, day="2026-01-02", hour=23)
    commit(repository, day="2026-01-03", hour=1)
    commit(repository, day="2026-01-03", hour=12)
    assert builds.find(None) == older


def test_the_older_one_is_the_newest_tag_before_this_commit(repository):
    tagged = commit(repository)
    repository("tag", "v1")
    commit(repository, day="2026-01-03")
    commit(repository, day="2026-01-04")
    repository("tag", "v2")
    assert builds.find(None) == tagged


def test_a_word_is_a_commit_or_a_program(repository, tmp_path):
    first = commit(repository)
    assert builds.find("HEAD") == first
    program = tmp_path / "dueq-node"
    program.touch(0o755)
    assert builds.find(str(program)) == program
    program.chmod(0o644)
    for word in (str(program), "v9", str(tmp_path)):
        with pytest.raises(builds.NoSuchBuild):
            builds.find(word)


def test_without_an_older_one_it_is_an_altered_copy():
    said = []
    altered = builds.make(None, said.append)
    assert "--old" in said[0]
    assert altered == builds.altered_node()
    mine, other = builds.scripts_of(node_program()), builds.scripts_of(altered)
    assert len(mine) == len(other) > 20 and not mine & other
    versions, confs = ([subprocess.run([program, word], check=True, capture_output=True).stdout
                        for program in (node_program(), altered)]
                       for word in ("--version", "--print-config"))
    version, _, commit = versions[0].split()[1].partition(b"+")
    told = commit or version  # what a node's metrics tell builds of one version apart by
    assert versions[1] == versions[0].replace(told, b"x" + told[1:])
    assert not commit or commit not in altered.read_bytes()
    assert confs[0] == confs[1]
