"""A Docker engine of a test's own, that leaves nothing behind.

    with Engine(directory) as engine:
        with engine.internet():                    # while images are built
            engine.docker("build", ...)
        with engine.entered():                     # this thread's new sockets are where
            socket.create_connection((address_of_a_container, 8000))  # its bridges are

An engine of the machine's own, if there is one, is not touched, nor are the machine's rules:
dockerd has a network namespace, so its bridges and iptables rules are there and go with it; a mount
namespace, so its mounts do; a namespace of processes, so whatever it started dies with the first
process in it; and a cgroup, which is removed by name. All of them carry the number of the run's
process: what a run that was killed has left, the next one removes.

Debian's programs: another `docker` in the PATH may want more than they have. DOCKER and
DOCKER_COMPOSE name others.
"""

import os
import re
import shutil
import signal
import subprocess
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from harness.memory import available_bytes
from harness.network import NAMESPACES, entered, for_each_stale, remove_namespace
from harness.process import Process, children_of, descendants_of, kill_now
from harness.wait import wait_until

DOCKER = os.environ.get("DOCKER", "/usr/bin/docker")
COMPOSE = os.environ.get("DOCKER_COMPOSE", "/usr/bin/docker-compose")
CGROUPS = Path("/sys/fs/cgroup")
START_S, STOP_S = 60, 60
WORD_S = 300  # a docker that takes longer hangs; long, for a busy machine
_OURS = re.compile(r"dq(\d+)-engine")
_NUMBERS = re.compile(r"^NSpid:\s+(.*)$", re.MULTILINE)  # here, in the engine, in a container

# Its files are in memory where there is room: on a machine whose disk is busy ZooKeeper's and Redis's
# syncs, of a dozen containers on one disk, take longer than a session lasts. 0.8 GB were seen.
FILES_BYTES = 4 << 30

# The first process of its namespace: it hands SIGTERM on, and buries what loses its parent.
INIT = """
mkdir -p "$1"
[ "$2" = 0 ] || mount -t tmpfs -o "mode=711,size=$2" engine "$1" || exit
data=$1
shift 2
dockerd --data-root "$data" "$@" & child=$!
trap 'kill -TERM "$child"' TERM
while kill -0 "$child" 2>/dev/null; do wait "$child"; done
"""


class NoEngine(Exception):
    """It cannot be started here; says why."""


class Engine:
    """`directory`: of its images, containers and volumes; not on an overlay, and removed at the
    end. One in a process."""

    def __init__(self, directory):
        self.directory = Path(directory)
        self.name = f"dq{os.getpid()}-engine"
        # A path of a socket is 107 bytes at most.
        self.run = Path("/run") / self.name
        self._process = None

    def __enter__(self):
        remove_stale()
        missing = missing_programs()
        if missing:
            raise NoEngine(f"no {' '.join(missing)}")
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *unused):
        """All of it, in this order, whichever of them fails."""
        with ExitStack() as last_first:
            last_first.callback(shutil.rmtree, self.directory, ignore_errors=True)
            last_first.callback(shutil.rmtree, self.run, ignore_errors=True)
            last_first.callback(remove_cgroups, self.name)
            last_first.callback(remove_namespace, self.name)
            last_first.callback(self._stop)

    # ---- life ----

    def _start(self):
        self.directory.mkdir(parents=True, exist_ok=True)
        self.run.mkdir()
        (self.run / "directory").write_text(str(self.directory), encoding="utf-8")
        _run("ip", "netns", "add", self.name)
        _run("ip", "-n", self.name, "link", "set", "lo", "up")
        # Not `ip netns exec`: its /sys has no cgroups.
        argv = ["nsenter", f"--net={NAMESPACES / self.name}",
                "unshare", "--mount", "--propagation", "private", "--pid", "--fork",
                "--kill-child", "--mount-proc", "sh", "-c", INIT, "dockerd",
                self.directory / "data", FILES_BYTES if available_bytes() >= 2 * FILES_BYTES else 0,
                "--exec-root", self.run / "exec",
                "--pidfile", self.run / "pid", "--host", self.host,
                "--cgroup-parent", f"/{self.name}"]
        self._process = Process(argv, self.directory / "dockerd.log")
        wait_until(self._answers_or_ended, "the Docker engine answers", START_S)
        if self._process.returncode is not None:
            raise NoEngine(f"dockerd ended: {self._last_words()}")

    def _answers_or_ended(self):
        return (self._process.returncode is not None
                or self.try_docker("info").returncode == 0)

    def _last_words(self):
        lines = [line for line in self._process.output().splitlines() if line.strip()]
        return lines[-1] if lines else "without a word"

    def _first(self):
        """The first process of its namespaces, unshare's child; None: there is none."""
        return next(iter(children_of(self._process.pid)), None)

    @property
    def data(self):
        """Its images, containers and volumes, as this machine sees them."""
        return Path(f"/proc/{self._first()}/root{self.directory}/data")

    def _stop(self):
        """In order, so that it unmounts; the hard way takes all of its namespace along."""
        if self._process is None:
            return
        first = self._first()
        if first is not None:
            with suppress(ProcessLookupError):
                os.kill(first, signal.SIGTERM)
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            kill_now([self._process.pid, *descendants_of(self._process.pid)])
        self._process = None

    # ---- use ----

    @property
    def host(self):
        return f"unix://{self.run}/docker.sock"

    @property
    def env(self):
        """Of a client. BuildKit is no part of Debian's engine."""
        return {**os.environ, "DOCKER_HOST": self.host, "DOCKER_BUILDKIT": "0",
                "COMPOSE_DOCKER_CLI_BUILD": "0"}

    def try_docker(self, *words, **options):
        """What became of it: a subprocess.CompletedProcess, its output as text."""
        return subprocess.run([DOCKER, *map(str, words)], env=self.env, check=False, text=True,
                              capture_output=True, **{"timeout": WORD_S, **options})

    def docker(self, *words, **options):
        """Its output; fails with what it says."""
        done = self.try_docker(*words, **options)
        assert done.returncode == 0, (f"docker {' '.join(map(str, words))}:\n"
                                      f"{done.stdout[-4000:]}{done.stderr[-4000:]}")
        return done.stdout.strip()

    def read(self, *words):
        """The bytes that it writes."""
        return subprocess.run([DOCKER, *map(str, words)], env=self.env, check=True,
                              stdout=subprocess.PIPE, timeout=WORD_S).stdout

    def version(self):
        return self.docker("version", "--format", "{{.Server.Version}}")

    def pid_of(self, own):
        """The process that the engine calls by that number, as this machine does."""
        for pid in descendants_of(self._process.pid):
            with suppress(OSError):
                numbers = _NUMBERS.search(Path(f"/proc/{pid}/status").read_text(encoding="utf-8"))
                if numbers.group(1).split()[1] == str(own):
                    return pid
        raise AssertionError(f"the engine has no process {own}")

    @contextmanager
    def entered(self):
        """This thread's sockets that are made in the block are where the bridges are."""
        with entered(self.name):
            yield self

    @contextmanager
    def internet(self):
        """A way out, for the package archive; without privileges, so nothing of the machine's
        network changes. What listens on the machine's loopback is not reached."""
        way = Process(["slirp4netns", "--configure", "--disable-host-loopback", "--mtu=1400",
                       "--netns-type=path", NAMESPACES / self.name, "tap0"],
                      self.directory / "slirp4netns.log")
        try:
            wait_until(lambda: way.returncode is not None or self._has_way_out(),
                       "slirp4netns is ready")
            assert way.returncode is None, way.output()
            yield
        finally:
            way.terminate()

    def _has_way_out(self):
        return "default" in _run("ip", "-n", self.name, "route")

    # ---- looking ----

    def leftovers(self):
        """What is still here of it, in words; after its end that is a mistake."""
        mounts = [line.split()[4] for line in
                  Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()]
        found = [f"mount {path}" for path in mounts
                 if path.startswith((f"{self.run}/", f"{self.directory}/"))]
        found += [f"cgroup {path}" for path in cgroups_of(self.name)]
        found += [f"file {path}" for path in (self.run, self.directory, NAMESPACES / self.name)
                  if path.exists()]
        return found + [f"process {pid} {words}" for pid, words in _processes()
                        if str(self.run) in words]


def missing_programs():
    """Those that an engine takes and that are not here."""
    return [name for name in (DOCKER, COMPOSE, "dockerd", "containerd", "slirp4netns", "mmdebstrap",
                              "iptables", "nsenter", "unshare") if shutil.which(name) is None]


def machine_rules(mark, namespace=None):
    """Rules, addresses and routes of this machine's own network, or of a namespace: the lines that
    `mark`, a regular expression, is in. What others change meanwhile, another engine whose
    containers come and go, is none of ours."""
    inside = ("ip", "netns", "exec", namespace) if namespace else ()
    texts = [_try(*inside, *words) for words in (
        ("iptables-save",), ("ip6tables-save",), ("nft", "-s", "list", "ruleset"),
        ("ip", "-o", "address"), ("ip", "route"))]
    return [line for text in texts for line in text.splitlines() if re.search(mark, line)]


def remove_stale():
    """What runs that have died have left."""
    for_each_stale(_OURS, _remove)


def _remove(name):
    run = Path("/run") / name
    remove_namespace(name)
    remove_cgroups(name)
    if (run / "directory").exists():
        shutil.rmtree((run / "directory").read_text(encoding="utf-8"), ignore_errors=True)
    shutil.rmtree(run, ignore_errors=True)


def cgroups_of(name):
    """Deepest first."""
    roots = {*CGROUPS.glob(name), *CGROUPS.glob(f"*/{name}")}
    found = [Path(path) for root in roots for path, _, _ in os.walk(root)]
    return sorted(found, key=lambda path: len(path.parts), reverse=True)


def remove_cgroups(name):
    def is_removed():
        for path in cgroups_of(name):
            try:
                path.rmdir()
            except OSError:  # a process in it is still ending
                return False
        return True

    wait_until(is_removed, f"the cgroups of {name} are empty")


def _processes():
    """(id, command line) of all."""
    for path in Path("/proc").glob("[0-9]*"):
        try:
            words = (path / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        yield int(path.name), words


def _try(*words):
    """Its output; "" when it cannot be run."""
    try:
        return subprocess.run(words, check=False, capture_output=True, text=True).stdout
    except FileNotFoundError:
        return ""


def _run(*words):
    done = subprocess.run([str(word) for word in words], check=False, capture_output=True,
                          text=True)
    if done.returncode != 0:
        raise NoEngine(f"{' '.join(map(str, words))}: {done.stderr.strip()}")
    return done.stdout
