"""A row about links that are slow and lose some, all of them, for as long as one likes."""

from drills.hosts.cluster import Plan
from drills.rows.row import Row, row, stay
from drills.rows.vip_row import VIP
from drills.witness import changed

LOST = 0.05  # of all frames, in each direction
WAY_MS = {"200 ms there and back": 100, "200 ms each way": 200}
SESSION_MS = {100: 10_000, 200: 20_000}  # T: fifty round trips
TICK_MS = 2000  # ZooKeeper's default: its servers bear with each other for five of these
STAY_S = {"short": 8, "1 min": 60, "10 min": 600}
SAID = "is too long for T"


@row("21", "200 ms and 5 % loss on all links")
class SlowLinks(Row):
    """Each frame is lost with that probability, on its way from any host to any other. With a T that
    is made for it, nothing happens. With one that is not, nobody may lead, and every node says why;
    the promises hold all the same."""

    TOO_SHORT = "200 ms there and back, T = 2 s"
    variants = (*(f"{name}, 10 min" for name in WAY_MS), TOO_SHORT)
    long_variants = (*(f"{name}, 1 min" for name in WAY_MS), TOO_SHORT)
    short_variants = ("200 ms there and back, short",)
    rounds = 3
    leader_stays = True

    def plan_key(self, variant):
        return variant

    def plan(self, variant):
        if variant == self.TOO_SHORT:
            return Plan(vip=VIP, slow_cables=True)
        way_ms = _way_ms(variant)
        return Plan(vip=VIP, slow_cables=True, round_trip_ms=2 * way_ms,
                    session_ms=SESSION_MS[way_ms], tick_ms=TICK_MS)

    def load_options(self, cluster):
        """Patience for a lost SYN, and for what is lost twice; and consumers enough for what is
        pushed, though each request takes a while."""
        return {"connect_s": 5, "answer_s": 30, "rate": 30, "producers": 2,
                "consumers": 32}

    def allowed_rules(self, plan):
        return ("STORM",) if plan == self.plan(self.TOO_SHORT) else ()

    def fault(self, drill):
        self.before = drill.network.counts()
        drill.network.slow_down(_way_ms(drill.variant), LOST)

    def witness(self, drill):
        """Frames were lost on their way."""
        return changed(lambda: {name: each.lost for name, each in drill.network.counts().items()})

    def hit(self, drill):
        return None

    def hold(self, drill):
        stay(drill, STAY_S.get(_parts(drill.variant)[1], STAY_S["short"]) * 1000)
        self.served_ms = drill.first_served(drill.struck_ms)
        self.is_said = [SAID in node.output() for node in drill.cluster.nodes]
        sent, lost = (self._count(drill, each) for each in ("sent", "lost"))
        self.note = f"{lost} of {sent} frames lost in {drill.elapsed_ms() / 1000:.0f} s"

    def _count(self, drill, name):
        after = drill.network.counts()
        return sum(getattr(after[host], name) - getattr(before, name)
                   for host, before in self.before.items())

    def heal(self, drill):
        drill.network.slow_down(0, 0)

    def check(self, drill, elected):
        if drill.variant == self.TOO_SHORT:
            if not all(self.is_said):
                yield f"who said that T is too short, of the nodes: {self.is_said}"
        elif self.served_ms is None and not elected:
            yield "no job that became due was handed over while the links were slow"

    def check_times(self, drill):
        if drill.variant != self.TOO_SHORT and any(self.is_said):
            yield f"T is said to be too short, by these of the nodes: {self.is_said}"


def _parts(variant):
    """Of "200 ms each way, 10 min": the way, and for how long."""
    return variant.split(", ")


def _way_ms(variant):
    return WAY_MS[_parts(variant)[0]]
