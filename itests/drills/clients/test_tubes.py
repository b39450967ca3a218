"""The load of beanstalkd's clients and its judge, before Debian's beanstalkd: through its restart, and
through one that forgets everything."""

import random

import pytest

from drills.clients.tubes import Tubes
from harness.beanstalkd import HERE, Beanstalkd
from harness.process import Process, kill_now
from harness.wait import wait_until
from judge.journal import OK, now_ms
from judge.tubes import judge_tubes

VERBS = {"delete", "release", "bury", "kick", "touch"}


def verbs_of(tubes):
    return {word.verb for word in list(tubes.record.words) if word.outcome == OK}


def restart(peer):
    kill_now([peer.process.pid])
    peer.process.wait()
    peer.process = Process(peer.process.argv, peer.process.log)


@pytest.mark.parametrize("keeps", [True, False])
def test_through_a_restart(tmp_path, keeps):
    with Beanstalkd(tmp_path, is_synced=keeps) as peer:
        with Tubes([(HERE, peer.port)], random.Random(1)) as tubes:
            tubes.wait_flowing()
            wait_until(lambda: len(tubes.record.held_at(now_ms())) > 5
                       and verbs_of(tubes) == VERBS, "holders hold, and all is done with jobs")
            since_ms = now_ms()
            restart(peer)
            tubes.wait_flowing()
            held = tubes.record.held_at(since_ms)
            assert tubes.drain(60 if keeps else 3) == keeps
        came = list(tubes.came_back_ms(held, since_ms))
        found = {violation.rule for violation in judge_tubes(tubes.record)}
    assert len(came) > 5
    if keeps:
        assert None not in came and found == set()
    else:
        assert set(came) == {None} and found == {"LOST"}
