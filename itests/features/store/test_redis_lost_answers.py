"""Pushes whose answers are lost with the connection: Redis is silent for too long, and does what
it was sent when it goes on. The client gets a true answer, and each job exists once. That a client
of gmq sees nothing of it: crash/test_redis_trouble.py."""

from harness.background import in_background
from harness.process import frozen
from harness.wait import wait_until

MODES = ("reject", "replace", "ignore")


def test_each_job_of_a_list_and_each_id_of_a_client_is_pushed_once(make_node, redis, topic):
    node = make_node({"store.redis": redis.address, "store.command_timeout": "500ms",
                      "store.hold": "60s", "store.breaker.after": "60s",
                      "store.breaker.failures": "100"}).start()
    node.wait_settled()
    jobs = [{"body": f"{n}", "delay_ms": 0 if n % 2 else 3600000} for n in range(100)]
    apis = [node.api() for _ in MODES]
    with node.api() as api:
        with frozen(redis.process.pid):
            listed = in_background(api.push_all, topic, jobs)
            own = [in_background(lambda each=each, mode=mode: each.push(f"{topic}-{mode}", id="mine",
                                                                        mode=mode))
                   for each, mode in zip(apis, MODES)]
            wait_until(lambda: node.metrics()["dueq_store_operations_in_flight"] >= 100 + len(MODES),
                       "all are sent")
            wait_until(lambda: node.metrics()["dueq_store_up"] == 0, "the link was given up")
            assert not any(answer.done() for answer in (listed, *own))
        results = listed.result()
        assert [answer.result()["id"] for answer in own] == ["mine"] * len(MODES)
        assert [api.counts(f"{topic}-{mode}") for mode in MODES] == [(0, 1, 0, 0)] * len(MODES)
        assert len({each["id"] for each in results}) == 100
        assert api.counts(topic) == (50, 50, 0, 0)
        found = api.all_jobs(topic, state="delayed") + api.all_jobs(topic, state="ready")
        assert {job["id"]: job["due_ms"] for job in found} == {each["id"]: each["due_ms"]
                                                              for each in results}
    for each in apis:
        each.close()
