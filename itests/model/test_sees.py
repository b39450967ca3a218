"""The model, before a node that lies: a model that believes everything is no test.

Each lie stands between the model and a healthy node, and changes what is asked or answered as a
node with that mistake would. All of them must be seen, and the truth must not be.
"""

import random
import re

import pytest

from harness.http_api import Reply
from model.runs import run_for

PATIENCE_S = 120  # most lies are seen with the first batch of sequences


class Lie:
    """`ask` of a node that is not quite right."""

    def __init__(self, ask):
        self.ask = ask

    def __call__(self, method, target, body=b""):
        verb = re.fullmatch(r".*/([a-z]+)(\?.*)?", target)
        name = f"on_{verb[1]}" if verb and method == "POST" else f"on_{method.lower()}"
        change = getattr(self, name, self.ask) if "/clock/" not in target else self.ask
        return change(method, target, body)


def told(status, json):
    reply = Reply(status, [], b"")
    reply.json = json
    return reply


class HandsOutEarly(Lie):
    def on_jobs(self, method, target, body):
        reply = self.ask(method, target, body)
        if isinstance(body, dict) and 0 < body.get("delay_ms", 0) and reply.status == 201:
            self.ask("POST", f"{target}/{reply.json['id']}/run")
        return reply


class ForgetsAnAck(Lie):
    def on_ack(self, method, target, body):
        return told(204, None) if "/jobs/" in target else self.ask(method, target, body)


class LosesAJob(Lie):
    def on_jobs(self, method, target, body):
        reply = self.ask(method, target, body)
        if isinstance(body, list) and "id" in reply.json["results"][-1]:
            self.ask("DELETE", f"{target}/{reply.json['results'][-1]['id']}")
        return reply


class HandsOutTwice(Lie):
    def on_pop(self, method, target, body):
        reply = self.ask(method, target, body)
        for job in reply.json["jobs"]:
            self.ask("POST", f"/v1/topics/{job['topic']}/jobs/{job['id']}/run")
        return reply


class LastComesFirst(Lie):
    def on_pop(self, method, target, body):
        reply = self.ask(method, target, body)
        reply.json["jobs"].reverse()
        return reply


class TakesOldLeases(Lie):
    def on_ack(self, method, target, body):
        reply = self.ask(method, target, body)
        return told(204, None) if reply.status == 409 else reply


class DoesNotPause(Lie):
    def on_pause(self, method, target, body):
        reply = self.ask(method, target, body)
        self.ask("POST", target.replace("/pause", "/resume"))
        return reply


class CountsNoTries(Lie):
    def on_get(self, method, target, body):
        reply = self.ask(method, target, body)
        if "tries" in (reply.json or {}):
            reply.json["tries"] = 0
        return reply


class DoesNotRest(Lie):
    def on_release(self, method, target, body):
        return self.ask(method, target, {**body, "delay_ms": 0})


class DoesNotSweepAll(Lie):
    def on_purge(self, method, target, body):
        return self.ask(method, target, {**body, "limit": 1})


class Replaces(Lie):
    def on_jobs(self, method, target, body):
        if isinstance(body, dict) and body.get("mode") == "ignore":
            body = {**body, "mode": "replace"}
        reply = self.ask(method, target, body)
        return told(200 if "existed" in (reply.json or {}) else reply.status, reply.json)


class ListsTooFew(Lie):
    def on_get(self, method, target, body):
        reply = self.ask(method, target, body)
        if "jobs" in (reply.json or {}):
            del reply.json["jobs"][1:2]
        return reply


class NeverExpires(Lie):
    def on_jobs(self, method, target, body):
        reply = self.ask(method, target, body)
        if isinstance(body, dict) and 0 < body.get("ttl_ms", 0) < 1000 and reply.status == 201:
            again = {**body, "id": reply.json["id"], "mode": "replace", "ttl_ms": 0}
            self.ask(method, target, again)
        return reply


@pytest.mark.parametrize("lie", Lie.__subclasses__())
def test_is_not_deceived(api, lie):
    result = run_for(lie(api.ask), PATIENCE_S, seed=1)
    assert result.failure, f"believed in {result}"
    # It was the model that saw it, not a mistake of the test.
    assert "Wrong: " in result.failure, result.failure


def test_believes_the_truth(api):
    result = run_for(Lie(api.ask), 5, seed=random.SystemRandom().randrange(1 << 32))
    assert result.failure is None, result.failure
