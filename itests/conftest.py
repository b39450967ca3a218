"""Fixtures: nodes and Redis servers in temporary directories, their logs shown on failure."""

import itertools
import os
import random
import signal

import pytest

from harness.build import node_program
from harness.dueqctl import Dueqctl
from harness.flood import flooded  # noqa: F401, a fixture
from harness.network import why_not
from harness.node import Node
from harness.process import become_reaper
from harness.redis_server import RedisServer

try:
    from xdist.scheduler import LoadScopeScheduling
except ImportError:  # one after the other, then
    LoadScopeScheduling = object

LOG_LINES_SHOWN = 60

# What takes longest begins first: else one worker is busy with it when all others have ended.
LONGEST_FIRST = (
    "containers/", "model/test_model", "drills/test_rows.py::test_row[9", "drills/test_rows.py",
    "bench/test_load",
    "features/test_large_topics", "features/store/test_sentinel", "features/store/test_redis_health",
    "features/test_floods", "features/test_reconciler", "features/dueqctl/",
    "features/cluster/", "features/store/test_redis_cluster", "features/api/test_http_limits",
    "model/test_mutants", "crash/", "bench/test_tables", "features/", "drills/")
BUSIEST_LAST = "drills/test_rows.py::test_row[25]"  # 32 busy loops, no company for a drill
# Files whose tests share nothing that takes long to start: each test goes to whoever is free.
APART = ("containers/", "drills/", "model/test_mutants", "crash/", "bench/test_tables")

become_reaper()
# Whoever starts the tests in the background may ignore it, and so would every program here.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    def place(item):
        if item.nodeid == BUSIEST_LAST:
            return len(LONGEST_FIRST) + 1
        return next((number for number, start in enumerate(LONGEST_FIRST)
                     if item.nodeid.startswith(start)), len(LONGEST_FIRST))

    items.sort(key=place)


class Scheduling(LoadScopeScheduling):
    """A file's tests go to one worker, for they share a node; those APART each by itself."""

    def _split_scope(self, nodeid):
        return nodeid if nodeid.startswith(APART) else nodeid.partition("::")[0]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    return Scheduling(config, log) if config.getvalue("dist") == "loadfile" else None


def pytest_report_header():
    try:
        return f"dueq-node: {node_program()}"
    except RuntimeError as error:
        return f"dueq-node: {error}"


@pytest.fixture(scope="module")
def node(tmp_path_factory, request):
    """A standalone node with default settings, shared by the tests of a file: use your own
    topics. Settings for a file: NODE_SETTINGS in it."""
    settings = getattr(request.module, "NODE_SETTINGS", {})
    shared = Node(tmp_path_factory.mktemp("node"), settings)
    request.node.dueq_nodes = [shared]
    try:
        yield shared.start()
        shared.stop()
    finally:
        shared.destroy()


@pytest.fixture
def ctl(node):
    """dueqctl, for the shared node."""
    return Dueqctl(f"http://127.0.0.1:{node.http_port}")


@pytest.fixture
def make_node(tmp_path, request):
    """make_node(settings) gives a node of the test's own, not started; stopped afterwards."""
    made = request.node.dueq_nodes = []

    def make(settings=None, name=None, **options):
        directory = tmp_path / (name or f"node{len(made)}")
        directory.mkdir(exist_ok=True)
        made.append(Node(directory, settings, **options))
        return made[-1]

    try:
        yield make
        for each in made:
            each.stop()
    finally:
        for each in made:
            each.destroy()


@pytest.fixture
def make_redis(tmp_path):
    """make_redis(appendonly="yes") gives a running Redis of the test's own."""
    made = []

    def make(**options):
        made.append(RedisServer(tmp_path / f"redis{len(made)}", **options))
        return made[-1].start()

    yield make
    for server in made:
        server.stop()


@pytest.fixture
def redis(make_redis):
    """A Redis of the test's own, that acknowledges what its disk has."""
    return make_redis(appendonly="yes", appendfsync="always")


@pytest.fixture(scope="session")
def needs_network():
    """CI has what networks of namespaces need; elsewhere it may be missing."""
    reason = why_not()
    if reason:
        assert not os.environ.get("CI"), f"CI must have network namespaces: {reason}"
        pytest.skip(f"no network namespaces here: {reason}")


@pytest.fixture
def client(node):
    with node.python_client() as connected:
        yield connected


@pytest.fixture
def api(node):
    """The node's HTTP API; every request and reply is held against its contract."""
    with node.api() as connected:
        yield connected


_numbers = itertools.count(1)


@pytest.fixture
def topic():
    """A topic that no other test uses."""
    return f"topic-{next(_numbers)}"


@pytest.fixture
def dice():
    """Random numbers; the seed is printed, and DUEQ_SEED repeats it."""
    seed = int(os.environ.get("DUEQ_SEED", random.SystemRandom().randrange(1 << 32)))
    print(f"DUEQ_SEED={seed}")
    return random.Random(seed)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    if report.failed:
        for owner in (item, item.getparent(pytest.Module)):
            for each in getattr(owner, "dueq_nodes", []):
                tail = "\n".join(each.output().splitlines()[-LOG_LINES_SHOWN:])
                report.sections.append((f"log of {each.directory.name}", tail))
