"""A row about beanstalkd's clients: what they put, hold and bury gets through the end of their leader."""

import statistics

from drills.clients.load import TOPICS
from drills.clients.tubes import Tubes
from drills.hosts.cluster import CLUSTER, STANDBY, Plan
from drills.hosts.nodes import TUBES_PORT
from drills.rows.row import Row, row, stay
from drills.witness import all_hurt, changed, workers
from harness.wait import wait_until
from judge.journal import now_ms
from judge.tubes import judge_tubes

HELD_MIN = 10        # jobs, when the fault strikes
BACK_S = 60
SOON_MS = 15_000     # a dead worker's reservations are given back, though they last an hour
VIOLATIONS_SHOWN = 5


def _switch_over(leader):
    done = leader.ctl("switchover")
    assert done.code == 0, done


ALL_SCAN = ", all nodes scan"
FAULTS = {"killed": lambda leader: leader.kill("worker"),
          "killed with its warden": lambda leader: leader.kill_all(),
          "frozen": lambda leader: leader.freeze("both"),
          "switchover": _switch_over}
FAULTS |= {name + ALL_SCAN: FAULTS[name] for name in ("killed", "frozen")}


@row("33", "beanstalkd's clients, whose leader is killed, frozen or switched over")
class BeanstalkdClients(Row):
    """Beside the steady load they put, reserve, delete, release, bury, kick and touch, and hold jobs for
    an hour. Nothing of theirs is lost, early, or twice but for what was under way; and the jobs that were
    held over a connection that has ended come to others within seconds. All of them are at the leader. In
    a switchover it stays their node: no connection ends, and no reservation. Where all nodes scan a leader
    gives reservations back, too."""

    variants = tuple(FAULTS)
    short_variants = ("killed", "switchover")
    rehearsed_variants = ()
    speaks_plain = True
    tubes = None

    def __init__(self):
        self.came_ms = []  # of all rounds

    def plan_key(self, variant):
        return "shared" if variant.endswith(ALL_SCAN) else ""

    def plan(self, variant):
        """The history, which the judge of the steady load reads, is of its topics alone."""
        mode = CLUSTER if variant.endswith(ALL_SCAN) else STANDBY
        return Plan(mode, has_tubes=True, settings={"topics": [{"name": name, "history": True}
                                                         for name in TOPICS]})

    def witness(self, drill):
        if drill.variant == "switchover":
            return changed(drill.leader.role)
        return all_hurt(drill.leader.pids if "with" in drill.variant else workers([drill.leader]))

    def fault(self, drill):
        cluster = drill.cluster
        self.tubes, self.has_flowed, self.drained, self.back = None, False, False, []
        nodes = sorted(cluster.nodes, key=lambda node: node is not drill.leader)
        tubes = Tubes([(node.host.address, TUBES_PORT) for node in nodes], drill.dice, cluster.client)
        self.tubes = tubes.__enter__()
        tubes.wait_flowing()
        wait_until(lambda: len(tubes.record.held_at(now_ms())) >= HELD_MIN, "jobs are held", BACK_S)
        drill.count_from_now()
        FAULTS[drill.variant](drill.leader)
        return [drill.leader] if drill.variant.startswith("killed") else []

    def hold(self, drill):
        """Of a frozen node somebody else must give the reservations back."""
        if drill.variant.startswith("frozen"):
            stay(drill, 2 * drill.session_ms)
        self.tubes.wait_flowing()
        self.has_flowed = True
        if drill.variant == "switchover":  # nobody's connection ends
            return
        self.held = self.tubes.record.held_at(drill.since_ms)
        wait_until(lambda: self._came(drill) and None not in self._came(drill),
                   f"{len(self.held)} jobs that were held come to others", BACK_S, 0.1)
        self.back = self._came(drill)

    def _came(self, drill):
        return list(self.tubes.came_back_ms(self.held, drill.since_ms))

    def heal(self, drill):
        if drill.variant.startswith("frozen"):
            drill.leader.thaw()
        if self.tubes:
            self.drained = self.has_flowed and self.tubes.drain()
            self.tubes.__exit__()

    def check(self, drill, elected):
        if not self.drained:
            yield f"left in the end: {sorted(self.tubes.record.open_jobs())[:VIOLATIONS_SHOWN]}"
        if drill.variant == "switchover" and self.tubes.was_cut(drill.since_ms):
            yield "connections ended in a switchover"
        found = list(judge_tubes(self.tubes.record))
        for each in found[:VIOLATIONS_SHOWN]:
            yield f"beanstalkd's clients: {each.rule} {each.id}: {each.why}"
        if len(found) > VIOLATIONS_SHOWN:
            yield f"beanstalkd's clients: {len(found)} violations in all"
        self.came_ms += self.back

    def check_times(self, drill):
        if max(self.back, default=0) > SOON_MS:
            yield f"a job that was held came to another consumer after {max(self.back):.0f} ms"

    @property
    def note(self):
        return (f"{len(self.came_ms)} jobs that were held came to others after "
                f"{statistics.median(self.came_ms):.0f} ms in the median, {max(self.came_ms):.0f} at worst"
                if self.came_ms else "")
