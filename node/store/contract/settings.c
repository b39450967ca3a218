/* Settings of topics: kept, changed field by field, told to all nodes; and the pause, which
 * stops pops and nothing else.
 */
#include "node/store/contract/locks.h"
#include "node/store/contract/whole.h"

/* ---- settings ---- */

static const struct topic_settings all = {
    .set = SETTINGS_ALL,
    .ttr_ms = 1000,
    .priority = 4000000000,
    .max_tries = 5,
    .backoff = {BACKOFF_EXPONENTIAL, 20, 1000, 60000},
    .ttl_ms = FAR_MS,
    .dead_max = 1000000,
    .dead_age_ms = FAR_MS,
    .history = true,
};

static void assert_settings(const struct topic_settings *actual,
                            const struct topic_settings *expected)
{
    char a[SETTINGS_BYTES], b[SETTINGS_BYTES];

    settings_pack(actual, a);
    settings_pack(expected, b);
    assert_memory_equal(a, b, SETTINGS_BYTES);
}

static void what_is_set_is_told(void **state)
{
    struct op op = configure(all, SETTINGS_ALL);
    struct topic_settings found = settings_of(TOPIC);

    assert_int_equal(op.out.settings.count, 1);
    assert_settings(&op.out.settings.rows[0].settings, &all);
    assert_settings(&found, &all);
}

static void a_topic_that_has_none_has_nothing_set(void **state)
{
    struct topic_settings found = settings_of(TOPIC);

    assert_int_equal(found.set, 0);
    assert_int_equal(found.paused_until_ms, 0);
}

static void only_the_settings_of_the_mask_change(void **state)
{
    struct topic_settings expected = all, other = {0}, found;

    configure(all, SETTINGS_ALL);
    other.set = SETTING_BIT(MAX_TRIES) | SETTING_BIT(TTR);
    other.max_tries = 9;
    other.ttr_ms = 77;
    configure(other, SETTING_BIT(MAX_TRIES) | SETTING_BIT(DEAD_MAX));
    found = settings_of(TOPIC);
    expected.max_tries = 9;
    expected.set &= ~SETTING_BIT(DEAD_MAX);
    assert_settings(&found, &expected);
}

static void what_is_unset_is_gone(void **state)
{
    struct topic_settings none = {0};
    struct op page = {.verb = OP_SETTINGS, .bucket = bucket_of(TOPIC)};

    configure(all, SETTINGS_ALL);
    assert_int_equal(run_well(page).out.settings.count, 1);
    configure(none, SETTINGS_ALL);
    assert_int_equal(settings_of(TOPIC).set, 0);
    assert_int_equal(run_well(page).out.settings.count, 0);
}

static void a_pause_and_the_settings_leave_each_other_alone(void **state)
{
    struct topic_settings found;

    configure(all, SETTINGS_ALL);
    pause_until(SETTINGS_FOREVER);
    found = settings_of(TOPIC);
    assert_int_equal(found.set, SETTINGS_ALL);
    assert_int_equal(found.paused_until_ms, SETTINGS_FOREVER);
    configure((struct topic_settings){0}, SETTINGS_ALL);
    assert_int_equal(settings_of(TOPIC).paused_until_ms, SETTINGS_FOREVER);
    pause_until(0);
    assert_int_equal(settings_of(TOPIC).paused_until_ms, 0);
}

/* A bucket's topics with settings, however many: each once at least. */
static void pages_tell_all_topics_with_settings(void **state)
{
    static struct op ops[700];
    static unsigned told[700];
    struct op page = {.verb = OP_SETTINGS, .bucket = bucket_of(TOPIC)};
    unsigned number = 0;

    for (unsigned i = 0; i < 700; i++)
        ops[i] = (struct op){.verb = OP_CONFIGURE,
                             .topic = crowd_name(&number),
                             .in.configure = {.settings = all, .mask = SETTINGS_ALL}};
    run_all(ops, 700);
    memset(told, 0, sizeof(told));
    do {
        struct op op = run_well(page);

        for (unsigned i = 0; i < op.out.settings.count; i++)
            for (unsigned n = 0; n < 700; n++)
                told[n] += bytes_equal(op.out.settings.rows[i].topic, ops[n].topic);
        page.in.settings.after = op.out.settings.next;
    } while (page.in.settings.after.len);
    for (unsigned n = 0; n < 700; n++)
        assert_in_range(told[n], 1, 2);
}

static void a_page_drops_the_pause_that_is_over_of_a_topic_that_is_none(void **state)
{
    struct op page = {.verb = OP_SETTINGS, .bucket = bucket_of(TOPIC)}, op;

    run_well(push_op(OTHER, "a"));
    run_well(pause_op(OTHER, 0, 1));
    op = pause_for(1);
    wait_until(op.now_ms + 2);
    assert_int_equal(run_well(page).out.settings.count, 1); /* the scan drops that one */
    assert_int_equal(settings_of(TOPIC).paused_until_ms, 0);
    pause_for(FAR_MS);
    assert_int_equal(run_well(page).out.settings.count, 2);
}

static void settings_alone_make_no_topic(void **state)
{
    struct op op = {.verb = OP_TOPICS, .bucket = bucket_of(TOPIC), .in.topics.limit = 10};

    configure(all, SETTINGS_ALL);
    pause_for(FAR_MS);
    assert_int_equal(run_well(op).out.topics.total, 0);
    assert_int_equal(scan(1000).out.scan.next_ms, -1);
}

/* ---- the pause ---- */

static void a_paused_topic_hands_out_nothing(void **state)
{
    struct op op;

    push("a");
    pause_until(SETTINGS_FOREVER);
    op = pop(10);
    assert_int_equal(op.out.pop.count, 0);
    assert_false(op.out.pop.has_more);
    push("b");
    push_ranked("c", 1);
    assert_int_equal(pop(10).out.pop.count, 0);
    assert_all_counts(0, 3, 0, 0);
    pause_until(0);
    ASSERT_READY("c", "a", "b");
}

static void what_was_handed_out_before_a_pause_can_be_ended(void **state)
{
    struct job first = hold("a", TTR_MS), second = hold("b", TTR_MS);

    pause_until(SETTINGS_FOREVER);
    assert_status(touch(&first, TTR_MS), OK);
    assert_status(ack(&first), OK);
    assert_status(release(&second, 0), OK);
    assert_all_counts(0, 1, 0, 0);
}

static void other_topics_go_on_during_a_pause(void **state)
{
    pause_until(SETTINGS_FOREVER);
    run_well(push_op(OTHER, "a"));
    assert_bytes(pop_one_of(OTHER).id, BYTES("a"));
}

static void the_end_of_a_pause_is_announced_by_the_scan(void **state)
{
    unsigned before;
    struct op op;

    push("a");
    op = pause_for(SOON_MS);
    assert_int_equal(op.wait_ms, SOON_MS + BEGUN_MS);
    assert_int_equal(op.out.settings.rows[0].settings.paused_until_ms, after(&op, SOON_MS));
    before = wake_ups(TOPIC);
    scan_at(after(&op, SOON_MS));
    assert_int_equal(settings_of(TOPIC).paused_until_ms, 0);
    assert_int_equal(wake_ups(TOPIC), before + 1);
    ASSERT_READY("a");
}

static void a_pause_that_is_over_holds_nothing_back(void **state)
{
    struct op op;

    push("a");
    op = pause_for(SOON_MS);
    wait_until(after(&op, SOON_MS));
    ASSERT_READY("a");
}

/* A consumer that came for jobs during the pause is told at its end. */
static void a_topic_that_begins_during_a_pause_is_announced_at_its_end(void **state)
{
    struct op op = pause_for(ROOM_MS);
    int64_t ends_ms = after(&op, ROOM_MS);
    unsigned before;

    push("a");
    assert_int_equal(pop(1).out.pop.count, 0); /* who waits has looked */
    before = wake_ups(TOPIC);
    scan_at(ends_ms);
    assert_int_equal(wake_ups(TOPIC), before + 1);
    ASSERT_READY("a");
}

/* An entry is left in the line, so the second push does not announce the topic. */
static void what_comes_behind_a_tombstone_is_announced_at_the_pauses_end(void **state)
{
    struct op op = pause_for(ROOM_MS), later = id_op(OP_MOVE, "a");
    int64_t ends_ms = after(&op, ROOM_MS);
    unsigned before;

    push("a");
    later.in.move.states = FROM_ANYWHERE;
    later.in.move.delay_ms = FAR_MS;
    run_well(later);
    assert_int_equal(pop(1).out.pop.count, 0); /* who waits has looked */
    before = wake_ups(TOPIC);
    push("b");
    scan_at(ends_ms);
    assert_int_equal(wake_ups(TOPIC), before + 1);
    ASSERT_READY("b");
}

static void a_scan_during_a_pause_knows_its_end(void **state)
{
    struct op op, scanned;

    push("a");
    op = pause_for(FAR_MS);
    pause_for(2 * FAR_MS);
    pause_until(after(&op, FAR_MS));
    push_delayed("due", 1);
    scanned = scan_at(op.now_ms + 2);
    while (scanned.out.scan.moved == 0)
        scanned = scan_at(scanned.now_ms + 1);
    assert_int_equal(scanned.now_ms + scanned.out.scan.next_ms, after(&op, FAR_MS));
}

static void the_end_and_a_shorter_pause_are_announced(void **state)
{
    unsigned before;

    push("a");
    pause_until(SETTINGS_FOREVER);
    before = wake_ups(TOPIC);
    pause_for(FAR_MS);
    assert_int_equal(wake_ups(TOPIC), before + 1);
    pause_for(2 * FAR_MS);
    assert_int_equal(wake_ups(TOPIC), before + 1);
    pause_until(0);
    assert_int_equal(wake_ups(TOPIC), before + 2);
}

static void a_pause_that_ended_unseen_is_announced_when_it_is_lifted(void **state)
{
    unsigned before;
    struct op op;

    push("a");
    op = pause_for(1);
    before = wake_ups(TOPIC);
    wait_until(op.now_ms + 2);
    pause_until(0);
    assert_int_equal(wake_ups(TOPIC), before + 1);
}

static void a_pause_until_a_time_that_is_past_is_refused(void **state)
{
    struct op op = pause_op(TOPIC, store_now(), 0);
    unsigned before;

    op.in.configure.mask = op.in.configure.settings.set = SETTING_BIT(DEAD_MAX);
    op.in.configure.settings.dead_max = 7;
    push("a");
    pause_until(SETTINGS_FOREVER);
    before = settings_heard(TOPIC);
    assert_status(run(op), OUT_OF_RANGE);
    assert_status(run(pause_op(TOPIC, 1, 0)), OUT_OF_RANGE);
    assert_int_equal(settings_heard(TOPIC), before);
    assert_int_equal(settings_of(TOPIC).paused_until_ms, SETTINGS_FOREVER);
    assert_int_equal(settings_of(TOPIC).set, 0);
}

/* ---- heard by all ---- */

static void every_change_is_told(void **state)
{
    unsigned before = settings_heard(TOPIC);

    configure(all, SETTINGS_ALL);
    assert_int_equal(settings_heard(TOPIC), before + 1);
    pause_for(FAR_MS);
    assert_int_equal(settings_heard(TOPIC), before + 2);
    assert_int_equal(settings_heard(OTHER), 0);
}

static void a_scan_ends_no_pause_that_has_no_end(void **state)
{
    struct op due;

    pause_until(SETTINGS_FOREVER);
    due = push_delayed("a", SOON_MS);
    assert_int_equal(scan_at(due.out.push.due_ms).out.scan.moved, 1);
    assert_int_equal(settings_of(TOPIC).paused_until_ms, SETTINGS_FOREVER);
    assert_int_equal(pop(1).out.pop.count, 0);
}

static const struct CMUnitTest tests[] = {
    TEST(what_is_set_is_told),
    TEST(a_topic_that_has_none_has_nothing_set),
    TEST(only_the_settings_of_the_mask_change),
    TEST(what_is_unset_is_gone),
    TEST(a_pause_and_the_settings_leave_each_other_alone),
    TEST(pages_tell_all_topics_with_settings),
    TEST(a_page_drops_the_pause_that_is_over_of_a_topic_that_is_none),
    TEST(settings_alone_make_no_topic),
    TEST(a_paused_topic_hands_out_nothing),
    TEST(what_was_handed_out_before_a_pause_can_be_ended),
    TEST(other_topics_go_on_during_a_pause),
    TEST(the_end_of_a_pause_is_announced_by_the_scan),
    TEST(a_pause_that_is_over_holds_nothing_back),
    TEST(a_topic_that_begins_during_a_pause_is_announced_at_its_end),
    TEST(what_comes_behind_a_tombstone_is_announced_at_the_pauses_end),
    TEST(a_scan_during_a_pause_knows_its_end),
    TEST(the_end_and_a_shorter_pause_are_announced),
    TEST(a_pause_that_ended_unseen_is_announced_when_it_is_lifted),
    TEST(a_pause_until_a_time_that_is_past_is_refused),
    TEST(every_change_is_told),
    TEST(a_scan_ends_no_pause_that_has_no_end),
};

const struct contract_part contract_settings = {tests, sizeof(tests) / sizeof(*tests)};
