"""The program itself: its options, its configuration's errors, its log."""

import re
import shutil
import signal
import subprocess

import pytest

from harness.build import ROOT, node_program
from harness.wait import PATIENCE_S, wait_until

WRONG_COMMAND_LINE = 64
BAD_CONFIGURATION = 78


def run(*words, **options):
    return subprocess.run([node_program(), *words], capture_output=True, text=True, check=False,
                          stdin=subprocess.DEVNULL, timeout=PATIENCE_S, **options)


def test_version_is_one_line_with_a_number_and_the_commit():
    """The commit, where the sources say it."""
    done = run("--version")
    assert done.returncode == 0
    number, commit = re.fullmatch(r"dueq-node (\d+\.\d+\.\d+)(?:\+(\w+))?\n", done.stdout).groups()
    assert f"project(dueq VERSION {number} " in (ROOT / "CMakeLists.txt").read_text()
    assert commit or not (ROOT / ".git").exists()


def command(*words, **more):
    return subprocess.run([str(word) for word in words], check=True, capture_output=True, **more)


def commit_of(directory, *more):
    """What a build of the sources there has as its commit."""
    header = directory / "build_commit.h"
    command("cmake", f"-DOUT={header}", f"-DDIR={directory}", *more,
            "-P", directory / "cmake/build_commit.cmake")
    return re.fullmatch(r'#define BUILD_COMMIT "(\w*)"\n', header.read_text())[1]


def test_the_commit_is_known_in_a_work_tree_an_archive_and_an_image(tmp_path):
    if "$Format" not in (ROOT / "cmake/build_commit.cmake").read_text():
        pytest.skip("these sources are from an archive themselves")
    ours, archive, copy = (tmp_path / name for name in ("ours", "archive", "copy"))
    for path in (ours / "cmake", archive, copy / "cmake"):
        path.mkdir(parents=True)
    for path in (".gitattributes", "cmake/build_commit.cmake"):
        shutil.copy(ROOT / path, ours / path)
    shutil.copy(ROOT / "cmake/build_commit.cmake", copy / "cmake")
    git = ("git", "-C", ours, "-c", "user.name=a", "-c", "user.email=a@example.com")
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "a"]):
        command(*git, *words)
    head = command(*git, "rev-parse", "HEAD").stdout.decode()[:12]
    command("tar", "-x", "-C", archive, input=command(*git, "archive", "HEAD").stdout)
    assert commit_of(ours) == commit_of(archive) == head
    assert commit_of(copy) == "", "nothing says it"
    assert commit_of(copy, "-DCOMMIT=0123456789abcdef") == "0123456789ab"


def test_all_errors_come_at_once_with_their_places(tmp_path):
    path = tmp_path / "wrong.yaml"
    path.write_text("store:\n  redis: embedded\n  buckts: 64\n  buckets: many\n"
                    "limits:\n  body_bytes: 1000GiB\ngmq:\n  pop_wait: 5\n")
    done = run("--check-config", "--config", path)
    assert done.returncode == BAD_CONFIGURATION
    for place in (":3:", ":4:", ":6:", ":8:"):
        assert f"{path}{place}" in done.stderr, done.stderr
    assert "buckets" in done.stderr.splitlines()[0], "the nearest known key is suggested"


@pytest.mark.parametrize("words, code, said", [
    (["--set", "log.level"], WRONG_COMMAND_LINE, "KEY=VALUE"),
    (["--set", "=debug"], WRONG_COMMAND_LINE, "KEY=VALUE"),
    (["--set", ""], WRONG_COMMAND_LINE, "KEY=VALUE"),
    (["--set", "no.such=1"], BAD_CONFIGURATION, "--set no.such"),
    (["--no-such-option"], WRONG_COMMAND_LINE, "no-such-option")])
def test_a_command_line_that_is_wrong_is_told_from_its_settings(words, code, said):
    done = run("--check-config", *words)
    assert done.returncode == code and said in done.stderr


def test_settings_come_from_file_environment_and_command_line(make_node, tmp_path):
    path = tmp_path / "node.yaml"
    path.write_text("gmq:\n  strict: ${STRICT:-false}\n  pop_wait: 9s\n")
    node = make_node({"gmq.pop_wait": "50ms"}, env={"STRICT": "true"})
    node.argv = lambda argv=node.argv: [*argv(), "--config", path]
    with node.start().python_client() as client:
        assert client.pop_or_none("nothing") is None, "--set wins over the file"
        client.push("topic", "id-1")
        assert client.pop("topic")["status"] == "3", "the file's value comes from outside"


def test_no_configuration_at_all_is_a_valid_one(tmp_path):
    done = run("--check-config", cwd=tmp_path)
    assert done.returncode == 0 and not list(tmp_path.iterdir())


def test_sighup_opens_the_log_anew(make_node):
    node = make_node()
    log = node.directory / "own.log"
    node.settings["log.file"] = log
    node.start()
    rotated = log.rename(log.with_suffix(".1"))
    size = rotated.stat().st_size
    node.process.signal(signal.SIGHUP)
    wait_until(log.exists, "a new log file is there")
    wait_until(lambda: log.stat().st_size > 0, "warden or worker have written to it")
    node.kill("worker")
    wait_until(lambda: "worker" in log.read_text(), "later lines go to the new file")
    assert rotated.stat().st_size <= size + 1000
    wait_until(node.is_ready, "a new worker works")
