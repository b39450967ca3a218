/* Nonces of pushes, and until when a push can be found by its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "node/store/redis/push_ledger.h"

#define BUCKETS 4

static struct push_ledger *ledger;
static bool renews;

static int setup(void **state)
{
    ledger = push_ledger_new(BUCKETS);
    return 0;
}

static int teardown(void **state)
{
    push_ledger_free(ledger);
    return 0;
}

static uint64_t next(unsigned bucket)
{
    return push_ledger_next(ledger, bucket, 0, &renews);
}

static void a_bucket_s_nonces_follow_each_other_in_the_ring(void **state)
{
    uint64_t first = next(1);

    assert_true(first > UINT32_MAX); /* a part of it is this worker's own */
    assert_true(next(1) == first + 1);
    assert_true(next(2) == first); /* each bucket has a ring of its own */
    assert_true(next(1) == first + 2);
}

static void two_workers_have_nothing_in_common(void **state)
{
    struct push_ledger *other = push_ledger_new(BUCKETS);

    assert_true(next(0) != push_ledger_next(other, 0, 0, &renews)); /* but once in 2^32 */
    push_ledger_free(other);
}

static void a_push_can_be_found_until_its_place_is_taken(void **state)
{
    uint64_t nonce = next(3);

    for (int i = 1; i < PUSH_LEDGER_RING; i++)
        next(3);
    assert_true(push_ledger_can_tell(ledger, 3, nonce));
    next(3);
    assert_false(push_ledger_can_tell(ledger, 3, nonce));
    assert_true(push_ledger_can_tell(ledger, 3, nonce + 1));
}

static void a_ring_is_kept_anew_once_in_a_while(void **state)
{
    push_ledger_next(ledger, 0, 5, &renews);
    assert_true(renews);
    push_ledger_next(ledger, 0, 5 + PUSH_LEDGER_RENEW_MS - 1, &renews);
    assert_false(renews);
    push_ledger_next(ledger, 0, 5 + PUSH_LEDGER_RENEW_MS, &renews);
    assert_true(renews);
    push_ledger_next(ledger, 0, 6 + PUSH_LEDGER_RENEW_MS, &renews);
    assert_false(renews);
    push_ledger_next(ledger, 1, 6 + PUSH_LEDGER_RENEW_MS, &renews);
    assert_true(renews);
}

static void the_last_acknowledged_push_is_remembered(void **state)
{
    uint64_t nonce = next(2);

    assert_true(push_ledger_last_done(ledger, 2) == 0);
    push_ledger_done(ledger, 2, nonce);
    assert_true(push_ledger_last_done(ledger, 2) == nonce);
    assert_true(push_ledger_last_done(ledger, 1) == 0);
}

#define WITH_A_LEDGER(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_A_LEDGER(a_bucket_s_nonces_follow_each_other_in_the_ring),
        WITH_A_LEDGER(two_workers_have_nothing_in_common),
        WITH_A_LEDGER(a_push_can_be_found_until_its_place_is_taken),
        WITH_A_LEDGER(a_ring_is_kept_anew_once_in_a_while),
        WITH_A_LEDGER(the_last_acknowledged_push_is_remembered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
