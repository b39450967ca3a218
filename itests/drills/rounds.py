"""Rounds of one row: a fault under load, what it cost, the heal, and the judge over it all.

One cluster and one load serve all rounds of a row that want the same plan. A round begins when the
cluster is steady and jobs flow; it ends when they do again. Failover times are read from the
journals, on one clock:

    active    from the moment before the fault to the next leader's role, by its own journal
    served    to the first job handed over that became due after the fault and was moved since
              the next leader was active (without one: since the fault)
    stood     how late the latest job was that became due in the outage
    address   from the moment before the fault to the first answer over the virtual address, by the
              leader of then, to a connection made anew (view.py)
"""

import random
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from drills.clients.load import Load
from drills.clients.view import TOPIC as VIEW_TOPIC
from drills.hosts import safety
from drills.hosts.cluster import REHEARSAL, STANDBY
from drills.rows.vip_row import meet
from harness.wait import wait_until
from judge.journal import AWAY, LEADER, Denied, Fault, Gone, Journal, Move, Push, Role, Vip, now_ms
from judge.judge import Verdict, judge
from judge.lateness import ENOUGH_FOR_P99, dues_of, outside, percentile
from judge.moves import read_history

SERVED_S = 60
TICK_MS = 750  # lateness by a client's clock after an outage: a tick and a half


@dataclass
class Round:
    """Times in ms, None where there was none."""

    variant: str
    seed: int
    active_ms: float = None
    served_ms: float = None
    stood_ms: float = None
    sight: object = None  # what a client of the virtual address saw

    @property
    def address_ms(self):
        return self.sight and self.sight.first_ms

    @property
    def gap_ms(self):
        return self.sight and self.sight.gap_ms


@dataclass
class Result:
    row: object
    rounds: list = field(default_factory=list)
    verdict: Verdict = field(default_factory=lambda: Verdict([]))
    complaints: list = field(default_factory=list)  # of the row's own checks
    slow: list = field(default_factory=list)        # what they say of times
    said: list = field(default_factory=list)        # of each round that complains, what nodes wrote
    outside_ms: list = field(default_factory=list)
    forgotten: dict = field(default_factory=dict)  # {plan's key: the verdict's lost_before_ms}

    @property
    def failures(self):
        return [*self.complaints, *self.said, *self.slow, *self.verdict.lines()]

    def times(self, name):
        return [value for value in (getattr(each, name) for each in self.rounds)
                if value is not None]


class Drill:
    """What a row may use: the cluster, its leader when the round began, the load's journal."""

    def __init__(self, cluster, journal, load):
        self.cluster, self.journal, self.load = cluster, journal, load
        self.network = cluster.network
        self.variant, self.dice, self.leader = "", None, None
        self.since_ms = self.struck_ms = None  # before and after the fault was made
        self.sight = None
        self._tokens = set()

    def begin(self, variant, dice):
        """Until the leader is the same before and after the wait: on a busy machine the lead may
        move meanwhile, and the fault would not be the leader's."""
        self.variant, self.dice, self.sight = variant, dice, None
        while True:
            self.cluster.wait_steady()
            self.load.wait_flowing()
            self.leader = self.cluster.leader()
            if self.cluster.view:
                self.cluster.view.wait_settled(self.leader.name)
                if self.cluster.bystander:
                    meet(self.cluster)
            self._tokens = self._tokens_so_far()
            self.since_ms = now_ms()
            if self.cluster.leader() is self.leader:
                return

    def count_from_now(self):
        """For a fault with a long preparation: times are from here on."""
        self.since_ms = now_ms()

    def begin_again(self):
        """For a fault with a preparation that changes the leader: as if the round began here."""
        self.cluster.leader()
        self._tokens = self._tokens_so_far()
        self.count_from_now()

    def _tokens_so_far(self):
        return {role.token for role in self.cluster.roles() if role.role == LEADER}

    @property
    def session_ms(self):
        return self.cluster.plan.session_ms

    def elapsed_ms(self):
        return now_ms() - self.since_ms

    def look(self, from_ms):
        """What clients of the virtual address have seen of the fault that is over."""
        view = self.cluster.view
        if view:
            until_ms, after = now_ms(), self.cluster.leader().name
            view.wait_seen(after, until_ms)
            view.wait_known(self.since_ms, until_ms)
            left_ms = [each.boot_ms for each in self.cluster.events()
                       if isinstance(each, Gone) or (isinstance(each, Vip) and each.state == AWAY)]
            self.sight = view.sight(self.leader.name, after, self.since_ms, until_ms, from_ms,
                                    left_ms)

    def answers(self, outcome, since_ms):
        """How many pushes that were sent since had that answer so far."""
        return sum(push.sent_ms >= since_ms and push.outcome == outcome
                   for push in self.journal.recent(Push, since_ms))

    def is_new(self, token):
        """Has nobody led with it before the fault?"""
        return token not in self._tokens

    def new_leader(self):
        """The first role `leader` with a token that there was not before the fault; None if there is
        none yet. Not by the time: when a process ended may be learned after its successor leads."""
        roles = [role for role in self.cluster.roles()
                 if role.role == LEADER and self.is_new(role.token)]
        return min(roles, key=lambda role: role.boot_ms, default=None)

    def keep_history(self):
        """What the histories say so far, of a Redis that is to come back empty."""
        self.journal.add(*_histories_of(self.cluster))

    def first_served(self, from_ms):
        """When the first job was handed over that is due after the fault; None if none was."""
        times = [due.received_ms for due in dues_of(self.journal, from_ms)
                 if due.due_ms > self.since_ms]
        return min(times, default=None)


def run_row(row, directory, seed, rounds, variants=None, is_rehearsal=False,
            report=lambda text: None, limits=None):
    """At least so many rounds of a row: its variants in turn, all of them, or those given. The
    result, judged."""
    result = Result(row)
    variants = variants or row.variants
    turns = [variants[number % len(variants)] for number in range(max(rounds, len(variants)))]
    for key in dict.fromkeys(map(row.plan_key, turns)):
        own = [variant for variant in turns if row.plan_key(variant) == key]
        plan = row.plan(own[0])
        if is_rehearsal and plan.mode == STANDBY:
            row, plan = _Rehearsed(row), replace(plan, mode=REHEARSAL, settings={})
        _run_plan(row, plan, Path(directory) / f"{row.number}-{key or 'drill'}".replace(" ", "-"),
                  own, seed, result, report, limits)
    return result


class _Rehearsed:
    """A row without its expectations of a leader. No node talks to another there, or to ZooKeeper, so
    that a fault may strike nobody."""

    def __init__(self, row):
        self._row = row

    def __getattr__(self, name):
        return getattr(self._row, name)

    def takes_over(self, drill):  # pylint: disable=unused-argument
        return False

    def witness(self, drill):  # pylint: disable=unused-argument
        return lambda: True

    @staticmethod
    def check(*unused):
        return ()

    check_end = check_times = check_often = check


def _run_plan(row, plan, directory, variants, seed, result, report, limits):
    directory.mkdir(parents=True)
    journal = Journal(directory / "journal")
    dice = random.Random(f"{seed} {row.number}")
    with row.cluster(directory, plan) as cluster, _telling_of_denials(journal):
        load = Load(journal, cluster.addresses(), dice, host=cluster.client,
                    **row.load_options(cluster))
        with load:
            if cluster.view:
                cluster.view.start()
            drill = Drill(cluster, journal, load)
            for variant in variants:
                result.rounds.append(_run_round(row, drill, variant, dice.getrandbits(32), result,
                                                limits))
                report(_line_of(row, len(result.rounds), result.rounds[-1]))
            load.wait_flowing()
            result.complaints += [f"row {row.number} at the end: {text}"
                                  for text in row.check_end(cluster)]
            if safety.current():
                safety.current().wait_kept(cluster.store)
            result.slow += [f"row {row.number} at the end: {text}"
                            for text in (row.check_often(cluster) if limits else ())]
        row.before_drain(cluster)
        if cluster.view:
            cluster.view.stop_pushing()
        load.drain([VIEW_TOPIC] if cluster.view else [])
        load.finish()
        for watch in filter(None, (cluster.view, cluster.holders)):
            watch.close()
        if cluster.elects:
            _give_time_to_lead(cluster)
        journal.add(*cluster.events(), *cluster.stalls(), *cluster.clocks, *_history_of(cluster),
                    *_jobs_of(cluster))
        for node in (*cluster.nodes, *cluster.spares):
            node.check_sanitizers()
    journal.close()
    report(f"  {row.number:>3}  {journal.summary()}")
    verdict = judge(journal, limits, plan.lock_ms if plan.shares else None, plan.round_trip_ms)
    allowed = row.allowed_rules(plan)
    result.verdict.violations += [each for each in verdict.violations if each.rule not in allowed]
    result.verdict.explained.update(verdict.explained)
    if row.must_lose(variants) and not verdict.lost_before_ms:
        result.complaints.append(f"row {row.number} {variants[0]}: no push was lost, in no round")
    if verdict.lost_before_ms:
        result.forgotten[row.plan_key(variants[0])] = verdict.lost_before_ms
    result.verdict.explained.update(each.rule for each in verdict.violations
                                    if each.rule in allowed)
    if "LATE" not in allowed:
        result.outside_ms += outside(journal, TICK_MS)


@contextmanager
def _telling_of_denials(journal):
    """Where clients are denied for good, that is why something was waited for in vain."""
    try:
        yield
    except AssertionError as error:
        denied = journal.of(Denied)
        if not denied:
            raise
        why = ", ".join(sorted({f"{each.code} at {each.node}" for each in denied}))
        raise AssertionError(f"{error}; {len(denied)} requests were denied: {why}") from error


def _give_time_to_lead(cluster):
    """On a busy machine a lease may have run out just now, and will be taken again. Whether anybody
    leads in the end is for the judge to say."""
    with suppress(AssertionError):
        wait_until(lambda: any(node.leads for node in cluster.nodes), "a node leads", SERVED_S,
                   interval_s=0.02)


def _names(nodes):
    return None if nodes is None else tuple(node.name for node in nodes)


def names_hit(hit, dead):
    """All that clients may call the nodes that a fault hit, the killed ones among them; None: any
    may be."""
    if hit is None:
        return None
    return tuple(name for node in (*hit, *dead) for name in (node.name, _address_of(node)))


def _address_of(node):
    return "%s:%d" % node.http_address


def _history_of(cluster):
    """Who moved what, and handed over what."""
    if cluster.ledger:
        cluster.ledger.read()
        yield from cluster.ledger.events
    yield from _histories_of(cluster)


def _histories_of(cluster):
    """Nothing where Redis's clock is not everybody's: it cannot be told in time."""
    if cluster.plan.wrong_clock == "redis":
        return
    names = {node.name: _address_of(node) for node in (*cluster.nodes, *cluster.spares)
             if _address_of(node) in map("%s:%d".__mod__, cluster.addresses())}
    for master in cluster.store.masters:
        with master.client() as client:
            yield from (each for each in read_history(client, names)
                        if not (cluster.plan.shares and isinstance(each, Move)))


def _jobs_of(cluster):
    """Of the client that knows the address alone."""
    return cluster.view.jobs() if cluster.view else ()


def _run_round(row, drill, variant, seed, result, limits):
    drill.begin(variant, random.Random(seed))
    done = Round(variant, seed)
    start = drill.since_ms
    hit, deposed, has_struck = None, None, row.witness(drill)
    try:
        dead = row.fault(drill) or ()
        drill.struck_ms, outage_ms = now_ms(), drill.since_ms
        hit, deposed = row.hit(drill), _names(row.deposes(drill))
        done.variant = drill.variant  # a row may have said more
        elected = _next_leader(row, drill)
        served = row.wait_served(drill, elected)
        row.hold(drill)
        is_void = not has_struck()
    finally:
        row.heal(drill)
    drill.cluster.wait_steady()
    served = row.wait_healed(drill) or served
    drill.load.wait_flowing()
    elected = elected or drill.new_leader()
    drill.look(row.address_from_ms(drill))
    served_ms = served if served is not None else now_ms()
    fault = Fault(f"{row.number} {row.title} {done.variant}".strip(), start, now_ms(), served_ms,
                  row.changes, tuple(node.name for node in dead), drill.struck_ms,
                  names_hit(hit, dead), deposed, outage_ms)
    drill.journal.add(fault)
    complaints = list(row.check(drill, elected))
    if is_void:
        complaints.append("the round is void: nothing shows that its fault has struck")
    if complaints:
        result.said.append(f"row {row.number} {done.variant}, seed {seed}: "
                           f"{_said_by_nodes(drill, start)}")
    slow = list(row.check_times(drill)) if limits else []
    done.sight = drill.sight
    done.active_ms = elected.boot_ms - drill.since_ms if elected else None
    done.served_ms = served - row.served_from_ms(drill) if served is not None else None
    done.stood_ms = row.stood_ms(drill, fault)
    for found, texts in ((result.complaints, complaints), (result.slow, slow)):
        found += [f"row {row.number} {done.variant}, seed {seed}: {text}" for text in texts]
    return done


def _said_by_nodes(drill, since_ms):
    """For people: of which leaders and holders of the address nodes wrote, and when new connections
    failed."""
    failed_ms = sorted(drill.sight.failed_ms) if drill.sight else []
    events = [(each.boot_ms, f"{each.node} {each.role} {each.reason}" if isinstance(each, Role)
               else f"{each.node} address {each.state}")
              for each in drill.cluster.events() if isinstance(each, (Role, Vip))]
    events += [(each.boot_ms, f"{each.node} stood still for {each.ms:.0f} ms")
               for each in drill.cluster.stalls()]
    if failed_ms:
        events += [(failed_ms[0], f"the first of {len(failed_ms)} connections that failed"),
                   (failed_ms[-1], "the last of them")]
    return "\n".join(["what was written down in that round, in ms:", *(
        f"{at_ms - since_ms:10.1f}  {text}" for at_ms, text in sorted(events) if at_ms >= since_ms)])


def _next_leader(row, drill):
    if not row.takes_over(drill):
        return None
    return wait_until(drill.new_leader, "another node leads", SERVED_S, interval_s=0.005)


def _line_of(row, number, done):
    times = ", ".join(f"{name} {value:.1f} ms" for name, value in (
        ("active", done.active_ms), ("served", done.served_ms), ("stood", done.stood_ms),
        ("address", done.address_ms)) if value is not None)
    seen = f" ({done.sight.told})" if done.sight and done.sight.told else ""
    return f"  {row.number:>3}  round {number:<3} {done.variant:<26} {times}{seen}"


def summary(values):
    """(median, p99, worst); None of nothing. A few values have no p99."""
    if not values:
        return None
    p99 = percentile(values, 0.99) if len(values) >= ENOUGH_FOR_P99 else None
    return percentile(values, 0.5), p99, max(values)
