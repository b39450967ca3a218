"""The comparison, before beanstalkd itself: it finds nothing to tell, and finds what was planted."""

import pytest

from beanstalkd import runs
from beanstalkd.mutants import lies
from beanstalkd.servers import itself
from beanstalkd.steps import as_text, from_text

SEQUENCES, TIMED = 300, 24
FIND_WITHIN = 2000


@pytest.fixture(scope="module", name="ports")
def fixture_ports(tmp_path_factory):
    with itself(tmp_path_factory.mktemp("beanstalkd")) as ports:
        yield ports


def test_beanstalkd_is_like_itself(ports):
    tally = runs.run(ports, range(SEQUENCES))
    assert not tally.failures, runs.story(ports, *next(iter(tally.failures.items())))
    assert not tally.used and tally.void < SEQUENCES / 10, tally


def test_beanstalkd_is_like_itself_while_time_passes(ports):
    tally = runs.run_timed(ports, range(TIMED))
    assert not tally.failures, runs.story(ports, *next(iter(tally.failures.items())))


@pytest.mark.parametrize("name", lies())
def test_a_planted_difference_is_found(ports, name):
    tally = runs.run(ports, range(FIND_WITHIN), lies()[name])
    assert tally.failures, f"not seen in {tally}"


def test_a_failure_is_made_short_and_can_be_repeated(ports):
    lie = lies()["a job less is kicked"]
    (seed, is_timed), _ = next(iter(runs.run(ports, range(FIND_WITHIN), lie).failures.items()))
    steps = runs.shrunk(ports, runs.draw(seed, is_timed), is_timed, lie)
    assert 2 <= len(steps) <= 6, as_text(steps)
    again = from_text(as_text(steps))
    assert again == steps
    assert runs.play_once(ports, again, is_timed, lie)[0].failure
