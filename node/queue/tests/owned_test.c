/* Reservations that end with their owner's process: `other` has them, `f` leads. */
#include "node/queue/owned.h"
#include "node/queue/tests/fixtures/nodes_fixture.h"

/* Two clocks that go together. */
static void both_advance(int64_t ms)
{
    for (int64_t passed = 0; passed < ms; passed += 100) {
        fixture_advance(&f, 100);
        fixture_advance(&other, 100);
    }
}

static void own(struct fixture *node, struct consumer *c, const char *topic)
{
    c->pop.is_owned = true;
    consume(node, c, topic, 1, 0);
    assert_int_equal(c->status, STATUS_OK);
    delivered(node, c);
    fixture_advance(node, 10);
}

static enum status end(struct fixture *node, enum op_verb verb, const struct consumer *c)
{
    struct call call = {.op.in.lease = {.is_owned = true, .is_end = verb == OP_RELEASE}};

    return submit(node, &call, verb, c->topic, c->ids[0], c->stamps[0]);
}

static void push_both(void)
{
    push(&f, "t", "1", 0, 3600000);
    push(&f, "u", "2", 0, 3600000);
}

static void what_a_dead_process_held_is_ready_in_seconds(void **state)
{
    push_both();
    own(&other, &a, "t");
    own(&other, &b, "u");
    both_advance(20000);
    assert_int_equal(state_of(&f, "t", "1"), JOB_RESERVED);
    fixture_advance(&f, OWNED_SILENCE_MS); /* the other one is dead */
    assert_int_equal(state_of(&f, "t", "1"), JOB_RESERVED);
    fixture_advance(&f, 2 * OWNED_BEAT_MS + OWNED_LATE_MS);
    assert_int_equal(state_of(&f, "t", "1"), JOB_READY);
    assert_int_equal(state_of(&f, "u", "2"), JOB_READY);
    assert_int_equal(count(OP_RELEASE), 2);
}

/* And is then forgotten: nobody looks for its notes any more. */
static void a_dead_process_is_looked_at_once(void **state)
{
    unsigned long notes;

    push_both();
    own(&other, &a, "t");
    fixture_advance(&f, 15000);
    assert_int_equal(state_of(&f, "t", "1"), JOB_READY);
    notes = count(OP_NOTES);
    assert_in_range(notes, 1, 2 * queue_buckets(f.q));
    fixture_advance(&f, 60000);
    assert_int_equal(count(OP_NOTES), notes);
    assert_int_equal(count(OP_RELEASE), 1);
}

static void a_process_that_was_frozen_finds_its_leases_over(void **state)
{
    struct consumer again = {0};

    push_both();
    own(&other, &a, "t");
    fixture_advance(&f, 15000);
    own(&f, &again, "t");
    fixture_advance(&other, 15000);
    assert_int_equal(end(&other, OP_ACK, &a), STATUS_NOT_OWNER);
    assert_int_equal(end(&other, OP_RELEASE, &a), STATUS_NOT_OWNER);
    assert_int_equal(end(&f, OP_ACK, &again), STATUS_OK);
    own(&other, &b, "u"); /* it goes on, and is watched like any other */
    both_advance(20000);
    assert_int_equal(state_of(&f, "u", "2"), JOB_RESERVED);
    fixture_advance(&f, 15000);
    assert_int_equal(state_of(&f, "u", "2"), JOB_READY);
}

/* It wakes up when it is thought dead, and reserves before it says that it is there. */
static void what_a_process_has_just_reserved_is_left_alone(void **state)
{
    push_both();
    own(&other, &a, "t");
    fixture_advance(&f, OWNED_SILENCE_MS + OWNED_LATE_MS);
    memory_store_set_now(other.ms, memory_store_now(f.ms)); /* its own has stood still */
    b.pop.is_owned = true;
    consume(&other, &b, "u", 1, 0);
    delivered(&other, &b);
    fixture_advance(&other, 10);
    fixture_advance(&f, 2000);
    assert_int_equal(state_of(&f, "t", "1"), JOB_READY);
    assert_int_equal(state_of(&f, "u", "2"), JOB_RESERVED);
    fixture_advance(&f, 15000); /* now it is dead */
    assert_int_equal(state_of(&f, "u", "2"), JOB_READY);
}

static void an_outage_of_the_store_ends_nobody_s_reservations(void **state)
{
    push_both();
    own(&other, &a, "t");
    own(&f, &b, "u");
    both_advance(10000);
    fixture_take_down(&f);
    fixture_take_down(&other);
    both_advance(60000);
    fixture_bring_up(&f);
    fixture_advance(&f, 3000); /* the other one takes longer to come back */
    fixture_advance(&other, 3000);
    fixture_bring_up(&other);
    both_advance(30000);
    assert_int_equal(state_of(&f, "t", "1"), JOB_RESERVED);
    assert_int_equal(state_of(&f, "u", "2"), JOB_RESERVED);
    assert_int_equal(end(&other, OP_ACK, &a), STATUS_OK);
    assert_int_equal(count(OP_RELEASE), 0);
}

static void a_store_that_answers_late_ends_nobody_s_reservations(void **state)
{
    push_both();
    own(&other, &a, "t");
    both_advance(5000);
    memory_store_hold(f.ms);
    fixture_advance(&f, 15000);
    fixture_unhold(&f);
    fixture_advance(&f, 3000);
    fixture_advance(&other, 18000);
    both_advance(10000);
    assert_int_equal(state_of(&f, "t", "1"), JOB_RESERVED);
    assert_int_equal(count(OP_RELEASE), 0);
}

static void redis_s_clock_may_jump(void **state)
{
    push_both();
    own(&other, &a, "t");
    both_advance(5000);
    memory_store_set_now(f.ms, memory_store_now(f.ms) + 1000000);
    memory_store_set_now(other.ms, memory_store_now(other.ms) + 1000000);
    both_advance(10000);
    assert_int_equal(state_of(&f, "t", "1"), JOB_RESERVED);
    memory_store_set_now(f.ms, memory_store_now(f.ms) - 1000000);
    memory_store_set_now(other.ms, memory_store_now(other.ms) - 1000000);
    both_advance(10000);
    assert_int_equal(state_of(&f, "t", "1"), JOB_RESERVED);
    memory_store_set_now(f.ms, memory_store_now(f.ms) - 1000000);
    fixture_advance(&f, 15000);
    assert_int_equal(state_of(&f, "t", "1"), JOB_READY);
}

static void jobs_that_others_took_meanwhile_stay_where_they_are(void **state)
{
    struct call call = {.op.in.move = {.delay_ms = 3600000, .states = 0x1e}};

    push_both();
    own(&other, &a, "t");
    own(&other, &b, "u");
    assert_int_equal(submit(&f, &call, OP_MOVE, "t", "1", 0), STATUS_OK);
    call = (struct call){0};
    assert_int_equal(submit(&f, &call, OP_CANCEL, "u", "2", 0), STATUS_OK);
    fixture_advance(&f, 20000);
    assert_int_equal(state_of(&f, "t", "1"), JOB_DELAYED);
    assert_int_equal(state_of(&f, "u", "2"), 0);
}

static void a_bucket_that_is_away_waits_for_its_turn(void **state)
{
    push_both();
    own(&other, &a, "t");
    own(&other, &b, "u");
    for (unsigned i = 1; i < queue_buckets(f.q); i++)
        fixture_take_away(&f, i);
    fixture_advance(&f, 20000);
    for (unsigned i = 1; i < queue_buckets(f.q); i++)
        fixture_give_back(&f, i);
    fixture_advance(&f, 20000);
    assert_int_equal(state_of(&f, "t", "1"), JOB_READY);
    assert_int_equal(state_of(&f, "u", "2"), JOB_READY);
}

static void a_process_that_leaves_is_not_watched(void **state)
{
    push_both();
    own(&other, &a, "t");
    assert_int_equal(end(&other, OP_RELEASE, &a), STATUS_OK);
    fixture_stop(&other);
    fixture_turn(&other);
    assert_true(other.is_stopped);
    fixture_advance(&f, 30000);
    assert_int_equal(count(OP_NOTES), 0);
}

static void a_stop_does_not_wait_for_a_store_that_is_away(void **state)
{
    push_both();
    own(&other, &a, "t");
    fixture_take_down(&other);
    fixture_stop(&other);
    fixture_turn(&other);
    assert_true(other.is_stopped);
}

static void a_node_without_owners_says_nothing(void **state)
{
    push_both();
    consume(&other, &a, "t", 1, 0);
    delivered(&other, &a);
    both_advance(20000);
    assert_int_equal(memory_store_count(other.ms, OP_BEAT), 0);
    assert_in_range(count(OP_BEAT), 15, 25);
    assert_int_equal(count(OP_NOTES), 0);
}

static void a_job_that_never_reached_its_owner_leaves_no_note(void **state)
{
    push_both();
    a.pop.is_owned = true;
    consume(&other, &a, "t", 1, 0);
    returned(&other, &a);
    assert_int_equal(state_of(&f, "t", "1"), JOB_READY);
    fixture_advance(&f, 30000);
    assert_int_equal(count(OP_RELEASE), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_TWO(what_a_dead_process_held_is_ready_in_seconds),
        WITH_TWO(a_dead_process_is_looked_at_once),
        WITH_TWO(a_process_that_was_frozen_finds_its_leases_over),
        WITH_TWO(what_a_process_has_just_reserved_is_left_alone),
        WITH_TWO(an_outage_of_the_store_ends_nobody_s_reservations),
        WITH_TWO(a_store_that_answers_late_ends_nobody_s_reservations),
        WITH_TWO(redis_s_clock_may_jump),
        WITH_TWO(jobs_that_others_took_meanwhile_stay_where_they_are),
        WITH_TWO(a_bucket_that_is_away_waits_for_its_turn),
        WITH_TWO(a_process_that_leaves_is_not_watched),
        WITH_TWO(a_stop_does_not_wait_for_a_store_that_is_away),
        WITH_TWO(a_node_without_owners_says_nothing),
        WITH_TWO(a_job_that_never_reached_its_owner_leaves_no_note),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
