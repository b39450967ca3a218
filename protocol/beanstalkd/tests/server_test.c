/* Commands of one client, and of several, and what they are answered. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <netinet/tcp.h>
#include <sys/socket.h>

#include <stdio.h>
#include <string.h>

#include "protocol/access/access.h"
#include "protocol/beanstalkd/tests/server_fixture.h"

/* ---- a job's life ---- */

static void puts_reserves_and_deletes(void **state)
{
    struct talker *t = dial(*state);

    talk(t, "put 0 0 10 5\nhello\n", "INSERTED $1\n");
    talk(t, "reserve\n", "RESERVED $1 5\nhello\n");
    talk(t, "delete $1\n", "DELETED\n");
    talk(t, "delete $1\n", "NOT_FOUND\n");
    talk(t, "reserve-with-timeout 0\n", "TIMED_OUT\n");
    hang_up(t);
}

static void takes_any_body(void **state)
{
    struct talker *t = dial(*state);

    talk(t, "put 0 0 10 0\n\n", "INSERTED $1\n");
    talk(t, "reserve\n", "RESERVED $1 0\n\n");
    talk(t, "put 0 0 10 9\nstats\n\n\n", "INSERTED $2\n");
    talk(t, "peek $2\n", "FOUND $2 9\nstats\n\n\n");
    hang_up(t);
}

static void serves_by_priority_and_then_by_age(void **state)
{
    struct talker *t = dial(*state);

    talk(t, "put 1024 0 10 1\na\n", "INSERTED $1\n");
    talk(t, "put 1024 0 10 1\nb\n", "INSERTED $2\n");
    talk(t, "put 5 0 10 1\nc\n", "INSERTED $3\n");
    talk(t, "put 4294967295 0 10 1\nd\n", "INSERTED $4\n");
    talk(t, "reserve\n", "RESERVED $3 1\nc\n");
    talk(t, "reserve\n", "RESERVED $1 1\na\n");
    talk(t, "release $1 1024 0\n", "RELEASED\n");
    talk(t, "reserve\n", "RESERVED $1 1\na\n");
    talk(t, "reserve\n", "RESERVED $2 1\nb\n");
    talk(t, "reserve\n", "RESERVED $4 1\nd\n");
    hang_up(t);
}

static void serves_several_tubes_in_one_order(void **state)
{
    struct talker *t = dial(*state);
    struct fixture *f = *state;

    talk(t, "use b\nput 7 0 10 1\nx\n", "USING b\nINSERTED $1\n");
    fixture_pass(f, 5);
    talk(t, "use a\nput 7 0 10 1\ny\n", "USING a\nINSERTED $2\n");
    fixture_pass(f, 5);
    talk(t, "use c\nput 3 0 10 1\nz\n", "USING c\nINSERTED $3\n");
    talk(t, "watch a\nwatch b\nwatch c\n", "WATCHING 2\nWATCHING 3\nWATCHING 4\n");
    talk(t, "reserve\nreserve\nreserve\nreserve-with-timeout 0\n",
         "RESERVED $3 1\nz\nRESERVED $1 1\nx\nRESERVED $2 1\ny\nTIMED_OUT\n");
    hang_up(t);
}

static void a_delayed_job_is_ready_when_it_is_due(void **state)
{
    struct fixture *f = *state;
    struct talker *t = dial(f);

    talk(t, "put 0 2 10 1\na\n", "INSERTED $1\n");
    talk(t, "reserve-with-timeout 0\n", "TIMED_OUT\n");
    talk(t, "peek-delayed\n", "FOUND $1 1\na\n");
    tell(t, "reserve\n");
    fixture_pass(f, 1900);
    hear_nothing(t);
    fixture_pass(f, 200);
    hear(t, "RESERVED $1 1\na\n");
    hang_up(t);
}

static void buries_and_kicks(void **state)
{
    struct talker *t = dial(*state);

    talk(t, "put 0 0 10 1\na\nput 0 0 10 1\nb\nput 0 60 10 1\nc\n",
         "INSERTED $1\nINSERTED $2\nINSERTED $3\n");
    talk(t, "reserve\nreserve\n", "RESERVED $1 1\na\nRESERVED $2 1\nb\n");
    talk(t, "bury $2 9\nbury $1 9\n", "BURIED\nBURIED\n");
    talk(t, "bury $1 9\n", "NOT_FOUND\n");
    talk(t, "peek-buried\n", "FOUND $2 1\nb\n");
    talk(t, "kick 1\n", "KICKED 1\n");
    talk(t, "peek-ready\n", "FOUND $2 1\nb\n");
    talk(t, "peek-buried\n", "FOUND $1 1\na\n");
    talk(t, "kick 10\n", "KICKED 1\n"); /* not the delayed one */
    talk(t, "kick 10\n", "KICKED 1\n");
    talk(t, "kick 10\n", "KICKED 0\n");
    talk(t, "peek-delayed\npeek-buried\n", "NOT_FOUND\nNOT_FOUND\n");
    talk(t, "kick-job $1\n", "NOT_FOUND\n");
    hang_up(t);
}

static void kicks_one(void **state)
{
    struct talker *t = dial(*state);

    talk(t, "put 0 60 10 1\na\nkick-job $1\n", "INSERTED $1\nNOT_FOUND\n");
    talk(t, "kick-job $1\n", "KICKED\n");
    talk(t, "reserve\nbury $1 0\n", "RESERVED $1 1\na\nBURIED\n");
    talk(t, "kick-job $1\n", "KICKED\n");
    talk(t, "peek-ready\n", "FOUND $1 1\na\n");
    hang_up(t);
}

static void reserves_by_id(void **state)
{
    struct talker *t = dial(*state);

    talk(t, "use x\nput 0 0 10 1\na\nput 0 60 10 1\nb\n",
         "USING x\nINSERTED $1\nINSERTED $2\n");
    talk(t, "reserve-job $2\n", "RESERVED $2 1\nb\n");
    talk(t, "reserve-job $2\n", "NOT_FOUND\n");
    talk(t, "reserve-job $1\nbury $1 0\nreserve-job $1\n",
         "RESERVED $1 1\na\nBURIED\nRESERVED $1 1\na\n");
    talk(t, "delete $1\ndelete $2\nreserve-job $1\n", "DELETED\nDELETED\nNOT_FOUND\n");
    hang_up(t);
}

static void anybody_deletes_what_nobody_has(void **state)
{
    struct talker *t = dial(*state), *other = dial(*state);

    talk(t, "put 0 0 10 1\na\nput 0 60 10 1\nb\nput 0 0 10 1\nc\n",
         "INSERTED $1\nINSERTED $2\nINSERTED $3\n");
    talk(other, "delete $1\ndelete $2\n", "DELETED\nDELETED\n");
    talk(t, "reserve\n", "RESERVED $3 1\nc\n");
    talk(other, "delete $3\nrelease $3 0 0\nbury $3 0\ntouch $3\nkick-job $3\n",
         "NOT_FOUND\nNOT_FOUND\nNOT_FOUND\nNOT_FOUND\nNOT_FOUND\n");
    talk(other, "peek $3\n", "FOUND $3 1\nc\n");
    talk(t, "bury $3 0\n", "BURIED\n");
    talk(other, "delete $3\n", "DELETED\n");
    hang_up(t);
    hang_up(other);
}

/* ---- reservations and their time ---- */

static void the_end_of_a_connection_gives_its_jobs_back(void **state)
{
    struct talker *t = dial(*state), *other = dial(*state);

    talk(t, "put 0 0 100 1\na\nput 0 0 100 1\nb\n", "INSERTED $1\nINSERTED $2\n");
    talk(t, "reserve\nreserve\n", "RESERVED $1 1\na\nRESERVED $2 1\nb\n");
    tell(other, "reserve\nreserve\n");
    hear_nothing(other);
    hang_up(t);
    hear(other, "RESERVED $1 1\na\nRESERVED $2 1\nb\n");
    assert_string_equal(ask(other, "stats-job $1\n", "timeouts"), "0");
    hang_up(other);
}

static void a_job_whose_time_is_over_is_ready_again(void **state)
{
    struct fixture *f = *state;
    struct talker *t = dial(f), *other = dial(f);

    talk(t, "put 0 0 2 1\na\nreserve\n", "INSERTED $1\nRESERVED $1 1\na\n");
    AWAIT(f, queue_stats(f->queue)->unconfirmed == 0);
    fixture_pass(f, 2100);
    talk(other, "reserve\n", "RESERVED $1 1\na\n");
    talk(t, "touch $1\nrelease $1 0 0\n", "NOT_FOUND\nNOT_FOUND\n");
    talk(t, "delete $1\n", "NOT_FOUND\n");
    assert_string_equal(ask(other, "stats-job $1\n", "timeouts"), "1");
    hang_up(t);
    hang_up(other);
}

static void what_has_timed_out_is_deleted_as_anybodys(void **state)
{
    struct fixture *f = *state;
    struct talker *t = dial(f);

    talk(t, "put 0 0 2 1\na\nreserve\n", "INSERTED $1\nRESERVED $1 1\na\n");
    AWAIT(f, queue_stats(f->queue)->unconfirmed == 0);
    fixture_pass(f, 2100);
    talk(t, "peek-ready\n", "FOUND $1 1\na\n");
    talk(t, "delete $1\n", "DELETED\n");
    hang_up(t);
}

static void says_that_a_deadline_is_near(void **state)
{
    struct fixture *f = *state;
    struct talker *t = dial(f);

    talk(t, "put 0 0 3 1\na\nreserve\n", "INSERTED $1\nRESERVED $1 1\na\n");
    tell(t, "reserve-with-timeout 60\n");
    fixture_pass(f, 1900);
    hear_nothing(t);
    fixture_pass(f, 200);
    hear(t, "DEADLINE_SOON\n");
    talk(t, "reserve-with-timeout 0\nreserve\n", "DEADLINE_SOON\nDEADLINE_SOON\n");
    talk(t, "put 0 0 9 1\nb\nreserve\n", "INSERTED $2\nRESERVED $2 1\nb\n");
    talk(t, "reserve-job $1\n", "NOT_FOUND\n");
    talk(t, "touch $1\nreserve-with-timeout 0\n", "TOUCHED\nTIMED_OUT\n");
    talk(t, "delete $1\n", "DELETED\n");
    hang_up(t);
}

static void touch_begins_the_time_anew(void **state)
{
    struct fixture *f = *state;
    struct talker *t = dial(f);

    talk(t, "put 0 0 4 1\na\nreserve\n", "INSERTED $1\nRESERVED $1 1\na\n");
    for (int i = 0; i < 4; i++) {
        fixture_pass(f, 2500);
        talk(t, "touch $1\n", "TOUCHED\n");
    }
    talk(t, "release $1 77 0\n", "RELEASED\n");
    assert_string_equal(ask(t, "stats-job $1\n", "pri"), "77");
    assert_string_equal(ask(t, "stats-job $1\n", "releases"), "1");
    hang_up(t);
}

static void a_waiting_reserve_holds_up_what_is_behind(void **state)
{
    struct fixture *f = *state;
    struct talker *t = dial(f), *other = dial(f);

    tell(t, "reserve-with-timeout 1\nlist-tube-used\n");
    hear_nothing(t);
    fixture_pass(f, 1100);
    hear(t, "TIMED_OUT\nUSING default\n");
    tell(t, "reserve\nlist-tube-used\n");
    hear_nothing(t);
    talk(other, "put 0 0 10 1\na\n", "INSERTED $1\n");
    hear(t, "RESERVED $1 1\na\nUSING default\n");
    hang_up(t);
    hang_up(other);
}

static void a_client_that_has_ended_its_side_waits_no_longer(void **state)
{
    struct fixture *f = *state;
    struct talker *t = dial(f);

    tell(t, "reserve\n");
    AWAIT(f, queue_stats(f->queue)->waiting == 1);
    end_sending(&t->c);
    fixture_pass(f, 500);
    hear(t, "TIMED_OUT\n");
    hear_end(t);
    hang_up(t);
}

/* ---- tubes ---- */

/* The data of a list, whose lines end with LF alone. */
static void hear_list(struct talker *t, const char *names)
{
    char head[32], text[256];

    snprintf(text, sizeof(text), "---|%s", names);
    snprintf(head, sizeof(head), "OK %zu\n", strlen(text));
    hear(t, head);
    hear(t, text);
    hear(t, "\n");
}

static void uses_and_watches_tubes(void **state)
{
    struct talker *t = dial(*state);

    tell(t, "list-tubes-watched\n");
    hear_list(t, "- default|");
    talk(t, "use a\nlist-tube-used\n", "USING a\nUSING a\n");
    talk(t, "watch b\nwatch c\nwatch b\nignore default\nignore nosuch\n",
         "WATCHING 2\nWATCHING 3\nWATCHING 3\nWATCHING 2\nWATCHING 2\n");
    tell(t, "list-tubes-watched\n");
    hear_list(t, "- c|- b|");
    tell(t, "list-tubes\n");
    hear_list(t, "- default|- a|- b|- c|");
    talk(t, "ignore b\nignore c\n", "WATCHING 1\nNOT_IGNORED\n");
    hang_up(t);
}

static void a_tube_is_there_while_it_is_used_or_has_a_job(void **state)
{
    struct talker *t = dial(*state);

    talk(t, "stats-tube a\npause-tube a 1\n", "NOT_FOUND\nNOT_FOUND\n");
    talk(t, "use a\nput 0 0 10 1\na\nuse default\n", "USING a\nINSERTED $1\nUSING default\n");
    assert_string_equal(ask(t, "stats-tube a\n", "current-jobs-urgent"), "1");
    assert_string_equal(ask(t, "stats-tube a\n", "total-jobs"), "1");
    assert_string_equal(ask(t, "stats-tube a\n", "current-using"), "0");
    talk(t, "delete $1\nstats-tube a\n", "DELETED\nNOT_FOUND\n");
    hang_up(t);
}

static void a_paused_tube_gives_nothing(void **state)
{
    struct fixture *f = *state;
    struct talker *t = dial(f);

    talk(t, "put 0 0 10 1\na\npause-tube default 5\n", "INSERTED $1\nPAUSED\n");
    talk(t, "reserve-with-timeout 0\n", "TIMED_OUT\n");
    assert_string_equal(ask(t, "stats-tube default\n", "pause"), "5");
    tell(t, "reserve\n");
    fixture_pass(f, 4900);
    hear_nothing(t);
    fixture_pass(f, 200);
    hear(t, "RESERVED $1 1\na\n");
    talk(t, "release $1 0 0\npause-tube default 60\npause-tube default 0\nreserve\n",
         "RELEASED\nPAUSED\nPAUSED\nRESERVED $1 1\na\n");
    assert_string_equal(ask(t, "stats-tube default\n", "cmd-pause-tube"), "3");
    hang_up(t);
}

/* ---- what is told ---- */

static void tells_of_a_job(void **state)
{
    struct talker *t = dial(*state);
    struct fixture *f = *state;

    talk(t, "use a\nput 3 4 5 1\na\n", "USING a\nINSERTED $1\n");
    assert_string_equal(ask(t, "stats-job $1\n", "tube"), "\"a\"");
    assert_string_equal(ask(t, "stats-job $1\n", "state"), "delayed");
    assert_string_equal(ask(t, "stats-job $1\n", "pri"), "3");
    assert_string_equal(ask(t, "stats-job $1\n", "delay"), "4");
    assert_string_equal(ask(t, "stats-job $1\n", "ttr"), "5");
    fixture_pass(f, 2000);
    assert_string_equal(ask(t, "stats-job $1\n", "age"), "2");
    talk(t, "reserve-job $1\n", "RESERVED $1 1\na\n");
    AWAIT(f, queue_stats(f->queue)->unconfirmed == 0);
    assert_string_equal(ask(t, "stats-job $1\n", "state"), "reserved");
    assert_string_equal(ask(t, "stats-job $1\n", "reserves"), "1");
    talk(t, "bury $1 3\n", "BURIED\n");
    assert_string_equal(ask(t, "stats-job $1\n", "state"), "buried");
    assert_string_equal(ask(t, "stats-job $1\n", "buries"), "1");
    talk(t, "use b\nkick 1\n", "USING b\nKICKED 0\n");
    talk(t, "use a\nkick 1\n", "USING a\nKICKED 1\n");
    assert_string_equal(ask(t, "stats-job $1\n", "kicks"), "1");
    talk(t, "stats-job 99999\n", "NOT_FOUND\n");
    hang_up(t);
}

static void tells_of_itself(void **state)
{
    struct talker *t = dial(*state), *other = dial(*state);

    talk(t, "use a\nput 2000 0 9 1\na\nput 0 0 9 1\nb\nreserve-with-timeout 0\n",
         "USING a\nINSERTED $1\nINSERTED $2\nTIMED_OUT\n");
    tell(other, "reserve\n");
    hear_nothing(other);
    assert_string_equal(ask(t, "stats\n", "current-jobs-ready"), "2");
    assert_string_equal(ask(t, "stats\n", "current-jobs-urgent"), "1");
    assert_string_equal(ask(t, "stats\n", "cmd-put"), "2");
    assert_string_equal(ask(t, "stats\n", "cmd-stats"), "4");
    assert_string_equal(ask(t, "stats\n", "current-tubes"), "2");
    assert_string_equal(ask(t, "stats\n", "current-connections"), "2");
    assert_string_equal(ask(t, "stats\n", "current-producers"), "1");
    assert_string_equal(ask(t, "stats\n", "current-workers"), "2");
    assert_string_equal(ask(t, "stats\n", "current-waiting"), "1");
    assert_string_equal(ask(t, "stats\n", "total-jobs"), "2");
    assert_string_equal(ask(t, "stats\n", "max-job-size"), "1024");
    assert_string_equal(ask(t, "stats\n", "version"), "\"1.13\"");
    assert_string_equal(ask(t, "stats\n", "draining"), "false");
    hang_up(t);
    hang_up(other);
}

/* As beanstalkd does: a put if its numbers are right, whatever stands behind them; a pause,
 * whatever its tube's name. */
static void counts_as_beanstalkd_does(void **state)
{
    struct talker *t = dial(*state), *other = dial(*state);

    talk(t, "put 0 0 x 1\n", "BAD_FORMAT\n");
    assert_string_equal(ask(other, "stats\n", "cmd-put"), "0");
    talk(t, "pause-tube -a 0\npause-tube a 0 x\n", "BAD_FORMAT\nBAD_FORMAT\n");
    assert_string_equal(ask(other, "stats\n", "cmd-pause-tube"), "1");
    talk(t, "put 0 0 1 1x\nput 0 0 1 2 3\n", "BAD_FORMAT\nBAD_FORMAT\n");
    assert_string_equal(ask(other, "stats\n", "cmd-put"), "2");
    assert_string_equal(ask(other, "stats\n", "current-producers"), "0");
    tell(t, "put 0 0 1 5\nbo");
    hear_nothing(t);
    assert_string_equal(ask(other, "stats\n", "current-producers"), "1");
    hang_up(t);
    hang_up(other);
}

/* ---- what is wrong ---- */

static void refuses_what_is_wrong_and_goes_on(void **state)
{
    struct talker *t = dial(*state);

    talk(t, "nonsense\nstats now\n", "UNKNOWN_COMMAND\nBAD_FORMAT\n");
    talk(t, "put 0 0 1 x\n", "BAD_FORMAT\n");
    talk(t, "put 0 0 10 3\nabcd\nlist-tube-used\n", "EXPECTED_CRLF\nUNKNOWN_COMMAND\n");
    talk(t, "peek -1\nwatch -a\n", "BAD_FORMAT\nBAD_FORMAT\n");
    talk(t, "list-tube-used\n", "USING default\n");
    hang_up(t);
}

static void swallows_a_body_that_is_too_big(void **state)
{
    struct talker *t = dial(*state);
    char body[BODY_MAX + 2];

    memset(body, 'x', BODY_MAX + 1);
    body[BODY_MAX + 1] = '\0';
    tell(t, "put 0 0 10 1025\n");
    tell(t, body);
    hear_nothing(t);
    talk(t, "\nlist-tube-used\n", "JOB_TOO_BIG\nUSING default\n");
    hang_up(t);
}

static void drops_a_line_that_is_too_long(void **state)
{
    struct talker *t = dial(*state);
    char line[500];

    memset(line, 'x', sizeof(line) - 1);
    line[sizeof(line) - 1] = '\0';
    tell(t, line);
    hear_nothing(t);
    talk(t, "\nlist-tube-used\n", "BAD_FORMAT\nUSING default\n");
    hang_up(t);
}

static void watches_as_many_tubes_as_it_can(void **state)
{
    struct talker *t = dial(*state);
    char line[32], reply[32];

    for (int i = 2; i <= 64; i++) {
        snprintf(line, sizeof(line), "watch t%d\n", i);
        snprintf(reply, sizeof(reply), "WATCHING %d\n", i);
        talk(t, line, reply);
    }
    talk(t, "watch t65\nwatch t64\n", "OUT_OF_MEMORY\nWATCHING 64\n");
    talk(t, "reserve-with-timeout 0\n", "TIMED_OUT\n");
    hang_up(t);
}

static void drains(void **state)
{
    struct fixture *f = *state;
    struct talker *t = dial(f);

    talk(t, "put 0 0 10 1\na\n", "INSERTED $1\n");
    f->port->ops->drain(f->port);
    talk(t, "put 0 0 10 1\na\nput 0 0 10 9999\n", "DRAINING\n");
    for (int i = 0; i < 100; i++)
        tell(t,
             "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
             "xxxxxxxxxxxxxxxxxxx");
    talk(t, "x\n", ""); /* 9,901 bytes of 9,999 */
    talk(
        t,
        "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
        "xxxxxxxxxx\n",
        "JOB_TOO_BIG\n");
    assert_string_equal(ask(t, "stats\n", "draining"), "true");
    talk(t, "reserve\ndelete $1\n", "RESERVED $1 1\na\nDELETED\n");
    hang_up(t);
}

static void ends_a_connection_that_quits(void **state)
{
    struct talker *t = dial(*state);

    talk(t, "put 0 0 10 1\na\nquit\n", "INSERTED $1\n");
    hear_end(t);
    hang_up(t);
}

/* The release goes before the end can be seen, so a pop behind that finds the job. */
static void whoever_sees_the_end_of_a_connection_can_have_its_jobs(void **state)
{
    struct talker *t, *other = dial(*state);

    talk(other, "put 0 0 10 1\na\n", "INSERTED $1\n");
    for (int i = 0; i < 3; i++) {
        t = dial(*state);
        talk(t, "reserve\n", "RESERVED $1 1\na\n");
        if (i == 0)
            tell(t, "quit\n");
        else
            shutdown(t->c.fd, SHUT_WR);
        if (i < 2)
            hear_end(t);
        hang_up(t);
        talk(other, "reserve-with-timeout 0\nrelease $1 0 0\n", "RESERVED $1 1\na\nRELEASED\n");
    }
    hang_up(other);
}

/* The client sees the end before the node knows that the client has the reply. */
static void a_quit_behind_a_reserve_gives_back_what_that_brings(void **state)
{
    struct talker *t = dial(*state), *other = dial(*state);
    int later = 0;

    assert_int_equal(setsockopt(t->c.fd, IPPROTO_TCP, TCP_QUICKACK, &later, sizeof(later)), 0);
    tell(t, "reserve\nquit\n");
    talk(other, "put 0 0 10 1\na\n", "INSERTED $1\n");
    hear(t, "RESERVED $1 1\na\n");
    hear_end(t);
    talk(other, "reserve-with-timeout 0\n", "RESERVED $1 1\na\n");
    hang_up(t);
    hang_up(other);
}

/* ---- the store ---- */

static void a_stop_ends_waiting_connections_without_a_word(void **state)
{
    struct fixture *f = *state;
    struct talker *t = dial(f);

    tell(t, "reserve\n");
    AWAIT(f, queue_stats(f->queue)->waiting == 1);
    fixture_stop_port(f);
    hear_end(t);
    hang_up(t);
}

static void what_is_refused_is_told_and_what_may_have_happened_ends_the_connection(void **state)
{
    struct fixture *f = *state;
    struct talker *t = dial(f), *other = dial(f);

    memory_store_fail(f->ms, 1, STATUS_UNAVAILABLE, MEMORY_UNDONE);
    talk(t, "put 0 0 10 1\na\n", "INTERNAL_ERROR\n");
    memory_store_fail(f->ms, 1, STATUS_TOPIC_FULL, MEMORY_UNDONE);
    talk(t, "put 0 0 10 1\na\n", "OUT_OF_MEMORY\n");
    memory_store_fail(f->ms, 1, STATUS_UNKNOWN, MEMORY_DONE);
    tell(t, "put 0 0 10 1\na\nlist-tube-used\n");
    hear_end(t);
    memory_store_fail(f->ms, 1, STATUS_NOT_REPLICATED, MEMORY_DONE);
    tell(other, "put 0 0 10 1\nb\n");
    hear_end(other);
    hang_up(t);
    hang_up(other);
    t = dial(f);
    talk(t, "reserve\nreserve\n", "RESERVED $1 1\na\nRESERVED $2 1\nb\n");
    hang_up(t);
}

static void a_job_is_given_back_although_the_store_does_not_answer_at_first(void **state)
{
    struct fixture *f = *state;
    struct talker *t = dial(f), *other = dial(f);

    talk(t, "put 0 0 100 1\na\nreserve\n", "INSERTED $1\nRESERVED $1 1\na\n");
    AWAIT(f, queue_stats(f->queue)->unconfirmed == 0);
    memory_store_fail(f->ms, 2, STATUS_UNAVAILABLE, MEMORY_UNDONE);
    hang_up(t);
    AWAIT(f, f->port->stats.connections == 1);
    fixture_pass(f, 2000);
    talk(other, "reserve-with-timeout 0\n", "RESERVED $1 1\na\n");
    hang_up(other);
}

static void jobs_of_other_dialects_have_numbers(void **state)
{
    struct fixture *f = *state;
    struct talker *t = dial(f);
    struct op push = {.verb = OP_PUSH,
                      .topic = BYTES("default"),
                      .id = BYTES("order-7"),
                      .in.push = {.body = BYTES("b"), .ttr_ms = 5000}};

    push_and_await(f, &push);
    talk(t, "reserve\n", "RESERVED $1 1\nb\n");
    assert_true(f->ids[1] >= UINT64_C(1) << 52 && f->ids[1] < UINT64_C(1) << 53);
    talk(t, "release $1 0 0\npeek $1\n", "RELEASED\nFOUND $1 1\nb\n");
    talk(t, "delete $1\n", "DELETED\n");
    hang_up(t);
}

/* ---- who may do what ---- */

static void know(struct access *access, const char *lines)
{
    struct buf why = BUF_INIT;

    assert_int_equal(access_take(access, bytes_of_text(lines), &why), STATUS_OK);
    buf_fini(&why);
}

static void become(struct fixture *f, struct access *access, const char *as)
{
    f->options.access = access;
    f->options.as = as;
    beanstalkd_reload(f->port, &f->options);
}

static void clients_act_as_the_ports_identity(void **state)
{
    struct fixture *f = *state;
    struct access *access = access_new();
    struct talker *t = dial(f);

    know(access, "pusher produce\nworker consume topics=default,a\nlooker inspect\n");
    become(f, access, "");
    talk(t, "put 0 0 10 1\na\nstats\nuse b\n", "FORBIDDEN\nFORBIDDEN\nUSING b\n");
    become(f, access, "pusher");
    talk(t, "put 0 0 10 1\nb\nuse a\nput 0 0 10 1\na\n", "INSERTED $1\nUSING a\nINSERTED $2\n");
    talk(t, "reserve\nkick 1\nlist-tubes\n", "FORBIDDEN\nFORBIDDEN\nFORBIDDEN\n");
    become(f, access, "worker");
    talk(t, "put 0 0 10 1\na\nwatch b\nreserve-with-timeout 0\n",
         "FORBIDDEN\nWATCHING 2\nTIMED_OUT\n"); /* b is not its own */
    talk(t, "peek $1\ndelete $1\nwatch a\nreserve\n",
         "NOT_FOUND\nNOT_FOUND\nWATCHING 3\nRESERVED $2 1\na\n");
    talk(t, "ignore a\nignore default\nreserve\n", "WATCHING 2\nWATCHING 1\nFORBIDDEN\n");
    become(f, access, "looker");
    assert_string_equal(ask(t, "stats\n", "current-jobs-ready"), "1");
    become(f, NULL, "");
    hang_up(t);
    access_free(access);
}

static void a_wait_ends_with_its_identity(void **state)
{
    struct fixture *f = *state;
    struct access *access = access_new();
    struct talker *t = dial(f);

    know(access, "worker consume\n");
    become(f, access, "worker");
    tell(t, "reserve\n");
    AWAIT(f, queue_stats(f->queue)->waiting == 1);
    know(access, "other consume\n");
    port_recheck(f->port);
    hear(t, "FORBIDDEN\n");
    become(f, NULL, "");
    hang_up(t);
    access_free(access);
}

static void a_topic_that_an_identity_lost_is_lost_with_what_it_holds(void **state)
{
    struct fixture *f = *state;
    struct access *access = access_new();
    struct talker *t = dial(f);

    know(access, "both produce,consume\n");
    become(f, access, "both");
    talk(t, "put 0 0 60 1\na\nreserve\n", "INSERTED $1\nRESERVED $1 1\na\n");
    know(access, "both produce,consume topics=other\n");
    talk(t, "peek $1\nstats-job $1\ntouch $1\n", "NOT_FOUND\nNOT_FOUND\nNOT_FOUND\n");
    talk(t, "release $1 0 0\nbury $1 0\ndelete $1\n", "NOT_FOUND\nNOT_FOUND\nNOT_FOUND\n");
    know(access, "both produce,consume\n");
    talk(t, "delete $1\n", "DELETED\n");
    become(f, NULL, "");
    hang_up(t);
    access_free(access);
}

/* While its id is looked for. */
static void an_identity_that_goes_meanwhile_deletes_nothing(void **state)
{
    struct fixture *f = *state;
    struct access *access = access_new();
    struct talker *t = dial(f);

    know(access, "both produce,consume\n");
    become(f, access, "both");
    talk(t, "put 0 0 60 1\na\n", "INSERTED $1\n");
    memory_store_hold(f->ms);
    tell(t, "delete $1\n");
    AWAIT(f, queue_stats(f->queue)->in_flight > 0);
    know(access, "other produce\n");
    memory_store_unhold(f->ms);
    hear(t, "FORBIDDEN\n");
    become(f, NULL, "");
    talk(t, "peek $1\n", "FOUND $1 1\na\n");
    hang_up(t);
    access_free(access);
}

/* limits.idle: of the two clients only one is silent without a job in its hands. */
static void a_worker_that_works_is_not_idle(void **state)
{
    struct fixture *f = *state;
    struct talker *silent, *worker;

    f->options.limits.idle_ms = 1000;
    beanstalkd_reload(f->port, &f->options);
    silent = dial(f);
    worker = dial(f);
    talk(worker, "put 0 0 600 1\na\nreserve\n", "INSERTED $1\nRESERVED $1 1\na\n");
    talk(silent, "list-tube-used\n", "USING default\n");
    fixture_pass(f, 1500);
    hear_end(silent);
    fixture_pass(f, 5000);
    talk(worker, "delete $1\n", "DELETED\n");
    fixture_pass(f, 1500);
    hear_end(worker);
    hang_up(silent);
    hang_up(worker);
}

static void over_the_rate_of_its_identity_it_is_read_later(void **state)
{
    struct fixture *f = *state;
    struct access *access = access_new();
    struct talker *t = dial(f);

    know(access, "all all rate=2\n");
    become(f, access, "all");
    talk(t, "list-tube-used\nlist-tube-used\n", "USING default\nUSING default\n");
    tell(t, "list-tube-used\n");
    fixture_pass(f, 400);
    hear_nothing(t);
    fixture_pass(f, 200);
    hear(t, "USING default\n");
    become(f, NULL, "");
    hang_up(t);
    access_free(access);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_up, fixture_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(puts_reserves_and_deletes),
        TEST(takes_any_body),
        TEST(serves_by_priority_and_then_by_age),
        TEST(serves_several_tubes_in_one_order),
        TEST(a_delayed_job_is_ready_when_it_is_due),
        TEST(buries_and_kicks),
        TEST(kicks_one),
        TEST(reserves_by_id),
        TEST(anybody_deletes_what_nobody_has),
        TEST(the_end_of_a_connection_gives_its_jobs_back),
        TEST(a_job_whose_time_is_over_is_ready_again),
        TEST(what_has_timed_out_is_deleted_as_anybodys),
        TEST(says_that_a_deadline_is_near),
        TEST(touch_begins_the_time_anew),
        TEST(a_waiting_reserve_holds_up_what_is_behind),
        TEST(a_client_that_has_ended_its_side_waits_no_longer),
        TEST(uses_and_watches_tubes),
        TEST(a_tube_is_there_while_it_is_used_or_has_a_job),
        TEST(a_paused_tube_gives_nothing),
        TEST(tells_of_a_job),
        TEST(tells_of_itself),
        TEST(counts_as_beanstalkd_does),
        TEST(refuses_what_is_wrong_and_goes_on),
        TEST(swallows_a_body_that_is_too_big),
        TEST(drops_a_line_that_is_too_long),
        TEST(watches_as_many_tubes_as_it_can),
        TEST(drains),
        TEST(ends_a_connection_that_quits),
        TEST(whoever_sees_the_end_of_a_connection_can_have_its_jobs),
        TEST(a_quit_behind_a_reserve_gives_back_what_that_brings),
        TEST(a_stop_ends_waiting_connections_without_a_word),
        TEST(what_is_refused_is_told_and_what_may_have_happened_ends_the_connection),
        TEST(a_job_is_given_back_although_the_store_does_not_answer_at_first),
        TEST(jobs_of_other_dialects_have_numbers),
        TEST(clients_act_as_the_ports_identity),
        TEST(a_wait_ends_with_its_identity),
        TEST(a_topic_that_an_identity_lost_is_lost_with_what_it_holds),
        TEST(an_identity_that_goes_meanwhile_deletes_nothing),
        TEST(a_worker_that_works_is_not_idle),
        TEST(over_the_rate_of_its_identity_it_is_read_later),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
