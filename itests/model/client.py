"""Asks the node, and tells the model what was asked, what came, and when.

One method an operation. `doors` lead to the nodes, see nodes.py, perhaps to somebody who lies.
"""

from math import floor

from harness.clock import wall_now_ms
from harness.http_api import path_of, with_query
from harness.wait import wait_until
from model.beliefs import FOREVER, Wrong
from model.life import DEAD, DELAYED, READY, RESERVED, STATES, Span

NEAR_MS = 20
SOON_MS = 500     # what happens so soon is waited for
WAIT_MS = 10000   # and a pop waits so long, which is far more
YEARS_MS = 3650 * 86400 * 1000


class Client:
    """Its methods raise Wrong where the model does not allow the answer."""

    def __init__(self, doors, model, clock_topic):
        self.doors, self.model, self.clock_topic = doors, model, clock_topic
        self.leases = []  # (topic, id, lease), newest first, those given back last
        self.trace = []   # of what was asked and answered, for people
        self.steps = 0
        self._begin_ms = wall_now_ms()

    def ask(self, method, target, body=b""):
        """(code, JSON, the span of time)"""
        self.model.at = self.doors.at
        first = wall_now_ms()
        reply = self.doors.ask(method, target, body)
        span = Span(first, wall_now_ms())
        code = "ok" if reply.status < 400 else reply.json["error"]["code"]
        self.steps += 1
        # The clock is asked often while time passes; one line is enough.
        if not (self.clock_topic in target and self.trace and self.clock_topic in self.trace[-1]):
            self.tell(span.first, f"{method} {target} {body or ''}", f"{code} {reply.json or ''}")
        return code, reply.json, span

    def tell(self, when_ms, what, came):
        self.trace.append(f"{when_ms - self._begin_ms:9.2f} ms  node {self.doors.at}  {what}"
                          f"\n                -> {came}")

    def _on_job(self, topic, id, verb, body=b""):
        code, facts, span = self.ask("POST", path_of("topics", topic, "jobs", id, verb), body)
        return code, facts if code == "ok" and facts else {}, span

    # ---- time ----

    def now_ms(self):
        """The store's clock, from a reply: where a job would be due after that delay."""
        code, facts, _ = self.ask("POST", path_of("topics", self.clock_topic, "jobs", "clock",
                                                  "reschedule"), {"delay_ms": YEARS_MS})
        if code == "not_found":
            self.ask("POST", path_of("topics", self.clock_topic, "jobs"),
                     {"id": "clock", "body": "", "delay_ms": YEARS_MS})
            return self.now_ms()
        return facts["due_ms"] - YEARS_MS

    def wait_until(self, ms):
        wait_until(lambda: self.now_ms() > ms, "the store's clock goes on", interval_s=0.003)

    def wait_for(self, ms):
        """To the moment, by the same clock on this machine: for what races with the scan."""
        self.wait_until(ms - NEAR_MS)
        while wall_now_ms() < ms:
            pass

    def settle(self, topic):
        """All that is over has happened, as a client sees."""
        def is_settled():
            self.list(topic)
            return self.model.is_settled(topic, self.now_ms())

        self.wait_for_node(is_settled, f"{topic}: something due has not happened")

    def wait_until_over(self, leases):
        """Nobody holds them any more. Of one topic."""
        def are_over():
            self.list(leases[0][0])
            return not any(self.model.may_be_held(*lease) for lease in leases)

        self.wait_for_node(are_over, f"the time of {leases} is not over")

    def wait_for_node(self, condition, what):
        """Where a healthy node is ready long before."""
        try:
            wait_until(condition, what, self.doors.patience_s)
        except AssertionError as error:
            if isinstance(error, Wrong):
                raise
            told = "\n".join(f"  {topic.name} {id}: {life}" for topic in
                             self.model.topics.values() for id, lives in topic.jobs.items()
                             for life in lives)
            raise Wrong(f"{self.doors.patience_s} s later {what}\n{told}") from None

    # ---- jobs ----

    def push(self, topic, job):
        code, facts, span = self.ask("POST", path_of("topics", topic, "jobs"), job)
        self.model.pushed(topic, job, span, code, facts if code == "ok" else {})

    def push_all(self, topic, jobs):
        _, answer, span = self.ask("POST", path_of("topics", topic, "jobs"), jobs)
        for job, facts in zip(jobs, answer["results"], strict=True):
            code = facts["error"]["code"] if "error" in facts else "ok"
            self.model.pushed(topic, job, span, code, facts if code == "ok" else {})

    def pop(self, topics, **query):
        target = path_of("topics", ",".join(topics), "pop").replace("%2C", ",")
        _, answer, span = self.ask("POST", with_query(target, query))
        self.model.popped(topics, query.get("count", 1), query.get("ttr_ms"), answer["jobs"], span)
        self.leases[:0] = [(job["topic"], job["id"], job["lease"]) for job in answer["jobs"]]
        return self.leases[:len(answer["jobs"])]

    def wait_for_a_job(self, topic):
        """A consumer that waits is woken, however the job comes to be ready."""
        if self.model.will_be_ready(topic, self.now_ms(), SOON_MS, WAIT_MS):
            if not self.pop([topic], wait_ms=WAIT_MS):
                raise Wrong(f"{topic}: waited {WAIT_MS} ms, and a job became ready meanwhile")

    def ack(self, topic, id, lease):
        code, _, span = self._on_job(topic, id, "ack", {"lease": lease})
        self.model.acked(topic, id, lease, span, code)
        self._is_over(topic, id, lease)

    def ack_all(self, leases):
        """All of one topic, perhaps one twice."""
        body = {"leases": [{"id": id, "lease": lease} for _, id, lease in leases]}
        _, answer, span = self.ask("POST", path_of("topics", leases[0][0], "ack"), body)
        for (topic, id, lease), facts in zip(leases, answer["results"], strict=True):
            code = facts["error"]["code"] if "error" in facts else "ok"
            self.model.acked(topic, id, lease, span, code)
            self._is_over(topic, id, lease)

    def _is_over(self, *lease):
        """It will be tried again, but not soon."""
        self.leases = [each for each in self.leases if each != lease] + [lease]

    def release(self, topic, id, lease, delay_ms=None):
        delay = {} if delay_ms is None else {"delay_ms": delay_ms}
        code, facts, span = self._on_job(topic, id, "release", {"lease": lease, **delay})
        self.model.released(topic, id, lease, delay_ms, span, code, facts)
        self._is_over(topic, id, lease)

    def touch(self, topic, id, lease, ttr_ms=None):
        ttr = {} if ttr_ms is None else {"ttr_ms": ttr_ms}
        code, facts, span = self._on_job(topic, id, "touch", {"lease": lease, **ttr})
        self.model.touched(topic, id, lease, ttr_ms, span, code, facts)

    def bury(self, topic, id, lease):
        code, facts, span = self._on_job(topic, id, "bury", {"lease": lease})
        self.model.buried(topic, id, lease, span, code, facts)
        self._is_over(topic, id, lease)

    def run(self, topic, id):
        self._move(topic, id, "run", b"", (DELAYED, READY, RESERVED), None)

    def kick(self, topic, id):
        self._move(topic, id, "kick", b"", (DEAD,), None)

    def reschedule(self, topic, id, delay_ms):
        self._move(topic, id, "reschedule", {"delay_ms": delay_ms}, STATES, delay_ms or None)

    def reschedule_at(self, topic, id, ms_from_now):
        at_ms = floor(wall_now_ms()) + ms_from_now
        self._move(topic, id, "reschedule", {"at_ms": at_ms}, STATES, Span(at_ms, at_ms))

    def _move(self, topic, id, verb, body, states, due):
        """due: None for now, a delay in ms, or a span."""
        code, facts, span = self._on_job(topic, id, verb, body)
        if isinstance(due, int):
            due = span.plus(due)
        self.model.moved(topic, id, states, due, span, code, facts)

    def cancel(self, topic, id):
        code, _, span = self.ask("DELETE", path_of("topics", topic, "jobs", id))
        self.model.cancelled(topic, id, span, code)

    def get(self, topic, id):
        code, facts, span = self.ask("GET", path_of("topics", topic, "jobs", id))
        self.model.got(topic, id, span, code, facts if code == "ok" else None)
        return facts

    # ---- topics ----

    def list(self, topic, state=None, limit=100):
        rows, query, first = [], {"state": state, "limit": limit}, wall_now_ms()
        query = {name: value for name, value in query.items() if value is not None}
        while True:
            _, page, span = self.ask("GET", with_query(path_of("topics", topic, "jobs"), query))
            rows += page["jobs"]
            if page["next"] is None:
                break
            query["cursor"] = page["next"]
        self.model.listed(topic, (state,) if state else STATES, rows, Span(first, span.last))

    def count(self, topic):
        _, counts, span = self.ask("GET", path_of("topics", topic))
        self.model.counted(topic, counts, span)
        self.model.check_pause(topic, counts, span)

    def sweep(self, topic, verb, states=(DEAD,), **body):
        if verb == "purge":
            body["states"] = list(states)
        code, answer, span = self.ask("POST", path_of("topics", topic, verb), body)
        if code != "ok":
            raise Wrong(f"{verb}: {code}")
        check = self.model.swept(topic, verb, states, body.get("limit"), body.get("since_ms"),
                                 body.get("before_ms"), answer, span)
        self.list(topic)
        check()

    def configure(self, topic, changes):
        _, answer, span = self.ask("PATCH", path_of("topics", topic, "settings"), changes)
        self.model.configured(topic, changes, answer, span)

    def settings(self, topic):
        _, answer, span = self.ask("GET", path_of("topics", topic, "settings"))
        self.model.configured(topic, {}, answer, span)

    def pause(self, topic, for_ms=None, until_from_now_ms=None):
        body, until = {}, FOREVER
        if until_from_now_ms is not None:
            body = {"until_ms": floor(wall_now_ms()) + until_from_now_ms}
            until = Span(body["until_ms"], body["until_ms"])
        elif for_ms is not None:
            body = {"for_ms": for_ms}
        code, answer, span = self.ask("POST", path_of("topics", topic, "pause"), body)
        if code == "out_of_range" and until != FOREVER and until.first <= span.last:
            return
        self.model.paused(topic, span.plus(for_ms) if for_ms is not None else until, answer, span)

    def resume(self, topic):
        _, answer, span = self.ask("POST", path_of("topics", topic, "resume"))
        self.model.paused(topic, 0, answer, span)

    def history(self, topic, id):
        _, answer, span = self.ask("GET", path_of("topics", topic, "jobs", id, "history"))
        self.model.traced(topic, id, answer, span)
        return answer

    def list_topics(self, limit):
        """Of all examples: those of the others are empty, or not looked at."""
        for target, check in (("/v1/topics", self.model.topics_counted),
                              ("/v1/settings", self.model.settings_listed)):
            rows, query, first = [], {"limit": limit * 50}, wall_now_ms()
            while query.get("cursor", "") is not None:
                _, page, span = self.ask("GET", with_query(target, query))
                rows += page["topics"]
                query["cursor"] = page["next"]
            check({row["topic"]: row for row in rows}, Span(first, span.last))

    # ---- the end ----

    def compare(self, topic):
        """Everything the node shows, with time settled."""
        self.settle(topic)
        self.count(topic)
        for state in STATES:
            self.list(topic, state, limit=3)
        for id in self.model.topics[topic].jobs:
            self.get(topic, id)
        self.settings(topic)

    def drain(self, topic):
        """Every job is brought to ready, popped once, and acknowledged."""
        self.resume(topic)
        self.configure(topic, {"dead_max": 0, "dead_age_ms": 0})
        self.settle(topic)
        jobs = self.model.topics[topic].jobs
        for id in [id for id, lives in jobs.items() if lives[0].state in (DELAYED, RESERVED)]:
            self.run(topic, id)
        self.sweep(topic, "kick")
        while leases := self.pop([topic], count=5, ttr_ms=60000):
            self.ack_all(leases)
        for id, lives in list(jobs.items()):  # one may have expired, or a pause been for nothing
            if any(life.state == DEAD for life in lives):
                self.cancel(topic, id)
        self.list(topic)
        self.model.all_are_gone(topic)
        self.count(topic)
