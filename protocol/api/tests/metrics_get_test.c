#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "protocol/http/tests/server_fixture.h"

#include <stdlib.h>
#include <string.h>

#define GET_METRICS "GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n"
#define BUCKETS     4

static int set_up(void **state)
{
    struct fixture *f;

    fixture_up(state);
    f = *state;
    f->api.metrics_topics = 2;
    return 0;
}

static int set_up_with_store_held(void **state)
{
    set_up(state);
    memory_store_hold(((struct fixture *)*state)->ms);
    return 0;
}

static int tear_down_with_store_let_go(void **state)
{
    memory_store_unhold(((struct fixture *)*state)->ms);
    return fixture_down(state);
}

static void on_pushed(struct op *op)
{
    assert_int_equal(op->status, STATUS_OK);
    op->verb = OP_COUNT; /* done */
}

static void push(struct fixture *f, const char *topic, int64_t delay_ms)
{
    struct op op = {.verb = OP_PUSH, .on_done = on_pushed, .topic = bytes_of_text(topic)};

    op.in.push.delay_ms = delay_ms;
    queue_submit(f->queue, &op);
    AWAIT(f, op.verb == OP_COUNT);
}

static struct client scrape(struct fixture *f)
{
    struct client c = connect_client(f);

    say(&c, GET_METRICS);
    return c;
}

static void assert_has_no(const char *text, const char *part)
{
    if (strstr(text, part))
        fail_msg("'%s' has '%s'", text, part);
}

/* A page, but for the job families. */
static void assert_uncounted(const char *reply)
{
    assert_starts(reply, "HTTP/1.1 200 ");
    assert_has(reply, "\ndueq_operations_total{verb=\"push\",result=\"ok\"} ");
    assert_has_no(reply, "dueq_jobs{");
    assert_has_no(reply, "dueq_topics");
}

static void counts_the_jobs_of_the_store(void **state)
{
    struct fixture *f = *state;
    const char *reply;

    push(f, "orders", 1000);
    push(f, "orders", 0);
    push(f, "mails", 0);
    push(f, "mails", 0);
    push(f, "mails", 0);
    push(f, "small", 0);
    reply = ask(f, "GET /metrics HTTP/1.1\r\nHost: h\r\n" CLOSE);
    assert_has(reply, "\ndueq_jobs{topic=\"mails\",state=\"ready\"} 3\n");
    assert_has(reply, "\ndueq_jobs{topic=\"orders\",state=\"delayed\"} 1\n");
    assert_has(reply, "\ndueq_jobs{topic=\"orders\",state=\"ready\"} 1\n");
    assert_has(reply, "\ndueq_jobs{topic=\"*\",state=\"ready\"} 1\n");
    assert_has_no(reply, "small");
    assert_has(reply, "\ndueq_jobs_by_state{state=\"ready\"} 5\n");
    assert_has(reply, "\ndueq_topics 3\n");
    assert_has(reply, "\ndueq_topics_counted 3\n");
    assert_has(reply, "\ndueq_census_complete 1\n");
    assert_has(reply, "\ndueq_census_walks_total 1\n");
}

static void answers_without_jobs_while_the_store_is_down(void **state)
{
    struct fixture *f = *state;
    struct client c;

    memory_store_take_down(f->ms);
    fixture_turn(f);
    c = scrape(f);
    assert_uncounted(receive(&c));
    memory_store_bring_up(f->ms);
    fixture_turn(f);
    say(&c, GET_METRICS);
    assert_has(receive(&c), "\ndueq_topics 0\n");
    leave(&c);
}

static void the_last_census_serves_for_five_minutes(void **state)
{
    struct fixture *f = *state;
    struct client c = scrape(f);

    assert_has(receive(&c), "\ndueq_topics 0\n");
    leave(&c);
    memory_store_take_down(f->ms);
    fixture_pass(f, 290000);
    c = scrape(f);
    assert_has(receive(&c), "\ndueq_topics 0\n");
    assert_has(buf_text(&f->reply), "\ndueq_census_age_seconds 29");
    fixture_pass(f, 10001);
    say(&c, GET_METRICS);
    assert_uncounted(receive(&c));
    leave(&c);
}

static const char *scrape_without_patience(struct fixture *f)
{
    struct client c = scrape(f);

    AWAIT(f, memory_store_in_flight(f->ms) > 0);
    expect_silence(&c);
    fixture_pass(f, 1000);
    receive(&c);
    leave(&c);
    return buf_text(&f->reply);
}

static void a_census_that_comes_late_is_shown_at_the_next_scrape(void **state)
{
    struct fixture *f = *state;

    assert_uncounted(scrape_without_patience(f));
    memory_store_unhold(f->ms);
    AWAIT(f, memory_store_in_flight(f->ms) == 0);
    memory_store_hold(f->ms);
    fixture_pass(f, 240000);
    assert_has(scrape_without_patience(f), "\ndueq_census_age_seconds 241");
}

static void answers_without_jobs_when_the_store_breaks_meanwhile(void **state)
{
    struct fixture *f = *state;
    struct client c = scrape(f);

    AWAIT(f, memory_store_count(f->ms, OP_TOPICS) > 0);
    memory_store_take_down(f->ms);
    assert_uncounted(receive(&c));
    leave(&c);
}

static void answers_without_jobs_when_the_store_is_slow(void **state)
{
    struct fixture *f = *state;
    struct client c = scrape(f);

    AWAIT(f, memory_store_count(f->ms, OP_TOPICS) > 0);
    expect_silence(&c);
    fixture_pass(f, 1000);
    assert_uncounted(receive(&c));
    leave(&c);
}

static void who_asks_meanwhile_shares_the_census(void **state)
{
    struct fixture *f = *state;
    struct client a = scrape(f), b = scrape(f);

    AWAIT(f, http_port(f->http)->stats.requests == 2);
    memory_store_unhold(f->ms);
    assert_has(receive(&a), "\ndueq_topics 0\n");
    assert_has(receive(&b), "\ndueq_topics 0\n");
    assert_int_equal(memory_store_count(f->ms, OP_TOPICS), BUCKETS);
    leave(&a);
    leave(&b);
}

static void who_leaves_frees_the_place_at_once(void **state)
{
    struct fixture *f = *state;
    struct client gone = scrape(f), stays = scrape(f);

    AWAIT(f, http_port(f->http)->stats.requests == 2);
    reset(&gone);
    AWAIT(f, http_port(f->http)->stats.connections == 1);
    memory_store_unhold(f->ms);
    assert_has(receive(&stays), "\ndueq_topics 0\n");
    leave(&stays);
}

static void a_node_that_stops_does_not_wait_for_the_census(void **state)
{
    struct fixture *f = *state;
    struct client c = scrape(f);

    AWAIT(f, memory_store_count(f->ms, OP_TOPICS) > 0);
    fixture_stop(f);
    assert_uncounted(receive_all(&c));
    leave(&c);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, fixture_down)
#define HELD(name) \
    cmocka_unit_test_setup_teardown(name, set_up_with_store_held, tear_down_with_store_let_go)
    const struct CMUnitTest tests[] = {
        TEST(counts_the_jobs_of_the_store),
        TEST(answers_without_jobs_while_the_store_is_down),
        TEST(the_last_census_serves_for_five_minutes),
        HELD(answers_without_jobs_when_the_store_breaks_meanwhile),
        HELD(answers_without_jobs_when_the_store_is_slow),
        HELD(a_census_that_comes_late_is_shown_at_the_next_scrape),
        HELD(who_asks_meanwhile_shares_the_census),
        HELD(who_leaves_frees_the_place_at_once),
        HELD(a_node_that_stops_does_not_wait_for_the_census),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
