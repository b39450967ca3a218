#include "node/store/redis/wait_queue.h"
#include "base/tests/unit.h"

#define HOLD_MS 100

static struct timers timers;
static struct redis_hold hold;
static struct redis_held a, b, c;
static struct redis_held *expired[4];
static unsigned expired_count;
static uint64_t gauge;

static void on_expired(struct redis_hold *h, struct redis_held *held)
{
    assert_true(expired_count < 4);
    expired[expired_count++] = held;
}

static int set_up(void **state)
{
    a = (struct redis_held){.number = 1};
    b = (struct redis_held){.number = 2};
    c = (struct redis_held){.number = 3};
    expired_count = 0;
    gauge = 0;
    timers_init(&timers, 1000);
    redis_hold_init(&hold, &timers, &gauge, on_expired);
    return 0;
}

static int tear_down(void **state)
{
    redis_hold_fini(&hold);
    timers_fini(&timers);
    return 0;
}

static void who_came_first_is_taken_first(void **state)
{
    redis_hold_add(&hold, &a, HOLD_MS);
    redis_hold_add(&hold, &b, HOLD_MS);
    assert_int_equal(gauge, 2);
    assert_ptr_equal(redis_hold_take(&hold), &a);
    assert_false(redis_hold_is_empty(&hold));
    assert_ptr_equal(redis_hold_take(&hold), &b);
    assert_true(redis_hold_is_empty(&hold));
    assert_null(redis_hold_take(&hold));
    assert_int_equal(gauge, 0);
    timers_run(&timers, 1000 + 2 * HOLD_MS);
    assert_int_equal(expired_count, 0);
}

static void each_waits_for_its_own_time(void **state)
{
    redis_hold_add(&hold, &a, HOLD_MS);
    timers_run(&timers, 1010);
    redis_hold_add(&hold, &b, HOLD_MS);
    redis_hold_add(&hold, &c, HOLD_MS);
    timers_run(&timers, 1099);
    assert_int_equal(expired_count, 0);
    assert_int_equal(timers_run(&timers, 1100), 10);
    assert_int_equal(expired_count, 1);
    assert_ptr_equal(expired[0], &a);
    assert_int_equal(gauge, 2);
    timers_run(&timers, 1110);
    assert_int_equal(expired_count, 3);
    assert_ptr_equal(expired[1], &b);
    assert_ptr_equal(expired[2], &c);
    assert_int_equal(gauge, 0);
}

static void those_behind_one_that_was_taken_have_their_whole_time(void **state)
{
    redis_hold_add(&hold, &a, HOLD_MS);
    timers_run(&timers, 1050);
    redis_hold_add(&hold, &b, HOLD_MS);
    assert_ptr_equal(redis_hold_take(&hold), &a);
    timers_run(&timers, 1149);
    assert_int_equal(expired_count, 0);
    timers_run(&timers, 1150);
    assert_int_equal(expired_count, 1);
    assert_ptr_equal(expired[0], &b);
}

/* ---- who comes back ---- */

static void send_one(struct redis_held *expected)
{
    assert_ptr_equal(redis_hold_take(&hold), expected);
}

static void who_comes_back_goes_before_who_was_never_sent(void **state)
{
    redis_hold_add(&hold, &c, HOLD_MS);
    redis_hold_put_back(&hold, &a, HOLD_MS);
    redis_hold_put_back(&hold, &b, HOLD_MS);
    assert_int_equal(gauge, 3);
    send_one(&a);
    send_one(&b);
    send_one(&c);
    assert_int_equal(gauge, 0);
}

/* a was sent again and lost again, while c waits for it; the answer of b is late. */
static void after_a_second_loss_the_order_is_still_that_of_the_first_sending(void **state)
{
    redis_hold_put_back(&hold, &a, HOLD_MS);
    redis_hold_put_back(&hold, &c, HOLD_MS);
    send_one(&a);
    redis_hold_put_back(&hold, &a, HOLD_MS);
    redis_hold_put_back(&hold, &b, HOLD_MS);
    send_one(&a);
    send_one(&b);
    send_one(&c);
}

static void who_comes_back_has_no_time_added(void **state)
{
    redis_hold_put_back(&hold, &b, HOLD_MS);
    timers_run(&timers, 1060);
    send_one(&b);
    redis_hold_add(&hold, &c, HOLD_MS);
    redis_hold_put_back(&hold, &b, HOLD_MS);
    timers_run(&timers, 1099);
    assert_int_equal(expired_count, 0);
    timers_run(&timers, 1100);
    assert_int_equal(expired_count, 1);
    assert_ptr_equal(expired[0], &b);
    send_one(&c);
}

static void who_left_is_no_landmark_any_more(void **state)
{
    redis_hold_put_back(&hold, &a, HOLD_MS);
    redis_hold_put_back(&hold, &b, HOLD_MS);
    redis_hold_remove(&hold, &b);
    redis_hold_put_back(&hold, &c, HOLD_MS);
    redis_hold_remove(&hold, &a);
    assert_int_equal(gauge, 1);
    send_one(&c);
}

static void nobody_waits_for_longer_than_a_new_limit(void **state)
{
    redis_hold_add(&hold, &a, 10 * HOLD_MS);
    redis_hold_limit(&hold, HOLD_MS);
    redis_hold_add(&hold, &b, HOLD_MS);
    timers_run(&timers, 1000 + HOLD_MS - 1);
    assert_int_equal(expired_count, 0);
    timers_run(&timers, 1000 + HOLD_MS);
    assert_int_equal(expired_count, 2);
    assert_ptr_equal(expired[0], &a);
    assert_ptr_equal(expired[1], &b);
    assert_int_equal(gauge, 0);
}

static void a_longer_limit_lets_who_waits_go_when_he_would_have(void **state)
{
    redis_hold_add(&hold, &a, HOLD_MS);
    redis_hold_limit(&hold, 10 * HOLD_MS);
    timers_run(&timers, 1000 + HOLD_MS);
    assert_int_equal(expired_count, 1);
}

/* ---- what can be retried: a line of doc/redis.md each ---- */

static void what_only_looks_can_be_said_again(void **state)
{
    for (unsigned verb = 0; verb < OP_COUNT; verb++) {
        if (op_has((enum op_verb)verb, TRAIT_READS) &&
            !op_has((enum op_verb)verb, TRAIT_FENCED))
            assert_true(op_has((enum op_verb)verb, TRAIT_RETRIED));
    }
}

static void what_a_lease_guards_can_be_said_again(void **state)
{
    static const enum op_verb verbs[] = {OP_POP,    OP_DELIVERED, OP_KEEP,
                                         OP_RETURN, OP_TOUCH,     OP_ACK};

    for (unsigned i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
        assert_true(op_has(verbs[i], TRAIT_RETRIED));
}

static void a_push_is_in_the_ledger_or_has_not_happened(void **state)
{
    assert_true(op_has(OP_PUSH, TRAIT_RETRIED));
    assert_int_equal(redis_retried_status(OP_PUSH, STATUS_DUPLICATE), STATUS_DUPLICATE);
}

static void what_may_meet_a_new_life_of_the_id_cannot(void **state)
{
    static const enum op_verb verbs[] = {OP_RELEASE, OP_BURY,      OP_CANCEL, OP_MOVE, OP_KICK,
                                         OP_PURGE,   OP_CONFIGURE, OP_RECORD, OP_TAKE};

    for (unsigned i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
        assert_false(op_has(verbs[i], TRAIT_RETRIED));
}

static void what_a_leader_alone_may_do_is_left_to_it(void **state)
{
    for (unsigned verb = 0; verb < OP_COUNT; verb++) {
        if (op_has((enum op_verb)verb, TRAIT_FENCED))
            assert_false(op_has((enum op_verb)verb, TRAIT_RETRIED));
    }
}

static void what_another_change_refuses_may_have_happened_before(void **state)
{
    assert_int_equal(redis_retried_status(OP_IDENTIFY, STATUS_OK), STATUS_OK);
    assert_int_equal(redis_retried_status(OP_IDENTIFY, STATUS_WRONG_STATE), STATUS_UNKNOWN);
    assert_int_equal(redis_retried_status(OP_IDENTIFY, STATUS_DUPLICATE), STATUS_UNKNOWN);
    assert_int_equal(redis_retried_status(OP_IDENTIFY, STATUS_TOO_MANY_IDENTITIES),
                     STATUS_UNKNOWN);
    assert_int_equal(redis_retried_status(OP_MOVE, STATUS_WRONG_STATE), STATUS_WRONG_STATE);
}

static void a_job_that_is_gone_was_acknowledged(void **state)
{
    assert_int_equal(redis_retried_status(OP_ACK, STATUS_OK), STATUS_OK);
    assert_int_equal(redis_retried_status(OP_ACK, STATUS_NOT_FOUND), STATUS_OK);
}

static void an_id_that_lives_may_be_another_job(void **state)
{
    assert_int_equal(redis_retried_status(OP_ACK, STATUS_NOT_OWNER), STATUS_UNKNOWN);
    assert_int_equal(redis_retried_status(OP_ACK, STATUS_NOT_RESERVED), STATUS_UNKNOWN);
}

static void all_else_is_as_it_is_answered(void **state)
{
    assert_int_equal(redis_retried_status(OP_TOUCH, STATUS_NOT_OWNER), STATUS_NOT_OWNER);
    assert_int_equal(redis_retried_status(OP_GET, STATUS_NOT_FOUND), STATUS_NOT_FOUND);
    assert_int_equal(redis_retried_status(OP_ACK, STATUS_STORE_ERROR), STATUS_STORE_ERROR);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(who_came_first_is_taken_first),
        TEST(each_waits_for_its_own_time),
        TEST(those_behind_one_that_was_taken_have_their_whole_time),
        TEST(who_comes_back_goes_before_who_was_never_sent),
        TEST(after_a_second_loss_the_order_is_still_that_of_the_first_sending),
        TEST(who_comes_back_has_no_time_added),
        TEST(who_left_is_no_landmark_any_more),
        TEST(nobody_waits_for_longer_than_a_new_limit),
        TEST(a_longer_limit_lets_who_waits_go_when_he_would_have),
        cmocka_unit_test(what_only_looks_can_be_said_again),
        cmocka_unit_test(what_a_lease_guards_can_be_said_again),
        cmocka_unit_test(a_push_is_in_the_ledger_or_has_not_happened),
        cmocka_unit_test(what_may_meet_a_new_life_of_the_id_cannot),
        cmocka_unit_test(what_a_leader_alone_may_do_is_left_to_it),
        cmocka_unit_test(what_another_change_refuses_may_have_happened_before),
        cmocka_unit_test(a_job_that_is_gone_was_acknowledged),
        cmocka_unit_test(an_id_that_lives_may_be_another_job),
        cmocka_unit_test(all_else_is_as_it_is_answered),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
