/* A job's transitions are written down where its topic's settings say so, and nowhere else. */
#include "node/queue/tests/fixtures/histories_fixture.h"

static enum status push_as(enum push_mode mode)
{
    struct call call = {0};

    call.op.in.push.mode = mode;
    call.op.in.push.delay_ms = 5000;
    return submit(&f, &call, OP_PUSH, "t", "1", 0);
}

/* ---- what is written ---- */

static void tells_a_job_from_its_push_to_its_end(void **state)
{
    push(&f, "t", "1", 300, 60000);
    fixture_advance(&f, 300);
    consume(&f, &a, "t", 1, 0);
    delivered(&f, &a);
    fixture_advance(&f, 100);
    assert_int_equal(with_lease(OP_ACK, 0), STATUS_OK);
    assert_string_equal(story(), "pushed due delivered acked");
}

static void a_line_says_when_where_and_for_whom(void **state)
{
    get_one();
    fixture_advance(&f, 70);
    with_lease(OP_ACK, 0);
    assert_string_equal(story(), "pushed delivered acked");
    assert_int_equal(told.items[0].time_ms, NOW - 70);
    assert_int_equal(told.items[0].at_ms, NOW - 70); /* due at once */
    assert_int_equal(told.items[1].at_ms, NOW - 70 + 60000);
    assert_int_equal(told.items[1].tries, 1);
    assert_string_equal(told.node[1], "node");
    assert_string_equal(told.client[1], "http 10.0.0.1:5");
    assert_int_equal(told.items[2].time_ms, NOW);
    assert_string_equal(told.client[2], "gmq 10.0.0.2:7");
}

static void a_job_that_is_done_with_its_delivery_has_no_deadline(void **state)
{
    hand_out("t", "1", 0);
    assert_string_equal(story(), "pushed delivered");
    assert_int_equal(told.items[1].at_ms, 0);
}

static void a_touch_says_until_when(void **state)
{
    get_one();
    with_lease(OP_TOUCH, 0);
    assert_string_equal(story(), "pushed delivered touched");
    assert_int_equal(told.items[2].at_ms, NOW + 60000);
}

static void a_release_says_when_it_is_due_again(void **state)
{
    get_one();
    with_lease(OP_RELEASE, 7000);
    assert_string_equal(story(), "pushed delivered released");
    assert_int_equal(told.items[2].at_ms, NOW + 7000);
    assert_int_equal(told.items[2].tries, 1);
}

static void a_release_that_was_the_last_try_is_a_death(void **state)
{
    struct call call = {0};

    call.op.in.push.rules.max_tries = 1;
    call.op.in.push.rules.priority = RULES_PRIORITY_DEFAULT;
    call.op.in.push.ttr_ms = 60000;
    call.op.in.push.given = SETTINGS_ALL;
    assert_int_equal(submit(&f, &call, OP_PUSH, "t", "1", 0), STATUS_OK);
    consume(&f, &a, "t", 1, 0);
    delivered(&f, &a);
    with_lease(OP_RELEASE, 0);
    assert_string_equal(story(), "pushed delivered died/tries");
}

static void tells_who_was_buried_kicked_and_cancelled(void **state)
{
    struct call kick = {0}, cancel = {0};

    get_one();
    fixture_advance(&f, 1);
    with_lease(OP_BURY, 0);
    kick.op.in.move.states = 1u << JOB_DEAD;
    fixture_advance(&f, 1);
    assert_int_equal(submit(&f, &kick, OP_MOVE, "t", "1", 0), STATUS_OK);
    fixture_advance(&f, 1);
    assert_int_equal(act(OP_CANCEL, &cancel), STATUS_OK);
    assert_string_equal(story(), "pushed delivered died/buried moved cancelled");
}

static void a_run_that_changes_nothing_is_not_written(void **state)
{
    struct call run = {0};

    push(&f, "t", "1", 5000, 60000);
    run.op.in.move.states = 1u << JOB_DELAYED | 1u << JOB_READY;
    assert_int_equal(submit(&f, &run, OP_MOVE, "t", "1", 0), STATUS_OK);
    assert_int_equal(submit(&f, &run, OP_MOVE, "t", "1", 0), STATUS_OK);
    assert_string_equal(story(), "pushed moved");
}

static void a_job_whose_consumer_had_left_is_returned(void **state)
{
    begin_hand_out("t", "1", 60000);
    returned(&f, &a);
    assert_string_equal(story(), "pushed returned");
}

static void a_push_that_replaces_ends_a_job_and_begins_one(void **state)
{
    push(&f, "t", "1", 0, 60000);
    fixture_advance(&f, 1);
    assert_int_equal(push_as(PUSH_REPLACE), STATUS_OK);
    assert_string_equal(story(), "pushed replaced pushed");
    assert_int_equal(told.items[1].at_ms, 0);
    assert_int_equal(told.items[2].at_ms, NOW + 5000);
}

static void a_push_that_changed_nothing_is_not_written(void **state)
{
    push(&f, "t", "1", 0, 60000);
    assert_int_equal(push_as(PUSH_IGNORE), STATUS_OK);
    assert_int_equal(push_as(PUSH_REJECT), STATUS_DUPLICATE);
    assert_string_equal(story(), "pushed");
}

static void an_id_of_the_stores_own_is_written(void **state)
{
    struct call call = {0};

    assert_int_equal(submit(&f, &call, OP_PUSH, "t", "", 0), STATUS_OK);
    trace("t", call.id, 10);
    assert_int_equal(told.count, 1);
}

static void a_name_that_is_too_long_is_cut(void **state)
{
    char name[JOB_HOLDER_MAX + 5];
    struct call call = {.op.client = {name, sizeof(name)}};

    memset(name, 'x', sizeof(name));
    assert_int_equal(act(OP_PUSH, &call), STATUS_OK);
    assert_string_equal(story(), "pushed");
    assert_int_equal(strlen(told.client[0]), JOB_HOLDER_MAX);
}

/* ---- where it is on ---- */

static void a_topic_that_does_not_want_it_has_none(void **state)
{
    push(&f, "other", "1", 0, 60000);
    fixture_advance(&f, 100);
    assert_int_equal(memory_store_count(f.ms, OP_RECORD), 0);
    trace("other", "1", 10);
    assert_int_equal(told.status, STATUS_OK);
    assert_int_equal(told.count, 0);
    assert_false(told.is_on);
    trace("t", "1", 10);
    assert_true(told.is_on);
}

static void set_history(const char *topic, bool history)
{
    configure(&f, topic,
              &(struct topic_settings){.set = SETTING_BIT(HISTORY), .history = history},
              SETTING_BIT(HISTORY));
}

static void is_switched_while_it_runs(void **state)
{
    set_history("new", true);
    push(&f, "new", "1", 0, 60000);
    trace("new", "1", 10);
    assert_true(told.is_on);
    assert_int_equal(told.count, 1);
    set_history("new", false);
    set_history("t", false); /* what Redis says is before what the configuration says */
    push(&f, "new", "2", 0, 60000);
    push(&f, "t", "1", 0, 60000);
    trace("new", "2", 10);
    assert_int_equal(told.count, 0);
    assert_string_equal(story(), "");
}

static void redis_alone_can_turn_it_on(void **state)
{
    struct queue_options options = with_history();

    options.rule_count = 0;
    reload(options);
    push(&f, "t", "1", 0, 60000);
    assert_string_equal(story(), "");
    set_history("t", true);
    push_as(PUSH_REPLACE);
    assert_string_equal(story(), "replaced pushed");
}

static void no_bytes_are_no_history(void **state)
{
    struct queue_options options = with_history();

    options.history_bytes = 0;
    reload(options);
    push(&f, "t", "1", 0, 60000);
    fixture_advance(&f, 100);
    assert_int_equal(memory_store_count(f.ms, OP_RECORD), 0);
    trace("t", "1", 10);
    assert_false(told.is_on);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(tells_a_job_from_its_push_to_its_end),
        TEST(a_line_says_when_where_and_for_whom),
        TEST(a_job_that_is_done_with_its_delivery_has_no_deadline),
        TEST(a_touch_says_until_when),
        TEST(a_release_says_when_it_is_due_again),
        TEST(a_release_that_was_the_last_try_is_a_death),
        TEST(tells_who_was_buried_kicked_and_cancelled),
        TEST(a_run_that_changes_nothing_is_not_written),
        TEST(a_job_whose_consumer_had_left_is_returned),
        TEST(a_push_that_replaces_ends_a_job_and_begins_one),
        TEST(a_push_that_changed_nothing_is_not_written),
        TEST(an_id_of_the_stores_own_is_written),
        TEST(a_name_that_is_too_long_is_cut),
        TEST(a_topic_that_does_not_want_it_has_none),
        TEST(is_switched_while_it_runs),
        TEST(redis_alone_can_turn_it_on),
        TEST(no_bytes_are_no_history),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
