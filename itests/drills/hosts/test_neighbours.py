"""What hosts think where an address is: told, not told, and read."""

import pytest

from harness import neighbours
from harness.neighbours import add_address, entry_of, mac_of, remove_address, touch
from harness.wait import holds_for, wait_until


@pytest.fixture
def abc(network):
    """Three hosts."""
    return [network.add_host(name) for name in "abc"]


def knows(host, address):
    """Which hardware address it would send to."""
    touch(host, address)
    return (entry_of(host, address) or (None,))[0]


@pytest.fixture(params=["10.213.0.200", "fd00:213::200"])
def moved(request, abc):
    """(a, b, c, an address): c has learnt that a has it, and now b does."""
    a, b, c = abc
    add_address(a, request.param)
    assert request.param in neighbours.addresses_of(a)
    wait_until(lambda: knows(c, request.param) == mac_of(a), "it has asked")
    assert remove_address(a, request.param) and not remove_address(a, request.param)
    add_address(b, request.param)
    return a, b, c, request.param


def test_who_has_an_entry_follows_what_it_is_told(moved):
    a, b, c, address = moved
    assert entry_of(c, address)[0] == mac_of(a), "nobody has told it"
    neighbours.announce(b, address)
    wait_until(lambda: entry_of(c, address)[0] == mac_of(b), "it has been told")


def test_who_is_hushed_unasked_answers_who_asks(network, moved):
    a, b, c, address = moved
    with network.hush([b], address, unasked=True):
        neighbours.announce(b, address)
        assert holds_for(lambda: entry_of(c, address)[0] == mac_of(a), 0.1)
        neighbours.forget(c, address)
        wait_until(lambda: knows(c, address) == mac_of(b), "it has asked again")


def test_who_is_hushed_is_not_heard_of_that_address_but_of_others(network, moved):
    a, b, c, address = moved
    with network.hush([b], address):
        neighbours.announce(b, address)
        assert holds_for(lambda: entry_of(c, address)[0] == mac_of(a), 0.1)
        own = b.address6 if ":" in address else b.address
        wait_until(lambda: knows(c, own) == mac_of(b), "it answers for another address")
    neighbours.announce(b, address)
    wait_until(lambda: entry_of(c, address)[0] == mac_of(b), "it has been told")


def test_a_cable_that_was_pulled_leaves_the_addresses(abc):
    a, _, c = abc
    before = neighbours.addresses_of(a)
    assert {a.address, a.address6} <= before
    a.pull_cable()
    a.put_cable()
    wait_until(lambda: {a.address, a.address6} <= neighbours.addresses_of(a), "they are there")
    for address in (a.address, a.address6):
        wait_until(lambda address=address: knows(c, address) == mac_of(a), "it answers")
