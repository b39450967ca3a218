"""Never early, and not late: consumers that wait are woken the moment a job is due."""

import threading

from harness.clock import redis_now_ms, wall_now_ms

# Nothing comes by asking again, or by a scan that looks just in case: what is not woken exceeds this.
NODE_SETTINGS = {"gmq.pop_wait": "29s", "queue.scan_interval": "60s"}
LATE_MS = 15000


def due_ms(node, topic, id):
    """The job's due time as it stands in Redis: bytes 7 to 12 of its header."""
    client = node.redis()
    keys = list(client.scan_iter(match=f"dq:{{*}}:j:{topic}", count=10000))
    assert len(keys) == 1, keys
    return int.from_bytes(client.hget(keys[0], id)[7:13], "big")


def test_this_machine_and_redis_share_a_clock(node):
    client = node.redis()
    before, redis, after = wall_now_ms(), redis_now_ms(client), wall_now_ms()
    assert before - 1 <= redis <= after + 1


class Watcher(threading.Thread):
    """A consumer that waits, and notes when it got which job."""

    def __init__(self, node, topics, jobs=1):
        super().__init__()
        self._client = node.raw_client()
        self._topics = topics
        self._jobs = jobs
        self.got = []
        self.start()

    def run(self):
        with self._client:
            while len(self.got) < self._jobs:
                self._client.send_request("Pop", self._topics)
                line = self._client.line()
                now = wall_now_ms()
                assert line, "the node closed the connection"
                if b'"error":null' in line:
                    self.got.append((line, now))


def test_no_job_is_early_and_none_is_late(node, client, topic):
    topics = [f"{topic}-{number}" for number in range(10)]
    watchers = [Watcher(node, topics, jobs=10) for _ in range(10)]
    due = {}
    for number in range(100):
        where, id = topics[number % 10], f"time-{number}"
        client.push(where, id, delay=1 + number % 2)
        due[id] = due_ms(node, where, id)
    for watcher in watchers:
        watcher.join()
    lateness = [now - due[line.split(b'"id":"')[1].split(b'"')[0].decode()]
                for watcher in watchers for line, now in watcher.got]
    assert len(lateness) == 100
    assert min(lateness) >= 0, f"{-min(lateness):.3f} ms early"
    assert max(lateness) < LATE_MS, f"{max(lateness):.0f} ms late"
