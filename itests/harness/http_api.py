"""A client of the HTTP API that believes nothing: every request and every reply is judged by
the OpenAPI file that the node itself serves.

A request that is wrong on purpose says so with is_wrong=True, and must be wrong by the contract
as well. Not safe for threads: one client a thread.
"""

import base64
import http.client
import itertools
import json
import re
from contextlib import contextmanager
from urllib.parse import quote, urlencode

import pytest

from harness.openapi import Broken, contract_of

TIMEOUT_S = 30
_request_ids = itertools.count(1)


class Refused(Exception):
    """The node answered with an error."""

    def __init__(self, reply):
        error = reply.json["error"]
        super().__init__(f"{reply.status} {error['code']}: {error['message']}")
        self.status, self.code, self.message = reply.status, error["code"], error["message"]
        self.headers = reply.headers


class LostConnection(Exception):
    """No answer: the request may have been carried out."""


@contextmanager
def refused(code, text=""):
    """The block ends in an error with this code, and `text` in its message."""
    with pytest.raises(Refused) as info:
        yield info
    assert info.value.code == code and text in info.value.message, str(info.value)


class Reply:
    """Status, headers (names in lower case), body as bytes and as JSON where it is."""

    def __init__(self, status, pairs, body):
        self.status, self.pairs, self.body = status, pairs, body
        self.headers = {name.lower(): value for name, value in pairs}
        self.json = None


def path_of(*segments):
    """Each segment percent-encoded where it must be."""
    return "/v1/" + "/".join(quote(segment, safe="") for segment in segments)


class HttpApi:
    """One kept connection; opened with the first request, and again when the node closed it.
    `context`: of TLS."""

    def __init__(self, port, contract=None, context=None):
        self._connection = http.client.HTTPSConnection(
            "localhost", port, timeout=TIMEOUT_S, context=context) if context else \
            http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_S)
        self._contract = contract

    @property
    def contract(self):
        if self._contract is None:
            reply = self._exchange("GET", "/v1/openapi.yaml", b"", {})
            assert reply.status == 200, f"no contract: {reply.status} {reply.body!r}"
            self._contract = contract_of(reply.body)
        return self._contract

    # ---- any request ----

    def ask(self, method, target, body=b"", headers=None, is_wrong=False):
        """`body` as bytes; a dict or list goes as JSON. The judged reply."""
        if not isinstance(body, bytes):
            body = json.dumps(body, ensure_ascii=False).encode()
        self._judge_request(method, target, body, is_wrong)
        headers = {"X-Request-Id": f"test-{next(_request_ids)}", **(headers or {})}
        reply = self._exchange(method, target, body, headers)
        reply.json = self.contract.check_reply(method, target, reply.status, reply.pairs,
                                               reply.body)
        sent, got = headers["X-Request-Id"], reply.headers["x-request-id"]
        if (got == sent) != bool(re.fullmatch(r"[A-Za-z0-9_.:-]{1,64}", sent)):
            raise Broken(f"X-Request-Id {sent!r} came back as {got!r}")
        return reply

    def done(self, *arguments, **options):
        """The reply of a request that must not be refused."""
        reply = self.ask(*arguments, **options)
        if reply.status >= 400:
            raise Refused(reply)
        return reply

    def _judge_request(self, method, target, body, is_wrong):
        try:
            self.contract.check_request(method, target, body)
        except Broken:
            if not is_wrong:
                raise
        else:
            assert not is_wrong, f"the contract finds nothing wrong with {method} {target}"

    def _exchange(self, method, target, body, headers):
        try:
            # Without a body no Content-Length, which http.client would add.
            self._connection.request(method, target, body or None, headers)
            answer = self._connection.getresponse()
            return Reply(answer.status, answer.getheaders(), answer.read())
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            raise LostConnection(repr(error)) from error

    # ---- the operations ----

    def push(self, topic, body="", **members):
        """{"id", "due_ms"}. A body of bytes goes as base64."""
        return self.done("POST", path_of("topics", topic, "jobs"), new_job(body, **members)).json

    def push_all(self, topic, jobs, is_wrong=False):
        """One result for each of the jobs."""
        path = path_of("topics", topic, "jobs")
        results = self.done("POST", path, jobs, is_wrong=is_wrong).json["results"]
        assert len(results) == len(jobs)
        return results

    def pop(self, *topics, **query):
        """Jobs, a list."""
        path = path_of("topics", ",".join(topics), "pop").replace("%2C", ",")
        return self.done("POST", with_query(path, query)).json["jobs"]

    def pop_one(self, *topics, **query):
        """The job; fails when there is none."""
        (job,) = self.pop(*topics, **{"wait_ms": 20000, **query})
        return job

    def ack(self, job):
        self._with_lease(job, "ack")

    def ack_all(self, topic, jobs):
        """One result for each of the jobs."""
        leases = [{"id": job["id"], "lease": job["lease"]} for job in jobs]
        reply = self.done("POST", path_of("topics", topic, "ack"), {"leases": leases})
        assert len(reply.json["results"]) == len(jobs)
        return reply.json["results"]

    def release(self, job, **members):
        """{"due_ms", "tries"}, with "death" where it died."""
        return self._with_lease(job, "release", **members)

    def touch(self, job, **members):
        """{"deadline_ms"}"""
        return self._with_lease(job, "touch", **members)

    def bury(self, job):
        """{"death", "tries"}"""
        return self._with_lease(job, "bury")

    def _with_lease(self, job, verb, **members):
        path = path_of("topics", job["topic"], "jobs", job["id"], verb)
        return self.done("POST", path, {"lease": job["lease"], **members}).json

    def move(self, topic, id, how, **members):
        """run, kick or reschedule: when it is due."""
        path = path_of("topics", topic, "jobs", id, how)
        return self.done("POST", path, members or b"").json["due_ms"]

    def get(self, topic, id):
        return self.done("GET", path_of("topics", topic, "jobs", id)).json

    def cancel(self, topic, id):
        self.done("DELETE", path_of("topics", topic, "jobs", id))

    def history(self, topic, id, **query):
        """{"is_on", "history"}"""
        path = path_of("topics", topic, "jobs", id, "history")
        return self.done("GET", with_query(path, query)).json

    def jobs(self, topic, **query):
        """One page."""
        return self.done("GET", with_query(path_of("topics", topic, "jobs"), query)).json

    def all_jobs(self, topic, **query):
        """A list, over all pages."""
        page = self.jobs(topic, **query)
        found = page["jobs"]
        while page["next"] is not None:
            page = self.jobs(topic, **query, cursor=page["next"])
            found += page["jobs"]
        return found

    def sweep(self, topic, verb, **members):
        """kick or purge: {"count", "has_more"}."""
        return self.done("POST", path_of("topics", topic, verb), members).json

    def pause(self, topic, **members):
        """{"paused", "paused_until_ms"}"""
        return self.done("POST", path_of("topics", topic, "pause"), members).json

    def resume(self, topic):
        return self.done("POST", path_of("topics", topic, "resume")).json

    def settings(self, topic):
        return self.done("GET", path_of("topics", topic, "settings")).json

    def set_settings(self, topic, **members):
        """As they are now."""
        return self.done("PATCH", path_of("topics", topic, "settings"), members).json

    def all_settings(self, **query):
        """{name: own settings and pause}, over all pages."""
        found, cursor = {}, {}
        while True:
            page = self.done("GET", with_query("/v1/settings", {**query, **cursor})).json
            found.update((each["topic"], each) for each in page["topics"])
            if page["next"] is None:
                return found
            cursor = {"cursor": page["next"]}

    def topic(self, topic):
        return self.done("GET", path_of("topics", topic)).json

    def counts(self, topic):
        """(delayed, ready, reserved, dead)"""
        counts = self.topic(topic)
        return tuple(counts[state] for state in ("delayed", "ready", "reserved", "dead"))

    def topics(self, **query):
        """One page."""
        return self.done("GET", with_query("/v1/topics", query)).json

    def all_topics(self, **query):
        """{name: counts}, over all pages."""
        found, page = {}, self.topics(**query)
        while True:
            found.update((each["topic"], each) for each in page["topics"])
            if page["next"] is None:
                return found
            page = self.topics(**query, cursor=page["next"])

    def deliveries(self, **query):
        return self.done("GET", with_query("/v1/deliveries", query)).json

    def status(self):
        return self.done("GET", "/v1/status").json

    def close(self):
        self._connection.close()

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()


def new_job(body="", **members):
    if isinstance(body, bytes):
        return {"body_base64": base64.b64encode(body).decode(), **members}
    return {"body": body, **members}


def body_of(job):
    """The job's bytes, in whichever member they came."""
    if "body" in job:
        return job["body"].encode()
    return base64.b64decode(job["body_base64"], validate=True)


def with_query(path, query):
    return f"{path}?{urlencode(query)}" if query else path
