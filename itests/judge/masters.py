"""Where each of several masters has its own buckets, what one has forgotten excuses nothing of the
others' jobs.
"""

from collections import defaultdict

from harness.redis_cluster import bucket_of
from judge.journal import (Ack, Cancel, Clock, Delivered, Fault, HandOver, Journal, Older, Push,
                            Release, Rest, TakenBack)


def by_what_forgot(journal):
    """Journals of jobs alone: one for each set of Olders that can concern a job's bucket. Whose
    push is not in the journal is with those that nothing concerns."""
    olders = journal.of(Older)
    if all(older.buckets is None for older in olders):
        return [journal]
    sets = {each.id: _olders_of(each, olders) for kind in (Push, HandOver)
            for each in journal.of(kind)}
    found = defaultdict(Journal)
    for kind in (Push, HandOver, Ack, Cancel, Release, Rest, Delivered, TakenBack):
        for event in journal.of(kind):
            found[sets.get(event.id, ())].events[kind].append(event)
    for own, part in found.items():
        part.events[Older] += own
        part.events[Fault] += journal.of(Fault)
        part.events[Clock] += journal.of(Clock)
    return list(found.values())


def _olders_of(job, olders):
    return tuple(older for older in olders
                 if older.buckets is None or bucket_of(job.topic) in older.buckets)
