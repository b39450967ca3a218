/* Repair of places: a job in none, in two, or at the wrong time, and a place without a job.
 * Each is planted by hand in Redis, found by the audit, and mended.
 */
#include "node/store/contract/redis/plant.h"

/* ---- jobs in no place ---- */

static void a_delayed_job_in_no_place_waits_for_its_due_time(void **state)
{
    int64_t due_ms = push_delayed("a", FAR_MS).out.push.due_ms;

    plant("ZREM", 'd', "a");
    assert_mended("a", DAMAGE_NO_PLACE);
    assert_int_equal(look("a").job.due_ms, due_ms);
    ASSERT_LIST(JOB_DELAYED, "a");
    assert_int_equal(next_event_ms(), due_ms);
}

static void an_overdue_job_in_no_place_becomes_ready(void **state)
{
    unsigned before;

    wait_until(push_delayed("a", 1).out.push.due_ms);
    plant("ZREM", 'd', "a");
    before = wake_ups(TOPIC);
    assert_mended("a", DAMAGE_NO_PLACE);
    assert_int_equal(wake_ups(TOPIC), before + 1);
    ASSERT_READY("a");
}

static void a_ready_job_in_no_place_becomes_the_last(void **state)
{
    struct job job = (push("a"), get("a"));

    push("b");
    plant_entry("LREM %s 1 %b", 'r', &job);
    assert_mended("a", DAMAGE_NO_PLACE);
    push("c");
    ASSERT_READY("b", "a", "c");
}

static void a_ready_job_with_a_priority_keeps_it(void **state)
{
    struct job job = (push_ranked("a", 7), get("a"));

    push_ranked("b", 7);
    push_ranked("c", 8);
    plant_entry("ZREM %s %b", 'q', &job);
    assert_mended("a", DAMAGE_NO_PLACE);
    ASSERT_READY("b", "a", "c");
}

/* In q, where another job of the common priority would be in r. */
static void push_by_ids(void)
{
    struct op op = push_op(TOPIC, "a");

    op.in.push.by_id = true;
    run_well(op);
    op.id = BYTES("b");
    run_well(op);
    push("c");
}

static void a_ready_job_by_its_id_goes_back_to_its_place(void **state)
{
    struct job job = (push_by_ids(), get("a"));

    audit();
    assert_int_equal(found.count, 0);
    plant_entry("ZREM %s %b", 'q', &job);
    assert_mended("a", DAMAGE_NO_PLACE);
    ASSERT_READY("a", "b", "c");
}

static void so_it_does_from_another_rank(void **state)
{
    struct job job = (push_by_ids(), get("a"));

    plant_entry("ZADD %s 5000 %b", 'q', &job);
    assert_mended("a", DAMAGE_NO_PLACE);
    ASSERT_READY("a", "b", "c");
}

static void a_job_of_the_list_is_not_left_among_the_ranked(void **state)
{
    struct job job = (push("a"), get("a"));

    plant_entry("ZADD %s 1024 %b", 'q', &job);
    assert_mended("a", DAMAGE_TWO_PLACES);
    ASSERT_READY("a");
}

static void a_reserved_job_in_no_place_becomes_ready(void **state)
{
    struct job job = hold("a", TTR_MS);

    plant("ZREM", 'v', "a");
    assert_mended("a", DAMAGE_NO_PLACE);
    assert_status(ack(&job), NOT_RESERVED);
    job = pop_one();
    assert_bytes(job.id, BYTES("a"));
    assert_int_equal(job.tries, 1);
}

static void a_dead_job_in_no_place_is_dead_from_now_on(void **state)
{
    int64_t before_ms;

    make_dead("a");
    plant("ZREM", 'x', "a");
    before_ms = store_now();
    assert_mended("a", DAMAGE_NO_PLACE);
    assert_dead("a", DEATH_BURIED);
    assert_in_range(look("a").place_ms, before_ms, store_now());
}

/* ---- entries too many ---- */

static void a_wrong_entry_of_a_job_goes(void **state)
{
    static const char letters[] = "dvx";

    for (unsigned i = 0; letters[i]; i++) {
        push("a");
        plant_score(letters[i], "a", store_now() + FAR_MS);
        assert_mended("a", DAMAGE_TWO_PLACES);
        ASSERT_READY("a");
        assert_status(cancel("a"), OK);
    }
}

static void the_header_is_believed_before_the_places(void **state)
{
    struct job job = hold("a", TTR_MS);

    plant_score('d', "a", 1);
    plant_score('x', "a", 1);
    assert_mended("a", DAMAGE_TWO_PLACES);
    assert_all_counts(0, 0, 1, 0);
    assert_status(ack(&job), OK);
}

static void a_ranked_entry_of_a_job_that_is_elsewhere_goes(void **state)
{
    struct job job;

    push_delayed("a*[b]?", FAR_MS);
    job = get("a*[b]?");
    plant_entry("ZADD %s 5 %b", 'q', &job);
    assert_mended("a*[b]?", DAMAGE_TWO_PLACES);
    assert_int_equal(pop(1).out.pop.count, 0);
    ASSERT_LIST(JOB_DELAYED, "a*[b]?");
}

/* Of a list that is out of order only the ends are looked through: its old entry, far inside,
 * becomes a tombstone. */
static void a_ready_job_that_is_not_found_in_the_list_gets_another_entry(void **state)
{
    unsigned purged = 0;
    struct op op;

    push_numbered(TOPIC, 0, 1100, 0);
    push("a");
    push_numbered(TOPIC, 1100, 1500, 0);
    plant("LSET", 'r', "975 \xff\xff\xff\xff\xff\xffghost"); /* halving goes astray there */
    assert_int_equal(mend("a"), DAMAGE_NO_PLACE);
    assert_int_equal(mend("a"), DAMAGE_NONE);
    assert_int_equal(plant("LLEN", 'r', ""), 2602);
    do {
        op = purge(JOB_READY, OP_CHUNK_MAX);
        purged += op.out.chunk.count;
    } while (op.out.chunk.has_more);
    assert_int_equal(purged, 2600); /* all but the one whose entry is the ghost's now */
    assert_gone("a");
}

static void a_ready_job_near_the_end_is_found_in_a_list_out_of_order(void **state)
{
    push_numbered(TOPIC, 0, 2600, 0);
    push("last");
    plant("LSET", 'r', "1300 \xff\xff\xff\xff\xff\xffghost"); /* halving begins there */
    assert_int_equal(mend("last"), DAMAGE_NONE);
}

static void a_place_without_a_job_goes(void **state)
{
    static const char letters[] = "dvxe";
    struct job ghost = {.id = BYTES("ghost"), .stamp = JOB_KEY_MIDDLE};

    push("alive");
    for (unsigned i = 0; letters[i]; i++) {
        plant_score(letters[i], "ghost", store_now() + FAR_MS);
        mend(""); /* the event that this would be */
        assert_mended("ghost", DAMAGE_NO_JOB);
    }
    plant_entry("ZADD %s 5 %b", 'q', &ghost);
    assert_mended("ghost", DAMAGE_NO_JOB);
    plant("HSET", 'p', "ghost body");
    assert_mended("ghost", DAMAGE_NO_JOB);
    ASSERT_READY("alive");
}

/* No list, purge or pop is stopped by it. */
static void a_ranked_entry_without_its_job_is_a_tombstone(void **state)
{
    struct job ghost = {.id = BYTES("ghost"), .stamp = JOB_KEY_MIDDLE}, later;

    push_delayed("later", FAR_MS);
    later = get("later");
    push_ranked("urgent", 5);
    push("alive");
    plant_entry("ZADD %s 4 %b", 'q', &ghost);
    plant_entry("ZADD %s 6 %b", 'q', &later);
    plant_entry("ZADD %s 2000 %b", 'q', &ghost);
    ASSERT_LIST(JOB_READY, "urgent", "alive");
    ASSERT_READY("urgent", "alive");
    assert_int_equal(plant("ZCARD", 'q', ""), 0);
    plant_entry("ZADD %s 4 %b", 'q', &ghost);
    assert_int_equal(pop(1).out.pop.count, 0);
    assert_int_equal(plant("ZCARD", 'q', ""), 0);
    plant_entry("ZADD %s 4 %b", 'q', &ghost);
    assert_int_equal(purge(JOB_READY, 10).out.chunk.count, 0);
    assert_int_equal(plant("ZCARD", 'q', ""), 0);
    ASSERT_LIST(JOB_DELAYED, "later");
}

static void a_body_of_a_job_that_has_its_own_goes(void **state)
{
    push("a");
    plant("HSET", 'p', "a other");
    assert_mended("a", DAMAGE_NO_JOB);
    assert_bytes(pop_one().body, BODY);
}

/* The scan goes on where an orphan was in its way. */
static void a_mended_topic_is_scanned_again(void **state)
{
    push_delayed("lost", 1);
    push_delayed("a", 1);
    lose("lost");
    assert_int_equal(scan_at(store_now() + 2).out.scan.stuck, 1);
    assert_mended("lost", DAMAGE_NO_JOB);
    assert_int_equal(scan(1000).out.scan.moved, 1);
    ASSERT_READY("a");
}

/* ---- wrong times ---- */

static void the_due_time_of_the_header_counts(void **state)
{
    int64_t due_ms = push_delayed("a", FAR_MS).out.push.due_ms;

    plant_score('d', "a", due_ms + FAR_MS);
    assert_mended("a", DAMAGE_WRONG_TIME);
    assert_int_equal(next_event_ms(), due_ms);
}

/* The scan does not believe the place either: the topic waits for the repair. */
static void a_place_that_says_long_ago_makes_no_job_early(void **state)
{
    struct op op;

    push_delayed("a", FAR_MS);
    plant_score('d', "a", 1);
    op = run_well(id_op(OP_REPAIR, ""));
    assert_int_equal(op.out.repair.damage, DAMAGE_NO_EVENT);
    assert_int_equal(op.wait_ms, 0);
    op = scan(1000);
    assert_int_equal(op.out.scan.moved, 0);
    assert_int_equal(op.out.scan.stuck, 1);
    assert_mended("a", DAMAGE_WRONG_TIME);
    scan(1000);
    ASSERT_LIST(JOB_DELAYED, "a");
}

static void a_ready_job_in_the_wrong_rank_goes_to_its_own(void **state)
{
    struct job job = (push_ranked("a", 7), get("a"));

    plant_entry("ZADD %s 5000 %b", 'q', &job);
    push("b");
    audit();
    assert_suspect("a", DAMAGE_NO_PLACE);
    assert_int_equal(mend("a"), DAMAGE_NO_PLACE);
    assert_int_equal(mend("a"), DAMAGE_NONE);
    ASSERT_READY("a", "b");
}

static const struct CMUnitTest tests[] = {
    TEST(a_delayed_job_in_no_place_waits_for_its_due_time),
    TEST(an_overdue_job_in_no_place_becomes_ready),
    TEST(a_ready_job_in_no_place_becomes_the_last),
    TEST(a_ready_job_with_a_priority_keeps_it),
    TEST(a_ready_job_by_its_id_goes_back_to_its_place),
    TEST(so_it_does_from_another_rank),
    TEST(a_job_of_the_list_is_not_left_among_the_ranked),
    TEST(a_reserved_job_in_no_place_becomes_ready),
    TEST(a_dead_job_in_no_place_is_dead_from_now_on),
    TEST(a_wrong_entry_of_a_job_goes),
    TEST(the_header_is_believed_before_the_places),
    TEST(a_ranked_entry_of_a_job_that_is_elsewhere_goes),
    TEST(a_ready_job_that_is_not_found_in_the_list_gets_another_entry),
    TEST(a_ready_job_near_the_end_is_found_in_a_list_out_of_order),
    TEST(a_place_without_a_job_goes),
    TEST(a_ranked_entry_without_its_job_is_a_tombstone),
    TEST(a_body_of_a_job_that_has_its_own_goes),
    TEST(a_mended_topic_is_scanned_again),
    TEST(the_due_time_of_the_header_counts),
    TEST(a_place_that_says_long_ago_makes_no_job_early),
    TEST(a_ready_job_in_the_wrong_rank_goes_to_its_own),
};

const struct contract_part contract_repair = {tests, sizeof(tests) / sizeof(*tests)};
