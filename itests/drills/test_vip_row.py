"""Where the address is when a fault is over: each wrong place is planted by hand, and seen."""

from types import SimpleNamespace

import pytest

from drills.rows import vip_row as subject
from drills.rows.vip_row import VIP, VIP6, VipRow, meet, misplaced, strangers
from harness.neighbours import drop, mac_of, take, touch
from harness.wait import wait_until
from judge.address import HolderWatch
from judge.journal import AWAY, LEAVING, Vip

SOON_S, VIPS = 0.2, (VIP, VIP6)


@pytest.fixture
def drill(network, monkeypatch):
    """Of two nodes, a with the lead and the address; client and bystander have met it."""
    monkeypatch.setattr(subject, "PATIENCE_S", 20)
    nodes = [SimpleNamespace(name=name, host=network.add_host(name)) for name in "ab"]
    cluster = SimpleNamespace(nodes=nodes, leader=lambda: nodes[0], vips=VIPS, view=object(),
                              client=network.add_host("client"),
                              bystander=network.add_host("bystander"))
    cluster.holders = HolderWatch([node.host for node in nodes], cluster.vips, lambda event: None)
    take(nodes[0].host, VIPS)
    for vip in cluster.vips:
        touch(cluster.client, vip)
    meet(cluster)
    monkeypatch.setattr(subject, "PATIENCE_S", SOON_S)
    yield SimpleNamespace(cluster=cluster)
    cluster.holders.close()


def leads(drill, number):
    drill.cluster.leader = lambda: drill.cluster.nodes[number]
    return drill.cluster.nodes[number].host


def test_it_is_in_its_place(drill):
    wait_until(lambda: not list(misplaced(drill)), "all know")


def test_it_has_moved(drill):
    drop(drill.cluster.nodes[0].host, VIPS)
    take(leads(drill, 1), VIPS)
    wait_until(lambda: not list(misplaced(drill)), "all know")


def test_the_leader_before_has_it_still(drill):
    take(leads(drill, 1), VIPS)
    text = "\n".join(misplaced(drill))
    assert f"{VIP} is at a and b, b leads" in text and f"{VIP6} is at a and b, b leads" in text
    assert f"a has {VIP} and {VIP6}, and b leads" in text
    assert "knows" not in text


def test_the_leader_before_has_put_it_back_and_says_so(drill):
    before, now = drill.cluster.nodes[0].host, leads(drill, 1)
    drop(before, VIPS)
    take(now, VIPS)
    take(before, VIPS)
    mac = mac_of(before)
    text = "\n".join(misplaced(drill))
    for name in ("client", "bystander"):
        assert f"{name} knows {VIP} at {mac}" in text and f"{name} knows {VIP6} at {mac}" in text


def test_another_node_answers_where_the_address_is_in_its_place(drill):
    drill.cluster.view = SimpleNamespace(answers_of=lambda node, since_ms: {VIP: 5},
                                         strangers_of=lambda node, since_ms: {"b": [9]})
    drill.cluster.events, drill.since_ms = lambda: [], 0
    wait_until(lambda: list(VipRow().check(drill, None)) == [
        "b answered a new connection after a, which leads"], "it is seen, and nothing else")


@pytest.mark.parametrize("begun_ms, vips, is_wrong", [
    ([99, 201], [Vip("b", LEAVING, 100), Vip("b", AWAY, 200)], False),
    ([98], [Vip("b", LEAVING, 100), Vip("b", AWAY, 200)], True),   # not said yet
    ([202], [Vip("b", LEAVING, 100), Vip("b", AWAY, 200)], True),  # it was away
    ([100, 202, 150], [Vip("b", LEAVING, 100), Vip("b", AWAY, 200)], True),  # one of several
    ([1500], [Vip("b", LEAVING, 100)], False), ([100 + 1502], [Vip("b", LEAVING, 100)], True),
    ([150], [Vip("c", LEAVING, 100)], True), ([150], [Vip("b", AWAY, 200)], True)])
def test_a_node_that_hands_the_address_over_answers_as_long(begun_ms, vips, is_wrong):
    view = SimpleNamespace(answers_of=lambda node, since_ms: {VIP: 5},
                           strangers_of=lambda node, since_ms: {"b": begun_ms})
    cluster = SimpleNamespace(view=view, leader=lambda: SimpleNamespace(name="a"), events=lambda: vips)
    assert bool(list(strangers(SimpleNamespace(cluster=cluster, since_ms=0)))) == is_wrong


def test_nobody_has_it(drill):
    drop(drill.cluster.nodes[0].host, VIPS)
    assert any(f"{VIP} is at nobody" in text for text in misplaced(drill))


def test_a_neighbour_was_not_told(network, drill):
    with network.hush([drill.cluster.nodes[1].host], VIP):
        drop(drill.cluster.nodes[0].host, VIPS)
        take(leads(drill, 1), VIPS)
        text = "\n".join(misplaced(drill))
        assert f"bystander knows {VIP} at" in text and f"bystander knows {VIP6}" not in text


def test_a_stranger_has_it(network, drill):
    """Which is no node: who asks is sent there."""
    take(network.add_host("stranger"), VIPS)
    text = "\n".join(misplaced(drill))
    assert f"client knows {VIP} at" in text and "is at" not in text
