/* Numbers of pushes, how long a push can be found by its number, and which pushes are lost. */
#include "base/tests/unit.h"
#include "node/store/packed.h"
#include "node/store/redis/push_ledger.h"

#include <string.h>

#define BUCKETS 4

static struct push_ledger *ledger;
static char ring[PUSH_LEDGER_RING * PUSH_LEDGER_ENTRY]; /* as the script keeps it */

static int setup(void **state)
{
    ledger = push_ledger_new(BUCKETS);
    memset(ring, 0, sizeof(ring));
    return 0;
}

static int teardown(void **state)
{
    push_ledger_free(ledger);
    return 0;
}

static uint64_t next(unsigned bucket)
{
    return push_ledger_next(ledger, bucket, 0).number;
}

static struct push_note next_at(unsigned bucket, int64_t now_ms)
{
    return push_ledger_next(ledger, bucket, now_ms);
}

/* It happens, and is answered. */
static void push_well(unsigned bucket)
{
    struct push_note note = next_at(bucket, 0);

    packed_put(ring + note.number % PUSH_LEDGER_RING * PUSH_LEDGER_ENTRY, 6,
               (int64_t)note.number);
    push_ledger_done(ledger, bucket, &note, 0);
}

static bool can_say_again(unsigned bucket, uint64_t number)
{
    struct push_note note = {.number = number};

    return push_ledger_retry(ledger, bucket, &note, 0);
}

static unsigned lost(unsigned bucket, bool *may_be_more)
{
    return push_ledger_lost(ledger, bucket, bytes_of(ring, sizeof(ring)), may_be_more);
}

static void each_bucket_counts_its_pushes(void **state)
{
    assert_true(next(1) == 1);
    assert_true(next(1) == 2);
    assert_true(next(2) == 1);
    assert_true(next(1) == 3);
}

static void two_workers_have_two_rings(void **state)
{
    struct push_ledger *other = push_ledger_new(BUCKETS);

    /* But once in 2^32. */
    assert_true(push_ledger_worker(ledger) != push_ledger_worker(other));
    assert_true(next_at(0, 0).worker == push_ledger_worker(ledger));
    push_ledger_free(other);
}

static void a_push_can_be_found_until_its_place_is_taken(void **state)
{
    uint64_t number = next(3);

    for (int i = 1; i < PUSH_LEDGER_RING; i++)
        next(3);
    assert_true(can_say_again(3, number));
    next(3);
    assert_false(can_say_again(3, number));
    assert_true(can_say_again(3, number + 1));
}

static void a_ring_is_kept_anew_once_in_a_while(void **state)
{
    struct push_note note = next_at(0, 5);

    assert_true(note.renews);
    assert_true(next_at(0, 5).renews); /* the first may come to nothing */
    push_ledger_done(ledger, 0, &note, 5);
    assert_false(next_at(0, 5 + PUSH_LEDGER_RENEW_MS - 1).renews);
    note = next_at(0, 5 + PUSH_LEDGER_RENEW_MS);
    assert_true(note.renews);
    push_ledger_done(ledger, 0, &note, 5 + PUSH_LEDGER_RENEW_MS);
    assert_false(next_at(0, 6 + PUSH_LEDGER_RENEW_MS).renews);
    assert_true(next_at(1, 6 + PUSH_LEDGER_RENEW_MS).renews);
}

static void the_last_push_that_happened_is_remembered(void **state)
{
    struct push_note first = next_at(2, 0), second = next_at(2, 0);

    assert_true(push_ledger_last_done(ledger, 2, 0) == 0);
    push_ledger_done(ledger, 2, &second, 0);
    push_ledger_done(ledger, 2, &first, 0); /* retried, behind a later one */
    assert_true(push_ledger_last_done(ledger, 2, 0) == second.number);
    assert_true(push_ledger_last_done(ledger, 1, 0) == 0);
}

static void a_ring_that_may_have_gone_by_itself_is_not_missed(void **state)
{
    struct push_note note;

    push_well(0);
    note = next_at(0, 0);
    assert_true(push_ledger_retry(ledger, 0, &note, PUSH_LEDGER_KEEP_MS / 2 - 1));
    assert_true(note.was_there);
    assert_true(push_ledger_retry(ledger, 0, &note, PUSH_LEDGER_KEEP_MS / 2));
    assert_false(note.was_there);
    assert_true(push_ledger_last_done(ledger, 0, PUSH_LEDGER_KEEP_MS / 2) == 0);
}

static void what_went_with_its_ring_is_not_lost(void **state)
{
    struct push_note note;
    bool may_be_more;

    push_well(0);
    push_well(0);
    memset(ring, 0, sizeof(ring));
    note = next_at(0, PUSH_LEDGER_KEEP_MS);
    assert_true(note.renews);
    push_ledger_done(ledger, 0, &note, PUSH_LEDGER_KEEP_MS);
    assert_int_equal(push_ledger_lost(ledger, 0, BYTES(""), &may_be_more), 1);
    assert_true(push_ledger_last_done(ledger, 0, PUSH_LEDGER_KEEP_MS) == note.number);
}

static void what_the_ring_does_not_have_is_lost(void **state)
{
    bool may_be_more;

    for (int i = 0; i < 10; i++)
        push_well(0);
    next(0); /* refused, or never answered: nobody misses it */
    assert_int_equal(lost(0, &may_be_more), 0);
    assert_false(may_be_more);
    memset(ring + 8 * PUSH_LEDGER_ENTRY, 0, sizeof(ring) - 8 * PUSH_LEDGER_ENTRY);
    assert_int_equal(lost(0, &may_be_more), 3);
    assert_false(may_be_more);
    assert_int_equal(
        push_ledger_lost(ledger, 0, bytes_of(ring, 5 * PUSH_LEDGER_ENTRY), &may_be_more), 6);
    assert_int_equal(push_ledger_lost(ledger, 0, BYTES(""), &may_be_more), 10);
    assert_false(may_be_more);
}

static void an_older_round_of_the_ring_is_lost_as_well(void **state)
{
    static char before[sizeof(ring)];
    bool may_be_more;

    for (int i = 0; i < PUSH_LEDGER_RING + 5; i++)
        push_well(0);
    memcpy(before, ring, sizeof(ring));
    for (int i = 0; i < 7; i++)
        push_well(0);
    memcpy(ring, before, sizeof(ring));
    assert_int_equal(lost(0, &may_be_more), 7);
    assert_false(may_be_more);
    memset(ring, 0, sizeof(ring));
    assert_int_equal(lost(0, &may_be_more), PUSH_LEDGER_RING);
    assert_true(may_be_more);
}

static void what_is_forgotten_is_not_missed(void **state)
{
    bool may_be_more;

    push_well(0);
    push_ledger_forget(ledger, 0);
    assert_int_equal(push_ledger_lost(ledger, 0, BYTES(""), &may_be_more), 0);
    assert_false(may_be_more);
    assert_true(push_ledger_last_done(ledger, 0, 0) == 0);
    assert_true(next_at(0, 0).renews);
    assert_true(next(0) == 3); /* the numbers go on */
}

#define WITH_A_LEDGER(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_A_LEDGER(each_bucket_counts_its_pushes),
        WITH_A_LEDGER(two_workers_have_two_rings),
        WITH_A_LEDGER(a_push_can_be_found_until_its_place_is_taken),
        WITH_A_LEDGER(a_ring_is_kept_anew_once_in_a_while),
        WITH_A_LEDGER(the_last_push_that_happened_is_remembered),
        WITH_A_LEDGER(a_ring_that_may_have_gone_by_itself_is_not_missed),
        WITH_A_LEDGER(what_went_with_its_ring_is_not_lost),
        WITH_A_LEDGER(what_the_ring_does_not_have_is_lost),
        WITH_A_LEDGER(an_older_round_of_the_ring_is_lost_as_well),
        WITH_A_LEDGER(what_is_forgotten_is_not_missed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
