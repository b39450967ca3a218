"""lmstfy's API at a whole node, over Redis. Each row by raw bytes, and wrong input:
protocol/lmstfy/tests/.
"""
import base64
import http.client
import json
import time

import pytest

from features.test_identities_in_redis import new
from harness.page import Page
from harness.ports import free_port
from harness.wait import wait_until

PORT, ADMIN_PORT = free_port(), free_port()
NODE_SETTINGS = {"lmstfy.listen": f"127.0.0.1:{PORT}", "access.in_redis": "true",
                 "lmstfy_admin.listen": f"127.0.0.1:{ADMIN_PORT}",
                 "lmstfy_admin.as": "operator", "http.as": "native"}


class Client:
    """As lmstfy's own clients do it: a connection that is kept."""

    def __init__(self, token, port=PORT):
        self.token = token
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)

    def ask(self, method, path, body=None, **headers):
        self.connection.request(method, path, body, {"X-Token": self.token, **headers})
        reply = self.connection.getresponse()
        text = reply.read()
        assert reply.headers["X-Request-ID"]
        return reply.status, json.loads(text) if text else None

    def publish(self, queue, body, options="", **headers):
        status, reply = self.ask("PUT", f"/api/ns/{queue}?{options}", body, **headers)
        assert status == 201, reply
        return reply["job_id"]

    def consume(self, queue, options=""):
        status, reply = self.ask("GET", f"/api/ns/{queue}?{options}")
        assert status in (200, 404), reply
        return reply if status == 200 else None

    def ack(self, queue, job_id):
        assert self.ask("DELETE", f"/api/ns/{queue}/job/{job_id}") == (204, None)


@pytest.fixture(name="token", scope="module")
def token_for_a_namespace(node):
    new(node, "operator", "--roles", "admin,inspect")
    new(node, "native", "--roles", "all")
    admin = Client("", ADMIN_PORT)
    wait_until(lambda: admin.ask("GET", "/pools")[0] == 200, "the operator is known")
    status, reply = admin.ask("POST", "/token/ns?description=tests")
    assert status == 201, reply
    return reply["token"]


def test_every_example_answers_what_the_page_says(node, token):
    page = Page("lmstfy.md", {"H": f"http://127.0.0.1:{PORT}", "A": f"http://127.0.0.1:{ADMIN_PORT}"},
                varying=["elapsed_ms"])
    assert page.check() >= 38


def test_a_job_goes_between_the_protocols(node, api, token, topic):
    client = Client(token)
    job_id = client.publish(topic, b"\xffbytes", "ttl=100&tries=3", **{"Job-Attr-Tenant": "acme"})
    job = api.pop_one("ns/" + topic)
    assert base64.b64decode(job["body_base64"]) == b"\xffbytes" and job["max_tries"] == 3
    status, seen = client.ask("GET", f"/api/ns/{topic}/job/{job_id}")
    assert status == 200 and seen["attributes"] == {"tenant": "acme"}
    client.ask("DELETE", f"/api/ns/{topic}/job/{job_id}")
    api.push("ns/" + topic, "native", id="own-id")
    job = client.consume(topic)
    assert (job["job_id"], base64.b64decode(job["data"])) == ("own-id", b"native")
    client.ack(topic, "own-id")
    assert client.ask("GET", f"/api/ns/{topic}/job/own-id")[0] == 404


def test_a_hundred_jobs_are_one_reply_and_none_is_lost(node, token, topic):
    client = Client(token)
    jobs = [{"n": number} for number in range(60)]
    for _ in range(4):
        assert client.ask("PUT", f"/api/ns/{topic}/bulk?tries=2", json.dumps(jobs))[0] == 201
    found = []
    while page := client.consume(topic, "count=100&ttr=60"):
        found += page
        assert len(page) == min(100, 240 - len(found) + len(page))
    assert sorted(json.loads(base64.b64decode(job["data"]))["n"] for job in found) == sorted(
        list(range(60)) * 4)
    for job in found:
        client.ack(topic, job["job_id"])
    for path in ("size", "deadletter/size"):
        assert client.ask("GET", f"/api/ns/{topic}/{path}")[1]["size"] == 0


def test_a_waiting_consumer_gets_a_delayed_job_and_never_early(node, token, topic):
    client = Client(token)
    since = time.time()
    client.publish(topic, "later", "delay=1&ttl=60")
    assert 0 < client.consume(topic, "timeout=10")["ttl"] <= 59
    assert time.time() - since >= 1


def test_a_late_worker_deletes_nothing_and_tries_end_in_dead_letters(node, token, topic):
    late, other = Client(token), Client(token)
    job_id = late.publish(topic, "work", "tries=2")
    assert late.consume(topic, "ttr=1")["remain_tries"] == 1
    job = other.consume(topic, "ttr=600&timeout=10")
    assert (job["job_id"], job["remain_tries"]) == (job_id, 0)
    late.ack(topic, job_id)
    assert other.ask("GET", f"/api/ns/{topic}/job/{job_id}")[0] == 200
    other.ack(topic, job_id)
    job_id = other.publish(topic, "more work", "tries=1")
    assert other.consume(topic, "ttr=1")["job_id"] == job_id
    wait_until(lambda: other.ask("GET", f"/api/ns/{topic}/deadletter")[1]["deadletter_size"] == 1,
               "the job is a dead letter")
    assert other.ask("PUT", f"/api/ns/{topic}/deadletter")[1] == {"count": 1, "msg": "respawned"}
    assert other.consume(topic)["job_id"] == job_id
    other.ack(topic, job_id)


def test_jobs_outlive_the_node(node, token, topic):
    client = Client(token)
    held = client.publish(topic, "held")
    assert client.consume(topic, "ttr=600")["job_id"] == held
    kept = client.publish(topic, "kept", "delay=1")
    node.kill("worker")
    node.wait_ready()
    again = Client(token)
    wait_until(lambda: again.ask("GET", f"/api/ns/{topic}/size")[0] == 200, "the node is back")
    again.ack(topic, held)
    assert again.ask("GET", f"/api/ns/{topic}/job/{held}")[0] == 404
    assert again.consume(topic, "timeout=10")["job_id"] == kept


def test_its_ports_are_counted(node, token):
    assert Client(token).consume("none") is None
    admin = http.client.HTTPConnection("127.0.0.1", ADMIN_PORT, timeout=30)
    admin.request("GET", "/metrics")
    assert b"dueq_connections_accepted_total" in admin.getresponse().read()
    found = node.metrics()
    for port in ("lmstfy", "lmstfy_admin"):
        assert found[f'dueq_connections_accepted_total{{protocol="{port}"}}'] > 0
