/* A bucket out of reach, while the store stays up, holds up nothing of other buckets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/crc16.h"
#include "node/queue/tests/fixtures/queue_fixture.h"
#include "node/queue/reconciler.h"

#define BUCKETS 4
#define AWAY    0 /* the first one that is read, or walked through */

static struct fixture f, other;
static struct consumer a, b;
static char near[8], far[8]; /* topics: of a bucket within reach, and of one that is not */

static void name_topics(void)
{
    memset(near, 0, sizeof(near));
    memset(far, 0, sizeof(far));
    near[0] = far[0] = 'a';
    while (crc16(bytes_of_text(far)) % BUCKETS != AWAY)
        far[0]++;
    while (crc16(bytes_of_text(near)) % BUCKETS == AWAY)
        near[0]++;
}

static int set_up(void **state)
{
    struct queue_options options = fixture_options();

    a = b = (struct consumer){0};
    name_topics();
    fixture_start_two(&f, &other, BUCKETS);
    options.audit_rate = 1000;
    queue_reload(f.q, &options);
    memory_store_let_wait(f.ms);
    return 0;
}

static int tear_down(void **state)
{
    memory_store_give_back(f.ms, AWAY);
    fixture_end_two(&f, &other);
    return 0;
}

static void take_away(void)
{
    memory_store_take_away(f.ms, AWAY);
    fixture_turn(&f);
}

static void give_back(void)
{
    memory_store_give_back(f.ms, AWAY);
    fixture_turn(&f);
}

static const char *both(bool is_far_first)
{
    static char text[20];

    strcpy(text, is_far_first ? far : near);
    strcat(text, ",");
    return strcat(text, is_far_first ? near : far);
}

/* ---- consumers ---- */

static void who_waits_at_several_topics_gets_what_is_within_reach(void **state)
{
    take_away();
    consume(&f, &a, both(true), 1, 60000);
    push(&f, near, "1", 0, 5000);
    assert_int_equal(a.done, 1);
    assert_string_equal(a.ids[0], "1");
    delivered(&f, &a);
}

/* Its pop of the topic that it prefers was on its way. */
static void who_waited_before_gets_what_is_within_reach(void **state)
{
    memory_store_hold(f.ms);
    consume(&f, &a, both(true), 1, 60000);
    take_away();
    memory_store_unhold(f.ms);
    fixture_turn(&f);
    push(&f, near, "1", 0, 5000);
    assert_int_equal(a.done, 1);
    delivered(&f, &a);
}

/* The store holds its pop before it says that the bucket is away. */
static void a_pop_that_the_store_holds_lets_its_consumer_go(void **state)
{
    memory_store_take_away(f.ms, AWAY);
    consume(&f, &a, both(true), 1, 60000);
    push(&f, near, "1", 0, 5000);
    assert_int_equal(a.done, 1);
    delivered(&f, &a);
}

static void who_waits_is_served_at_once_when_the_bucket_is_back(void **state)
{
    take_away();
    consume(&f, &a, far, 1, 60000);
    push(&other, far, "1", 0, 5000);
    fixture_turn(&f);
    assert_int_equal(a.done, 0);
    give_back();
    assert_int_equal(a.done, 1);
    delivered(&f, &a);
}

/* Its topic was known to be empty, and the word of the job is lost. */
static void who_waited_before_is_served_when_the_bucket_is_back(void **state)
{
    consume(&f, &a, far, 1, 60000);
    take_away();
    push(&other, far, "1", 0, 5000);
    fixture_turn(&f);
    assert_int_equal(a.done, 0);
    give_back();
    assert_int_equal(a.done, 1);
    assert_string_equal(a.ids[0], "1");
    delivered(&f, &a);
}

/* As while the whole store is away: an old client notices nothing. */
static void who_does_not_wait_is_held_until_the_bucket_is_back(void **state)
{
    push(&f, far, "1", 0, 5000);
    take_away();
    consume(&f, &a, far, 1, 0);
    assert_int_equal(a.done, 0);
    give_back();
    assert_int_equal(a.done, 1);
    assert_int_equal(a.status, STATUS_OK);
    delivered(&f, &a);
}

static void who_waits_in_vain_gets_nothing_in_time(void **state)
{
    take_away();
    consume(&f, &a, far, 1, 3000);
    fixture_advance(&f, 2999);
    assert_int_equal(a.done, 0);
    fixture_advance(&f, 1);
    assert_int_equal(a.done, 1);
    assert_int_equal(a.status, STATUS_NOT_FOUND);
}

/* ---- settings ---- */

static void set_ttr(struct fixture *node, const char *topic, int64_t ttr_ms)
{
    struct call call = {0};

    call.op.in.configure.settings.set = call.op.in.configure.mask = SETTING_BIT(TTR);
    call.op.in.configure.settings.ttr_ms = ttr_ms;
    assert_int_equal(submit(node, &call, OP_CONFIGURE, topic, "", 0), STATUS_OK);
}

static int64_t ttr_at(struct fixture *node, const char *topic)
{
    struct topic_settings settings;

    queue_settings(node->q, bytes_of_text(topic), &settings);
    return settings.ttr_ms;
}

static void what_changed_meanwhile_is_known_when_the_bucket_is_back(void **state)
{
    take_away();
    set_ttr(&other, far, 1234);
    fixture_advance(&f, 3000);
    assert_int_not_equal(ttr_at(&f, far), 1234);
    give_back();
    assert_int_equal(ttr_at(&f, far), 1234);
}

static void a_change_elsewhere_is_known_at_once(void **state)
{
    take_away();
    for (unsigned i = 0; i < 20; i++) { /* more than are read at the same time */
        char topic[8] = {0};

        topic[0] = far[0];
        topic[1] = (char)('a' + i);
        set_ttr(&other, topic, 1000);
    }
    set_ttr(&other, near, 1234);
    fixture_turn(&f);
    assert_int_equal(ttr_at(&f, near), 1234);
}

/* The page that the store holds does not keep the round from going on. */
static void all_others_are_read_again_and_again(void **state)
{
    unsigned long before;

    take_away();
    before = memory_store_count(f.ms, OP_SETTINGS);
    fixture_advance(&f, 30000);
    assert_in_range(memory_store_count(f.ms, OP_SETTINGS) - before, 28, 32);
}

static void
a_push_within_reach_asks_for_no_settings_though_a_bucket_was_never_read(void **state)
{
    struct fixture third;
    struct call call = {0};
    unsigned long reads;

    fixture_join(&third, &f);
    memory_store_let_wait(third.ms);
    memory_store_take_away(third.ms, AWAY);
    fixture_turn(&third);
    reads = memory_store_count(third.ms, OP_SETTINGS);
    assert_in_range(reads, BUCKETS - 1, BUCKETS);
    assert_int_equal(submit(&third, &call, OP_PUSH, near, "1", 0), STATUS_OK);
    assert_int_equal(memory_store_count(third.ms, OP_SETTINGS), reads);
    fixture_end(&third);
}

/* ---- the census ---- */

static void on_counted(struct census_call *call)
{
}

static void the_census_counts_what_is_within_reach_and_says_so(void **state)
{
    struct census_call call = {.wait_ms = 1000, .on_done = on_counted};

    push(&f, near, "1", 60000, 5000);
    push(&f, far, "1", 60000, 5000);
    take_away();
    queue_census(f.q, &call);
    fixture_turn(&f);
    assert_int_equal(call.status, STATUS_OK);
    assert_int_equal(call.last->total.delayed, 1);
    assert_false(call.last->is_whole);
    give_back();
    fixture_advance(&f, 6000);
    queue_census(f.q, &call);
    fixture_turn(&f);
    assert_int_equal(call.last->total.delayed, 2);
    assert_true(call.last->is_whole);
}

static void a_census_under_way_does_not_wait_for_the_bucket(void **state)
{
    struct census_call call = {.wait_ms = 60000, .on_done = on_counted};

    memory_store_take_away(f.ms, AWAY);
    queue_census(f.q, &call); /* the store holds what it asks */
    fixture_turn(&f);
    assert_int_equal(call.status, STATUS_UNAVAILABLE);
    queue_census(f.q, &call);
    fixture_turn(&f);
    assert_int_equal(call.status, STATUS_OK);
}

static void a_census_leaves_out_a_bucket_that_goes_before_its_turn(void **state)
{
    struct census_call call = {
        .wait_ms = 60000, .on_done = on_counted, .status = STATUS_UNKNOWN};

    memory_store_hold(f.ms);
    queue_census(f.q, &call);
    memory_store_take_away(f.ms, AWAY + 1);
    fixture_turn(&f);
    memory_store_unhold(f.ms);
    fixture_turn(&f);
    assert_int_equal(call.status, STATUS_OK);
    assert_false(call.last->is_whole);
    memory_store_give_back(f.ms, AWAY + 1);
}

/* For a key of the bucket that is somebody else's, say. */
static void a_census_leaves_out_a_bucket_where_redis_refuses(void **state)
{
    struct census_call call = {.wait_ms = 60000, .on_done = on_counted};

    push(&f, near, "1", 60000, 5000);
    push(&f, far, "1", 60000, 5000);
    memory_store_fail(f.ms, 1, STATUS_STORE_ERROR, MEMORY_UNDONE);
    queue_census(f.q, &call);
    fixture_turn(&f);
    assert_int_equal(call.status, STATUS_OK);
    assert_in_range(call.last->total.delayed, 1, 2);
    assert_false(call.last->is_whole);
}

static void a_census_that_redis_refuses_in_all_buckets_fails(void **state)
{
    struct census_call call = {.wait_ms = 60000, .on_done = on_counted};

    memory_store_fail(f.ms, memory_store_port(f.ms)->buckets, STATUS_STORE_ERROR,
                      MEMORY_UNDONE);
    queue_census(f.q, &call);
    fixture_turn(&f);
    assert_int_equal(call.status, STATUS_STORE_ERROR);
}

/* ---- ids ---- */

static bool is_acked;

static void on_acked(struct id_ack *ack)
{
    is_acked = true;
}

static void an_id_is_found_within_reach(void **state)
{
    struct id_ack ack = {.id = BYTES("1"), .holder = 2, .on_done = on_acked};

    push(&other, near, "1", 0, 5000);
    consume_by_id(&other, &a, near, 1);
    delivered(&other, &a);
    take_away();
    is_acked = false;
    queue_ack_by_id(f.q, &ack);
    fixture_turn(&f);
    assert_true(is_acked);
    assert_int_equal(ack.status, STATUS_OK);
}

static void an_id_that_is_not_found_is_looked_for_in_the_bucket_that_is_away(void **state)
{
    struct id_ack ack = {.id = BYTES("1"), .holder = 2, .on_done = on_acked};

    push(&other, far, "1", 0, 5000);
    consume_by_id(&other, &a, far, 1);
    delivered(&other, &a);
    take_away();
    is_acked = false;
    queue_ack_by_id(f.q, &ack);
    fixture_turn(&f);
    assert_false(is_acked);
    give_back();
    assert_true(is_acked);
    assert_int_equal(ack.status, STATUS_OK);
}

/* ---- the reconciler ---- */

static void lose(const char *topic)
{
    push(&f, topic, "lost", 3600000, 5000);
    memory_store_lose(f.ms, crc16(bytes_of_text(topic)) % BUCKETS, bytes_of_text(topic),
                      BYTES("lost"));
}

static void what_is_within_reach_is_mended(void **state)
{
    lose(near);
    lose(far);
    take_away();
    fixture_advance(&f, RECONCILER_START_MS + 30000);
    assert_int_equal(queue_stats(f.q)->repaired[DAMAGE_NO_JOB], 1);
    give_back();
    fixture_advance(&f, 30000);
    assert_int_equal(queue_stats(f.q)->repaired[DAMAGE_NO_JOB], 2);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(who_waits_at_several_topics_gets_what_is_within_reach),
        TEST(who_waited_before_gets_what_is_within_reach),
        TEST(a_pop_that_the_store_holds_lets_its_consumer_go),
        TEST(who_waits_is_served_at_once_when_the_bucket_is_back),
        TEST(who_waited_before_is_served_when_the_bucket_is_back),
        TEST(who_does_not_wait_is_held_until_the_bucket_is_back),
        TEST(who_waits_in_vain_gets_nothing_in_time),
        TEST(what_changed_meanwhile_is_known_when_the_bucket_is_back),
        TEST(a_change_elsewhere_is_known_at_once),
        TEST(all_others_are_read_again_and_again),
        TEST(a_push_within_reach_asks_for_no_settings_though_a_bucket_was_never_read),
        TEST(the_census_counts_what_is_within_reach_and_says_so),
        TEST(a_census_under_way_does_not_wait_for_the_bucket),
        TEST(a_census_leaves_out_a_bucket_that_goes_before_its_turn),
        TEST(a_census_leaves_out_a_bucket_where_redis_refuses),
        TEST(a_census_that_redis_refuses_in_all_buckets_fails),
        TEST(an_id_is_found_within_reach),
        TEST(an_id_that_is_not_found_is_looked_for_in_the_bucket_that_is_away),
        TEST(what_is_within_reach_is_mended),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
