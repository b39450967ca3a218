/* Engines that share a store: every job is moved once and in time, whoever comes and goes. */
#include "base/crc16.h"
#include "node/queue/engine.h"
#include "node/queue/tests/fixtures/sharing_fixture.h"

#include <stdio.h>

#define TOPICS 120

static uint64_t sum_of_taken(void)
{
    uint64_t taken = 0;

    for (unsigned i = 0; i < NODES; i++)
        taken += queue_stats(nodes[i].q)->locks_taken;
    return taken;
}

/* ---- all there ---- */

static void each_moves_what_is_due_in_its_own_topics_when_it_is_due(void **state)
{
    all_see(1, "abc");
    for (unsigned round = 1; round <= 3; round++) {
        push_round(TOPICS, 900);
        pass(1000);
        assert_int_equal(moved(), round * TOPICS);
        for (unsigned i = 0; i < NODES; i++)
            assert_int_equal(moved_by(i), round * owned(i, TOPICS));
    }
    assert_int_equal(latest(), 0);
    for (unsigned i = 0; i < NODES; i++) {
        assert_in_range(owned(i, TOPICS), TOPICS / 6, TOPICS / 2);
        assert_int_equal(queue_stats(nodes[i].q)->lock_conflicts, 0);
        assert_int_equal(queue_stats(nodes[i].q)->locks_stolen, 0);
    }
}

/* The topic's jobs are ready, so it stays; its lock runs out while nothing is due. */
static void a_lock_is_taken_once_and_again_after_a_rest(void **state)
{
    all_see(1, "abc");
    for (unsigned i = 0; i < 20; i++) {
        assert_int_equal(push(&nodes[A], "t", "", 400, 60000), STATUS_OK);
        pass(400);
    }
    assert_int_equal(moved(), 20);
    assert_int_equal(sum_of_taken(), 1);
    pass(LOCK_MS);
    assert_int_equal(push(&nodes[A], "t", "", 400, 60000), STATUS_OK);
    pass(400);
    assert_int_equal(sum_of_taken(), 2);
    assert_int_equal(latest(), 0);
}

static void idle_topics_cost_nobody_anything(void **state)
{
    unsigned long before[NODES];

    all_see(1, "abc");
    for (unsigned i = 0; i < TOPICS; i++) {
        char topic[8] = {(char)('a' + i % 26), (char)('a' + i / 26)};

        assert_int_equal(push(&nodes[A], topic, "", 3600000, 5000), STATUS_OK);
    }
    turn();
    for (unsigned i = 0; i < NODES; i++)
        before[i] = scans_of(i);
    pass(10000);
    for (unsigned i = 0; i < NODES; i++)
        assert_int_equal(scans_of(i) - before[i], 10 * BUCKETS);
    assert_int_equal(sum_of_taken(), 0);
}

static void others_topics_arm_no_timer_here(void **state)
{
    unsigned owner = 0;
    unsigned long before[NODES];

    all_see(1, "abc");
    push(&nodes[A], "t", "", 1, 5000);
    pass(1);
    while (moved_by(owner) == 0)
        assert_in_range(++owner, 0, NODES - 1);
    for (unsigned i = 0; i < NODES; i++)
        before[i] = scans_of(i);
    for (unsigned i = 0; i < 200; i++) {
        push(&nodes[A], "t", "", 10, 5000);
        pass(10);
    }
    assert_int_equal(moved_by(owner), 201);
    for (unsigned i = 0; i < NODES; i++) {
        if (i == owner)
            assert_in_range(scans_of(i) - before[i], 200, 450);
        else
            assert_int_equal(scans_of(i) - before[i], 2 * BUCKETS);
    }
}

/* One node pushes to another's topic: it tells of it. */
static void who_pushes_to_anothers_topic_tells_it(void **state)
{
    all_see(1, "abc");
    pass(300); /* the next safety scans are in 700 ms */
    for (unsigned i = 0; i < NODES; i++) {
        char topic[] = {'t', (char)('0' + i), 0};

        assert_int_equal(push(&nodes[i], topic, "", 100, 5000), STATUS_OK);
    }
    pass(100);
    assert_int_equal(moved(), NODES);
    assert_int_equal(latest(), 0);
}

/* A topic of B's in the first one's bucket (NULL: any), but of another share. */
static void find_topic_of_b(char *text, const char *first)
{
    for (unsigned number = 0;; number++) {
        struct bytes topic = bytes_of(text, (size_t)sprintf(text, "topic:%u", number));
        unsigned bucket = crc16(topic) % BUCKETS;

        if (first && (crc16(bytes_of_text(first)) % BUCKETS != bucket ||
                      share_of(bytes_of_text(first)) == share_of(topic)))
            continue;
        if (shares_mark(queue_shares(nodes[B].q), bucket, share_of(topic), 0) == SHARE_OWN)
            return;
    }
}

/* Who has told of an event says nothing of the next one, even if the first is gone: whoever
 * heard of it scans then, also if there was something else before. */
static void what_was_told_is_kept_though_its_job_is_gone(void **state)
{
    char first[32], second[32];
    struct call call = {0};

    all_see(1, "abc");
    find_topic_of_b(first, NULL);
    find_topic_of_b(second, first);
    pass(300);
    assert_int_equal(push(&nodes[A], first, "", 100, 5000), STATUS_OK);
    assert_int_equal(push(&nodes[A], second, "gone", 500, 5000), STATUS_OK);
    pass(50);
    assert_int_equal(submit(&nodes[A], &call, OP_CANCEL, second, "gone", 0), STATUS_OK);
    pass(50);
    assert_int_equal(moved(), 1);
    assert_int_equal(push(&nodes[A], second, "again", 450, 5000), STATUS_OK);
    pass(450);
    assert_int_equal(moved(), 2);
    assert_int_equal(moved_by(B), 2);
    assert_int_equal(latest(), 0);
}

/* ---- they come and go ---- */

/* From now on it looks a moment before the others, who else are done before it does. */
static void be_first(unsigned node)
{
    fixture_advance(&nodes[node], 1);
}

static void a_node_joins_and_nothing_is_late(void **state)
{
    all_see(1, "ab");
    push_round(TOPICS, 1000);
    pass(500);
    assert_int_equal(moved_by(C), 0);
    be_first(C);
    all_see(2, "abc");
    push_round(TOPICS, 1000);
    pass(1000);
    assert_int_equal(moved(), 2 * TOPICS);
    assert_int_equal(latest(), 0);
    assert_true(moved_by(C) >= owned(C, TOPICS));
    assert_true(queue_stats(nodes[C].q)->locks_taken_over > 0);
    assert_int_equal(queue_stats(nodes[A].q)->locks_taken_over, 0);
}

/* It takes over from those who do not know yet; what it does not, they still do. */
static void the_newcomer_knows_first(void **state)
{
    all_see(1, "ab");
    push_round(TOPICS, 1000);
    pass(500);
    be_first(C);
    see(C, 2, "abc");
    push_round(TOPICS, 1000);
    pass(400);
    see(A, 2, "abc");
    pass(100);
    see(B, 2, "abc");
    pass(1000);
    assert_int_equal(moved(), 2 * TOPICS);
    assert_int_equal(latest(), 0);
    assert_true(queue_stats(nodes[C].q)->locks_taken_over > 0);
}

/* Who had a topic goes on with it, but takes no new one. */
static void the_newcomer_knows_last(void **state)
{
    all_see(1, "ab");
    push_round(TOPICS, 1000);
    pass(500);
    see(A, 2, "abc");
    see(B, 2, "abc");
    push_round(TOPICS, 1000);
    pass(300);
    see(C, 2, "abc");
    pass(1000);
    assert_int_equal(moved(), 2 * TOPICS);
    assert_in_range(latest(), 0, 300);
}

static void a_node_leaves_and_nothing_is_late(void **state)
{
    all_see(1, "abc");
    push_round(TOPICS, 1000);
    pass(500);
    all_see(2, "ab"); /* its znode is gone, it scans on for a moment */
    push_round(TOPICS, 1000);
    pass(50);
    fixture_stop(&nodes[C]);
    pass(1000);
    assert_true(nodes[C].is_stopped);
    assert_int_equal(moved(), 2 * TOPICS);
    assert_int_equal(latest(), 0);
}

static void a_stop_ends_its_scans(void **state)
{
    unsigned long scans;

    all_see(1, "c");
    pass(100);
    fixture_stop(&nodes[C]);
    scans = scans_of(C);
    pass(5000);
    see(C, 2, "c");
    pass(5000);
    assert_int_equal(scans_of(C), scans);
}

/* They were sent with the marks of the view before. */
static void buckets_that_are_being_scanned_are_looked_at_again(void **state)
{
    unsigned long scans;

    all_see(1, "abc");
    memory_store_hold(nodes[C].ms);
    pass(SAFE_MS);
    scans = scans_of(C);
    see(C, 2, "c");
    turn();
    assert_int_equal(scans_of(C), scans);
    memory_store_unhold(nodes[C].ms);
    turn();
    assert_int_equal(scans_of(C), scans + BUCKETS);
}

/* ---- they die ---- */

static void what_a_silent_node_leaves_is_taken_when_it_is_late(void **state)
{
    all_see(1, "abc");
    push_round(TOPICS, 1000);
    pass(300);
    are_frozen[C] = true;
    pass(700 + LATE_MS + SAFE_MS);
    assert_true(queue_stats(nodes[A].q)->locks_stolen > 0);
    assert_true(queue_stats(nodes[B].q)->locks_stolen > 0);
    pass(LOCK_MS); /* what it had locked */
    assert_int_equal(moved(), TOPICS);
    assert_in_range(latest(), LATE_MS, LOCK_MS + LATE_MS + SAFE_MS);
}

/* Those that are told to rest long between safety scans do not. */
static void however_long_the_safety_interval_is_what_is_late_is_found(void **state)
{
    for (unsigned i = 0; i < NODES; i++) {
        struct queue_options options = nodes[i].q->core.options;

        options.scan_interval_ms = 60000;
        queue_reload(nodes[i].q, &options);
    }
    all_see(1, "abc");
    are_frozen[C] = true;
    push_round(TOPICS, 1000);
    pass(1000 + LATE_MS + SAFE_MS);
    assert_int_equal(moved(), TOPICS);
}

static void when_it_is_gone_from_the_view_nothing_is_late(void **state)
{
    all_see(1, "abc");
    push_round(TOPICS, 1000);
    pass(300);
    are_frozen[C] = true;
    see(A, 2, "ab");
    see(B, 2, "ab");
    push_round(TOPICS, 1000);
    pass(1000);
    assert_int_equal(moved(), 2 * TOPICS);
    assert_int_equal(latest(), 0);
}

/* Of all jobs together. */
static int64_t lateness(void)
{
    int64_t sum_ms = 0;

    for (unsigned i = 0; i < NODES; i++)
        sum_ms += queue_stats(nodes[i].q)->move_lateness.sum;
    return sum_ms;
}

/* It wakes with its old view: whoever has its topics now has a newer one. What is pushed there
 * is told to nobody at first: the next safety scan finds it. Then it has met a conflict. */
static void who_wakes_up_with_an_old_view_is_barred(void **state)
{
    int64_t late_ms;

    all_see(1, "abc");
    push_round(TOPICS, 500);
    pass(500);
    are_frozen[C] = true;
    see(A, 2, "ab");
    see(B, 2, "ab");
    push_round(TOPICS, 1000);
    pass(1000);
    thaw(C);
    push_round(TOPICS, 1000);
    pass(1000 + SAFE_MS);
    assert_in_range(latest(), 1, SAFE_MS);
    assert_true(queue_stats(nodes[C].q)->lock_conflicts > 0);
    late_ms = lateness();
    for (unsigned i = 0; i < 4; i++) {
        push_round(TOPICS, 1000);
        pass(1000);
    }
    assert_int_equal(moved(), 7 * TOPICS);
    assert_int_equal(lateness(), late_ms);
    see(C, 2, "ab");
    pass(2000);
    assert_int_equal(moved(), 7 * TOPICS);
}

/* A process of the same name, started anew: what the one before has locked, it takes over. */
static void who_comes_back_under_its_name_takes_its_topics_again(void **state)
{
    struct queue_options options = fixture_options();

    all_see(1, "abc");
    push_round(TOPICS, 500);
    pass(500);
    see(A, 2, "ab");
    see(B, 2, "ab");
    fixture_end(&nodes[C]);
    options.lock_ms = LOCK_MS;
    options.node = BYTES("c");
    fixture_join_as(&nodes[C], &base, &options);
    all_see(3, "abc");
    push_round(TOPICS, 500);
    pass(500);
    assert_int_equal(moved_by(C), owned(C, TOPICS));
    assert_int_equal(latest(), 0);
}

/* ---- strange views ---- */

/* ZooKeeper was set up anew. What was locked under the larger number goes on until its time is
 * over; then the new ones take it. */
static void a_view_may_go_backwards(void **state)
{
    all_see(900, "ab");
    push_round(TOPICS, 500);
    pass(500);
    all_see(3, "abc");
    for (unsigned i = 0; i < 8; i++) {
        push_round(TOPICS, 1000);
        pass(1000);
    }
    pass(1000);
    assert_int_equal(moved(), 9 * TOPICS);
    assert_in_range(latest(), 0, SAFE_MS);
    assert_true(moved_by(C) >= owned(C, TOPICS));
}

static void nodes_that_never_agree_lose_nothing(void **state)
{
    see(A, 5, "a");
    see(B, 6, "ab");
    see(C, 7, "abc");
    for (unsigned i = 0; i < 8; i++) {
        push_round(TOPICS, 1000);
        pass(1000);
    }
    pass(LATE_MS + SAFE_MS);
    assert_int_equal(moved(), 8 * TOPICS);
    assert_in_range(latest(), 0, LATE_MS + SAFE_MS);
}

static void without_any_view_all_is_moved_when_it_is_late(void **state)
{
    all_see(0, "");
    push_round(TOPICS, 1000);
    pass(1000 + LATE_MS + SAFE_MS);
    assert_int_equal(moved(), TOPICS);
    assert_in_range(latest(), LATE_MS, LATE_MS + SAFE_MS);
}

static void before_the_first_call_nobody_scans(void **state)
{
    push_round(TOPICS, 1000);
    pass(5000);
    for (unsigned i = 0; i < NODES; i++) {
        assert_null(queue_shares(nodes[i].q));
        assert_int_equal(scans_of(i), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_moves_what_is_due_in_its_own_topics_when_it_is_due),
        TEST(a_lock_is_taken_once_and_again_after_a_rest),
        TEST(idle_topics_cost_nobody_anything),
        TEST(others_topics_arm_no_timer_here),
        TEST(who_pushes_to_anothers_topic_tells_it),
        TEST(what_was_told_is_kept_though_its_job_is_gone),
        TEST(a_node_joins_and_nothing_is_late),
        TEST(the_newcomer_knows_first),
        TEST(the_newcomer_knows_last),
        TEST(a_node_leaves_and_nothing_is_late),
        TEST(a_stop_ends_its_scans),
        TEST(buckets_that_are_being_scanned_are_looked_at_again),
        TEST(what_a_silent_node_leaves_is_taken_when_it_is_late),
        TEST(however_long_the_safety_interval_is_what_is_late_is_found),
        TEST(when_it_is_gone_from_the_view_nothing_is_late),
        TEST(who_wakes_up_with_an_old_view_is_barred),
        TEST(who_comes_back_under_its_name_takes_its_topics_again),
        TEST(a_view_may_go_backwards),
        TEST(nodes_that_never_agree_lose_nothing),
        TEST(without_any_view_all_is_moved_when_it_is_late),
        TEST(before_the_first_call_nobody_scans),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
