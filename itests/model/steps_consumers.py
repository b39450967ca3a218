"""Steps: consumers that wait, those of gmq, and those who are too late."""

from hypothesis import strategies as st

from model.draws import consumers, held, ids, nodes, numbers, orders, topics, ttrs, which
from model.machine import Machine, step


class ConsumerSteps(Machine):
    # ---- waiting ----

    @step(order=orders, number=numbers, wait_ms=st.sampled_from([10000, 10000, 300, 40]),
          query=st.fixed_dictionaries({}, optional={"ttr_ms": ttrs, "count": st.integers(2, 4)}))
    def begin_to_wait(self, order, number, wait_ms, query):
        """A consumer: whatever comes to be ready from now on may go to it."""
        self.client.begin_to_wait([self.names[topic] for topic in order[:number]], wait_ms, **query)

    @step(topic=topics, at=nodes, how=st.sampled_from(
        ["push", "delay", "kick", "run", "release", "resume", "ttr"]))
    def wake(self, topic, at, how):
        """However a job comes to be ready, a consumer that waits is woken, at whichever node."""
        if not self.client.model.is_waited_for(self.names[topic]):
            self.client.wake(self.names[topic], how, at % len(self.client.doors.nodes))

    # ---- gmq ----

    @step(topic=topics, letter=ids.filter(bool), consumer=consumers,
          delay_s=st.sampled_from([0, 0, 0, 1, 3600]), ttr_s=st.sampled_from([60, 0, 1]))
    def push_gmq(self, topic, letter, consumer, delay_s, ttr_s):
        self.gmq_push(topic, letter, consumer, delay_s, ttr_s)

    def gmq_push(self, topic, letter, consumer, delay_s, ttr_s):
        self.client.gmq_push(consumer, self.names[topic], self.id(topic, letter),
                             f"gmq {next(self.bodies)}", delay_s, ttr_s)

    @step(order=orders, number=numbers, consumer=consumers)
    def gmq_pop(self, order, number, consumer):
        self.client.gmq_pop(consumer, [self.names[topic] for topic in order[:number]])

    @step(nth=held, consumer=consumers)
    def ack_gmq(self, nth, consumer):
        self.gmq_ack(nth, consumer)

    def gmq_ack(self, nth, consumer):
        """What gmq's clients hold, the newest first; -1: perhaps held once."""
        model = self.client.model
        owned = [each for each in reversed(model.owned)
                 if nth < 0 or model.may_be_held(each.topic, each.id, each.lease)]
        if owned:
            self.ack_by_id(consumer, *owned[nth % len(owned)][2:4])

    @step(topic=topics, letter=ids.filter(bool), consumer=consumers, at=nodes, other=consumers)
    def gmq_pass(self, topic, letter, consumer, at, other):
        """Through gmq from its push to its acknowledgement, perhaps by somebody else."""
        self.gmq_push(topic, letter, consumer, 0, 60)
        self.client.collect()
        self.client.doors.at = 0
        others = [name for name in self.names if name != self.names[topic]]
        self.client.gmq_pop(consumer, [self.names[topic], *others])
        self.client.doors.at = at % len(self.client.doors.nodes)
        self.gmq_ack(0, other)

    @step(topic=topics, nth=which, consumer=consumers)
    def gmq_ack_any(self, topic, nth, consumer):
        self.ack_by_id(consumer, *self.one_of(topic, nth))

    def ack_by_id(self, consumer, topic, id):
        """A bare id does not tell the topic, so only where one alone has it."""
        if id != "e":
            self.client.gmq_ack(consumer, topic, id)

    # ---- too late ----

    @step(topic=topics, ttr_ms=st.integers(10, 80), count=st.integers(1, 3))
    def hold_too_long(self, topic, ttr_ms, count):
        """It goes back, rests, or dies; and the lease is worth nothing then."""
        name = self.names[topic]
        if leases := self.client.pop([name], count=count, ttr_ms=ttr_ms):
            self.client.wait_until_over(leases)
            for lease in leases:
                self.client.get(*lease[:2])
                self.client.ack(*lease)

    @step(topic=topics, letter=ids.filter(bool), ttl_ms=st.integers(30, 120),
          then=st.sampled_from([None, "pop", "release"]))
    def outlive(self, topic, letter, ttl_ms, then):
        """It dies wherever it is."""
        name, id = self.names[topic], self.id(topic, letter)
        self.client.push(name, {"id": id, "body": "", "mode": "replace", "ttl_ms": ttl_ms,
                                "priority": 0, "ttr_ms": 60000})
        if then:
            for lease in self.client.pop([name]):
                if then == "release":
                    self.client.release(*lease, delay_ms=3600000)
        self.client.wait_until(self.client.now_ms() + ttl_ms)
        self.client.settle(name)
        self.client.get(name, id)
