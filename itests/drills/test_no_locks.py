"""A node of a cluster whose scripts do not ask for locks, because a judge that cannot see it proves
nothing."""

from drills.hosts.cluster import CLUSTER, Plan
from drills.rounds import run_row
from drills.rows.row import Row
from harness.build import node_program
from harness.wait import wait_until
from judge.journal import Lock, LockedMove

# Of own_topics in lua/lib/scan.lua: all topics are its own, and any lock is good enough.
ALTERED = ((b"local mark, is_late = mark_of(topic), false", b"local mark, is_late = OWN, false"),
           (b"elseif sub(lock, 1, 32) == who then", b"elseif true then"),
           (b"claim = not other and ends - now < lock_ms / 2 and token or HELD", b"claim = HELD"))


class Lawless(Row):
    number, title = "97", "a node asks for no lock"
    changes = 0
    node = None
    leader_stays = True

    def plan(self, variant):
        return Plan(mode=CLUSTER, nodes=2)

    def witness(self, drill):
        return lambda: True

    def fault(self, drill):
        program = drill.cluster.directory / "lawless-node"
        text = node_program().read_bytes()
        for honest, lawless in ALTERED:
            assert honest in text, f"the script is another: what does now what this did? {honest}"
            text = text.replace(honest, lawless.ljust(len(honest)))
        program.write_bytes(text)
        program.chmod(0o755)
        self.node = drill.cluster.add_spare("x1", {}, program)
        self.node.launch()

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


def test_a_node_that_asks_for_no_lock_is_seen(needs_network, tmp_path):  # pylint: disable=unused-argument
    result = run_row(Lawless(), tmp_path, seed=1, rounds=1)
    found = result.verdict.violations
    assert {each.rule for each in found} == {"UNLOCKED"}
    assert all("x1 moved it" in each.why for each in found)
