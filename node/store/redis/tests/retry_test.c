/* What can be retried: a line of doc/redis.md each. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "node/store/redis/wait_queue.h"

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
    static const enum op_verb verbs[] = {OP_RELEASE, OP_BURY,  OP_CANCEL,    OP_MOVE,
                                         OP_KICK,    OP_PURGE, OP_CONFIGURE, OP_RECORD};

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
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_only_looks_can_be_said_again),
        cmocka_unit_test(what_a_lease_guards_can_be_said_again),
        cmocka_unit_test(a_push_is_in_the_ledger_or_has_not_happened),
        cmocka_unit_test(what_may_meet_a_new_life_of_the_id_cannot),
        cmocka_unit_test(what_a_leader_alone_may_do_is_left_to_it),
        cmocka_unit_test(a_job_that_is_gone_was_acknowledged),
        cmocka_unit_test(an_id_that_lives_may_be_another_job),
        cmocka_unit_test(all_else_is_as_it_is_answered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
