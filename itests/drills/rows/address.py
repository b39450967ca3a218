"""A row about the virtual address itself: what others do to it, and what neighbours believe."""

from drills.rows.row import row, stay
from drills.rows.vip_row import VipRow
from drills.witness import all_hurt, changed, cut, workers
from harness.neighbours import announce, drop, entry_of, forget, mac_of, take, touch
from harness.wait import wait_until
from judge.journal import Gone, now_ms

INSISTS, INSISTS_MS, EVERY_S = "a stranger that insists", 2000, 0.05
HUSHED_MS = 1200  # of what is announced at 0, 100, 300, 700 and 1500 ms only the last is heard
PATIENCE_S = 60
USUAL, HASTY = (30_000, 5), (4000, 1)  # when a neighbour doubts what it knows: ms, and then s
GENTLE = ("removed", "a stranger", INSISTS)  # the leader stays


@row("22", "the address removed, held by a stranger, not announced")
class AddressTroubled(VipRow):
    """Removed by hand it is put back with the next renewal. A stranger that takes it is answered:
    the leader announces it again, says so and counts it. It does so once a second at most, so
    one that insists has the neighbours until it goes. In the other variants the worker is killed:
    the new leader's first announcements are lost; all of them are, and neighbours have to ask;
    and all hosts have entries that they believe in."""

    variants = ("removed", "a stranger", INSISTS, "heard late", "never told",
                "neighbours' caches")
    short_variants = ("removed", "a stranger", "heard late")
    rehearsed_variants = ()

    def takes_over(self, drill):
        return drill.variant not in GENTLE

    def address_from_ms(self, drill):
        """Where the leader stays, it answers until the fault has been made."""
        if drill.variant == INSISTS:
            return self.left_ms
        return drill.since_ms if self.takes_over(drill) else drill.struck_ms

    # ---- faults ----

    def witness(self, drill):
        if drill.variant == "removed":
            return lambda: any(isinstance(each, Gone) and each.node == drill.leader.name
                               and each.boot_ms >= drill.since_ms
                               for each in drill.cluster.events())
        if drill.variant in GENTLE:
            return changed(lambda: drill.leader.metrics()["dueq_vip_conflicts_total"])
        is_dead, is_hushed = all_hurt(workers([drill.leader])), cut(drill.network)
        return lambda: is_dead() and (drill.variant == "neighbours' caches" or is_hushed())

    def fault(self, drill):
        self.before = drill.leader.metrics()
        return {"removed": self._remove, "a stranger": self._intrude,
                INSISTS: self._intrude, "heard late": self._hush,
                "never told": self._never_tell, "neighbours' caches": self._fill_caches
                }[drill.variant](drill)

    def _remove(self, drill):
        drop(drill.leader.host, drill.cluster.vips)

    def _intrude(self, drill):
        hosts = drill.network.hosts
        self.stranger = hosts.get("stranger") or drill.network.add_host("stranger")
        take(self.stranger, drill.cluster.vips)

    def _hush(self, drill):
        for vip in drill.cluster.vips:
            drill.network.hush([node.host for node in drill.cluster.standbys()], vip)
        return self._kill(drill)

    def _never_tell(self, drill):
        for vip in drill.cluster.vips:
            drill.network.hush([node.host for node in drill.cluster.standbys()], vip, unasked=True)
        self._doubt(drill.cluster.client, *HASTY)
        for vip in drill.cluster.vips:
            forget(drill.cluster.client, vip)  # what it knows has its time already
        self.believers = [drill.cluster.client]
        wait_until(lambda: self._believe(drill, mac_of(drill.leader.host)), "it has asked",
                   PATIENCE_S)
        drill.count_from_now()
        return self._kill(drill)

    @staticmethod
    def _doubt(host, reachable_ms, delay_s):
        for family in ("ipv4", "ipv6"):
            host.set_kernel(f"{family}/neigh/eth0/base_reachable_time_ms", reachable_ms)
            host.set_kernel(f"{family}/neigh/eth0/delay_first_probe_time", delay_s)

    def _fill_caches(self, drill):
        mac = mac_of(drill.leader.host)
        self.believers = [host for name, host in drill.network.hosts.items()
                          if host is not drill.leader.host and name != "stranger"]

        def have_met():
            for host in self.believers:
                for vip in drill.cluster.vips:
                    touch(host, vip)
            return self._believe(drill, mac)

        wait_until(have_met, "every host has an entry", PATIENCE_S, interval_s=0.05)
        drill.count_from_now()
        return self._kill(drill)

    def _believe(self, drill, mac):
        """Do all that may know of it send there?"""
        return all((entry_of(host, vip) or (None,))[0] == mac for host in self.believers
                   for vip in drill.cluster.vips if mac_of(host) != mac)

    @staticmethod
    def _kill(drill):
        drill.leader.kill("worker")
        return [drill.leader]

    # ---- what follows ----

    def hold(self, drill):
        view, leader = drill.cluster.view, drill.cluster.leader
        if drill.variant in ("a stranger", INSISTS):
            wait_until(lambda: self._is_countered(drill), "the conflict is counted", PATIENCE_S,
                       interval_s=EVERY_S)
            self.said = drill.leader.ctl("check").text
            if drill.variant == "a stranger":
                view.wait_seen(drill.leader.name, drill.struck_ms)  # by its defence
        elif drill.variant == "removed":
            wait_until(lambda: self._gained(drill, "restored"), "it is put back", PATIENCE_S)
            view.wait_seen(drill.leader.name, drill.struck_ms)
        elif drill.variant == "heard late":
            stay(drill, drill.new_leader().boot_ms - drill.since_ms + HUSHED_MS)
        else:
            view.wait_seen(leader().name, drill.since_ms)
        if drill.variant == "neighbours' caches":
            wait_until(lambda: self._believe(drill, mac_of(leader().host)),
                       "all neighbours follow", PATIENCE_S, interval_s=0.05)

    def _is_countered(self, drill):
        """Has the stranger been heard? Who insists says it all the time, and for a while."""
        if drill.variant == INSISTS:
            for vip in drill.cluster.vips:
                announce(self.stranger, vip)
            if drill.elapsed_ms() < INSISTS_MS:
                return False
        return self._gained(drill, "conflicts")

    def _gained(self, drill, what):
        name = f"dueq_vip_{what}_total"
        return drill.leader.metrics()[name] - self.before[name]

    def heal(self, drill):
        drill.network.heal_all()
        self._doubt(drill.cluster.client, *USUAL)
        if drill.variant in ("a stranger", INSISTS):
            drop(self.stranger, drill.cluster.vips)
        self.left_ms = now_ms()

    def check(self, drill, elected):
        yield from super().check(drill, elected)
        if elected and not self.takes_over(drill):
            yield "the leader changed, and only its address was in trouble"
        if drill.variant == INSISTS and not drill.sight.failures:
            yield "a stranger insisted, and no client has noticed"
        if drill.variant in ("a stranger", INSISTS) and mac_of(self.stranger) not in self.said:
            yield f"dueqctl check does not say who else has the address: {self.said}"
