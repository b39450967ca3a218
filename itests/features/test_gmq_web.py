"""gmq's web monitor and version 2 of its HTTP at a whole node, over Redis. Each row by raw bytes,
and wrong input: protocol/gmq_web/tests/.
"""
import json
import time
import urllib.parse
import urllib.request

from harness.page import Page
from harness.ports import free_port
from harness.wait import wait_until

PORT = free_port()
NODE_SETTINGS = {"gmq_web.listen": f"127.0.0.1:{PORT}"}
TIME = "%Y-%m-%d %H:%M:%S"


def ask(path, **form):
    body = urllib.parse.urlencode(form).encode() if form else None
    with urllib.request.urlopen(f"http://127.0.0.1:{PORT}{path}", body, timeout=20) as reply:
        return json.load(reply)


def push(**job):
    assert ask("/push", data=json.dumps(job))["msg"] == "push success"


def test_every_example_answers_what_the_page_says(node):
    page = Page("gmq-web.md", {"H": f"http://127.0.0.1:{PORT}"},
                patterns=[r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"])
    assert page.check() >= 20


def test_the_monitor_tells_when_the_next_job_is_due_and_when_its_time_is_over(node, topic):
    since = time.time()
    push(id="due", topic=topic, delay=1000, TTR=60)
    push(id="held", topic=topic, TTR=500)
    assert ask("/pop?topic=" + topic)["data"]["id"] == "held"

    def row_of(path):
        rows = ask(path)["data"] or []
        return next((row for row in rows if row["bucket_name"].endswith(":" + topic)), None)

    def seconds(row):
        return time.mktime(time.strptime(row["next_time"], TIME)) - since

    delayed = wait_until(lambda: row_of("/getBucketStat"), "the census has the topic")
    assert 990 < seconds(delayed) < 1060
    assert 490 < seconds(row_of("/getTTRBucketStat")) < 560


def test_a_job_of_the_json_rpc_is_acknowledged_here(node, client, topic):
    client.push(topic, "rpc-1", "b", ttr=60)
    assert ask("/pop?topic=" + topic)["data"]["body"] == "b"
    assert ask("/ack?jobId=rpc-1")["msg"] == "ack success"
    push(id="web-1", topic=topic, body="b", TTR=60)
    assert client.pop_patiently(topic)["id"] == "web-1"
    assert client.ack("web-1") is True
