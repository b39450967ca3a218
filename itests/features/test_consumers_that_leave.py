"""A consumer that leaves, or is cut off, before its kernel has its job costs no job and no try; and
one that takes its time to read keeps it."""

import json
import select
import socket
import time

import pytest

from harness.gmq import RawClient
from harness.http_api import path_of
from harness.http_raw import RawHttp
from harness.network import Network
from harness.node import Node
from harness.wait import wait_until

LARGE = "x" * 1_000_000  # more than goes into a receive buffer, and less than into a send buffer
HALF = "\1" * (1 << 19)  # two of them are an answer, and six times their size in JSON
FOR_EVER_S = 600  # a TTR that no test waits for


def waiting(node):
    return sum(value for name, value in node.metrics().items() if "waiting" in name)


def test_jobs_pushed_while_consumers_leave_are_all_handed_out(node, client, topic):
    """The leavers race with the pushes. What the kernel of a leaver has acknowledged in time counts
    as delivered and comes again after its TTR; nothing is lost, and nothing loses more than that
    try. (On a machine so slow that the TTR is over before all have left, it may reach one more of
    them.)"""
    began = time.monotonic()
    for number in range(50):
        leaver = node.raw_client()
        leaver.send_request("Pop", [topic])
        client.push(topic, f"race-{number}", "b", ttr=1)
        leaver.close()
    ttr_s = 1 + 3  # gmq's own addition
    times_over = int((time.monotonic() - began) / ttr_s)
    tries = {}

    def all_came():
        job = client.pop_or_none(topic)
        if job:
            tries[job["id"]] = job["consume_num"]
            client.ack(job["id"])
        return len(tries) == 50

    wait_until(all_came, "all jobs are handed out", interval_s=0)
    assert max(tries.values()) <= 1 + times_over


# ---- what has left the node and not arrived ----

def ask_by_gmq(node, topic):
    raw = RawClient(node.gmq_port, receive_buffer=65536)
    raw.send_request("Pop", [topic])
    return raw


def ask_by_http(node, topic):
    raw = RawHttp(node.http_port, receive_buffer=65536)
    raw.request("POST", path_of("topics", topic, "pop") + "?wait_ms=600000")
    return raw


@pytest.mark.parametrize("ttr_s", [0, FOR_EVER_S])
@pytest.mark.parametrize("ask", [ask_by_gmq, ask_by_http])
def test_a_consumer_that_closes_unread_gives_its_job_back(node, topic, ask, ttr_s):
    with node.api() as api:
        reader = ask(node, topic)
        api.push(topic, LARGE, id="large", ttr_ms=ttr_s * 1000)
        assert select.select([reader.socket], [], [], 30)[0], "the first of it is there"
        reader.close()
        job = api.pop_one(topic)
        assert (job["id"], job["tries"]) == ("large", 0)
        if ttr_s:
            api.ack(job)


def test_jobs_stay_with_whoever_reads_them_slowly(make_node):
    """Over both protocols; even where there is hardly any time to run. They are kept every two
    seconds, while a reservation lasts five."""
    node = make_node().start()

    def slow_reader(topic):
        raw = RawHttp(node.http_port, receive_buffer=65536)
        raw.request("POST", path_of("topics", topic, "pop") + "?count=2")
        return raw

    with node.api() as api, node.raw_client() as gmq:
        for topic, ttr_ms in (("over-http", FOR_EVER_S * 1000), ("short", 1)):
            for id in ("a", "b"):
                api.push(topic, HALF, id=id, ttr_ms=ttr_ms)
        api.push("over-gmq", HALF * 2, id="c", ttr_ms=FOR_EVER_S * 1000)
        gmq.send_request("Pop", ["over-gmq"])
        with slow_reader("over-http") as slow, slow_reader("short"):
            keeps = 'dueq_operations_total{verb="keep",result="ok"}'
            wait_until(lambda: node.metrics()[keeps] >= 3 * 3, "all three are kept three times")
            assert api.pop("over-http", "over-gmq", "short") == []
            assert node.metrics()["dueq_jobs_expired_total"] == 0
            jobs = slow.reply().json["jobs"]
            assert [(job["id"], job["tries"]) for job in jobs] == [("a", 0), ("b", 0)]
            for job in jobs:
                api.ack(job)
            assert gmq.reply()["result"]["id"] == "c"
            gmq.send_request("Ack", "c")
            assert gmq.reply()["result"] is True
    assert node.metrics()["dueq_confirmations_late_total"] == 0


class FarNode(Node):
    """On a host of its own, and for others, too."""

    def __init__(self, directory, host):
        super().__init__(directory)
        self.host = host
        self.settings |= {"gmq.pop_wait": "29s", "gmq.listen": f"0.0.0.0:{self.gmq_port}",
                          "http.listen": f"0.0.0.0:{self.http_port}"}

    def argv(self):
        return self.host.command(super().argv())


@pytest.fixture
def far(tmp_path, request, needs_network):  # pylint: disable=unused-argument
    """(the network, a node on a host of it, the host of a consumer); this thread is at the node."""
    with Network() as network:
        here, there = network.add_host("node"), network.add_host("consumer")
        made = FarNode(tmp_path, here)
        request.node.dueq_nodes = [made]
        try:
            with here.entered():
                yield network, made.start(), there
                made.stop()
        finally:
            made.destroy()


def far_consumer(node, there, dialect, topic):
    """It waits for a job, at another host."""
    port = node.gmq_port if dialect == "gmq" else node.http_port
    with there.entered():
        made = socket.create_connection((node.host.address, port))
    if dialect == "gmq":
        asked = json.dumps({"method": "Service.Pop", "params": [[topic]], "id": 1})
    else:
        asked = (f"POST {path_of('topics', topic, 'pop')}?wait_ms=600000 HTTP/1.1\r\n"
                 "Host: h\r\n\r\n")
    made.sendall(asked.encode())
    return made


def test_what_is_on_its_way_when_the_link_goes_down_comes_back(far):
    """In both dialects, without a time to run and with one; nobody waits for that."""
    network, node, there = far
    topics = {f"{dialect}-{ttr_s}": (dialect, ttr_s)
              for dialect in ("gmq", "http") for ttr_s in (0, FOR_EVER_S)}
    with node.api() as api:
        consumers = [far_consumer(node, there, dialect, topic)
                     for topic, (dialect, _) in topics.items()]
        wait_until(lambda: waiting(node) == len(topics), "all of them wait")
        with network.cut([node.host], [there]):
            for topic, (_, ttr_s) in topics.items():
                api.push(topic, "b", id="1", ttr_ms=ttr_s * 1000)
            wait_until(lambda: waiting(node) == 0, "all of them were answered")
            for topic, (_, ttr_s) in topics.items():
                job = api.pop_one(topic)
                assert (job["id"], job["tries"]) == ("1", 0), topic
                if ttr_s:
                    api.ack(job)
            assert node.metrics()["dueq_jobs_returned_total"] == len(topics)
        for consumer in consumers:
            consumer.close()


def test_a_way_that_is_gone_for_a_moment_takes_no_acknowledgement_along(far):
    """The node's kernel is told that there is no way to the consumer, sends again, and arrives."""
    _, node, there = far
    with node.api() as api, far_consumer(node, there, "gmq", "t") as consumer:
        wait_until(lambda: waiting(node) == 1, "it waits")
        with there.unreachable() as times_told:
            api.push("t", "b", id="1", ttr_ms=0)
            wait_until(lambda: times_told() > 3, "the node has heard of it, and asked its kernel")
        consumer.settimeout(30)
        assert b'"1"' in consumer.recv(65536)
        wait_until(lambda: node.metrics()["dueq_deliveries_unconfirmed"] == 0, "it has arrived")
        assert node.metrics()["dueq_jobs_popped_total"] == 1
