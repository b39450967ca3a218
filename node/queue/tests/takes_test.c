/* One job by its id: a pop with take_id. */
#include "node/queue/tests/fixtures/nodes_fixture.h"

static void take(struct consumer *c, const char *topic, const char *id)
{
    c->pop.take_id = bytes_of_text(id);
    consume(&f, c, topic, 1, 0);
}

static enum status status_of_take(const char *id)
{
    struct consumer c = {0};

    take(&c, "t", id);
    assert_int_equal(c.done, 1);
    return c.status;
}

static void a_job_that_nobody_would_pop_is_handed_out(void **state)
{
    push(&f, "t", "first", 0, 60000);
    push(&f, "t", "later", 3600000, 60000);
    take(&a, "t", "later");
    assert_got(&a, "later");
    assert_string_equal(a.topic, "t");
    assert_int_equal(count(OP_POP), 0);
    delivered(&f, &a);
    fixture_advance(&f, 10);
    assert_int_equal(count(OP_DELIVERED), 1);
    fixture_advance(&f, 59000);
    assert_int_equal(state_of(&f, "t", "later"), JOB_RESERVED);
    assert_int_equal(state_of(&f, "t", "first"), JOB_READY);
    assert_int_equal(settle(OP_ACK, &a), STATUS_OK);
}

static void a_dead_job_is_handed_out(void **state)
{
    bury_one(&f, "t", "1");
    take(&a, "t", "1");
    assert_got(&a, "1");
    delivered(&f, &a);
    assert_int_equal(settle(OP_RELEASE, &a), STATUS_OK);
    assert_int_equal(state_of(&f, "t", "1"), JOB_READY);
}

static void a_job_that_somebody_has_is_not(void **state)
{
    assert_int_equal(status_of_take("1"), STATUS_NOT_FOUND);
    hand_out("t", "1", 60000);
    assert_int_equal(status_of_take("1"), STATUS_WRONG_STATE);
    assert_int_equal(queue_stats(f.q)->waiting, 0);
}

static void it_is_held_and_returned_like_any_job(void **state)
{
    push(&f, "t", "1", 0, 60000);
    take(&a, "t", "1");
    fixture_advance(&f, 30000); /* renewals hold it */
    assert_int_equal(state_of(&f, "t", "1"), JOB_RESERVED);
    returned(&f, &a);
    assert_int_equal(state_of(&f, "t", "1"), JOB_READY);
}

static void its_id_alone_is_enough_to_acknowledge_it(void **state)
{
    push(&f, "t", "1", 0, 60000);
    a.pop.take_id = BYTES("1");
    consume_by_id(&f, &a, "t", 7);
    assert_got(&a, "1");
    delivered(&f, &a);
    assert_int_equal(settle(OP_ACK, &a), STATUS_OK);
}

/* Its names may be gone then. */
static void a_job_that_comes_for_one_who_has_left_is_returned(void **state)
{
    char topic[] = "t", id[] = "1";

    push(&f, "t", "1", 0, 60000);
    memory_store_hold(f.ms);
    take(&a, topic, id);
    assert_int_equal(a.done, 0);
    queue_pop_cancel(&a.pop);
    memset(topic, 'x', 1);
    memset(id, 'x', 1);
    fixture_turn(&f);
    assert_int_equal(a.status, STATUS_CANCELLED);
    assert_int_equal(a.done, 1);
    fixture_unhold(&f);
    assert_int_equal(state_of(&f, "t", "1"), JOB_READY);
    assert_int_equal(a.done, 1);
}

static void one_that_the_store_does_not_get_is_refused(void **state)
{
    push(&f, "t", "1", 0, 60000);
    memory_store_fail(f.ms, 1, STATUS_UNKNOWN, MEMORY_DONE);
    assert_int_equal(status_of_take("1"), STATUS_UNKNOWN);
    fixture_advance(&f, 6000); /* nobody has it: it comes back */
    assert_int_equal(state_of(&f, "t", "1"), JOB_READY);
    fixture_take_down(&f);
    assert_int_equal(status_of_take("1"), STATUS_UNAVAILABLE);
    fixture_bring_up(&f);
}

static void a_stop_waits_for_it_and_returns_the_job(void **state)
{
    push(&f, "t", "1", 0, 60000);
    memory_store_hold(f.ms);
    take(&a, "t", "1");
    fixture_stop(&f);
    fixture_turn(&f);
    assert_int_equal(a.status, STATUS_CANCELLED);
    assert_false(f.is_stopped);
    fixture_unhold(&f);
    fixture_turn(&f);
    assert_true(f.is_stopped);
    assert_int_equal(memory_store_count(f.ms, OP_RETURN), 1);
}

static void is_checked(void **state)
{
    struct bytes topics[] = {BYTES("t"), BYTES("u")};
    struct pop pop = {.topics = topics, .topic_count = 1, .count = 1, .take_id = BYTES("1")};

    assert_int_equal(check_pop(&pop), STATUS_OK);
    pop.take_id = BYTES("a b");
    assert_int_equal(check_pop(&pop), STATUS_BAD_ID);
    pop.take_id = BYTES("1");
    pop.topic_count = 2;
    assert_int_equal(check_pop(&pop), STATUS_OUT_OF_RANGE);
    pop.topic_count = 1;
    pop.count = 2;
    assert_int_equal(check_pop(&pop), STATUS_OUT_OF_RANGE);
    pop.count = 1;
    pop.wait_ms = 1;
    assert_int_equal(check_pop(&pop), STATUS_OUT_OF_RANGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_ACTIVE(a_job_that_nobody_would_pop_is_handed_out),
        WITH_ACTIVE(a_dead_job_is_handed_out),
        WITH_ACTIVE(a_job_that_somebody_has_is_not),
        WITH_ACTIVE(it_is_held_and_returned_like_any_job),
        WITH_ACTIVE(its_id_alone_is_enough_to_acknowledge_it),
        WITH_ACTIVE(a_job_that_comes_for_one_who_has_left_is_returned),
        WITH_ACTIVE(one_that_the_store_does_not_get_is_refused),
        WITH_ACTIVE(a_stop_waits_for_it_and_returns_the_job),
        cmocka_unit_test(is_checked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
