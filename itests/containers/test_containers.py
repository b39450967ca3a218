"""docker-compose.yml in an engine of the test's own: it is built, brought up, goes through the faults
that containers meet with clients at the virtual address and at the published port, judged as the
drills are, and is taken down. Nothing of it is left, nor is anything of this machine changed.

Where no engine can be started, namespaces have to do (itests/drills): the last line of ./dev test says
which ran.
"""

import os
import subprocess

import pytest
import yaml

from containers.images import make_images, make_next_image, project_version
from containers.row import Containers
from drills.rounds import run_row
from harness.build import ROOT
from harness.engine import COMPOSE, Engine, NoEngine, machine_rules, missing_programs
from harness.memory import is_sanitized

SEED = 1
FILES = ("docker-compose.yml", "docker/small.yml")
NEEDS_ENV = ("DUEQ_SECRET", "DUEQ_REDIS_PASSWORD", "DUEQ_ZOOKEEPER_AUTH")


@pytest.fixture(name="engine")
def own_engine(tmp_path):
    """An engine, that has to be gone without a trace afterwards."""
    if is_sanitized():
        pytest.skip("the images have a build of their own: once, beside the release tests")
    rules = machine_rules()
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
    assert machine_rules() == rules, "the machine's own rules or links are others than before"


def _tell(what):
    """For the summary of ./dev test."""
    path = os.environ.get("DUEQ_CONTAINERS_TOLD")
    if path:
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"{what}\n")


def test_faults_of_containers(engine, tmp_path):
    base_s, images_s = make_images(engine, tmp_path)
    make_next_image(engine, tmp_path)
    print(f"base image in {base_s:.0f} s, the others in {images_s:.0f} s")
    _check_image(engine)
    row = Containers(engine)
    result = run_row(row, tmp_path / "drill", SEED, rounds=1, variants=row.short_variants,
                     report=print)
    assert not result.failures, "\n".join(result.failures)
    assert len(result.rounds) == len(row.short_variants)
    assert not engine.docker("volume", "ls", "-q"), "docker-compose down has left volumes"
    _tell(f"Docker {engine.version()}")


def _check_image(engine):
    """What the image says of itself, and that it is a whole node alone, for who is not root."""
    labels = engine.docker("inspect", "--format", "{{json .Config.Labels}}", "dueq")
    assert f'"org.opencontainers.image.version":"{project_version()}"' in labels
    assert engine.docker("run", "--rm", "dueq", "--version").startswith(
        f"dueq-node {project_version()}")
    alone = engine.docker("run", "-d", "--cap-drop", "ALL", "--read-only", "dueq")
    engine.docker("exec", alone, "sh", "-c", "until dueqctl push t hello; do sleep 0.1; done",
                  timeout=60)
    assert "hello" in engine.docker("exec", alone, "dueqctl", "pop", "t", "--wait", "10s")
    assert engine.docker("exec", alone, "id", "-u") == "9503"
    engine.docker("stop", alone)
    assert engine.docker("inspect", "--format", "{{.State.ExitCode}}", alone) == "0"
    engine.docker("rm", "-v", alone)


# ---- the files ----

needs_compose = pytest.mark.skipif(missing_programs() != [], reason="no docker-compose here")


def _config(name, **env):
    return subprocess.run([COMPOSE, "--project-directory", ROOT, "--env-file", "/dev/null", "-f",
                           ROOT / name, "config"], check=False, capture_output=True, text=True,
                          env={"PATH": os.environ["PATH"], **env})


@needs_compose
@pytest.mark.parametrize("name", FILES)
def test_a_file_says_what_is_missing(name):
    for missing in NEEDS_ENV:
        done = _config(name, **{key: "x" for key in NEEDS_ENV if key != missing})
        assert done.returncode != 0
        assert "docker/env.sh" in done.stderr, done.stderr


@needs_compose
@pytest.mark.parametrize("name", FILES)
def test_a_file_is_sound(name):
    """What both docker-compose 1.29 and `docker compose` take: no key that one has given up."""
    done = _config(name, **{key: "x" for key in NEEDS_ENV})
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
