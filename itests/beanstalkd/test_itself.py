"""The comparison, before beanstalkd itself: it finds nothing to tell, and finds what was planted."""

import pytest

from beanstalkd import runs, workers
from beanstalkd.mutants import lies
from beanstalkd.servers import itself
from beanstalkd.steps import as_text, from_text

SEQUENCES, TIMED = 300, 24
FIND_WITHIN = 2000


@pytest.fixture(scope="module", name="servers")
def fixture_ports(tmp_path_factory):
    with itself(tmp_path_factory.mktemp("beanstalkd")) as servers:
        yield servers


def test_beanstalkd_is_like_itself(servers):
    tally = runs.run(servers, range(SEQUENCES))
    assert not tally.failures, runs.story(servers, *next(iter(tally.failures.items())))
    assert not tally.used and tally.void < SEQUENCES / 10, tally


def test_beanstalkd_is_like_itself_while_time_passes(servers):
    tally = runs.run_timed(servers, range(TIMED))
    assert not tally.failures, runs.story(servers, *next(iter(tally.failures.items())))


@pytest.mark.parametrize("name", lies())
def test_a_planted_difference_is_found(servers, name):
    tally = runs.run(servers, range(FIND_WITHIN), lies()[name])
    assert tally.failures, f"not seen in {tally}"


def test_a_failure_is_made_short_and_can_be_repeated(servers):
    lie = lies()["a job less is kicked"]
    key = next(iter(runs.run(servers, range(FIND_WITHIN), lie).failures))
    steps = runs.shrunk(servers, key.steps(), False, lie)
    assert 2 <= len(steps) <= 6, as_text(steps)
    again = from_text(as_text(steps))
    assert again == steps
    assert runs.play_once(servers, again, False, lie)[0].failure


def test_workers_play_each_sequence_once():
    parts = [workers.Part(runs.TIMED, 5, 3), workers.Part(runs.DRAINED, 7, 4), workers.Part(runs.ALONE, 1, 60)]
    played = []
    assert not workers.play_all(parts, 3, itself, played.append)
    assert sorted(each.key for each in played) == sorted(
        runs.Key(part.first + number, part.kind) for part in parts for number in range(part.count))
    assert not any(each.failure or each.used["quotes"] for each in played)


def test_what_a_worker_finds_is_told_with_its_story(monkeypatch):
    lying = lies()["a job less is kicked"]
    sides_of = runs.sides_of
    monkeypatch.setattr(runs, "sides_of", lambda pair, lie=None: sides_of(pair, lying))
    played = []
    stories = workers.play_all([workers.Part(runs.ALONE, 0, FIND_WITHIN)], 2, itself, played.append)
    assert stories and len(stories) == sum(each.failure is not None for each in played)
    assert len(played) < FIND_WITHIN and all("the shortest form" in story for story in stories)


def test_a_worker_that_breaks_is_told():
    def broken(*_):
        raise RuntimeError("no servers today")

    with pytest.raises(workers.Broken, match="no servers today"):
        workers.play_all([workers.Part(runs.ALONE, 0, 9)], 2, broken, lambda played: None)
