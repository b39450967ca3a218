"""The audit log: a line for each operation that only operators need."""

import contextlib
import json
import os
import re
import resource
import signal
import stat
from pathlib import Path

from harness.http_raw import RawHttp
from harness.http_tables import contract_in_source
from harness.openapi import METHODS
from harness.refused import said_by
from harness.wait import wait_until


def audited_node(make_node):
    node = make_node()
    file = node.directory / "audit.log"
    node.settings["log.audit"] = file
    return node.start(), file


def entries(file):
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def ask(node, method, target, body=b"", headers=""):
    with RawHttp(node.http_port) as raw:
        raw.request(method, target, body, headers)
        return raw.reply()


def lost(node):
    return node.metrics()['dueq_audit_lines_lost_total{protocol="http"}']


def new_worker(node):
    worker = node.worker_pid
    node.kill("worker")
    wait_until(lambda: node.worker_pid not in (None, worker), "the warden has a new worker")
    node.wait_ready()


def test_what_operators_do_has_a_line_and_what_clients_do_has_none(make_node):
    node, file = audited_node(make_node)
    with node.api() as api:
        for name in ("a", "b", "c"):
            api.push("orders/eu", id=name)
        api.cancel("orders/eu", "a")
    assert ask(node, "GET", "/v1/topics").status == 200
    assert entries(file) == []
    reply = ask(node, "POST", "/v1/topics/orders%2Feu/purge", b'{"states": ["ready"]}',
                "X-Request-Id: at-night\r\n")
    assert reply.status == 200
    entry, = entries(file)
    assert entry.pop("time").endswith("Z")
    assert entry.pop("from").startswith("http 127.0.0.1:")
    assert entry == {"who": None, "operation": "purge", "role": "operate", "topic": "orders/eu",
                     "id": None, "body": '{"states": ["ready"]}', "request": "at-night",
                     "status": 200, "error": None, "count": 2}
    assert stat.S_IMODE(file.stat().st_mode) & 0o007 == 0, "it is not everybody's to read"


def operations():
    """(method, target, operationId, roles) of all that the API describes."""
    for path, item in contract_in_source().document["paths"].items():
        for method in set(METHODS) & item.keys():
            yield (method.upper(), re.sub(r"{\w+}", "t", path), item[method]["operationId"],
                   item[method].get("x-roles", []))


def test_each_operation_of_operators_has_a_line_also_when_it_is_refused(make_node):
    """A page of somebody else's asks, so none of them happens; what it may read, it does not see."""
    node, file = audited_node(make_node)
    expected = []
    for method, target, name, roles in operations():
        reply = ask(node, method, target, headers="Origin: http://elsewhere\r\n")
        if {"operate", "admin"} & set(roles):
            error = reply.json["error"]["code"]
            assert error == ("wrong_state" if method == "GET" else "forbidden_origin"), name
            expected.append((name, roles[0], reply.status, error))
    assert len(expected) > 10
    assert [(entry["operation"], entry["role"], entry["status"], entry["error"])
            for entry in entries(file)] == expected


def test_the_reader_of_a_pipe_sees_no_end_while_the_node_runs(make_node):
    node = make_node()
    file = node.settings["log.audit"] = node.directory / "audit"
    os.mkfifo(file)
    reader = os.open(file, os.O_RDONLY | os.O_NONBLOCK)
    node.start()

    def said():
        return json.loads(os.read(reader, 65536))["operation"]

    def is_silent():
        try:
            return os.read(reader, 1) and False
        except BlockingIOError:
            return True

    assert is_silent()
    node.process.signal(signal.SIGHUP)
    wait_until(lambda: "read again" in node.output(), "the warden has read the configuration")
    assert is_silent(), "the pipe is still open"
    assert ask(node, "POST", "/v1/topics/t/pause", b"{}").status == 200
    assert said() == "pause"
    os.close(reader)
    new_worker(node)
    assert ask(node, "POST", "/v1/topics/t/pause", b"{}").status == 200
    assert lost(node) == 1
    reader = os.open(file, os.O_RDONLY | os.O_NONBLOCK)
    assert is_silent(), "the next worker has it, too, though nobody reads"
    assert ask(node, "POST", "/v1/topics/t/resume").status == 200
    assert said() == "resume"
    node.stop()
    assert os.read(reader, 1) == b"", "the end"
    os.close(reader)


def limit_files(pids, most):
    for pid in pids:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))


def ignores(pid, number):
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(re.search(r"SigIgn:\s*(\w+)", status)[1], 16) >> (number - 1) & 1


def test_a_file_at_its_limit_ends_nothing_and_the_next_lines_stand_by_themselves(make_node):
    """Also not over the log's own lines; a child of the node gets the signal's default back."""
    node, file = audited_node(make_node)
    processes = node.warden_pid, node.worker_pid
    limit_files(processes, 20)
    for count in (1, 2):
        assert ask(node, "POST", "/v1/topics/t/resume").status == 200
        assert lost(node) == count
    node.process.signal(signal.SIGHUP)
    limit_files(processes, resource.RLIM_INFINITY)
    assert ask(node, "POST", "/v1/topics/t/pause", b"{}").status == 200
    new_worker(node)
    assert ask(node, "POST", "/v1/topics/t/resume").status == 200
    torn, *lines = file.read_text(encoding="utf-8").splitlines()
    assert torn == '{"time":"' + torn[9:] and len(torn) == 20
    assert [json.loads(line)["operation"] for line in lines] == ["pause", "resume"]
    assert node.warden_pid == processes[0]
    assert not ignores(node.redis_pid, signal.SIGXFSZ)


def audit_logs_of(pid):
    """That the process has open."""
    found = set()
    for fd in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # closed since
            found.add(fd.readlink())
    return {file for file in found if file.name.startswith("audit")}


def test_a_rotated_file_is_opened_anew(make_node):
    node, file = audited_node(make_node)
    assert ask(node, "POST", "/v1/topics/t/pause", b"{}").status == 200
    old = file.rename(file.with_suffix(".1"))
    node.process.signal(signal.SIGHUP)
    wait_until(lambda: {file} == audit_logs_of(node.warden_pid) == audit_logs_of(node.worker_pid),
               "both have the new file open, and the old one no more")
    assert ask(node, "POST", "/v1/topics/t/resume").status == 200
    assert [entry["operation"] for entry in entries(old) + entries(file)] == ["pause", "resume"]


def test_a_file_that_cannot_be_opened_ends_the_start_and_says_so_there(make_node, tmp_path):
    said = said_by(make_node({"log.audit": tmp_path, "log.file": tmp_path / "log"}))
    assert f"log.audit: cannot open {tmp_path}: Is a directory" in said


def test_a_file_that_cannot_be_opened_later_leaves_the_old_one(make_node):
    """Also to the worker that comes next."""
    node = make_node()
    file, path = node.directory / "audit.log", node.directory / "dueq.yaml"
    path.write_text(f"log: {{audit: {file}}}\n")
    node.argv = lambda argv=node.argv: [*argv(), "--config", path]
    node.start()
    path.write_text("log: {audit: /nonexistent/audit}\n")
    node.process.signal(signal.SIGHUP)
    wait_until(lambda: "log.audit: cannot open /nonexistent/audit: No such file or directory; the "
                       "old one stays" in node.output(), "the log says so")
    new_worker(node)
    assert ask(node, "POST", "/v1/topics/t/resume").status == 200
    assert [entry["operation"] for entry in entries(file)] == ["resume"]


def test_the_first_file_that_cannot_be_opened_later_is_tried_again(make_node):
    """Where none was open there is none to stay."""
    node = make_node()
    file, path = node.directory / "logs" / "audit.log", node.directory / "dueq.yaml"
    path.write_text("log: {}\n")
    node.argv = lambda argv=node.argv: [*argv(), "--config", path]
    node.start()
    path.write_text(f"log: {{audit: {file}}}\n")
    node.process.signal(signal.SIGHUP)
    wait_until(lambda: node.output().count("its lines are lost until it can be") == 2,
               "warden and worker say so")
    assert ask(node, "POST", "/v1/topics/t/resume").status == 200
    assert lost(node) == 1
    file.parent.mkdir()
    wait_until(lambda: ask(node, "POST", "/v1/topics/t/resume").status == 200 and file.exists(),
               "it is looked for again")
    assert entries(file)[0]["operation"] == "resume"
