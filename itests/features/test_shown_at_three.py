"""What an operator sees of a cluster in which all nodes scan, on a Redis Cluster: who scans, who has
which topic; and when a master is away, which one, which buckets, which topics, and why. The tests go
on with the cluster that the ones before have left, whole."""

import json
import re

import pytest

from harness.cluster import Cluster, page_of
from harness.dueqctl import DONE, Dueqctl
from harness.redis_cluster import RedisCluster
from harness.wait import wait_until

NAMES = ("a", "b")
TOPICS = [f"topic-{number}" for number in range(16)]
SHARES = 256 * 64


@pytest.fixture(scope="module")
def cluster(tmp_path_factory, request):
    directory = tmp_path_factory.mktemp("cluster")
    redis = RedisCluster(directory / "redis", masters=3, replicas=0, appendfsync="always")
    made = Cluster(directory, redis=redis)
    try:
        made.start(*NAMES, ha_mode="cluster", store__hold="300ms")
        request.node.dueq_nodes = list(made.nodes.values())
        wait_until(lambda: all(page_of(node)["sharing"]["scanners"] == 2
                               for node in made.nodes.values()), "both scan")
        yield made
        made.stop()
    finally:
        made.destroy()


def rows(text, heading):
    """{first word: the others} of the table that begins so."""
    lines = text[text.index(heading):].splitlines()
    table = lines[1:lines.index("")] if "" in lines else lines[1:]
    return {line.split()[0]: line.split()[1:] for line in table}


def owned(node):
    """{topic: its row} of GET /v1/topics?owners=true"""
    return {row["topic"]: row for row in Dueqctl(node.url()).json("topics", "--owners")["topics"]}


def store_of(node):
    return json.loads(node.http("/v1/status")[1])["store"]


def test_both_nodes_are_shown_to_scan(cluster):
    nodes = list(cluster.nodes.values())
    views = set()
    for node in nodes:
        text = Dueqctl(node.url()).ok("nodes").text
        assert {name: row[1] for name, row in rows(text, "NODE").items()} == {"a": "yes", "b": "yes"}
        view, own = re.search(r"^View (\d+): 2 scan, (\d+) of 16384 shares", text, re.M).groups()
        views.add(view)
        numbers = node.metrics()
        assert numbers["dueq_scanners"] == 2 and numbers["dueq_shares"] == SHARES
        assert numbers["dueq_view"] == int(view) and numbers["dueq_shares_own"] == int(own)
    assert len(views) == 1
    assert sum(node.metrics()["dueq_shares_own"] for node in nodes) == SHARES
    page = page_of(nodes[0])
    assert page["mode"] == "cluster" and page["can_fail_over"] and page["sharing"]["shares"] == SHARES
    assert not [each for each in page["check"] if "scan" in each["message"]]


def test_each_topic_with_a_due_job_has_the_owner_that_it_should_have(cluster):
    a, b = cluster.nodes.values()
    with a.api() as api:
        for topic in TOPICS:
            api.push(topic, "body", delay_ms=50)

    def have_owners():
        found = owned(a)
        return found if len(found) == len(TOPICS) and all(each["owner"] for each in found.values()) else None

    found = wait_until(have_owners, "all topics have been scanned")
    assert {row["owner"]["node"] for row in found.values()} == set(NAMES)
    for topic, row in owned(b).items():
        assert row["preferred"] == found[topic]["preferred"] == found[topic]["owner"]["node"]
        assert row["bucket"] == found[topic]["bucket"] < 64
        assert found[topic]["owner"]["token"] > 0 and 0 < found[topic]["owner"]["left_ms"] <= 5000
        assert found[topic]["owner"]["view"] == a.metrics()["dueq_view"]
    shown = rows(Dueqctl(b.url()).ok("topics", "--owners").text, "TOPIC")
    assert {topic: row[2] for topic, row in shown.items()} == {
        topic: row["preferred"] for topic, row in found.items()}
    taken = [node.metrics()['dueq_topic_locks_total{how="free"}'] for node in (a, b)]
    assert sum(taken) >= len(TOPICS) and min(taken) > 0


def test_a_master_that_is_away_its_buckets_and_their_topics(cluster):
    a = cluster.nodes["a"]
    ctl = Dueqctl(a.url())
    before = owned(a)
    gone = cluster.redis.master_of(before[TOPICS[0]]["bucket"])
    buckets = next(int(row[1]) for address, row in rows(ctl.ok("status").text, "MASTER").items()
                   if address == gone.tcp_address)
    gone.kill()
    wait_until(lambda: sum(len(group["buckets"]) for group in store_of(a)["unreached"]) == buckets,
               "its buckets are missed")
    group, = store_of(a)["unreached"]
    assert group["master"] == gone.tcp_address and gone.tcp_address not in group["why"]
    status = ctl.ok("status").text
    # Until b hears of what is ready by another master its Redis is said not to answer.
    check = wait_until(lambda: (said := ctl("check")).code == DONE and said.text, "b could lead")
    assert re.search("^ready +yes$", status, re.M)
    assert rows(status, "MASTER")[gone.tcp_address][0] == "connecting"
    for text in (status, check):
        assert re.search(f"^warning: {gone.tcp_address}: .*; the topics of buckets .* stand still$",
                         text, re.M), text
    numbers = a.metrics()
    assert numbers["dueq_store_buckets_unreached"] == buckets and numbers["dueq_store_up"] == 1
    assert numbers[f'dueq_store_master_up{{master="{gone.tcp_address}"}}'] == 0
    shown = ctl("topics", "--owners", "--json").json()
    assert shown["unreached"] == group["buckets"]
    assert {row["topic"] for row in shown["topics"]} == {
        topic for topic, row in before.items() if row["bucket"] not in group["buckets"]}
    for topic, row in before.items():
        answer, text = a.http(f"/v1/topics/{topic}")
        if row["bucket"] in group["buckets"]:
            said = f"bucket {row['bucket']} of the store cannot be used ({gone.tcp_address}: "
            assert answer == 503 and said in text, text
        else:
            assert answer == 200, text
    gone.start()
    wait_until(lambda: not any(store_of(node)["unreached"] for node in cluster.nodes.values()), "it is back")
    assert set(owned(a)) == set(before)
    assert numbers["dueq_store_maps_read_total"] > 0
