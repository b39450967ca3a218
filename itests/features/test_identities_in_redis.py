"""Identities in Redis: all nodes act by them at once, whoever changes them; what becomes of them
where Redis is away, emptied or restored; and of requests that come before they are known."""

import os
import signal
import threading

import pytest

from features.test_access import Pusher, ask, line
from harness.dueqctl import DONE, NOTHING, REFUSED, Dueqctl
from harness.gmq import GmqError
from harness.process import frozen
from harness.wait import wait_until

KEY = "dq:{0}:i"
JOBS = "/v1/topics/orders/jobs"


@pytest.fixture(name="make_two")
def two_nodes(make_node, redis):
    def make(settings=None):
        return [make_node({"store.redis": redis.address, "access.in_redis": "true",
                           **(settings or {})}).start() for _ in range(2)]
    return make


def ctl_of(node):
    """dueqctl as the node's operator, over its socket."""
    return Dueqctl(f"unix:{node.data_dir}/admin.sock")


def new(node, *words):
    made = ctl_of(node)("token", "new", *words)
    assert made.code == DONE, made.complaint
    return made.text.strip()


def status(node, token, target=JOBS):
    return ask(node, "POST", target, token, b'{"body": ""}').status


def is_in(node, token):
    return status(node, token) == 201


def is_out(node, token):
    return status(node, token) in (401, 429)


def test_a_token_is_made_takes_over_and_is_revoked_at_all_nodes(make_two):
    first, second = make_two()
    for node in (first, second):
        assert status(node, None) == 401, "closed from the start"
    old = new(first, "shop", "--roles", "produce", "--topics", "orders")
    for node in (first, second):
        wait_until(lambda node=node: is_in(node, old), "the token is known")
    pushers = [Pusher(node, old) for node in (first, second)]
    fresh = new(second, "shop")
    for node, pusher in zip((first, second), pushers):
        wait_until(lambda node=node: is_in(node, fresh), "the second token is known")
        pusher.go_on()
        pusher.token = fresh
        pusher.go_on()
        pusher.go_on()  # the request that was under way with the old token is over
    assert ctl_of(first)("token", "revoke", "shop", "--old").code == DONE
    for node, pusher in zip((first, second), pushers):
        wait_until(lambda node=node: is_out(node, old), "the old token is gone")
        pusher.go_on()
        pusher.end()
        assert pusher.others == [], "no request was refused"
        assert status(node, fresh, "/v1/topics/other/jobs") == 403
    rows = ctl_of(second)("token", "list", "--json").json()["identities"]
    assert [(row["name"], row["tokens"]) for row in rows] == [("shop", 1)]
    assert ctl_of(second)("token", "revoke", "shop").code == DONE
    for node in (first, second):
        wait_until(lambda node=node: is_out(node, fresh), "nobody is shop any more")
    assert ctl_of(second)("token", "revoke", "shop").code == NOTHING


def test_only_administrators_of_all_topics_change_identities(make_two, tmp_path):
    node, _ = make_two()
    for name, words in (("some", ("--roles", "all", "--topics", "a*")),
                        ("operator", ("--roles", "operate"))):
        token = tmp_path / name
        token.write_text(new(node, name, *words))
        token.chmod(0o600)
        wait_until(lambda: ask(node, "GET", "/v1/access", token.read_text()).status == 200,
                   "it is known")
        ctl = Dueqctl(node.url())
        for call in (("new", "eve", "--roles", "all"), ("revoke", "some"), ("list",)):
            refused = ctl("token", *call, "--token-file", token)
            assert refused.code == REFUSED, refused
    rows = ctl_of(node)("token", "list", "--json").json()["identities"]
    assert {row["name"] for row in rows} == {"some", "operator"}


def test_what_redis_loses_the_nodes_bring_back(make_two, redis):
    first, second = make_two()
    token, gone = new(first, "shop", "--roles", "produce"), new(first, "mill", "--roles", "produce")
    assert ctl_of(second)("token", "revoke", "mill").code == DONE
    for node in (first, second):
        wait_until(lambda node=node: is_in(node, token) and is_out(node, gone), "both know it")
    with redis.client() as client:
        before = client.hgetall(KEY)
        assert set(before) >= {b"shop", b"mill"}
        client.delete(KEY)
        wait_until(lambda: {name: client.hget(KEY, name) for name in (b"shop", b"mill")} ==
                   {name: before[name] for name in (b"shop", b"mill")}, "it is brought back")
    for node in (first, second):
        assert is_in(node, token) and is_out(node, gone)
    second.kill("worker")
    wait_until(lambda: is_in(second, token) and is_out(second, gone),
               "a worker that is new knows it from Redis")


def test_a_redis_without_identities_opens_no_node(make_two, redis):
    node, other = make_two()
    new(node, "shop", "--roles", "produce")
    other.stop()
    node.stop()
    with redis.client() as client:
        client.delete(KEY)
    node.start()
    assert status(node, None) == 401
    assert is_in(node, new(node, "shop", "--roles", "produce"))


def test_requests_that_come_before_the_identities_wait_for_them(make_two, redis):
    """The worker is new, and Redis answers late: nobody is refused."""
    node, other = make_two({"gmq.as": "legacy"})
    token = new(other, "shop", "--roles", "produce")
    new(other, "legacy", "--roles", "produce,consume")
    wait_until(lambda: is_in(node, token), "it is known")
    replies = []

    def push():
        replies.append(status(node, token))

    def push_by_gmq():
        with node.python_client() as client:
            replies.append(client.push("orders", "by-gmq"))

    worker = node.worker_pid
    with frozen(redis.process.pid):
        node.kill("worker")
        wait_until(lambda: node.worker_pid not in (None, worker), "the worker is a new one")
        waiting = [threading.Thread(target=each, daemon=True) for each in (push, push_by_gmq)]
        for each in waiting:
            each.start()
        wait_until(lambda: node.http("/health/live")[0] == 200, "health is served")
        assert replies == []
    for each in waiting:
        each.join()
    assert sorted(map(str, replies)) == ["201", "success"]


def test_requests_wait_no_longer_than_the_store_holds_them(make_two, redis):
    node, _ = make_two({"store.hold": "300ms", "gmq.as": "legacy"})
    token = new(node, "shop", "--roles", "produce")
    wait_until(lambda: is_in(node, token), "it is known")
    redis.kill()
    wait_until(lambda: not node.is_ready(), "the node has lost its store")
    wait_until(lambda: status(node, token) == 503, "who it is was known; the store is away")
    worker = node.worker_pid
    node.kill("worker")
    wait_until(lambda: node.worker_pid not in (None, worker), "the worker is a new one")
    reply = ask(node, "POST", JOBS, token, b'{"body": ""}')
    assert reply.status == 503 and reply.json["error"]["code"] == "not_ready", reply.body
    assert "identities" in reply.json["error"]["message"]
    with pytest.raises(GmqError, match="unavailable"), node.python_client() as client:
        client.push("orders", "1")
    redis.start()
    wait_until(lambda: status(node, token) != 503, "Redis is back")
    assert status(node, token) in (201, 401), "this Redis keeps nothing, or it was brought back"


def test_a_files_identities_move_to_redis_without_a_refused_request(make_node, redis, tmp_path):
    file, conf = tmp_path / "identities", tmp_path / "dueq.yaml"
    file.write_text(line("shop", "produce", "a-token-of-the-shop") + line("ops", "all", "t"))
    file.chmod(0o600)
    conf.write_text(f"access: {{file: {file}}}\n")
    node = make_node({"store.redis": redis.address})
    node.argv = lambda argv=node.argv: [*argv(), "--config", conf]
    node.start()
    pusher = Pusher(node, "a-token-of-the-shop")
    pusher.go_on()
    for text in (f"access: {{file: {file}, in_redis: true}}\n", "access: {in_redis: true}\n"):
        conf.write_text(text)
        node.process.signal(signal.SIGHUP)
        if "file" in text:
            wait_until(lambda: ctl_of(node)("token", "import", "--file", file).code == DONE,
                       "its identities are in Redis")
        pusher.go_on()
        pusher.go_on()
    pusher.end()
    assert pusher.others == [], "no request was refused"
    os.unlink(file)
    assert is_in(node, "a-token-of-the-shop")
