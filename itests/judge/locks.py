"""Where all nodes scan: nobody moves a job of a topic whose lock is not his (doc/cluster.md).

    UNLOCKED    who moves a job has its topic's lock, which is not over
    LOCK_SEIZED a lock that is not over passes to another process in a newer view only
    LOCK_TOKEN  each time it passes, with a higher token; while it does not, with the same
    LOCK_VIEW   who renews it knows no older view than it was written in; and in one view it is one
                node that writes it: who has it from before moves, and does not renew it

What is judged is the order in Redis's own files (ledger.py). While it is not known who has a lock,
because the file begins with a copy or the key came from another Redis, that topic is not judged
there; the Redis from which it came has it whole.
"""

from heapq import merge

from judge.jobs import Violation
from judge.journal import Lock, LockedMove, Unlock

UNKNOWN_LOCK = object()


def judge_locks(journal, lock_ms):
    """`lock_ms`: how long a lock lasts from when it is written."""
    streams = [journal.of(kind) for kind in (Lock, Unlock, LockedMove)]
    state = {}                    # {(Redis, topic): its lock}
    newest = {}                   # {(Redis, bucket): the highest token}
    writers = {}                  # {(topic, view): the first node that wrote its lock}
    generation = {}               # {Redis: of its file}
    for event in merge(*map(_in_order, streams), key=lambda event: event.place):
        redis, number, _ = event.place
        if generation.setdefault(redis, number) != number:  # a copy of another's
            generation[redis] = number
            state, newest = (_without(redis, each) for each in (state, newest))
        key = redis, event.topic
        before = state.get(key, None if event.is_known else UNKNOWN_LOCK)
        if isinstance(event, LockedMove):
            why = _why_unlocked(event, before)
            if why:
                yield Violation("UNLOCKED", event.id, why)
        elif isinstance(event, Unlock):
            state[key] = None if event.is_known else UNKNOWN_LOCK
        else:
            yield from (list(_wrong_writing(event, before, newest, lock_ms))
                        or _wrong_view(event, before, writers))
            state[key] = event


def _without(redis, state):
    return {key: each for key, each in state.items() if key[0] != redis}


def _in_order(events):
    return sorted(events, key=lambda event: event.place)


def _why_unlocked(move, lock):
    """None: it has the lock, or who has it is not known."""
    if lock is UNKNOWN_LOCK:
        return None
    what = f"{move.node} moved it at {move.redis_ms}, and {move.topic}'s lock"
    if lock is None:
        return f"{what} is nobody's"
    if lock.node != move.node:
        return f"{what} is {lock.node}'s, with token {lock.token}"
    if move.redis_ms > lock.until_ms:
        return f"{what} was over {move.redis_ms - lock.until_ms} ms before"
    return None


def _wrong_writing(lock, before, newest, lock_ms):
    is_same = isinstance(before, Lock) and before.owner == lock.owner
    written_ms = lock.until_ms - lock_ms
    if before is UNKNOWN_LOCK or (is_same and before.token == lock.token):
        return
    if isinstance(before, Lock) and not is_same and written_ms < before.until_ms \
            and lock.view <= before.view:
        yield Violation("LOCK_SEIZED", lock.topic, f"{lock.node} took it in view {lock.view} from "
                        f"{before.node}, who had it in view {before.view} for "
                        f"{before.until_ms - written_ms} ms more")
    bucket = lock.place[0], lock.bucket
    highest = newest.get(bucket, 0)
    if lock.token <= highest:
        yield Violation("LOCK_TOKEN", lock.topic, f"{lock.node} took it with {lock.token}, and "
                                                  f"{highest} was given before")
    newest[bucket] = max(highest, lock.token)


def _wrong_view(lock, before, writers):
    """Of view 0 is what was taken late, by anybody."""
    if isinstance(before, Lock) and before.token == lock.token and lock.view < before.view:
        yield Violation("LOCK_VIEW", lock.topic, f"{lock.node} renewed it in view {lock.view}, "
                                                 f"after view {before.view}")
    writer = writers.setdefault((lock.topic, lock.view), lock.node)
    if lock.view and writer != lock.node:
        yield Violation("LOCK_VIEW", lock.topic, f"{lock.node} wrote it in view {lock.view}, in "
                                                 f"which {writer} had written it")
