"""Clients of the dialects over HTTP, as their pages tell them to be set up, get through a killed
leader: nothing that was acknowledged is lost, and what was fetched before is finished after it.

In the place of the virtual address a client has the list of the nodes.
"""
import base64
import itertools
import json
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

import pytest

from harness.cluster import Cluster
from harness.ports import free_port
from harness.wait import wait_until

JOBS, KILLED_AT = 150, 50
NOT_NOW = ("unavailable", "unknown", "store_error", "shutting_down", "not_ready", "too_many")
DONE, GONE, AGAIN = "done", "gone", "again"


class Client:
    """Asks the next node where one does not answer, or says that it cannot now."""

    def __init__(self, ports):
        self.ports = itertools.cycle(ports)
        self.port = next(self.ports)

    def ask(self, path, body=None):
        return wait_until(lambda: self.try_once(path, body), f"{path} is answered", timeout_s=60)

    def try_once(self, path, body):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", body, 15) as reply:
                answer = json.load(reply)
        except (OSError, urllib.error.URLError):
            answer = None
        if answer and not self.said(answer).startswith(NOT_NOW):
            return answer
        self.port = next(self.ports)
        return None

    def push(self, topic, name, delay):
        raise NotImplementedError

    def fetch(self, topic):
        """An id, or None."""
        raise NotImplementedError

    def finish(self, name):
        """DONE; GONE: by a request whose answer was lost; AGAIN: a push whose answer was lost has
        come once more meanwhile, and so does the job."""
        raise NotImplementedError


class Mykit(Client):
    word = "mykit"

    def said(self, answer):
        return answer["message"] or ""

    def push(self, topic, name, delay):
        job = {"topic": topic, "id": name, "delay": delay * 1000}
        answer = self.ask("/push", json.dumps(job).encode())
        assert answer["data"] == name, answer

    def fetch(self, topic):
        job = self.ask("/get/topic?topic=" + topic)["data"]
        return job and job["id"]

    def finish(self, name):
        answer = self.ask("/finish?jobId=" + name)
        if answer["success"]:
            return DONE
        if answer["message"] == "Job不存在!":
            return GONE
        assert answer["message"].startswith("not_owner: "), answer
        return AGAIN


class GmqWeb(Client):
    word = "gmq_web"

    def said(self, answer):
        return answer["msg"]

    def push(self, topic, name, delay):
        job = {"topic": topic, "id": name, "delay": delay, "TTR": 60}
        answer = self.ask("/push", urllib.parse.urlencode({"data": json.dumps(job)}).encode())
        assert answer["code"] == 0 or answer["msg"].endswith("has exist"), answer

    def fetch(self, topic):
        answer = self.ask("/pop?topic=" + topic)
        return answer["data"] and answer["data"]["id"]

    def finish(self, name):
        answer = self.ask("/ack?jobId=" + name)
        if answer["code"] == 0:
            return DONE
        if answer["msg"].startswith("not_found: "):
            return GONE
        assert answer["msg"] == "TTR has expired and will be consumed again", answer
        return AGAIN


class Ouqiang(Client):
    """A pop waits for longer than the client: it asks again, as it would behind a proxy."""
    word = "ouqiang"
    failures = ("添加失败: ", "获取Job失败: ", "删除失败: ")

    def said(self, answer):
        message = answer["message"]
        return message.partition(": ")[2] if message.startswith(self.failures) else message

    def done(self, path, **body):
        answer = self.ask(path, json.dumps(body).encode())
        assert answer["code"] == 0, answer
        return answer["data"]

    def push(self, topic, name, delay):
        self.done("/push", topic=topic, id=name, delay=max(delay, 1), ttr=60)

    def fetch(self, topic):
        job = self.done("/pop", topic=topic)
        return job and job["id"]

    def finish(self, name):
        self.done("/finish", id=name)
        return DONE


class DelayTask(Client):
    """A task is done with its delivery; an add whose answer was lost may make a second one."""
    word = "delaytask"

    def said(self, answer):
        return answer["error_msg"]

    def push(self, topic, name, delay):
        task = {"topic": topic, "content": name, "timing_moment": int(time.time()) + delay}
        answer = self.ask("/delay/task/add", json.dumps(task).encode())
        assert answer["dm_error"] == 0, answer

    def fetch(self, topic):
        answer = self.ask("/delay/task/pull", json.dumps({"topic": topic}).encode())
        if answer["dm_error"] == 0:
            return answer["content"]
        assert answer["dm_error"] == 404, answer
        threading.Event().wait(0.1)  # a pull does not wait
        return None

    def finish(self, name):
        return DONE


class Lmstfy(Client):
    """Repeats what ended with 5xx, as lmstfy's own client does; a publish whose answer was lost may
    make a second job. Ids are the server's."""
    word = "lmstfy"

    def __init__(self, ports):
        super().__init__(ports)
        self.ids = {}  # by the jobs' bodies

    def ask(self, path, body=None, method="GET"):
        return wait_until(lambda: self.try_method(method, path, body), f"{path} is answered",
                          timeout_s=60)

    def try_method(self, method, path, body):
        """(status, what it says)"""
        asked = urllib.request.Request(f"http://127.0.0.1:{self.port}/api/ns/{path}", body,
                                       method=method)
        try:
            with urllib.request.urlopen(asked, timeout=15) as reply:
                text = reply.read()
                return reply.status, json.loads(text) if text else None
        except urllib.error.HTTPError as error:
            if error.code < 500:
                return error.code, json.load(error)
        except OSError:
            pass
        self.port = next(self.ports)
        return None

    def push(self, topic, name, delay):
        status, answer = self.ask(f"{topic}?delay={delay}&tries=9", name.encode(), "PUT")
        assert status == 201, answer

    def fetch(self, topic):
        status, job = self.ask(f"{topic}?ttr=60&timeout=1")
        if status == 404:
            return None
        name = base64.b64decode(job["data"]).decode()
        self.ids[name] = f"{topic}/job/{job['job_id']}"
        return name

    def finish(self, name):
        assert self.ask(self.ids[name], None, "DELETE") == (204, None)
        return DONE


DIALECTS = (Mykit, GmqWeb, Ouqiang, DelayTask, Lmstfy)


class Run:
    """A producer and a consumer of one dialect."""

    def __init__(self, dialect, ports):
        self.topic = "jobs-of-" + dialect.word
        self.producer, self.consumer = dialect(ports), dialect(ports)
        self.names = [f"{dialect.word}-{number}" for number in range(JOBS)]
        self.pushed = 0
        self.finished = set()
        self.held = None
        self.wrong = []
        self.threads = [threading.Thread(target=self.guarded, args=(each,), daemon=True)
                        for each in (self.produce, self.consume)]

    def guarded(self, work):
        try:
            work()
        except BaseException as error:  # told by the main thread
            self.wrong.append(error)

    def produce(self):
        for number, name in enumerate(self.names):
            self.producer.push(self.topic, name, number % 3)
            self.pushed += 1

    def consume(self):
        while len(self.finished) < JOBS and not self.wrong:
            name = self.consumer.fetch(self.topic)
            if name and self.consumer.finish(name) != AGAIN:
                self.finished.add(name)

    def check(self):
        assert not self.wrong, self.wrong


@pytest.fixture
def cluster(tmp_path, request):
    made = Cluster(tmp_path)
    try:
        made.start_servers()
        for name in ("a", "b"):
            ports = {each.word + "__listen": f"127.0.0.1:{free_port()}" for each in DIALECTS}
            made.add(name, mykit__pop_wait="1s", **ports).launch()
        made.wait_members("a", "b")
        request.node.dueq_nodes = list(made.nodes.values())
        yield made
    finally:
        made.destroy()


def test_clients_get_through_a_killed_leader(cluster):
    leader = cluster.wait_leader()

    def ports(dialect):
        return [int(cluster.nodes[name].settings[dialect.word + ".listen"].rpartition(":")[2])
                for name in (leader, *cluster.others(leader))]

    runs = [Run(dialect, ports(dialect)) for dialect in DIALECTS]
    for run in runs:
        run.producer.push(run.topic + "-held", run.topic + "-held", 0)
        run.held = run.producer.fetch(run.topic + "-held")
        assert run.held
    wait_until(lambda: all(node.metrics()["dueq_deliveries_unconfirmed"] == 0
                           for node in cluster.nodes.values()), "the store knows who has them")
    for thread in [thread for run in runs for thread in run.threads]:
        thread.start()
    wait_until(lambda: all(run.pushed > KILLED_AT or run.wrong for run in runs), "work goes on")
    cluster.nodes[leader].kill("all")
    cluster.wait_leader(other_than=leader)
    wait_until(lambda: all(len(run.finished) == JOBS or run.wrong for run in runs),
               "all jobs are finished", timeout_s=120)
    for run in runs:
        run.check()
        assert run.pushed == JOBS and run.finished == set(run.names)
        assert run.producer.finish(run.held) == DONE
