"""A consumer that leaves while it waits costs no job, no try and no time."""

import time

from harness.wait import wait_until


def waiting(node):
    return sum(value for name, value in node.metrics().items() if "waiting" in name)


def test_a_consumer_that_left_gets_no_job(node, client, topic):
    leaver = node.raw_client()
    leaver.send_request("Pop", [topic])
    wait_until(lambda: waiting(node) == 1, "the consumer waits")
    leaver.close()
    wait_until(lambda: waiting(node) == 0, "the node has noticed")
    client.push(topic, "stays-1", "b", ttr=60)
    assert client.pop(topic)["consume_num"] == 0


def test_jobs_pushed_while_consumers_leave_are_all_handed_out(node, client, topic):
    """The leavers race with the pushes. What the kernel took for a leaver counts as delivered
    and comes again after its TTR; nothing is lost, and nothing loses more than that try. (On a
    machine so slow that the TTR is over before all have left, it may reach one more of them.)"""
    began = time.monotonic()
    for number in range(50):
        leaver = node.raw_client()
        leaver.send_request("Pop", [topic])
        client.push(topic, f"race-{number}", "b", ttr=1)
        leaver.close()
    ttr_s = 1 + 3  # gmq's own addition
    times_over = int((time.monotonic() - began) / ttr_s)
    tries = {}

    def all_came():
        job = client.pop_or_none(topic)
        if job:
            tries[job["id"]] = job["consume_num"]
            client.ack(job["id"])
        return len(tries) == 50

    wait_until(all_came, "all jobs are handed out", interval_s=0)
    assert max(tries.values()) <= 1 + times_over
