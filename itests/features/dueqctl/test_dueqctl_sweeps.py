"""dueqctl kicks and purges many jobs: it asks people first, shows them how far it is, and obeys an
interrupt. The API's answers are made up here, so that they never end."""

import json
import signal

import pytest

from harness.canned import reply, server
from harness.dueqctl import DONE, REFUSED, UNKNOWN, USAGE, Dueqctl, on_terminal

COUNTS = reply(b"200 OK", b'{"topic":"t","delayed":3,"ready":1000000000,"reserved":0,"dead":2}')


def swept(count, has_more):
    body = json.dumps({"count": count, "has_more": has_more}).encode()
    return reply(b"200 OK", body)


def bodies(requests):
    return [json.loads(request.split(b"\r\n\r\n")[1] or b"null") for request in requests]


@pytest.mark.parametrize("yes", ["y\n", "Y\n", "yes\n", "Yes\n"])
def test_a_purge_asks_people_and_yes_is_yes(yes):
    requests = []
    with server([COUNTS, swept(3, False), swept(2, False)], requests) as url:
        with on_terminal(url, "purge", "t", "--state", "delayed,dead") as (process, person):
            person.waits_for("Delete jobs of t: 3 delayed, 2 dead? [y/N] ")
            assert len(requests) == 1
            person.types(yes)
            assert process.stdout.read() == b"5 purged\n" and process.wait() == DONE
    assert bodies(requests)[1:] == [{"states": ["delayed"], "limit": 3},
                                    {"states": ["dead"], "limit": 2}]


@pytest.mark.parametrize("answer", ["\n", "n\n", "yy\n", "\x04"])
def test_a_purge_that_people_do_not_want_deletes_nothing(answer):
    requests = []
    with server([COUNTS, swept(5, False)], requests) as url:
        with on_terminal(url, "purge", "t", "--state", "dead") as (process, person):
            person.waits_for("[y/N] ")
            person.types(answer)
            assert process.wait() == REFUSED and process.stdout.read() == b""
            person.waits_for("nothing was purged")
    assert len(requests) == 1


def test_a_purge_asks_about_those_that_are_meant():
    with server([COUNTS]) as url:
        with on_terminal(url, "purge", "t", "--state", "dead", "--since", "2026-12-01 09:00",
                         "--before", "2026-12-02 09:00", "--count", "1000") as (_, person):
            person.waits_for(
                "Delete jobs of t: 2 dead; of these, those that died since 2026-12-01 09:00:00")
            person.waits_for(" before 2026-12-02 09:00:00")
            person.waits_for("; at most 1,000? [y/N] ")


def test_a_sweep_goes_on_until_nothing_is_left_and_takes_more_each_time():
    requests = []
    with server([COUNTS, swept(1000, True), swept(2000, True), swept(7, False)], requests) as url:
        assert Dueqctl(url).ok("purge", "t", "--state", "ready").text == "3007 purged\n"
    limits = [body["limit"] for body in bodies(requests)[1:]]
    assert limits[0] == 1000 and limits == sorted(limits)


def test_what_comes_in_meanwhile_is_not_purged_in_the_place_of_what_was_there():
    requests = []
    counts = reply(b"200 OK", b'{"topic":"t","delayed":3,"ready":1000,"reserved":0,"dead":2}')
    with server([counts, swept(3, True), swept(1000, True), swept(2, True)], requests) as url:
        done = Dueqctl(url).ok("purge", "t", "--state", "delayed,ready,dead")
    assert done.text == "1005 purged\n"
    assert bodies(requests)[1:] == [{"states": ["delayed"], "limit": 3},
                                    {"states": ["ready"], "limit": 1000},
                                    {"states": ["dead"], "limit": 2}]


def test_jobs_that_move_on_meanwhile_are_purged_where_they_went():
    requests = []
    counts = reply(b"200 OK", b'{"topic":"t","delayed":3,"ready":0,"reserved":0,"dead":2}')
    with server([counts, swept(1, False), swept(1, False), swept(3, True)], requests) as url:
        done = Dueqctl(url).ok("purge", "t", "--state", "delayed,ready,dead", "--json")
    assert done.json() == {"count": 5, "has_more": False}
    assert bodies(requests)[1:] == [{"states": ["delayed"], "limit": 3},
                                    {"states": ["ready"], "limit": 2},
                                    {"states": ["dead"], "limit": 3}]


def test_a_count_is_not_passed_by_jobs_that_move_on():
    requests = []
    with server([COUNTS, swept(1, False), swept(1, True)], requests) as url:
        done = Dueqctl(url).ok("purge", "t", "--state", "delayed,dead", "-n", 2, "--json")
    assert done.json() == {"count": 2, "has_more": True}
    assert [body["limit"] for body in bodies(requests)[1:]] == [2, 1]


@pytest.mark.parametrize("count, limits, has_more", [(2, [2], True), (3, [3], True),
                                                     (4, [3, 1], True), (5, [3, 2], False)])
def test_a_count_goes_from_state_to_state_and_says_whether_it_leaves_any(count, limits, has_more):
    requests = []
    answers = [swept(limit, limit in (1, 2) and has_more) for limit in limits]
    with server([COUNTS, *answers], requests) as url:
        done = Dueqctl(url).ok("purge", "t", "--state", "delayed,dead", "-n", count, "--json")
    assert done.json() == {"count": count, "has_more": has_more}
    assert [body["limit"] for body in bodies(requests)[1:]] == limits


def test_a_sweep_ends_at_its_count_though_there_are_more():
    requests = []
    with server([swept(1000, True), swept(500, True)], requests) as url:
        done = Dueqctl(url).ok("kick", "t", "--count", "1500")
    assert done.text == "1500 kicked, there are more\n"
    assert [body["limit"] for body in bodies(requests)] == [1000, 500]


def test_a_kick_tells_the_times_it_was_given():
    requests = []
    with server([COUNTS, swept(1, False)], requests) as url:
        Dueqctl(url).ok("kick", "t", "--since", "1796115600123", "--before", "2026-12-02 09:00")
    assert bodies(requests)[1] == {"since_ms": 1796115600123, "before_ms": 1796202000000, "limit": 2}


@pytest.mark.parametrize("words", [("kick", "t", "--since"), ("kick", "t", "--before"),
                                   ("purge", "t", "--state", "dead", "--since"),
                                   ("pause", "t", "--until"), ("push", "t", "b", "--at")])
def test_a_time_in_seconds_is_refused_as_such(words):
    done = Dueqctl("http://127.0.0.1:1")(*words, "1796115600")
    assert done.code == USAGE and "looks like seconds" in done.complaint
    done = Dueqctl("http://127.0.0.1:1")(*words, "yesterday")
    assert done.code == USAGE and "seconds" not in done.complaint.replace("milliseconds", "")


def test_what_was_swept_before_it_failed_is_said():
    refusal = reply(b"503 Service Unavailable", b'{"error":{"code":"unavailable","message":"away"}}')
    with server([COUNTS, swept(1000, True), refusal]) as url:
        done = Dueqctl(url)("purge", "t", "--state", "ready")
    assert done.code == REFUSED and done.text == "1000 purged, there are more\n"
    with server([COUNTS, swept(1000, True), refusal]) as url:
        done = Dueqctl(url)("purge", "t", "--state", "ready", "--json")
    assert done.json()["count"] == 1000 and done.json()["error"]["code"] == "unavailable"


def test_what_the_failed_request_had_done_counts_too():
    unknown = reply(b"504 Gateway Timeout",
                    b'{"error":{"code":"unknown","message":"away","count":300}}')
    with server([COUNTS, swept(1000, True), unknown]) as url:
        done = Dueqctl(url)("purge", "t", "--state", "ready")
    assert done.code == UNKNOWN and done.text == "1300 purged, there are more\n"
    with server([unknown]) as url:
        done = Dueqctl(url)("kick", "t", "--count", "500", "--json")
    assert done.json()["count"] == 300 and done.json()["has_more"] is True


def test_a_sweep_that_makes_no_progress_ends_and_says_that_there_are_more():
    requests = []
    with server([COUNTS, swept(1000, True), swept(0, True)], requests) as url:
        done = Dueqctl(url).ok("purge", "t", "--state", "ready")
    assert done.text == "1000 purged, there are more\n" and len(requests) == 3


def test_where_the_first_request_fails_nothing_is_said_of_what_is_left():
    refusal = reply(b"503 Service Unavailable", b'{"error":{"code":"unavailable","message":"away"}}')
    with server([COUNTS, refusal]) as url:
        done = Dueqctl(url)("purge", "t", "--state", "ready", "--json")
    assert done.code == REFUSED
    assert done.json() == {"count": 0, "error": {"code": "unavailable", "message": "away"}}


def test_progress_is_shown_to_people_who_wait_and_an_interrupt_ends_it_in_order():
    requests = []
    with server([COUNTS] + [swept(1, True)] * 1000000, requests) as url:
        with on_terminal(url, "purge", "t", "--state", "ready", "--yes") as (process, person):
            person.waits_for(" of 1,000,000,000 purged, ")
            process.send_signal(signal.SIGINT)
            out = process.stdout.read()
            assert process.wait() == -signal.SIGINT
            person.waits_for("interrupted: the others were not purged")
    assert out == b"%d purged, there are more\n" % (len(requests) - 1)


def test_what_was_not_understood_is_told_in_words_that_help():
    ctl = Dueqctl("http://127.0.0.1:9")
    assert "--before" in ctl("kick", "t").complaint
    assert ("'gone' is not one of delayed, ready, reserved, dead, or several with commas between"
            in ctl("purge", "t", "--state", "gone").complaint)
