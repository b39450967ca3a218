"""What an operator sees of the Redis behind a node: whether it can keep the promise, what waits
for it, and whether it is still asked."""

import re

from features.test_reload import configured_node
from harness.dueqctl import Dueqctl
from harness.process import frozen
from harness.wait import wait_until

LOOKS_S = 60  # the node looks every ten seconds
WORDS = {"no_aof", "fsync", "may_evict", "few_replicas", "stale_writes", "aof_cut", "memory",
         "misconf", "noreplicas", "unknown"}


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
        """The words, from wherever they are told: all tell the same, and the node is ready with
        them. Else None."""
        with self.node.api() as api:
            ready = api.ask("GET", "/health/ready").json
            store = api.status()["store"]
            cluster = api.done("GET", "/v1/cluster").json
        words = store["weak"]
        advice = {each["message"]: each["advice"] for each in store["check"]}
        warnings = {each["message"]: each["advice"] for each in cluster["check"]
                    if each["level"] == "warning"}
        all_agree = (ready.get("store") == {"weak": words}
                     and [each["why"] for each in store["check"]] == words
                     and self.metric_words() == set(words)
                     and advice.items() <= warnings.items())
        return set(words) if all_agree else None

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
    assert "  hint: set 'appendonly yes'" in text
    assert "  hint: set 'maxmemory-policy noeviction'" in seen.ctl("check").text
    commands = redis.client()
    commands.config_set("appendonly", "yes")
    commands.config_set("maxmemory-policy", "noeviction")
    seen.becomes("fsync")
    assert "  hint: set 'appendfsync always'" in seen.ctl.ok("status").text
    commands.config_set("appendfsync", "always")
    seen.becomes()
    assert "warning" not in seen.ctl.ok("status").text
    log = seen.node.output()
    for word in ("no_aof", "may_evict", "fsync"):
        assert len(re.findall(rf" warn  redis .* {word}: .*; set '", log)) == 1, "said once"
        assert f"{word}: this is no longer so" in log


def test_an_embedded_redis_that_is_full_refuses_pushes_and_leads_jobs_to_their_end(make_node,
                                                                                   topic):
    """Nothing is thrown away: all that was acknowledged comes out, and then there is room."""
    seen = Seen(make_node({"store.memory": "16MiB"}).start())
    assert seen.node.redis().config_get("maxmemory")["maxmemory"] == str(16 << 20)
    with seen.node.api() as api:
        pushed = 0
        while (reply := api.ask("POST", f"/v1/topics/{topic}/jobs",
                                {"body": "b" * 100_000})).status != 502:
            assert reply.status in (200, 201), reply.json
            pushed += 1
        error = reply.json["error"]
        assert error["code"] == "store_error" and "OOM" in seen.node.output()
        seen.becomes("memory")
        assert "store.memory" in seen.ctl.ok("status").text
        for _ in range(pushed):
            job = api.ask("POST", f"/v1/topics/{topic}/pop").json["jobs"][0]
            assert api.ask("POST", f"/v1/topics/{topic}/jobs/{job['id']}/ack",
                           {"lease": job["lease"]}).status == 204
        seen.becomes()
        assert api.ask("POST", f"/v1/topics/{topic}/jobs", {"body": "b"}).status in (200, 201)


def test_a_node_is_not_ready_while_redis_answers_nothing_though_the_link_is_open(make_node,
                                                                                 make_redis):
    redis = make_redis(appendonly="yes", appendfsync="always")
    seen = seen_node(make_node, redis, store__command_timeout="5m", store__breaker__after="0s")
    with frozen(redis.process.pid):
        wait_until(lambda: seen.node.http("/health/ready")[0] == 503, "it is not ready")
        assert "does not answer" in seen.node.http("/health/ready")[1]
        assert seen.node.http("/health/live")[0] == 200
        assert seen.store()["up"], "the link is open"
    wait_until(lambda: seen.node.http("/health/ready")[0] == 200, "it is again")
    assert seen.store()["connects"] == 1


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
            api.ask("POST", f"/v1/topics/{topic}/jobs", {"body": ""})  # the probes
            return seen.breaker() == "closed"

        wait_until(is_closed, "it closes")
    assert seen.store()["breaker"]["trips"] > trips
    assert seen.node.http("/health/ready")[0] == 200


def test_a_redis_that_forgot_is_told_with_its_figures(make_node, make_redis, topic):
    redis = make_redis()  # without a file: it forgets all
    seen = seen_node(make_node, redis)
    with seen.node.api() as api:
        for _ in range(3):
            api.push(topic)
    redis.destroy()
    redis.start()
    wait_until(lambda: seen.store()["rollbacks"] == 1, "it is noticed")
    assert seen.store()["lost_pushes"] == 3
    assert "\ndueq_store_rollbacks_total 1\n" in seen.metrics()
    assert "\ndueq_store_lost_pushes_total 3\n" in seen.metrics()
    assert re.search(r"^store lost pushes +3$", seen.ctl.ok("status").text, re.M)


def test_how_long_requests_wait_can_change_while_redis_is_away(make_node, make_redis, topic):
    """The push would wait for five minutes: that it is refused says that it waits no more. That
    the worker has read its configuration again is seen by the names it goes by."""
    redis = make_redis()
    text = (f"store: {{redis: '{redis.address}', breaker.after: 0s, breaker.failures: 0, hold: %s}}\n"
            "http: {hosts: '%s'}\n")
    node, reload = configured_node(make_node, text % ("5m", ""))
    redis.stop()
    with node.api() as api:
        wait_until(lambda: not api.status()["store"]["up"], "it is missed")
        reload(text % ("0s", "dueq"))
        wait_until(lambda: api.ask("GET", "/v1/status", headers={"Host": "other"}).status == 421,
                   "the worker has read it")
        reply = api.ask("POST", f"/v1/topics/{topic}/jobs", {"body": ""})
    assert (reply.status, reply.json["error"]["code"]) == (503, "unavailable")
    assert "changed: store.hold, http.hosts\n" in node.output()
