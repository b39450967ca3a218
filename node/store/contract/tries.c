/* Tries, backoff and burying: how often a job comes back, when, and where it ends. */
#include "node/store/contract/contract.h"

static struct job_rules backing_off(enum backoff_kind kind, int64_t base_ms, int64_t cap_ms)
{
    struct job_rules rules = rules_default;

    rules.backoff = (struct backoff){.kind = kind, .base_ms = base_ms, .cap_ms = cap_ms};
    return rules;
}

/* ---- tries ---- */

static void a_job_dies_of_its_last_release(void **state)
{
    struct job job = (push_limited("a", 2), pop_one());
    struct op op = release(&job, 0);

    assert_status(op, OK);
    assert_int_equal(op.out.change.due_ms, op.now_ms);
    assert_int_equal(op.out.change.tries, 1);
    assert_int_equal(op.out.change.death, DEATH_NONE);
    job = pop_one();
    op = release(&job, 0);
    assert_status(op, OK);
    assert_int_equal(op.out.change.due_ms, 0);
    assert_int_equal(op.out.change.tries, 2);
    assert_int_equal(op.out.change.death, DEATH_TRIES);
    assert_dead("a", DEATH_TRIES);
    assert_int_equal(get("a").tries, 2);
    assert_int_equal(look("a").place_ms, op.now_ms);
    assert_all_counts(0, 0, 0, 1);
    assert_status(ack(&job), NOT_RESERVED);
}

static void no_delay_saves_it(void **state)
{
    struct job job = (push_limited("a", 1), pop_one());
    struct op op = release(&job, FAR_MS);

    assert_int_equal(op.out.change.due_ms, 0);
    assert_dead("a", DEATH_TRIES);
    assert_all_counts(0, 0, 0, 1);
}

static void a_job_without_a_limit_lives(void **state)
{
    push("a");
    for (unsigned i = 1; i <= 5; i++) {
        struct job job = pop_one();

        assert_int_equal(release(&job, 0).out.change.tries, i);
    }
    assert_state("a", JOB_READY);
}

static void a_return_is_no_try(void **state)
{
    push_limited("a", 1);
    for (unsigned i = 0; i < 3; i++) {
        struct job job = pop_one();

        returned(&job, 1);
    }
    assert_state("a", JOB_READY);
    assert_int_equal(get("a").tries, 0);
}

static void a_job_dies_when_its_last_reservation_runs_out(void **state)
{
    struct op op = push_op(TOPIC, "a");
    struct job job;

    op.in.push.ttr_ms = 1;
    op.in.push.rules.max_tries = 1;
    job = reserve(op);
    delivered(&job, 1);
    op = scan_at(store_now() + 2);
    assert_int_equal(op.out.scan.expired, 1);
    assert_int_equal(op.out.scan.died[DEATH_TRIES], 1);
    assert_int_equal(op.out.scan.moved, 1);
    assert_dead("a", DEATH_TRIES);
    assert_int_equal(look("a").place_ms, op.now_ms);
    assert_status(ack(&job), NOT_RESERVED);
}

static void a_dead_job_has_kept_all_of_its_own(void **state)
{
    struct op op = push_op(TOPIC, "a");
    struct job job;

    op.in.push.rules = backing_off(BACKOFF_FIXED, 7000, 0);
    op.in.push.rules.priority = 9;
    op.in.push.rules.max_tries = 1;
    op.in.push.at_ms = 1234567;
    job = reserve(op);
    assert_status(release(&job, 0), OK);
    job = get("a");
    assert_int_equal(job.due_ms, 1234567);
    assert_int_equal(job.ttr_ms, TTR_MS);
    assert_int_equal(job.rules.priority, 9);
    assert_int_equal(job.rules.max_tries, 1);
    assert_int_equal(job.rules.backoff.base_ms, 7000);
    assert_bytes(job.body, BODY);
}

/* ---- bury ---- */

static void a_buried_job_is_dead_and_that_was_a_try(void **state)
{
    struct job job = (push("a"), pop_one());
    struct op op = bury(&job);

    assert_status(op, OK);
    assert_int_equal(op.out.change.tries, 1);
    assert_dead("a", DEATH_BURIED);
    assert_int_equal(get("a").tries, 1);
    assert_int_equal(look("a").place_ms, op.now_ms);
    assert_all_counts(0, 0, 0, 1);
    assert_status(ack(&job), NOT_RESERVED);
    assert_int_equal(pop(1).out.pop.count, 0);
}

static void a_delivered_job_is_not_counted_twice_when_it_is_buried(void **state)
{
    struct job job = hold("a", TTR_MS);

    assert_int_equal(bury(&job).out.change.tries, 1);
    assert_int_equal(get("a").tries, 1);
}

static void a_large_body_is_buried_with_its_job(void **state)
{
    struct op op = large_op("a");
    struct job job;
    job = reserve(op);
    assert_status(bury(&job), OK);
    assert_bytes(get("a").body, op.in.push.body);
    assert_status(cancel("a"), OK);
    assert_gone("a");
    assert_all_counts(0, 0, 0, 0);
}

/* The bucket's limits for the dead are the scan's to keep. */
static void a_death_calls_the_scan(void **state)
{
    struct job job = (push("a"), pop_one());

    assert_int_equal(bury(&job).wait_ms, 1000);
    push_limited("b", 1);
    job = pop_one();
    assert_in_range(next_event_ms() - store_now(), 1, OP_UNCONFIRMED_MS);
    assert_status(release(&job, 0), OK);
    assert_dead("b", DEATH_TRIES);
}

/* ---- backoff ---- */

static void without_a_backoff_a_job_comes_back_at_once(void **state)
{
    struct job job = (push("a"), pop_one());
    struct op op = release(&job, -1);

    assert_status(op, OK);
    assert_int_equal(op.out.change.due_ms, op.now_ms);
    assert_state("a", JOB_READY);
    push_limited("b", 9);
    job = (pop_one(), pop_one());
    assert_status(release(&job, -1), OK);
    assert_state("b", JOB_READY);
}

static void a_fixed_backoff_is_the_same_each_time(void **state)
{
    push_ruled("a", backing_off(BACKOFF_FIXED, 7000, 0));
    for (unsigned i = 0; i < 3; i++) {
        struct job job = pop_one();
        struct op op = release(&job, -1);

        assert_status(op, OK);
        assert_int_equal(op.out.change.due_ms, after(&op, 7000));
        assert_int_equal(get("a").due_ms, after(&op, 7000));
        assert_state("a", JOB_DELAYED);
        assert_status(move("a", 0, FROM(DELAYED)), OK);
    }
}

static void an_exponential_backoff_doubles_up_to_its_cap(void **state)
{
    static const int64_t rests_ms[] = {1000, 2000, 4000, 5000, 5000};

    push_ruled("a", backing_off(BACKOFF_EXPONENTIAL, 1000, 5000));
    for (unsigned i = 0; i < 5; i++) {
        struct job job = pop_one();
        struct op op = release(&job, -1);

        assert_int_equal(op.out.change.due_ms, after(&op, rests_ms[i]));
        assert_int_equal(op.out.change.tries, i + 1);
        assert_status(move("a", 0, FROM(DELAYED)), OK);
    }
}

static void a_backoff_has_an_end_without_a_cap_too(void **state)
{
    push_ruled("a", backing_off(BACKOFF_EXPONENTIAL, RULES_BACKOFF_MAX_MS - 1, 0));
    for (unsigned i = 0; i < 2; i++) {
        struct job job = pop_one();
        struct op op = release(&job, -1);

        assert_int_equal(op.out.change.due_ms, after(&op, RULES_BACKOFF_MAX_MS - 1 + i));
        assert_status(move("a", 0, FROM(DELAYED)), OK);
    }
}

/* The rest that job.h prescribes, to the millisecond. */
static void a_jitter_is_drawn_from_the_stamp(void **state)
{
    struct job_rules rules = backing_off(BACKOFF_EXPONENTIAL, 123457, 0);
    bool differs = false;

    rules.backoff.jitter_percent = 37;
    push_ruled("a", rules);
    for (unsigned i = 1; i <= 8; i++) {
        struct job job = pop_one();
        struct op op = release(&job, -1);
        int64_t rest_ms = backoff_rest_ms(&rules.backoff, i, job.stamp);

        assert_int_equal(op.out.change.due_ms, after(&op, rest_ms));
        differs = differs || rest_ms != INT64_C(123457) << (i - 1);
        assert_status(move("a", 0, FROM(DELAYED)), OK);
    }
    assert_true(differs);
}

static void a_delay_that_is_given_counts_instead(void **state)
{
    struct job job = (push_ruled("a", backing_off(BACKOFF_FIXED, 7000, 0)), pop_one());
    struct op op = release(&job, 0);

    assert_int_equal(op.out.change.due_ms, op.now_ms);
    assert_state("a", JOB_READY);
    job = pop_one();
    op = release(&job, 50);
    assert_int_equal(op.out.change.due_ms, after(&op, 50));
}

static void who_lets_a_reservation_run_out_waits_as_long(void **state)
{
    struct op op = push_op(TOPIC, "a");
    struct job job;

    op.in.push.ttr_ms = 1;
    op.in.push.rules = backing_off(BACKOFF_FIXED, FAR_MS, 0);
    job = reserve(op);
    delivered(&job, 1);
    op = scan_at(store_now() + 2);
    assert_int_equal(op.out.scan.expired, 1);
    assert_int_equal(op.out.scan.lateness_count, 0);
    assert_state("a", JOB_DELAYED);
    assert_int_equal(get("a").due_ms, after(&op, FAR_MS));
    assert_int_equal(next_event_ms(), after(&op, FAR_MS));
}

static void a_return_rests_no_time(void **state)
{
    struct job job = (push_ruled("a", backing_off(BACKOFF_FIXED, FAR_MS, 0)), pop_one());

    returned(&job, 1);
    ASSERT_READY("a");
}

/* ---- who had it ---- */

static struct op delivered_to(const struct job *job, struct bytes holder)
{
    struct lease lease = {.id = job->id, .stamp = job->stamp, .holder = holder};

    return run_well((struct op){
        .verb = OP_DELIVERED, .topic = TOPIC, .in.leases = {.items = &lease, .count = 1}});
}

static void the_last_holder_is_remembered(void **state)
{
    struct job job = (push_ruled("a", backing_off(BACKOFF_FIXED, 7000, 0)), pop_one());

    assert_bytes(get("a").holder, BYTES(""));
    delivered_to(&job, BYTES("alice"));
    assert_bytes(get("a").holder, BYTES("alice"));
    assert_status(release(&job, 0), OK);
    assert_bytes(get("a").holder, BYTES("alice"));
    job = pop_one();
    delivered_to(&job, BYTES("bob@192.0.2.7:40000"));
    assert_status(bury(&job), OK);
    job = get("a");
    assert_bytes(job.holder, BYTES("bob@192.0.2.7:40000"));
    assert_int_equal(job.rules.backoff.base_ms, 7000);
    assert_bytes(job.body, BODY);
}

static void a_holder_without_a_name_takes_the_place_of_one_with(void **state)
{
    struct job job = (push("a"), pop_one());

    delivered_to(&job, BYTES("alice"));
    assert_status(release(&job, 0), OK);
    job = pop_one();
    assert_int_equal(delivered(&job, 1).out.leases.stale, 0);
    assert_bytes(get("a").holder, BYTES(""));
    assert_bytes(get("a").body, BODY);
}

static void the_longest_name_fits(void **state)
{
    static char name[JOB_HOLDER_MAX];
    struct job job = (push("a"), pop_one());

    memset(name, 'x', sizeof(name));
    delivered_to(&job, bytes_of(name, sizeof(name)));
    assert_bytes(get("a").holder, bytes_of(name, sizeof(name)));
    assert_bytes(get("a").body, BODY);
    assert_int_equal(get("a").tries, 1);
    assert_status(ack(&job), OK);
}

static const struct CMUnitTest tests[] = {
    TEST(a_job_dies_of_its_last_release),
    TEST(no_delay_saves_it),
    TEST(a_job_without_a_limit_lives),
    TEST(a_return_is_no_try),
    TEST(a_job_dies_when_its_last_reservation_runs_out),
    TEST(a_dead_job_has_kept_all_of_its_own),
    TEST(a_buried_job_is_dead_and_that_was_a_try),
    TEST(a_delivered_job_is_not_counted_twice_when_it_is_buried),
    TEST(a_large_body_is_buried_with_its_job),
    TEST(a_death_calls_the_scan),
    TEST(without_a_backoff_a_job_comes_back_at_once),
    TEST(a_fixed_backoff_is_the_same_each_time),
    TEST(an_exponential_backoff_doubles_up_to_its_cap),
    TEST(a_backoff_has_an_end_without_a_cap_too),
    TEST(a_jitter_is_drawn_from_the_stamp),
    TEST(a_delay_that_is_given_counts_instead),
    TEST(who_lets_a_reservation_run_out_waits_as_long),
    TEST(a_return_rests_no_time),
    TEST(the_last_holder_is_remembered),
    TEST(a_holder_without_a_name_takes_the_place_of_one_with),
    TEST(the_longest_name_fits),
};

const struct contract_part contract_tries = {tests, sizeof(tests) / sizeof(*tests)};
