"""A row of the matrix: a fault, how it is healed, and what passes.

To add one: a class in rows_*.py with the decorator @row(number, title), and its line in the table
of README.md. The judge's promises hold for every row; `check` adds what is the row's own.
"""

import time

from drills.hosts.cluster import Cluster, Plan
from harness.wait import wait_until
from judge.journal import now_ms
from judge.lateness import dues_of

ROWS = {}  # number as text: the row, in the order of the matrix
SERVED_S = 60


def row(number, title):
    """Makes a class a row of the matrix."""
    def register(kind):
        kind.number, kind.title = number, title
        ROWS[number] = kind()
        return kind

    return register


class Row:
    """What a row says where it says nothing."""

    number = title = None
    rounds = 20
    variants = ("",)
    changes = 1             # of the leader, at most, for one fault
    leader_stays = False    # does the fault leave the lead where it is?
    interrupts = False      # do due jobs stand still without another leader as well?
    speaks_plain = False    # is it about clients, or nodes, that do not know TLS, or tokens?
    needs = None            # why it cannot run; None: it can
    by_the_clock = False    # does it fail where the machine has other work? ./dev test leaves it out
    target_ms = None        # for `active`, in the table
    stood_targets_ms = {}   # for `stood`, of variants
    note = ""               # what the table should say of the rounds that have run

    @property
    def short_variants(self):
        """For CI, which runs each once, all rows within three minutes."""
        return self.variants

    @property
    def long_variants(self):
        """For ./dev test --all, which runs all of them, but none for longer than a minute."""
        return self.variants

    @property
    def rehearsed_variants(self):
        """Those that need nothing of an elected leader."""
        return self.short_variants

    # ---- the plan ----

    def plan_key(self, variant):  # pylint: disable=unused-argument
        """Variants with the same key share a cluster."""
        return ""

    def plan(self, variant):  # pylint: disable=unused-argument
        return Plan()

    def cluster(self, directory, plan):
        """What it strikes at."""
        return Cluster(directory, plan)

    def load_options(self, cluster):  # pylint: disable=unused-argument
        """For times of some ten milliseconds, jobs that are due every few."""
        return {"rate": 200} if self.target_ms else {}

    def allowed_rules(self, plan):  # pylint: disable=unused-argument
        """Of the judge, that this fault breaks by its nature: counted apart."""
        return ()

    def must_lose(self, variants):  # pylint: disable=unused-argument
        """Is it a fault no more if these rounds, of one plan, have lost nothing?"""
        return False

    def before_drain(self, cluster):
        """After the last round: what consumers need to empty the store."""

    # ---- a round ----

    def fault(self, drill):
        """Makes it. The nodes whose worker is dead when it returns, if any."""
        raise NotImplementedError

    def witness(self, drill):
        """Before the fault: a function that says, before it is healed, whether it has struck, by
        what can be observed then (witness.py)."""
        raise NotImplementedError

    def hit(self, drill):
        """The nodes that it keeps from Redis or from clients; None: any may be. Of nobody else does
        it excuse anything that comes twice, or is lost on its way."""
        return [drill.leader]

    def deposes(self, drill):  # pylint: disable=unused-argument
        """The nodes whose lead it may end; None: anybody's. Of nobody else is a change of the leader
        its own, so that such a change may be the machine's."""
        return None

    def takes_over(self, drill):  # pylint: disable=unused-argument
        """Must another node lead before it is healed?"""
        return not self.leader_stays

    def wait_served(self, drill, elected):
        """When due jobs were handed over again; None where they were all the time."""
        if elected is None and not self.interrupts:
            return None
        from_ms = elected.boot_ms if elected else drill.struck_ms
        return wait_until(lambda: drill.first_served(from_ms), "due jobs are handed over",
                          SERVED_S, interval_s=0.01)

    def served_from_ms(self, drill):
        """The moment that `served` is counted from."""
        return drill.since_ms

    def address_from_ms(self, drill):
        """Since when a client has to have come for the first answer over the address to count."""
        return drill.since_ms

    def stood_ms(self, drill, fault):
        """How late the latest job was that became due in the outage; None where there was none."""
        return max((due.late_ms for due in dues_of(drill.journal, fault.start_ms)
                    if fault.start_ms <= due.due_ms <= fault.outage_end_ms), default=None)

    def hold(self, drill):
        """How long the fault stays after that."""

    def heal(self, drill):
        """Undoes it; called even when something failed. The runner then waits until the cluster
        is steady, and starts nodes that do not run."""

    def wait_healed(self, drill):  # pylint: disable=unused-argument
        """When due jobs were handed over again after that; None where that is not waited for."""
        return None

    def check(self, drill, elected):  # pylint: disable=unused-argument
        """What is wrong, in words."""
        return ()

    def check_end(self, cluster):  # pylint: disable=unused-argument
        """The same, after the last round, while the load goes on."""
        return ()

    def check_times(self, drill):  # pylint: disable=unused-argument
        """What took too long, in words. Not asked in CI, where nothing fails by the clock."""
        return ()

    def check_often(self, cluster):  # pylint: disable=unused-argument
        """What the machine was the reason for too often, after the last round. Nor is this."""
        return ()


def stay(drill, ms):
    """A fault lasts so long from its beginning. It is the fault's length, not a wait for an end."""
    time.sleep(max(0, drill.since_ms + ms - now_ms()) / 1000)
