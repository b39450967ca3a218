"""Rows about ZooKeeper: servers cut off, frozen, killed, without a quorum, without their data."""

from drills.hosts.cluster import Plan
from drills.hosts.nodes import kill_together
from drills.rows.row import Row, row, stay
from drills.witness import changed, cut, hurt
from harness.wait import wait_until
from judge.journal import OK
from judge.lateness import dues_of


@row("8", "the follower it is attached to is cut off or frozen")
class Follower(Row):
    """The leader's server goes on answering its pings: no two valid leases; best, no failover.
    When it is attached to ZooKeeper's leader its connection is reset until it is not.

    After late beats: what the leader sends is kept back so long that ZooKeeper hears nothing of it
    for that part of T. Right after one of the next beats was acknowledged the follower goes, and
    with it, perhaps, what only it knew: that the session was alive."""

    variants = ("cut", "frozen", "frozen after beats 0.3 T late", "frozen after beats 0.6 T late",
                "cut after beats 0.6 T late")
    short_variants = ("cut", "frozen after beats 0.6 T late")
    rehearsed_variants = ()
    rounds = 50  # 10 of each: 20 with beats 0.6 T late
    leader_stays = True

    def plan_key(self, variant):
        return "late" if variant.endswith("late") else ""

    def plan(self, variant):
        return Plan(uplinks=bool(self.plan_key(variant)))

    def witness(self, drill):
        return cut(drill.network) if drill.variant.startswith("cut") else hurt(_servers(drill))

    def fault(self, drill):
        self.server = self._attached(drill)
        zookeeper_leader = drill.cluster.zookeeper.leader()  # asking takes its time: before
        drill.count_from_now()
        while (self.plan_key(drill.variant) and not self._delay_beats(drill)
               and drill.leader.leads):
            self.server = self._attached(drill)
        if drill.variant.startswith("cut"):
            drill.network.cut([self.server.host], [zookeeper_leader.host])
        else:
            self.server.freeze()

    def _delay_beats(self, drill):
        """False where the leader has gone to another server meanwhile."""
        uplink = drill.cluster.uplinks[drill.leader.name]
        part = float(drill.variant.split()[-3])
        uplink.wait_beat()
        uplink.hold(part * drill.session_ms)
        uplink.wait_beat(drill.dice.choice((1, 2, 3)))
        return uplink.acknowledged_by == self.server.address

    @staticmethod
    def _attached(drill):
        zookeeper, host = drill.cluster.zookeeper, drill.leader.host

        def on_a_follower():
            server = server_of(zookeeper, host)
            if server and server.mode() == "follower":
                return server
            if server:
                host.reset_connections(server.address, 2181)
            return None

        return wait_until(on_a_follower, "the leader is attached to a follower", 60,
                          interval_s=0.2)

    def hold(self, drill):
        stay(drill, drill.struck_ms - drill.since_ms + 3 * drill.session_ms)

    def heal(self, drill):
        drill.network.heal_all()
        if drill.variant.startswith("frozen"):
            self.server.thaw()


def _servers(drill):
    return [server.process.pid for server in drill.cluster.zookeeper.servers if server.is_running]


def server_of(zookeeper, host):
    """The server that a host has a session with; None while it has none."""
    return next((server for server in zookeeper.servers
                 if f"/{host.address}:" in server.ask("cons")), None)


@row("9", "a server killed or frozen, rolling restart")
class Servers(Row):
    variants = ("follower killed", "leader killed", "follower frozen", "leader frozen",
                "rolling restart")
    short_variants = ("leader killed", "follower frozen")
    leader_stays = True

    def witness(self, drill):
        return hurt(_servers(drill), 3 if drill.variant == "rolling restart" else 1)

    def fault(self, drill):
        zookeeper = drill.cluster.zookeeper
        if drill.variant == "rolling restart":
            self.server = None
            for server in zookeeper.servers:
                server.stop()
                server.start()
                zookeeper.wait_serving()
            return
        who, what = drill.variant.split()
        self.server = zookeeper.leader() if who == "leader" else zookeeper.followers()[0]
        self.server.kill() if what == "killed" else self.server.freeze()

    def hold(self, drill):
        stay(drill, 3 * drill.session_ms)

    def heal(self, drill):
        if self.server is None:
            return
        if self.server.is_running:
            self.server.thaw()
        else:
            self.server.start()


@row("10", "the quorum is lost")
class NoQuorum(Row):
    """`stop`: due jobs stand still, `failsafe`: they do not. Pushes, pops and acks go on with both;
    the leader is the same afterwards."""

    variants = tuple(f"{how} {length}" for how in ("stop", "failsafe")
                     for length in ("1 s", "3T", "60 s", "at start"))
    short_variants = ("stop at start", "failsafe 3T")
    rehearsed_variants = ("stop 1 s", "stop at start")
    rounds = 8
    leader_stays = True

    def plan_key(self, variant):
        return variant.split()[0]

    def plan(self, variant):
        return Plan(settings={"ha.on_zookeeper_loss": self.plan_key(variant)})

    def witness(self, drill):
        return hurt(_servers(drill), 3 if drill.variant.endswith("at start") else 2)

    def fault(self, drill):
        if drill.variant.endswith("at start"):
            kill_together(drill.cluster.nodes)
            self._stop_all(drill)
            for node in drill.cluster.nodes:
                node.launch()
            return drill.cluster.nodes
        zookeeper = drill.cluster.zookeeper
        self.servers = [zookeeper.leader(), zookeeper.followers()[0]]
        for server in self.servers:
            server.kill()
        return ()

    def _stop_all(self, drill):
        self.servers = drill.cluster.zookeeper.servers
        for server in self.servers:
            server.kill()

    def hold(self, drill):
        length = drill.variant.partition(" ")[2]
        stay(drill, {"1 s": 1000, "3T": 3 * drill.session_ms, "60 s": 60_000,
                     "at start": 3000}[length])
        wait_until(lambda: drill.answers(OK, drill.struck_ms), "pushes are accepted meanwhile", 30)
        self.stood = [due.late_ms for due in dues_of(drill.journal, drill.since_ms)
                      if due.due_ms > drill.since_ms]

    def heal(self, drill):
        for server in self.servers:
            server.start()

    def check(self, drill, elected):
        if drill.variant.endswith("at start"):
            return
        if elected and elected.node != drill.leader.name:
            yield f"{drill.leader.name} led before, {elected.node} afterwards"

    def check_times(self, drill):
        if drill.variant.startswith("failsafe") and max(self.stood, default=0) > drill.session_ms:
            yield f"due jobs stood still for {max(self.stood):.0f} ms in spite of failsafe"


@row("11", "ZooKeeper's data wiped")
class Wiped(Row):
    """The new ensemble's tokens are refused by Redis, with an alert, until an operator adopts."""

    rounds = 3
    rehearsed_variants = ()

    def witness(self, drill):
        """The leader's token is of another ensemble."""
        were_ended = hurt(_servers(drill), 3)
        is_another = changed(lambda: drill.cluster.leader().role().token.rpartition(":")[0])
        return lambda: were_ended() and is_another()

    def fault(self, drill):
        servers = drill.cluster.zookeeper.servers
        told = self._told(drill)
        for server in servers:
            server.kill()
            server.wipe()
        for server in servers:
            server.start()
        drill.cluster.zookeeper.wait_serving()
        wait_until(lambda: self._told(drill) > told, "a node says what to do", 60)
        wait_until(lambda: self._adopts(drill), "the leader adopts, and no other node", 60)

    @staticmethod
    def _adopts(drill):
        return any(node.ctl("fence", "adopt").code == 0 for node in drill.cluster.nodes)

    @staticmethod
    def _told(drill):
        """How often operators were told so far."""
        return sum(node.output().count("fence adopt") for node in drill.cluster.nodes)
