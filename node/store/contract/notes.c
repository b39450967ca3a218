/* Reservations of owners are noted under their process, and the notes go with them. Processes
 * say that they are there. */
#include "node/store/contract/contract.h"

#define STRANGER UINT64_C(0x7fffffffffffff01)

static struct op owned_pop_op(struct bytes topic, unsigned count)
{
    return (struct op){
        .verb = OP_POP, .topic = topic, .in.pop = {.count = count, .is_owned = true}};
}

static struct job pop_owned(void)
{
    struct op op = run_well(owned_pop_op(TOPIC, 1));

    assert_int_equal(op.out.pop.count, 1);
    return op.out.pop.jobs[0];
}

static struct job reserve_owned(const char *id)
{
    push(id);
    return pop_owned();
}

static struct op notes_of(uint64_t worker, unsigned limit)
{
    return run_well((struct op){.verb = OP_NOTES,
                                .bucket = bucket_of(TOPIC),
                                .in.notes = {.worker = worker, .limit = limit}});
}

static unsigned note_count(void)
{
    return notes_of(own_worker(), OP_NOTES_MAX).out.notes.count;
}

static struct op owned(struct op op)
{
    op.in.lease.is_owned = true;
    return op;
}

static struct op owned_leases(enum op_verb verb, const struct job *jobs, unsigned count)
{
    static struct lease leases[BATCH_MAX];

    for (unsigned i = 0; i < count; i++)
        leases[i] = (struct lease){.id = jobs[i].id, .stamp = jobs[i].stamp};
    return (struct op){.verb = verb,
                       .topic = TOPIC,
                       .in.leases = {.items = leases, .count = count, .is_owned = true}};
}

static void a_reservation_is_noted(void **state)
{
    struct op push_it = push("a"), op = owned_pop_op(TOPIC, 1), notes;
    const struct note *note;

    op = run_well(op);
    notes = notes_of(own_worker(), 1);
    assert_int_equal(notes.out.notes.count, 1);
    note = notes.out.notes.items;
    assert_int_equal(note->stamp, op.out.pop.jobs[0].stamp);
    assert_int_equal(note->made_ms, op.now_ms);
    assert_true(push_it.now_ms <= note->made_ms);
    assert_bytes(note->topic, TOPIC);
    assert_bytes(note->id, BYTES("a"));
    assert_int_equal(notes_of(STRANGER, 1).out.notes.count, 0);
}

static void a_taken_job_is_noted(void **state)
{
    struct op op = id_op(OP_TAKE, "a");

    push_delayed("a", FAR_MS);
    op.in.pop = (typeof(op.in.pop)){.count = 1, .is_owned = true};
    op = run_well(op);
    assert_int_equal(notes_of(own_worker(), 1).out.notes.items[0].stamp,
                     op.out.pop.jobs[0].stamp);
    assert_status(run(owned(lease_op(OP_ACK, &op.out.pop.jobs[0]))), OK);
    assert_int_equal(note_count(), 0);
}

static void other_reservations_are_not_noted(void **state)
{
    push_letters(2);
    pop(1);
    assert_int_equal(note_count(), 0);
    assert_int_equal(run_well(owned_pop_op(TOPIC, 1)).out.pop.count, 1);
    assert_int_equal(run_well(owned_pop_op(TOPIC, 1)).out.pop.count, 0);
    assert_int_equal(note_count(), 1);
}

static void all_jobs_of_a_pop_are_noted_and_told_bit_by_bit(void **state)
{
    struct op op, notes;

    push_numbered(TOPIC, 0, 20, 0);
    push_numbered(OTHER, 20, 20, 0);
    op = run_well(owned_pop_op(TOPIC, 20));
    assert_int_equal(op.out.pop.count, 20);
    assert_int_equal(run_well(owned_pop_op(OTHER, 20)).out.pop.count, 20);
    assert_int_equal(note_count(), 40);
    notes = notes_of(own_worker(), 7);
    assert_int_equal(notes.out.notes.count, 7);
    for (unsigned i = 1; i < 7; i++)
        for (unsigned k = 0; k < i; k++)
            assert_int_not_equal(notes.out.notes.items[i].stamp,
                                 notes.out.notes.items[k].stamp);
    run_well(owned_leases(OP_RETURN, op.out.pop.jobs, 20));
    assert_int_equal(note_count(), 20);
}

static void a_note_goes_with_its_reservation(void **state)
{
    struct job job = reserve_owned("acked");

    assert_status(run(owned(lease_op(OP_ACK, &job))), OK);
    assert_int_equal(note_count(), 0);
    job = reserve_owned("released");
    assert_status(run(owned(lease_op(OP_RELEASE, &job))), OK);
    assert_int_equal(note_count(), 0);
    job = pop_owned();
    assert_status(run(owned(lease_op(OP_BURY, &job))), OK);
    assert_int_equal(note_count(), 0);
    job = reserve_owned("returned");
    assert_int_equal(run(owned_leases(OP_RETURN, &job, 1)).out.leases.stale, 0);
    assert_int_equal(note_count(), 0);
    assert_status(cancel("returned"), OK);
    push_ttr("delivered", 0);
    job = pop_owned();
    assert_int_equal(run(owned_leases(OP_DELIVERED, &job, 1)).out.leases.stale, 0);
    assert_gone("delivered");
    assert_int_equal(note_count(), 0);
}

static void notes_of_those_that_end_together_go(void **state)
{
    enum { COUNT = 4 };
    struct op ops[COUNT], op;

    for (unsigned round = 0; round < 2; round++) {
        push_numbered(TOPIC, 10 * round, COUNT, 0);
        op = run_well(owned_pop_op(TOPIC, COUNT));
        assert_int_equal(op.out.pop.count, COUNT);
        for (unsigned i = 0; i < COUNT; i++)
            ops[i] = owned(lease_op(round ? OP_ACK : OP_RELEASE, &op.out.pop.jobs[i]));
        ops[3].in.lease.stamp = 1; /* nobody's */
        run_all(ops, COUNT);
        assert_status(ops[0], OK);
        assert_status(ops[3], NOT_OWNER);
        assert_int_equal(note_count(), 1);
        ops[3].in.lease.stamp = op.out.pop.jobs[3].stamp;
        run_all(ops, COUNT); /* none is valid but the last */
        assert_status(ops[3], OK);
        assert_int_equal(note_count(), 0);
        for (unsigned i = 0; i < COUNT; i++)
            run(id_op(OP_CANCEL, numbered(10 * round + i)));
    }
}

static void a_note_goes_where_its_lease_is_over(void **state)
{
    static const enum op_verb verbs[] = {OP_ACK, OP_RELEASE, OP_BURY};
    struct job job;

    for (unsigned i = 0; i < 3; i++) {
        job = reserve_owned("a");
        assert_status(cancel("a"), OK);
        assert_int_equal(note_count(), 1);
        assert_status(run(owned(lease_op(verbs[i], &job))), NOT_FOUND);
        assert_int_equal(note_count(), 0);
        job = reserve_owned("a");
        assert_status(move("a", FAR_MS, FROM_ANYWHERE), OK);
        assert_status(run(owned(lease_op(verbs[i], &job))), NOT_RESERVED);
        assert_int_equal(note_count(), 0);
        assert_status(cancel("a"), OK);
        job = reserve_owned("a");
        assert_status(move("a", 0, FROM_ANYWHERE), OK);
        pop(1);
        assert_status(run(owned(lease_op(verbs[i], &job))), NOT_OWNER);
        assert_int_equal(note_count(), 0);
        assert_status(cancel("a"), OK);
    }
    job = reserve_owned("a");
    assert_status(cancel("a"), OK);
    assert_int_equal(run(owned_leases(OP_RETURN, &job, 1)).out.leases.stale, 1);
    assert_int_equal(note_count(), 0);
    job = reserve_owned("a");
    assert_status(cancel("a"), OK);
    assert_int_equal(run(owned_leases(OP_DELIVERED, &job, 1)).out.leases.stale, 1);
    assert_int_equal(note_count(), 0);
}

static void a_note_stays_with_its_reservation(void **state)
{
    struct job job = reserve_owned("a");
    struct op op;

    run_well(owned_leases(OP_KEEP, &job, 1));
    assert_int_equal(note_count(), 1);
    run_well(owned_leases(OP_DELIVERED, &job, 1));
    assert_int_equal(note_count(), 1);
    assert_status(run(owned(lease_op(OP_TOUCH, &job))), OK);
    assert_int_equal(note_count(), 1);
    run_well(owned_leases(OP_RETURN, &job, 1)); /* it is confirmed */
    assert_state("a", JOB_RESERVED);
    assert_int_equal(note_count(), 1);
    op = owned(lease_op(OP_RELEASE, &job));
    op.in.lease.delay_ms = JOB_DELAY_MAX_MS + 1;
    assert_status(run(op), OUT_OF_RANGE);
    assert_int_equal(note_count(), 1);
    assert_status(ack(&job), OK); /* which does not know of it */
    assert_int_equal(note_count(), 1);
}

static void a_note_is_its_process_s(void **state)
{
    struct job job = reserve_owned("a");
    struct op op = owned(lease_op(OP_RELEASE, &job));

    op.in.lease.worker = STRANGER;
    assert_status(run(op), OK);
    assert_int_equal(note_count(), 1);
    op.in.lease.worker = own_worker();
    op.in.lease.is_end = true;
    assert_status(run(op), NOT_RESERVED);
    assert_int_equal(note_count(), 0);
}

/* What the process that releases for a silent one does. */
static void a_job_is_released_by_its_note(void **state)
{
    struct job job = reserve_owned("a");
    struct op notes, op;
    const struct note *note;

    delivered(&job, 1);
    notes = notes_of(own_worker(), OP_NOTES_MAX);
    note = notes.out.notes.items;
    op = (struct op){.verb = OP_RELEASE, .topic = note->topic, .id = note->id};
    op.in.lease = (struct op_lease){
        .stamp = note->stamp, .is_end = true, .is_owned = true, .worker = own_worker()};
    assert_status(run(op), OK);
    assert_int_equal(note_count(), 0);
    assert_status(run(owned(lease_op(OP_ACK, &job))), NOT_RESERVED);
    ASSERT_READY("a");
    assert_int_equal(get("a").tries, 1);
}

/* ---- beats ---- */

static struct op beat(struct op op)
{
    op.verb = OP_BEAT;
    return run_well(op);
}

static struct op look_on(int64_t age_ms)
{
    return beat((struct op){.in.beat.age_ms = age_ms});
}

static void a_process_is_told_when_it_was_silent_for_longer(void **state)
{
    struct op there = beat((struct op){.in.beat.is_there = true}), op;

    assert_int_equal(there.out.beat.count, 0);
    assert_int_equal(look_on(FAR_MS).out.beat.count, 0);
    wait_until(there.now_ms + 2);
    op = look_on(1);
    assert_int_equal(op.out.beat.count, 1);
    assert_int_equal(op.out.beat.silent[0].worker, own_worker());
    assert_int_equal(op.out.beat.silent[0].last_ms, there.now_ms);
    assert_int_equal(look_on(0).out.beat.count, 0);
    op = beat((struct op){.in.beat.is_there = true});
    wait_until(op.now_ms + 2);
    assert_int_equal(look_on(1).out.beat.silent[0].last_ms, op.now_ms);
}

static void a_process_that_leaves_is_not_told(void **state)
{
    struct op there = beat((struct op){.in.beat.is_there = true});

    beat((struct op){.in.beat.leaves = true});
    wait_until(there.now_ms + 2);
    assert_int_equal(look_on(1).out.beat.count, 0);
    beat((struct op){.in.beat.leaves = true});
}

static void a_process_is_forgotten_where_it_was_not_there_since(void **state)
{
    struct op there = beat((struct op){.in.beat.is_there = true});
    struct worker_beat seen = {own_worker(), there.now_ms};

    wait_until(there.now_ms + 1);
    there = beat((struct op){.in.beat.is_there = true});
    beat((struct op){.in.beat.forget = seen});
    wait_until(there.now_ms + 2);
    assert_int_equal(look_on(1).out.beat.count, 1);
    seen.last_ms = there.now_ms;
    beat((struct op){.in.beat.forget = {STRANGER, there.now_ms}});
    assert_int_equal(look_on(1).out.beat.count, 1);
    beat((struct op){.in.beat.forget = seen});
    assert_int_equal(look_on(1).out.beat.count, 0);
}

static const struct CMUnitTest tests[] = {
    TEST(a_reservation_is_noted),
    TEST(a_taken_job_is_noted),
    TEST(other_reservations_are_not_noted),
    TEST(all_jobs_of_a_pop_are_noted_and_told_bit_by_bit),
    TEST(a_note_goes_with_its_reservation),
    TEST(notes_of_those_that_end_together_go),
    TEST(a_note_goes_where_its_lease_is_over),
    TEST(a_note_stays_with_its_reservation),
    TEST(a_note_is_its_process_s),
    TEST(a_job_is_released_by_its_note),
    TEST(a_process_is_told_when_it_was_silent_for_longer),
    TEST(a_process_that_leaves_is_not_told),
    TEST(a_process_is_forgotten_where_it_was_not_there_since),
};

const struct contract_part contract_notes = {tests, sizeof(tests) / sizeof(*tests)};
