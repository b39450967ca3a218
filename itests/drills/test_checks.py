"""What the rows check beside the judge, each broken on purpose: who leads when it should not, or
does not say what to do, or takes too long."""

from collections import Counter
from types import SimpleNamespace

import pytest

from drills.clients.view import Sight
from drills.graceful import MOST_CROSSED, InOrder
from drills.hosts.nodes import HostNode
from drills.rows.matrix import MATRIX
from judge.journal import OK, REFUSED, Role, Stall, Vip
from judge.tubes import Got, Put, Record, Said

T_MS = 2000
OLD, NEW = Role("n1", "leader", 0, "e:1"), Role("n2", "leader", 1, "e:2")


def checked(number, variant="", elected=None, failed_pushes=0, sight=None, events=(),
            **state):
    """The complaints of a row of its own, whose rounds left that state. Nobody looks at the virtual
    address: test_vip_row.py does."""
    row = type(MATRIX[number])()
    vars(row).update(state)
    cluster = SimpleNamespace(view=None, events=lambda: events, stalls=lambda: [
        each for each in events if isinstance(each, Stall)])
    drill = SimpleNamespace(variant=variant, leader=SimpleNamespace(name="n1"), since_ms=0,
                            session_ms=T_MS, answers=lambda outcome, since_ms: failed_pushes,
                            cluster=cluster, sight=sight)
    return [*row.check(drill, elected), *row.check_times(drill)]


@pytest.mark.parametrize("variant, after, complaints", [
    ("redis back", {"n1": (1, 1), "n2": (2, 1)}, 0),
    ("redis back", {"n1": (1, 1), "n2": (0, 0)}, 1),
    ("redis back", {"n1": (1, 0), "n2": (0, 1)}, 2),
    ("node back", {"n1": (0, 0), "n2": (0, 0)}, 0),
    ("node back", {"n1": (1, 1), "n2": (0, 0)}, 1)])
def test_of_redis_s_clock_every_node_tells_and_of_its_own_none(variant, after, complaints):
    before = {"n1": (0, 0), "n2": (0, 0)}
    assert len(checked("17", variant, told=before, told_after=after)) == complaints


@pytest.mark.parametrize("number, variant", [
    ("6", "peers"), ("6", "client"), ("6", "a standby from redis"), ("6", "all from redis"),
    ("7", "to peers"), ("7", "from client"), ("8b", "cut"),
    ("8b", "reset"), ("17", "node forward"), ("18", "standbys"), ("25", "")])
def test_the_leader_changed_and_had_no_reason(number, variant):
    assert checked(number, variant) == []
    assert len(checked(number, variant, elected=NEW)) == 1


@pytest.mark.parametrize("number, variant", [
    ("6", "zookeeper"), ("6", "redis"), ("7", "to everybody"), ("8b", "cut, and from zookeeper"), ("18", "all")])
def test_the_leader_changed_and_had_a_reason(number, variant):
    assert checked(number, variant, elected=NEW) == []


def test_pushes_fail_in_a_switchover():
    assert checked("3", "switchover") == []
    assert len(checked("3", "switchover", failed_pushes=2)) == 1


@pytest.mark.parametrize("kind, complaints", [
    ("refused", 1), ("lost", 1), ("reset", 1), ("closed", 1), ("silent", 1), ("503", 1),
    ("crossed", 0)])  # the leader before had taken it
def test_new_connections_fail_when_the_lead_is_given_away(kind, complaints):
    for variant in ("SIGTERM", "switchover"):
        sight = Sight(failed=Counter({kind: 1}), broken=Counter(closed=1), popped=Counter(reset=1))
        assert len(checked("3", variant, sight=sight)) == complaints


def waited(away, led=None, held=None):
    """What is written when the leader before goes with its address, and another leads and puts
    it."""
    return [Vip("n1", "leaving", 10), Vip("n1", "away", away),
            *([Role("n2", "leader", led, "e:2")] if led else ()),
            *([Vip("n2", "held", held)] if held else ())]


def lost_lease(at, leads_again, reason="lease_over"):
    return [NEW, Role("n2", "offline", at, reason=reason), Role("n2", "leader", leads_again, "e:2")]


def hung(node, until, ms, is_last=True):
    """Its warden ended it, and another leads."""
    return [NEW, Role(node, "offline", until, reason="died"), Role("n1", "leader", until + 100, "e:3"),
            Stall(node, until, ms, is_last)]


def lost(*failed_ms):
    return Sight(failed=Counter(lost=len(failed_ms)), failed_ms=list(failed_ms))


@pytest.mark.parametrize("sight, events, complaints", [
    (lost(1000), waited(1009, 1500, 1502), 1),
    (lost(1000), waited(1010, 1500, 1502), 0),  # there was no other yet
    (lost(1000), waited(1010, 911, 915), 0),    # not heard yet
    (lost(510, 2000), waited(1010, 1500, 1502), 0),
    (lost(509), waited(1010, 1500, 1502), 1),   # long before
    (lost(2001), waited(1010, 1500, 1502), 1),  # long after
    (lost(1000), waited(1010), 1),              # nobody leads
    (lost(1000), waited(1010, 40), 1),          # it leads, and has not put it in all that time
    (lost(1000), waited(1010, 40, 1012), 1),    # but when the other had gone
    (lost(1000), waited(1010, 910, 912), 1),    # not heard
    (lost(5000), [Vip("n1", "away", 5000)], 1),  # it did not wait
    (lost(2500, 3500), lost_lease(3000, 3200), 0),
    (lost(1000, 6510), waited(1010, 9000, 9002), 0),
    (lost(1000, 6511), waited(1010, 9000, 9002), 1),  # nobody is late for so long
    (lost(8500), lost_lease(3000, 9000), 0),
    (lost(8501), lost_lease(3000, 9000), 1),
    (lost(3100, 3701), lost_lease(3000, 3200), 1),  # long after it led again
    (lost(2499), lost_lease(3000, 3200), 1),
    (lost(2500, 4500, 8000), [*lost_lease(3000, 4000), *lost_lease(6500, 7500)[1:]], 0),
    (lost(5500), [*lost_lease(3000, 4000), *lost_lease(6501, 7500)[1:]], 1),  # it was back for longer
    (lost(5500), [*lost_lease(3000, 4000), *lost_lease(6500, 8001)[1:]], 1),  # too long in all
    (lost(8501), [*lost_lease(3000, 4000), *lost_lease(6500, 8000)[1:]], 1),
    (lost(3100), lost_lease(3000, 3200, reason="deposed"), 1),
    (lost(1600, 3100), [*lost_lease(4000, 3000, reason="expired"), Stall("n2", 4000, 1900)], 0),
    (lost(1599), [*lost_lease(4000, 3000, reason="expired"), Stall("n2", 4000, 1900)], 1),
    (lost(3501), [*lost_lease(4000, 3000, reason="expired"), Stall("n2", 4000, 1900)], 1),
    (lost(3100), [*lost_lease(4000, 3000, reason="expired"), Stall("n3", 4000, 1900)], 1),
    (lost(3100), [*lost_lease(4000, 3000, reason="switchover"), Stall("n2", 4000, 1900)], 1),
    (lost(3100), [*hung("n2", 3600, 700), Stall("n3", 3300, 600)], 0),
    (lost(3100), hung("n2", 3600, 700), 1),  # alone: that may be its own fault
    (lost(3100), [*hung("n2", 3600, 700), Stall("n2", 3300, 600, is_loop=True)], 1),  # its own loop
    (lost(3100), [*hung("n2", 3600, 700), Stall("n2", 3300, 600)], 0),                # its warden
    (lost(3100), [*hung("n2", 3600, 700), Stall("n3", 3300, 600, is_loop=True)], 0),
    (lost(3100), [*hung("n2", 3600, 700), Stall("n3", 2900, 600)], 1),  # before it
    (lost(3100), [*hung("n2", 3600, 700, is_last=False), Stall("n3", 3300, 600)], 1),
    (lost(3100), [*hung("n2", 3600, 700)[:-1], Stall("n3", 3600, 700, True), Stall("n1", 3300, 600)], 1),
    (lost(3100), [*hung("n3", 3600, 700), Stall("n1", 3300, 600)], 1),  # it did not lead
    (lost(3000), [NEW, Role("n3", "offline", 3000, reason="lease_over")], 1),
    (lost(1), [NEW, Role("n1", "offline", 2)], 1)])
def test_new_connections_may_fail_when_the_new_leader_is_late(sight, events, complaints):
    assert len(checked("3", "switchover", sight=sight, events=events)) == complaints


@pytest.mark.parametrize("rounds, late, crossed, complaints", [
    (1, 1, 3, 0), (2, 1, 4, 0), (2, 2, 4, 1), (200, 12, 103, 0), (200, 13, 0, 1), (2, 0, 5, 1), (200, 0, 104, 1),
    (200, 200, 200, 2)])
def test_what_is_excused_has_to_be_rare(rounds, late, crossed, complaints):
    judge, events = InOrder(), waited(1010, 1500, 1502)
    for number in range(rounds):
        sight = lost(*([1000] if number < late else ()))
        sight.failed["crossed"] = min(crossed, MOST_CROSSED)
        crossed -= sight.failed["crossed"]
        assert not list(judge.check(round_of(sight, events)))
    assert len(list(judge.check_often())) == complaints


def test_many_cross_in_one_round():
    sight, judge = lost(), InOrder()
    sight.failed["crossed"] = MOST_CROSSED + 1
    assert not list(judge.check(round_of(sight, [])))
    assert len(judge.check_times()) == 1 and not judge.check_times(), "each round's own"


@pytest.mark.parametrize("sight, events, complaints, slow", [
    (lost(3100, 3700), lost_lease(3000, 3200), 0, 0),
    (lost(3100, 3701), lost_lease(3000, 3200), 0, 1),       # long after it led again
    (lost(8501), lost_lease(3000, 9000), 0, 1),             # nobody leads for long
    (lost(5500), [*lost_lease(3000, 4000), *lost_lease(6501, 7500)[1:]], 0, 1),
    (lost(5500), [*lost_lease(3000, 4000), *lost_lease(6500, 8001)[1:]], 0, 1),
    (lost(1000), waited(1010, 40, 1012), 0, 1),             # its successor led, and was not heard
    (lost(0), lost_lease(3000, 3200), 0, 1),                # a client waits for so long
    (lost(-1, 3100), lost_lease(3000, 3200), 1, 0),         # begun long before
    (lost(1000), waited(1009, 1500, 1502), 1, 0),           # by nobody's word
    (lost(3100), lost_lease(3000, 3200, reason="deposed"), 1, 0),
    (lost(3100), hung("n2", 3600, 700), 1, 0)])
def test_how_long_new_connections_may_fail_is_a_matter_of_times(sight, events, complaints, slow):
    """CI does not judge them; that a node says why, it does."""
    judge = InOrder()
    stalls = [each for each in events if isinstance(each, Stall)]
    done = round_of(sight, [each for each in events if not isinstance(each, Stall)], stalls)
    assert len(list(judge.check(done))) == complaints
    assert len(judge.check_times()) == slow


def round_of(sight, events, stalls=()):
    return SimpleNamespace(leader=SimpleNamespace(name="n1"), since_ms=0, sight=sight,
                           cluster=SimpleNamespace(events=lambda: events, stalls=lambda: stalls))


def test_another_leads_after_a_quorum_was_lost():
    assert checked("10", "stop 1 s", elected=OLD, stood=[]) == []
    assert len(checked("10", "stop 1 s", elected=NEW, stood=[])) == 1
    assert checked("10", "stop at start", elected=NEW, stood=[]) == []


def test_due_jobs_stand_still_in_spite_of_failsafe():
    assert checked("10", "failsafe 3T", stood=[10, T_MS]) == []
    assert len(checked("10", "failsafe 3T", stood=[10, T_MS + 1])) == 1
    assert checked("10", "stop 3T", stood=[T_MS + 1]) == []


def test_a_wrong_set_up_is_not_refused_in_words():
    def spare(text):
        return SimpleNamespace(output=lambda: text)

    assert checked("19", "buckets", code=1, spare=spare("use store.buckets 64")) == []
    assert len(checked("19", "buckets", code=0, spare=spare("use store.buckets 64"))) == 1
    assert len(checked("19", "buckets", code=1, spare=spare("no"))) == 1
    assert len(checked("19", "buckets", NEW, code=1, spare=spare("use store.buckets 64"))) == 1


def test_an_upgrade_is_none():
    assert checked("20", builds=["1 of a", "2 of b"], cached=[3, 3]) == []
    assert checked("20", builds=["1 of a", "2 of b"], cached=[]) == [], "no script has changed"
    assert len(checked("20", builds=["1 of a"], cached=[3, 3])) == 1
    assert len(checked("20", builds=["1 of a", "2 of b"], cached=[0, 3])) == 1


def test_a_loop_stalls_while_names_are_slow():
    assert checked("23", stall_ms=10) == []
    assert len(checked("23", stall_ms=10.5)) == 1
    assert len(checked("23", stall_ms=4900)) == 2, "that is the name service, on a busy machine too"


def test_who_is_dead_of_another_fault_is_not_frozen():
    node = HostNode.__new__(HostNode)
    node.process, node._frozen = None, []  # pylint: disable=protected-access
    for who in ("worker", "both"):
        node.freeze(who)
    assert not node._frozen  # pylint: disable=protected-access


@pytest.mark.parametrize("number, variant, hit", [
    ("1", "", ["n1"]), ("4", "both for 2T", ["n1"]), ("6", "a standby from redis", ["n2"]),
    ("6", "client", ["n1"]), ("6", "peers", []), ("6", "zookeeper", []), ("6", "all from redis", ["n1", "n2"]), ("10", "stop 3T", ["n1"]),
    ("12", "killed, none", None), ("18", "standbys", ["n2"]), ("20", "upgrade", ["n1", "n2"]),
    ("21", "", None), ("24", "", None), ("28", "killed", ["n2"]), ("29", "for 2T", []),
    ("29", "and a node killed", []), ("31", "frozen", None)])
def test_whose_deliveries_a_fault_may_break(number, variant, hit):
    row, nodes = type(MATRIX[number])(), [SimpleNamespace(name=f"n{i}", host=i) for i in (1, 2)]
    row.victim, row.victims = nodes[1], nodes[1:]
    cluster = SimpleNamespace(nodes=nodes, standbys=lambda: nodes[1:], leader=lambda: nodes[0],
                              hosts_of=lambda who: [1, 2] if who == "nodes" else ["other"],
                              peers_of=lambda node: [2])
    drill = SimpleNamespace(variant=variant, cluster=cluster, leader=nodes[0],
                            network=SimpleNamespace(cut=lambda *sides: None, hosts={}))
    if number == "6":
        row.fault(drill)
    found = row.hit(drill)
    assert found == hit if hit is None else [node.name for node in found] == hit


def of_tubes(*words, drained=True, back=(100,), variant="killed", cut=False):
    """What row 33 complains about when a job was put, handed out once, and these words were said."""
    record = Record([Put("a", 0, 3_600_000, 10, 20, OK)], [Got("a", 1, 30, 25)], list(words))
    tubes = SimpleNamespace(record=record, was_cut=lambda since_ms: cut)
    return checked("33", variant, tubes=tubes, drained=drained, back=list(back))


def test_what_beanstalkd_s_clients_saw_is_judged():
    deleted = Said("a", 1, "delete", 40, 50, OK)
    assert of_tubes(deleted) == []
    assert len(of_tubes()) == 1, "it is lost"
    assert len(of_tubes(Said("a", 1, "touch", 35, 36, REFUSED), deleted)) == 1, "it was taken"
    assert len(of_tubes(deleted, drained=False)) == 1
    assert len(of_tubes(deleted, back=[100, 15_001])) == 1, "it came back too late"
    assert of_tubes(deleted, cut=True) == []
    assert len(of_tubes(deleted, variant="switchover", cut=True)) == 1
