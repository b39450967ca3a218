"""Random sequences of all operations, drawn by hypothesis.

What is drawn depends on nothing that the node answers, so that a seed gives the same sequence
again; only the times differ. One node serves all examples, each with topics of its own: two of
one bucket, and one of another.
"""

import binascii
import itertools
import re

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from model.client import SOON_MS, Client
from model.life import STATES
from model.model import Model

STEPS = 50      # of an example, at most
EXAMPLES = 40   # of a batch, which has a seed; hypothesis draws small ones first
BUCKETS = 64
LINES_SHOWN = 80

_numbers = itertools.count(1)

topics = st.integers(0, 2)
which = st.integers(0, 11)   # of the topic's jobs
held = st.sampled_from([0, 0, 0, 0, 1, 1, 1, 2, 3, 5, 8, -1])  # of all leases, newest first
ids = st.sampled_from(["a", "b", "c", "d", "e", None])
short = st.integers(1, 120)
delays = st.one_of(st.just(0), short, st.just(3600000))
ttrs = st.one_of(st.sampled_from([0, 60000, 60000]), st.integers(20, 120))
backoffs = st.one_of(
    st.just({"kind": "none"}),
    st.builds(lambda kind, base, jitter: {"kind": kind, "base_ms": base, "jitter_percent": jitter},
              st.sampled_from(["fixed", "exponential"]), st.integers(10, 60),
              st.sampled_from([0, 0, 50])),
    st.just({"kind": "exponential", "base_ms": 40, "cap_ms": 60}))
RULES = {
    "ttr_ms": ttrs,
    "priority": st.sampled_from([0, 5, 1024, 2000, 4294967295]),
    "max_tries": st.integers(0, 2),
    "backoff": backoffs,
    "ttl_ms": st.one_of(st.sampled_from([0, 3600000]), st.integers(50, 300)),
}
new_jobs = st.fixed_dictionaries(
    {"id": ids},
    optional={**RULES, "mode": st.sampled_from(["reject", "replace", "ignore"]),
              "delay_ms": delays, "at": st.sampled_from([-1000, 0, 3, 60, 3600000]),
              "is_large": st.booleans()})
changes = st.fixed_dictionaries({}, optional={
    name: st.one_of(st.none(), values) for name, values in
    {**RULES, "dead_max": st.integers(0, 2), "dead_age_ms": st.sampled_from([0, 60, 3600000]),
     "history": st.booleans()}.items()}).filter(bool)


def _remembering(function):
    def remembering(self, **drawn):
        try:
            function(self, **drawn)
        except Exception as error:
            self.remember(error)
            raise

    remembering.__name__ = remembering.__qualname__ = function.__name__
    return remembering


def step(**strategies):
    """A rule of the machine; when it fails, what led to it is kept."""
    return lambda function: rule(**strategies)(_remembering(function))


class Jobs(RuleBasedStateMachine):
    ask = None             # set by whoever runs it
    shortest = None        # operations of the shortest example that failed
    failure = None         # its end, for people
    steps = examples = 0   # of all examples

    def __init__(self):
        super().__init__()
        self.names = topic_names(next(_numbers))
        self.client = Client(type(self).ask, Model(self.names), "clock")
        self.has_failed = False
        self.bodies = itertools.count(1)

    # ---- what is drawn, made into what is asked ----

    def job(self, drawn):
        drawn = dict(drawn)
        job = {"body": str(next(self.bodies)) * (500 if drawn.pop("is_large", False) else 1)}
        at = drawn.pop("at", None)
        if at is not None and "delay_ms" not in drawn:
            job["at_ms"] = self.client.now_ms() + at
        return {**job, **{name: value for name, value in drawn.items() if value is not None}}

    def one_of(self, topic, nth):
        """(topic, id) of some job, perhaps of one that is gone, or never was."""
        known = sorted(self.client.model.topics[self.names[topic]].jobs) or ["a"]
        return self.names[topic], known[nth % len(known)]

    def lease(self, nth):
        """(topic, id, lease), the newest first of those that count; -1: one that may not."""
        leases = self.client.leases
        if nth >= 0:
            leases = [each for each in leases if self.client.model.may_be_held(*each)] or leases
        return leases[nth % len(leases)] if leases else (self.names[0], "a", "1")

    # ---- operations ----

    @initialize(jobs=st.lists(new_jobs, min_size=2, max_size=8), topics=st.lists(
        topics, min_size=8, max_size=8))
    def begin(self, jobs, topics):
        for topic, job in zip(topics, jobs):
            self.client.push(self.names[topic], self.job(job))

    @step(topic=topics, job=new_jobs)
    def push(self, topic, job):
        self.client.push(self.names[topic], self.job(job))

    @step(topic=topics, job=new_jobs)
    def push_another(self, topic, job):
        """As push: rules come up equally often, and a topic without jobs tells little."""
        self.client.push(self.names[topic], self.job(job))

    @step(topic=topics, jobs=st.lists(new_jobs, min_size=1, max_size=5,
                                      unique_by=lambda job: job["id"] or id(job)))
    def push_all(self, topic, jobs):
        self.client.push_all(self.names[topic], [self.job(job) for job in jobs])

    @step(order=st.permutations(range(3)), number=st.integers(1, 3), count=st.integers(1, 4),
          query=st.fixed_dictionaries({}, optional={"ttr_ms": ttrs}),
          wait_ms=st.sampled_from([0, 0, 0, 30]))
    def pop(self, order, number, count, query, wait_ms):
        self.client.pop([self.names[topic] for topic in order[:number]], count=count,
                        wait_ms=wait_ms, **query)

    @step(topic=topics, then=st.sampled_from([None, "ack", "release", "touch", "bury"]))
    def pop_one(self, topic, then):
        for lease in self.client.pop([self.names[topic]]):
            if then:
                getattr(self.client, then)(*lease)

    @step(topic=topics)
    def wait_for_a_job(self, topic):
        self.client.wait_for_a_job(self.names[topic])

    @step(nth=held)
    def ack(self, nth):
        self.client.ack(*self.lease(nth))

    @step(nth=held, number=st.integers(1, 4))
    def ack_all(self, nth, number):
        topic = self.lease(nth)[0]
        leases = [each for each in self.client.leases if each[0] == topic]
        self.client.ack_all(leases[:number] or [self.lease(nth)])

    @step(nth=held, delay_ms=st.one_of(st.none(), delays))
    def release(self, nth, delay_ms):
        self.client.release(*self.lease(nth), delay_ms)

    @step(nth=held, ttr_ms=st.one_of(st.none(), ttrs))
    def touch(self, nth, ttr_ms):
        self.client.touch(*self.lease(nth), ttr_ms)

    @step(nth=held)
    def bury(self, nth):
        self.client.bury(*self.lease(nth))

    @step(topic=topics, nth=which)
    def run(self, topic, nth):
        self.client.run(*self.one_of(topic, nth))

    @step(topic=topics, nth=which)
    def kick_one(self, topic, nth):
        self.client.kick(*self.one_of(topic, nth))

    @step(topic=topics, nth=which, delay_ms=delays)
    def reschedule(self, topic, nth, delay_ms):
        self.client.reschedule(*self.one_of(topic, nth), delay_ms)

    @step(topic=topics, nth=which, at=st.sampled_from([-1000, 0, 2, 50, 3600000]))
    def reschedule_at(self, topic, nth, at):
        self.client.reschedule_at(*self.one_of(topic, nth), at)

    @step(topic=topics, nth=which)
    def cancel(self, topic, nth):
        self.client.cancel(*self.one_of(topic, nth))

    @step(topic=topics, nth=which)
    def get(self, topic, nth):
        self.client.get(*self.one_of(topic, nth))

    @step(topic=topics, state=st.sampled_from([None, *STATES]), limit=st.integers(1, 5))
    def list_jobs(self, topic, state, limit):
        self.client.list(self.names[topic], state, limit)

    @step(topic=topics)
    def count(self, topic):
        self.client.count(self.names[topic])

    @step(topic=topics, body=st.fixed_dictionaries({}, optional={
        "limit": st.integers(1, 3), "since": st.integers(0, 300), "before": st.integers(0, 300)}))
    def kick(self, topic, body):
        self.client.sweep(self.names[topic], "kick", **self.window(body))

    @step(topic=topics, limit=st.sampled_from([None, 1, 1, 2, 3]),
          states=st.lists(st.sampled_from(STATES), min_size=1, max_size=2, unique=True))
    def purge(self, topic, states, limit):
        if limit:
            self.client.sweep(self.names[topic], "purge", states[:1], limit=limit)
        else:
            self.client.sweep(self.names[topic], "purge", states)

    def window(self, body):
        """Times of death, given as so long ago."""
        now_ms = self.client.now_ms()
        ago = {f"{name}_ms": now_ms - body[name] for name in ("since", "before") if name in body}
        return {**ago, **{name: body[name] for name in ("limit",) if name in body}}

    @step(topic=topics, how=st.sampled_from([{}, {"for_ms": 40}, {"for_ms": 3600000},
                                             {"until_from_now_ms": 30},
                                             {"until_from_now_ms": -30}]))
    def pause(self, topic, how):
        self.client.pause(self.names[topic], **how)

    @step(topic=topics)
    def resume(self, topic):
        self.client.resume(self.names[topic])

    @step(topic=topics, changes=changes)
    def configure(self, topic, changes):
        self.client.configure(self.names[topic], changes)

    @step(topic=topics)
    def look_at_settings(self, topic):
        self.client.settings(self.names[topic])

    @step(topic=topics, nth=which)
    def history(self, topic, nth):
        self.client.history(*self.one_of(topic, nth))

    @step(limit=st.integers(1, 3))
    def list_topics(self, limit):
        self.client.list_topics(limit)

    def event(self, topic, nth):
        """When something is due or over, or None."""
        now_ms = self.client.now_ms()
        events = [time for time in self.client.model.next_events(self.names[topic])
                  if now_ms <= time <= now_ms + SOON_MS]
        return events[min(nth, len(events) - 1)] if events else None

    @step(topic=topics, nth=st.integers(0, 3), early_ms=st.sampled_from([0, 0, 1, 3]))
    def time_passes(self, topic, nth, early_ms):
        """Until something is due or over, or just not yet."""
        if event := self.event(topic, nth):
            self.client.wait_until(event - early_ms)

    @step(topic=topics, nth=st.integers(0, 3), verb=st.sampled_from(["ack", "release", "touch"]))
    def just_in_time(self, topic, nth, verb):
        """What becomes due or is over in this very moment is asked for, or given back."""
        if event := self.event(topic, nth):
            self.client.wait_for(event)
            self.client.pop([self.names[topic]], count=4)
            getattr(self.client, verb)(*self.lease(0))

    @step(topic=topics)
    def settle(self, topic):
        self.client.settle(self.names[topic])

    # ---- the end ----

    def teardown(self):
        """Nothing early, nothing lost, nothing twice."""
        cls = type(self)
        cls.examples += 1
        try:
            if not self.has_failed:
                for topic in self.names:
                    self.client.compare(topic)
                for topic in self.names:
                    self.client.drain(topic)
        except Exception as error:
            self.remember(error)
            raise
        finally:
            cls.steps += self.client.steps

    def remember(self, error):
        """The shortest sequence that failed, whatever becomes of it when it is tried again."""
        self.has_failed = True
        cls = type(self)
        if cls.shortest is None or self.client.steps < cls.shortest:
            cls.shortest = self.client.steps
            lines = [*self.client.trace[-LINES_SHOWN:], f"\n{type(error).__name__}: {error}"]
            cls.failure = re.sub(r"(\d+?)\1{40,}", r"\1\1...", "\n".join(lines))


def topic_names(number):
    """Two of one bucket, and one of another."""
    first = f"m{number}"
    others = [f"{first}-{n}" for n in range(1000)]
    return [first, next(name for name in others if bucket(name) == bucket(first)),
            next(name for name in others if bucket(name) != bucket(first))]


def bucket(topic):
    return binascii.crc_hqx(topic.encode(), 0) % BUCKETS


def run_batch(ask, number, shrinks=True):
    """EXAMPLES sequences, the same for the same number. (operations, what went wrong, or None)"""
    machine = type("Jobs", (Jobs,), {"ask": staticmethod(ask)})
    phases = [Phase.generate] + [Phase.shrink] * shrinks
    seed(number)(machine)
    try:
        run_state_machine_as_test(machine, settings=settings(
            max_examples=EXAMPLES, stateful_step_count=STEPS, database=None, deadline=None,
            phases=phases, report_multiple_bugs=False, print_blob=False,
            suppress_health_check=HealthCheck.all()))
    except Exception as error:  # whatever it is: it came from a sequence of this seed
        return machine.steps, machine.failure or f"{type(error).__name__}: {error}"
    return machine.steps, None
