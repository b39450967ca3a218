"""Random sequences of all operations, drawn by hypothesis.

What is drawn depends on nothing that the node answers, so that a seed gives the same sequence
again; only the times differ. The same nodes serve all examples, each with topics of its own, and
each step asks one of the nodes.

To add an operation: a step in one of the steps_ files, a method of the client that asks, one of
the model that judges, and a lie that would pass without it (mutants.py).
"""

import itertools
import re

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from model.consumers import Consumers
from model.draws import names, new_jobs, nodes, topic_names, topics
from model.model import Model

LINES_SHOWN = 80

_numbers = itertools.count(1)


def _remembering(function):
    def remembering(self, node, **drawn):
        try:
            self.client.doors.at = node % len(self.client.doors.nodes)
            function(self, **drawn)
            self.client.collect()
        except Exception as error:
            self.remember(error)
            raise

    remembering.__name__ = remembering.__qualname__ = function.__name__
    return remembering


def step(**strategies):
    """A rule of the machine; when it fails, what led to it is kept."""
    return lambda function: rule(node=nodes, **strategies)(_remembering(function))


class Machine(RuleBasedStateMachine):
    doors = None           # set by whoever runs it
    shortest = None        # operations of the shortest example that failed
    failure = None         # its end, for people
    steps = examples = 0   # of all examples

    def __init__(self):
        super().__init__()
        self.names = self.client = None
        self.has_failed = False
        self.bodies = itertools.count(1)

    # ---- what is drawn, made into what is asked ----

    def id(self, topic, letter):
        """Most are of one topic, as it should be where gmq's clients are; e is not."""
        return f"{letter}.{self.names[topic]}" if letter not in (None, "e") else letter

    def job(self, topic, drawn):
        drawn = {**drawn, "id": self.id(topic, drawn["id"])}
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

    @initialize(prefixes=names, jobs=st.lists(new_jobs, min_size=2, max_size=8),
                into=st.lists(topics, min_size=8, max_size=8))
    def begin(self, prefixes, jobs, into):
        self.names = topic_names(next(_numbers), prefixes)
        self.client = Consumers(type(self).doors, Model(self.names), "clock")
        self.client.doors.at = 0
        for topic, job in zip(into, jobs):
            self.client.push(self.names[topic], self.job(topic, job))

    # ---- the end ----

    def teardown(self):
        """Nothing early, nothing lost, nothing twice."""
        cls = type(self)
        cls.examples += 1
        try:
            if self.client and not self.has_failed:
                self.end()
        except Exception as error:
            self.remember(error)
            raise
        finally:
            cls.steps += self.client.steps if self.client else 0

    def end(self):
        client = self.client
        client.wait_no_longer()
        for what in (client.compare, client.drain):
            for topic in self.names:
                client.doors.at = (client.doors.at + 1) % len(client.doors.nodes)
                what(topic)

    def remember(self, error):
        """The shortest sequence that failed, whatever becomes of it when it is tried again."""
        self.has_failed = True
        cls = type(self)
        if not self.client:
            cls.failure = f"{type(error).__name__}: {error}"
        elif cls.shortest is None or self.client.steps < cls.shortest:
            cls.shortest = self.client.steps
            lines = [*self.client.trace[-LINES_SHOWN:], f"\n{type(error).__name__}: {error}"]
            cls.failure = re.sub(r"(\d+?)\1{40,}", r"\1\1...", "\n".join(lines))
