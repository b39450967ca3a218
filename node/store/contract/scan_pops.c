/* The pops that a scan brings: they get what has just become ready, and only that is announced
 * which they leave. */
#include "node/store/contract/contract.h"

static struct op pop_in(struct bytes topic, unsigned count)
{
    return (struct op){
        .verb = OP_POP, .topic = topic, .bucket = bucket_of(topic), .in.pop.count = count};
}

/* Scans TOPIC's bucket at that time; the answers of the pops replace them. */
static struct op scan_with(int64_t at_ms, struct op *pops, unsigned count)
{
    struct op op = scan_op(), *list[OP_SCAN_POPS_MAX];

    for (unsigned i = 0; i < count; i++)
        list[i] = &pops[i];
    op.in.scan.pops = list;
    op.in.scan.pop_count = count;
    wait_until(at_ms);
    return run_well(op);
}

#define ASSERT_GOT(pop, ...)                                                   \
    assert_popped(pop, sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *), \
                  (const char *[]){__VA_ARGS__})

static void a_scan_hands_out_what_has_become_ready(void **state)
{
    int64_t due_ms = (push_delayed("a", SOON_MS), push_delayed("b", SOON_MS)).out.push.due_ms;
    struct op pop = pop_in(TOPIC, 2), op;
    unsigned before = wake_ups(TOPIC);

    op = scan_with(due_ms, &pop, 1);
    assert_int_equal(op.out.scan.moved, 2);
    assert_int_equal(op.out.scan.lateness_count, 2);
    assert_int_equal(op.out.scan.next_ms, OP_UNCONFIRMED_MS);
    ASSERT_GOT(&pop, "a", "b");
    assert_false(pop.out.pop.has_more);
    assert_int_equal(pop.status, STATUS_OK);
    assert_int_equal(pop.now_ms, op.now_ms);
    assert_int_equal(pop.wait_ms, -1);
    assert_bytes(pop.out.pop.jobs[0].body, BODY);
    assert_counts(TOPIC, 0, 0, 2);
    assert_int_equal(wake_ups(TOPIC), before);
    assert_status(ack(&pop.out.pop.jobs[0]), OK);
    assert_int_equal(returned(&pop.out.pop.jobs[1], 1).out.leases.stale, 0);
    ASSERT_READY("b");
}

static void what_a_pop_leaves_is_announced(void **state)
{
    struct op pop = pop_in(TOPIC, 1);
    unsigned before = wake_ups(TOPIC);

    push_delayed("a", SOON_MS);
    scan_with(push_delayed("b", SOON_MS).out.push.due_ms, &pop, 1);
    ASSERT_GOT(&pop, "a");
    assert_true(pop.out.pop.has_more);
    assert_int_equal(wake_ups(TOPIC), before + 1);
    ASSERT_READY("b");
}

/* Its news are told already. */
static void what_was_ready_before_is_no_reason_for_a_pop(void **state)
{
    struct op pops[] = {pop_in(TOPIC, 5), pop_in(OTHER, 5)};
    struct op other = push_op(OTHER, "o");

    push("a");
    run_well(other);
    scan_with(push_delayed_in(OTHER, "p", SOON_MS).out.push.due_ms, pops, 2);
    assert_int_equal(pops[0].status, STATUS_OK);
    assert_int_equal(pops[0].out.pop.count, 0);
    assert_false(pops[0].out.pop.has_more);
    ASSERT_GOT(&pops[1], "o", "p");
    ASSERT_READY("a");
}

static void a_reservation_that_is_over_is_handed_out_again(void **state)
{
    struct op pop = pop_in(TOPIC, 1);
    struct job job = (push("a"), pop_one());

    delivered_for(&job, 1);
    scan_with(store_now() + 3, &pop, 1);
    ASSERT_GOT(&pop, "a");
    assert_int_equal(pop.out.pop.jobs[0].tries, 1);
    assert_true(pop.out.pop.jobs[0].stamp > job.stamp);
}

static void each_topic_has_its_own(void **state)
{
    struct op pops[] = {pop_in(OTHER, 2), pop_in(TOPIC, 1)};
    unsigned before = wake_ups(TOPIC), other_before = wake_ups(OTHER);

    push_delayed("a", SOON_MS);
    push_delayed("b", SOON_MS);
    scan_with(push_delayed_in(OTHER, "o", SOON_MS).out.push.due_ms, pops, 2);
    ASSERT_GOT(&pops[0], "o");
    ASSERT_GOT(&pops[1], "a");
    assert_int_equal(wake_ups(TOPIC), before + 1);
    assert_int_equal(wake_ups(OTHER), other_before);
}

static void the_most_urgent_comes_first(void **state)
{
    struct op pop = pop_in(TOPIC, 1), op = push_op(TOPIC, "b");

    push_ranked("z", RULES_PRIORITY_DEFAULT + 1);
    push_delayed("a", SOON_MS);
    op.in.push.rules.priority = 1;
    op.in.push.delay_ms = SOON_MS;
    scan_with(run_well(op).out.push.due_ms, &pop, 1);
    ASSERT_GOT(&pop, "b");
    assert_true(pop.out.pop.has_more);
}

static void a_paused_topic_hands_out_nothing_in_a_scan(void **state)
{
    struct op pause = {
        .verb = OP_CONFIGURE,
        .topic = TOPIC,
        .in.configure = {.has_pause = true, .settings.paused_until_ms = SETTINGS_FOREVER}};
    struct op pop = pop_in(TOPIC, 1);

    run_well(pause);
    scan_with(push_delayed("a", SOON_MS).out.push.due_ms, &pop, 1);
    assert_int_equal(pop.out.pop.count, 0);
    assert_false(pop.out.pop.has_more);
    assert_counts(TOPIC, 0, 1, 0);
    pause.in.configure.settings.paused_until_ms = 0;
    run_well(pause);
    ASSERT_READY("a");
}

/* Indexed by its push, by the pop, or by both. */
static void a_job_is_indexed_until_it_is_acknowledged(bool by_push, bool by_pop)
{
    struct op push = push_op(TOPIC, "a"), pop = pop_in(TOPIC, 1);
    struct op owner = {.verb = OP_OWNER, .bucket = bucket_of(TOPIC), .id = BYTES("a")};

    push.in.push.delay_ms = SOON_MS;
    push.in.push.is_indexed = by_push;
    pop.in.pop.id_only = by_pop;
    scan_with(run_well(push).out.push.due_ms, &pop, 1);
    ASSERT_GOT(&pop, "a");
    assert_bytes(pop.out.pop.jobs[0].body, BODY);
    assert_bytes(run_well(owner).out.owner.topic, TOPIC);
    assert_status(ack(&pop.out.pop.jobs[0]), OK);
    assert_status(run(owner), NOT_FOUND);
}

static void a_job_that_is_to_be_indexed_is(void **state)
{
    a_job_is_indexed_until_it_is_acknowledged(false, true);
    a_job_is_indexed_until_it_is_acknowledged(true, false);
    a_job_is_indexed_until_it_is_acknowledged(true, true);
}

/* They would hold up the other buckets' scans. */
static void large_bodies_are_left_to_a_pop(void **state)
{
    static char body[OP_SCAN_BYTES_MAX + 1];
    struct op first = push_op(TOPIC, "a"), second = push_op(TOPIC, "b");
    struct op pops[] = {pop_in(TOPIC, 2)};
    unsigned before = wake_ups(TOPIC);

    first.in.push.body = bytes_of(body, OP_SCAN_BYTES_MAX);
    second.in.push.body = bytes_of(body, OP_SCAN_BYTES_MAX + 1);
    first.in.push.delay_ms = second.in.push.delay_ms = SOON_MS;
    run_well(first);
    scan_with(run_well(second).out.push.due_ms, pops, 1);
    ASSERT_GOT(&pops[0], "a");
    assert_int_equal(pops[0].out.pop.jobs[0].body.len, OP_SCAN_BYTES_MAX);
    assert_true(pops[0].out.pop.has_more);
    assert_int_equal(wake_ups(TOPIC), before + 1);
    ASSERT_READY("b");
    second.in.push.body = bytes_of(body, OP_SCAN_BYTES_MAX + 1);
    second.id = BYTES("c");
    scan_with(run_well(second).out.push.due_ms, pops, 1);
    assert_int_equal(pops[0].out.pop.count, 0);
    assert_true(pops[0].out.pop.has_more);
}

/* Its end alone would be announced; so is what the pop leaves. */
static void a_pause_that_ends_hands_out_what_becomes_ready_with_it(void **state)
{
    struct op pause = {.verb = OP_CONFIGURE,
                       .topic = TOPIC,
                       .in.configure = {.has_pause = true, .pause_ms = SOON_MS}};
    struct op pop = pop_in(TOPIC, 1);
    unsigned before;

    push("a");
    run_well(pause);
    push_delayed("b", SOON_MS);
    before = wake_ups(TOPIC);
    scan_with(store_now() + SOON_MS + 2, &pop, 1);
    ASSERT_GOT(&pop, "a");
    assert_true(pop.out.pop.has_more);
    assert_int_equal(wake_ups(TOPIC), before + 1);
    ASSERT_READY("b");
}

static void those_that_expire_in_between_are_passed_by(void **state)
{
    struct op pop = pop_in(TOPIC, 2);
    int64_t due_ms;

    push_mortal("m", 0, SOON_MS);
    push("gone");
    cancel("gone");
    due_ms = push_delayed("b", 3 * SOON_MS).out.push.due_ms;
    scan_with(due_ms, &pop, 1);
    ASSERT_GOT(&pop, "b");
    assert_false(pop.out.pop.has_more);
}

static void a_scan_that_moves_nothing_hands_out_nothing(void **state)
{
    struct op pops[OP_SCAN_POPS_MAX];

    push("a");
    for (unsigned i = 0; i < OP_SCAN_POPS_MAX; i++)
        pops[i] = pop_in(i == 0 ? TOPIC : i == 1 ? OTHER : bytes_of_text(numbered(i)), 2);
    scan_with(store_now(), pops, OP_SCAN_POPS_MAX);
    for (unsigned i = 0; i < OP_SCAN_POPS_MAX; i++) {
        assert_int_equal(pops[i].status, STATUS_OK);
        assert_int_equal(pops[i].out.pop.count, 0);
    }
}

static const struct CMUnitTest tests[] = {
    TEST(a_scan_hands_out_what_has_become_ready),
    TEST(what_a_pop_leaves_is_announced),
    TEST(what_was_ready_before_is_no_reason_for_a_pop),
    TEST(a_reservation_that_is_over_is_handed_out_again),
    TEST(each_topic_has_its_own),
    TEST(the_most_urgent_comes_first),
    TEST(a_paused_topic_hands_out_nothing_in_a_scan),
    TEST(a_job_that_is_to_be_indexed_is),
    TEST(large_bodies_are_left_to_a_pop),
    TEST(a_pause_that_ends_hands_out_what_becomes_ready_with_it),
    TEST(those_that_expire_in_between_are_passed_by),
    TEST(a_scan_that_moves_nothing_hands_out_nothing),
};

const struct contract_part contract_scan_pops = {tests, sizeof(tests) / sizeof(*tests)};
