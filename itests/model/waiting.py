"""Consumers that wait, and who of them may get what.

A consumer's answer is read some time after it came, and meanwhile others go on. So a ready job
of a topic that somebody waits for has two possible lives: it is ready still, or it has gone to
one of those who wait, and any of the things that follow has happened to it (see Life.goes_to).
A life remembers to whom it went; when the answer is read, only the lives that agree are left.
"""

from dataclasses import replace
from typing import NamedTuple, Optional

from model.beliefs import Wrong
from model.life import READY, RESERVED, Span
from model.pages import Pages

SOON_MS = 30000  # a job that expires later than that is there for who waits


class Waiter(NamedTuple):
    number: int
    name: str      # its lease, as long as nobody knows it
    topics: tuple
    count: int
    ttr_ms: Optional[int]
    begin: float
    wait_ms: int


class Waits(Pages):
    def waits(self, waiter):
        self.waiters[waiter.number] = waiter

    def must_be_served(self, now_ms):
        """A topic with a job that somebody waits for, surely; or None."""
        topics = {topic for waiter in self.waiters.values() for topic in waiter.topics}
        return next((topic for topic in sorted(topics) if self._has_job(topic, now_ms)), None)

    def _has_job(self, topic, now_ms):
        now = Span(now_ms, now_ms)
        return self.topics[topic].is_paused(now) is False and any(
            all(life.state == READY and not life.handed
                and not (life.expires and life.expires.first <= now_ms + SOON_MS)
                for life in self.lives(topic, id, now, waiters=[]))
            for id in self.topics[topic].jobs)

    def served(self, number, jobs, came_ms, now_ms):
        """What a consumer that waited has got, when it came, and when that is read: jobs with
        their leases, or nothing."""
        waiter = self.waiters[number]
        source = jobs[0]["topic"] if jobs else None
        if len(jobs) > waiter.count or len({job["id"] for job in jobs}) < len(jobs):
            raise Wrong(f"{waiter} got {len(jobs)} jobs, or one twice")
        if jobs and (source not in waiter.topics or {job["topic"] for job in jobs} != {source}):
            raise Wrong(f"{waiter} got {jobs}, not of its topics, or not of one")
        given = []
        for topic in waiter.topics:
            rows = {job["id"]: job for job in jobs if job["topic"] == topic}
            for id in {*rows, *self.topics[topic].jobs}:
                given += self._agree(waiter, topic, id, rows.get(id), Span(came_ms, now_ms))
        del self.waiters[number]
        if jobs:
            span = Span(waiter.begin, came_ms)
            order = [job["id"] for job in jobs]
            self._check_order_of_topics(waiter, source, span)
            self._check_line(source, order, dict(given), span)

    def _agree(self, waiter, topic, id, row, read):
        """[(id, lives it may have had when it went to the waiter)], where it did."""
        left, given = [], []
        lives = self.lives(topic, id, Span(read.last, read.last))
        for life in lives:
            handed = life.handed_to(waiter.number)
            if row is None and handed is None:
                left.append(life)
            elif row is not None and handed and handed.when.first <= read.first:
                was = handed.life.seen(_facts(row))
                if was:
                    given.append(was)
                    left.append(_without(waiter, life, row["lease"]))
        if not left:
            told = "\n  ".join(str(life) for life in lives)
            raise Wrong(f"{topic} {id}: {waiter} got {row}, and it was\n  {told}")
        self.topics[topic].jobs[id] = list(dict.fromkeys(left))
        return [(id, given)] if row else []

    def _check_order_of_topics(self, waiter, source, span):
        for topic in waiter.topics[:waiter.topics.index(source)]:
            it = self.topics[topic]
            for id in it.jobs if it.is_paused(span) is False else ():
                lives = self.lives(topic, id, span)
                if self._was_ready(lives, span):
                    raise Wrong(f"{waiter} got a job of {source}, and {id} of {topic} was ready: "
                                f"{lives[0]}")

    def _check_line(self, topic, order, given, span):
        """Nobody else stood before them for sure, nor the later ones before the earlier."""
        for nth, id in enumerate(order):
            others = {other: lives for other, lives in given.items() if other in order[nth + 1:]}
            for other in self.topics[topic].jobs.keys() - given.keys():
                lives = self.lives(topic, other, span)
                if self._was_ready(lives, span):
                    others[other] = lives
            for other, lives in others.items():
                if all(their.comes_before(my) for their in lives for my in given[id]):
                    raise Wrong(f"{topic}: {id} ({given[id][0]}) was handed out before {other} "
                                f"({lives[0]})")

    @staticmethod
    def _was_ready(lives, span):
        """For sure, all the time, and not expired."""
        return all(life.state == READY and life.since.last <= span.first for life in lives)


def _facts(row):
    return {name: value for name, value in row.items() if name not in ("id", "topic", "lease")}


def _without(waiter, life, lease):
    """Its answer has been read: its lease is known."""
    handed = tuple(each for each in life.handed if each.waiter != waiter.number)
    if life.state == RESERVED and life.lease == waiter.name:
        return replace(life, handed=handed, lease=lease)
    return replace(life, handed=handed)
