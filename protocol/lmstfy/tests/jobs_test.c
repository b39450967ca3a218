/* What producers and consumers ask, and what they get: each row of the API, and wrong input. */
#include "base/tests/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/lmstfy/tests/fixture.h"

#define NONE      "{\"msg\":\"no job available\"}"
#define NOT_FOUND "{\"error\":\"job not found\"}"

/* ---- publish ---- */

static void a_published_job_has_a_ulid(void **state)
{
    struct fixture *f = *state;
    const char *reply = request(f, "PUT /api/ns/q?delay=0&ttl=10&tries=3", "hello");
    char expected[128];

    snprintf(expected, sizeof(expected), "{\"job_id\":\"%s\",\"msg\":\"published\"}",
             member_of(reply, "job_id"));
    assert_reply(reply, 201, expected);
    assert_int_equal(strlen(member_of(reply, "job_id")), 26);
    assert_has(reply, "\r\nX-Request-Id: ");
    assert_has(reply, "\r\nContent-Type: application/json");
}

static void a_body_may_be_empty_or_any_bytes(void **state)
{
    struct fixture *f = *state;

    assert_starts(request(f, "PUT /api/ns/q", NULL), "HTTP/1.1 201 ");
    assert_has(request(f, "GET /api/ns/q", NULL), "\"data\":\"\"");
    assert_starts(request(f, "PUT /api/ns/q", "\xff\x01{"), "HTTP/1.1 201 ");
    assert_has(request(f, "GET /api/ns/q", NULL), "\"data\":\"/wF7\"");
}

static void what_is_wrong_with_a_publish_is_told(void **state)
{
    static const struct {
        const char *line, *error;
    } rows[] = {
        {"PUT /api/ns/q?delay=-1", "invalid delay"},
        {"PUT /api/ns/q?delay=", "invalid delay"},
        {"PUT /api/ns/q?delay=4294967296", "invalid delay"},
        {"PUT /api/ns/q?ttl=1h", "invalid ttl"},
        {"PUT /api/ns/q?tries=70000", "invalid tries"},
        {"PUT /api/ns/q?tries=0", "tries shouldn't be zero"},
        {"PUT /api/ns/q?delay=20&ttl=10", "ttl is shorter than delay"},
        {"PUT /api/ns/q?delay=10&ttl=10", "ttl is shorter than delay"},
        {"PUT /api/n.s/q", "namespace name contains forbidden characters"},
        {"PUT /api/ns/_q", "queue name contains forbidden characters"},
        {"PUT /api/ns/a,b", "queue name contains forbidden characters"},
        {"PUT /api/ns/a%2Fb", "queue name contains forbidden characters"},
        {"PUT /api/-ns/q", "namespace name begins with '-'"},
    };
    struct fixture *f = *state;
    char json[128];

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        snprintf(json, sizeof(json), "{\"error\":\"%s\"}", rows[i].error);
        assert_reply(request(f, rows[i].line, "x"), 400, json);
    }
    assert_int_equal(memory_store_count(f->ms, OP_PUSH), 0);
}

static void names_that_are_too_long_are_told(void **state)
{
    struct fixture *f = *state;
    char line[400], name[257];

    memset(name, 'q', sizeof(name));
    snprintf(line, sizeof(line), "PUT /api/ns/%.197s", name);
    assert_starts(request(f, line, "x"), "HTTP/1.1 201 ");
    snprintf(line, sizeof(line), "PUT /api/ns/%.198s", name);
    assert_reply(
        request(f, line, "x"), 400,
        "{\"error\":\"namespace and queue name together have more than 199 characters\"}");
    snprintf(line, sizeof(line), "PUT /api/ns/%.256s", name);
    assert_reply(request(f, line, "x"), 400,
                 "{\"error\":\"namespace or queue name too long\"}");
}

static void unknown_options_mean_nothing_and_escapes_are_resolved(void **state)
{
    struct fixture *f = *state;

    assert_starts(request(f, "PUT /api/n%73/q%5F1?priority=3&tries=%32&x", "x"),
                  "HTTP/1.1 201 ");
    assert_has(request(f, "GET /api/ns/q_1", NULL), "\"remain_tries\":1,");
}

static void a_job_that_is_too_large_is_told(void **state)
{
    struct fixture *f = *state;
    char *body = malloc(JOB_BODY_MAX + 2);

    memset(body, 'x', JOB_BODY_MAX + 1);
    body[JOB_BODY_MAX + 1] = '\0';
    assert_reply(request(f, "PUT /api/ns/q", body), 413, "{\"error\":\"body too large\"}");
    body[JOB_BODY_MAX] = '\0';
    assert_starts(request(f, "PUT /api/ns/q", body), "HTTP/1.1 201 ");
    free(body);
}

static void attributes_come_back_with_the_job(void **state)
{
    static const char headers[] = "Job-Attr-Trace-ID: 4f\r\njob-attr-Tenant: acme \r\n";
    static const char expected[] =
        "{\"attributes\":{\"trace-id\":\"4f\",\"tenant\":\"acme\"},\"data\":\"MQ==\"";
    struct fixture *f = *state;

    assert_starts(request_with(f, "PUT /api/ns/q", headers, "1"), "HTTP/1.1 201 ");
    assert_starts(request_with(f, "PUT /api/ns/b/bulk", headers, "[1,2]"), "HTTP/1.1 201 ");
    assert_has(request(f, "GET /api/ns/q/peek", NULL), expected);
    assert_has(request(f, "GET /api/ns/q", NULL), expected);
    assert_has(request(f, "GET /api/ns/b", NULL), expected);
    assert_reply(request_with(f, "PUT /api/ns/q",
                              "Job-Attr-abcdefghijklmnopqrstuvwxyz0123456:"
                              "\r\n",
                              "1"),
                 400, "{\"error\":\"the name of an attribute has more than 32 bytes\"}");
}

/* ---- bulk ---- */

static void a_bulk_is_stored_as_its_raw_json(void **state)
{
    struct fixture *f = *state;
    const char *reply = request(f, "PUT /api/ns/q/bulk?tries=2", " [ {\"a\": 1}, \"b\" ] ");

    assert_starts(reply, "HTTP/1.1 201 ");
    assert_has(reply, "\r\n\r\n{\"job_ids\":[\"");
    assert_has(reply, "\"],\"msg\":\"published\"}");
    reply = request(f, "GET /api/ns/q", NULL);
    assert_string_equal(member_of(reply, "data"), "eyJhIjogMX0=");
    assert_string_equal(member_of(reply, "remain_tries"), "1");
    assert_string_equal(member_of(request(f, "GET /api/ns/q", NULL), "data"), "ImIi");
}

static void what_is_wrong_with_a_bulk_is_told(void **state)
{
    static const char no_list[] = "{\"error\":\"request body should be an array of objects\"}";
    struct fixture *f = *state;
    struct buf many = BUF_INIT;

    assert_reply(request(f, "PUT /api/ns/q/bulk", "{}"), 400, no_list);
    assert_reply(request(f, "PUT /api/ns/q/bulk", NULL), 400, no_list);
    assert_reply(request(f, "PUT /api/ns/q/bulk", "[1"), 400, no_list);
    assert_reply(request(f, "PUT /api/ns/q/bulk", "[]"), 400, "{\"error\":\"no jobs\"}");
    assert_reply(request(f, "PUT /api/ns/q/bulk?delay=x", "[1]"), 400,
                 "{\"error\":\"invalid delay\"}");
    buf_add_text(&many, "[0");
    for (unsigned i = 0; i < 64; i++)
        buf_add_text(&many, ",0");
    buf_add_text(&many, "]");
    assert_reply(request(f, "PUT /api/ns/q/bulk", buf_text(&many)), 400,
                 "{\"error\":\"too many jobs\"}");
    assert_int_equal(memory_store_count(f->ms, OP_PUSH), 0);
    buf_fini(&many);
}

static void a_bulk_that_fails_says_how_many_are_there(void **state)
{
    struct fixture *f = *state;
    const char *reply;

    memory_store_fail(f->ms, 1, STATUS_UNAVAILABLE, MEMORY_UNDONE);
    reply = request(f, "PUT /api/ns/q/bulk", "[1,2,3]");
    assert_starts(reply, "HTTP/1.1 503 ");
    assert_has(reply, "{\"error\":\"2 of 3 jobs are published; of the others: the store is ");
    assert_reply(request(f, "GET /api/ns/q/size", NULL), 200,
                 "{\"namespace\":\"ns\",\"queue\":\"q\",\"size\":2}");
}

static void a_bulk_of_which_some_may_be_there_says_unknown(void **state)
{
    struct fixture *f = *state;
    struct buf bulk = BUF_INIT;
    const char *reply;

    buf_printf(&bulk, "[\"%0*d\",2]", JOB_BODY_MAX, 0);
    memory_store_fail(f->ms, 1, STATUS_UNKNOWN, MEMORY_UNDONE);
    reply = request(f, "PUT /api/ns/q/bulk", buf_text(&bulk));
    assert_starts(reply, "HTTP/1.1 504 ");
    assert_has(reply,
               "{\"error\":\"0 of 2 jobs are published; of the others: the store did not");
    buf_fini(&bulk);
}

/* ---- consume ---- */

static void a_consumer_gets_all_of_a_job(void **state)
{
    struct fixture *f = *state;
    char id[32], expected[400];
    const char *reply;

    snprintf(id, sizeof(id), "%s", publish(f, "/api/ns/q?ttl=10&tries=3"));
    reply = request(f, "GET /api/ns/q?ttr=5", NULL);
    snprintf(expected, sizeof(expected),
             "{\"attributes\":null,\"data\":\"Ym9keQ==\",\"elapsed_ms\":%s,\"job_id\":\"%s\","
             "\"msg\":\"new job\",\"namespace\":\"ns\",\"queue\":\"q\",\"remain_tries\":2,"
             "\"ttl\":10}",
             member_of(reply, "elapsed_ms"), id);
    assert_reply(reply, 200, expected);
    assert_reply(request(f, "GET /api/ns/q?ttr=5", NULL), 404, NONE);
}

static void a_job_for_ever_has_no_ttl(void **state)
{
    struct fixture *f = *state;

    publish(f, "/api/ns/q?ttl=0");
    assert_has(request(f, "GET /api/ns/q", NULL), "\"remain_tries\":0,\"ttl\":0}");
}

static void what_is_wrong_with_a_consume_is_told(void **state)
{
    static const struct {
        const char *line, *error;
    } rows[] = {
        {"GET /api/ns/q?ttr=x", "invalid ttr"},
        {"GET /api/ns/q?timeout=-1", "invalid timeout"},
        {"GET /api/ns/q?count=0", "invalid count"},
        {"GET /api/ns/q?count=101", "invalid count"},
        {"GET /api/ns/q?freeze_tries=2", "invalid freeze_tries value"},
        {"GET /api/ns/q?freeze_tries=true",
         "freeze_tries is not supported: publish with more tries"},
        {"GET /api/n,s/q", "namespace name contains forbidden characters"},
        {"GET /api/ns/q.r", "queue name contains forbidden characters"},
        {"GET /api/ns/,", "invalid queue name(s)"},
    };
    struct fixture *f = *state;
    char json[128];

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        snprintf(json, sizeof(json), "{\"error\":\"%s\"}", rows[i].error);
        assert_reply(request(f, rows[i].line, NULL), 400, json);
    }
}

static void queues_are_asked_in_their_order(void **state)
{
    struct fixture *f = *state;

    publish(f, "/api/ns/low");
    publish(f, "/api/ns/high");
    publish(f, "/api/other/high");
    assert_string_equal(member_of(request(f, "GET /api/ns/high,,low", NULL), "queue"), "high");
    assert_string_equal(member_of(request(f, "GET /api/ns/high,low", NULL), "queue"), "low");
    assert_reply(request(f, "GET /api/ns/high,low", NULL), 404, NONE);
}

static void assert_jobs(const char *reply, unsigned expected)
{
    unsigned found = 0;

    for (const char *at = reply; (at = strstr(at, "\"msg\":\"new job\"")); at++)
        found++;
    assert_int_equal(found, expected);
}

static void several_jobs_are_a_list_with_all_that_were_asked_for(void **state)
{
    struct fixture *f = *state;
    const char *reply;

    for (unsigned i = 0; i < 130; i++)
        publish(f, "/api/ns/q");
    reply = request(f, "GET /api/ns/q?count=3", NULL);
    assert_has(reply, "\r\n\r\n[{\"attributes\":null,");
    assert_has(reply, "},{\"attributes\":null,");
    assert_has(reply, "\"ttl\":86400}]");
    assert_jobs(reply, 3);
    assert_jobs(request(f, "GET /api/ns/q?count=100", NULL), 100);
    assert_jobs(request(f, "GET /api/ns/q?count=100", NULL), 27);
    AWAIT(f, queue_stats(f->queue)->unconfirmed == 0);
    assert_int_equal(queue_stats(f->queue)->popped_jobs, 130);
    assert_reply(request(f, "GET /api/ns/q?count=2", NULL), 404, NONE);
}

/* The first pop is answered, the second one is on its way. */
static void a_consumer_of_many_that_leaves_costs_no_try(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);

    for (unsigned i = 0; i < 100; i++)
        publish(f, "/api/ns/q?tries=1");
    memory_store_hold(f->ms);
    say(&c, "GET /api/ns/q?count=100 HTTP/1.1\r\nHost: h\r\n\r\n");
    AWAIT(f, memory_store_count(f->ms, OP_POP) == 1);
    memory_store_release(f->ms, 1);
    AWAIT(f, memory_store_count(f->ms, OP_POP) == 2);
    reset(&c);
    fixture_pass(f, 100);
    memory_store_unhold(f->ms);
    AWAIT(f, queue_stats(f->queue)->returned_jobs == 100);
    assert_jobs(request(f, "GET /api/ns/q?count=100", NULL), 100);
}

static void a_reply_without_a_body_takes_no_job(void **state)
{
    struct fixture *f = *state;

    publish(f, "/api/ns/q?tries=1");
    assert_starts(request(f, "HEAD /api/ns/q", NULL), "HTTP/1.1 404 ");
    assert_has(request(f, "GET /api/ns/q", NULL), "\"remain_tries\":0,");
}

/* Also one that takes more than one pop. */
static void a_list_is_of_one_queue(void **state)
{
    struct fixture *f = *state;

    for (unsigned i = 0; i < OP_ITEMS_MAX; i++)
        publish(f, "/api/ns/first");
    publish(f, "/api/ns/second");
    assert_jobs(request(f, "GET /api/ns/none,first,second?count=100", NULL), OP_ITEMS_MAX);
    assert_jobs(request(f, "GET /api/ns/none,first,second?count=100", NULL), 1);
}

static void a_list_of_one_is_a_list(void **state)
{
    struct fixture *f = *state;

    publish(f, "/api/ns/q");
    assert_has(request(f, "GET /api/ns/q?count=2", NULL), "\r\n\r\n[{\"attributes\":null,");
}

static uint64_t waiting(struct fixture *f)
{
    return queue_stats(f->queue)->waiting;
}

static void a_consumer_waits_as_long_as_it_wants_and_no_longer(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);

    say(&c, "GET /api/ns/q,r?timeout=3 HTTP/1.1\r\nHost: h\r\n\r\n");
    AWAIT(f, waiting(f) == 1);
    fixture_pass(f, 2900);
    assert_int_equal(waiting(f), 1);
    fixture_pass(f, 200);
    assert_reply(receive(&c), 404, NONE);
    say(&c, "GET /api/ns/q,r?timeout=4294967295 HTTP/1.1\r\nHost: h\r\n\r\n");
    AWAIT(f, waiting(f) == 1);
    publish(f, "/api/ns/r");
    assert_string_equal(member_of(receive(&c), "queue"), "r");
    leave(&c);
}

static void a_consumer_that_leaves_costs_no_try(void **state)
{
    struct fixture *f = *state;
    struct client c = connect_client(f);

    say(&c, "GET /api/ns/q?timeout=60 HTTP/1.1\r\nHost: h\r\n\r\n");
    AWAIT(f, waiting(f) == 1);
    reset(&c);
    AWAIT(f, waiting(f) == 0);
    publish(f, "/api/ns/q?tries=1");
    assert_has(request(f, "GET /api/ns/q", NULL), "\"remain_tries\":0,");
}

/* ---- the TTR, tries and dead letters ---- */

static void the_consumer_chooses_the_ttr_and_tries_end_in_dead_letters(void **state)
{
    struct fixture *f = *state;
    char id[32], expected[160];

    snprintf(id, sizeof(id), "%s", publish(f, "/api/ns/q?tries=2"));
    assert_has(request(f, "GET /api/ns/q?ttr=1", NULL), "\"remain_tries\":1,");
    fixture_pass(f, 900);
    assert_reply(request(f, "GET /api/ns/q", NULL), 404, NONE);
    fixture_pass(f, 1200);
    assert_has(request(f, "GET /api/ns/q?ttr=1", NULL), "\"remain_tries\":0,");
    assert_reply(request(f, "GET /api/ns/q/deadletter", NULL), 200,
                 "{\"deadletter_head\":\"\",\"deadletter_size\":0,\"namespace\":\"ns\","
                 "\"queue\":\"q\"}");
    fixture_pass(f, 2100);
    snprintf(expected, sizeof(expected),
             "{\"deadletter_head\":\"%s\",\"deadletter_size\":1,\"namespace\":\"ns\","
             "\"queue\":\"q\"}",
             id);
    assert_reply(request(f, "GET /api/ns/q/deadletter", NULL), 200, expected);
    assert_reply(request(f, "GET /api/ns/q/deadletter/size", NULL), 200,
                 "{\"namespace\":\"ns\",\"queue\":\"q\",\"size\":1}");
    assert_nothing(request(f, "DELETE /api/ns/q/deadletter", NULL));
    assert_reply(request(f, "GET /api/ns/q/deadletter/size", NULL), 200,
                 "{\"namespace\":\"ns\",\"queue\":\"q\",\"size\":0}");
}

static void make_three_dead(struct fixture *f)
{
    for (unsigned i = 0; i < 3; i++)
        publish(f, "/api/ns/q");
    for (unsigned i = 0; i < 3; i++)
        assert_has(request(f, "GET /api/ns/q?ttr=1", NULL), "new job");
    fixture_pass(f, 2500);
    assert_has(request(f, "GET /api/ns/q/deadletter/size", NULL), "\"size\":3}");
}

static void dead_letters_go_one_by_one_or_many(void **state)
{
    struct fixture *f = *state;

    make_three_dead(f);
    assert_nothing(request(f, "DELETE /api/ns/q/deadletter", NULL));
    assert_string_equal(member_of(request(f, "GET /api/ns/q/deadletter/size", NULL), "size"),
                        "2");
    assert_nothing(request(f, "DELETE /api/ns/q/deadletter?limit=9223372036854775807", NULL));
    assert_string_equal(member_of(request(f, "GET /api/ns/q/deadletter/size", NULL), "size"),
                        "0");
}

/* One try more, under the same id. */
static void dead_letters_come_back(void **state)
{
    struct fixture *f = *state;
    char head[32];
    const char *reply;

    make_three_dead(f);
    snprintf(head, sizeof(head), "%s",
             member_of(request(f, "GET /api/ns/q/deadletter", NULL), "deadletter_head"));
    assert_reply(request(f, "PUT /api/ns/q/deadletter", NULL), 200,
                 "{\"count\":1,\"msg\":\"respawned\"}");
    reply = request(f, "GET /api/ns/q?ttr=1", NULL);
    assert_has(reply, head);
    assert_has(reply, "\"remain_tries\":0,\"ttl\":86400}");
    fixture_pass(f, 2500);
    assert_has(request(f, "GET /api/ns/q/deadletter/size", NULL), "\"size\":3}");
    assert_reply(request(f, "PUT /api/ns/q/deadletter?limit=10&ttl=10", NULL), 200,
                 "{\"count\":3,\"msg\":\"respawned\"}");
    assert_has(request(f, "GET /api/ns/q", NULL), "\"ttl\":10}");
    assert_reply(request(f, "PUT /api/ns/q/deadletter?limit=10&ttl=0", NULL), 200,
                 "{\"count\":0,\"msg\":\"respawned\"}");
    fixture_pass(f, 10500);
    assert_has(request(f, "GET /api/ns/q/deadletter/size", NULL), "\"size\":3}");
}

/* Of one that may never end, too. */
static void a_dead_letter_may_come_back_for_ever(void **state)
{
    struct fixture *f = *state;

    make_three_dead(f);
    assert_has(request(f, "PUT /api/ns/q/deadletter?limit=3&ttl=9223372036854775807", NULL),
               "\"count\":3");
    assert_has(request(f, "GET /api/ns/q", NULL), "\"ttl\":0}");
}

static void what_is_wrong_with_dead_letters_is_told(void **state)
{
    static const struct {
        const char *line, *error;
    } rows[] = {
        {"PUT /api/ns/q/deadletter?limit=0", "invalid limit"},
        {"PUT /api/ns/q/deadletter?limit=-1", "invalid limit"},
        {"PUT /api/ns/q/deadletter?limit=x", "invalid limit"},
        {"PUT /api/ns/q/deadletter?ttl=-1", "invalid ttl"},
        {"PUT /api/ns/q/deadletter?ttl=", "invalid ttl"},
        {"DELETE /api/ns/q/deadletter?limit=0", "invalid limit"},
        {"DELETE /api/ns/q/deadletter?limit=", "invalid limit"},
        {"GET /api/ns/_q/deadletter", "queue name contains forbidden characters"},
        {"GET /api/ns/_q/deadletter/size", "queue name contains forbidden characters"},
    };
    struct fixture *f = *state;
    char json[128];

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        snprintf(json, sizeof(json), "{\"error\":\"%s\"}", rows[i].error);
        assert_reply(request(f, rows[i].line, NULL), 400, json);
    }
}

/* ---- acknowledge, delete ---- */

static const char *job_path(const char *method, const char *id)
{
    static char line[400];

    snprintf(line, sizeof(line), "%s /api/ns/q/job/%s", method, id);
    return line;
}

static void an_acknowledged_job_is_gone(void **state)
{
    struct fixture *f = *state;
    char id[32];

    publish(f, "/api/ns/q");
    snprintf(id, sizeof(id), "%s", member_of(request(f, "GET /api/ns/q", NULL), "job_id"));
    assert_nothing(request(f, job_path("DELETE", id), NULL));
    assert_reply(request(f, job_path("GET", id), NULL), 404, NOT_FOUND);
    assert_nothing(request(f, job_path("DELETE", id), NULL));
    assert_int_equal(memory_store_count(f->ms, OP_CANCEL), 1); /* of the second one */
}

static void what_is_not_there_is_deleted(void **state)
{
    struct fixture *f = *state;
    char longest[300];

    assert_nothing(request(f, job_path("DELETE", "01ARZ3NDEKTSV4RRFFQ69G5FAV"), NULL));
    assert_nothing(request(f, job_path("DELETE", "%20%ff"), NULL));
    memset(longest, 'x', 201);
    longest[201] = '\0';
    assert_nothing(request(f, job_path("DELETE", longest), NULL));
    assert_reply(request(f, job_path("GET", longest), NULL), 404, NOT_FOUND);
    assert_reply(request(f, job_path("GET", "a%20b"), NULL), 404, NOT_FOUND);
    assert_reply(request(f, "DELETE /api/ns/_q/job/1", NULL), 400,
                 "{\"error\":\"queue name contains forbidden characters\"}");
}

static void a_job_that_nobody_holds_is_deleted(void **state)
{
    struct fixture *f = *state;

    assert_nothing(request(f, job_path("DELETE", publish(f, "/api/ns/q?delay=100")), NULL));
    assert_nothing(request(f, job_path("DELETE", publish(f, "/api/ns/q")), NULL));
    assert_reply(request(f, "GET /api/ns/q/peek", NULL), 404,
                 "{\"error\":\"the queue is empty\"}");
    fixture_pass(f, 101000);
    assert_reply(request(f, "GET /api/ns/q", NULL), 404, NONE);
}

static void an_id_is_of_its_queue_alone(void **state)
{
    struct fixture *f = *state;
    char line[128];

    publish(f, "/api/ns/q");
    snprintf(line, sizeof(line), "DELETE /api/ns/other/job/%s",
             member_of(request(f, "GET /api/ns/q?ttr=100", NULL), "job_id"));
    assert_nothing(request(f, line, NULL));
    assert_int_equal(memory_store_count(f->ms, OP_ACK), 0);
    assert_starts(request(f, job_path("GET", strrchr(line, '/') + 1), NULL), "HTTP/1.1 200 ");
}

/* The worker whose time is over hears what it wants to hear, and the other one's job stays. */
static void a_late_acknowledgement_leaves_the_next_workers_job_alone(void **state)
{
    struct fixture *f = *state;
    struct client late, other;
    char id[32];

    publish(f, "/api/ns/q?tries=5");
    late = connect_client(f);
    other = connect_from(f, 2);
    snprintf(id, sizeof(id), "%s",
             member_of(request_on(&late, "GET /api/ns/q?ttr=1", NULL), "job_id"));
    fixture_pass(f, 2000);
    assert_has(request_on(&other, "GET /api/ns/q?ttr=100", NULL), id);
    assert_nothing(request_on(&late, job_path("DELETE", id), NULL));
    assert_nothing(request(f, job_path("DELETE", id), NULL)); /* of the late one's machine */
    assert_starts(request(f, job_path("GET", id), NULL), "HTTP/1.1 200 ");
    leave(&late);
    assert_nothing(request_on(&other, job_path("DELETE", id), NULL));
    assert_reply(request(f, job_path("GET", id), NULL), 404, NOT_FOUND);
    leave(&other);
}

static void a_delete_that_the_store_does_not_take_is_told(void **state)
{
    struct fixture *f = *state;
    char id[32];

    publish(f, "/api/ns/q");
    snprintf(id, sizeof(id), "%s", member_of(request(f, "GET /api/ns/q", NULL), "job_id"));
    AWAIT(f, queue_stats(f->queue)->unconfirmed == 0);
    memory_store_fail(f->ms, 1, STATUS_UNKNOWN, MEMORY_UNDONE);
    assert_reply(request(f, job_path("DELETE", id), NULL), 504,
                 "{\"error\":\"the store did not answer; the operation may have happened\"}");
    assert_nothing(request(f, job_path("DELETE", id), NULL));
    assert_reply(request(f, job_path("GET", id), NULL), 404, NOT_FOUND);
}

/* ---- in the place of another ---- */

static void a_job_takes_the_place_of_the_one_that_is_done(void **state)
{
    struct fixture *f = *state;
    char id[32], fresh[32];

    publish(f, "/api/ns/q");
    snprintf(id, sizeof(id), "%s", member_of(request(f, "GET /api/ns/q", NULL), "job_id"));
    snprintf(fresh, sizeof(fresh), "%s",
             member_of(request(f, job_path("PUT", id), "next"), "job_id"));
    assert_string_not_equal(id, fresh);
    assert_reply(request(f, job_path("GET", id), NULL), 404, NOT_FOUND);
    assert_has(request(f, job_path("GET", fresh), NULL), "\"data\":\"bmV4dA==\"");
    assert_starts(request(f, job_path("PUT", "unknown"), "next"), "HTTP/1.1 201 ");
}

static void a_replacement_that_is_wrong_leaves_the_old_job(void **state)
{
    struct fixture *f = *state;
    char id[32], line[410];

    snprintf(id, sizeof(id), "%s", publish(f, "/api/ns/q"));
    snprintf(line, sizeof(line), "%s?tries=0", job_path("PUT", id));
    assert_reply(request(f, line, "x"), 400, "{\"error\":\"tries shouldn't be zero\"}");
    memory_store_fail(f->ms, 1, STATUS_UNAVAILABLE, MEMORY_UNDONE);
    assert_starts(request(f, job_path("PUT", id), "x"), "HTTP/1.1 503 ");
    assert_starts(request(f, job_path("GET", id), NULL), "HTTP/1.1 200 ");
}

static void a_replacement_that_leaves_both_says_so(void **state)
{
    struct fixture *f = *state;
    struct client c;
    char id[32];
    const char *reply;

    publish(f, "/api/ns/q");
    snprintf(id, sizeof(id), "%s", member_of(request(f, "GET /api/ns/q", NULL), "job_id"));
    AWAIT(f, queue_stats(f->queue)->unconfirmed == 0);
    c = connect_client(f);
    memory_store_hold(f->ms);
    say(&c, job_path("PUT", id));
    say(&c, " HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nx");
    AWAIT(f, memory_store_in_flight(f->ms) == 1);
    memory_store_fail(f->ms, 1, STATUS_STORE_ERROR, MEMORY_UNDONE);
    memory_store_unhold(f->ms);
    reply = receive(&c);
    assert_starts(reply, "HTTP/1.1 502 ");
    assert_has(reply, "{\"error\":\"published as 01");
    assert_has(reply, ", but the old job is not deleted: the store refused");
    leave(&c);
}

/* ---- look ---- */

static void a_look_changes_nothing(void **state)
{
    struct fixture *f = *state;
    char id[32], expected[300];
    const char *reply;

    assert_reply(request(f, "GET /api/ns/q/peek", NULL), 404,
                 "{\"error\":\"the queue is empty\"}");
    snprintf(id, sizeof(id), "%s", publish(f, "/api/ns/q?ttl=100&tries=3"));
    publish(f, "/api/ns/q");
    for (unsigned i = 0; i < 2; i++) {
        reply = request(f, i ? job_path("GET", id) : "GET /api/ns/q/peek", NULL);
        snprintf(expected, sizeof(expected),
                 "{\"attributes\":null,\"data\":\"Ym9keQ==\",\"elapsed_ms\":%s,"
                 "\"job_id\":\"%s\",\"namespace\":\"ns\",\"queue\":\"q\",\"remain_tries\":3,"
                 "\"ttl\":100}",
                 member_of(reply, "elapsed_ms"), id);
        assert_reply(reply, 200, expected);
    }
    assert_reply(request(f, "GET /api/ns/q/size", NULL), 200,
                 "{\"namespace\":\"ns\",\"queue\":\"q\",\"size\":2}");
}

static void a_delayed_job_is_seen_by_its_id_alone(void **state)
{
    struct fixture *f = *state;
    char id[32];

    snprintf(id, sizeof(id), "%s", publish(f, "/api/ns/q?delay=10"));
    assert_has(request(f, job_path("GET", id), NULL), "\"data\":\"Ym9keQ==\"");
    assert_reply(request(f, "GET /api/ns/q/peek", NULL), 404,
                 "{\"error\":\"the queue is empty\"}");
    assert_has(request(f, "GET /api/ns/q/size", NULL), "\"size\":0}");
    fixture_pass(f, 10500);
    assert_has(request(f, "GET /api/ns/q", NULL), id);
}

/* ---- the queue ---- */

static void a_destroyed_queue_has_no_ready_jobs(void **state)
{
    struct fixture *f = *state;

    publish(f, "/api/ns/q");
    publish(f, "/api/ns/q");
    publish(f, "/api/ns/q?delay=5");
    publish(f, "/api/ns/other");
    assert_nothing(request(f, "DELETE /api/ns/q", NULL));
    assert_has(request(f, "GET /api/ns/q/size", NULL), "\"size\":0}");
    assert_has(request(f, "GET /api/ns/other/size", NULL), "\"size\":1}");
    fixture_pass(f, 5500);
    assert_has(request(f, "GET /api/ns/q/size", NULL), "\"size\":1}");
}

static void what_touches_many_is_in_the_audit_log(void **state)
{
    struct fixture *f = *state;

    audit_begin(f);
    publish(f, "/api/ns/q");
    assert_nothing(request(f, "DELETE /api/n%73/q", NULL));
    assert_has(audit_lines(), "\"operation\":\"destroy\",\"role\":\"operate\","
                              "\"topic\":\"ns/q\",\"id\":null,\"body\":null,");
    assert_has(audit_lines(), "\"status\":204,\"error\":null,\"count\":1}");
    publish(f, "/api/ns/q");
    memory_store_fail(f->ms, 1, STATUS_STORE_ERROR, MEMORY_UNDONE);
    assert_code(request(f, "DELETE /api/ns/q", NULL), 502);
    assert_has(audit_lines(), "\"status\":502,\"error\":\"store_error\",\"count\":0}");
}

static int tear_down_audit(void **state)
{
    int result = fixture_down(state);

    audit_end();
    return result;
}

static void what_is_not_known_is_no_api(void **state)
{
    static const char *const lines[] = {
        "GET /",           "GET /api",           "GET /api/ns",       "POST /api/ns/q",
        "PUT /api/ns/q/x", "POST /api/ns/q/job", "GET /api/ns/q/job", "DELETE /api/ns/q/peek",
        "GET /v1/topics",  "PATCH /api/ns/q",    "GET /health/live"};
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
        assert_reply(request(f, lines[i], NULL), 404, "{\"error\":\"api not found\"}");
}

static void what_the_store_cannot_do_is_told(void **state)
{
    static const char *const lines[] = {"PUT /api/ns/q",      "GET /api/ns/q",
                                        "GET /api/ns/q/peek", "GET /api/ns/q/job/1",
                                        "GET /api/ns/q/size", "GET /api/ns/q/deadletter",
                                        "DELETE /api/ns/q",   "DELETE /api/ns/q/deadletter"};
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
        memory_store_fail(f->ms, 1, STATUS_STORE_ERROR, MEMORY_UNDONE);
        assert_reply(request(f, lines[i], NULL), 502,
                     "{\"error\":\"the store refused the operation; nothing happened\"}");
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, lmstfy_up, fixture_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_published_job_has_a_ulid),
        TEST(a_body_may_be_empty_or_any_bytes),
        TEST(what_is_wrong_with_a_publish_is_told),
        TEST(names_that_are_too_long_are_told),
        TEST(unknown_options_mean_nothing_and_escapes_are_resolved),
        TEST(a_job_that_is_too_large_is_told),
        TEST(attributes_come_back_with_the_job),
        TEST(a_bulk_is_stored_as_its_raw_json),
        TEST(what_is_wrong_with_a_bulk_is_told),
        TEST(a_bulk_that_fails_says_how_many_are_there),
        TEST(a_bulk_of_which_some_may_be_there_says_unknown),
        TEST(a_consumer_gets_all_of_a_job),
        TEST(a_job_for_ever_has_no_ttl),
        TEST(what_is_wrong_with_a_consume_is_told),
        TEST(queues_are_asked_in_their_order),
        TEST(several_jobs_are_a_list_with_all_that_were_asked_for),
        TEST(a_consumer_of_many_that_leaves_costs_no_try),
        TEST(a_reply_without_a_body_takes_no_job),
        TEST(a_list_is_of_one_queue),
        TEST(a_list_of_one_is_a_list),
        TEST(a_consumer_waits_as_long_as_it_wants_and_no_longer),
        TEST(a_consumer_that_leaves_costs_no_try),
        TEST(the_consumer_chooses_the_ttr_and_tries_end_in_dead_letters),
        TEST(dead_letters_go_one_by_one_or_many),
        TEST(dead_letters_come_back),
        TEST(a_dead_letter_may_come_back_for_ever),
        TEST(what_is_wrong_with_dead_letters_is_told),
        TEST(an_acknowledged_job_is_gone),
        TEST(what_is_not_there_is_deleted),
        TEST(a_job_that_nobody_holds_is_deleted),
        TEST(an_id_is_of_its_queue_alone),
        TEST(a_late_acknowledgement_leaves_the_next_workers_job_alone),
        TEST(a_delete_that_the_store_does_not_take_is_told),
        TEST(a_job_takes_the_place_of_the_one_that_is_done),
        TEST(a_replacement_that_is_wrong_leaves_the_old_job),
        TEST(a_replacement_that_leaves_both_says_so),
        TEST(a_look_changes_nothing),
        TEST(a_delayed_job_is_seen_by_its_id_alone),
        TEST(a_destroyed_queue_has_no_ready_jobs),
        cmocka_unit_test_setup_teardown(what_touches_many_is_in_the_audit_log, lmstfy_up,
                                        tear_down_audit),
        TEST(what_is_not_known_is_no_api),
        TEST(what_the_store_cannot_do_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
