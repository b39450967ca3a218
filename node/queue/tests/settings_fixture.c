#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "node/queue/tests/settings_fixture.h"

struct fixture f, other;

struct queue_options with_rules(const struct settings_rule *rules, unsigned count)
{
    struct queue_options options = fixture_options();

    options.rules = rules;
    options.rule_count = count;
    return options;
}

int set_up(void **state)
{
    fixture_start(&f, 4);
    fixture_join(&other, &f);
    return 0;
}

int tear_down(void **state)
{
    fixture_end_two(&f, &other);
    return 0;
}

struct topic_settings settings_at(struct fixture *node, const char *topic)
{
    struct topic_settings settings;

    queue_settings(node->q, bytes_of_text(topic), &settings);
    return settings;
}

void configure(struct fixture *node, const char *topic, const struct topic_settings *settings,
               unsigned mask)
{
    struct call call = {0};

    call.op.in.configure.settings = *settings;
    call.op.in.configure.mask = mask;
    assert_int_equal(submit(node, &call, OP_CONFIGURE, topic, "", 0), STATUS_OK);
}

void set_ttr(struct fixture *node, const char *topic, int64_t ttr_ms)
{
    configure(node, topic, &(struct topic_settings){.set = SETTING_BIT(TTR), .ttr_ms = ttr_ms},
              SETTING_BIT(TTR));
}

void unset_ttr(struct fixture *node, const char *topic)
{
    configure(node, topic, &(struct topic_settings){0}, SETTING_BIT(TTR));
}

void turn_both(void)
{
    fixture_turn(&f);
    fixture_turn(&other);
}

void pause_for(struct fixture *node, const char *topic, int64_t ms)
{
    struct call call = {0};

    call.op.in.configure.has_pause = true;
    call.op.in.configure.pause_ms = ms;
    assert_int_equal(submit(node, &call, OP_CONFIGURE, topic, "", 0), STATUS_OK);
}
