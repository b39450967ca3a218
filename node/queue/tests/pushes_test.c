/* A topic's settings fill in what a push leaves open. */
#include "node/queue/tests/fixtures/settings_fixture.h"

static struct job job_of(struct fixture *node, const char *topic, const char *id)
{
    struct call call = {0};

    assert_int_equal(submit(node, &call, OP_GET, topic, id, 0), STATUS_OK);
    return call.job;
}

static const struct topic_settings all_of_a_push = {
    .set = SETTING_BIT(TTR) | SETTING_BIT(PRIORITY) | SETTING_BIT(MAX_TRIES) |
           SETTING_BIT(BACKOFF) | SETTING_BIT(TTL),
    .ttr_ms = 1000,
    .priority = 5,
    .max_tries = 6,
    .backoff = {.kind = BACKOFF_FIXED, .base_ms = 700},
    .ttl_ms = 80000,
};

static void push_open(struct fixture *node, struct call *call, unsigned given)
{
    call->op.in.push.given = given;
    call->op.in.push.ttr_ms = 1;
    call->op.in.push.ttl_ms = 2;
    call->op.in.push.rules = (struct job_rules){.priority = 3, .max_tries = 4};
    submit(node, call, OP_PUSH, "t", "1", 0);
}

static void a_push_gets_what_it_leaves_open(void **state)
{
    struct call call = {0};
    struct job job;

    turn_both();
    configure(&f, "t", &all_of_a_push, SETTINGS_ALL);
    push_open(&f, &call, 0);
    assert_int_equal(call.status, STATUS_OK);
    job = job_of(&f, "t", "1");
    assert_int_equal(job.ttr_ms, 1000);
    assert_int_equal(job.rules.priority, 5);
    assert_int_equal(job.rules.max_tries, 6);
    assert_int_equal(job.rules.backoff.kind, BACKOFF_FIXED);
    assert_int_equal(job.rules.backoff.base_ms, 700);
    assert_int_equal(job.rules.expires_ms, memory_store_now(f.ms) + 80000);
}

static int64_t expires_of(const char *id)
{
    return job_of(&f, "t", id).rules.expires_ms;
}

static void a_topics_ttl_counts_from_when_the_job_is_due(void **state)
{
    struct call delayed = {0}, at = {0}, past = {0};
    int64_t now_ms;

    turn_both();
    configure(&f, "t", &all_of_a_push, SETTINGS_ALL);
    now_ms = memory_store_now(f.ms);
    delayed.op.in.push.delay_ms = 90000; /* longer than the ttl */
    assert_int_equal(submit(&f, &delayed, OP_PUSH, "t", "1", 0), STATUS_OK);
    assert_int_equal(expires_of("1"), now_ms + 90000 + 80000);
    at.op.in.push.at_ms = now_ms + 100000;
    assert_int_equal(submit(&f, &at, OP_PUSH, "t", "2", 0), STATUS_OK);
    assert_int_equal(expires_of("2"), now_ms + 100000 + 80000);
    past.op.in.push.at_ms = 1;
    assert_int_equal(submit(&f, &past, OP_PUSH, "t", "3", 0), STATUS_OK);
    assert_int_equal(expires_of("3"), now_ms + 80000);
}

static void a_topics_ttl_goes_by_the_stores_clock_alone(void **state)
{
    struct call at = {0};
    int64_t now_ms;

    turn_both();
    configure(&f, "t", &all_of_a_push, SETTINGS_ALL);
    now_ms = memory_store_now(f.ms) - 100000; /* the node has not noticed yet */
    memory_store_set_now(f.ms, now_ms);
    at.op.in.push.at_ms = now_ms + 90000;
    assert_int_equal(submit(&f, &at, OP_PUSH, "t", "1", 0), STATUS_OK);
    assert_int_equal(expires_of("1"), now_ms + 90000 + 80000);
}

static void a_ttl_that_the_push_gives_counts_from_the_push(void **state)
{
    struct call fits = {0}, too_short = {0};

    turn_both();
    fits.op.in.push.given = too_short.op.in.push.given = SETTING_BIT(TTL);
    fits.op.in.push.delay_ms = too_short.op.in.push.delay_ms = 1000;
    fits.op.in.push.ttl_ms = 1001;
    too_short.op.in.push.ttl_ms = 1000;
    assert_int_equal(submit(&f, &fits, OP_PUSH, "t", "1", 0), STATUS_OK);
    assert_int_equal(expires_of("1"), memory_store_now(f.ms) + 1001);
    assert_int_equal(submit(&f, &too_short, OP_PUSH, "t", "2", 0), STATUS_OUT_OF_RANGE);
}

static void a_push_keeps_what_it_gives(void **state)
{
    struct call call = {0};
    struct job job;

    turn_both();
    configure(&f, "t", &all_of_a_push, SETTINGS_ALL);
    push_open(&f, &call, all_of_a_push.set);
    job = job_of(&f, "t", "1");
    assert_int_equal(job.ttr_ms, 1);
    assert_int_equal(job.rules.priority, 3);
    assert_int_equal(job.rules.max_tries, 4);
    assert_int_equal(job.rules.backoff.kind, BACKOFF_NONE);
    assert_int_equal(job.rules.expires_ms, memory_store_now(f.ms) + 2);
}

static void a_push_brings_what_its_topic_may_have(void **state)
{
    static const struct topic_settings one = {.set = SETTING_BIT(MAX_JOBS), .max_jobs = 1};
    static const struct topic_settings few = {.set = SETTING_BIT(MAX_BYTES), .max_bytes = 3};
    struct call first = {0}, second = {0}, small = {0}, large = {0};

    turn_both();
    configure(&f, "t", &one, SETTINGS_ALL);
    first.op.in.push.given = second.op.in.push.given = SETTINGS_ALL;
    assert_int_equal(submit(&f, &first, OP_PUSH, "t", "1", 0), STATUS_OK);
    assert_int_equal(submit(&f, &second, OP_PUSH, "t", "2", 0), STATUS_TOPIC_FULL);
    configure(&f, "t", &few, SETTINGS_ALL);
    small.op.in.push.body = BYTES("abc");
    large.op.in.push.body = BYTES("d");
    assert_int_equal(submit(&f, &small, OP_PUSH, "t", "2", 0), STATUS_OK);
    assert_int_equal(submit(&f, &large, OP_PUSH, "t", "3", 0), STATUS_TOPIC_FULL_BYTES);
}

/* The very first turn: nothing has been read yet. */
static void a_push_before_all_is_read_gets_its_topics_settings(void **state)
{
    struct call call = {0};
    struct fixture late;

    turn_both();
    configure(&f, "t", &all_of_a_push, SETTINGS_ALL);
    fixture_join(&late, &f);
    push_open(&late, &call, 0);
    assert_int_equal(call.status, STATUS_OK);
    assert_int_equal(job_of(&late, "t", "1").rules.priority, 5);
    fixture_end(&late);
}

static void a_push_whose_topics_settings_cannot_be_read_is_refused(void **state)
{
    struct call call = {0}, whole = {0};
    struct fixture late;

    turn_both();
    fixture_join(&late, &f);
    memory_store_fail(late.ms, 1000, STATUS_UNKNOWN, MEMORY_UNDONE);
    push_open(&late, &call, 0);
    assert_int_equal(call.status, STATUS_UNAVAILABLE); /* nothing happened */
    assert_int_equal(memory_store_count(late.ms, OP_PUSH), 0);
    push_open(&late, &whole, all_of_a_push.set); /* the topic may have a quota */
    assert_int_equal(whole.status, STATUS_UNAVAILABLE);
    assert_int_equal(memory_store_count(late.ms, OP_PUSH), 0);
    memory_store_fail(late.ms, 0, STATUS_UNKNOWN, MEMORY_UNDONE);
    fixture_end(&late);
}

static void a_push_that_waits_for_settings_is_dropped_when_it_is_abandoned(void **state)
{
    struct call call = {0};
    struct fixture late;

    turn_both();
    fixture_join(&late, &f);
    memory_store_take_down(late.ms);
    memory_store_let_wait(late.ms);
    push_open(&late, &call, 0);
    assert_false(call.is_done);
    queue_abandon(late.q, &call.op);
    fixture_turn(&late);
    assert_true(call.is_done);
    assert_int_equal(call.status, STATUS_UNAVAILABLE);
    fixture_bring_up(&late);
    assert_int_equal(memory_store_count(late.ms, OP_PUSH), 0);
    fixture_end(&late);
}

static void a_push_that_waited_for_settings_is_finished_when_the_node_stops(void **state)
{
    struct call call = {0};
    struct fixture late;

    turn_both();
    fixture_join(&late, &f);
    memory_store_hold(late.ms);
    push_open(&late, &call, 0);
    assert_false(call.is_done);
    memory_store_unhold(late.ms);
    fixture_end(&late);
    assert_true(call.is_done);
    assert_int_equal(call.status, STATUS_OK);
}

int main(void)
{
#define DEAF(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down_two)
    const struct CMUnitTest tests[] = {
        DEAF(a_push_gets_what_it_leaves_open),
        DEAF(a_topics_ttl_counts_from_when_the_job_is_due),
        DEAF(a_topics_ttl_goes_by_the_stores_clock_alone),
        DEAF(a_ttl_that_the_push_gives_counts_from_the_push),
        DEAF(a_push_keeps_what_it_gives),
        DEAF(a_push_brings_what_its_topic_may_have),
        DEAF(a_push_before_all_is_read_gets_its_topics_settings),
        DEAF(a_push_whose_topics_settings_cannot_be_read_is_refused),
        DEAF(a_push_that_waits_for_settings_is_dropped_when_it_is_abandoned),
        DEAF(a_push_that_waited_for_settings_is_finished_when_the_node_stops),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
