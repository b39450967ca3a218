#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "node/queue/tests/histories_fixture.h"

struct fixture f;
struct consumer a;

struct told told;

const struct settings_rule on_for_t = {
    .pattern = {"t", 1}, .settings = {.set = SETTING_BIT(HISTORY), .history = true}};

struct queue_options with_history(void)
{
    struct queue_options options = fixture_options();

    options.rules = &on_for_t;
    options.rule_count = 1;
    options.history_bytes = 1 << 20;
    return options;
}

void reload(struct queue_options options)
{
    queue_reload(f.q, &options);
}

int set_up(void **state)
{
    a = (struct consumer){.pop.client = BYTES("http 10.0.0.1:5")};
    fixture_start(&f, 4);
    reload(with_history());
    queue_activate(f.q);
    fixture_turn(&f);
    return 0;
}

int tear_down(void **state)
{
    fixture_end(&f);
    return 0;
}

/* ---- asking ---- */

void on_traced(struct trace *trace)
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

void begin_trace(const char *topic, const char *id, unsigned limit)
{
    told = (struct told){.trace = {.topic = bytes_of_text(topic),
                                   .id = bytes_of_text(id),
                                   .limit = limit,
                                   .on_done = on_traced}};
    queue_trace(f.q, &told.trace);
    assert_int_equal(told.done, 0); /* never from inside the call */
}

void trace(const char *topic, const char *id, unsigned limit)
{
    begin_trace(topic, id, limit);
    fixture_turn(&f);
    assert_int_equal(told.done, 1);
}

const char *story(void)
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

enum status act(enum op_verb verb, struct call *call)
{
    return submit(&f, call, verb, "t", "1", call->op.in.lease.stamp);
}

enum status with_lease(enum op_verb verb, int64_t delay_ms)
{
    struct call call = {.op.client = BYTES("gmq 10.0.0.2:7")};

    call.op.in.lease.stamp = a.stamps[0];
    call.op.in.lease.delay_ms = delay_ms;
    return act(verb, &call);
}

void get_one(void)
{
    push(&f, "t", "1", 0, 60000);
    consume(&f, &a, "t", 1, 0);
    assert_int_equal(a.status, STATUS_OK);
    delivered(&f, &a);
}
