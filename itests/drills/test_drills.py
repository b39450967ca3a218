"""The drills themselves: a row that steals, and nodes whose scripts do not ask for the fence, or
for locks, because a drill that cannot fail proves nothing; and the command. The rows are in
test_rows.py."""

import json
import signal
import subprocess
import sys

import pytest

from drills.clients.test_load import steal_delayed
from drills.hosts import safety
from drills.hosts.cluster import CLUSTER, STANDALONE, Plan
from drills.rounds import run_row
from drills.rows.matrix import MATRIX
from drills.rows.row import Row
from drills.table import json_of, table_of
from drills.witness import all_hurt, workers
from harness.build import ROOT, node_program
from harness.network import NAMESPACES
from harness.process import Process, descendants_of, is_alive
from harness.wait import wait_until
from judge.journal import Denied, Lock, LockedMove, Move
from judge.moves import read_history

# pylint: disable=unused-argument


class Planted(Row):
    """A row that is to be found out; what shows that its fault has struck is not asked."""

    changes = 0
    leader_stays = True
    node = None

    def witness(self, drill):
        return lambda: True

    def deposes(self, drill):
        """Nobody is to lose the lead."""
        return []

    def launch_altered(self, drill, settings, alterations):
        """A node x1 of another build, in which these bytes are others, of the same length."""
        program, text = drill.cluster.directory / "altered-node", node_program().read_bytes()
        for honest, altered in alterations:
            assert honest in text, f"the script is another: what does now what this did? {honest}"
            text = text.replace(honest, altered.ljust(len(honest)))
        program.write_bytes(text)
        program.chmod(0o755)
        self.node = drill.cluster.add_spare("x1", settings, program)
        self.node.launch()


class Thief(Planted):
    """Takes a job out of Redis, and complains about itself."""

    number, title = "99", "a job is stolen"

    def plan(self, variant):
        return Plan(mode=STANDALONE, nodes=1)

    def load_options(self, cluster):
        """Some jobs have no TTR: no fault excuses that they are stolen."""
        return {"ttrs_ms": (4000, 0)}

    def fault(self, drill):
        client = drill.cluster.redis.client()
        wait_until(lambda: steal_delayed(client), "a job is delayed")

    def check(self, drill, elected):
        yield "it was me"


def test_a_row_that_steals_fails_and_says_so(needs_network, tmp_path):
    result = run_row(Thief(), tmp_path, seed=1, rounds=2)
    assert {each.rule for each in result.verdict.violations} == {"LOST"}
    assert len(result.verdict.violations) == 2
    assert [text for text in result.complaints if "it was me" in text] == result.complaints
    assert any("LOST" in line for line in result.failures)
    assert table_of([result])[1].split()[-1] == "4"
    (row,) = json_of([result], 1)["rows"]
    assert (row["rounds"], len(row["violations"]), len(row["complaints"])) == (2, 2, 2)


class Idle(Planted):
    """A fault that does nothing."""

    number, title = "97", "nothing at all"

    def plan(self, variant):
        return Plan(mode=STANDALONE, nodes=1)

    def witness(self, drill):
        return all_hurt(workers([drill.leader]))

    def fault(self, drill):
        return ()


def test_a_row_whose_fault_does_nothing_fails(needs_network, tmp_path):
    result = run_row(Idle(), tmp_path, seed=1, rounds=1)
    assert ["is void" in text for text in result.complaints] == [True]
    assert result.failures == [*result.complaints, *result.said]


class Unfenced(Planted):
    """A node that does not know of the cluster, made so that its scripts skip the fence."""

    number, title = "98", "a node skips the fence"

    def fault(self, drill):
        self.launch_altered(drill, {"ha.mode": "standalone"}, [
            (b"if seen ~= token and", b"if false         and")])

    def hold(self, drill):
        def has_moved():
            with drill.cluster.redis.client() as client:
                return any(isinstance(each, Move) and each.node == "x1"
                           for each in read_history(client, {}))

        wait_until(has_moved, "it moves a job", 60, interval_s=0.2)

    def heal(self, drill):
        self.node.destroy()


def test_a_node_that_skips_the_fence_is_seen(needs_network, tmp_path):
    result = run_row(Unfenced(), tmp_path, seed=1, rounds=1)
    found = result.verdict.violations
    assert found and {each.rule for each in found} == {"DEPOSED"}
    assert all("x1 moved it" in each.why for each in found)


# Of own_topics in lua/lib/scan.lua: all topics are its own, and any lock is good enough.
ALTERED = ((b"local mark, is_late = mark_of(topic), false", b"local mark, is_late = OWN, false"),
           (b"elseif sub(lock, 1, 32) == who then", b"elseif true then"),
           (b"claim = not other and ends - now < lock_ms / 2 and token or HELD", b"claim = HELD"))


class Lawless(Planted):
    """Of a cluster, and its scripts do not ask for locks."""

    number, title = "94", "a node asks for no lock"

    def plan(self, variant):
        return Plan(mode=CLUSTER, nodes=2)

    def fault(self, drill):
        self.launch_altered(drill, {}, ALTERED)

    def deposes(self, drill):
        return [self.node]

    def hold(self, drill):
        ledger, locks, read = drill.cluster.ledger, {}, 0

        def has_moved():
            nonlocal read
            ledger.read()
            for read, event in enumerate(ledger.events[read:], read + 1):
                if isinstance(event, Lock):
                    locks[event.topic] = event.node
                elif isinstance(event, LockedMove) and event.node == "x1" != locks.get(event.topic):
                    return True
            return False

        wait_until(has_moved, "it moves others' jobs", 60, interval_s=0.1)

    def heal(self, drill):
        if self.node:
            self.changes = 1 if self.node.leads else 0  # it may have taken a lease that ran out
            self.node.destroy()


def test_a_node_that_asks_for_no_lock_is_seen(needs_network, tmp_path):
    result = run_row(Lawless(), tmp_path, seed=1, rounds=1)
    found = result.verdict.violations
    assert {each.rule for each in found} == {"UNLOCKED"}
    assert all("x1 moved it" in each.why for each in found)


class Busy(Planted):
    """What a busy machine does to the leader, and a fault that knows nothing of it."""

    number, title = "96", "the leader sleeps"

    def fault(self, drill):
        drill.leader.freeze("both")
        wait_until(drill.new_leader, "another node leads", 60)

    def heal(self, drill):
        drill.leader.thaw()


class Moody(Busy):
    """A leader that gives its lead away."""

    number, title = "95", "the leader has enough"

    def fault(self, drill):
        drill.leader.ctl("switchover", "--to", drill.cluster.standbys()[0].name)
        wait_until(drill.new_leader, "another node leads", 60)


def test_a_change_of_leader_is_excused_by_what_the_deposed_node_says_alone(needs_network, tmp_path):
    slept, gave = (run_row(row, tmp_path / row.number, seed=1, rounds=1)
                   for row in (Busy(), Moody()))
    assert slept.failures == [] and slept.verdict.explained["STORM"] >= 1
    assert {each.rule for each in gave.verdict.violations} == {"STORM"}


class Stranger(Planted):
    """The clients' identity is revoked, and comes again where `is_sorry`."""

    number, title = "93", "the clients are strangers"
    is_sorry = True

    def plan(self, variant):
        return Plan(mode=STANDALONE, nodes=1)

    def fault(self, drill):
        assert drill.leader.ctl("token", "revoke", safety.IDENTITY).code == 0
        wait_until(lambda: drill.journal.of(Denied), "somebody is denied")
        if not self.is_sorry:
            wait_until(lambda: False, "jobs are handed over", 0)

    def heal(self, drill):
        if self.is_sorry:
            safety.current().introduce_clients(drill.cluster.nodes)


def test_clients_that_are_denied_are_seen_by_the_judge(needs_network, safety_on, tmp_path):
    result = run_row(Stranger(), tmp_path, seed=1, rounds=1)
    assert {each.rule for each in result.verdict.violations} == {"DENIED"}


def test_a_row_in_which_clients_are_denied_for_good_says_so(needs_network, safety_on, tmp_path):
    row = Stranger()
    row.is_sorry = False
    with pytest.raises(AssertionError, match="in vain: jobs are handed over; .* denied: .*unauthorized"):
        run_row(row, tmp_path, seed=1, rounds=1)


def drill(*words):
    return subprocess.run([sys.executable, ROOT / "itests/drills/drill.py", *words], check=False,
                          capture_output=True, text=True)


def test_the_command_knows_its_rows():
    listed = drill("--list")
    assert listed.returncode == 0
    assert [line.split()[0] for line in listed.stdout.splitlines()] == list(MATRIX)
    unknown = drill("1", "12x")
    assert unknown.returncode == 2 and "no row 12x" in unknown.stderr


@pytest.mark.parametrize("words, says", [
    (("1", "--rounds", "0"), "one at least"), (("1", "--keep", ROOT), "is not empty"),
    (("1", "--old", "HEAD"), "is for row 20"), (("20", "--old", "nosuch"), "neither a commit"),
    (("1", "--write", "--rehearse"), "says nothing")])
def test_the_command_refuses_what_makes_no_sense(words, says):
    refused = drill(*words, "--list")
    assert refused.returncode == 2 and says in refused.stderr


def test_ctrl_c(needs_network, tmp_path):
    """It concludes, and leaves nothing. (A short name: Redis's socket is below `tmp_path`.)"""
    process = Process([sys.executable, ROOT / "itests/drills/drill.py", "0", "--rounds", "1000"],
                      tmp_path / "log", {"TMPDIR": str(tmp_path)})
    try:
        wait_until(lambda: "round 2" in process.output(), "it drills", 60)
    except AssertionError as reason:
        raise AssertionError(f"{reason}; it says:\n{process.output()}") from None
    family = descendants_of(process.pid)
    assert family and list(NAMESPACES.glob(f"dq{process.pid}-*"))
    process.signal(signal.SIGINT)
    assert process.wait(60) == 130, process.output()
    assert "interrupted" in process.output()
    assert not list(NAMESPACES.glob(f"dq{process.pid}-*"))
    assert not list(tmp_path.glob("dueq-drill-*"))
    wait_until(lambda: not any(map(is_alive, family)), "its processes have gone")


def test_the_command_judges_and_prints_json(needs_network, tmp_path):
    done = drill("0", "--rounds", "1", "--seed", "7", "--json", "--keep", tmp_path)
    result = json.loads(done.stdout)
    (row,) = result["rows"]
    assert (result["seed"], row["row"], row["rounds"]) == (7, "0", 2)
    rules = {each["rule"] for each in row["violations"]}
    assert rules <= {"LATE"}, "only the machine's load may be in its way"
    assert done.returncode == (1 if rules else 0), done.stderr
