/* Lines of the history on their way: together, in bounded memory, all before the stop. */
#include "node/queue/core.h"
#include "node/queue/tests/fixtures/histories_fixture.h"
#include "node/queue/history.h"
#include "node/queue/settings.h"

#include <stdio.h>

static void push_many(unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        push(&f, "t", "", 0, 60000);
}

static void lines_travel_together(void **state)
{
    push_many(OP_RECORDS_MAX - 1);
    assert_int_equal(memory_store_count(f.ms, OP_RECORD), 0);
    fixture_advance(&f, 20);
    assert_int_equal(memory_store_count(f.ms, OP_RECORD), 1);
    push_many(2 * OP_RECORDS_MAX);
    assert_int_equal(memory_store_count(f.ms, OP_RECORD), 3);
}

static void long_lines_need_more_journeys(void **state)
{
    char id[201] = "";

    for (unsigned i = 0; i < OP_RECORDS_MAX; i++) {
        snprintf(id, sizeof(id), "%0200u", i);
        assert_int_equal(push(&f, "t", id, 0, 60000), STATUS_OK);
    }
    fixture_advance(&f, 20);
    assert_int_equal(memory_store_count(f.ms, OP_RECORD), 2);
    assert_int_equal(queue_stats(f.q)->history_lost, 0);
    trace("t", id, 10);
    assert_int_equal(told.count, 1);
}

static void what_the_store_does_not_take_is_counted(void **state)
{
    push_many(3);
    memory_store_fail(f.ms, 1, STATUS_STORE_ERROR, MEMORY_UNDONE);
    fixture_advance(&f, 20);
    assert_int_equal(queue_stats(f.q)->history_lost, 3);
    assert_int_equal(memory_store_count(f.ms, OP_RECORD), 1); /* it is not sent again */
}

static void nothing_of_op(struct core *core, const struct op *op)
{
}

/* A history of its own, because a store that holds its answers back gives no cause for lines.
 */
static struct {
    struct queue_options options;
    struct settings_cache settings;
    struct history history;
    struct core core;
} own;

static void begin_own(void)
{
    own.options = with_history();
    core_init(&own.core, &own.options, memory_store_port(f.ms), &f.timers);
    own.core.before = own.core.after = nothing_of_op;
    settings_cache_init(&own.settings, &own.core);
    history_init(&own.history, &own.core, &own.settings);
}

static void end_own(void)
{
    history_fini(&own.history);
    settings_cache_fini(&own.settings);
    core_fini(&own.core);
}

static void memory_for_a_store_that_is_slow_is_bounded(void **state)
{
    const struct history_item line = {.topic = BYTES("t"), .id = BYTES("1"), .time_ms = 1};
    const unsigned most = HISTORY_BATCHES_MAX * OP_RECORDS_MAX;

    begin_own();
    memory_store_hold(f.ms);
    for (unsigned i = 0; i < most + 7; i++)
        history_add(&own.history, 0, &line);
    assert_int_equal(own.history.batch_count, HISTORY_BATCHES_MAX);
    assert_int_equal(own.core.stats.history_lost, 7);
    fixture_unhold(&f);
    assert_int_equal(own.history.batch_count, 0);
    end_own();
}

/* What a hand put into Redis may be called as it likes. */
static void a_line_whose_names_are_too_long_is_lost(void **state)
{
    static char name[10000];
    const size_t lengths[] = {200, 201, 256, sizeof(name)};
    struct history_item line = {.topic = BYTES("t"), .time_ms = 1};

    memset(name, 'x', sizeof(name));
    begin_own();
    for (unsigned i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
        line.id = bytes_of(name, lengths[i]);
        history_add(&own.history, 0, &line);
    }
    assert_int_equal(own.core.stats.history_lost, 3);
    history_flush(&own.history);
    fixture_turn(&f);
    assert_int_equal(own.core.stats.history_lost, 3);
    assert_int_equal(memory_store_count(f.ms, OP_RECORD), 1);
    end_own();
}

static void what_is_not_sent_yet_is_sent_at_the_stop(void **state)
{
    const struct queue_options options = with_history();

    fixture_join(&other, &f);
    queue_reload(other.q, &options);
    push(&other, "t", "1", 0, 60000);
    fixture_end(&other);
    assert_string_equal(story(), "pushed");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(lines_travel_together),
        TEST(long_lines_need_more_journeys),
        TEST(what_the_store_does_not_take_is_counted),
        TEST(memory_for_a_store_that_is_slow_is_bounded),
        TEST(a_line_whose_names_are_too_long_is_lost),
        TEST(what_is_not_sent_yet_is_sent_at_the_stop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
