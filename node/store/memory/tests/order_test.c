#include "base/tests/unit.h"
#include <stdio.h>

#include "node/store/memory/order.h"
#include "node/store/memory/topic.h"

#define MANY 500

static struct order order;
static struct record records[MANY];
static char ids[MANY][8];

static int setup(void **state)
{
    for (unsigned i = 0; i < MANY; i++) {
        int len = snprintf(ids[i], sizeof(ids[i]), "%03u", i);

        records[i] = (struct record){.job.id = bytes_of(ids[i], (size_t)len)};
    }
    order = (struct order){0};
    return 0;
}

static int teardown(void **state)
{
    order_fini(&order);
    return 0;
}

static void assert_spot(size_t index, unsigned number)
{
    assert_ptr_equal(order_at(&order, index)->record, &records[number]);
}

static void spots_stand_by_score_then_key_then_id(void **state)
{
    order_add(&order, 2, 0, &records[1]);
    order_add(&order, 1, 9, &records[2]);
    order_add(&order, 2, 0, &records[0]);
    order_add(&order, 1, 8, &records[3]);
    assert_int_equal(order.count, 4);
    assert_spot(0, 3);
    assert_spot(1, 2);
    assert_spot(2, 0);
    assert_spot(3, 1);
}

static void a_spot_is_found_or_the_one_behind_it(void **state)
{
    order_add(&order, 1, 0, &records[1]);
    order_add(&order, 1, 0, &records[3]);
    order_add(&order, 5, 0, &records[0]);
    assert_int_equal(order_find(&order, 1, 0, BYTES("003")), 1);
    assert_int_equal(order_find(&order, 1, 0, BYTES("002")), 1);
    assert_int_equal(order_find(&order, 1, 0, BYTES("004")), 2);
    assert_int_equal(order_find(&order, 6, 0, BYTES("000")), 3);
    assert_int_equal(order_find_score(&order, 1), 0);
    assert_int_equal(order_find_score(&order, 2), 2);
}

static void a_tombstone_keeps_its_place(void **state)
{
    order_add(&order, 7, 1, &records[5]);
    order_add(&order, 7, 2, &records[6]);
    order_at(&order, 0)->record = NULL;
    order_add(&order, 7, 3, &records[4]);
    assert_int_equal(order_find(&order, 7, 1, BYTES("")), 0);
    assert_int_equal(order_find(&order, 7, 2, BYTES("006")), 1);
    assert_spot(2, 4);
}

static void the_first_time_is_never_where_there_is_none(void **state)
{
    assert_true(order_first_ms(&order) == MEMORY_NEVER);
    order_add(&order, 12, 0, &records[0]);
    assert_int_equal(order_first_ms(&order), 12);
    order_remove(&order, 0);
    assert_true(order_first_ms(&order) == MEMORY_NEVER);
}

/* Room that became free in front is used, and nobody loses his place by it. */
static void many_come_behind_while_others_leave_in_front(void **state)
{
    unsigned first = 0;

    for (unsigned i = 0; i < MANY; i++) {
        order_add(&order, i, 0, &records[i]);
        if (i % 3)
            order_remove(&order, 0), first++;
        assert_spot(0, first);
        assert_spot(order.count - 1, i);
    }
    assert_true(order.room < MANY);
    for (unsigned i = 0; i < order.count; i++)
        assert_spot(i, first + i);
}

static void one_in_the_middle_leaves_the_others_in_order(void **state)
{
    for (unsigned i = 0; i < 5; i++)
        order_add(&order, 1, 0, &records[4 - i]);
    order_remove(&order, 2);
    assert_int_equal(order.count, 4);
    assert_spot(1, 1);
    assert_spot(2, 3);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(spots_stand_by_score_then_key_then_id),
        TEST(a_spot_is_found_or_the_one_behind_it),
        TEST(a_tombstone_keeps_its_place),
        TEST(the_first_time_is_never_where_there_is_none),
        TEST(many_come_behind_while_others_leave_in_front),
        TEST(one_in_the_middle_leaves_the_others_in_order),
    };
#undef TEST

    return cmocka_run_group_tests_name("memory_order", tests, NULL, NULL);
}
