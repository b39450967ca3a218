"""Steps: what is done with jobs."""

from hypothesis import strategies as st

from model.draws import (delays, held, new_jobs, numbers, orders, plain_jobs, topics, ttrs,
                         which)
from model.machine import Machine, step


class JobSteps(Machine):
    @step(topic=topics, job=new_jobs)
    def push(self, topic, job):
        self.client.push(self.names[topic], self.job(topic, job))

    @step(topic=topics, job=new_jobs)
    def push_another(self, topic, job):
        """As push: rules come up equally often, and a topic without jobs tells little."""
        self.client.push(self.names[topic], self.job(topic, job))

    @step(topic=topics, jobs=st.lists(new_jobs, min_size=1, max_size=5))
    def push_all(self, topic, jobs):
        self.client.push_all(self.names[topic], [self.job(topic, job) for job in jobs])

    @step(topic=topics, jobs=st.lists(plain_jobs, min_size=2, max_size=8))
    def push_in_one_call(self, topic, jobs):
        """To the store, except where the topic's settings are in the way."""
        self.client.push_all(self.names[topic], [self.job(topic, job) for job in jobs])

    @step(order=orders, number=numbers, count=st.integers(1, 4),
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

    @step(nth=held, number=st.integers(1, 4), twice=st.booleans())
    def ack_all(self, nth, number, twice):
        topic = self.lease(nth)[0]
        leases = [each for each in self.client.leases if each[0] == topic]
        leases = leases[:number] or [self.lease(nth)]
        self.client.ack_all(leases + leases[:1] * twice)

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
