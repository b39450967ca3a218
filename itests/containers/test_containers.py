"""docker-compose.yml in an engine of the test's own: it is built, brought up, goes through the
faults that containers meet with clients at the virtual address and at the published port, judged as
the drills are, and is taken down. Nothing of it is left, nor is anything of this machine changed.
The stage that builds the programs once more is left to ./dev test --all and ./dev drill docker.

Where no engine can be started, namespaces have to do (itests/drills): the last lines of ./dev test
say which ran.
"""

import os
import re
import subprocess
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest
import redis
import yaml

from containers import drill
from containers.cluster import NETWORKS
from containers.images import (BUILD_STAGE, DOCKERFILE, NEXT, PROGRAMS, make_images, make_next_image,
                               project_version, revision)
from containers.node import ContainerNode
from containers.row import Containers
from drills.ci import IS_LONG, SEED
from drills.clients.view import Sight
from drills.rounds import run_row
from harness.build import ROOT, build_dir, node_program
from harness.engine import COMPOSE, Engine, NoEngine, machine_rules, missing_programs
from harness.memory import is_sanitized
from harness.ports import free_port
from harness.process import Process
from harness.wait import PATIENCE_S, wait_until
from judge.journal import AWAY, LEADER, LEAVING, Role, Vip

FILES = ("docker-compose.yml", "docker/small.yml")
OURS = "|".join(map(re.escape, NETWORKS.values()))  # rules and addresses, by their numbers
NEEDS_ENV = ("DUEQ_SECRET", "DUEQ_REDIS_PASSWORD", "DUEQ_ZOOKEEPER_AUTH")


@pytest.fixture(name="engine")
def own_engine(tmp_path):
    """An engine, that has to be gone without a trace afterwards."""
    if is_sanitized():
        pytest.skip("the images have a build of their own: once, beside the release tests")
    rules = machine_rules(OURS)
    engine = Engine(tmp_path / "engine")
    try:
        engine.__enter__()
    except NoEngine as error:
        _tell(f"no engine ({error}); namespaces only")
        pytest.skip(str(error))
    try:
        assert engine.leftovers(), "what would be left is not seen"
        yield engine
    finally:
        engine.__exit__()
    assert not engine.leftovers()
    assert machine_rules(OURS) == rules, "the machine's own rules or links are others than before"


def _tell(what):
    """For the summary of ./dev test."""
    path = os.environ.get("DUEQ_CONTAINERS_TOLD")
    if path:
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"{what}\n")


def test_faults_of_containers(engine, tmp_path):
    base_s, images_s = make_images(engine, tmp_path, None if IS_LONG else build_dir() / "bin")
    make_next_image(engine, tmp_path)
    print(f"base image in {base_s:.0f} s, the others in {images_s:.0f} s")
    _check_image(engine)
    _check_rules_are_seen(engine)
    row = Containers(engine)
    variants = row.variants if IS_LONG else row.short_variants
    print(f"DUEQ_SEED={SEED}")
    result = run_row(row, tmp_path / "drill", SEED, rounds=1, variants=variants, report=print)
    assert not result.failures, "\n".join(result.failures)
    assert len(result.rounds) == len(variants)
    assert not engine.docker("volume", "ls", "-q"), "docker-compose down has left volumes"
    _check_no_network(engine)
    _tell(f"Docker {engine.version()}")


def _check_image(engine):
    """What the image says of itself, and that it is a whole node alone, for who is not root."""
    labels = engine.docker("inspect", "--format", "{{json .Config.Labels}}", "dueq")
    assert f'"org.opencontainers.image.version":"{project_version()}"' in labels
    assert engine.docker("run", "--rm", "dueq", "--version") == _version()
    alone = engine.docker("run", "-d", "--cap-drop", "ALL", "--read-only", "dueq")
    engine.docker("exec", alone, "sh", "-c", "until dueqctl push t hello; do sleep 0.1; done",
                  timeout=60)
    assert "hello" in engine.docker("exec", alone, "dueqctl", "pop", "t", "--wait", "10s")
    assert engine.docker("exec", alone, "id", "-u") == "9503"
    engine.docker("stop", alone)
    assert engine.docker("inspect", "--format", "{{.State.ExitCode}}", alone) == "0"
    engine.docker("rm", "-v", alone)
    assert engine.docker("run", "--rm", "--entrypoint", "id", "dueq-redis", "-u") == "679"


def _version():
    """What the node in the image says. (A commit may have come since ours was built.)"""
    if IS_LONG:
        commit = revision()
        return f"dueq-node {project_version()}" + (commit and f"+{commit}")
    return subprocess.run([node_program(), "--version"], check=True, capture_output=True,
                          text=True).stdout.strip()


def _check_rules_are_seen(engine):
    """Those of a network, where the engine's bridges are, and they go with it."""
    subnet = next(iter(NETWORKS.values())) + ".0/24"
    engine.docker("network", "create", "--subnet", subnet, "probe")
    assert len(machine_rules(OURS, engine.name)) > 2
    engine.docker("network", "rm", "probe")
    _check_no_network(engine)


def _check_no_network(engine):
    left = set(engine.docker("network", "ls", "--format", "{{.Name}}").split())
    assert left == {"bridge", "host", "none"}, "docker-compose down has left networks"
    assert not machine_rules(OURS, engine.name)


# ---- the judge ----

@pytest.mark.parametrize("fault, first_ms, complaints", [
    ("kill", 100, 0), ("kill", 101, 1), ("pause", 2750, 0), ("pause", 2751, 1), ("stop", 9999, 0)])
def test_a_slow_round_complains(fault, first_ms, complaints):
    found = Containers(None).check_times(SimpleNamespace(variant=fault, sight=Sight(first_ms)))
    assert len(list(found)) == complaints


def test_the_drill_judges_times(monkeypatch, tmp_path):
    given = {}
    monkeypatch.setattr(drill, "make_images", lambda *_: (0, 0))
    monkeypatch.setattr(drill, "make_next_image", lambda *_: None)
    monkeypatch.setattr(drill, "run_row", lambda *_, **words: given.update(words))
    drill.run(SimpleNamespace(version=lambda: "0"), tmp_path,
              SimpleNamespace(seed=1, rounds=1, faults=[]))
    assert given["limits"]


def lost(*failed_ms):
    """Connections that were begun then."""
    return Sight(failed=Counter(lost=len(failed_ms)), failed_ms=list(failed_ms))


def lease_over(node):
    return [Role(node, "offline", 2000, reason="lease_over"), Role(node, "leader", 3000, "e:1")]


def upgraded(monkeypatch, sight, events):
    """The row, and its round of an upgrade whose standbys' part went like that."""
    for check in ("_misplaced", "_published"):
        monkeypatch.setattr(Containers, check, lambda *_: ())
    monkeypatch.setattr("containers.row.strangers", lambda _: ())
    monkeypatch.setattr(Containers, "_count_from_the_order", lambda *_: None)
    versions = iter(["one", "two"])
    node = SimpleNamespace(name="node1", version=lambda: next(versions), recreate=lambda tag: None)
    done = SimpleNamespace(variant="upgrade", since_ms=1, leader=node, sight=None,
                           begin_again=lambda: setattr(done, "sight", None),
                           look=lambda from_ms: setattr(done, "sight", sight),
                           is_new=lambda token: token != "e:1",
                           cluster=SimpleNamespace(standbys=lambda: [], events=lambda: events,
                                                   stalls=lambda: [],
                                                   leader=lambda: node,
                                                   wait_steady=lambda: None))
    row = Containers(None)
    row.fault(done)
    done.sight = Sight()  # of the leader's part
    return row, done


@pytest.mark.parametrize("sight, events, complaints, slow", [
    (lost(), [], 0, 0), (lost(2100), [], 1, 0),
    (lost(1500, 2100, 3500), lease_over("node1"), 0, 0),
    (lost(2100, 3501), lease_over("node1"), 0, 1), (lost(1499), lease_over("node1"), 0, 1),
    (lost(-1001), lease_over("node1"), 1, 0),
    (lost(2100), lease_over("node2"), 1, 0),
    (lost(2100, 3500), [*lease_over("node1")[:1], Role("node2", "leader", 3000)], 0, 0),
    (lost(3501), [*lease_over("node1")[:1], Role("node2", "leader", 3000)], 0, 1)])
def test_standbys_are_upgraded_unnoticed(monkeypatch, sight, events, complaints, slow):
    """Their part of an upgrade is judged, too, though the times are those of the leader's."""
    row, done = upgraded(monkeypatch, sight, events)
    assert len(list(row.check(done, None))) == complaints
    assert len(list(row.check_times(done))) == slow
    assert row.in_order.late == (1 if sight.failures and not complaints else 0), "it is counted"


N2, N3 = Role("node2", "leader", 3000, "e:2"), Role("node3", "leader", 5000, "e:3")


@pytest.mark.parametrize("events, changes", [
    ([], 1), (lease_over("node1"), 1), ([lease_over("node1")[0], N2], 2),
    ([lease_over("node1")[0], N2, Role("node2", "offline", 4900, reason="lease_over"), N3], 3),
    ([lease_over("node1")[0], N2, Role("node2", "offline", 4900, reason="deposed"), N3], 2)])
def test_the_machine_may_change_the_leader_while_standbys_are_upgraded(monkeypatch, events, changes):
    """As often as leaders say that their lease ran out."""
    row, _ = upgraded(monkeypatch, lost(), events)
    assert row.changes == changes


class FakeCluster:
    """Steady at once; the lead can be anywhere at any time."""

    def __init__(self):
        self.nodes = [FakeNode(self, name) for name in ("node1", "node2", "node3")]
        self.leads = self.nodes[0]
        self.lead_moves_with = None  # whose upgrade costs the leader its lease

    def leader(self):
        return self.leads

    def standbys(self):
        return [node for node in self.nodes if node is not self.leads]

    def wait_steady(self):
        pass

    def events(self):
        return ()

    def stalls(self):
        return ()


class FakeNode:
    def __init__(self, cluster, name):
        self.cluster, self.name, self.tag = cluster, name, "latest"

    def version(self):
        return self.tag

    def recreate(self, tag):
        self.tag = tag
        if self.cluster.leads is self:
            self.cluster.leads = self.cluster.standbys()[0]
        elif self.cluster.lead_moves_with is self:
            self.cluster.leads = self


@pytest.mark.parametrize("moves_with", [None, 1, 2])
def test_an_upgrade_ends_with_whoever_leads_then(monkeypatch, moves_with):
    """On a busy machine the lead may move while standbys are upgraded."""
    monkeypatch.setattr(Containers, "_count_from_the_order", lambda *_: None)
    cluster = FakeCluster()
    cluster.lead_moves_with = moves_with and cluster.nodes[moves_with]
    led = []
    done = SimpleNamespace(variant="upgrade", since_ms=1, leader=cluster.leads, cluster=cluster,
                           sight=None, look=lambda from_ms: None, is_new=None,
                           begin_again=lambda: led.append(cluster.leads))
    Containers(None).fault(done)
    assert led and cluster.leads is not led[-1], "another node leads, as the round waits for"
    assert done.leader is led[-1], "it is the fault's"
    assert {node.tag for node in cluster.nodes} == {NEXT}


def test_what_a_container_said_of_standing_still_is_known_when_it_is_replaced(tmp_path):
    engine = SimpleNamespace(try_docker=lambda *words: SimpleNamespace(returncode=0, stdout=logs[-1], stderr=""))
    cluster = SimpleNamespace(engine=engine, compose=lambda *words, **_: words[0] == "up"
                              and logs.append(""))
    logs = ["2026-01-01T00:00:00.000Z warn  loop     [7] stalled for 700 ms: this process\n"]
    node = ContainerNode(cluster, 1, tmp_path)
    assert [stall.ms for stall in node.stalls()] == [700]
    node.recreate("next")
    assert logs[-1] == "" and [stall.ms for stall in node.stalls()] == [700]


@pytest.mark.parametrize("events, complaints", [
    ([Vip("node1", LEAVING, 10), Vip("node1", AWAY, 1010), Role("node2", LEADER, 1010)], 0),
    ([Vip("node1", AWAY, 10)], 1)])
def test_a_late_successor_excuses_failed_connections(monkeypatch, events, complaints):
    monkeypatch.setattr(Containers, "_misplaced", lambda *_: ())
    monkeypatch.setattr(Containers, "_published", lambda *_: ())
    monkeypatch.setattr("containers.row.strangers", lambda _: ())
    done = SimpleNamespace(variant="back", since_ms=0, sight=lost(1010),
                           leader=SimpleNamespace(name="node1"))
    done.cluster = SimpleNamespace(leader=lambda: done.leader, events=lambda: events,
                                   stalls=lambda: [])
    assert len(list(Containers(None).check(done, None))) == complaints


# ---- the files ----

def test_an_image_has_all_files_that_its_programs_are_built_from(tmp_path):
    """./dev test does not build them there."""
    stage = BUILD_STAGE.search(DOCKERFILE.read_text(encoding="utf-8")).group()
    sent = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    for words in re.findall(r"^COPY (.+) \S+$", stage, re.MULTILINE):
        for source in map(Path, words.split()):
            assert {f"!{source}", f"!{source.parent}"} & set(sent), source
            subprocess.run(["cp", "-r", "--parents", source, tmp_path], cwd=ROOT, check=True)
    for argv in (("cmake", "-S", tmp_path, "-B", tmp_path / "build", "-G", "Ninja",
                  "-DBUILD_TESTING=OFF"), ("ninja", "-C", tmp_path / "build", "-n", *PROGRAMS)):
        done = subprocess.run(argv, check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


needs_compose = pytest.mark.skipif(missing_programs() != [], reason="no docker-compose here")


def _config(name, directory, **env):
    nothing = directory / "env"  # instead of a .env that is here
    nothing.touch()
    return subprocess.run([COMPOSE, "--project-directory", ROOT, "--env-file", nothing, "-f",
                           ROOT / name, "config"], check=False, capture_output=True, text=True,
                          env={"PATH": os.environ["PATH"], **env})


@needs_compose
@pytest.mark.parametrize("name", FILES)
def test_a_file_says_what_is_missing(name, tmp_path):
    for missing in NEEDS_ENV:
        done = _config(name, tmp_path, **{key: "x" for key in NEEDS_ENV if key != missing})
        assert done.returncode != 0
        assert "docker/env.sh" in done.stderr, done.stderr


@needs_compose
@pytest.mark.parametrize("name", FILES)
def test_a_file_is_sound(name, tmp_path):
    """What both docker-compose 1.29 and `docker compose` take: no key that one has given up."""
    done = _config(name, tmp_path, **{key: "x" for key in NEEDS_ENV})
    assert done.returncode == 0, done.stderr
    text = yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))
    assert {key for key in text if not key.startswith("x-")} == {"services", "networks", "volumes"}
    for service, words in text["services"].items():
        assert not {"links", "container_name", "extends", "net", "expose"} & set(words), service
        assert words["restart"] == "unless-stopped" and words["cap_drop"] == ["ALL"], service
        assert words["read_only"] and words["logging"]["options"]["max-size"], service
        assert {"mem_limit", "cpus", "pids_limit", "stop_grace_period"} <= set(words), service
        is_node = service.startswith("node")
        assert words.get("cap_add") == (["NET_ADMIN", "NET_RAW"] if is_node else None), service
        assert (words.get("sysctls") == {"net.ipv4.ip_forward": "0"}) == is_node, service
        assert ("inside" in words["networks"]) == (service != "haproxy"), service
    assert text["networks"]["inside"]["internal"]


def test_secrets_are_made_once(tmp_path):
    """By chance, for the owner only; a second run leaves them as they are."""
    (tmp_path / "docker").mkdir()
    for name in (".env.example", "docker/env.sh"):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    for _ in range(2):
        subprocess.run(["sh", tmp_path / "docker/env.sh"], check=True, capture_output=True)
    path = tmp_path / ".env"
    words = dict(line.split("=", 1) for line in path.read_text(encoding="utf-8").splitlines()
                 if line and not line.startswith("#"))
    assert path.stat().st_mode & 0o777 == 0o600
    assert all(len(words[key].removeprefix("dueq:")) == 48 for key in NEEDS_ENV)
    assert len({words[key] for key in NEEDS_ENV}) == 3


class SentinelScript:
    """docker/sentinel.sh in a directory, at a port of its own."""

    def __init__(self, directory):
        self.file, self._given = directory / "sentinel.conf", directory / "given.conf"
        self._port, self._script = free_port(), directory / "sentinel.sh"
        self._given.write_text(f"port {self._port}\nbind 127.0.0.1\ndir {directory}\n",
                               encoding="utf-8")
        text = (ROOT / "docker/sentinel.sh").read_text(encoding="utf-8")
        for path, ours in (("/var/lib/redis/sentinel.conf", self.file),
                           ("/etc/dueq/sentinel.conf", self._given)):
            assert path in text
            text = text.replace(path, str(ours))
        self._script.write_text(text, encoding="utf-8")

    def launch(self, **env):
        return Process(["sh", self._script], self._script.with_suffix(".log"),
                       env=env)

    def passwords_taken(self, password, *tried):
        """Started with `password`: those of `tried` that it takes."""
        process = self.launch(REDIS_PASSWORD=password, REDIS_MASTER="127.0.0.1")
        try:
            wait_until(lambda: process.returncode is not None or self._takes("") is not None,
                       "Sentinel answers")
            assert process.returncode is None, process.output()
            return [each for each in tried if self._takes(each)]
        finally:
            process.terminate()

    def _takes(self, password):
        """None: nobody answers."""
        try:
            with redis.Redis(port=self._port, password=password or None) as client:
                return client.ping()
        except (redis.AuthenticationError, redis.ResponseError):  # NOAUTH, WRONGPASS
            return False
        except redis.ConnectionError:
            return None


def test_a_changed_password_reaches_a_sentinel(tmp_path):
    """Sentinel writes the first one into its file, as `user default`."""
    script = SentinelScript(tmp_path)
    assert script.passwords_taken("before", "before", "after") == ["before"]
    before = script.file.read_text(encoding="utf-8")
    assert script.passwords_taken("after", "before", "after") == ["after"]
    after = script.file.read_text(encoding="utf-8")
    assert _myid(before) == _myid(after), "what Sentinel knows stays"


def _myid(text):
    return next(line for line in text.splitlines() if line.startswith("sentinel myid "))


def test_a_sentinel_without_a_master_writes_nothing(tmp_path):
    script = SentinelScript(tmp_path)
    process = script.launch(REDIS_PASSWORD="x", REDIS_MASTER="")
    assert process.wait(PATIENCE_S) != 0
    assert "REDIS_MASTER" in process.output()
    assert not script.file.exists(), "the next start would take it for Sentinel's own"


def test_an_engines_end_is_whole(monkeypatch, tmp_path):
    """Whatever part of it fails."""
    engine = Engine(tmp_path / "engine")
    engine.run = tmp_path / "run"
    for path in (engine.directory, engine.run):
        path.mkdir()
    for part in ("remove_namespace", "remove_cgroups"):
        monkeypatch.setattr(f"harness.engine.{part}", lambda name: pytest.fail(name))
    with pytest.raises(pytest.fail.Exception):
        engine.__exit__()
    assert not engine.directory.exists() and not engine.run.exists()
