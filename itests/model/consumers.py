"""The client, as several: consumers that wait while it goes on, and consumers in gmq's manner."""

import itertools
from concurrent.futures import FIRST_COMPLETED, wait
from json import dumps

from harness.clock import wall_now_ms
from harness.http_api import path_of, with_query
from model.beliefs import Wrong
from model.client import Client
from model.life import Span
from model.owners import TOKEN
from model.waiting import Waiter

WAITERS = 3           # at most, at a time
GMQ_WAIT_MS = 20000   # as in nodes.py
IN_VAIN_MS = 5000     # nobody waits so long for what is there
SOON_MS = 40
EARLY_MS = 5000       # who waits longer than that has waited so long, or has got something


class Consumers(Client):
    def __init__(self, doors, model, clock_topic):
        super().__init__(doors, model, clock_topic)
        self.waiting = {}   # future: (number, node)
        self._numbers = itertools.count(1)

    # ---- waiting ----

    def begin_to_wait(self, topics, wait_ms, **query):
        target = path_of("topics", ",".join(topics), "pop").replace("%2C", ",")
        self._begin(topics, wait_ms, "of waiter ", query,
                    lambda: self.doors.later("POST",
                                             with_query(target, {**query, "wait_ms": wait_ms})))

    def _begin(self, topics, wait_ms, name, query, ask):
        if len(self.waiting) >= WAITERS:
            return
        number = next(self._numbers)
        waiter = Waiter(number, f"{name}{number}", tuple(topics), query.get("count", 1),
                        query.get("ttr_ms"), wall_now_ms(), wait_ms)
        self.model.waits(waiter)
        self.waiting[ask()] = number, self.doors.at
        self.steps += 1
        self.tell(waiter.begin, f"waiter {number} at {topics}: {query}, {wait_ms} ms", "")

    def collect(self):
        """Reads the answers that have come, and waits for one where one must come."""
        self._read([each for each in self.waiting if each.done()])
        begin_ms = wall_now_ms()
        while topic := self.model.must_be_served(wall_now_ms()):
            done, _ = wait(self.waiting, self.doors.patience_s, FIRST_COMPLETED)
            if not done:
                raise Wrong(f"{topic} has a job, and for {self.doors.patience_s} s nobody who "
                            "waits got it")
            self._read(done, begin_ms)

    def _read(self, futures, since_ms=None):
        """since_ms: since when something was there for one of them, if it was."""
        for future in futures:
            number, node = self.waiting.pop(future)
            answer, came_ms = future.result()
            waiter = self.model.waiters[number]
            jobs = self._jobs_of(answer, waiter, node)
            self.tell(wall_now_ms(), f"waiter {number} at {came_ms - self._begin_ms:.2f}",
                      dumps(jobs))
            if not jobs and came_ms < waiter.begin + EARLY_MS < waiter.begin + waiter.wait_ms:
                raise Wrong(f"{waiter} got nothing before its time was over")
            if not jobs and since_ms and came_ms > since_ms + IN_VAIN_MS:
                raise Wrong(f"{waiter} waited in vain, and there were jobs")
            self.model.served(number, jobs, came_ms, wall_now_ms())

    def _jobs_of(self, answer, waiter, node):
        if isinstance(answer, tuple):
            job, error = answer
            if error not in (None, "empty"):
                raise Wrong(f"{waiter}: {error}")
            return [self._got(job, node, waiter.name, waiter.name)] if job else []
        if answer.status != 200:
            raise Wrong(f"{waiter}: {answer.status} {answer.json}")
        jobs = answer.json["jobs"]
        self.leases[:0] = [(job["topic"], job["id"], job["lease"]) for job in jobs]
        return jobs

    def wait_no_longer(self):
        """Whoever waits for long gets a job."""
        while self.waiting:
            topic = next(iter(self.model.waiters.values())).topics[0]
            self.resume(topic)
            self.push(topic, {"id": f"last.{topic}", "body": "", "mode": "replace", "ttl_ms": 0})
            self.collect()

    def wake(self, topic, how, at):
        """Somebody waits at a topic that has no ready job, then it gets one: at another node."""
        self.resume(topic)
        while self.pop([topic], count=10, ttr_ms=60000):
            pass
        id = f"wake.{topic}"
        job = {"id": id, "body": "", "mode": "replace", "ttr_ms": 60000, "ttl_ms": 0,
               "max_tries": 0, "backoff": {"kind": "none"}}
        lease = self._put(topic, job, how)
        self.begin_to_wait([topic], 10000)
        self.doors.at = at
        if how in ("push", "delay"):
            self.push(topic, {**job, "delay_ms": SOON_MS} if how == "delay" else job)
        elif how in ("kick", "run"):
            getattr(self, how)(topic, id)
        elif how == "resume":
            self.resume(topic)
        elif how == "release" and lease:
            self.release(*lease)
        if how in ("delay", "ttr"):
            self.wait_until(self.now_ms() + SOON_MS)
        self.settle(topic)

    def _put(self, topic, job, how):
        """The job where it is before that; its lease where it is held."""
        if how == "resume":
            self.pause(topic)
        if how in ("resume", "run"):
            self.push(topic, {**job, "delay_ms": 3600000} if how == "run" else job)
        if how in ("kick", "release", "ttr"):
            self.push(topic, {**job, "ttr_ms": SOON_MS} if how == "ttr" else job)
            leases = [each for each in self.pop([topic], count=10) if each[1] == job["id"]]
            if leases and how == "kick":
                self.bury(*leases[0])
            return leases[0] if leases else None
        return None

    # ---- gmq ----

    def _call(self, consumer, method, param):
        """(result, code, span)"""
        self.model.at = self.doors.at
        first = wall_now_ms()
        result, error = self.doors.gmq(consumer, method, param)
        span = Span(first, wall_now_ms())
        code = _code(error)
        self.steps += 1
        self.tell(first, f"gmq {consumer} {method} {dumps(param)}", f"{code} {result} {error}")
        return result, code, span

    def gmq_push(self, consumer, topic, id, body, delay_s, ttr_s):
        _, code, span = self._call(consumer, "Push", {"id": id, "topic": topic, "body": body,
                                                      "delay": delay_s, "TTR": ttr_s})
        job = {"id": id, "body": body, "delay_ms": delay_s * 1000, "ttr_ms": ttr_s * 1000}
        self.model.pushed(topic, job, span, code, {})

    def gmq_pop(self, consumer, topics):
        """At the first node it does not wait, at the others it waits beside the rest."""
        if self.doors.at:
            self._begin(topics, GMQ_WAIT_MS, TOKEN, {},
                        lambda: self.doors.gmq_later("Pop", list(topics)))
            return
        job, code, span = self._call(consumer, "Pop", list(topics))
        if code not in ("ok", "empty"):
            raise Wrong(f"gmq pop: {code}")
        name = f"{TOKEN}{next(self._numbers)}"
        jobs = [self._got(job, self.doors.at, consumer, name)] if job else []
        self.model.popped(topics, 1, None, jobs, span)

    def _got(self, job, node, consumer, lease):
        if list(job) != ["TTR", "body", "consume_num", "delay", "id", "status", "topic"] \
                or job["status"] != 3:
            raise Wrong(f"gmq pop: {job}")
        self.model.owns(node, consumer, job["topic"], job["id"], lease)
        return {"id": job["id"], "topic": job["topic"], "body": job["body"], "lease": lease,
                "tries": job["consume_num"], "ttr_s": job["TTR"], "delay_s": job["delay"]}

    def gmq_ack(self, consumer, topic, id):
        result, code, span = self._call(consumer, "Ack", id)
        if (code == "ok") != (result is True):
            raise Wrong(f"gmq ack: {result} and {code}")
        self.model.acked_by_id(consumer, topic, id, span, code)

    # ---- settings, at all nodes ----

    def wait_known(self, topic):
        """Every node hears of what was changed at another one."""
        for self.doors.at in range(len(self.doors.nodes)):
            self.wait_for_node(lambda: self._is_known(topic), f"node {self.doors.at} does not know "
                               f"what holds for {topic}: {self.model.topics[topic].own}")
        self.model.known(topic)

    def _is_known(self, topic):
        """As a job tells that is pushed there now. (To ask for the settings themselves would make
        them known.)"""
        hour_ms = 3600000
        self.push(topic, {"id": "probe", "body": "", "delay_ms": hour_ms, "mode": "replace"})
        job = self.get(topic, "probe")
        self.cancel(topic, "probe")
        if "expires_ms" in job:
            job["ttl_ms"] = job["expires_ms"] - job["due_ms"]
        job["history"] = self.history(topic, "probe")["is_on"]
        return self.model.is_new(topic, job)


def _code(error):
    if error is None:
        return "ok"
    if error.endswith(",error:has exist"):
        return "duplicate"
    return {"TTR has expired and will be consumed again": "not_owner"}.get(
        error, error.split(":")[0])
