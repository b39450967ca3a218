"""What the crash tests do to a node, and what they read from its store."""

import time

import redis

from crash.judge import Fault


def kill_and_recover(node, who, history):
    """kill -9, and on the way back whatever the operator would have to do."""
    start = time.monotonic()
    node.kill(who)
    if node.process is None:
        node.start()
    else:
        node.wait_ready()
    history.faults.append(Fault(who, start, time.monotonic()))


def kill_at_random_moments(node, who, history, dice, times):
    for _ in range(times):
        time.sleep(dice.uniform(0.05, 0.7))  # the moment is what is tested
        kill_and_recover(node, who, history)


def stored_ids(node):
    """The ids of all live jobs; None while Redis cannot be asked."""
    try:
        client = node.redis()
        keys = list(client.scan_iter(match="dq:{*}:j:*", count=1000))
        return {id.decode() for key in keys for id in client.hkeys(key)}
    except (redis.exceptions.RedisError, StopIteration):
        return None
