"""The images of docker-compose.yml, made from the work tree in an engine of the test's own.

Nothing is fetched but Debian's packages: the base image is docker/base-image.sh's. The Dockerfile
is built as it is, the programs in it too, with the commit and the version that the tree has; or,
for ./dev test, with the programs that it has built itself on the same Debian.
"""

import re
import shutil
import subprocess
import tarfile
import time
from pathlib import Path

from drills.hosts.builds import alter, git
from harness.build import ROOT

BASE = "debian:bookworm-slim"
SCRIPT, DOCKERFILE = ROOT / "docker/base-image.sh", ROOT / "docker/Dockerfile"
BUILD_STAGE = re.compile(r"^FROM \S+ AS build\n.*?(?=^FROM )", re.MULTILINE | re.DOTALL)
NODE, PARTS = "dueq", ("zookeeper", "redis", "haproxy")
NEXT = "next"  # the tag of the second build of the node
PROGRAM, PROGRAMS = "/usr/bin/dueq-node", ("dueq-node", "dueqctl")
BUILD_S = 900  # beside sanitizers and others

# An upgrade in one layer. The program is copied: its capabilities have to be put on again.
UPGRADE = f"""
FROM {NODE}
USER root
COPY dueq-node {PROGRAM}
RUN setcap cap_net_admin,cap_net_raw=p {PROGRAM}
USER dueq
"""


def make_images(engine, directory, programs=None):
    """All of them; returns the seconds that the base image and the others took. `programs`: a folder
    with the two, instead of the stage that builds them."""
    context = _with_programs(programs, Path(directory) / "context") if programs else ROOT
    begin = time.monotonic()
    base = Path(directory) / "base.tar"
    done = subprocess.run(["sh", SCRIPT, "--tar", base], check=False, capture_output=True,
                          text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    engine.docker("import", base, BASE)
    base.unlink()
    has_base = time.monotonic()
    with engine.internet():
        _build(engine, context, NODE)  # which makes all stages
        for part in PARTS:
            _build(engine, context, f"{NODE}-{part}", "--target", part)
    return has_base - begin, time.monotonic() - has_base


def _with_programs(programs, context):
    """What the images are built from, without the sources."""
    shutil.copytree(DOCKERFILE.parent, context / "docker")
    for folder in ("bin", "share/doc/dueq"):
        (context / "out/usr" / folder).mkdir(parents=True)
    for name in PROGRAMS:
        subprocess.run(["strip", "-o", context / "out/usr/bin" / name, Path(programs) / name],
                       check=True)
    for name in ("conf/dueq.yaml", "LICENSE"):
        shutil.copy(ROOT / name, context / "out/usr/share/doc/dueq")
    text, found = BUILD_STAGE.subn("FROM scratch AS build\nCOPY out /out\n",
                                   DOCKERFILE.read_text(encoding="utf-8"))
    assert found == 1
    (context / "docker/Dockerfile").write_text(text, encoding="utf-8")
    return context


def _build(engine, context, name, *words):
    engine.docker("build", "--quiet", "-f", context / "docker/Dockerfile", "-t", name,
                  "--build-arg", f"REVISION={revision()}", *words, context, timeout=BUILD_S)


def make_next_image(engine, directory):
    """A node of another version, with a comment changed in each of its scripts."""
    context = Path(directory) / "next"
    context.mkdir()
    box = engine.docker("create", NODE)
    with open(context / "program.tar", "wb") as file:
        file.write(engine.read("cp", f"{box}:{PROGRAM}", "-"))
    engine.docker("rm", "-v", box)
    with tarfile.open(context / "program.tar") as tar, \
            open(context / "dueq-node", "wb") as program:
        shutil.copyfileobj(tar.extractfile("dueq-node"), program)
    (context / "dueq-node").chmod(0o755)
    alter(context / "dueq-node", context / "dueq-node")
    (context / "program.tar").unlink()
    (context / "Dockerfile").write_text(UPGRADE, encoding="utf-8")
    engine.docker("build", "--quiet", "-t", f"{NODE}:{NEXT}", context)


def revision():
    """The commit of the work tree; "" where git cannot say."""
    return git("rev-parse", "--short=12", "HEAD")


def project_version():
    """As CMakeLists.txt has it."""
    text = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    return re.search(r"project\(dueq VERSION ([0-9.]+)", text).group(1)
