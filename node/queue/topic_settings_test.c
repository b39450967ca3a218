/* What a topic's settings are here and now, and that a push gets them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "node/queue/queue_fixture.h"
#include "node/queue/settings_reader.h"

static struct fixture f, other; /* two nodes on one store */

static struct queue_options with_rules(const struct settings_rule *rules, unsigned count)
{
    struct queue_options options = fixture_options();

    options.rules = rules;
    options.rule_count = count;
    return options;
}

static int set_up(void **state)
{
    fixture_start(&f, 4);
    fixture_join(&other, &f);
    return 0;
}

static int tear_down(void **state)
{
    fixture_end(&other);
    fixture_end(&f);
    return 0;
}

static struct topic_settings settings_at(struct fixture *node, const char *topic)
{
    struct topic_settings settings;

    queue_settings(node->q, bytes_of_text(topic), &settings);
    return settings;
}

static void configure(struct fixture *node, const char *topic,
                      const struct topic_settings *settings, unsigned mask)
{
    struct call call = {0};

    call.op.in.configure.settings = *settings;
    call.op.in.configure.mask = mask;
    assert_int_equal(submit(node, &call, OP_CONFIGURE, topic, "", 0), STATUS_OK);
}

static void set_ttr(struct fixture *node, const char *topic, int64_t ttr_ms)
{
    configure(node, topic, &(struct topic_settings){.set = SETTING_BIT(TTR), .ttr_ms = ttr_ms},
              SETTING_BIT(TTR));
}

static void unset_ttr(struct fixture *node, const char *topic)
{
    configure(node, topic, &(struct topic_settings){0}, SETTING_BIT(TTR));
}

/* Both nodes' timers at the same time. */
static void turn_both(void)
{
    fixture_turn(&f);
    fixture_turn(&other);
}

static void pause_for(struct fixture *node, const char *topic, int64_t ms)
{
    struct call call = {0};

    call.op.in.configure.has_pause = true;
    call.op.in.configure.pause_ms = ms;
    assert_int_equal(submit(node, &call, OP_CONFIGURE, topic, "", 0), STATUS_OK);
}

static struct job job_of(struct fixture *node, const char *topic, const char *id)
{
    struct call call = {0};

    assert_int_equal(submit(node, &call, OP_GET, topic, id, 0), STATUS_OK);
    return call.job;
}

/* ---- what holds ---- */

static void what_nobody_sets_is_as_built_in(void **state)
{
    struct topic_settings s = settings_at(&f, "t");

    assert_int_equal(s.set, SETTINGS_ALL);
    assert_int_equal(s.ttr_ms, 60000);
    assert_int_equal(s.priority, 1024);
    assert_int_equal(s.max_tries, 0);
    assert_int_equal(s.backoff.kind, BACKOFF_NONE);
    assert_int_equal(s.ttl_ms, 0);
    assert_int_equal(s.dead_max, 0);
    assert_int_equal(s.dead_age_ms, 0);
    assert_false(s.history);
    assert_int_equal(s.paused_until_ms, 0);
}

static void redis_comes_before_the_rules_and_of_each_setting_the_first_rule_counts(void **state)
{
    static const struct settings_rule rules[] = {
        {BYTES("mail.*"),
         {.set = SETTING_BIT(TTR) | SETTING_BIT(PRIORITY), .ttr_ms = 1000, .priority = 7}},
        {BYTES("mail.urgent"), {.set = SETTING_BIT(PRIORITY), .priority = 8}},
        {BYTES("*"),
         {.set = SETTING_BIT(MAX_TRIES) | SETTING_BIT(TTR), .max_tries = 3, .ttr_ms = 9}},
    };
    struct queue_options options = with_rules(rules, 3);
    struct topic_settings s;

    fixture_turn(&f);
    queue_reload(f.q, &options);
    set_ttr(&f, "mail.urgent", 2000);
    s = settings_at(&f, "mail.urgent");
    assert_int_equal(s.ttr_ms, 2000);
    assert_int_equal(s.priority, 7);
    assert_int_equal(s.max_tries, 3);
    assert_int_equal(s.set, SETTINGS_ALL);
    queue_configured_settings(f.q, BYTES("mail.urgent"), &s);
    assert_int_equal(s.ttr_ms, 1000);
    assert_int_equal(s.set, SETTING_BIT(TTR) | SETTING_BIT(PRIORITY) | SETTING_BIT(MAX_TRIES));
    assert_int_equal(settings_at(&f, "mail.slow").ttr_ms, 1000);
    assert_int_equal(settings_at(&f, "news").ttr_ms, 9);
    assert_int_equal(settings_at(&f, "news").priority, 1024);
}

static void after_a_reload_the_new_rules_hold(void **state)
{
    static const struct settings_rule old = {BYTES("*"),
                                             {.set = SETTING_BIT(MAX_TRIES), .max_tries = 1}};
    static const struct settings_rule new = {BYTES("*"),
                                             {.set = SETTING_BIT(MAX_TRIES), .max_tries = 2}};
    struct queue_options before = with_rules(&old, 1), after = with_rules(&new, 1);

    queue_reload(f.q, &before);
    assert_int_equal(settings_at(&f, "t").max_tries, 1);
    queue_reload(f.q, &after);
    assert_int_equal(settings_at(&f, "t").max_tries, 2);
}

static void a_pause_that_is_over_is_none(void **state)
{
    turn_both();
    pause_for(&f, "t", 5000);
    assert_int_equal(settings_at(&f, "t").paused_until_ms, memory_store_now(f.ms) + 5000);
    fixture_advance(&f, 4999);
    assert_true(settings_at(&f, "t").paused_until_ms > 0);
    fixture_advance(&f, 1);
    assert_int_equal(settings_at(&f, "t").paused_until_ms, 0);
}

static void whether_a_pause_is_over_says_the_clock_of_an_answer(void **state)
{
    int64_t until_ms = memory_store_now(f.ms) + 5000;

    turn_both();
    pause_for(&f, "t", 5000);
    assert_int_equal(queue_paused_until(f.q, BYTES("t"), until_ms - 1), until_ms);
    assert_int_equal(queue_paused_until(f.q, BYTES("t"), until_ms), 0);
    assert_int_equal(queue_paused_until(f.q, BYTES("other"), 0), 0);
}

/* ---- how they are read ---- */

static void reads_what_is_there_when_the_store_comes_up(void **state)
{
    char topic[16];
    struct fixture late;

    turn_both();
    for (int i = 0; i < 40; i++) {
        snprintf(topic, sizeof(topic), "t%d", i);
        set_ttr(&f, topic, 1000 + i);
    }
    fixture_join(&late, &f);
    assert_int_equal(settings_at(&late, "t0").ttr_ms, 60000);
    fixture_turn(&late);
    for (int i = 0; i < 40; i++) {
        snprintf(topic, sizeof(topic), "t%d", i);
        assert_int_equal(settings_at(&late, topic).ttr_ms, 1000 + i);
    }
    fixture_end(&late);
}

static void another_node_hears_of_a_change_at_once(void **state)
{
    turn_both();
    set_ttr(&f, "t", 1234);
    fixture_turn(&other);
    assert_int_equal(settings_at(&other, "t").ttr_ms, 1234);
    unset_ttr(&f, "t");
    fixture_turn(&other);
    assert_int_equal(settings_at(&other, "t").ttr_ms, 60000);
}

static void the_node_that_changes_them_knows_with_the_answer(void **state)
{
    struct call call = {0};

    turn_both();
    memory_store_hold(f.ms);
    call.op.in.configure.mask = SETTING_BIT(TTR);
    call.op.in.configure.settings =
        (struct topic_settings){.set = SETTING_BIT(TTR), .ttr_ms = 77};
    submit(&f, &call, OP_CONFIGURE, "t", "", 0);
    assert_int_equal(settings_at(&f, "t").ttr_ms, 60000);
    memory_store_let_go(f.ms, 1); /* not what is read because of the news */
    fixture_turn(&f);
    assert_int_equal(settings_at(&f, "t").ttr_ms, 77);
    memory_store_unhold(f.ms);
}

static void many_changes_of_a_topic_are_one_read_or_two(void **state)
{
    unsigned long before;

    turn_both();
    before = memory_store_count(other.ms, OP_SETTINGS);
    memory_store_hold(other.ms);
    set_ttr(&f, "t", 1);
    fixture_turn(&other); /* it is being read */
    for (int i = 2; i <= 50; i++)
        set_ttr(&f, "t", i);
    fixture_turn(&other);
    memory_store_unhold(other.ms);
    fixture_turn(&other);
    assert_int_equal(settings_at(&other, "t").ttr_ms, 50);
    assert_int_equal(memory_store_count(other.ms, OP_SETTINGS) - before, 2);
}

static void changes_of_very_many_topics_are_read_as_a_whole(void **state)
{
    const int count = 5 * OP_ROWS_MAX; /* more than a page for each bucket */
    char topic[16];
    unsigned long before;

    turn_both();
    before = memory_store_count(other.ms, OP_SETTINGS);
    memory_store_hold(other.ms);
    for (int i = 0; i < count; i++) {
        snprintf(topic, sizeof(topic), "t%d", i);
        set_ttr(&f, topic, 5);
    }
    fixture_turn(&other);
    memory_store_unhold(other.ms);
    fixture_turn(&other);
    for (int i = 0; i < count; i++) {
        snprintf(topic, sizeof(topic), "t%d", i);
        assert_int_equal(settings_at(&other, topic).ttr_ms, 5);
    }
    assert_true(memory_store_count(other.ms, OP_SETTINGS) - before < 1.2 * REFRESHES_MAX);
}

static void a_change_that_could_not_be_read_is_read_again(void **state)
{
    turn_both();
    memory_store_fail(other.ms, 1, STATUS_STORE_ERROR, MEMORY_UNDONE);
    set_ttr(&f, "t", 5);
    fixture_turn(&other);
    assert_int_equal(settings_at(&other, "t").ttr_ms, 60000);
    fixture_advance(&other, 500);
    assert_int_equal(settings_at(&other, "t").ttr_ms, 5);
}

/* Pushes tell: while not all is read they ask for their own topic's. */
static void a_bucket_that_cannot_be_read_is_read_a_moment_later(void **state)
{
    struct call call = {0};
    struct fixture late;
    unsigned long before;

    turn_both();
    for (char topic[] = "a"; *topic <= 'j'; ++*topic)
        set_ttr(&f, topic, 5);
    fixture_join(&late, &f);
    memory_store_fail(late.ms, 1, STATUS_STORE_ERROR, MEMORY_UNDONE);
    fixture_turn(&late);
    fixture_advance(&late, 500);
    for (char topic[] = "a"; *topic <= 'j'; ++*topic)
        assert_int_equal(settings_at(&late, topic).ttr_ms, 5);
    before = memory_store_count(late.ms, OP_SETTINGS);
    submit(&late, &call, OP_PUSH, "t", "1", 0);
    assert_int_equal(memory_store_count(late.ms, OP_SETTINGS), before);
    fixture_end(&late);
}

static void a_change_during_a_cut_is_known_when_the_store_is_back(void **state)
{
    turn_both();
    set_ttr(&f, "gone", 5);
    set_ttr(&f, "other", 6);
    fixture_turn(&other);
    memory_store_take_down(other.ms);
    fixture_turn(&other);
    unset_ttr(&f, "gone");
    set_ttr(&f, "new", 7);
    assert_int_equal(settings_at(&other, "gone").ttr_ms, 5);
    memory_store_bring_up(other.ms);
    fixture_turn(&other);
    assert_int_equal(settings_at(&other, "gone").ttr_ms, 60000);
    assert_int_equal(settings_at(&other, "other").ttr_ms, 6);
    assert_int_equal(settings_at(&other, "new").ttr_ms, 7);
}

static void reads_a_bucket_a_second_for_what_it_did_not_hear_of(void **state)
{
    unsigned long before;

    turn_both();
    memory_store_port(other.ms)->events.on_settings = NULL;
    before = memory_store_count(other.ms, OP_SETTINGS);
    set_ttr(&f, "t", 5);
    fixture_advance(&other, 4000);
    assert_int_equal(settings_at(&other, "t").ttr_ms, 5);
    unset_ttr(&f, "t");
    fixture_advance(&other, 4000);
    assert_int_equal(settings_at(&other, "t").ttr_ms, 60000);
    assert_int_equal(memory_store_count(other.ms, OP_SETTINGS) - before, 8);
}

static void asks_a_store_that_is_down_once_a_second_at_most(void **state)
{
    unsigned long before;

    turn_both();
    memory_store_take_down(f.ms);
    fixture_turn(&f);
    before = memory_store_count(f.ms, OP_SETTINGS);
    fixture_advance(&f, 60000);
    assert_in_range(memory_store_count(f.ms, OP_SETTINGS) - before, 1, 61);
}

/* ---- pushes ---- */

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
    push_open(&late, &whole, all_of_a_push.set); /* this one needs none */
    assert_int_equal(memory_store_count(late.ms, OP_PUSH), 1);
    memory_store_fail(late.ms, 0, STATUS_UNKNOWN, MEMORY_UNDONE);
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

/* ---- requests ---- */

static void refuses_settings_out_of_their_range(void **state)
{
    static const struct topic_settings wrong[] = {
        {.set = SETTING_BIT(TTR), .ttr_ms = QUEUE_TTR_MAX_MS + 1},
        {.set = SETTING_BIT(TTR), .ttr_ms = -1},
        {.set = SETTING_BIT(MAX_TRIES), .max_tries = RULES_TRIES_MAX + 1},
        {.set = SETTING_BIT(BACKOFF), .backoff = {.kind = BACKOFF_FIXED}},
        {.set = SETTING_BIT(BACKOFF), .backoff = {.kind = BACKOFF_NONE, .base_ms = 1}},
        {.set = SETTING_BIT(BACKOFF),
         .backoff = {.kind = BACKOFF_FIXED, .base_ms = 1, .jitter_percent = 101}},
        {.set = SETTING_BIT(BACKOFF),
         .backoff = {.kind = BACKOFF_FIXED, .base_ms = RULES_BACKOFF_MAX_MS + 1}},
        {.set = SETTING_BIT(TTL), .ttl_ms = QUEUE_DELAY_MAX_MS + 1},
        {.set = SETTING_BIT(DEAD_MAX), .dead_max = (int64_t)UINT32_MAX + 1},
        {.set = SETTING_BIT(DEAD_AGE), .dead_age_ms = -1},
    };

    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        struct call call = {0};

        call.op.in.configure.settings = wrong[i];
        call.op.in.configure.mask = SETTINGS_ALL;
        assert_int_equal(submit(&f, &call, OP_CONFIGURE, "t", "", 0), STATUS_OUT_OF_RANGE);
        call.op.in.configure.mask = 0; /* it means nothing then */
        assert_int_equal(submit(&f, &call, OP_CONFIGURE, "t", "", 0), STATUS_OK);
    }
}

static void without_wake_ups_the_settings_are_read_all_the_same(void **state)
{
    struct store_events *events = &memory_store_port(f.ms)->events;

    turn_both();
    events->on_down(events->arg);
    set_ttr(&other, "t", 2000);
    fixture_turn(&f);
    assert_int_equal(settings_at(&f, "t").ttr_ms, 60000);
    fixture_advance(&f, 10000);
    assert_int_equal(settings_at(&f, "t").ttr_ms, 2000);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(what_nobody_sets_is_as_built_in),
        TEST(redis_comes_before_the_rules_and_of_each_setting_the_first_rule_counts),
        TEST(after_a_reload_the_new_rules_hold),
        TEST(a_pause_that_is_over_is_none),
        TEST(whether_a_pause_is_over_says_the_clock_of_an_answer),
        TEST(reads_what_is_there_when_the_store_comes_up),
        TEST(another_node_hears_of_a_change_at_once),
        TEST(the_node_that_changes_them_knows_with_the_answer),
        TEST(many_changes_of_a_topic_are_one_read_or_two),
        TEST(changes_of_very_many_topics_are_read_as_a_whole),
        TEST(a_change_that_could_not_be_read_is_read_again),
        TEST(a_bucket_that_cannot_be_read_is_read_a_moment_later),
        TEST(a_change_during_a_cut_is_known_when_the_store_is_back),
        TEST(reads_a_bucket_a_second_for_what_it_did_not_hear_of),
        TEST(asks_a_store_that_is_down_once_a_second_at_most),
        TEST(a_push_gets_what_it_leaves_open),
        TEST(a_topics_ttl_counts_from_when_the_job_is_due),
        TEST(a_ttl_that_the_push_gives_counts_from_the_push),
        TEST(a_push_keeps_what_it_gives),
        TEST(a_push_before_all_is_read_gets_its_topics_settings),
        TEST(a_push_whose_topics_settings_cannot_be_read_is_refused),
        TEST(a_push_that_waited_for_settings_is_finished_when_the_node_stops),
        TEST(refuses_settings_out_of_their_range),
        TEST(without_wake_ups_the_settings_are_read_all_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
