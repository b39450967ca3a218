/* Leadership: the token first, then the scans; and how it ends. */
#include "base/crc16.h"
#include "node/queue/leadership.h"
#include "node/queue/tests/fixtures/nodes_fixture.h"

#include <stdio.h>
#include <string.h>

#define BUCKETS 64 /* as many as there are by default */
#define ONE     "11111111111111111111111111111111:"
#define FIRST   ONE "0000000000000001"
#define SECOND  ONE "0000000000000002"
#define FOREIGN "22222222222222222222222222222222:0000000000000001"

static bool may;
static unsigned asked, fenced, drained;
static char seen[OP_TOKEN_MAX + 1];

static bool may_act(void *arg)
{
    asked++;
    return may;
}

static void on_fenced(void *arg, struct bytes token)
{
    fenced++;
    memcpy(seen, token.at, token.len);
    seen[token.len] = '\0';
}

static void on_drained(void *arg)
{
    drained++;
}

static void begin_to_lead(struct fixture *node, const char *token)
{
    struct queue_leader leader = {.token = bytes_of_text(token),
                                  .may_act = may_act,
                                  .on_fenced = on_fenced,
                                  .on_drained = on_drained};

    queue_lead(node->q, &leader);
}

static void lead(struct fixture *node, const char *token)
{
    begin_to_lead(node, token);
    fixture_turn(node);
}

static int set_up(void **state)
{
    may = true;
    asked = fenced = drained = 0;
    seen[0] = '\0';
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

/* ---- begin ---- */

static void ignore(struct op *op)
{
}

static void scans_a_bucket_only_when_it_has_the_token(void **state)
{
    memory_store_hold(f.ms);
    lead(&f, FIRST);
    fixture_advance(&f, 5000);
    assert_int_equal(count(OP_FENCE), BUCKETS);
    assert_int_equal(count(OP_SCAN), 0);
    memory_store_release(f.ms, 1);
    fixture_advance(&f, 5000);
    assert_int_equal(count(OP_SCAN), 1);
    fixture_unhold(&f);
    assert_int_equal(count(OP_FENCE), BUCKETS);
    assert_int_equal(count(OP_SCAN), BUCKETS);
}

static enum status assert_at(struct fixture *node, unsigned bucket, const char *token)
{
    static struct op op;

    op = (struct op){
        .verb = OP_FENCE, .bucket = bucket, .token = bytes_of_text(token), .on_done = ignore};
    store_submit(memory_store_port(node->ms), &op);
    fixture_turn(node);
    return op.status;
}

/* Each bucket, not as many assertions as there are buckets; and not by its first scan. */
static void assert_all_fence(const char *earlier)
{
    for (unsigned i = 0; i < BUCKETS; i++)
        if (assert_at(&other, i, earlier) != STATUS_FENCED)
            fail_msg("bucket %u has not taken the token", i);
    assert_int_equal(count(OP_SCAN), 0);
}

static void every_bucket_has_the_token_before_any_scan(void **state)
{
    memory_store_hold(f.ms);
    lead(&f, SECOND);
    assert_all_fence(FIRST);
    memory_store_unhold(f.ms);
}

static void an_assertion_that_fails_is_made_again(void **state)
{
    memory_store_fail(f.ms, 2, STATUS_UNKNOWN, MEMORY_UNDONE);
    lead(&f, FIRST);
    assert_int_equal(count(OP_SCAN), BUCKETS - 2);
    fixture_advance(&f, LED_RETRY_MS);
    assert_int_equal(count(OP_FENCE), BUCKETS + 2);
    assert_int_equal(count(OP_SCAN), BUCKETS);
}

static void a_leader_moves_what_is_due(void **state)
{
    lead(&f, FIRST);
    push(&f, "t", "1", 500, 5000);
    fixture_advance(&f, 500);
    assert_int_equal(state_of(&f, "t", "1"), JOB_READY);
}

/* ---- whether it may ---- */

static void sends_nothing_while_it_may_not_act(void **state)
{
    may = false;
    lead(&f, FIRST);
    fixture_advance(&f, 5000);
    assert_int_equal(count(OP_FENCE), 0);
    assert_true(asked > 0);
    may = true;
    fixture_advance(&f, LED_RETRY_MS);
    assert_int_equal(count(OP_SCAN), BUCKETS);
}

static void asks_before_each_scan(void **state)
{
    unsigned long scans;

    lead(&f, FIRST);
    scans = count(OP_SCAN);
    may = false;
    push(&f, "t", "1", 500, 5000);
    fixture_advance(&f, 5000);
    assert_int_equal(count(OP_SCAN), scans);
    assert_int_equal(state_of(&f, "t", "1"), JOB_DELAYED);
    may = true;
    fixture_advance(&f, 1000);
    assert_int_equal(state_of(&f, "t", "1"), JOB_READY);
}

/* ---- the store was away ---- */

static void asserts_the_token_again_when_the_store_is_back(void **state)
{
    unsigned long fences, scans;

    lead(&f, FIRST);
    fences = count(OP_FENCE);
    scans = count(OP_SCAN);
    memory_store_take_down(f.ms);
    fixture_advance(&f, 5000);
    assert_int_equal(count(OP_FENCE), fences);
    assert_int_equal(count(OP_SCAN), scans);
    memory_store_bring_up(f.ms);
    memory_store_hold(f.ms);
    fixture_turn(&f);
    assert_int_equal(count(OP_FENCE), fences + BUCKETS);
    assert_int_equal(count(OP_SCAN), scans);
    fixture_unhold(&f);
    assert_int_equal(count(OP_SCAN), scans + BUCKETS);
}

static void who_was_deposed_meanwhile_does_not_scan_again(void **state)
{
    lead(&f, FIRST);
    fixture_take_down(&f);
    lead(&other, SECOND);
    fixture_bring_up(&f);
    assert_int_equal(fenced, 1);
    assert_string_equal(seen, SECOND);
}

/* ---- fenced ---- */

static void the_one_before_stands_by_when_it_meets_a_higher_token(void **state)
{
    unsigned long scans;

    lead(&f, FIRST);
    lead(&other, SECOND);
    push(&f, "t", "1", 500, 5000);
    fixture_advance(&f, 1000);
    assert_int_equal(fenced, 1);
    assert_string_equal(seen, SECOND);
    scans = count(OP_SCAN);
    fixture_advance(&f, 10000);
    assert_int_equal(count(OP_SCAN), scans);
    assert_int_equal(fenced, 1);
    assert_int_equal(state_of(&f, "t", "1"), JOB_DELAYED);
    fixture_advance(&other, 1000);
    assert_int_equal(state_of(&f, "t", "1"), JOB_READY);
}

static void leads_again_with_a_higher_token(void **state)
{
    lead(&other, FIRST);
    lead(&f, FOREIGN);
    assert_int_equal(fenced, 1);
    lead(&f, SECOND);
    assert_int_equal(count(OP_SCAN), BUCKETS);
    assert_int_equal(fenced, 1);
}

static void a_late_answer_to_an_older_lead_is_not_about_this_one(void **state)
{
    lead(&f, FIRST);
    memory_store_hold(f.ms);
    lead(&other, SECOND);
    fixture_advance(&f, 1000); /* its scans are answered FENCED, but not yet */
    queue_deactivate(f.q);
    begin_to_lead(&f, ONE "0000000000000003");
    fixture_unhold(&f);
    assert_int_equal(fenced, 0);
    assert_int_equal(drained, 0);
}

/* ---- end ---- */

static void is_drained_when_all_scans_are_answered(void **state)
{
    memory_store_hold(f.ms);
    lead(&f, FIRST);
    queue_deactivate(f.q);
    fixture_turn(&f);
    assert_int_equal(drained, 0);
    fixture_release(&f, BUCKETS - 1);
    assert_int_equal(drained, 0);
    fixture_unhold(&f);
    assert_int_equal(drained, 1);
    assert_int_equal(count(OP_SCAN), 0);
}

static void is_drained_at_once_where_nothing_is_under_way(void **state)
{
    lead(&f, FIRST);
    queue_deactivate(f.q);
    assert_int_equal(drained, 0);
    fixture_turn(&f);
    assert_int_equal(drained, 1);
}

static void a_stop_does_not_wait_for_the_leader(void **state)
{
    begin_to_lead(&f, FIRST);
    fixture_stop(&f);
    fixture_turn(&f);
    assert_true(f.is_stopped);
    assert_int_equal(drained, 0);
}

/* ---- two nodes ---- */

static void a_standby_tells_the_leader_of_what_is_due_soon(void **state)
{
    lead(&f, FIRST);
    fixture_advance(&f, 300); /* the next safety scan is in 700 ms */
    fixture_advance(&other, 300);
    push(&other, "t", "1", 100, 5000);
    fixture_advance(&f, 100);
    assert_int_equal(state_of(&f, "t", "1"), JOB_READY);
}

static void what_is_far_away_is_left_to_the_safety_scan(void **state)
{
    lead(&f, FIRST);
    push(&other, "t", "1", 1500, 5000);
    fixture_advance(&f, 1499);
    assert_int_equal(state_of(&f, "t", "1"), JOB_DELAYED);
    fixture_advance(&f, 1);
    assert_int_equal(state_of(&f, "t", "1"), JOB_READY);
}

static void advance_both(int64_t ms)
{
    fixture_advance(&f, ms);
    fixture_advance(&other, ms);
}

/* Of the second job nobody tells: the leader was told of the first, and scans then, though that
 * job is gone and it has scanned since. */
static void who_was_told_scans_then_whatever_it_has_seen_since(void **state)
{
    struct call call = {0};

    lead(&f, FIRST);
    advance_both(300);
    push(&other, "t", "1", 200, 5000);
    advance_both(0);
    submit(&other, &call, OP_CANCEL, "t", "1", 0);
    push(&f, "t", "0", 50, 5000);
    advance_both(60);
    push(&other, "t", "2", 200, 5000);
    advance_both(199);
    assert_int_equal(state_of(&f, "t", "2"), JOB_DELAYED);
    advance_both(1);
    assert_int_equal(state_of(&f, "t", "2"), JOB_READY);
}

/* ---- adoption ---- */

static bool is_adopted;

static void on_adopted(struct adoption *adoption)
{
    is_adopted = true;
}

static unsigned ended;

static void on_ended(struct adoption *adoption)
{
    ended++;
}

static void let_go(struct fixture *node)
{
    memory_store_release(node->ms, 1);
    fixture_turn(node);
}

static void an_operator_gives_the_store_to_this_cluster(void **state)
{
    struct adoption adoption = {.token = FOREIGN, .on_done = on_adopted};

    lead(&other, FIRST);
    is_adopted = false;
    queue_adopt(f.q, &adoption);
    assert_false(is_adopted);
    fixture_turn(&f);
    assert_true(is_adopted);
    assert_int_equal(adoption.status, STATUS_OK);
    lead(&f, FOREIGN);
    assert_int_equal(count(OP_SCAN), BUCKETS);
    fixture_advance(&other, 1000);
    assert_int_equal(fenced, 1);
    assert_string_equal(seen, FOREIGN);
}

/* The first node has had `head` answers when the second one begins; then the second one gets
 * `step` answers for each of the first one's, until both have ended. */
static void race(struct adoption *first, struct adoption *second, unsigned head, unsigned step)
{
    ended = 0;
    memory_store_hold(f.ms);
    memory_store_hold(other.ms);
    queue_adopt(f.q, first);
    for (unsigned i = 0; i < head; i++)
        let_go(&f);
    queue_adopt(other.q, second);
    while (ended < 2)
        for (unsigned i = 0; i < step; i++) {
            let_go(&other);
            if (i == 0)
                let_go(&f);
        }
    memory_store_unhold(f.ms);
    memory_store_unhold(other.ms);
}

static unsigned buckets_of(const char *token)
{
    unsigned count = 0;

    for (unsigned i = 0; i < BUCKETS; i++)
        count += assert_at(&f, i, token) == STATUS_OK;
    return count;
}

/* Wherever the second one overtakes the first: where the buckets are divided at the end, one
 * of them at least is told. */
static void of_two_adoptions_at_once_one_is_told_that_the_buckets_are_divided(void **state)
{
    unsigned divided = 0;

    for (unsigned head = 0; head <= 2 * BUCKETS; head++)
        for (unsigned step = 1; step < 4; step++) {
            struct adoption first = {.token = FIRST, .on_done = on_ended};
            struct adoption second = {.token = FOREIGN, .on_done = on_ended};
            unsigned left;

            race(&first, &second, head, step);
            left = buckets_of(FIRST);
            if (left == 0 || left == BUCKETS)
                continue;
            divided++;
            if (first.status == STATUS_OK && second.status == STATUS_OK)
                fail_msg("head %u, step %u: %u buckets are left", head, step, left);
        }
    assert_true(divided > 0);
}

static void an_adoption_tells_to_whom_the_buckets_went(void **state)
{
    struct adoption first = {.token = FIRST, .on_done = on_ended};
    struct adoption second = {.token = "", .on_done = on_ended};

    race(&first, &second, BUCKETS / 2, 1);
    assert_int_equal(second.status, STATUS_OK);
    assert_int_equal(first.status, STATUS_FENCED);
    assert_in_range(first.lost, 1, BUCKETS);
    assert_string_equal(first.lost_to, OP_TOKEN_STANDALONE);
}

static void an_adoption_by_who_was_deposed_has_lost_no_bucket(void **state)
{
    struct adoption adoption = {.token = FIRST, .on_done = on_ended};

    memory_store_hold(f.ms);
    queue_adopt(f.q, &adoption);
    for (unsigned i = 0; i < BUCKETS; i++)
        let_go(&f); /* the first round */
    assert_int_equal(assert_at(&other, BUCKETS / 2, SECOND), STATUS_OK);
    fixture_unhold(&f);
    assert_int_equal(adoption.status, STATUS_FENCED);
    assert_int_equal(adoption.lost, 0);
}

static void knows_of_divided_buckets(const char *token)
{
    struct adoption adoption = {.on_done = on_ended};
    struct bytes by = {0};

    for (unsigned i = 0; i < BUCKETS / 4; i++)
        assert_int_equal(assert_at(&other, i, FOREIGN), STATUS_OK);
    lead(&f, token);
    assert_int_equal(fenced, 1);
    assert_int_equal(queue_divided(f.q, &by), 0); /* it may have been led until now */
    lead(&f, token);
    assert_int_equal(queue_divided(f.q, &by), BUCKETS / 4);
    assert_true(bytes_equal(by, BYTES(FOREIGN)));
    lead(&f, token);
    assert_int_equal(queue_divided(f.q, &by), BUCKETS / 4);
    strcpy(adoption.token, token);
    queue_adopt(f.q, &adoption);
    fixture_turn(&f);
    assert_int_equal(adoption.status, STATUS_OK);
    lead(&f, token);
    assert_int_equal(queue_divided(f.q, &by), 0);
    assert_true(queue_has_led(f.q));
}

/* A topic of the second half of the buckets. */
static const char *topic_behind(void)
{
    static char topic[8];

    for (unsigned i = 0; i == 0 || crc16(bytes_of_text(topic)) % BUCKETS < BUCKETS / 2; i++)
        snprintf(topic, sizeof(topic), "t%u", i);
    return topic;
}

static void moves_what_is_due_in_its_own_buckets(const char *token)
{
    const char *topic = topic_behind();

    for (unsigned i = 0; i < BUCKETS / 2; i++)
        assert_int_equal(assert_at(&other, i, FOREIGN), STATUS_OK);
    lead(&f, token);
    lead(&f, token);
    push(&f, topic, "1", 500, 5000);
    fixture_advance(&f, 5000);
    assert_int_equal(state_of(&f, topic, "1"), JOB_DELAYED);
    lead(&f, token);
    assert_int_equal(state_of(&f, topic, "1"), JOB_READY);
    assert_int_equal(fenced, 3);
}

/* The answers of those that refuse it come first. */
static void of_divided_buckets_each_try_of_a_leader_moves_what_is_due_in_its_own(void **state)
{
    moves_what_is_due_in_its_own_buckets(FIRST);
}

static void so_it_was_before_for_a_standalone_node_that_asserts_nothing(void **state)
{
    moves_what_is_due_in_its_own_buckets("");
}

/* Its master hangs, or a key is of a wrong type: the others' refusal is not to wait for that.
 */
static void a_bucket_that_never_answers_well_holds_up_no_refusal(void **state)
{
    unsigned long before;

    for (unsigned i = 0; i < BUCKETS / 2; i++)
        assert_int_equal(assert_at(&other, i, FOREIGN), STATUS_OK);
    lead(&f, FIRST);
    lead(&f, FIRST);
    assert_int_equal(fenced, 2);
    before = count(OP_FENCE);
    memory_store_hold(f.ms);
    lead(&f, FIRST);
    fixture_release(&f, BUCKETS / 2 - 1); /* all of its own but one have answered */
    assert_int_equal(count(OP_FENCE) - before, BUCKETS / 2);
    fixture_advance(&f, LED_RETRY_MS);
    assert_int_equal(count(OP_FENCE) - before, BUCKETS);
    fixture_unhold(&f);
    assert_int_equal(fenced, 3);
}

static void a_leader_that_is_fenced_knows_when_the_buckets_are_divided(void **state)
{
    knows_of_divided_buckets(FIRST);
}

static void so_does_a_standalone_node(void **state)
{
    knows_of_divided_buckets("");
}

/* All of them went, one after the other: some answers to what it sent before are still good. */
static void buckets_that_all_go_are_not_divided(void **state)
{
    struct adoption adoption = {.token = FOREIGN, .on_done = on_ended};
    struct bytes by;

    for (unsigned again = 0; again < 2; again++) {
        lead(&f, "");
        queue_adopt(other.q, &adoption);
        fixture_turn(&other);
        fixture_advance(&f, 1000);
        assert_int_equal(fenced, 2 * again + 1);
        assert_int_equal(queue_divided(f.q, &by), 0);
        lead(&f, "");
        assert_int_equal(queue_divided(f.q, &by), 0);
        adoption = (struct adoption){.on_done = on_ended};
        queue_adopt(f.q, &adoption);
        fixture_turn(&f);
        adoption = (struct adoption){.token = FOREIGN, .on_done = on_ended};
    }
}

static void adoption_says_why_it_did_not_come_to_its_end(void **state)
{
    struct adoption adoption = {.token = FIRST, .on_done = on_adopted};

    memory_store_fail(f.ms, 1, STATUS_UNAVAILABLE, MEMORY_UNDONE);
    queue_adopt(f.q, &adoption);
    fixture_turn(&f);
    assert_int_equal(adoption.status, STATUS_UNAVAILABLE);
    fixture_stop(&f);
    queue_adopt(f.q, &adoption);
    fixture_turn(&f);
    assert_int_equal(adoption.status, STATUS_SHUTTING_DOWN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(scans_a_bucket_only_when_it_has_the_token),
        TEST(every_bucket_has_the_token_before_any_scan),
        TEST(an_assertion_that_fails_is_made_again),
        TEST(a_leader_moves_what_is_due),
        TEST(sends_nothing_while_it_may_not_act),
        TEST(asks_before_each_scan),
        TEST(asserts_the_token_again_when_the_store_is_back),
        TEST(who_was_deposed_meanwhile_does_not_scan_again),
        TEST(the_one_before_stands_by_when_it_meets_a_higher_token),
        TEST(leads_again_with_a_higher_token),
        TEST(a_late_answer_to_an_older_lead_is_not_about_this_one),
        TEST(is_drained_when_all_scans_are_answered),
        TEST(is_drained_at_once_where_nothing_is_under_way),
        TEST(a_stop_does_not_wait_for_the_leader),
        TEST(a_standby_tells_the_leader_of_what_is_due_soon),
        TEST(what_is_far_away_is_left_to_the_safety_scan),
        TEST(who_was_told_scans_then_whatever_it_has_seen_since),
        TEST(an_operator_gives_the_store_to_this_cluster),
        TEST(of_two_adoptions_at_once_one_is_told_that_the_buckets_are_divided),
        TEST(an_adoption_tells_to_whom_the_buckets_went),
        TEST(an_adoption_by_who_was_deposed_has_lost_no_bucket),
        TEST(a_leader_that_is_fenced_knows_when_the_buckets_are_divided),
        TEST(so_does_a_standalone_node),
        TEST(buckets_that_all_go_are_not_divided),
        TEST(of_divided_buckets_each_try_of_a_leader_moves_what_is_due_in_its_own),
        TEST(so_it_was_before_for_a_standalone_node_that_asserts_nothing),
        TEST(a_bucket_that_never_answers_well_holds_up_no_refusal),
        TEST(adoption_says_why_it_did_not_come_to_its_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
