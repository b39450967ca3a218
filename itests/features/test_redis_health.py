"""What an operator sees of the Redis behind a node: whether it can keep the promise, what waits
for it, and whether it is still asked."""

import re

from features.test_reload import configured_node
from harness.dueqctl import Dueqctl
from harness.ports import free_port
from harness.process import frozen
from harness.wait import wait_until

LOOKS_S = 60  # the node looks every ten seconds
WORDS = {"no_aof", "fsync", "may_evict", "few_replicas", "stale_writes", "unknown"}


class Seen:
    """A node through the eyes of those who watch it."""

    def __init__(self, node):
        self.node = node
        self.ctl = Dueqctl(f"http://127.0.0.1:{node.http_port}")

    def store(self):
        """/v1/status, held against its contract."""
        with self.node.api() as api:
            return api.status()["store"]

    def weak(self):
        """The words, from wherever they are told: all tell the same."""
        with self.node.api() as api:
            ready = api.done("GET", "/health/ready").json
            store = api.status()["store"]
            cluster = api.done("GET", "/v1/cluster").json
        assert ready["status"] == "ready", "it works all the same"
        words = store["weak"]
        advice = {each["message"]: each["advice"] for each in store["check"]}
        in_check = {each["message"]: each["advice"] for each in cluster["check"]
                    if each["message"] in advice}
        if not (ready["store"]["weak"] == words == [each["why"] for each in store["check"]]
                and self.metric_words() == set(words) and in_check == advice):
            return None  # it looked just now: between two of these pages
        return set(words)

    def metric_words(self):
        found = dict(re.findall(r'^dueq_store_weak\{why="(\w+)"\} ([01])$', self.metrics(), re.M))
        assert set(found) == WORDS
        return {word for word, is_so in found.items() if is_so == "1"}

    def metrics(self):
        return self.node.http("/metrics")[1]

    def becomes(self, *words):
        wait_until(lambda: self.weak() == set(words), f"{words} and nothing else is weak", LOOKS_S)

    def breaker(self):
        """Its state, where status and metrics agree on it; else None."""
        state = self.store()["breaker"]["state"]
        found = re.findall(r'^dueq_store_breaker_state\{state="(\w+)"\} 1$', self.metrics(), re.M)
        return state if found == [state] else None


def seen_node(make_node, redis, **settings):
    keys = {name.replace("__", "."): value for name, value in settings.items()}
    return Seen(make_node({"store.redis": redis.address, **keys}).start())


def test_what_may_be_lost_is_told_everywhere_until_it_is_set_right(make_node, make_redis):
    redis = make_redis(**{"maxmemory-policy": "allkeys-lru"})
    seen = seen_node(make_node, redis)
    seen.becomes("no_aof", "may_evict")
    text = seen.ctl.ok("status").text
    assert re.search(r"^store weak +no_aof, may_evict$", text, re.M)
    assert "warning: Redis runs without append-only file" in text
    assert "  to do: set 'appendonly yes'" in text
    assert "  to do: set 'maxmemory-policy noeviction'" in seen.ctl("check").text
    commands = redis.client()
    commands.config_set("appendonly", "yes")
    commands.config_set("maxmemory-policy", "noeviction")
    seen.becomes("fsync")
    assert "  to do: set 'appendfsync always'" in seen.ctl.ok("status").text
    commands.config_set("appendfsync", "always")
    seen.becomes()
    assert "warning" not in seen.ctl.ok("status").text
    log = seen.node.output()
    for word in ("no_aof", "may_evict", "fsync"):
        assert len(re.findall(rf" warn  redis .* {word}: .*; set '", log)) == 1, "said once"
        assert f"{word}: this is no longer so" in log


def test_a_redis_that_keeps_its_settings_to_itself(make_node, make_redis):
    redis = make_redis(appendonly="yes", appendfsync="always")
    redis.client().execute_command("ACL", "SETUSER", "default", "-config")
    seen = seen_node(make_node, redis)
    seen.becomes("unknown")
    redis.client().execute_command("ACL", "SETUSER", "default", "+config")
    seen.becomes()


def test_replicas_are_missed_only_where_some_are_asked_for(make_node, make_redis):
    port = free_port()
    master = make_redis(appendonly="yes", appendfsync="always", port=port)
    seen_node(make_node, master).becomes()
    seen = seen_node(make_node, master, store__min_replicas="1", store__strict="true")
    seen.becomes("few_replicas")
    make_redis(replicaof=f"127.0.0.1 {port}")
    seen.becomes()


def test_the_breaker_is_seen_to_open_and_to_close(make_node, make_redis, topic):
    """Requests would be held for five minutes: that one is refused says that it is open."""
    redis = make_redis(appendonly="yes", appendfsync="always")
    seen = seen_node(make_node, redis, store__hold="5m", store__breaker__after="1s")
    wait_until(lambda: seen.breaker() == "closed", "all is well")
    trips = seen.store()["breaker"]["trips"]
    with seen.node.api() as api:
        api.push(topic)
        with frozen(redis.process.pid):
            wait_until(lambda: seen.breaker() == "open", "it opens")
            reply = api.ask("POST", f"/v1/topics/{topic}/jobs", {"body": ""})
            assert (reply.status, reply.json["error"]["code"]) == (503, "unavailable")
            assert seen.node.http("/health/ready")[0] == 503
            assert seen.store()["breaker"]["refused"] >= 1
            assert re.search(r"^store breaker state +open$", seen.ctl.ok("status").text, re.M)

        def is_closed():
            api.ask("POST", f"/v1/topics/{topic}/jobs", {"body": ""})  # the trials
            return seen.breaker() == "closed"

        wait_until(is_closed, "it closes")
    assert seen.store()["breaker"]["trips"] > trips
    assert seen.node.http("/health/ready")[0] == 200


def test_how_long_requests_wait_can_change_while_redis_is_away(make_node, make_redis, topic):
    """The push would wait for five minutes: that it is refused says that it waits no more."""
    redis = make_redis()
    text = f"store: {{redis: '{redis.address}', breaker.after: 0s, breaker.failures: 0, hold: %s}}\n"
    node, reload = configured_node(make_node, text % "5m")
    redis.stop()
    wait_until(lambda: not Seen(node).store()["up"], "it is missed")
    reload(text % "0s")
    wait_until(lambda: "changed: store.hold\n" in node.output(), "the log names it")
    with node.api() as api:
        reply = api.ask("POST", f"/v1/topics/{topic}/jobs", {"body": ""})
    assert (reply.status, reply.json["error"]["code"]) == (503, "unavailable")
