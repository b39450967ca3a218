#!/usr/bin/env python3
"""A cluster on this machine, left running, and a short guided failover: what `./dev ha` runs.

Three ZooKeeper servers, a Redis and three nodes, on free ports. The tour shows a switchover, the
death of a worker and the death of a whole node, with jobs that come due all the time: what
dueqctl says, and how late the latest of these jobs came. `down` ends what `up` has started, and
nothing else: each process is known by its number and by its directory in its command line.
"""

import argparse
import http.client
import json
import os
import shutil
import signal
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from harness.build import build_dir  # noqa: E402
from harness.cluster import Cluster  # noqa: E402
from harness.process import Process, descendants_of, is_alive, kill_now  # noqa: E402
from harness.wait import wait_until  # noqa: E402

NAMES = ("a", "b", "c")
SESSION_MS, TICK_MS = 2000, 500
PUSH_EVERY_S, DELAY_MS = 0.01, 200
AROUND_S = 1  # jobs come due for so long before and after what is shown


# ---- jobs ----

class Stream:
    """Jobs pushed to a node, each due a moment later, and popped from the same node: in between
    a leader has to move them."""

    def __init__(self, port):
        self._port, self._topic = port, f"tour-{time.time_ns()}"
        self._is_over = threading.Event()
        self._pushed, self.late_ms = 0, []
        self._threads = [threading.Thread(target=each, daemon=True)
                         for each in (self._push, self._consume)]

    def _ask(self, connection, path, body=None):
        connection.request("POST", f"/v1/topics/{self._topic}/{path}",
                           json.dumps(body) if body else None)
        return json.loads(connection.getresponse().read() or b"{}")

    def _push(self):
        connection = http.client.HTTPConnection("127.0.0.1", self._port)
        while not self._is_over.wait(PUSH_EVERY_S):
            job = self._ask(connection, "jobs", {"body": "", "delay_ms": DELAY_MS})
            assert "due_ms" in job, job
            self._pushed += 1

    def _consume(self):
        connection = http.client.HTTPConnection("127.0.0.1", self._port)
        while not (self._is_over.is_set() and len(self.late_ms) == self._pushed):
            for job in self._ask(connection, "pop?count=64&wait_ms=500").get("jobs", []):
                self.late_ms.append(time.time() * 1000 - job["due_ms"])
                self._ask(connection, f"jobs/{job['id']}/ack", {"lease": job["lease"]})

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        time.sleep(AROUND_S)
        return self

    def __exit__(self, *failure):
        if not failure[0]:
            time.sleep(AROUND_S)
        self._is_over.set()
        for thread in self._threads:
            thread.join(60)

    def say(self):
        print(f"   {self._pushed} jobs came due meanwhile, all were handed out; the latest came "
              f"{max(self.late_ms):.0f} ms late, the median {median(self.late_ms):.1f} ms.")


def median(numbers):
    return sorted(numbers)[len(numbers) // 2]


# ---- the tour ----

def say(text=""):
    print(text, flush=True)


def show(cluster, *words):
    say(f"   $ dueqctl {' '.join(words)}")
    done = cluster.ctl()(*words)
    for line in (done.text + done.complaint).splitlines():
        say(f"     {line}")


def take_over(cluster, title, harm):
    """Something happens to the leader; jobs go through a node that is neither it nor the next."""
    leader = cluster.wait_leader()
    bystander = next(name for name in NAMES if name != leader)
    say(f"\n{title} ({leader} leads)")
    with Stream(cluster.nodes[bystander].http_port) as stream:
        begin = time.monotonic()
        harm(leader)
        new = cluster.wait_leader(other_than=leader)
        took_ms = (time.monotonic() - begin) * 1000
    say(f"   {new} leads, {took_ms:.0f} ms later.")
    stream.say()


def tour(cluster):
    def switch(leader):
        show(cluster, "switchover", "--to", next(n for n in reversed(NAMES) if n != leader))

    def kill_worker(leader):
        cluster.nodes[leader].kill("worker")

    def kill_node(leader):
        cluster.nodes[leader].kill("all")

    say("\nThe cluster:")
    show(cluster, "nodes")
    show(cluster, "check")
    take_over(cluster, "1. A switchover, in order", switch)
    wait_calm(cluster)
    take_over(cluster, "2. kill -9 of the leader's worker: its warden ends its session",
              kill_worker)
    wait_calm(cluster)
    dead = cluster.wait_leader()
    take_over(cluster, "3. kill -9 of the leader, warden and worker: the others prove its death",
              kill_node)
    cluster.nodes[dead].start()
    say(f"   {dead} is started again.")
    wait_calm(cluster)
    say("\nWhat happened:")
    show(cluster, "history")
    show(cluster, "nodes")


def wait_calm(cluster):
    """All are there, and none waits because it has just given the lead away."""
    for node in cluster.nodes.values():
        node.wait_ready()
    wait_until(lambda: cluster.ctl()("check").code == 0, "a failover would succeed")
    time.sleep(SESSION_MS / 1000)


# ---- up and down ----

def state_of(directory):
    try:
        return json.loads((directory / "state.json").read_text())
    except (OSError, ValueError):
        return None


def living(directory):
    """The processes of `up` that still run; a number may be another's by now."""
    state = state_of(directory) or {"pids": []}
    return [pid for pid in state["pids"] if is_alive(pid) and is_ours(pid, directory)]


def is_ours(pid, directory):
    try:
        return str(directory).encode() in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def save(cluster, directory):
    processes = [*(server.process for server in cluster.zookeeper.servers), cluster.redis.process,
                 *(node.process for node in cluster.nodes.values())]
    (directory / "state.json").write_text(json.dumps({
        "pids": [process.pid for process in processes if process],
        "nodes": {name: node.url() for name, node in cluster.nodes.items()}}))


def say_where(directory):
    state = state_of(directory)
    first = next(iter(state["nodes"].values()))
    say("\nIt is left running; its logs are below " + str(directory))
    for name, url in state["nodes"].items():
        say(f"  {name}  {url}")
    say(f"Try: export DUEQ_URL={first} PATH={build_dir()}/bin:$PATH")
    say("     dueqctl nodes; dueqctl events; dueqctl switchover; dueqctl tail")
    say("Stop it with ./dev ha down.")


def up(directory, mode):
    if living(directory):
        say("It runs already.")
        say_where(directory)
        return
    shutil.rmtree(directory, ignore_errors=True)
    Process.detached = True  # Ctrl-C is for this program
    cluster = Cluster(directory, SESSION_MS, TICK_MS)
    begin = time.monotonic()
    say("Three ZooKeeper servers, a Redis and three nodes start ...")
    try:
        cluster.start(*NAMES, ha_mode=mode)
        say(f"They serve, after {time.monotonic() - begin:.1f} s.")
        tour(cluster)
    except BaseException:
        cluster.destroy()
        raise
    save(cluster, directory)
    say_where(directory)


def down(directory):
    pids = living(directory)
    for pid in reversed(pids):  # nodes first
        end(pid)
    (directory / "state.json").unlink(missing_ok=True)
    say(f"{len(pids)} programs have ended." if pids else "It does not run.")


def end(pid):
    family = descendants_of(pid)
    try:
        os.kill(pid, signal.SIGTERM)
        wait_until(lambda: not is_alive(pid), f"process {pid} ends")
    except ProcessLookupError:
        pass
    except AssertionError:
        kill_now([pid, *family])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="?", choices=("up", "down"), default="up")
    parser.add_argument("--cluster", dest="mode", action="store_const", const="cluster",
                        default="standby", help="all nodes scan")
    parser.add_argument("--directory", type=Path, required=True)
    arguments = parser.parse_args()
    directory = arguments.directory.resolve()
    if arguments.what == "up":
        up(directory, arguments.mode)
    else:
        down(directory)


if __name__ == "__main__":
    main()
