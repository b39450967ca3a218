/* Features of the memory store alone: faults, held answers, a broken link, a shared clock.
 * contract_test.c tests what every store must do. */
#include "base/tests/unit.h"
#include "node/store/memory/store.h"

#define TOPIC BYTES("orders")

struct bench {
    struct timers timers;
    struct memory_store *ms;
    unsigned done, ready, settings, up, down;
    enum status last;
};

static struct bench bench;

static void on_ready(void *arg, struct bytes topic)
{
    assert_true(bytes_equal(topic, TOPIC));
    ((struct bench *)arg)->ready++;
}

static void on_settings(void *arg, struct bytes topic)
{
    assert_true(bytes_equal(topic, TOPIC));
    ((struct bench *)arg)->settings++;
}

static void on_up(void *arg)
{
    ((struct bench *)arg)->up++;
}

static void on_down(void *arg)
{
    ((struct bench *)arg)->down++;
}

static void on_done(struct op *op)
{
    bench.done++;
    bench.last = op->status;
}

static struct op push_op(const char *id)
{
    return (struct op){
        .verb = OP_PUSH,
        .on_done = on_done,
        .topic = TOPIC,
        .id = bytes_of_text(id),
        .in.push = {.body = BYTES("body"), .ttr_ms = 10000, .rules = rules_default}};
}

static struct op get_op(const char *id)
{
    return (struct op){
        .verb = OP_GET, .on_done = on_done, .topic = TOPIC, .id = bytes_of_text(id)};
}

static struct op op_of(enum op_verb verb, const char *id)
{
    struct op op = get_op(id);

    op.verb = verb;
    return op;
}

static void turn(void)
{
    timers_run(&bench.timers, timers_now(&bench.timers));
}

/* Submits and turns until it is answered. */
static enum status run(struct op *op)
{
    unsigned before = bench.done;

    store_submit(memory_store_port(bench.ms), op);
    while (bench.done == before)
        turn();
    return bench.last;
}

static enum status push(const char *id)
{
    struct op op = push_op(id);

    return run(&op);
}

static enum status get(const char *id)
{
    struct op op = get_op(id);

    return run(&op);
}

static int setup(void **state)
{
    bench = (struct bench){0};
    timers_init(&bench.timers, 1000);
    bench.ms = memory_store_new(&bench.timers, 1);
    memory_store_port(bench.ms)->events = (struct store_events){.on_ready = on_ready,
                                                                .on_settings = on_settings,
                                                                .on_up = on_up,
                                                                .on_down = on_down,
                                                                .arg = &bench};
    return 0;
}

static int teardown(void **state)
{
    memory_store_free(bench.ms);
    timers_fini(&bench.timers);
    return 0;
}

static void answers_and_events_come_in_a_later_turn(void **state)
{
    struct op op = push_op("a");

    store_submit(memory_store_port(bench.ms), &op);
    assert_int_equal(bench.done + bench.ready + bench.up, 0);
    turn();
    assert_int_equal(bench.done, 1);
    assert_int_equal(bench.ready, 1);
    assert_int_equal(bench.up, 1);
}

static void the_clock_follows_the_timers_from_where_it_was_set(void **state)
{
    assert_int_equal(memory_store_now(bench.ms), MEMORY_STORE_EPOCH_MS + 1000);
    memory_store_set_now(bench.ms, 5000000);
    timers_run(&bench.timers, 1007);
    assert_int_equal(memory_store_now(bench.ms), 5000007);
}

static void a_refused_operation_did_not_happen(void **state)
{
    memory_store_fail(bench.ms, 1, STATUS_STORE_ERROR, MEMORY_UNDONE);
    assert_int_equal(push("a"), STATUS_STORE_ERROR);
    assert_int_equal(get("a"), STATUS_NOT_FOUND);
}

static void an_unknown_operation_may_or_may_not_have_happened(void **state)
{
    memory_store_fail(bench.ms, 1, STATUS_UNKNOWN, MEMORY_UNDONE);
    assert_int_equal(push("undone"), STATUS_UNKNOWN);
    assert_int_equal(get("undone"), STATUS_NOT_FOUND);

    memory_store_fail(bench.ms, 1, STATUS_UNKNOWN, MEMORY_DONE);
    assert_int_equal(push("done"), STATUS_UNKNOWN);
    assert_int_equal(get("done"), STATUS_OK);
}

static void only_the_next_operations_fail(void **state)
{
    memory_store_fail(bench.ms, 2, STATUS_STORE_ERROR, MEMORY_UNDONE);
    assert_int_equal(push("a"), STATUS_STORE_ERROR);
    assert_int_equal(push("a"), STATUS_STORE_ERROR);
    assert_int_equal(push("a"), STATUS_OK);
}

static void held_answers_wait_while_wake_ups_arrive(void **state)
{
    struct op first = push_op("a"), second = get_op("a");

    memory_store_hold(bench.ms);
    store_submit(memory_store_port(bench.ms), &first);
    store_submit(memory_store_port(bench.ms), &second);
    turn();
    assert_int_equal(bench.done, 0);
    assert_int_equal(bench.ready, 1);
    assert_int_equal(memory_store_in_flight(bench.ms), 2);

    memory_store_release(bench.ms, 1);
    turn();
    assert_int_equal(bench.done, 1);

    memory_store_unhold(bench.ms);
    turn();
    assert_int_equal(bench.done, 2);
    assert_int_equal(bench.last, STATUS_OK);
    assert_int_equal(memory_store_in_flight(bench.ms), 0);
}

static void a_lost_link_makes_what_is_in_flight_unknown(void **state)
{
    struct op held = push_op("a");

    memory_store_hold(bench.ms);
    store_submit(memory_store_port(bench.ms), &held);
    memory_store_take_down(bench.ms);
    turn();
    assert_int_equal(bench.last, STATUS_UNKNOWN);
    assert_int_equal(held.now_ms, 0);
    assert_int_equal(held.wait_ms, -1);
    assert_int_equal(bench.down, 1);
    assert_int_equal(bench.ready, 0);

    memory_store_unhold(bench.ms);
    assert_int_equal(get("a"), STATUS_UNAVAILABLE);
    memory_store_bring_up(bench.ms);
    assert_int_equal(get("a"), STATUS_OK);
    assert_int_equal(bench.up, 2);
}

static void what_waits_for_the_link_runs_in_order_when_it_is_back(void **state)
{
    struct op first = push_op("a"), second = get_op("a"), scan = op_of(OP_SCAN, "");

    memory_store_take_down(bench.ms);
    memory_store_let_wait(bench.ms);
    store_submit(memory_store_port(bench.ms), &first);
    store_submit(memory_store_port(bench.ms), &second);
    store_submit(memory_store_port(bench.ms), &scan);
    turn();
    assert_int_equal(scan.status, STATUS_UNAVAILABLE);
    assert_int_equal(memory_store_in_flight(bench.ms), 2);
    memory_store_bring_up(bench.ms);
    turn();
    assert_int_equal(first.status, STATUS_OK);
    assert_int_equal(second.status, STATUS_OK);
    assert_int_equal(memory_store_in_flight(bench.ms), 0);
}

static void what_is_abandoned_while_it_waits_never_runs(void **state)
{
    struct op op = push_op("a");

    memory_store_take_down(bench.ms);
    memory_store_let_wait(bench.ms);
    store_submit(memory_store_port(bench.ms), &op);
    store_abandon(memory_store_port(bench.ms), &op);
    turn();
    assert_int_equal(op.status, STATUS_UNAVAILABLE);
    assert_int_equal(memory_store_dropped(bench.ms), 1);
    store_abandon(memory_store_port(bench.ms), &op); /* it is done: nothing */
    memory_store_bring_up(bench.ms);
    turn();
    assert_int_equal(get("a"), STATUS_NOT_FOUND);
    assert_int_equal(memory_store_dropped(bench.ms), 1);
}

static void a_lost_link_makes_a_read_in_flight_unavailable(void **state)
{
    struct op held = get_op("a");

    memory_store_hold(bench.ms);
    store_submit(memory_store_port(bench.ms), &held);
    memory_store_take_down(bench.ms);
    turn();
    assert_int_equal(bench.last, STATUS_UNAVAILABLE);
}

static void nodes_share_the_jobs_but_not_the_link(void **state)
{
    struct memory_store *mine = bench.ms;
    struct memory_store *other = memory_store_join(mine, &bench.timers);

    assert_int_equal(push("a"), STATUS_OK);
    memory_store_take_down(mine);
    bench.ms = other;
    assert_int_equal(get("a"), STATUS_OK);
    bench.ms = mine;
    assert_int_equal(get("a"), STATUS_UNAVAILABLE);
    memory_store_free(other);
}

static struct op pause_op(void)
{
    struct op op = op_of(OP_CONFIGURE, "");

    op.in.configure.has_pause = true;
    op.in.configure.settings.paused_until_ms = SETTINGS_FOREVER;
    return op;
}

static void all_nodes_hear_of_other_settings_but_those_whose_link_is_down(void **state)
{
    struct memory_store *other = memory_store_join(bench.ms, &bench.timers);
    struct op op = pause_op();

    memory_store_port(other)->events = memory_store_port(bench.ms)->events;
    store_submit(memory_store_port(bench.ms), &op);
    assert_int_equal(bench.settings, 0);
    turn();
    assert_int_equal(bench.settings, 2);
    memory_store_take_down(other);
    assert_int_equal(run(&op), STATUS_OK);
    assert_int_equal(bench.settings, 3);
    memory_store_free(other);
}

static void a_lost_link_loses_what_was_said_of_settings(void **state)
{
    struct op op = pause_op();

    turn();
    store_submit(memory_store_port(bench.ms), &op);
    memory_store_take_down(bench.ms);
    turn();
    assert_int_equal(bench.settings, 0);
}

/* The suspects of an audit of the whole topic. */
static unsigned suspects(void)
{
    struct op op = op_of(OP_AUDIT, "");

    assert_int_equal(run(&op), STATUS_OK);
    assert_int_equal(op.out.audit.next.len, 0);
    return op.out.audit.count;
}

static enum damage mend(const char *id)
{
    struct op op = op_of(OP_REPAIR, id);

    assert_int_equal(run(&op), STATUS_OK);
    return op.out.repair.damage;
}

static void what_was_lost_is_found_and_mended_and_nothing_else(void **state)
{
    struct op with_ttl = push_op("b"), delayed = push_op("a");

    delayed.in.push.delay_ms = with_ttl.in.push.delay_ms = 1000;
    with_ttl.in.push.ttl_ms = 5000;
    assert_int_equal(run(&delayed), STATUS_OK);
    assert_int_equal(run(&with_ttl), STATUS_OK);
    assert_int_equal(push("c"), STATUS_OK);
    assert_int_equal(suspects(), 0);
    assert_int_equal(mend("a"), DAMAGE_NONE);

    memory_store_lose(bench.ms, 0, TOPIC, BYTES("a"));
    memory_store_lose(bench.ms, 0, TOPIC, BYTES("b"));
    assert_int_equal(suspects(), 2);
    assert_int_equal(mend("b"), DAMAGE_NO_JOB);
    assert_int_equal(mend("b"), DAMAGE_NONE);
    assert_int_equal(mend("a"), DAMAGE_NO_JOB);
    assert_int_equal(suspects(), 0);
    assert_int_equal(get("c"), STATUS_OK);
}

static void operations_are_counted(void **state)
{
    push("a");
    get("a");
    get("b");
    assert_int_equal(memory_store_count(bench.ms, OP_PUSH), 1);
    assert_int_equal(memory_store_count(bench.ms, OP_GET), 2);
    assert_int_equal(memory_store_count(bench.ms, OP_SCAN), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(answers_and_events_come_in_a_later_turn),
        TEST(the_clock_follows_the_timers_from_where_it_was_set),
        TEST(a_refused_operation_did_not_happen),
        TEST(an_unknown_operation_may_or_may_not_have_happened),
        TEST(only_the_next_operations_fail),
        TEST(held_answers_wait_while_wake_ups_arrive),
        TEST(a_lost_link_makes_what_is_in_flight_unknown),
        TEST(what_waits_for_the_link_runs_in_order_when_it_is_back),
        TEST(what_is_abandoned_while_it_waits_never_runs),
        TEST(a_lost_link_makes_a_read_in_flight_unavailable),
        TEST(nodes_share_the_jobs_but_not_the_link),
        TEST(all_nodes_hear_of_other_settings_but_those_whose_link_is_down),
        TEST(a_lost_link_loses_what_was_said_of_settings),
        TEST(what_was_lost_is_found_and_mended_and_nothing_else),
        TEST(operations_are_counted),
    };
#undef TEST

    return cmocka_run_group_tests_name("memory_store", tests, NULL, NULL);
}
