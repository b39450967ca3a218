/* The dead as a whole: kicked, purged, and deleted when they are too many or too old. */
#include "node/store/contract/whole.h"

static const char *const abc[] = {"a", "b", "c"};

/* ---- kick ---- */

static void the_oldest_dead_are_kicked_first(void **state)
{
    static const char *const ids[] = {"c", "a", "b"};
    int64_t died_ms[3];
    struct op op;

    make_dead_apart(3, ids, died_ms);
    op = kick(2);
    assert_int_equal(op.out.chunk.count, 2);
    assert_true(op.out.chunk.has_more);
    assert_all_counts(0, 2, 0, 1);
    op = kick(2);
    assert_int_equal(op.out.chunk.count, 1);
    assert_false(op.out.chunk.has_more);
    ASSERT_READY("c", "a", "b");
}

static void a_kick_of_none_is_no_error(void **state)
{
    push("alive");
    assert_int_equal(kick(10).out.chunk.count, 0);
    assert_false(kick(10).out.chunk.has_more);
    assert_all_counts(0, 1, 0, 0);
}

static void a_kicked_job_begins_anew(void **state)
{
    struct job_rules rules = rules_default;
    struct job job;
    struct op op = push_op(TOPIC, "a");

    rules.max_tries = 3;
    rules.priority = 7;
    op.in.push.rules = rules;
    op.in.push.ttl_ms = FAR_MS;
    job = reserve(op);
    assert_status(bury(&job), OK);
    op = kick(1);
    job = get("a");
    assert_int_equal(job.state, JOB_READY);
    assert_int_equal(job.due_ms, op.now_ms);
    assert_int_equal(job.tries, 0);
    assert_int_equal(job.death, DEATH_NONE);
    assert_int_equal(job.rules.priority, 7);
    assert_int_equal(job.rules.max_tries, 3);
    assert_int_equal(job.rules.expires_ms, 0);
    assert_bytes(job.body, BODY);
    assert_int_equal(next_event_ms(), -1);
}

static struct op kick_op(enum job_state state)
{
    return (struct op){
        .verb = OP_KICK, .topic = TOPIC, .in.chunk = {.state = state, .limit = OP_CHUNK_MAX}};
}

/* Two that had no rules, and one that had some. */
static void a_kick_may_bring_a_ttl_and_tries(void **state)
{
    struct job_rules rules = {.priority = 7, .max_tries = 5};
    struct op op = kick_op(JOB_DEAD);

    struct job job;

    make_dead("a");
    make_dead("b");
    push_ruled("c", rules);
    job = pop_one();
    assert_status(bury(&job), OK);
    op.in.chunk.ttl_ms = ROOM_MS;
    op.in.chunk.tries = 1;
    op = run_well(op);
    assert_int_equal(op.out.chunk.count, 3);
    for (unsigned i = 0; i < 3; i++) {
        rules = get(abc[i]).rules;
        assert_int_equal(rules.max_tries, 1);
        assert_int_equal(rules.expires_ms, after(&op, ROOM_MS));
        assert_bytes(get(abc[i]).body, BODY);
    }
    assert_int_equal(get("c").rules.priority, 7);
    assert_int_equal(scan_at(after(&op, ROOM_MS)).out.scan.died[DEATH_EXPIRED], 3);
    assert_dead("a", DEATH_EXPIRED);
}

static void a_kick_without_them_leaves_the_tries_and_no_ttl(void **state)
{
    struct op op = push_op(TOPIC, "a");
    struct job job;

    op.in.push.rules.max_tries = 5;
    op.in.push.ttl_ms = FAR_MS;
    job = reserve(op);
    assert_status(bury(&job), OK);
    op = kick_op(JOB_DEAD);
    op.in.chunk.ttl_ms = FAR_MS;
    op = run_well(op);
    assert_int_equal(get("a").rules.max_tries, 5);
    assert_int_equal(get("a").rules.expires_ms, after(&op, FAR_MS));
    job = pop_one();
    assert_status(bury(&job), OK);
    op = kick_op(JOB_DEAD);
    op.in.chunk.tries = 2;
    run_well(op);
    assert_int_equal(get("a").rules.max_tries, 2);
    assert_int_equal(get("a").rules.expires_ms, 0);
}

static void delayed_jobs_are_kicked_by_their_due_time(void **state)
{
    struct op op = kick_op(JOB_DELAYED);

    push_delayed("later", FAR_MS + 1000);
    push_delayed("sooner", FAR_MS);
    push_delayed("last", FAR_MS + 2000);
    make_dead("dead");
    op.in.chunk.limit = 2;
    op = run_well(op);
    assert_int_equal(op.out.chunk.count, 2);
    assert_true(op.out.chunk.has_more);
    assert_all_counts(1, 2, 0, 1);
    assert_int_equal(get("later").due_ms, op.now_ms);
    assert_int_equal(get("later").delay_ms, FAR_MS + 1000);
    ASSERT_READY("sooner", "later");
    op = run_well(kick_op(JOB_DELAYED));
    assert_int_equal(op.out.chunk.count, 1);
    assert_false(op.out.chunk.has_more);
}

/* It does not begin anew. */
static void a_delayed_job_keeps_its_ttl_and_tries_when_it_is_kicked(void **state)
{
    struct op op = push_op(TOPIC, "a");
    struct job job;

    op.in.push.ttl_ms = 2 * FAR_MS;
    job = reserve(op);
    assert_status(release(&job, FAR_MS), OK);
    assert_int_equal(run_well(kick_op(JOB_DELAYED)).out.chunk.count, 1);
    job = get("a");
    assert_int_equal(job.tries, 1);
    assert_true(job.rules.expires_ms > 0);
    assert_state("a", JOB_READY);
}

static void kicked_jobs_go_behind_those_of_their_priority(void **state)
{
    struct job job;

    push_ranked("urgent", 1);
    job = pop_one();
    assert_status(bury(&job), OK);
    make_dead("common");
    push("first");
    push_ranked("next-urgent", 1);
    assert_int_equal(kick(10).out.chunk.count, 2);
    ASSERT_READY("next-urgent", "urgent", "first", "common");
}

static void only_those_that_died_in_a_time_are_kicked(void **state)
{
    int64_t died_ms[3];

    make_dead_apart(3, abc, died_ms);
    assert_int_equal(kick_of(died_ms[2] + 1, 0).out.chunk.count, 0);
    assert_int_equal(kick_of(0, died_ms[0]).out.chunk.count, 0);
    assert_int_equal(kick_of(died_ms[1], died_ms[2]).out.chunk.count, 1);
    ASSERT_READY("b");
    assert_int_equal(kick_of(died_ms[1], 0).out.chunk.count, 1);
    ASSERT_READY("c");
}

static void a_kick_is_announced(void **state)
{
    unsigned before;

    make_dead("a");
    before = wake_ups(TOPIC);
    kick(1);
    assert_int_equal(wake_ups(TOPIC), before + 1);
}

/* ---- purge ---- */

static void delayed_jobs_are_purged_by_their_due_time(void **state)
{
    struct op op;

    push_delayed("later", 2 * FAR_MS);
    push_delayed("sooner", FAR_MS);
    push("ready");
    op = purge(JOB_DELAYED, 1);
    assert_int_equal(op.out.chunk.count, 1);
    assert_true(op.out.chunk.has_more);
    assert_gone("sooner");
    op = purge(JOB_DELAYED, 10);
    assert_int_equal(op.out.chunk.count, 1);
    assert_false(op.out.chunk.has_more);
    assert_gone("later");
    assert_all_counts(0, 1, 0, 0);
}

static void a_purge_of_reserved_jobs_voids_their_leases(void **state)
{
    struct job first = hold("a", TTR_MS), second = hold("b", 2 * TTR_MS);

    assert_true(purge(JOB_RESERVED, 1).out.chunk.has_more);
    assert_status(ack(&first), NOT_FOUND);
    assert_status(touch(&second, TTR_MS), OK);
    assert_int_equal(purge(JOB_RESERVED, 10).out.chunk.count, 1);
    assert_status(ack(&second), NOT_FOUND);
}

static void ready_jobs_are_purged_in_the_order_of_their_service(void **state)
{
    push("c1");
    push("c2");
    push("gone");
    push_ranked("low", 2000);
    push_ranked("high", 3);
    assert_status(cancel("gone"), OK);
    assert_int_equal(purge(JOB_READY, 2).out.chunk.count, 2);
    assert_gone("high");
    assert_gone("c1");
    while (purge(JOB_READY, 1).out.chunk.has_more)
        ;
    assert_gone("c2");
    assert_gone("low");
    assert_all_counts(0, 0, 0, 0);
}

#define TOMBSTONES_MAX 1100 /* more than a purge looks at */

static void a_purge_goes_through_tombstones_at_once(void **state)
{
    push_numbered(TOPIC, 0, 150, 0);
    push_letters(2);
    cancel_numbered(TOPIC, 0, 150);
    assert_int_equal(purge(JOB_READY, 1).out.chunk.count, 1);
    assert_gone("a");
    ASSERT_READY("b");
}

static void tombstones_are_not_more_to_purge(void **state)
{
    struct op op;

    push_delayed("delayed", 60000);
    push_ranked("urgent", 1);
    push_letters(2);
    cancel("b");
    op = purge(JOB_READY, 1);
    assert_int_equal(op.out.chunk.count, 1);
    assert_true(op.out.chunk.has_more);
    op = purge(JOB_READY, 1);
    assert_int_equal(op.out.chunk.count, 1);
    assert_false(op.out.chunk.has_more);

    push_ranked("urgent", 1);
    push("a");
    cancel("a");
    assert_false(purge(JOB_READY, 1).out.chunk.has_more);
    assert_counts(TOPIC, 1, 0, 0);
}

static void a_topic_that_a_purge_ends_has_no_more_to_purge(void **state)
{
    struct op op;

    push("a");
    push_numbered(TOPIC, 0, TOMBSTONES_MAX, 0);
    cancel_numbered(TOPIC, 0, TOMBSTONES_MAX);
    op = purge(JOB_READY, 1);
    assert_int_equal(op.out.chunk.count, 1);
    assert_false(op.out.chunk.has_more);
}

static void a_purge_takes_the_dead_of_a_time(void **state)
{
    int64_t died_ms[3];

    make_dead_apart(3, abc, died_ms);
    assert_int_equal(purge_dead_of(died_ms[1], died_ms[2]).out.chunk.count, 1);
    assert_gone("b");
    assert_int_equal(purge_dead_of(0, 0).out.chunk.count, 2);
    assert_all_counts(0, 0, 0, 0);
}

static void what_is_purged_can_be_pushed_again(void **state)
{
    struct op op = large_op("a");
    op.in.push.ttl_ms = FAR_MS;
    run_well(op);
    assert_int_equal(purge(JOB_READY, 10).out.chunk.count, 1);
    push("a");
    assert_bytes(pop_one().body, BODY);
    assert_int_equal(pop(1).out.pop.count, 0);
}

static void the_purge_of_the_last_job_ends_its_topic(void **state)
{
    struct op op = {.verb = OP_TOPICS, .bucket = bucket_of(TOPIC), .in.topics.limit = 10};

    push_delayed("a", FAR_MS);
    push("b");
    purge(JOB_READY, 10);
    assert_int_equal(run_well(op).out.topics.total, 1);
    purge(JOB_DELAYED, 10);
    assert_int_equal(run_well(op).out.topics.total, 0);
    assert_int_equal(next_event_ms(), -1);
}

static void many_are_purged_chunk_by_chunk(void **state)
{
    unsigned purged = 0;
    struct op op;

    push_numbered(TOPIC, 0, 2500, 0);
    do {
        op = purge(JOB_READY, OP_CHUNK_MAX);
        assert_in_range(op.out.chunk.count, 0, OP_CHUNK_MAX);
        purged += op.out.chunk.count;
    } while (op.out.chunk.has_more);
    assert_int_equal(purged, 2500);
    assert_all_counts(0, 0, 0, 0);
}

/* ---- limits of a topic ---- */

/* A scan that looks at TOPIC: a job of its own calls it. */
static struct op look_after(struct op op)
{
    struct op marker = push_delayed("marker", 1);

    wait_until(marker.out.push.due_ms);
    op = run_well(op);
    assert_status(cancel("marker"), OK);
    return op;
}

static void the_oldest_dead_above_the_limit_go(void **state)
{
    int64_t died_ms[3];

    set_dead_max(2);
    make_dead_apart(3, abc, died_ms);
    assert_int_equal(look_after(scan_op()).out.scan.pruned, 1);
    assert_gone("a");
    assert_dead("b", DEATH_BURIED);
    assert_all_counts(0, 0, 0, 2);
}

static void a_lower_limit_calls_the_scan_at_once(void **state)
{
    int64_t died_ms[3];
    struct op op;

    make_dead_apart(3, abc, died_ms);
    set_dead_max(1);
    op = scan_all();
    assert_int_equal(op.out.scan.pruned, 2);
    assert_int_equal(op.out.scan.moved, 2);
    assert_dead("c", DEATH_BURIED);
    assert_all_counts(0, 0, 0, 1);
}

static void the_dead_go_at_their_age_and_not_before(void **state)
{
    struct op op;
    int64_t died_ms;

    set_dead_age(20);
    make_dead("a");
    died_ms = look("a").place_ms;
    wait_until(died_ms + 20);
    set_dead_age(19); /* calls the scan before the second that a death gives it */
    assert_int_equal(scan_all().out.scan.pruned, 1);
    assert_gone("a");
    make_dead("b");
    died_ms = look("b").place_ms;
    set_dead_age(FAR_MS);
    op = scan_all();
    assert_int_equal(op.out.scan.pruned, 0);
    assert_int_equal(op.now_ms + op.out.scan.next_ms, died_ms + FAR_MS);
}

static void the_configuration_limits_topics_that_have_no_limit(void **state)
{
    struct settings_rule rules[] = {
        {BYTES("nobody"), {.set = SETTING_BIT(DEAD_MAX), .dead_max = 3}},
        {BYTES("orderz"), {.set = SETTING_BIT(DEAD_MAX), .dead_max = 3}}, /* without a * */
        {BYTES("ord*"), {.set = SETTING_BIT(DEAD_MAX), .dead_max = 1}},
        {BYTES("*"), {.set = SETTING_BIT(DEAD_MAX), .dead_max = 0}},
    };
    struct op op = scan_op();
    int64_t died_ms[3];

    op.in.scan.rules = rules;
    op.in.scan.rule_count = 4;
    make_dead_apart(3, abc, died_ms);
    assert_int_equal(look_after(op).out.scan.pruned, 2);
    assert_dead("c", DEATH_BURIED);
    set_dead_max(0);
    make_dead("d");
    assert_int_equal(look_after(op).out.scan.pruned, 0);
    assert_all_counts(0, 0, 0, 2);
}

/* Settings that a topic does not have itself come from the rules. */
static void of_each_setting_the_first_rule_that_sets_it_counts(void **state)
{
    struct settings_rule rules[] = {
        {BYTES("ord*"), {.set = SETTING_BIT(HISTORY), .history = true}},
        {BYTES("*"), {.set = SETTING_BIT(DEAD_MAX), .dead_max = 1}},
        {BYTES("*"), {.set = SETTING_BIT(DEAD_MAX), .dead_max = 2}},
    };
    struct op op = scan_op();
    int64_t died_ms[3];

    op.in.scan.rules = rules;
    op.in.scan.rule_count = 3;
    make_dead_apart(3, abc, died_ms);
    set_dead_age(FAR_MS);
    assert_int_equal(look_after(op).out.scan.pruned, 2);
    assert_dead("c", DEATH_BURIED);
}

/* Without an event to come the scan does not look at the topic. */
static void a_repair_calls_the_scan_to_a_topic_at_rest(void **state)
{
    struct settings_rule rule = {BYTES("ord*"), {.set = SETTING_BIT(DEAD_MAX), .dead_max = 1}};
    struct op op = scan_op(), call = id_op(OP_REPAIR, "");
    int64_t died_ms[3];

    make_dead_apart(3, abc, died_ms);
    look_after(op);
    op.in.scan.rules = &rule;
    op.in.scan.rule_count = 1;
    assert_int_equal(run_well(op).out.scan.next_ms, -1);
    assert_int_equal(run_well(call).wait_ms, -1);
    assert_all_counts(0, 0, 0, 3);
    call.in.repair.calls_scan = true;
    call = run_well(call);
    assert_int_equal(call.out.repair.damage, DAMAGE_NONE);
    assert_int_equal(call.wait_ms, 0);
    assert_int_equal(run_well(op).out.scan.pruned, 2);
    assert_dead("c", DEATH_BURIED);
}

static void a_repair_calls_no_scan_to_a_topic_that_is_not_there(void **state)
{
    struct op call = id_op(OP_REPAIR, "");

    call.in.repair.calls_scan = true;
    assert_int_equal(run_well(call).wait_ms, -1);
    assert_int_equal(scan(1).out.scan.next_ms, -1);
}

static void a_scan_lets_no_more_go_than_its_limit(void **state)
{
    int64_t died_ms[3];
    struct op op;

    make_dead_apart(3, abc, died_ms);
    set_dead_max(1);
    op = scan(1);
    assert_int_equal(op.out.scan.pruned, 1);
    assert_int_equal(op.out.scan.next_ms, 0);
    assert_all_counts(0, 0, 0, 2);
    assert_int_equal(scan(1).out.scan.pruned, 1);
}

static void what_is_let_go_leaves_nothing_behind(void **state)
{
    struct op op = large_op("a");
    struct job job;
    op.in.push.ttl_ms = FAR_MS;
    job = reserve(op);
    assert_status(bury(&job), OK);
    set_dead_age(1);
    wait_until(look("a").place_ms + 2);
    assert_int_equal(scan_all().out.scan.pruned, 1);
    assert_all_counts(0, 0, 0, 0);
    push("a");
    assert_bytes(get("a").body, BODY);
}

static const struct CMUnitTest tests[] = {
    TEST(the_oldest_dead_are_kicked_first),
    TEST(a_kick_of_none_is_no_error),
    TEST(a_kicked_job_begins_anew),
    TEST(a_kick_may_bring_a_ttl_and_tries),
    TEST(a_kick_without_them_leaves_the_tries_and_no_ttl),
    TEST(delayed_jobs_are_kicked_by_their_due_time),
    TEST(a_delayed_job_keeps_its_ttl_and_tries_when_it_is_kicked),
    TEST(kicked_jobs_go_behind_those_of_their_priority),
    TEST(only_those_that_died_in_a_time_are_kicked),
    TEST(a_kick_is_announced),
    TEST(delayed_jobs_are_purged_by_their_due_time),
    TEST(a_purge_of_reserved_jobs_voids_their_leases),
    TEST(ready_jobs_are_purged_in_the_order_of_their_service),
    TEST(a_purge_goes_through_tombstones_at_once),
    TEST(tombstones_are_not_more_to_purge),
    TEST(a_topic_that_a_purge_ends_has_no_more_to_purge),
    TEST(a_purge_takes_the_dead_of_a_time),
    TEST(what_is_purged_can_be_pushed_again),
    TEST(the_purge_of_the_last_job_ends_its_topic),
    TEST(many_are_purged_chunk_by_chunk),
    TEST(the_oldest_dead_above_the_limit_go),
    TEST(a_lower_limit_calls_the_scan_at_once),
    TEST(the_dead_go_at_their_age_and_not_before),
    TEST(the_configuration_limits_topics_that_have_no_limit),
    TEST(of_each_setting_the_first_rule_that_sets_it_counts),
    TEST(a_repair_calls_the_scan_to_a_topic_at_rest),
    TEST(a_repair_calls_no_scan_to_a_topic_that_is_not_there),
    TEST(a_scan_lets_no_more_go_than_its_limit),
    TEST(what_is_let_go_leaves_nothing_behind),
};

const struct contract_part contract_dead = {tests, sizeof(tests) / sizeof(*tests)};
