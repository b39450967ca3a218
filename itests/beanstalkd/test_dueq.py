"""A node is what beanstalkd is, to clients that send anything: random sequences to both, compared.
./dev drill beanstalkd plays more of them."""

import itertools
import os
import random

import pytest

from beanstalkd import runs
from beanstalkd.differ import DIFFERENCES
from beanstalkd.servers import pair
from beanstalkd.steps import from_text

SEQUENCES, TIMED, DRAINED = 400, 24, 2
# What the random sequences of CI may be too few to meet: each named difference, on purpose.
WITNESSES = {
    "quotes": r"0 a 1 b'stats-tube default\r\n'",
    "a long delay": r"0 a 2 b'put 0 4294967295 9 1\r\nx\r\nstats-job @a0@\r\n'" "\n"
                    r"0 a 1 b'stats-job @a0@\r\n'",
    "a long time to run": r"0 a 1 b'put 0 0 604801 1\r\nx\r\n'" "\n" r"0 a 1 b'stats-job @a0@\r\n'",
    "the delay of a release": r"0 a 2 b'put 0 0 9 1\r\nx\r\nreserve\r\n'" "\n"
                              r"0 a 2 b'release @a0@ 0 70\r\nstats-job @a0@\r\n'",
    "counts of a tube": r"0 a 2 b'use t\r\nput 0 0 9 1\r\nx\r\n'" "\n"
                        r"0 a 4 b'delete @a0@\r\nuse 0\r\nuse t\r\nstats-tube t\r\n'",
    "order of tubes": r"0 a 1 b'use t\r\n'" "\n" r"0 b 3 b'use +\r\nput 0 0 9 1\r\nx\r\nlist-tubes\r\n'",
    # "moments" would need one: any of the random sequences shows it, or none
}


@pytest.fixture(scope="module", name="servers")
def fixture_ports(tmp_path_factory):
    with pair(tmp_path_factory.mktemp("beanstalkd")) as servers:
        yield servers


@pytest.fixture(scope="module", name="seed")
def fixture_seed():
    """What chance may find is for ./dev drill beanstalkd, and ./dev test --all."""
    chance = random.SystemRandom().randrange(1 << 31) if os.environ.get("DUEQ_LONG") else 1
    seed = int(os.environ.get("DUEQ_SEED", chance))
    print(f"DUEQ_SEED={seed}")
    return seed


def check(servers, tally, void_max):
    print(tally)
    assert not tally.failures, runs.story(servers, *next(iter(tally.failures.items())))
    assert tally.void <= void_max, tally


def test_random_sequences_to_both(servers, seed):
    check(servers, runs.run(servers, range(seed, seed + SEQUENCES)), SEQUENCES / 2)


def test_random_sequences_in_which_time_passes(servers, seed):
    """A busy machine is too slow for the times of most of them, hardly for those of all."""
    check(servers, runs.run_timed(servers, range(seed, seed + TIMED)), TIMED - 1)


def test_random_sequences_in_which_both_are_told_to_drain(seed, tmp_path):
    """Each wants fresh servers, which are on unix sockets."""
    numbers = itertools.count()

    def opened():
        directory = tmp_path / str(next(numbers))
        directory.mkdir()
        return pair(directory, is_unix=True)

    tally = runs.run_drained(opened, range(seed, seed + DRAINED))
    assert not tally.failures, tally.failures


@pytest.mark.parametrize("name", WITNESSES)
def test_a_named_difference_is_still_there(servers, name):
    result, differ = runs.play_once(servers, from_text(WITNESSES[name]))
    assert result.failure is None and differ.used[name], (result.failure, differ.used)


def test_no_difference_has_a_name_for_nothing():
    assert {each.name for each in DIFFERENCES} == {*WITNESSES, "moments"}
