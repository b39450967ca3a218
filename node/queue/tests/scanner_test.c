/* Due jobs are moved when they are due: never early, never by polling. */
#include "node/queue/tests/fixtures/nodes_fixture.h"

#include <stdio.h>

static void moves_a_job_in_the_millisecond_it_is_due(void **state)
{
    push(&f, "t", "1", 250, 5000);
    fixture_advance(&f, 249);
    assert_int_equal(state_of(&f, "t", "1"), JOB_DELAYED);
    fixture_advance(&f, 1);
    assert_int_equal(state_of(&f, "t", "1"), JOB_READY);
    assert_int_equal(queue_stats(f.q)->move_lateness.total, 1);
    assert_int_equal(queue_stats(f.q)->move_lateness.max, 0);
}

static void wakes_the_consumer_that_waits_for_it(void **state)
{
    push(&f, "t", "1", 700, 5000);
    consume(&f, &a, "t", 1, 60000);
    fixture_advance(&f, 699);
    assert_int_equal(a.done, 0);
    fixture_advance(&f, 1);
    assert_int_equal(a.status, STATUS_OK);
    delivered(&f, &a);
    assert_int_equal(queue_stats(f.q)->delivery_lateness.total, 1);
    assert_int_equal(queue_stats(f.q)->delivery_lateness.max, 0);
}

static void an_earlier_job_moves_the_timer_forward(void **state)
{
    push(&f, "t", "late", 900, 5000);
    push(&f, "t", "soon", 100, 5000);
    fixture_advance(&f, 100);
    assert_int_equal(state_of(&f, "t", "soon"), JOB_READY);
    assert_int_equal(state_of(&f, "t", "late"), JOB_DELAYED);
    fixture_advance(&f, 800);
    assert_int_equal(state_of(&f, "t", "late"), JOB_READY);
}

/* The push is done while an older scan's answer is on its way. */
static void hears_of_an_earlier_job_while_it_scans(void **state)
{
    struct call call = {0};

    memory_store_hold(f.ms);
    fixture_advance(&f, 1000); /* all buckets are being scanned */
    call.op.in.push.delay_ms = 50;
    submit(&f, &call, OP_PUSH, "t", "1", 0);
    fixture_release(&f, 5); /* with a look at settings */
    memory_store_unhold(f.ms);
    fixture_advance(&f, 50);
    assert_int_equal(state_of(&f, "t", "1"), JOB_READY);
}

static void drains_a_burst_in_batches_without_waiting(void **state)
{
    unsigned long before;

    for (unsigned i = 0; i < 95; i++)
        push(&f, "t", "", 500, 5000);
    fixture_advance(&f, 499);
    before = count(OP_SCAN);
    fixture_advance(&f, 1);
    assert_int_equal(stats_of(&f, "t").ready, 95);
    assert_int_equal(count(OP_SCAN) - before, 10); /* the fixture's batch is 10 */
    assert_int_equal(queue_stats(f.q)->move_lateness.total, 95);
}

static void does_not_poll(void **state)
{
    unsigned long before;

    push(&f, "t", "1", 3600000, 5000);
    before = count(OP_SCAN);
    fixture_advance(&f, 10000);
    assert_int_equal(count(OP_SCAN) - before,
                     4 * 10); /* each bucket's safety scan, once a second */
}

static void gives_a_job_again_when_it_was_not_acknowledged(void **state)
{
    hand_out("t", "1", 3000);
    fixture_advance(&f, 5); /* the confirmation */
    fixture_advance(&f, 2999);
    assert_int_equal(state_of(&f, "t", "1"), JOB_RESERVED);
    fixture_advance(&f, 1);
    assert_int_equal(state_of(&f, "t", "1"), JOB_READY);
    assert_int_equal(queue_stats(f.q)->expired_jobs, 1);
    consume(&f, &a, "t", 1, 0);
    assert_int_equal(a.tries[0], 1);
    delivered(&f, &a);
}

/* A Redis that has forgotten a script has it again with the next scan: it is soon, however long
 * the safety interval is. */
static void scans_soon_after_a_single_failure(void **state)
{
    static const enum status statuses[] = {STATUS_STORE_ERROR, STATUS_UNAVAILABLE};
    struct queue_options options = fixture_options();

    for (unsigned i = 0; i < 4; i++) {
        char id[] = {(char)('1' + i), '\0'};

        options.scan_interval_ms = i < 2 ? 1000 : 60000;
        queue_reload(f.q, &options);
        push(&f, "t", id, 500, 5000);
        fixture_advance(&f, 499);
        memory_store_fail(f.ms, 1, statuses[i % 2], MEMORY_UNDONE);
        fixture_advance(&f, 1);
        assert_int_equal(state_of(&f, "t", id), JOB_DELAYED);
        fixture_advance(&f, 10);
        assert_int_equal(state_of(&f, "t", id), JOB_READY);
    }
}

static void scans_less_and_less_often_while_it_fails(void **state)
{
    unsigned long before = count(OP_SCAN); /* of 4 buckets */

    memory_store_fail(f.ms, 1000000, STATUS_STORE_ERROR, MEMORY_UNDONE);
    fixture_advance(&f, 10000);
    assert_in_range(count(OP_SCAN) - before, 4 * 35, 4 * 50);
    memory_store_fail(f.ms, 0, STATUS_STORE_ERROR, MEMORY_UNDONE);
}

/* As after a full disk: Redis refuses what is written, and then does not. */
static void moves_what_is_due_soon_after_the_store_takes_writes_again(void **state)
{
    push(&f, "t", "1", 500, 5000);
    memory_store_fail(f.ms, 1000000, STATUS_STORE_ERROR, MEMORY_UNDONE);
    fixture_advance(&f, 5000);
    memory_store_fail(f.ms, 0, STATUS_STORE_ERROR, MEMORY_UNDONE);
    fixture_advance(&f, 250);
    assert_int_equal(state_of(&f, "t", "1"), JOB_READY);
}

static void scans_at_once_when_the_store_is_back(void **state)
{
    push(&f, "t", "1", 500, 5000);
    memory_store_take_down(f.ms);
    fixture_advance(&f, 700);
    fixture_bring_up(&f);
    assert_int_equal(state_of(&f, "t", "1"), JOB_READY);
}

static void an_inactive_node_moves_nothing(void **state)
{
    queue_deactivate(f.q);
    push(&f, "t", "1", 500, 5000);
    fixture_advance(&f, 5000);
    assert_int_equal(state_of(&f, "t", "1"), JOB_DELAYED);
    queue_activate(f.q);
    fixture_turn(&f);
    assert_int_equal(state_of(&f, "t", "1"), JOB_READY);
}

static void saying_twice_that_a_node_is_active_or_not_is_nothing(void **state)
{
    unsigned long before = count(OP_SCAN);

    queue_activate(f.q);
    fixture_turn(&f);
    assert_int_equal(count(OP_SCAN), before);
    queue_deactivate(f.q);
    queue_deactivate(f.q);
    fixture_advance(&f, 5000);
    assert_int_equal(count(OP_SCAN), before);
}

static void a_node_that_stops_does_not_become_active(void **state)
{
    struct call on_its_way = {0};
    unsigned long before;

    memory_store_hold(f.ms);
    submit(&f, &on_its_way, OP_PUSH, "t", "1", 0);
    fixture_stop(&f);
    before = count(OP_SCAN);
    queue_activate(f.q);
    fixture_advance(&f, 5000);
    assert_false(f.is_stopped);
    assert_int_equal(count(OP_SCAN), before);
    fixture_unhold(&f);
    assert_true(f.is_stopped);
}

/* ---- what the configuration says ---- */

static void go_by(const struct settings_rule *rule)
{
    struct queue_options options = fixture_options();

    options.rules = rule;
    options.rule_count = 1;
    queue_reload(f.q, &options);
}

static void bury_some(unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        bury_one(&f, "t", "");
}

static void prunes_the_dead_as_the_rules_say_and_counts_them(void **state)
{
    static const struct settings_rule at_most_three = {
        BYTES("t"), {.set = SETTING_BIT(DEAD_MAX), .dead_max = 3}};

    go_by(&at_most_three);
    bury_some(8);
    fixture_advance(&f, 3000);
    assert_int_equal(stats_of(&f, "t").dead, 3);
    assert_int_equal(queue_stats(f.q)->pruned_jobs, 5);
}

static void after_a_reload_the_scan_goes_by_the_new_rules(void **state)
{
    static const struct settings_rule old = {BYTES("t"),
                                             {.set = SETTING_BIT(DEAD_MAX), .dead_max = 6}};
    static const struct settings_rule new = {BYTES("*"),
                                             {.set = SETTING_BIT(DEAD_MAX), .dead_max = 2}};

    go_by(&old);
    bury_some(8);
    fixture_advance(&f, 3000);
    assert_int_equal(stats_of(&f, "t").dead, 6);
    go_by(&new);
    bury_some(1); /* the next event of the topic */
    fixture_advance(&f, 3000);
    assert_int_equal(stats_of(&f, "t").dead, 2);
}

static void push_mortal(const struct job_rules *rules, int64_t ttl_ms)
{
    struct call call = {
        .op.in.push = {
            .given = SETTINGS_ALL, .rules = *rules, .ttr_ms = 1000, .ttl_ms = ttl_ms}};

    assert_int_equal(submit(&f, &call, OP_PUSH, "t", "1", 0), STATUS_OK);
}

static void counts_those_whose_tries_are_used_up(void **state)
{
    push_mortal(&(struct job_rules){.priority = 1024, .max_tries = 1}, 0);
    consume(&f, &a, "t", 1, 0);
    delivered(&f, &a);
    fixture_advance(&f, 2000);
    assert_int_equal(queue_stats(f.q)->died[DEATH_TRIES], 1);
    assert_int_equal(state_of(&f, "t", "1"), JOB_DEAD);
}

static void counts_those_that_expire(void **state)
{
    push_mortal(&rules_default, 700);
    fixture_advance(&f, 699);
    assert_int_equal(state_of(&f, "t", "1"), JOB_READY);
    fixture_advance(&f, 1);
    assert_int_equal(state_of(&f, "t", "1"), JOB_DEAD);
    assert_int_equal(queue_stats(f.q)->died[DEATH_EXPIRED], 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_ACTIVE(moves_a_job_in_the_millisecond_it_is_due),
        WITH_ACTIVE(wakes_the_consumer_that_waits_for_it),
        WITH_ACTIVE(an_earlier_job_moves_the_timer_forward),
        WITH_ACTIVE(hears_of_an_earlier_job_while_it_scans),
        WITH_ACTIVE(drains_a_burst_in_batches_without_waiting),
        WITH_ACTIVE(does_not_poll),
        WITH_ACTIVE(gives_a_job_again_when_it_was_not_acknowledged),
        WITH_ACTIVE(scans_soon_after_a_single_failure),
        WITH_ACTIVE(scans_less_and_less_often_while_it_fails),
        WITH_ACTIVE(scans_at_once_when_the_store_is_back),
        WITH_ACTIVE(moves_what_is_due_soon_after_the_store_takes_writes_again),
        WITH_ACTIVE(an_inactive_node_moves_nothing),
        WITH_ACTIVE(saying_twice_that_a_node_is_active_or_not_is_nothing),
        WITH_ACTIVE(a_node_that_stops_does_not_become_active),
        WITH_ACTIVE(prunes_the_dead_as_the_rules_say_and_counts_them),
        WITH_ACTIVE(after_a_reload_the_scan_goes_by_the_new_rules),
        WITH_ACTIVE(counts_those_whose_tries_are_used_up),
        WITH_ACTIVE(counts_those_that_expire),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
