"""What the crash tests do to a node, and what they read from its store."""

import time

import redis

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


def stored_ids(node):
    """The ids of all live jobs; None while Redis cannot be asked."""
    try:
        client = node.redis()
        keys = list(client.scan_iter(match="dq:{*}:j:*", count=1000))
        return {id.decode() for key in keys for id in client.hkeys(key)}
    except (redis.exceptions.RedisError, StopIteration):
        return None
