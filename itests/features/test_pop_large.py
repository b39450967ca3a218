"""Jobs so large that one answer has room for few: a pop of many brings some, the rest stays
ready, and nobody is told that there is nothing. Consumers that are popped for together:
node/queue/tests/waiters_room_test.c.
"""

MIB = 1 << 20
SMALL = 1024  # the largest body that takes no room
COUNT = 64


def drain(api, topic):
    """The ids of each answer, until there is none."""
    answers = []
    while jobs := api.pop(topic, count=COUNT):
        answers.append([job["id"] for job in jobs])
        assert sum(len(job["body"]) for job in jobs) <= MIB + (COUNT - 1) * SMALL
        for job in jobs:
            api.ack(job)
    return answers


def test_smaller_ones_share_an_answer_and_the_rest_stays_ready(api, topic):
    for number in range(9):
        api.push(topic, "x" * (MIB // 4), id=f"{number}")
    api.push(topic, "small", id="9")
    assert [job["id"] for job in api.pop(topic, count=COUNT)] == ["0", "1", "2", "3"]
    assert api.counts(topic) == (0, 6, 4, 0)
    assert drain(api, topic) == [["4", "5", "6", "7"], ["8", "9"]]
