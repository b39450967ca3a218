/* The store's news: wait_ms for the scanner's timer, on_ready for waiting consumers. */
#include "node/store/contract/contract.h"

/* ---- wait_ms: this became the topic's first event ---- */

static void only_the_first_event_of_the_topic_is_told(void **state)
{
    assert_int_equal(push_delayed("first", FAR_MS).wait_ms, FAR_MS + BEGUN_MS);
    assert_int_equal(push_delayed("later", FAR_MS + 60000).wait_ms, -1);
    assert_int_equal(push_delayed("soonest", FAR_MS - 90000).wait_ms,
                     FAR_MS - 90000 + BEGUN_MS);
    assert_int_equal(push_delayed("between", FAR_MS - 30000).wait_ms, -1);
}

static void an_event_at_the_same_time_as_the_first_is_not_told(void **state)
{
    struct op op = push_op(TOPIC, "a"), again;

    op.in.push.at_ms = store_now() + FAR_MS;
    again = op;
    again.id = BYTES("b");
    assert_true(run(op).wait_ms > 0);
    assert_int_equal(run(again).wait_ms, -1);
}

/* Each may have another node that scans it. */
static void other_topics_of_the_bucket_do_not_matter(void **state)
{
    assert_int_equal(push_delayed_in(OTHER, "a", FAR_MS - 1000).wait_ms,
                     FAR_MS - 1000 + BEGUN_MS);
    assert_int_equal(push_delayed("a", FAR_MS).wait_ms, FAR_MS + BEGUN_MS);
}

static void a_topic_that_fell_empty_tells_its_first_event_again(void **state)
{
    struct op op = push_delayed("a", SOON_MS);

    scan_at(op.out.push.due_ms);
    assert_int_equal(push_delayed("b", FAR_MS).wait_ms, FAR_MS + BEGUN_MS);
}

static void
a_popped_job_is_kept_five_seconds_for_its_confirmation_whatever_its_ttr(void **state)
{
    static const int64_t ttrs_ms[] = {0, 1, 5000, FAR_MS};

    for (unsigned i = 0; i < 4; i++) {
        struct op op = (push_ttr("a", ttrs_ms[i]), pop(1));

        assert_int_equal(op.wait_ms, OP_UNCONFIRMED_MS);
        assert_int_equal(next_event_ms(), op.now_ms + OP_UNCONFIRMED_MS);
        assert_status(ack(op.out.pop.jobs), OK);
        assert_int_equal(next_event_ms(), -1);
    }
}

static void a_delivery_tells_a_deadline_that_comes_first(void **state)
{
    struct job jobs[2];

    push_ttr("a", 2);
    push_ttr("b", 1);
    memcpy(jobs, pop(2).out.pop.jobs, sizeof(jobs));
    assert_int_equal(delivered(jobs, 2).wait_ms, 1 + BEGUN_MS);
}

static void a_delivery_with_a_later_deadline_tells_nothing(void **state)
{
    struct job job = (push("a"), pop_one());

    assert_int_equal(delivered(&job, 1).wait_ms, -1);
}

static void release_and_touch_tell_a_first_event(void **state)
{
    struct job job = (push("a"), pop_one());

    assert_int_equal(touch(&job, FAR_MS).wait_ms, -1);
    assert_int_equal(touch(&job, 4000).wait_ms, 4000 + BEGUN_MS);
    assert_int_equal(release(&job, FAR_MS).wait_ms, -1);

    push("b");
    job = pop_one();
    assert_int_equal(release(&job, 100).wait_ms, 100 + BEGUN_MS);
}

static void what_adds_no_event_tells_none(void **state)
{
    struct job job = (push("a"), pop_one());
    struct op op = {.verb = OP_STATS, .topic = TOPIC};

    assert_int_equal(returned(&job, 1).wait_ms, -1);
    job = pop_one();
    assert_int_equal(release(&job, 0).wait_ms, -1);
    assert_int_equal(run(id_op(OP_GET, "a")).wait_ms, -1);
    assert_int_equal(run(op).wait_ms, -1);
    assert_int_equal(cancel("a").wait_ms, -1);
    assert_int_equal(scan(1000).wait_ms, -1);
}

/* ---- on_ready: the ready list of the topic is not empty any more ---- */

static void the_first_ready_job_is_announced_once(void **state)
{
    push("a");
    assert_int_equal(wake_ups(TOPIC), 1);
    push("b");
    push("c");
    assert_int_equal(wake_ups(TOPIC), 1);
    assert_int_equal(wake_ups(OTHER), 0);
    assert_int_equal(pop(BATCH_MAX).out.pop.count, 3);
    push("d");
    assert_int_equal(wake_ups(TOPIC), 2);
}

static void a_list_that_is_not_emptied_stays_quiet(void **state)
{
    push_letters(2);
    pop_one();
    push("c");
    assert_int_equal(wake_ups(TOPIC), 1);
}

static void each_topic_is_announced_for_itself(void **state)
{
    push("a");
    run_well(push_op(OTHER, "a"));
    run_well(push_op(ELSEWHERE, "a"));
    assert_int_equal(wake_ups(TOPIC), 1);
    assert_int_equal(wake_ups(OTHER), 1);
    assert_int_equal(wake_ups(ELSEWHERE), 1);
}

static void a_delayed_job_is_announced_when_it_is_moved(void **state)
{
    struct op last = (push_delayed("a", SOON_MS), push_delayed("b", SOON_MS));

    assert_int_equal(wake_ups(TOPIC), 0);
    assert_int_equal(scan_at(last.out.push.due_ms).out.scan.moved, 2);
    assert_int_equal(wake_ups(TOPIC), 1);
}

static void a_scan_into_a_list_with_jobs_is_quiet(void **state)
{
    struct op pushed = push_delayed("a", SOON_MS);

    push("b");
    scan_at(pushed.out.push.due_ms);
    assert_int_equal(wake_ups(TOPIC), 1);
    assert_counts(TOPIC, 0, 2, 0);
}

static void a_scan_announces_all_topics_it_woke(void **state)
{
    push_delayed("a", SOON_MS);
    assert_int_equal(
        scan_at(push_delayed_in(OTHER, "b", SOON_MS).out.push.due_ms).out.scan.moved, 2);
    assert_int_equal(wake_ups(TOPIC), 1);
    assert_int_equal(wake_ups(OTHER), 1);
}

static void an_expired_reservation_is_announced(void **state)
{
    hold("a", 1);
    assert_int_equal(wake_ups(TOPIC), 1);
    scan_at(store_now() + 2);
    assert_int_equal(wake_ups(TOPIC), 2);
}

static void what_comes_back_into_an_empty_list_is_announced(void **state)
{
    static const uint32_t priorities[] = {RULES_PRIORITY_DEFAULT, 5};

    for (unsigned i = 0; i < 2; i++) {
        unsigned before = wake_ups(TOPIC);
        struct job job = (push_ranked("a", priorities[i]), pop_one());

        returned(&job, 1);
        assert_int_equal(wake_ups(TOPIC), before + 2);
        job = pop_one();
        assert_status(release(&job, 0), OK);
        assert_int_equal(wake_ups(TOPIC), before + 3);
        job = pop_one();
        assert_status(ack(&job), OK);
    }
}

static void what_comes_back_to_other_jobs_is_quiet(void **state)
{
    struct job a = (push("a"), pop_one()), b = (push("b"), pop_one());

    push("c");
    assert_int_equal(wake_ups(TOPIC), 3);
    returned(&a, 1);
    assert_status(release(&b, 0), OK);
    assert_int_equal(wake_ups(TOPIC), 3);
    ASSERT_READY("a", "c", "b");
}

static void what_makes_nothing_ready_is_quiet(void **state)
{
    struct job job = hold("a", TTR_MS);

    assert_status(touch(&job, 0), OK);
    assert_status(release(&job, FAR_MS), OK);
    assert_status(cancel("a"), OK);
    job = hold("b", TTR_MS);
    assert_status(ack(&job), OK);
    assert_int_equal(returned(&job, 1).out.leases.stale, 1);
    scan(1000);
    assert_int_equal(wake_ups(TOPIC), 2);
}

/* A consumer that saw the list empty hears of the next job, tombstones or not. */
static void after_an_empty_pop_the_next_job_is_announced(void **state)
{
    unsigned before;

    push("a");
    assert_status(cancel("a"), OK);
    assert_int_equal(pop(1).out.pop.count, 0);
    before = wake_ups(TOPIC);
    push("b");
    assert_int_equal(wake_ups(TOPIC), before + 1);
}

static const struct CMUnitTest tests[] = {
    TEST(only_the_first_event_of_the_topic_is_told),
    TEST(an_event_at_the_same_time_as_the_first_is_not_told),
    TEST(other_topics_of_the_bucket_do_not_matter),
    TEST(a_topic_that_fell_empty_tells_its_first_event_again),
    TEST(a_popped_job_is_kept_five_seconds_for_its_confirmation_whatever_its_ttr),
    TEST(a_delivery_tells_a_deadline_that_comes_first),
    TEST(a_delivery_with_a_later_deadline_tells_nothing),
    TEST(release_and_touch_tell_a_first_event),
    TEST(what_adds_no_event_tells_none),
    TEST(the_first_ready_job_is_announced_once),
    TEST(a_list_that_is_not_emptied_stays_quiet),
    TEST(each_topic_is_announced_for_itself),
    TEST(a_delayed_job_is_announced_when_it_is_moved),
    TEST(a_scan_into_a_list_with_jobs_is_quiet),
    TEST(a_scan_announces_all_topics_it_woke),
    TEST(an_expired_reservation_is_announced),
    TEST(what_comes_back_into_an_empty_list_is_announced),
    TEST(what_comes_back_to_other_jobs_is_quiet),
    TEST(what_makes_nothing_ready_is_quiet),
    TEST(after_an_empty_pop_the_next_job_is_announced),
};

const struct contract_part contract_events = {tests, sizeof(tests) / sizeof(*tests)};
