"""What a change of the nodes may move."""

from collections import Counter
from random import Random
from types import SimpleNamespace

import pytest

from drills.clients.load import TOPICS, Load
from drills.sharing import Standstill, fair_share, unfair
from judge.journal import Journal
from judge.ledger import Late


@pytest.mark.parametrize("changes, joins, says", [
    ({("n1", "n2"): 10, ("n1", "n3"): 12}, False, None),
    ({("n2", "n1"): 15, ("n3", "n1"): 12}, True, None),
    ({}, False, None),
    ({("n1", "n2"): 10, ("n2", "n3"): 1}, False, "1 from n2 to n3"),
    ({("n2", "n1"): 10, ("n2", "n3"): 1}, True, "1 from n2 to n3"),
    ({("n1", "n2"): 10}, True, "only n1 came, and topics moved: 10 from n1 to n2"),
    ({("n1", "n2"): 60}, False, "60 of 96 topics moved"),
])
def test_only_a_fair_share_of_topics_changes_its_node(changes, joins, says):
    wrong = list(unfair(Counter(changes), 96, "n1", 3, joins))
    assert wrong == [] if says is None else says in "".join(wrong)


def test_a_fair_share_is_one_in_so_many_and_what_chance_adds():
    assert 32 < fair_share(96, 3) < 51
    assert 333 < fair_share(1000, 3) < 400


@pytest.mark.parametrize("late, quiet_ms", [
    ([("mine", 9_990, 9_995)], 5), ([("other", 9_990, 9_995)], 0), ([("mine", 8_999, 9_995)], 0),
    ([("mine", 9_990, 16_000)], 10),  # what the fault did to it is not of the quiet time
    ([("mine", 9_000, 9_030), ("mine", 9_990, 16_000)], 30)])
def test_a_quiet_time_ends_with_the_fault(late, quiet_ms):
    moved = [Late(topic, at - due, due, at, "n1") for topic, due, at in late]
    ledger = SimpleNamespace(moved_late=lambda from_ms, until_ms: [
        each for each in moved if from_ms <= each.due_ms <= until_ms])
    still = Standstill(SimpleNamespace(cluster=SimpleNamespace(ledger=ledger)))
    still.since_ms = 10_000
    assert still.quiet_ms({"mine"}) == quiet_ms


def test_where_there_are_many_topics_each_has_several_consumers():
    def load(topics):
        return Load(Journal(), [("127.0.0.1", 1)], Random(1), topics=topics)

    many = tuple(f"t-{number}" for number in range(96))
    asked = [load(many).topics_of(number) for number in range(9)]
    assert all(len(each) == 32 for each in asked)
    assert Counter(topic for each in asked for topic in each) == Counter(many * 3)
    assert load(TOPICS).topics_of(5) == TOPICS
