"""Following what a node hands out, as `dueqctl tail` does."""

import pytest

from harness.clock import wall_now_ms
from harness.http_raw import RawHttp
from harness.wait import wait_until

@pytest.fixture
def follow(node):
    """follow(**query): everything since the last call, or since the start of the test."""
    with node.api() as api:
        after = [api.deliveries()["next"]]

        def more(**query):
            page = api.deliveries(after=after[0], **query)
            after[0] = page["next"]
            assert page["missed"] == 0
            return page["deliveries"]

        yield more


def all_of(follow, count, **query):
    found = []
    wait_until(lambda: found.extend(follow(wait_ms=1000, **query)) or len(found) >= count,
               f"{count} deliveries are told")
    assert len(found) == count
    return found


def test_jobs_that_were_handed_over_are_told(api, client, topic, follow):
    """Over either protocol, and those that are gone with it, too."""
    before_ms = wall_now_ms()
    api.push(topic, id="seen")
    api.pop_one(topic)
    client.push(topic, "by-gmq")
    client.pop(topic)
    api.push(topic, id="once", ttr_ms=0)
    api.pop_one(topic)
    told = all_of(follow, 3)
    assert {(each["topic"], each["id"], each["tries"]) for each in told} == {
        (topic, "seen", 1), (topic, "by-gmq", 1), (topic, "once", 1)}
    assert all(int(before_ms) <= each["at_ms"] <= wall_now_ms() + 1 for each in told)
    assert all("127.0.0.1" in each["client"] for each in told)
    assert ["gmq" in each["client"] for each in told] == [each["id"] == "by-gmq" for each in told]


def test_nothing_in_time_is_an_empty_answer(api):
    page = api.deliveries(wait_ms=50)
    assert page["deliveries"] == [] and page["missed"] == 0
    assert api.deliveries(after=page["next"]) == {**page}


def test_many_follow_at_once_and_leave(node, api, topic):
    followers = [RawHttp(node.http_port) for _ in range(50)]
    for each in followers:
        each.request("GET", f"/v1/deliveries?wait_ms=600000&topic={topic}")
    for each in followers[:25]:
        each.reset()

    def told():
        api.push(topic, ttr_ms=0)
        api.pop_one(topic)
        return not any(each.is_silent_for(0.01) for each in followers[25:])

    wait_until(told, "all who stayed are told")
    for each in followers[25:]:
        assert each.reply().json["deliveries"][0]["topic"] == topic
        each.close()


def test_a_number_from_before_a_restart_is_harmless(make_node):
    node = make_node().start()
    with node.api() as api:
        old = api.deliveries()["next"]
    node.kill("worker")
    node.wait_ready()
    with node.api() as api:
        page = api.deliveries(after=old)
        assert (page["deliveries"], page["missed"]) == ([], 0) and page["next"] > old
        api.push("topic", id="new")
        api.pop_one("topic")
        page = api.deliveries(after=page["next"], wait_ms=20000)
        assert [each["id"] for each in page["deliveries"]] == ["new"]
