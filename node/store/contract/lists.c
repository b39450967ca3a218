/* Lists: in order, and each job that stays exactly once, whatever happens between the pages. */
#include "node/store/contract/whole.h"

#include <stdio.h>

/* ---- in order ---- */

static void delayed_jobs_are_listed_by_due_time_and_id(void **state)
{
    int64_t at_ms = store_now() + FAR_MS;
    static const char *const same[] = {"b", "B", "a10", "a9", "_"};

    push_delayed("last", 3 * FAR_MS);
    for (unsigned i = 0; i < 5; i++) {
        struct op op = push_op(TOPIC, same[i]);

        op.in.push.at_ms = at_ms;
        run_well(op);
    }
    push_delayed("first", 1);
    ASSERT_LIST(JOB_DELAYED, "first", "B", "_", "a10", "a9", "b", "last");
}

static void reserved_jobs_are_listed_by_deadline(void **state)
{
    hold("late", 3 * TTR_MS);
    hold("soon", TTR_MS);
    hold("middle", 2 * TTR_MS);
    ASSERT_LIST(JOB_RESERVED, "soon", "middle", "late");
}

static void dead_jobs_are_listed_by_their_time_of_death(void **state)
{
    static const char *const ids[] = {"z", "m", "a"};
    int64_t died_ms[3];

    make_dead_apart(3, ids, died_ms);
    ASSERT_LIST(JOB_DEAD, "z", "m", "a");
}

static void ready_jobs_are_listed_as_they_are_served(void **state)
{
    struct job back;

    push("back");
    back = pop_one();
    push_ranked("low", 5000);
    push("one");
    push("gone");
    push("two");
    push_ranked("lower", 6000);
    push_ranked("high", 10);
    push_ranked("higher", 9);
    push_ranked("also-high", 10);
    returned(&back, 1);
    assert_status(cancel("gone"), OK);
    ASSERT_LIST(JOB_READY, "higher", "high", "also-high", "back", "one", "two", "low", "lower");
    ASSERT_READY("higher", "high", "also-high", "back", "one", "two", "low", "lower");
}

static void a_state_without_jobs_has_an_empty_list(void **state)
{
    push("a");
    ASSERT_NONE_LISTED(JOB_DELAYED);
    ASSERT_NONE_LISTED(JOB_RESERVED);
    ASSERT_NONE_LISTED(JOB_DEAD);
    assert_int_equal(purge(JOB_READY, 1).out.chunk.count, 1);
    ASSERT_NONE_LISTED(JOB_READY);
}

/* ---- what a row says ---- */

static void a_row_says_all_but_the_body(void **state)
{
    struct op op = large_op("a");
    struct job_row row;
    op.in.push.delay_ms = FAR_MS;
    op.in.push.rules.priority = 5;
    op.in.push.rules.max_tries = 7;
    op = run_well(op);
    row = list(JOB_DELAYED, BYTES(""), 10).out.list.rows[0];
    assert_int_equal(row.body_bytes, LARGE_BYTES);
    assert_int_equal(row.place_ms, op.out.push.due_ms);
    assert_int_equal(row.job.due_ms, op.out.push.due_ms);
    assert_int_equal(row.job.ttr_ms, TTR_MS);
    assert_int_equal(row.job.rules.priority, 5);
    assert_int_equal(row.job.rules.max_tries, 7);
    push("b");
    row = list(JOB_READY, BYTES(""), 10).out.list.rows[0];
    assert_int_equal(row.body_bytes, BODY.len);
    assert_int_equal(row.place_ms, row.job.due_ms);
}

static void a_row_says_until_when_and_since_when(void **state)
{
    struct job job = hold("a", TTR_MS);
    struct op op = touch(&job, FAR_MS);

    assert_int_equal(list(JOB_RESERVED, BYTES(""), 1).out.list.rows[0].place_ms,
                     op.out.change.deadline_ms);
    op = bury(&job);
    assert_status(op, OK);
    assert_int_equal(list(JOB_DEAD, BYTES(""), 1).out.list.rows[0].place_ms, op.now_ms);
    assert_int_equal(list(JOB_DEAD, BYTES(""), 1).out.list.rows[0].job.death, DEATH_BURIED);
}

/* ---- while jobs come and go ---- */

#define MANY 10000

static struct op many[MANY];
static char names[MANY][16];
static unsigned told[MANY];

/* All of a state, with `disturb` between the pages: how often each of `names` was told. */
static void tell_all(enum job_state state, unsigned limit, void (*disturb)(unsigned page))
{
    struct bytes after = BYTES("");
    unsigned page = 0;

    memset(told, 0, sizeof(told));
    do {
        struct op op = list(state, after, limit);

        for (unsigned i = 0; i < op.out.list.count; i++) {
            unsigned n = 0;

            if (sscanf(op.out.list.rows[i].job.id.at, "n%5u", &n) == 1 && n < MANY)
                told[n]++;
        }
        after = op.out.list.next;
        if (after.len)
            disturb(page++);
    } while (after.len);
    assert_true(page > 2);
}

static void push_many(unsigned count, int64_t at_ms)
{
    for (unsigned i = 0; i < count; i++) {
        snprintf(names[i], sizeof(names[i]), "n%05u", i);
        many[i] = push_op(TOPIC, names[i]);
        many[i].in.push.at_ms = at_ms;
    }
    run_all(many, count);
}

/* Of the first `count` names: those that are there in the end were told once. */
static void assert_told_once(unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        many[i] = id_op(OP_GET, names[i]);
    run_all(many, count);
    for (unsigned i = 0; i < count; i++) {
        if (many[i].status == STATUS_OK && told[i] != 1)
            fail_msg("%s was told %u times", names[i], told[i]);
    }
}

static int64_t same_ms;

/* One goes before, one behind, and the one that the cursor names; two come. */
static void change_delayed(unsigned page)
{
    struct op op = push_op(TOPIC, "");
    unsigned last = (page + 1) * 100 - 1;

    op.in.push.at_ms = same_ms;
    run_well(op);
    op.in.push.at_ms = same_ms - 1;
    run_well(op);
    assert_status(cancel(names[page * 100 + page]), OK);
    assert_status(cancel(names[last]), OK);
    assert_status(cancel(names[MANY - 1 - page]), OK);
}

static void ten_thousand_of_one_millisecond_are_told_once_while_others_come_and_go(void **state)
{
    same_ms = store_now() + FAR_MS;
    push_many(MANY, same_ms);
    tell_all(JOB_DELAYED, 100, change_delayed);
    assert_told_once(MANY);
}

/* Some are popped and acknowledged, and one comes first and one last. */
static void change_ready(unsigned page)
{
    struct op op = pop(2);
    struct job jobs[2] = {op.out.pop.jobs[0], op.out.pop.jobs[1]};

    assert_int_equal(delivered(&jobs[0], 1).out.leases.stale, 0);
    assert_status(ack(&jobs[0]), OK);
    returned(&jobs[1], 1);
    push("");
    push_ranked("", page % 2 ? 1 : 3000);
    assert_status(cancel(names[400 + page]), OK);
}

static void ready_jobs_that_stay_are_told_once(void **state)
{
    push_many(500, 1);
    push_ranked("", 1);
    push_ranked("", 2000);
    tell_all(JOB_READY, 50, change_ready);
    assert_told_once(500);
}

/* One is acknowledged, and one dies. */
static struct job held[300];

static void change_reserved(unsigned page)
{
    assert_status(ack(&held[page * 3]), OK);
    assert_status(bury(&held[299 - page * 2]), OK);
}

static void reserved_jobs_that_stay_are_told_once(void **state)
{
    push_many(300, 1);
    for (unsigned i = 0; i < 300; i += 60) {
        struct op op = pop(60);

        memcpy(&held[i], op.out.pop.jobs, 60 * sizeof(*held));
        assert_int_equal(delivered(&held[i], 60).out.leases.stale, 0);
    }
    tell_all(JOB_RESERVED, 30, change_reserved);
    for (unsigned i = 0; i < 300; i++) {
        struct op op = run(id_op(OP_GET, names[i]));

        if (op.status == STATUS_OK && op.out.row.job.state == JOB_RESERVED)
            assert_int_equal(told[i], 1);
    }
}

static void a_list_goes_on_behind_many_tombstones(void **state)
{
    push_many(1500, 1);
    push("alive");
    for (unsigned i = 1; i < 1500; i++)
        many[i] = id_op(OP_CANCEL, names[i]);
    run_all(many + 1, 1499);
    ASSERT_LIST(JOB_READY, "n00000", "alive");
}

static void a_cursor_that_is_none_is_refused(void **state)
{
    struct op op = {.verb = OP_LIST, .topic = TOPIC};

    push("a");
    op.in.list.state = JOB_READY;
    op.in.list.limit = 1;
    op.in.list.after = BYTES("what");
    assert_status(run(op), OUT_OF_RANGE);
}

static const struct CMUnitTest tests[] = {
    TEST(delayed_jobs_are_listed_by_due_time_and_id),
    TEST(reserved_jobs_are_listed_by_deadline),
    TEST(dead_jobs_are_listed_by_their_time_of_death),
    TEST(ready_jobs_are_listed_as_they_are_served),
    TEST(a_state_without_jobs_has_an_empty_list),
    TEST(a_row_says_all_but_the_body),
    TEST(a_row_says_until_when_and_since_when),
    TEST(ten_thousand_of_one_millisecond_are_told_once_while_others_come_and_go),
    TEST(ready_jobs_that_stay_are_told_once),
    TEST(reserved_jobs_that_stay_are_told_once),
    TEST(a_list_goes_on_behind_many_tombstones),
    TEST(a_cursor_that_is_none_is_refused),
};

const struct contract_part contract_lists = {tests, sizeof(tests) / sizeof(*tests)};
