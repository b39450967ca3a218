/* Scans while buckets go out of reach and come back, and the store stays up. */
#include "base/crc16.h"
#include "node/queue/leadership.h"
#include "node/queue/tests/fixtures/nodes_fixture.h"
#include "node/queue/shares.h"

#include <string.h>

#define BUCKETS 4
#define AWAY    2
#define ONE     "11111111111111111111111111111111:"
#define FIRST   ONE "0000000000000001"
#define SECOND  ONE "0000000000000002"

static unsigned fenced, drained;
static char topics[BUCKETS][8]; /* one in each bucket */

static void on_fenced(void *arg, struct bytes seen)
{
    fenced++;
}

static void on_drained(void *arg)
{
    drained++;
}

static void lead(struct fixture *node, const char *token)
{
    const struct queue_leader leader = {
        .token = bytes_of_text(token), .on_fenced = on_fenced, .on_drained = on_drained};

    queue_lead(node->q, &leader);
    fixture_turn(node);
}

static void name_topics(void)
{
    unsigned named = 0;

    memset(topics, 0, sizeof(topics));
    for (char c = 'a'; named < BUCKETS; c++) {
        char *topic = topics[crc16(bytes_of(&c, 1)) % BUCKETS];

        named += !*topic;
        *topic = c;
    }
}

static int set_up(void **state)
{
    fenced = drained = 0;
    name_topics();
    fixture_start(&f, BUCKETS);
    fixture_join(&other, &f);
    fixture_turn(&f);
    fixture_turn(&other);
    return 0;
}

static int tear_down(void **state)
{
    fixture_end_two(&f, &other);
    return 0;
}

/* Its jobs are due, and then looked at by who can. */
static enum job_state state_in(unsigned bucket)
{
    return state_of(&other, topics[bucket], "1");
}

static void push_to_all(int64_t delay_ms)
{
    for (unsigned i = 0; i < BUCKETS; i++)
        push(&other, topics[i], "1", delay_ms, 5000);
}

static void check_all_but_it_move(void)
{
    fixture_advance(&f, 5000);
    fixture_advance(&other, 5000);
    for (unsigned i = 0; i < BUCKETS; i++)
        assert_int_equal(state_in(i), i == AWAY ? JOB_DELAYED : JOB_READY);
}

/* ---- a leader ---- */

static void one_that_is_away_from_the_start_holds_up_no_other(void **state)
{
    memory_store_take_away(f.ms, AWAY);
    push_to_all(500);
    lead(&f, FIRST);
    check_all_but_it_move();
}

static void one_that_goes_away_holds_up_no_other(void **state)
{
    lead(&f, FIRST);
    memory_store_take_away(f.ms, AWAY);
    push_to_all(500);
    check_all_but_it_move();
}

static void nothing_is_sent_to_one_that_is_away(void **state)
{
    unsigned long scans, fences;

    lead(&f, FIRST);
    for (unsigned i = 0; i < BUCKETS; i++)
        memory_store_take_away(f.ms, i);
    fixture_turn(&f);
    scans = count(OP_SCAN);
    fences = count(OP_FENCE);
    fixture_advance(&f, 10000);
    assert_int_equal(count(OP_SCAN), scans);
    assert_int_equal(count(OP_FENCE), fences);
}

static void it_takes_the_token_again_and_is_scanned_at_once_when_it_is_back(void **state)
{
    unsigned long fences;

    lead(&f, FIRST);
    fences = count(OP_FENCE);
    memory_store_take_away(f.ms, AWAY);
    push_to_all(500);
    fixture_advance(&f, 700);
    fixture_advance(&other, 700);
    memory_store_hold(f.ms);
    fixture_give_back(&f, AWAY);
    assert_int_equal(count(OP_FENCE), fences + 1);
    assert_int_equal(state_in(AWAY), JOB_DELAYED);
    fixture_unhold(&f);
    assert_int_equal(state_in(AWAY), JOB_READY);
}

static void one_that_comes_and_goes_while_the_token_is_on_its_way_is_asked_again(void **state)
{
    memory_store_hold(f.ms);
    lead(&f, FIRST);
    fixture_take_away(&f, AWAY);
    fixture_give_back(&f, AWAY);
    assert_int_equal(count(OP_FENCE), BUCKETS);
    fixture_unhold(&f);
    assert_int_equal(count(OP_FENCE), BUCKETS + 1);
    assert_int_equal(count(OP_SCAN), BUCKETS);
}

static void who_was_deposed_meanwhile_finds_that_in_the_bucket_that_is_back(void **state)
{
    lead(&f, FIRST);
    for (unsigned i = 0; i < BUCKETS; i++)
        memory_store_take_away(f.ms, i);
    fixture_turn(&f);
    lead(&other, SECOND);
    fixture_give_back(&f, AWAY);
    assert_int_equal(fenced, 1);
    assert_int_equal(count(OP_SCAN), BUCKETS);
}

static void draining_does_not_wait_for_it(void **state)
{
    lead(&f, FIRST);
    fixture_take_away(&f, AWAY);
    queue_deactivate(f.q);
    fixture_turn(&f);
    assert_int_equal(drained, 1);
}

static void the_store_that_comes_up_again_says_what_is_still_away(void **state)
{
    unsigned long fences;

    lead(&f, FIRST);
    memory_store_take_away(f.ms, AWAY);
    fixture_take_down(&f);
    fences = count(OP_FENCE);
    push_to_all(500);
    memory_store_bring_up(f.ms);
    fixture_advance(&f, 600);
    fixture_advance(&other, 600);
    assert_in_range(count(OP_FENCE) - fences, BUCKETS - 1, BUCKETS);
    for (unsigned i = 0; i < BUCKETS; i++)
        assert_int_equal(state_in(i), i == AWAY ? JOB_DELAYED : JOB_READY);
    fixture_give_back(&f, AWAY);
    assert_int_equal(state_in(AWAY), JOB_READY);
}

/* ---- without a token, and with shares ---- */

static void check_away_and_back(void)
{
    fixture_turn(&f);
    memory_store_take_away(f.ms, AWAY);
    push_to_all(500);
    check_all_but_it_move();
    fixture_give_back(&f, AWAY);
    assert_int_equal(state_in(AWAY), JOB_READY);
    assert_int_equal(count(OP_FENCE), 0);
}

static void so_it_is_for_a_node_alone(void **state)
{
    queue_activate(f.q);
    check_away_and_back();
}

static void share_alone(void)
{
    const struct bytes self = fixture_options().node;
    const struct shares_view view = {.number = 1, .nodes = &self, .count = 1};

    queue_share(f.q, &view);
}

static void so_it_is_where_all_nodes_scan(void **state)
{
    share_alone();
    check_away_and_back();
}

/* The store does not name it: what is not away then is within reach. */
static void one_that_comes_back_with_the_store_is_scanned_where_all_nodes_scan(void **state)
{
    share_alone();
    fixture_take_away(&f, AWAY);
    fixture_take_down(&f);
    memory_store_give_back(f.ms, AWAY);
    fixture_bring_up(&f);
    push_to_all(500);
    fixture_advance(&f, 5000);
    fixture_advance(&other, 5000);
    assert_int_equal(state_in(AWAY), JOB_READY);
}

static void what_was_away_before_it_shares_is_not_scanned(void **state)
{
    const struct shares_view nobody = {0};
    unsigned long scans;

    fixture_take_away(&f, AWAY);
    queue_share(f.q, &nobody);
    scans = count(OP_SCAN);
    assert_int_equal(scans, BUCKETS - 1);
    fixture_advance(&f, 10000);
    assert_int_equal(count(OP_SCAN) - scans, 10 * (BUCKETS - 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(one_that_is_away_from_the_start_holds_up_no_other),
        TEST(one_that_goes_away_holds_up_no_other),
        TEST(nothing_is_sent_to_one_that_is_away),
        TEST(it_takes_the_token_again_and_is_scanned_at_once_when_it_is_back),
        TEST(one_that_comes_and_goes_while_the_token_is_on_its_way_is_asked_again),
        TEST(who_was_deposed_meanwhile_finds_that_in_the_bucket_that_is_back),
        TEST(draining_does_not_wait_for_it),
        TEST(the_store_that_comes_up_again_says_what_is_still_away),
        TEST(so_it_is_for_a_node_alone),
        TEST(so_it_is_where_all_nodes_scan),
        TEST(one_that_comes_back_with_the_store_is_scanned_where_all_nodes_scan),
        TEST(what_was_away_before_it_shares_is_not_scanned),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
