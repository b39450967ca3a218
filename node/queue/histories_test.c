/* What a job goes through is written down where its topic says so, and nowhere else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "node/queue/core.h"
#include "node/queue/history.h"
#include "node/queue/queue_fixture.h"
#include "node/queue/topic_settings.h"
#include "node/queue/traces.h"

#define NOW   memory_store_now(f.ms)
#define LINES 80

static struct fixture f;
static struct consumer a;

/* What a trace told, in words. */
struct told {
    struct trace trace;
    unsigned done;
    enum status status;
    bool is_on;
    unsigned count;
    struct history_item items[LINES];
    char node[LINES][OP_NODE_MAX + 1], client[LINES][JOB_HOLDER_MAX + 1];
};

static struct told told;

static const struct settings_rule on_for_t = {
    .pattern = {"t", 1}, .settings = {.set = SETTING_BIT(HISTORY), .history = true}};

static struct queue_options with_history(void)
{
    struct queue_options options = fixture_options();

    options.rules = &on_for_t;
    options.rule_count = 1;
    options.history_bytes = 1 << 20;
    return options;
}

static void reload(struct queue_options options)
{
    queue_reload(f.q, &options);
}

static int set_up(void **state)
{
    a = (struct consumer){.pop.client = BYTES("http 10.0.0.1:5")};
    fixture_start(&f, 4);
    reload(with_history());
    queue_activate(f.q);
    fixture_turn(&f);
    return 0;
}

static int tear_down(void **state)
{
    fixture_end(&f);
    return 0;
}

/* ---- asking ---- */

static void on_traced(struct trace *trace)
{
    struct told *t = CONTAINER_OF(trace, struct told, trace);

    t->done++;
    t->status = trace->status;
    t->is_on = trace->is_on;
    t->count = trace->count;
    for (unsigned i = 0; i < trace->count && i < LINES; i++) {
        const struct history_item *item = &trace->items[i];

        assert_true(bytes_equal(item->topic, trace->topic));
        assert_true(bytes_equal(item->id, trace->id));
        t->items[i] = *item;
        snprintf(t->node[i], sizeof(t->node[i]), "%.*s", BYTES_ARG(item->node));
        snprintf(t->client[i], sizeof(t->client[i]), "%.*s", BYTES_ARG(item->client));
    }
}

static void begin_trace(const char *topic, const char *id, unsigned limit)
{
    told = (struct told){.trace = {.topic = bytes_of_text(topic),
                                   .id = bytes_of_text(id),
                                   .limit = limit,
                                   .on_done = on_traced}};
    queue_trace(f.q, &told.trace);
    assert_int_equal(told.done, 0); /* never from inside the call */
}

static void trace(const char *topic, const char *id, unsigned limit)
{
    begin_trace(topic, id, limit);
    fixture_turn(&f);
    assert_int_equal(told.done, 1);
}

/* The words of what became of job "1" of topic t, oldest first. */
static const char *story(void)
{
    static char words[1024];
    size_t len = 0;

    trace("t", "1", LINES);
    assert_int_equal(told.status, STATUS_OK);
    words[0] = '\0';
    for (unsigned i = 0; i < told.count; i++) {
        const struct history_item *item = &told.items[i];

        assert_true(i == 0 || item->time_ms >= told.items[i - 1].time_ms);
        len += (size_t)snprintf(words + len, sizeof(words) - len, "%s%s%s%s", i ? " " : "",
                                event_word(item->event), item->death ? "/" : "",
                                death_word(item->death));
    }
    return words;
}

/* ---- doing ---- */

static enum status act(enum op_verb verb, struct call *call)
{
    return submit(&f, call, verb, "t", "1", call->op.in.lease.stamp);
}

static enum status with_lease(enum op_verb verb, int64_t delay_ms)
{
    struct call call = {.op.client = BYTES("gmq 10.0.0.2:7")};

    call.op.in.lease.stamp = a.stamps[0];
    call.op.in.lease.delay_ms = delay_ms;
    return act(verb, &call);
}

static void get_one(void)
{
    push(&f, "t", "1", 0, 60000);
    consume(&f, &a, "t", 1, 0);
    assert_int_equal(a.status, STATUS_OK);
    delivered(&f, &a);
}

static enum status push_as(enum push_mode mode)
{
    struct call call = {0};

    call.op.in.push.mode = mode;
    call.op.in.push.delay_ms = 5000;
    return submit(&f, &call, OP_PUSH, "t", "1", 0);
}

/* ---- what is written ---- */

static void tells_a_job_from_its_push_to_its_end(void **state)
{
    push(&f, "t", "1", 300, 60000);
    fixture_advance(&f, 300);
    consume(&f, &a, "t", 1, 0);
    delivered(&f, &a);
    fixture_advance(&f, 100);
    assert_int_equal(with_lease(OP_ACK, 0), STATUS_OK);
    assert_string_equal(story(), "pushed due delivered acked");
}

static void a_line_says_when_where_and_for_whom(void **state)
{
    get_one();
    fixture_advance(&f, 70);
    with_lease(OP_ACK, 0);
    assert_string_equal(story(), "pushed delivered acked");
    assert_int_equal(told.items[0].time_ms, NOW - 70);
    assert_int_equal(told.items[0].at_ms, NOW - 70); /* due at once */
    assert_int_equal(told.items[1].at_ms, NOW - 70 + 60000);
    assert_int_equal(told.items[1].tries, 1);
    assert_string_equal(told.node[1], "node");
    assert_string_equal(told.client[1], "http 10.0.0.1:5");
    assert_int_equal(told.items[2].time_ms, NOW);
    assert_string_equal(told.client[2], "gmq 10.0.0.2:7");
}

static void a_job_that_is_done_with_its_delivery_has_no_deadline(void **state)
{
    push(&f, "t", "1", 0, 0);
    consume(&f, &a, "t", 1, 0);
    delivered(&f, &a);
    assert_string_equal(story(), "pushed delivered");
    assert_int_equal(told.items[1].at_ms, 0);
}

static void a_touch_says_until_when(void **state)
{
    get_one();
    with_lease(OP_TOUCH, 0);
    assert_string_equal(story(), "pushed delivered touched");
    assert_int_equal(told.items[2].at_ms, NOW + 60000);
}

static void a_release_says_when_it_is_due_again(void **state)
{
    get_one();
    with_lease(OP_RELEASE, 7000);
    assert_string_equal(story(), "pushed delivered released");
    assert_int_equal(told.items[2].at_ms, NOW + 7000);
    assert_int_equal(told.items[2].tries, 1);
}

static void a_release_that_was_the_last_try_is_a_death(void **state)
{
    struct call call = {0};

    call.op.in.push.rules.max_tries = 1;
    call.op.in.push.rules.priority = RULES_PRIORITY_DEFAULT;
    call.op.in.push.ttr_ms = 60000;
    call.op.in.push.given = SETTINGS_ALL;
    assert_int_equal(submit(&f, &call, OP_PUSH, "t", "1", 0), STATUS_OK);
    consume(&f, &a, "t", 1, 0);
    delivered(&f, &a);
    with_lease(OP_RELEASE, 0);
    assert_string_equal(story(), "pushed delivered died/tries");
}

static void tells_who_was_buried_kicked_and_cancelled(void **state)
{
    struct call kick = {0}, cancel = {0};

    get_one();
    fixture_advance(&f, 1);
    with_lease(OP_BURY, 0);
    kick.op.in.move.states = 1u << JOB_DEAD;
    fixture_advance(&f, 1);
    assert_int_equal(submit(&f, &kick, OP_MOVE, "t", "1", 0), STATUS_OK);
    fixture_advance(&f, 1);
    assert_int_equal(act(OP_CANCEL, &cancel), STATUS_OK);
    assert_string_equal(story(), "pushed delivered died/buried moved cancelled");
}

static void a_job_whose_consumer_had_left_is_returned(void **state)
{
    push(&f, "t", "1", 0, 60000);
    consume(&f, &a, "t", 1, 0);
    returned(&f, &a);
    assert_string_equal(story(), "pushed returned");
}

static void a_push_that_replaces_ends_a_job_and_begins_one(void **state)
{
    push(&f, "t", "1", 0, 60000);
    fixture_advance(&f, 1);
    assert_int_equal(push_as(PUSH_REPLACE), STATUS_OK);
    assert_string_equal(story(), "pushed replaced pushed");
    assert_int_equal(told.items[1].at_ms, 0);
    assert_int_equal(told.items[2].at_ms, NOW + 5000);
}

static void a_push_that_changed_nothing_is_not_written(void **state)
{
    push(&f, "t", "1", 0, 60000);
    assert_int_equal(push_as(PUSH_IGNORE), STATUS_OK);
    assert_int_equal(push_as(PUSH_REJECT), STATUS_DUPLICATE);
    assert_string_equal(story(), "pushed");
}

static void an_id_of_the_stores_own_is_written(void **state)
{
    struct call call = {0};

    assert_int_equal(submit(&f, &call, OP_PUSH, "t", "", 0), STATUS_OK);
    trace("t", call.id, 10);
    assert_int_equal(told.count, 1);
}

static void a_name_that_is_too_long_is_cut(void **state)
{
    char name[JOB_HOLDER_MAX + 5];
    struct call call = {.op.client = {name, sizeof(name)}};

    memset(name, 'x', sizeof(name));
    assert_int_equal(act(OP_PUSH, &call), STATUS_OK);
    assert_string_equal(story(), "pushed");
    assert_int_equal(strlen(told.client[0]), JOB_HOLDER_MAX);
}

/* ---- where it is on ---- */

static void a_topic_that_does_not_want_it_has_none(void **state)
{
    push(&f, "other", "1", 0, 60000);
    fixture_advance(&f, 100);
    assert_int_equal(memory_store_count(f.ms, OP_RECORD), 0);
    trace("other", "1", 10);
    assert_int_equal(told.status, STATUS_OK);
    assert_int_equal(told.count, 0);
    assert_false(told.is_on);
    trace("t", "1", 10);
    assert_true(told.is_on);
}

static void set_history(const char *topic, bool history)
{
    struct call call = {0};

    call.op.in.configure.settings =
        (struct topic_settings){.set = SETTING_BIT(HISTORY), .history = history};
    call.op.in.configure.mask = SETTING_BIT(HISTORY);
    assert_int_equal(submit(&f, &call, OP_CONFIGURE, topic, "", 0), STATUS_OK);
}

static void is_switched_while_it_runs(void **state)
{
    set_history("new", true);
    push(&f, "new", "1", 0, 60000);
    trace("new", "1", 10);
    assert_true(told.is_on);
    assert_int_equal(told.count, 1);
    set_history("new", false);
    set_history("t", false); /* what Redis says is before what the configuration says */
    push(&f, "new", "2", 0, 60000);
    push(&f, "t", "1", 0, 60000);
    trace("new", "2", 10);
    assert_int_equal(told.count, 0);
    assert_string_equal(story(), "");
}

static void redis_alone_can_turn_it_on(void **state)
{
    struct queue_options options = with_history();

    options.rule_count = 0;
    reload(options);
    push(&f, "t", "1", 0, 60000);
    assert_string_equal(story(), "");
    set_history("t", true);
    push_as(PUSH_REPLACE);
    assert_string_equal(story(), "replaced pushed");
}

static void no_bytes_are_no_history(void **state)
{
    struct queue_options options = with_history();

    options.history_bytes = 0;
    reload(options);
    push(&f, "t", "1", 0, 60000);
    fixture_advance(&f, 100);
    assert_int_equal(memory_store_count(f.ms, OP_RECORD), 0);
    trace("t", "1", 10);
    assert_false(told.is_on);
}

/* ---- how it travels ---- */

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

static void nothing(struct core *core)
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
    own.core.on_end = nothing;
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
    memory_store_unhold(f.ms);
    fixture_turn(&f);
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
    struct fixture other;

    fixture_join(&other, &f);
    queue_reload(other.q, &options);
    push(&other, "t", "1", 0, 60000);
    fixture_end(&other);
    assert_string_equal(story(), "pushed");
}

/* ---- asking ---- */

/* The scan's line is written at once, and the push's a little later. */
static void what_came_late_is_told_in_order(void **state)
{
    push(&f, "t", "1", 5, 60000);
    fixture_advance(&f, 100);
    assert_string_equal(story(), "pushed due");
}

static void touch_often(unsigned times)
{
    get_one();
    for (unsigned i = 0; i < times; i++) {
        fixture_advance(&f, 1);
        with_lease(OP_TOUCH, 0);
    }
}

static void tells_the_newest_up_to_the_limit(void **state)
{
    touch_often(20);
    trace("t", "1", 5);
    assert_int_equal(told.count, 5);
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(told.items[i].time_ms, NOW - 4 + i);
}

static void turns_the_pages_until_the_end(void **state)
{
    touch_often(OP_RECORDS_MAX + 6);
    for (unsigned i = 0; i < 2500; i++) /* a page looks at so many lines at most */
        push(&f, "t", "", 0, 60000);
    trace("t", "1", QUEUE_TRACE_MAX);
    assert_int_equal(told.status, STATUS_OK);
    assert_int_equal(told.count, 2 + OP_RECORDS_MAX + 6);
    assert_int_equal(told.items[0].event, EVENT_PUSHED);
    assert_int_equal(told.items[1].event, EVENT_DELIVERED);
}

/* The first page of more takes so long, and has been answered. */
static void ask_for_more_than_a_page(int64_t ms)
{
    touch_often(150);
    fixture_advance(&f, 100);
    memory_store_hold(f.ms);
    begin_trace("t", "1", 140);
    fixture_advance(&f, ms);
    memory_store_unhold(f.ms);
    fixture_turn(&f);
    assert_int_equal(told.done, 0);
    assert_int_equal(memory_store_count(f.ms, OP_TRACE), 1);
}

static void rests_behind_a_page_for_as_long_as_that_took(void **state)
{
    ask_for_more_than_a_page(60);
    fixture_advance(&f, 59);
    assert_int_equal(memory_store_count(f.ms, OP_TRACE), 1);
    fixture_advance(&f, 1);
    assert_true(memory_store_count(f.ms, OP_TRACE) > 1);
    fixture_advance(&f, 1000);
    assert_int_equal(told.count, 140);
}

static void who_leaves_while_it_rests_is_told_so_once(void **state)
{
    ask_for_more_than_a_page(500);
    queue_trace_cancel(f.q, &told.trace);
    fixture_advance(&f, 100);
    assert_int_equal(told.done, 1);
    assert_int_equal(told.status, STATUS_CANCELLED);
    assert_int_equal(memory_store_count(f.ms, OP_TRACE), 1);
}

static void what_is_wrong_with_a_question_is_said(void **state)
{
    trace("-t", "1", 1);
    assert_int_equal(told.status, STATUS_BAD_TOPIC);
    trace("t", "", 1);
    assert_int_equal(told.status, STATUS_BAD_ID);
    trace("t", "1", 0);
    assert_int_equal(told.status, STATUS_OUT_OF_RANGE);
    trace("t", "1", QUEUE_TRACE_MAX + 1);
    assert_int_equal(told.status, STATUS_OUT_OF_RANGE);
}

static void a_page_that_fails_ends_the_answer(void **state)
{
    push(&f, "t", "1", 0, 60000);
    fixture_advance(&f, 20);
    memory_store_fail(f.ms, 1, STATUS_UNKNOWN, MEMORY_UNDONE);
    trace("t", "1", 10);
    assert_int_equal(told.status, STATUS_UNAVAILABLE);
    assert_int_equal(told.count, 0);
}

static void who_has_left_is_told_so_once(void **state)
{
    push(&f, "t", "1", 0, 60000);
    begin_trace("t", "1", 10);
    queue_trace_cancel(f.q, &told.trace);
    assert_int_equal(told.done, 0);
    fixture_turn(&f);
    assert_int_equal(told.done, 1);
    assert_int_equal(told.status, STATUS_CANCELLED);
    assert_int_equal(told.count, 0);
}

static void only_some_may_ask_at_once(void **state)
{
    static struct told asking[TRACES_MAX];

    memset(asking, 0, sizeof(asking));
    for (unsigned i = 0; i < TRACES_MAX; i++) {
        asking[i].trace = (struct trace){
            .topic = BYTES("t"), .id = BYTES("1"), .limit = 10, .on_done = on_traced};
        queue_trace(f.q, &asking[i].trace);
    }
    trace("t", "1", 10);
    assert_int_equal(told.status, STATUS_TOO_MANY_TRACES);
    for (unsigned i = 0; i < TRACES_MAX; i++)
        assert_int_equal(asking[i].status, STATUS_OK);
    trace("t", "1", 10);
    assert_int_equal(told.status, STATUS_OK);
}

static void the_stop_ends_a_question(void **state)
{
    begin_trace("t", "1", 10);
    fixture_end(&f);
    assert_int_equal(told.done, 1);
    assert_int_equal(told.status, STATUS_CANCELLED);
    fixture_start(&f, 4);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(tells_a_job_from_its_push_to_its_end),
        TEST(a_line_says_when_where_and_for_whom),
        TEST(a_job_that_is_done_with_its_delivery_has_no_deadline),
        TEST(a_touch_says_until_when),
        TEST(a_release_says_when_it_is_due_again),
        TEST(a_release_that_was_the_last_try_is_a_death),
        TEST(tells_who_was_buried_kicked_and_cancelled),
        TEST(a_job_whose_consumer_had_left_is_returned),
        TEST(a_push_that_replaces_ends_a_job_and_begins_one),
        TEST(a_push_that_changed_nothing_is_not_written),
        TEST(an_id_of_the_stores_own_is_written),
        TEST(a_name_that_is_too_long_is_cut),
        TEST(a_topic_that_does_not_want_it_has_none),
        TEST(is_switched_while_it_runs),
        TEST(redis_alone_can_turn_it_on),
        TEST(no_bytes_are_no_history),
        TEST(lines_travel_together),
        TEST(long_lines_need_more_journeys),
        TEST(what_the_store_does_not_take_is_counted),
        TEST(memory_for_a_store_that_is_slow_is_bounded),
        TEST(a_line_whose_names_are_too_long_is_lost),
        TEST(what_is_not_sent_yet_is_sent_at_the_stop),
        TEST(what_came_late_is_told_in_order),
        TEST(tells_the_newest_up_to_the_limit),
        TEST(turns_the_pages_until_the_end),
        TEST(rests_behind_a_page_for_as_long_as_that_took),
        TEST(who_leaves_while_it_rests_is_told_so_once),
        TEST(what_is_wrong_with_a_question_is_said),
        TEST(a_page_that_fails_ends_the_answer),
        TEST(who_has_left_is_told_so_once),
        TEST(only_some_may_ask_at_once),
        TEST(the_stop_ends_a_question),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
