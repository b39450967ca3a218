"""The faults that containers meet, as a row of drills whose cluster is that of docker-compose.yml.

    kill                 docker kill: counted from when its first process was gone
    pause                docker pause for 2T, and unpause
    disconnect           docker network disconnect, of the clients' network: the leader could lead
                         on, but nobody would reach the address, so it gives the lead away
    disconnect all       of both networks, as a pulled cable
    back                 connected again, on an interface of another name, and made the leader
    stop                 docker stop, which must end with 0
    upgrade              all nodes, by docker-compose, to another build: standbys first
"""

from containers.cluster import HTTP_PORT, PUBLISHED, VIP, ContainerCluster, ContainerPlan
from containers.images import NEXT
from containers.node import CLIENTS, INSIDE
from drills.graceful import InOrder, few_of, tokens_after
from drills.rows.row import Row, stay
from drills.rows.vip_row import strangers
from drills.witness import changed
from harness.wait import wait_until
from judge.journal import Role

PATIENCE_S = 60  # a node gives its lead away for its address once in TENURE_S
CALM_S = 700       # what is too often is counted over ten minutes
TARGETS_MS = {"kill": 100, "pause": 2750}  # to the first answer over the address; T = 2000


class Containers(Row):
    number, title = "docker", "containers: kill, pause, disconnect, stop, upgrade"
    variants = ("kill", "pause", "disconnect", "disconnect all", "back", "stop", "upgrade")

    short_variants = ("kill", "pause", "disconnect", "stop", "upgrade")

    def __init__(self, engine):
        self._engine, self._tag, self.versions = engine, "latest", []
        self._of_standbys = None  # what clients saw of their upgrade, and what nodes wrote
        self._upgrades = self._unled = 0  # of standbys; those in which a leader lost its lease
        self.in_order = InOrder()

    def plan(self, variant):
        return ContainerPlan()

    def cluster(self, directory, plan):
        self._tag = "latest"
        return ContainerCluster(self._engine, directory, plan)

    def load_options(self, cluster):
        """The published port is HAProxy's."""
        return {"rate": 100, "proxies": (f"{PUBLISHED}:{HTTP_PORT}",)}

    # ---- faults ----

    def hit(self, drill):
        """Clients do not know with which node they talk."""
        return None

    def deposes(self, drill):
        """Some of these wait for a tenure, in which a busy machine may change the leader as well."""
        return None if drill.variant in ("back", "upgrade") else [drill.leader]

    def witness(self, drill):
        """By the engine: another container, a state, or other ends of its networks; of the leader,
        or, in an upgrade, of all nodes."""
        nodes = drill.cluster.nodes if drill.variant == "upgrade" else [drill.leader]
        found = [changed(node.state) for node in nodes]
        return lambda: all(is_another() for is_another in found)

    def fault(self, drill):
        self.changes = 2 if drill.variant == "back" else 1
        return getattr(self, f"_{drill.variant.replace(' ', '_')}")(drill)

    def _kill(self, drill):
        drill.since_ms = drill.leader.kill()
        return [drill.leader]

    def _pause(self, drill):
        drill.leader.pause()

    def _disconnect(self, drill):
        self._wait_calm(drill)
        drill.leader.disconnect(CLIENTS)

    def _disconnect_all(self, drill):
        self._wait_calm(drill)
        drill.leader.disconnect(CLIENTS, INSIDE)

    @staticmethod
    def _wait_calm(drill):
        """For its address a leader gives the lead away only where that has not moved too often
        lately, as it has in many rounds."""
        wait_until(lambda: not drill.leader.cluster_status()["flapping"], "the lead rests", CALM_S,
                   interval_s=1)
        drill.begin_again()

    def _back(self, drill):
        """The lead comes back to it, when all know that it could have the address again."""
        self._wait_calm(drill)
        drill.leader.disconnect(CLIENTS)
        wait_until(drill.new_leader, "another node leads", PATIENCE_S)
        drill.leader.connect(CLIENTS)
        drill.cluster.wait_steady()
        wait_until(lambda: self._is_switched(drill), "it may lead again", PATIENCE_S)

    @staticmethod
    def _is_switched(drill):
        """Refused while not everybody knows yet that it could have the address."""
        drill.begin_again()
        return drill.cluster.leader().try_ctl("switchover", "--to", drill.leader.name)

    def _stop(self, drill):
        self._code = drill.leader.stop()
        self._count_from_the_order(drill)

    def _upgrade(self, drill):
        self._tag = NEXT if self._tag == "latest" else "latest"
        before = drill.leader.version()
        self._upgrade_standbys(drill)
        drill.look(drill.since_ms)
        roles = [each for each in drill.cluster.events() if isinstance(each, Role)
                 and each.boot_ms >= drill.since_ms]
        self._of_standbys = drill.sight, roles, drill.leader.name, drill.cluster.stalls()
        unled = sum(map(drill.is_new, tokens_after(*self._of_standbys[1:])))
        self.changes += unled
        self._upgrades += 1
        self._unled += bool(unled)
        drill.leader = drill.cluster.leader()
        drill.begin_again()
        drill.leader.recreate(self._tag)
        self._count_from_the_order(drill)
        self.versions = [before, drill.leader.version()]

    def _upgrade_standbys(self, drill):
        """Each node that stands by when it is its turn: the lead may move meanwhile."""
        done = []
        while left := [node for node in drill.cluster.standbys() if node not in done]:
            left[0].recreate(self._tag)
            done.append(left[0])
            drill.cluster.wait_steady()  # as an operator does: dueqctl check

    @staticmethod
    def _count_from_the_order(drill):
        """From when the leader was told to stop: docker takes its time before."""
        drill.since_ms = min(role.boot_ms for role in drill.cluster.roles()
                             if role.node == drill.leader.name and role.boot_ms > drill.since_ms)

    # ---- and after ----

    def hold(self, drill):
        if drill.variant == "pause":
            stay(drill, 2 * drill.session_ms)

    def heal(self, drill):
        node = drill.leader
        if drill.variant in ("kill", "stop"):
            node.start()
        elif drill.variant == "pause":
            node.unpause()
        elif drill.variant == "disconnect":
            node.connect(CLIENTS)
        elif drill.variant == "disconnect all":
            node.connect(INSIDE, CLIENTS)

    def check(self, drill, elected):
        yield from self._misplaced(drill)
        yield from self._published(drill)
        if drill.variant == "stop" and self._code != 0:
            yield f"docker stop ended it with {self._code}"
        if drill.variant == "upgrade" and len(set(self.versions)) != 2:
            yield f"not two builds, but {self.versions}"
        if drill.variant == "upgrade":
            yield from (f"standbys were upgraded: {text}"
                        for text in self.in_order.judge(*self._of_standbys))
        if drill.variant == "back" and drill.cluster.leader() is not drill.leader:
            yield f"{drill.leader.name} was to lead again"
        yield from strangers(drill)
        if drill.variant in ("stop", "upgrade", "back"):
            yield from self.in_order.check(drill)

    def check_often(self, cluster):
        yield from self.in_order.check_often()
        if self._unled > few_of(self._upgrades):
            yield f"a leader lost its lease in {self._unled} of {self._upgrades} upgrades of standbys"

    @property
    def note(self):
        return self.in_order.note

    def check_times(self, drill):
        target = TARGETS_MS.get(drill.variant)
        if target and drill.sight.first_ms is not None and drill.sight.first_ms > target:
            yield f"{drill.sight.first_ms:.0f} ms to the first answer, {target} ms is the target"
        yield from self.in_order.check_times()

    @staticmethod
    def _misplaced(drill):
        """Is the address with the leader alone?"""
        def holders():
            return [node.name for node in drill.cluster.nodes if node.has_address(VIP)]

        leader = drill.cluster.leader().name
        try:
            wait_until(lambda: holders() == [leader], "the address is in its place", PATIENCE_S,
                       interval_s=0.1)
        except AssertionError:
            yield f"{VIP} is at {holders()}, {leader} leads"

    @staticmethod
    def _published(drill):
        """Does the published port lead to the leader?"""
        try:
            wait_until(lambda: drill.cluster.is_led_to(PUBLISHED), "HAProxy finds it", PATIENCE_S,
                       interval_s=0.1)
        except AssertionError:
            yield f"{PUBLISHED} does not lead to {drill.cluster.leader().name}"
