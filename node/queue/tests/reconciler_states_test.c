/* When the reconciler may work, and what it does after failures. */
#include "node/queue/tests/fixtures/reconciler_fixture.h"

/* ---- when it may ---- */

static void does_nothing_where_it_is_not_active(void **state)
{
    reconciler_set_active(&r, false);
    lose("t", "1");
    fixture_advance(&f, 60000);
    assert_int_equal(count(OP_PLACES), 0);
    reconciler_set_active(&r, true);
    fixture_advance(&f, LOOKED + SUSPECTS_REST_MS);
    assert_int_equal(repaired(), 1);
}

static void no_rate_is_no_reconciler(void **state)
{
    core.options.audit_rate = 0;
    reconciler_reload(&r);
    assert_int_equal(r.state, RECONCILER_OFF);
    lose("t", "1");
    fixture_advance(&f, 60000);
    assert_int_equal(count(OP_PLACES), 0);
    core.options.audit_rate = 1000;
    reconciler_reload(&r);
    fixture_advance(&f, LOOKED + SUSPECTS_REST_MS);
    assert_int_equal(repaired(), 1);
}

static void leaves_with_the_answer_on_its_way(void **state)
{
    static const enum reconciler_state busy[] = {RECONCILER_NAMING, RECONCILER_LOOKING,
                                                 RECONCILER_LOOKING_AGAIN, RECONCILER_MENDING};
    char id[2] = "a";

    for (unsigned i = 0; i < sizeof(busy) / sizeof(*busy); i++, id[0]++) {
        lose("t", id);
        wait_until_it_is(busy[i]);
        reconciler_set_active(&r, false);
        assert_int_equal(r.state, RECONCILER_LEAVING);
        memory_store_unhold(its_store);
        fixture_turn(&f);
        assert_int_equal(r.state, RECONCILER_OFF);
        assert_int_equal(HASH_COUNT(r.suspects.by_name), 0);
        reconciler_set_active(&r, true);
    }
}

static void comes_back_before_it_has_left(void **state)
{
    lose("t", "1");
    wait_until_it_is(RECONCILER_LOOKING);
    reconciler_set_active(&r, false);
    reconciler_set_active(&r, true);
    assert_int_equal(r.state, RECONCILER_LEAVING);
    memory_store_unhold(its_store);
    fixture_turn(&f);
    assert_int_equal(r.state, RECONCILER_RESTING);
    fixture_advance(&f, LOOKED + SUSPECTS_REST_MS);
    assert_int_equal(repaired(), 1);
}

static void waits_while_the_store_is_away(void **state)
{
    lose("t", "1");
    wait_until_it_is(RECONCILER_LOOKING);
    memory_store_take_down(its_store);
    reconciler_set_store(&r, false);
    memory_store_unhold(its_store);
    fixture_advance(&f, 60000);
    assert_int_equal(r.state, RECONCILER_OFF);
    assert_int_equal(count(OP_AUDIT), 1);
    memory_store_bring_up(its_store);
    reconciler_set_store(&r, true);
    fixture_advance(&f, LOOKED + SUSPECTS_REST_MS);
    assert_int_equal(repaired(), 1);
}

/* ---- a store that has fallen back ---- */

static void begins_anew_at_once_when_the_store_has_fallen_back(void **state)
{
    push_one("t", "1");
    fixture_advance(&f, LOOKED);
    assert_int_equal(count(OP_PLACES), 1);
    reconciler_begin_anew(&r);
    fixture_turn(&f);
    assert_int_equal(count(OP_PLACES), 2);
    fixture_advance(&f, 1000);
    assert_int_equal(core.stats.audit_walks, 2);
}

/* The operation borrows its topic from the walk. */
static void begins_anew_behind_the_answer_that_is_on_its_way(void **state)
{
    lose("t", "1");
    wait_until_it_is(RECONCILER_LOOKING);
    reconciler_begin_anew(&r);
    assert_int_equal(r.state, RECONCILER_LOOKING);
    assert_int_equal(count(OP_PLACES), 1);
    memory_store_unhold(its_store);
    fixture_turn(&f);
    assert_int_equal(count(OP_PLACES), 2);
    fixture_advance(&f, LOOKED + SUSPECTS_REST_MS);
    assert_int_equal(repaired(), 1);
}

static void begins_with_the_first_page_where_it_may_work_later(void **state)
{
    reconciler_set_active(&r, false);
    reconciler_begin_anew(&r);
    fixture_advance(&f, 60000);
    assert_int_equal(count(OP_PLACES), 0);
    assert_int_equal(r.state, RECONCILER_OFF);
}

/* ---- what fails ---- */

static void what_passes_by_itself_is_tried_again(void **state)
{
    lose("t", "1");
    fixture_advance(&f, RECONCILER_START_MS - 1);
    memory_store_fail(its_store, 3, STATUS_UNAVAILABLE, MEMORY_UNDONE);
    fixture_advance(&f, 3500);
    assert_int_equal(count(OP_PLACES), 4);
    assert_int_equal(core.stats.suspects, 1);
}

static void a_repair_of_which_nothing_is_known_is_said_again(void **state)
{
    lose("t", "1");
    fixture_advance(&f, LOOKED);
    wait_until_it_is(RECONCILER_LOOKING_AGAIN);
    memory_store_fail(its_store, 1, STATUS_UNKNOWN, MEMORY_DONE);
    memory_store_unhold(its_store);
    fixture_advance(&f, 5000);
    assert_int_equal(count(OP_REPAIR), 2);
    assert_true(list_is_empty(&r.suspects.sure));
}

static void a_topic_that_cannot_be_looked_at_is_left_to_the_next_walk(void **state)
{
    lose("t", "1");
    wait_until_it_is(RECONCILER_NAMING);
    memory_store_fail(its_store, 1, STATUS_STORE_ERROR, MEMORY_UNDONE);
    memory_store_unhold(its_store);
    fixture_advance(&f, 5000);
    assert_int_equal(count(OP_AUDIT), 1);
    assert_int_equal(core.stats.suspects, 0);
    assert_int_equal(core.stats.audit_walks, 1);
    fixture_advance(&f, RECONCILER_WALK_MS);
    assert_int_equal(core.stats.suspects, 1);
}

static void names_that_cannot_be_had_are_asked_for_in_the_next_walk(void **state)
{
    lose("t", "1");
    fixture_advance(&f, RECONCILER_START_MS - 1);
    memory_store_fail(its_store, 1, STATUS_STORE_ERROR, MEMORY_UNDONE);
    fixture_advance(&f, RECONCILER_WALK_MS);
    assert_int_equal(count(OP_PLACES), 1);
    assert_int_equal(core.stats.audit_walks, 0);
    fixture_advance(&f, 1000);
    assert_int_equal(core.stats.suspects, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(does_nothing_where_it_is_not_active),
        TEST(no_rate_is_no_reconciler),
        TEST(leaves_with_the_answer_on_its_way),
        TEST(comes_back_before_it_has_left),
        TEST(waits_while_the_store_is_away),
        TEST(begins_anew_at_once_when_the_store_has_fallen_back),
        TEST(begins_anew_behind_the_answer_that_is_on_its_way),
        TEST(begins_with_the_first_page_where_it_may_work_later),
        TEST(what_passes_by_itself_is_tried_again),
        TEST(a_repair_of_which_nothing_is_known_is_said_again),
        TEST(a_topic_that_cannot_be_looked_at_is_left_to_the_next_walk),
        TEST(names_that_cannot_be_had_are_asked_for_in_the_next_walk),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
