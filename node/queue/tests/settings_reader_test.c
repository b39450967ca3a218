/* How a node comes to know the settings that Redis has. */
#include "base/crc16.h"
#include "node/queue/tests/fixtures/settings_fixture.h"
#include "node/queue/settings.h"

#include <stdio.h>

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
    fixture_release(&f, 1); /* not what is read because of the news */
    assert_int_equal(settings_at(&f, "t").ttr_ms, 77);
    memory_store_unhold(f.ms);
}

static void count_heard(void *arg)
{
    ++*(unsigned *)arg;
}

static void the_listener_hears_of_identities_and_when_the_store_is_up(void **state)
{
    struct call call = {.op.bucket = 3};
    unsigned heard = 0;

    turn_both();
    queue_hear_identities(other.q, count_heard, &heard);
    call.op.in.identify.id = BYTES("0123456789abcdef");
    call.op.in.identify.line = BYTES("shop produce");
    assert_int_equal(submit(&f, &call, OP_IDENTIFY, "", "shop", 0), STATUS_OK);
    assert_int_equal(call.op.bucket, 0);
    fixture_turn(&other);
    assert_int_equal(heard, 1);
    fixture_take_down(&other);
    assert_int_equal(heard, 1);
    fixture_bring_up(&other);
    assert_int_equal(heard, 2);
    queue_hear_identities(other.q, NULL, NULL);
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
    fixture_unhold(&other);
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
    fixture_unhold(&other);
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

static const struct store_ops *real_ops;
static const unsigned unreadable = 2; /* of 4 buckets */

static void refuse(struct op *op)
{
    op->status = STATUS_STORE_ERROR;
    op->on_done(op);
}

/* Each read of that bucket's settings fails, whatever else is asked. */
static void submit_but(struct store *store, struct op *op)
{
    if (op->verb == OP_SETTINGS && op->bucket == unreadable)
        refuse(op);
    else
        real_ops->submit(store, op);
}

/* It is owed for ever; the others' changes, of which nobody tells, are seen all the same. */
static void a_bucket_that_can_never_be_read_stops_no_other(void **state)
{
    struct store *store = memory_store_port(other.ms);
    struct store_ops ops = *store->ops;

    real_ops = store->ops;
    ops.submit = submit_but;
    store->ops = &ops;
    turn_both();
    store->events.on_settings = NULL;
    for (char topic[] = "a"; *topic <= 'j'; ++*topic)
        set_ttr(&f, topic, 5);
    fixture_advance(&other, 10000);
    for (char topic[] = "a"; *topic <= 'j'; ++*topic) {
        bool is_unreadable = crc16(bytes_of_text(topic)) % store->buckets == unreadable;

        assert_int_equal(settings_at(&other, topic).ttr_ms, is_unreadable ? 60000 : 5);
    }
    store->ops = real_ops;
    fixture_advance(&other, 10000);
    for (char topic[] = "a"; *topic <= 'j'; ++*topic)
        assert_int_equal(settings_at(&other, topic).ttr_ms, 5);
}

static void a_change_during_a_cut_is_known_when_the_store_is_back(void **state)
{
    turn_both();
    set_ttr(&f, "gone", 5);
    set_ttr(&f, "other", 6);
    fixture_turn(&other);
    fixture_take_down(&other);
    unset_ttr(&f, "gone");
    set_ttr(&f, "new", 7);
    assert_int_equal(settings_at(&other, "gone").ttr_ms, 5);
    fixture_bring_up(&other);
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
    fixture_take_down(&f);
    before = memory_store_count(f.ms, OP_SETTINGS);
    fixture_advance(&f, 60000);
    assert_in_range(memory_store_count(f.ms, OP_SETTINGS) - before, 1, 61);
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
#define DEAF(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down_two)
    const struct CMUnitTest tests[] = {
        DEAF(reads_what_is_there_when_the_store_comes_up),
        DEAF(another_node_hears_of_a_change_at_once),
        DEAF(the_listener_hears_of_identities_and_when_the_store_is_up),
        DEAF(the_node_that_changes_them_knows_with_the_answer),
        DEAF(many_changes_of_a_topic_are_one_read_or_two),
        DEAF(changes_of_very_many_topics_are_read_as_a_whole),
        DEAF(a_change_that_could_not_be_read_is_read_again),
        DEAF(a_bucket_that_cannot_be_read_is_read_a_moment_later),
        DEAF(a_bucket_that_can_never_be_read_stops_no_other),
        DEAF(a_change_during_a_cut_is_known_when_the_store_is_back),
        DEAF(reads_a_bucket_a_second_for_what_it_did_not_hear_of),
        DEAF(asks_a_store_that_is_down_once_a_second_at_most),
        DEAF(without_wake_ups_the_settings_are_read_all_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
