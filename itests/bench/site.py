"""Nodes over Redis masters, and what they are given to do: pushes, jobs that come due, pops with
their acks. Each phase is so many jobs, and what they took of every process.

The store of a site stays; its nodes are started for each measurement, on an empty store.
"""

import socket
import time
from contextlib import contextmanager
from pathlib import Path

from bench.loads import LoadFailed
from bench.meter import Look, cpu_us
from harness.cluster import are_members, page_of
from harness.memory import resident_bytes
from harness.node import Node
from harness.ports import free_port
from harness.redis_cluster import BUCKETS, RedisCluster, bucket_of
from harness.redis_server import TcpRedis
from harness.users import SECRET, secret_file
from harness.wait import wait_until

CONNECTIONS = 192  # of all load generators together
FAR_S = 86_400
LEAD_S = 1.0  # jobs are in the store so long before they are due: the nodes have armed their timers
SESSION_MS = 3000  # a busy machine must not look like a dead node
REST_PERCENT = 8  # of a processor: a node that uses less has nothing to do
LOOK_S = 0.01
TRIES = 4
KEEPS_ALL = {"appendonly": "yes", "appendfsync": "always", "auto_aof_rewrite_percentage": 0}


def topic_name(number):
    """Of the topics whose jobs fall due, at each try others."""
    return f"due{number}"


class OneRedis:
    """A Redis on its own, over TCP as those of a cluster are."""

    def __init__(self, directory):
        self.servers = [TcpRedis(Path(directory) / "redis", **KEEPS_ALL)]
        self.address = self.servers[0].tcp_address

    def start(self):
        self.servers[0].start()
        return self

    def server_of(self, bucket):
        """Who has it, by its place among `servers`."""
        del bucket
        return 0

    def destroy(self):
        self.servers[0].destroy()


class Masters(RedisCluster):
    """So many, without replicas."""

    def __init__(self, directory, masters):
        super().__init__(directory, masters=masters, replicas=0, node_timeout_ms=15_000,
                         **KEEPS_ALL)
        self._of_bucket = []

    def start(self):
        super().start()
        self._of_bucket = [self.servers.index(self.master_of(bucket)) for bucket in range(BUCKETS)]
        return self

    def server_of(self, bucket):
        return self._of_bucket[bucket]


class Site:
    """`loads` runs the load generator; `zookeeper` is an Ensemble that runs. `store` has
    address, servers, server_of(bucket)."""

    def __init__(self, name, loads, zookeeper, store, mode, settings=None):
        self.name, self.loads, self.store, self.mode = name, loads, store, mode
        self.clients = [server.client() for server in store.servers]
        self.directory = Path(loads.directory) / name
        self.directory.mkdir()
        secret = secret_file(self.directory / "secret", SECRET)
        self._settings = {
            "store.redis": store.address, "ha.mode": mode, "ha.cluster": name,
            "ha.zookeeper": zookeeper.addresses, "ha.secret_file": secret,
            "ha.session_timeout": f"{SESSION_MS}ms", "limits.connections": 15000,
            "limits.idle": "0s", **(settings or {})}
        self.nodes = []
        self.topic_name = topic_name(0)  # of the topics with jobs that fell due

    # ---- life ----

    @contextmanager
    def running(self, count):
        """So many nodes, on an empty store."""
        with self.loads.progress.step(f"{self.name}: starting {count} nodes"):
            self._empty()
            try:
                self._start(count)
            except BaseException:
                self.destroy()
                raise
        try:
            yield self
            for node in self.nodes:
                node.stop()
        finally:
            self.destroy()

    def _start(self, count):
        names = "abcdefgh"[:count]
        for name in names:
            self.nodes.append(self._node(name).launch())
        for node in self.nodes:
            node.wait_ready()
        wait_until(lambda: are_members(page_of(self.nodes[0]), names), f"{names} are members")
        if self.mode == "cluster":
            wait_until(lambda: all(node.metrics()["dueq_scanners"] == count
                                   for node in self.nodes), "all know who scans")
        self.wait_at_rest()

    def _node(self, name):
        directory = self.directory / name
        directory.mkdir(exist_ok=True)
        return Node(directory, {**self._settings, "node.id": name,
                                "ha.peer.listen": f"127.0.0.1:{free_port()}"})

    def _empty(self):
        """Nobody uses it now. The file, too."""
        for client in self.clients:
            client.flushall()
            client.bgrewriteaof()
        for client in self.clients:
            wait_until(lambda client=client: not client.info("persistence")[
                "aof_rewrite_in_progress"], "the empty file is written", interval_s=0.02)

    def destroy(self):
        for node in self.nodes:
            node.destroy()
        self.nodes = []

    # ---- looking ----

    @property
    def node_pids(self):
        return [node.worker_pid for node in self.nodes]

    @property
    def redis_pids(self):
        return [server.process.pid for server in self.store.servers]

    def look(self):
        return Look(self.node_pids, self.redis_pids, self.clients)

    def wait_at_rest(self):
        """Until neither a node nor a Redis has anything to do."""
        pids = self.node_pids + self.redis_pids
        wait_until(lambda: busy_percent(pids, 0.2) < REST_PERCENT, "all are at rest",
                   timeout_s=60, interval_s=0)

    def rss_bytes(self):
        """Of each node's worker."""
        return [resident_bytes(pid) for pid in self.node_pids]

    # ---- phases ----

    def push(self, jobs, topics, name="push"):
        """Jobs for tomorrow."""
        return self.load("push", jobs, topics=topics, topic_name=name, delay=FAR_S)

    def hand_over(self, jobs, topics, mode="pop_ack"):
        """Of those that fall_due() made ready; each topic has jobs / topics of them or more."""
        return self.load(mode, jobs, topics=topics, topic_name=self.topic_name)

    def load(self, mode, jobs, **options):
        """Through all nodes, each with a load generator of its own."""
        each = jobs // len(self.nodes)
        with self.loads.progress.step(f"{self.name}: {mode}, {len(self.nodes)} nodes"):
            look = self.look()
            running = [self.loads.start_load(
                mode, protocol="http", port=node.http_port, total=each,
                first_topic=number * each % options["topics"],
                connections=CONNECTIONS // len(self.nodes), **options)
                for number, node in enumerate(self.nodes)]
            reports = [self.loads.result_of(load) for load in running]
            used = look.used(max(report["seconds"] for report in reports))
        used.jobs = each * len(self.nodes)
        used.loader_us = sum(report["cpu_us"] for report in reports)
        used.client_bytes = sum(report["bytes_sent"] + report["bytes_received"]
                                for report in reports)
        return used

    def fill(self, jobs, topics, name, due_ms=0):
        """Past the nodes: all due at once (`due_ms`, on the wall clock), or tomorrow."""
        placed = [self.store.server_of(bucket_of(f"{name}-{n}")) for n in range(topics)]
        for number, (server, client) in enumerate(zip(self.store.servers, self.clients)):
            if number not in placed:
                continue
            signs = "".join("+" if self.store.server_of(bucket) == number else "-"
                            for bucket in range(BUCKETS))
            client.config_set("appendfsync", "no")
            self.loads.result_of(self.loads.start_load(
                "fill", redis=server.socket, topics=topics, topic_name=name, bulk=1000,
                only_buckets=signs, count=jobs // topics * placed.count(number), at_ms=due_ms,
                delay=FAR_S))
            client.config_set("appendfsync", "always")

    def fall_due(self, jobs, topics, fill_s, again_s=None):
        """All in the same millisecond, when they have been put into the store, which takes
        `fill_s` or so. `again_s`: as many once more, so much later, and those are measured."""
        with self.loads.progress.step(f"{self.name}: {jobs:,} jobs fall due"):
            for due_ms in self._filled_in_time(jobs, topics, fill_s, again_s):
                used = self._moved(due_ms)
        used.jobs = jobs // topics * topics
        return used

    def _filled_in_time(self, jobs, topics, fill_s, again_s):
        """When the jobs are due. What a slow machine did not fill in in time falls due all the
        same; then it is done again with more time, in other topics."""
        for number in range(TRIES):
            self.topic_name = topic_name(number)
            due_ms = int((time.time() + (2 if again_s else 1) * fill_s + LEAD_S) * 1000)
            dues_ms = [due_ms] + ([due_ms + int(again_s * 1000)] if again_s else [])
            try:
                for each_ms in dues_ms:
                    self.fill(jobs, topics, self.topic_name, each_ms)
            except LoadFailed:  # it fills in what is due later, only
                if time.time() * 1000 < due_ms:
                    raise
            if time.time() * 1000 < due_ms:
                return dues_ms
            fill_s *= 3
            self.wait_at_rest()
        raise LoadFailed(f"{jobs:,} jobs took too long to fill in")

    def _moved(self, due_ms):
        """What it takes until nothing is left that is due by then, which is not yet."""
        assert time.time() * 1000 < due_ms, "the jobs were due before all was ready for them"
        with Moved(self.store, due_ms) as moved:
            time.sleep(max(0, due_ms / 1000 - time.time() - 0.05))  # nothing happens before
            look = self.look()
            while time.time() * 1000 < due_ms or not moved.are_all():
                assert time.time() < due_ms / 1000 + 120, "jobs are due and nobody moves them"
                time.sleep(LOOK_S)  # the looks must not take much of what is measured
            return look.used(time.time() - due_ms / 1000)


class Moved:
    """Is there a topic still with an event up to then? Cheap: a connection a Redis, one write and
    one answer."""

    def __init__(self, store, due_ms):
        self._asked = []
        for number, server in enumerate(store.servers):
            own = [bucket for bucket in range(BUCKETS) if store.server_of(bucket) == number]
            question = "".join(f"ZCOUNT dq:{{{bucket}}}:t -inf {due_ms}\r\n" for bucket in own)
            self._asked.append((server.socket, question.encode(), b":0\r\n" * len(own)))

    def __enter__(self):
        self._links = []
        for path, *_ in self._asked:
            self._links.append(socket.socket(socket.AF_UNIX))
            self._links[-1].connect(str(path))
        return self

    def __exit__(self, *unused):
        for link in self._links:
            link.close()

    def are_all(self):
        answers = []
        for link, (_, question, nothing) in zip(self._links, self._asked):
            link.sendall(question)
            answers.append(_answers(link, nothing.count(b":")) == nothing)
        return all(answers)


def _answers(link, count):
    text = b""
    while text.count(b"\n") < count:
        text += link.recv(65536)
    return text


def busy_percent(pids, seconds):
    """Of a processor: the busiest of them over so many seconds."""
    before, since_s = [cpu_us(pid) for pid in pids], time.monotonic()
    time.sleep(seconds)  # the length of the look: nothing is waited for
    taken_us = (time.monotonic() - since_s) * 1e6
    return max((cpu_us(pid) - then) / taken_us * 100 for pid, then in zip(pids, before))
