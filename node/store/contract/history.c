/* History: a trace tells the lines of its job alone, newest first; old lines go.
 */
#include "node/store/contract/whole.h"

#include <stdio.h>

#define PLENTY 1000000 /* bytes */
#define NODE   BYTES("node-1")

static struct history_item item_of(const char *id, enum job_event event, int64_t time_ms)
{
    return (struct history_item){.event = event,
                                 .time_ms = time_ms,
                                 .topic = TOPIC,
                                 .id = bytes_of_text(id),
                                 .node = NODE,
                                 .client = BYTES("10.0.0.7")};
}

static void record(const struct history_item *items, unsigned count, int64_t bytes_max)
{
    struct op op = {.verb = OP_RECORD, .bucket = bucket_of(TOPIC)};

    op.in.record.items = items;
    op.in.record.count = count;
    op.in.record.bytes_max = bytes_max;
    run_well(op);
}

static struct op trace(const char *id, struct bytes before, unsigned limit)
{
    struct op op = id_op(OP_TRACE, id);

    op.in.trace.before = before;
    op.in.trace.limit = limit;
    return run_well(op);
}

/* The newest line of a job, and how many it has. */
static struct history_item newest(const char *id, unsigned expected)
{
    struct op op = trace(id, BYTES(""), OP_RECORDS_MAX);

    assert_int_equal(op.out.trace.count, expected);
    return op.out.trace.items[0];
}

/* ---- recorded ---- */

static void a_job_without_history_has_no_lines(void **state)
{
    struct op op = trace("a", BYTES(""), 10);

    assert_int_equal(op.out.trace.count, 0);
    assert_int_equal(op.out.trace.next.len, 0);
}

static void a_line_is_told_as_it_was_recorded(void **state)
{
    struct history_item item = item_of("a", EVENT_DIED, 123456789), told;

    item.death = DEATH_TRIES;
    item.at_ms = 987654321;
    item.tries = 65535;
    record(&item, 1, PLENTY);
    told = newest("a", 1);
    assert_int_equal(told.event, EVENT_DIED);
    assert_int_equal(told.death, DEATH_TRIES);
    assert_int_equal(told.time_ms, 123456789);
    assert_int_equal(told.at_ms, 987654321);
    assert_int_equal(told.tries, 65535);
    assert_bytes(told.topic, TOPIC);
    assert_bytes(told.id, BYTES("a"));
    assert_bytes(told.node, NODE);
    assert_bytes(told.client, BYTES("10.0.0.7"));
}

static void a_job_is_told_its_own_lines_newest_first(void **state)
{
    struct history_item items[] = {
        item_of("a", EVENT_PUSHED, 1), item_of("b", EVENT_PUSHED, 2),
        item_of("a", EVENT_DUE, 3),    item_of("aa", EVENT_DUE, 4),
        item_of("a", EVENT_ACKED, 5),
    };
    struct op op;

    items[3].topic = OTHER;
    record(items, 5, PLENTY);
    op = trace("a", BYTES(""), 10);
    assert_int_equal(op.out.trace.count, 3);
    assert_int_equal(op.out.trace.items[0].event, EVENT_ACKED);
    assert_int_equal(op.out.trace.items[1].event, EVENT_DUE);
    assert_int_equal(op.out.trace.items[2].event, EVENT_PUSHED);
    assert_int_equal(trace("aa", BYTES(""), 10).out.trace.count, 0);
}

static void pages_go_back_through_many_lines(void **state)
{
    static struct history_item items[OP_RECORDS_MAX];
    struct bytes before = BYTES("");
    int64_t last_ms = INT64_MAX;
    unsigned told = 0;

    for (unsigned round = 0; round < 40; round++) {
        for (unsigned i = 0; i < OP_RECORDS_MAX; i++)
            items[i] = item_of(i % 8 ? "other" : "a", EVENT_TOUCHED,
                               1 + (int64_t)round * OP_RECORDS_MAX + i);
        record(items, OP_RECORDS_MAX, PLENTY);
    }
    do {
        struct op op = trace("a", before, 7);

        assert_in_range(op.out.trace.count, 0, 7);
        for (unsigned i = 0; i < op.out.trace.count; i++, told++) {
            assert_true(op.out.trace.items[i].time_ms < last_ms);
            last_ms = op.out.trace.items[i].time_ms;
        }
        before = op.out.trace.next;
    } while (before.len);
    assert_int_equal(told, 320);
}

static unsigned lines_of(const char *id)
{
    struct bytes before = BYTES("");
    unsigned lines = 0;

    do {
        struct op op = trace(id, before, OP_RECORDS_MAX);

        lines += op.out.trace.count;
        before = op.out.trace.next;
    } while (before.len);
    return lines;
}

/* Each line is 16 bytes and its names. */
static void the_oldest_lines_go_when_there_are_too_many_bytes(void **state)
{
    static struct history_item items[OP_RECORDS_MAX];
    struct history_item first = item_of("first", EVENT_PUSHED, 1);
    unsigned lines;

    record(&first, 1, 50000);
    for (unsigned i = 0; i < OP_RECORDS_MAX; i++)
        items[i] = item_of("a", EVENT_TOUCHED, 2);
    for (unsigned round = 0; round < 60; round++)
        record(items, OP_RECORDS_MAX, 50000);
    items[0].event = EVENT_ACKED;
    record(items, 1, 50000);
    lines = lines_of("a");
    assert_in_range(lines, 50000 / 200, 2 * 50000 / 40);
    assert_int_equal(lines_of("first"), 0);
    assert_int_equal(trace("a", BYTES(""), 1).out.trace.items[0].event, EVENT_ACKED);
}

static void a_cursor_that_is_none_is_refused(void **state)
{
    static const char *const cursors[] = {"what",
                                          "0-0",
                                          "00-0",
                                          "1-",
                                          "1-2-3",
                                          "-1",
                                          "18446744073709551616-1",
                                          "1-99999999999999999999"};
    struct op op = id_op(OP_TRACE, "a");

    op.in.trace.limit = 1;
    for (unsigned i = 0; i < sizeof(cursors) / sizeof(*cursors); i++) {
        op.in.trace.before = bytes_of_text(cursors[i]);
        assert_status(run(op), OUT_OF_RANGE);
    }
}

/* ---- by the scan ---- */

static struct op history_scan_op(int64_t history_bytes)
{
    struct op op = scan_op();

    op.in.scan.node = NODE;
    op.in.scan.history_bytes = history_bytes;
    return op;
}

static void switch_on(bool on)
{
    configure((struct topic_settings){.set = SETTING_BIT(HISTORY), .history = on},
              SETTING_BIT(HISTORY));
}

static void a_scan_records_what_became_due_and_ran_out(void **state)
{
    struct history_item told;
    struct op op;
    int64_t due_ms;

    switch_on(true);
    hold("held", 1);
    due_ms = push_delayed("late", 1).out.push.due_ms;
    wait_until(store_now() + 3);
    op = run_well(history_scan_op(PLENTY));
    assert_int_equal(op.out.scan.moved, 2);
    told = newest("late", 1);
    assert_int_equal(told.event, EVENT_DUE);
    assert_int_equal(told.time_ms, op.now_ms);
    assert_int_equal(told.tries, 0);
    assert_bytes(told.node, NODE);
    told = newest("held", 1);
    assert_int_equal(told.event, EVENT_TIMED_OUT);
    assert_int_equal(told.tries, 1);
    assert_int_equal(told.at_ms, get("held").due_ms);
    assert_int_equal(get("late").due_ms, due_ms);
}

static void a_scan_records_who_died_of_what(void **state)
{
    struct history_item told;
    struct job job;

    switch_on(true);
    push_limited("tried", 1);
    job = pop_one();
    assert_status(touch(&job, 1), OK);
    push_mortal("mortal", 0, 1);
    wait_until(store_now() + 3);
    run_well(history_scan_op(PLENTY));
    told = newest("tried", 1);
    assert_int_equal(told.event, EVENT_DIED);
    assert_int_equal(told.death, DEATH_TRIES);
    told = newest("mortal", 1);
    assert_int_equal(told.event, EVENT_DIED);
    assert_int_equal(told.death, DEATH_EXPIRED);
}

static void a_scan_records_nothing_where_history_is_off(void **state)
{
    struct settings_rule rule = {BYTES("*"), {.set = SETTING_BIT(HISTORY), .history = true}};
    struct op op = history_scan_op(PLENTY);

    wait_until(push_delayed("a", 1).out.push.due_ms);
    run_well(op);
    assert_int_equal(lines_of("a"), 0);
    op.in.scan.rules = &rule;
    op.in.scan.rule_count = 1;
    wait_until(push_delayed("b", 1).out.push.due_ms);
    run_well(op);
    assert_int_equal(lines_of("b"), 1);
    switch_on(false);
    wait_until(push_delayed("c", 1).out.push.due_ms);
    run_well(op);
    assert_int_equal(lines_of("c"), 0);
    switch_on(true);
    wait_until(push_delayed("d", 1).out.push.due_ms);
    run_well(history_scan_op(0));
    assert_int_equal(lines_of("d"), 0);
}

/* Names given by hand may have any length, and none may stop a bucket's scan. */
static void a_scan_moves_a_job_whose_name_has_no_room_in_a_line(void **state)
{
    static char id[257];

    memset(id, 'x', sizeof(id) - 1);
    switch_on(true);
    push_delayed("short", 1);
    wait_until(push_delayed(id, 1).out.push.due_ms);
    assert_int_equal(run_well(history_scan_op(PLENTY)).out.scan.moved, 2);
    assert_int_equal(lines_of("short"), 1);
    assert_int_equal(lines_of(id), 0);
}

static const struct CMUnitTest tests[] = {
    TEST(a_job_without_history_has_no_lines),
    TEST(a_line_is_told_as_it_was_recorded),
    TEST(a_job_is_told_its_own_lines_newest_first),
    TEST(pages_go_back_through_many_lines),
    TEST(the_oldest_lines_go_when_there_are_too_many_bytes),
    TEST(a_cursor_that_is_none_is_refused),
    TEST(a_scan_records_what_became_due_and_ran_out),
    TEST(a_scan_records_who_died_of_what),
    TEST(a_scan_records_nothing_where_history_is_off),
    TEST(a_scan_moves_a_job_whose_name_has_no_room_in_a_line),
};

const struct contract_part contract_history = {tests, sizeof(tests) / sizeof(*tests)};
