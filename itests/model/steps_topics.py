"""Steps: what is seen of topics and done with them, and time that passes."""

from hypothesis import strategies as st

from model.client import SOON_MS
from model.draws import changes, topics, which
from model.life import STATES
from model.machine import Machine, step


class TopicSteps(Machine):
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

    @step(topic=topics, changes=changes)
    def make_known(self, topic, changes):
        """All nodes hear of what is changed at one."""
        self.client.configure(self.names[topic], changes)
        self.client.wait_known(self.names[topic])
