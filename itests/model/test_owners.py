"""What the model believes of a node's memory of who holds what. No node is asked here.

A job d was popped by connection 0 of node 0; another job with this id comes later.
"""

import pytest

from model.beliefs import Wrong
from model.life import Span
from model.model import Model

NOW = Span(1000, 1000)
LATER = Span(2000, 2000)


@pytest.fixture(name="model")
def model_of_a_job_that_connection_0_has():
    model = Model(["t"])
    push(model, NOW)
    pop(model, 0, NOW)
    return model


def push(model, span, existed=False, **rules):
    job = {"id": "d", "body": "", "ttr_ms": 60000, "mode": "replace", **rules}
    model.pushed("t", job, span, "ok", {"existed": existed})


def pop(model, connection, span):
    lease = f"of gmq {len(model.owned)} at {span.first}"
    model.owns(0, connection, "t", "d", lease)
    model.popped(["t"], 1, None, [{"topic": "t", "id": "d", "lease": lease}], span)


def ack(model, connection, code):
    model.acked_by_id(connection, "t", "d", LATER, code)


def answers(model, connection):
    """All that the model allows to an acknowledgement. Tells it of none."""
    def is_allowed(code):
        owned, doubtful, jobs = model.owned[:], model.doubtful[:], dict(model.topics["t"].jobs)
        try:
            ack(model, connection, code)
            return True
        except Wrong:
            return False
        finally:
            model.owned, model.doubtful, model.topics["t"].jobs = owned, doubtful, jobs

    return [code for code in ("ok", "not_owner", "not_found") if is_allowed(code)]


def test_another_consumer_that_finds_nothing_ends_no_memory_of_the_holder(model):
    push(model, NOW, existed=True)
    ack(model, 1, "not_found")  # it is ready
    pop(model, 1, LATER)
    assert answers(model, 0) == ["not_owner"]
    assert answers(model, 1) == ["ok"]


def test_another_consumer_ends_the_memory_of_a_job_that_is_gone(model):
    model.cancelled("t", "d", NOW, "ok")
    ack(model, 1, "not_found")
    push(model, LATER)
    pop(model, 1, LATER)
    assert answers(model, 0) == ["ok"]


def test_a_dead_job_may_be_gone_when_another_consumer_finds_nothing(model):
    model.topics["t"].own = {"dead_age_ms": 10}
    push(model, NOW, existed=True, ttl_ms=50)
    ack(model, 1, "not_found")
    push(model, LATER)
    pop(model, 1, LATER)
    assert answers(model, 0) == ["ok", "not_owner"]
    ack(model, 0, "ok")  # so it was, and this was the hand-over to 1
    push(model, LATER)
    pop(model, 2, LATER)
    assert answers(model, 1) == ["ok"]
