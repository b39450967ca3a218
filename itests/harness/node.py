"""A dueq node under test: started, asked, killed in parts, stopped, and looked at afterwards."""

import json
import os
import urllib.error
import urllib.request
from pathlib import Path

import redis

from harness.build import node_program
from harness.gmq import PhpClient, PythonClient, RawClient
from harness.http_api import HttpApi
from harness.ports import free_port
from harness.process import (Process, children_of, descendants_of, is_alive, kill_now, name_of,
                             reap_orphans)
from harness.wait import wait_until


class Node:
    """`settings` are configuration keys with dots; data directory and ports are provided.
    `build`: of a folder with another build."""

    def __init__(self, directory, settings=None, env=None, build=None):
        self.directory = Path(directory)
        self.data_dir = self.directory / "data"
        self.gmq_port = free_port()
        self.http_port = free_port()
        self.settings = {
            "node.data_dir": self.data_dir,
            "gmq.listen": f"127.0.0.1:{self.gmq_port}",
            "http.listen": f"127.0.0.1:{self.http_port}",
            **(settings or {}),
        }
        self.log = self.directory / "node.log"
        self.env = {**_sanitizer_env(self.directory), **(env or {})}
        self.process = None
        self.context = None  # of TLS, where its HTTP port takes nothing else
        self._build = build

    # ---- life ----

    def argv(self):
        words = [node_program(self._build)]
        for key, value in self.settings.items():
            words += ["--set", f"{key}={value}"]
        return words

    def launch(self):
        """Starts it without waiting for anything."""
        self.process = Process(self.argv(), self.log, self.env)
        return self

    def start(self):
        self.launch()
        self.wait_ready()
        return self

    def wait_settled(self):
        """Until it knows the settings of all topics. Before that a push asks for those of its
        topic first, and a Redis that hangs meanwhile makes it unavailable instead of unknown."""
        buckets = int(self.settings.get("store.buckets", 64))
        read = 'dueq_operations_total{verb="settings",result="ok"}'
        wait_until(lambda: self.metrics().get(read, 0) >= buckets, "it knows all settings")

    def wait_ready(self):
        def ready_or_dead():
            return self.is_ready() or self.process.returncode is not None

        wait_until(ready_or_dead, "the node is ready")
        assert self.process.returncode is None, f"the node ended at its start:\n{self.output()}"

    def is_ready(self):
        return self.http("/health/ready")[0] == 200

    def wait_store_lost(self):
        """Until what comes is held or refused. Not ready it may be sooner, when only the link of
        the wake-ups has ended: a push then goes to a Redis that dies, and its fate is unknown."""
        wait_until(lambda: self.metrics()["dueq_store_up"] == 0, "the node has lost its store")

    def stop(self):
        """SIGTERM, and everything that must be true of a node that has stopped."""
        if self.process is None:
            return
        family = descendants_of(self.process.pid)
        code = self.process.terminate()
        reap_orphans()
        leftover = [f"{pid} {name_of(pid)}" for pid in family if is_alive(pid)]
        self.process = None
        kill_now([int(line.split()[0]) for line in leftover])
        self.check_sanitizers()  # which end a process with 1
        assert code == 0, f"the node stopped with {code}:\n{self.output()[-3000:]}"
        assert not leftover, f"left running: {leftover}"

    def destroy(self):
        """kill -9 of everything, no questions asked."""
        if self.process is not None:
            kill_now([self.process.pid, *descendants_of(self.process.pid)])
            self.process.wait()
            self.process = None

    def check_sanitizers(self):
        reports = [path.read_text(errors="replace") for path in self.directory.glob("asan.*")]
        assert not reports, "a sanitizer says:\n" + "\n".join(reports)

    # ---- its processes ----

    @property
    def warden_pid(self):
        """None, which has no children, where it has been ended."""
        return self.process and self.process.pid

    @property
    def worker_pid(self):
        return self._child(lambda name: not name.startswith("redis"))

    @property
    def redis_pid(self):
        return self._child(lambda name: name.startswith("redis-server"))

    def _child(self, is_wanted):
        """The first child with such a name, or None."""
        wanted = (pid for pid in children_of(self.warden_pid) if is_wanted(name_of(pid)))
        return next(wanted, None)

    def kill(self, who):
        """kill -9 of "worker", "redis", "warden" or "all"; a dead warden takes all with it."""
        if who in ("worker", "redis"):
            kill_now([wait_until(lambda: getattr(self, f"{who}_pid"), f"there is a {who}")])
            return
        family = descendants_of(self.warden_pid)
        kill_now([self.warden_pid, *(family if who == "all" else [])])
        self.process.wait()
        self.process = None
        for pid in family:
            wait_until(lambda pid=pid: not is_alive(pid), f"{name_of(pid)} follows its warden")
        reap_orphans()

    # ---- talking to it ----

    def python_client(self):
        return PythonClient(self.gmq_port)

    def php_client(self):
        return PhpClient(self.gmq_port)

    def raw_client(self, **options):
        return RawClient(self.gmq_port, **options)

    def api(self):
        return HttpApi(self.http_port, context=self.context)

    def url(self, path=""):
        return (f"https://localhost:{self.http_port}{path}" if self.context
                else f"http://127.0.0.1:{self.http_port}{path}")

    def http(self, path):
        return answer_of(self.url(path), context=self.context)

    def metrics(self):
        """{name or name{labels}: value}"""
        status, text = self.http("/metrics")
        assert status == 200, text
        lines = [line for line in text.splitlines() if line and not line.startswith("#")]
        return {name: float(value) for name, _, value in (l.rpartition(" ") for l in lines)}

    def redis(self):
        """A client of the embedded Redis, through its unix socket."""
        socket = self.data_dir / "redis.sock"
        return redis.Redis(unix_socket_path=os.path.relpath(socket), socket_timeout=20)

    def output(self):
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def log_records(self):
        """The log as objects; needs log.format=json."""
        return [json.loads(line) for line in self.output().splitlines() if line[:1] == "{"]


def answer_of(url, timeout_s=10, context=None, headers=None):
    """(status, text); (0, reason) when nobody answers. `context`: of TLS."""
    request = urllib.request.Request(url, headers=headers or {})
    try:
        with urllib.request.urlopen(request, timeout=timeout_s, context=context) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
    except OSError as error:
        return 0, str(error)


def _sanitizer_env(directory):
    options = f"log_path={directory}/asan:detect_leaks=1:abort_on_error=0"
    return {"ASAN_OPTIONS": options, "UBSAN_OPTIONS": f"print_stacktrace=1:{options}"}
