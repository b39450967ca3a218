"""What the crash tests do to a node, and what they read from its store."""

import time

import redis

from harness import redis_server
from harness.process import reap_orphans
from judge.journal import Fault, now_ms


def kill_and_recover(node, who, journal):
    """kill -9, and on the way back whatever the operator would have to do."""
    start_ms = now_ms()
    node.kill(who)
    if node.process is None:
        node.start()
    else:
        node.wait_ready()
    journal.add(Fault(who, start_ms, now_ms()))


def kill_at_random_moments(node, who, journal, dice, times):
    for _ in range(times):
        time.sleep(dice.uniform(0.05, 0.7))  # the moment is what is tested
        kill_and_recover(node, who, journal)


def end_of(node, *timeout_s):
    """The exit code of a node that ends, or is being stopped."""
    code = node.process.wait(*timeout_s)
    node.process = None
    reap_orphans()
    return code


def stored_ids(node):
    """The ids of all live jobs; None while Redis cannot be asked."""
    try:
        return redis_server.stored_ids(node.redis())
    except (redis.exceptions.RedisError, StopIteration):
        return None
