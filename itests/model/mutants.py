"""Nodes that lie: each stands between the model and a healthy node, and changes what is asked or
answered as a node with that mistake would. test_mutants.py wants all of them seen.

on_<verb> gets what is posted to .../verb, on_get, on_patch and on_delete the rest; `gmq` what
goes to the gmq port; `node` is which one it stands before.
"""

import re
from threading import Event
from urllib.parse import parse_qs, urlsplit

from harness.gmq import GmqError
from harness.http_api import Reply
from harness.topic_settings import BUILT_IN
from model.nodes import Truth
from model.rules import configured


class Mutant(Truth):
    """`ask` of a node that is not quite right."""

    def __call__(self, method, target, body=b""):
        verb = re.fullmatch(r".*/([a-z]+)(\?.*)?", target)
        name = f"on_{verb[1]}" if verb and method == "POST" else f"on_{method.lower()}"
        change = getattr(self, name, self.ask) if "/clock/" not in target else self.ask
        return change(method, target, body)


def told(status, json):
    reply = Reply(status, [], b"")
    reply.json = json
    return reply


class HandsOutEarly(Mutant):
    def on_jobs(self, method, target, body):
        reply = self.ask(method, target, body)
        if isinstance(body, dict) and 0 < body.get("delay_ms", 0) and reply.status == 201:
            self.ask("POST", f"{target}/{reply.json['id']}/run")
        return reply


class ForgetsAnAck(Mutant):
    def on_ack(self, method, target, body):
        return told(204, None) if "/jobs/" in target else self.ask(method, target, body)


class LosesAJob(Mutant):
    def on_jobs(self, method, target, body):
        reply = self.ask(method, target, body)
        if isinstance(body, list) and "id" in reply.json["results"][-1]:
            self.ask("DELETE", f"{target}/{reply.json['results'][-1]['id']}")
        return reply


class HandsOutTwice(Mutant):
    def on_pop(self, method, target, body):
        reply = self.ask(method, target, body)
        for job in reply.json["jobs"]:
            self.ask("POST", f"/v1/topics/{job['topic']}/jobs/{job['id']}/run")
        return reply


class LastComesFirst(Mutant):
    def on_pop(self, method, target, body):
        reply = self.ask(method, target, body)
        reply.json["jobs"].reverse()
        return reply


class TakesOldLeases(Mutant):
    def on_ack(self, method, target, body):
        reply = self.ask(method, target, body)
        return told(204, None) if reply.status == 409 else reply


class DoesNotPause(Mutant):
    def on_pause(self, method, target, body):
        reply = self.ask(method, target, body)
        self.ask("POST", target.replace("/pause", "/resume"))
        return reply


class CountsNoTries(Mutant):
    def on_get(self, method, target, body):
        reply = self.ask(method, target, body)
        if "tries" in (reply.json or {}):
            reply.json["tries"] = 0
        return reply


class DoesNotRest(Mutant):
    def on_release(self, method, target, body):
        return self.ask(method, target, {**body, "delay_ms": 0})


class DoesNotSweepAll(Mutant):
    def on_purge(self, method, target, body):
        return self.ask(method, target, {**body, "limit": 1})


class Replaces(Mutant):
    def on_jobs(self, method, target, body):
        if isinstance(body, dict) and body.get("mode") == "ignore":
            body = {**body, "mode": "replace"}
        reply = self.ask(method, target, body)
        return told(200 if "existed" in (reply.json or {}) else reply.status, reply.json)


class ListsTooFew(Mutant):
    def on_get(self, method, target, body):
        reply = self.ask(method, target, body)
        if "jobs" in (reply.json or {}):
            del reply.json["jobs"][1:2]
        return reply


class NeverExpires(Mutant):
    def on_jobs(self, method, target, body):
        reply = self.ask(method, target, body)
        if isinstance(body, dict) and 0 < body.get("ttl_ms", 0) < 1000 and reply.status == 201:
            again = {**body, "id": reply.json["id"], "mode": "replace", "ttl_ms": 0}
            self.ask(method, target, again)
        return reply


# ---- of several nodes ----


class TellsWhatWas(Mutant):
    """The second node shows what it showed the last time."""
    shown = {}

    def on_get(self, method, target, body):
        reply = self.ask(method, target, body)
        if self.node and reply.status == 200:
            self.shown, before = {**self.shown, target: reply}, self.shown
            return before.get(target, reply)
        return reply


class PushesByOtherRules(Mutant):
    """What the second node does not know it takes from elsewhere."""

    def rules(self, _topic):
        return BUILT_IN

    def on_jobs(self, method, target, body):
        topic = target.split("/")[3]
        rules = {name: value for name, value in self.rules(topic).items()
                 if name in ("ttr_ms", "priority", "max_tries", "backoff")}
        if self.node and isinstance(body, dict):
            body = {**rules, **body}
        return self.ask(method, target, body)


class HearsOfNoChange(PushesByOtherRules):
    """It knows the configuration, and not what was set at the other node."""

    def rules(self, topic):
        return configured(topic)


# ---- to those who wait ----


def waits_ms(target):
    return int(parse_qs(urlsplit(target).query).get("wait_ms", ["0"])[0])


def without_wait(target):
    return re.sub(r"wait_ms=\d+", "wait_ms=0", target)


class GivesUpEarly(Mutant):
    def on_pop(self, method, target, body):
        return self.ask(method, without_wait(target), body)


class WakesNobody(Mutant):
    def on_pop(self, method, target, body):
        reply = self.ask(method, without_wait(target), body)
        if not reply.json["jobs"]:
            Event().wait(waits_ms(target) / 1000)
        return reply


class DoesNotHoldBackFromWhoWaits(Mutant):
    """What is delayed goes to them, too."""

    def on_pop(self, method, target, body):
        if waits_ms(target) > 1000:
            topic = target.split("/")[3].split(",")[0]
            for job in self.ask("GET", f"/v1/topics/{topic}/jobs?state=delayed").json["jobs"]:
                self.ask("POST", f"/v1/topics/{topic}/jobs/{job['id']}/run")
        return self.ask(method, target, body)


class ServesWhoWaitsAndOthers(Mutant):
    def on_pop(self, method, target, body):
        reply = self.ask(method, target, body)
        for job in reply.json["jobs"] if waits_ms(target) > 1000 else ():
            self.ask("POST", f"/v1/topics/{job['topic']}/jobs/{job['id']}/run")
        return reply


class HandsOutWhilePaused(Mutant):
    def on_pop(self, method, target, body):
        topic = target.split("/")[3].split(",")[0]
        counts = self.ask("GET", f"/v1/topics/{topic}").json
        if not counts["paused"] or counts["paused_until_ms"]:
            return self.ask(method, target, body)
        self.ask("POST", f"/v1/topics/{topic}/resume")
        reply = self.ask(method, without_wait(target), body)
        self.ask("POST", f"/v1/topics/{topic}/pause", {})
        return reply


# ---- when the time is over ----


class TakesNothingBack(Mutant):
    def on_pop(self, method, target, body):
        return self.ask(method, re.sub(r"ttr_ms=\d+", "ttr_ms=3600000", target), body)


class TakesBackTooSoon(Mutant):
    def on_pop(self, method, target, body):
        return self.ask(method, re.sub(r"ttr_ms=\d{5,}", "ttr_ms=20", target), body)


class ForgivesTries(Mutant):
    """After a try that failed the job has all of them again."""

    def on_get(self, method, target, body):
        reply = self.ask(method, target, body)
        if (reply.json or {}).get("death") == "tries":
            self.ask("POST", f"{target}/kick")
            return self.ask(method, target, body)
        return reply


# ---- gmq ----


class AcksNothing(Mutant):
    def gmq(self, call, method, param):
        return True if method == "Ack" else call(method, param)


class AcksForOthers(Mutant):
    def gmq(self, call, method, param):
        try:
            return call(method, param)
        except GmqError as error:
            if method == "Ack" and str(error) != "empty":
                return True
            raise


class DelaysNothing(Mutant):
    def gmq(self, call, method, param):
        return call(method, {**param, "delay": 0} if method == "Push" else param)


class TakesTheLastTopicFirst(Mutant):
    def gmq(self, call, method, param):
        return call(method, param[::-1] if method == "Pop" else param)


class CountsFromOne(Mutant):
    def gmq(self, call, method, param):
        result = call(method, param)
        return {**result, "consume_num": result["consume_num"] + 1} if method == "Pop" else result


def all_mutants(of=Mutant):
    return [each for lie in of.__subclasses__() for each in (lie, *all_mutants(lie))]
