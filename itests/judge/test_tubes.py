"""The judge of beanstalkd's clients: what it accepts, and each promise broken."""

from dataclasses import replace

import pytest

from judge.journal import OK, REFUSED, UNKNOWN
from judge.tubes import Got, Put, Record, Said, judge_tubes

HOUR_MS = 3_600_000
PUT = Put("a", 0, HOUR_MS, 10, 20, OK)
GOT = Got("a", 1, 30, 25)
AGAIN = Got("a", 2, 130, 125)
DELETED = Said("a", 1, "delete", 40, 50, OK)


def word(verb, sent_ms, outcome=OK, conn=1, delay_ms=0):
    return Said("a", conn, verb, sent_ms, sent_ms + 5, outcome, delay_ms)


def rules(puts=(PUT,), gots=(GOT,), words=(DELETED,), answered=None):
    record = Record(list(puts), list(gots), list(words), {}, answered or {1: 1000, 2: 1000})
    return [violation.rule for violation in judge_tubes(record)]


LATE_DELETE = word("delete", 140, conn=2)


@pytest.mark.parametrize("told", [
    {},
    {"puts": [replace(PUT, outcome=UNKNOWN)]},
    {"puts": [replace(PUT, outcome=UNKNOWN)], "gots": [], "words": []},
    {"puts": [replace(PUT, outcome=REFUSED)], "gots": [], "words": []},
    {"words": [replace(DELETED, outcome=UNKNOWN)]},
    {"puts": [replace(PUT, delay_ms=20)]},
    # again, because
    {"gots": [GOT, AGAIN], "words": [word("release", 40), LATE_DELETE]},
    {"gots": [GOT, AGAIN], "words": [word("release", 40, UNKNOWN), LATE_DELETE]},
    {"gots": [GOT, AGAIN], "words": [word("release", 40, delay_ms=90), LATE_DELETE]},
    {"gots": [GOT, AGAIN], "words": [word("bury", 40), word("kick", 60), LATE_DELETE]},
    {"gots": [GOT, AGAIN], "words": [LATE_DELETE], "answered": {1: 100}},  # its connection is gone
    {"gots": [GOT, AGAIN], "words": [LATE_DELETE], "puts": [replace(PUT, ttr_ms=100)]},
    {"gots": [GOT, AGAIN], "words": [replace(DELETED, outcome=UNKNOWN), LATE_DELETE]},
    # its time was over
    {"gots": [GOT, AGAIN], "words": [word("touch", 126, REFUSED), LATE_DELETE],
     "puts": [replace(PUT, ttr_ms=100)]},
])
def test_what_is_kept(told):
    assert rules(**told) == []


@pytest.mark.parametrize("rule, told", [
    ("LOST", {"words": []}),
    ("LOST", {"words": [replace(DELETED, outcome=REFUSED)],
              "puts": [replace(PUT, ttr_ms=10)]}),
    ("LOST", {"gots": [], "words": []}),
    ("INVENTED", {"puts": [], "words": []}),
    ("INVENTED", {"puts": [replace(PUT, outcome=REFUSED)]}),
    ("INVENTED", {"puts": [replace(PUT, sent_ms=31)]}),
    ("EARLY", {"puts": [replace(PUT, delay_ms=21)]}),
    ("EARLY", {"gots": [GOT, AGAIN], "words": [word("release", 40, delay_ms=91), LATE_DELETE]}),
    ("TWICE", {"gots": [GOT, AGAIN], "words": [LATE_DELETE]}),
    ("TWICE", {"gots": [GOT, AGAIN], "words": [word("release", 135), LATE_DELETE]}),
    ("TWICE", {"gots": [GOT, AGAIN], "words": [word("touch", 60), LATE_DELETE],
               "puts": [replace(PUT, ttr_ms=100)]}),
    ("TAKEN", {"words": [word("touch", 35, REFUSED), DELETED]}),
    ("TAKEN", {"words": [word("bury", 35, REFUSED), DELETED]}),
    ("RETURNED", {"gots": [GOT, AGAIN]}),
])
def test_each_promise_broken(rule, told):
    assert rules(**told) == [rule]


def test_what_is_held():
    record = Record([PUT], [GOT], [DELETED], {}, {})
    assert record.held_at(29) == {} and record.held_at(35) == {"a": 1} and record.held_at(41) == {}
    record.ended[1] = 34
    assert record.held_at(35) == {}
