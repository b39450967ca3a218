"""What a round reads from the journals: who leads since the fault, and since when jobs are served."""

import json
from collections import Counter
from types import SimpleNamespace

import pytest

from drills import ci
from drills.clients.view import Sight
from drills.page import measured, page_of
from drills.rounds import Drill, Result, Round, names_hit, summary
from drills.rows.matrix import MATRIX
from drills.rows.row import Row
from drills.table import json_of, table_of
from judge.jobs import Violation
from judge.journal import OK, HandOver, Journal, Push, Role, Tail

FAULT_MS = 1000
WALL_MS = 5000  # Redis's clock is so far ahead of the journals'


def leads(node, token, at):
    return Role(node, "leader", at, token)


def drill_of(roles=(), journal=None):
    cluster = SimpleNamespace(network=None, roles=lambda: roles)
    drill = Drill(cluster, journal or Journal(), load=None)
    drill.since_ms, drill._tokens = FAULT_MS, {"e:1"}
    return drill


def served(id, due, received, delay_ms=100, attempt=1):
    return HandOver(id, "t", id, attempt, due + WALL_MS, received - 10, received,
                    received + WALL_MS, "n1", delay_ms)


def test_a_round_begins_with_who_leads_when_all_is_ready():
    """The lead moves while one waits for the clients to be with the leader."""
    one, two = (SimpleNamespace(name=name, role=lambda name=name: leads(name, f"e:{name}", 0))
                for name in ("n1", "n2"))
    cluster = SimpleNamespace(network=None, bystander=None, wait_steady=lambda: None)
    cluster.leader = lambda: cluster.leads
    cluster.leads = one
    cluster.roles = lambda: [cluster.leads.role()]
    cluster.view = SimpleNamespace(wait_settled=lambda name: setattr(cluster, "leads", two))
    drill = Drill(cluster, None, SimpleNamespace(wait_flowing=lambda: None))
    drill.begin("", None)
    assert drill.leader is two
    cluster.roles = lambda: [leads("n2", "e:n2", drill.since_ms + 1)]
    assert drill.new_leader() is None, "the leader's own token"


def test_a_fault_hits_whoever_it_kills():
    one, two = (SimpleNamespace(name=name, http_address=(f"{name}.test", 8000))
                for name in ("n1", "n2"))
    assert names_hit([one], ()) == ("n1", "n1.test:8000")
    assert {"n1", "n2"} < set(names_hit([one], [one, two]))
    assert names_hit(None, [two]) is None, "any may be"


def test_the_next_leader_is_the_first_with_another_token_after_the_fault():
    assert drill_of([leads("n1", "e:1", 0)]).new_leader() is None
    assert drill_of([leads("n1", "e:1", 0), leads("n1", "e:1", 1500)]).new_leader() is None
    assert drill_of([leads("n1", "e:1", 0), Role("n2", "standby", 1400)]).new_leader() is None
    found = drill_of([leads("n3", "e:3", 1700), leads("n1", "e:1", 0),
                      leads("n2", "e:2", FAULT_MS - 5)]).new_leader()
    assert (found.node, found.boot_ms) == ("n2", FAULT_MS - 5), "the fault was learned of late"


@pytest.mark.parametrize("hand_overs, expected", [
    ([], None),
    ([served("a", 1290, 1310)], 1310),
    ([served("b", 1290, 1320), served("a", 1290, 1310)], 1310),
    ([served("a", 990, 1310)], None),               # due before the fault: moved before, perhaps
    ([served("a", 1100, 1200)], None),              # the old leader was still there
    ([served("a", 1290, 1310, delay_ms=0)], None),  # no scanner moved it
    ([served("a", 1290, 1310, attempt=2)], None),
])
def test_served_is_the_first_job_that_the_new_leader_moved(hand_overs, expected):
    journal = Journal()
    journal.add(*hand_overs)
    assert drill_of(journal=journal).first_served(from_ms=1300) == expected


def test_the_page_has_a_line_for_each_variant_and_says_whether_targets_are_met():
    orderly = Result(MATRIX["3"], [Round("SIGTERM", 1, 20.0, 30.0, 45.4),
                                   Round("switchover", 2, 21.0, 31.0, 61.0)])
    text = page_of({"3": measured(orderly)})
    assert "| 3 | orderly: SIGTERM, switchover: SIGTERM | 1 | 20 / - / 20 | 30 / - / 30 |" in text
    assert "connections over the address" not in text
    assert "|  | switchover | 1 | 21 / - / 21 |" in text
    assert "Row 3 SIGTERM: target 50 ms p99 (due jobs stand still); median 45, worst 45: met." in text
    assert "median 61, worst 61: missed by 11 ms." in text


def test_the_page_has_a_verdict_for_each_variant_that_has_a_target_of_its_own():
    shared = Result(MATRIX["28"], [Round("joins", 1, None, None, 45.4),
                                   Round("killed", 2, None, None, 120.0)])
    text = page_of({"28": measured(shared)})
    assert "| 28 | a node joins, leaves, is killed, is cut off: joins | 1 | - | - | 45 / - / 45 |" \
        in text
    assert "- Row 28 joins: target 50 ms p99 (a topic stands still); median 45, worst 45: met." in text
    assert "- Row 28 killed: target 100 ms p99 (a topic stands still); median 120, worst 120: missed by 20 ms." in text
    assert "Row 28 leaves" not in text


def test_the_page_says_what_clients_of_the_address_saw():
    sights = [Sight(first, gap, Counter(failed), Counter(broken), Counter({"in order": 4}))
              for first, gap, failed, broken in ((40.0, 12.0, {}, {"closed": 1}),
                                                 (44.0, 13.0, {"crossed": 2}, {}),
                                                 (90.0, 14.0, {"refused": 3}, {}))]
    fine = Result(MATRIX["3"], [Round("SIGTERM", 1, 20.0, 30.0, 45.4, sights[0]),
                                Round("switchover", 2, 21.0, 31.0, 45.0, sights[1])])
    text = page_of({"3": measured(fine)})
    assert "| 45 / - / 45 | 40 / - / 40 | 0 | 0 | 0 |" in text
    assert "| 45 / - / 45 | 44 / - / 44 | 0+2 |  |  |" in text
    assert "Row 3 switchover: target 0 new connections that fail over the address; 0+2: met." in text
    assert ("- Row 3 SIGTERM, connections over the address: open 1 closed; waiting 4 in order.\n"
            in text)
    bad = Result(MATRIX["3"], [Round("SIGTERM", 1, 20.0, 30.0, 45.4, sights[2])])
    assert "fail over the address; 3: missed." in page_of({"3": measured(bad)})
    killed = Result(MATRIX["1"], [Round("", 1, 20.0, 30.0, 45.4, sights[2])])
    text = page_of({"1": measured(killed)})
    assert "Row 1: target 60 ms p99 (first answer over the address); median 90" in text
    (row,) = json_of([killed], 1)["rows"]
    assert (row["address_ms"]["worst"], row["gap_ms"]["worst"]) == (90.0, 14.0)
    assert row["connections"] == {"failed": {"refused": 3}, "open": {}, "waiting": {"in order": 4}}
    assert table_of([killed])[1].split()[-3:] == ["3", "-", "0"]


def test_the_page_says_in_how_many_rounds_the_leader_changed_and_what_the_row_notes():
    row = type(MATRIX["8"])()
    row.note = "a note"
    rounds = [Round("cut", 1, 2000.0), Round("cut", 2), Round("cut", 3), Round("frozen", 4, 2100.0)]
    text = page_of({"8": measured(Result(row, rounds))})
    assert "attached to is cut off or frozen: cut | 3 | 2000 / - / 2000 (in 1) | - | - |" in text
    assert "|  | frozen | 1 | 2100 / - / 2100 | - | - |" in text
    assert "- Row 8: a note.\n" in text


def test_the_page_says_what_redis_has_forgotten_and_since_when():
    result = Result(MATRIX["12"], [Round("killed, everysec", 1, None, 30.0, 40.0),
                                   Round("restarted, everysec", 2, None, 20.0, 40.0),
                                   Round("killed, always", 3, None, 25.0, 40.0)])
    result.forgotten["everysec"] = [12.0, 904.4, 30.0]
    result.verdict.explained.update(LOST=3, RETURNED=2)
    text = page_of({"12": measured(result)})
    assert ("- Row 12: lost with everysec: 3 in 2 rounds, 904 ms before the end at most; counted "
            "apart: 2 RETURNED.\n") in text
    assert "Row 12 killed, everysec: target 1000 ms p99 (first job)" in text


def test_the_page_says_why_a_row_has_violations_and_lateness_and_counts_them_apart():
    result = Result(MATRIX["28"], [Round("joins", 1, None, None, 45.4)],
                    complaints=["row 28 joins, seed 1: no topic has changed its node"],
                    slow=["row 28 joins, seed 2: a topic stood still for 840 ms, 50 ms are promised"])
    result.verdict.violations += [Violation("LOST", "a", "nowhere now"),
                                  Violation("LOST", "b", "nor this"),
                                  Violation("LATE", "", "outside faults p99 is 60 ms")]
    result.verdict.explained.update(LOST=2, DEPOSED=1)
    text = page_of({"28": measured(result)})
    assert "| 45 / - / 45 | - | - | 3 | 2 |" in text
    assert "- Violated or late, row 28 joins, seed 1: no topic has changed its node.\n" in text
    assert ("- Violated or late, row 28 joins, seed 2: a topic stood still for 840 ms, 50 ms are "
            "promised.\n") in text
    assert "- Violated or late, row 28, 2 LOST: a: nowhere now.\n" in text
    assert "- Violated or late, row 28, 1 LATE: outside faults p99 is 60 ms.\n" in text
    assert "counted apart: 1 DEPOSED and 2 LOST, without a TTR, on their way.\n" in text
    assert table_of([result])[1].split()[-1] == "5"


def test_the_page_says_that_leases_were_forgotten_where_no_push_was():
    result = Result(MATRIX["14"], [Round("killed, min_replicas 1", 1, None, 30.0, 40.0)])
    result.verdict.explained.update(TWICE=4)
    assert "- Row 14: counted apart: 4 TWICE.\n" in page_of({"14": measured(result)})


@pytest.mark.parametrize("is_long", [False, True])
def test_rows_on_tour_run_in_all_their_variants_where_there_is_time(monkeypatch, tmp_path, is_long):
    ran = []
    monkeypatch.setattr(ci, "MATRIX", {number: MATRIX[number] for number in ("5", "6", "7", "8b")})
    monkeypatch.setattr(ci, "IS_LONG", is_long)
    monkeypatch.setattr(ci, "is_sanitized", lambda: False)
    monkeypatch.setattr(ci, "run_row", lambda row, *_, variants, **more: ran.append(
        [row.number, *variants]) or SimpleNamespace(failures=[], rounds=variants))
    for numbers in ci.with_tours(("6+7",)):
        ci.run_once(numbers, tmp_path)
    alone = {number: [number, *(MATRIX[number].long_variants if is_long else
                                MATRIX[number].short_variants)] for number in ("5", "6", "7", "8b")}
    tour = ["6", *(f"{number} {variant}" for number in "67" for variant in alone[number][1:])]
    assert ran == (list(alone.values()) if is_long else [tour, alone["5"], alone["8b"]])


class Checked(Row):
    """Says that it has been asked."""

    variants = ("one",)

    def __init__(self, number):
        self.number = number

    short_variants = variants

    def witness(self, drill):
        return f"seen by {self.number} {drill.variant}"

    def fault(self, drill):
        return f"made by {self.number} {drill.variant}"

    def check_end(self, cluster):
        yield self.number


class CheckedOtherwise(Checked):
    def check_end(self, cluster):
        yield "otherwise"


def test_each_round_of_a_tour_is_its_own_rows_from_the_beginning():
    tour = ci.Tour([Checked("1"), Checked("2")])
    for number, variant in zip("12", tour.variants):
        drill = SimpleNamespace(variant=variant)
        assert tour.witness(drill) == f"seen by {number} one"
        assert tour.fault(drill) == f"made by {number} one" and tour.number == number


def test_a_tour_ends_with_the_checks_of_all_its_rows_each_once():
    tour = ci.Tour([Checked("1"), CheckedOtherwise("2"), Checked("3")])
    assert list(tour.check_end(None)) == ["3", "otherwise"]


def test_recent_events_are_found_from_the_end_though_threads_write_out_of_order():
    journal = Journal()
    for ended in (1, 2000, 3000, 5000, 4900, 5100):
        journal.add(Push(str(ended), "t", 0, 0, ended, ended, OK))
    assert [push.id for push in journal.recent(Push, 4950)] == ["5100", "5000"]
    assert len(list(journal.recent(Push, 0))) == 6


def test_a_tail_reads_each_line_once_and_waits_for_whole_ones(tmp_path):
    path = tmp_path / "ha.journal"
    tail = Tail(path)
    assert tail.events() == []
    line = json.dumps({"event": "role", "node": "n1", "role": "standby", "boot_ms": 1}) + "\n"
    path.write_text(line + line[:10])
    assert tail.events() == [Role("n1", "standby", 1)]
    with open(path, "a", encoding="utf-8") as file:
        file.write(line[10:])
    assert tail.events() == [Role("n1", "standby", 1)] * 2
    assert tail.events() == [Role("n1", "standby", 1)] * 2


def test_a_summary_has_a_p99_from_a_hundred_rounds_on():
    assert summary([]) is None
    assert summary([3, 1, 2]) == (2, None, 3)
    assert summary(list(range(1, 101))) == (50, 99, 100)
