#include "node/store/memory/settings.h"

static int64_t pause_until_ms(const struct call *c)
{
    const struct op *op = c->op;
    int64_t until_ms = op->in.configure.settings.paused_until_ms;

    if (op->in.configure.pause_ms)
        until_ms = memory_after(c, op->in.configure.pause_ms);
    return until_ms < SETTINGS_FOREVER ? until_ms : SETTINGS_FOREVER;
}

static bool would_be_over(const struct call *c)
{
    int64_t until_ms = pause_until_ms(c);

    return c->op->in.configure.has_pause && until_ms > 0 && until_ms <= c->now_ms;
}

/* ---- what the scan has to do with it ---- */

static bool is_same(const struct topic_settings *a, const struct topic_settings *b,
                    unsigned bit, int64_t of_a, int64_t of_b)
{
    return (a->set & bit) == (b->set & bit) && (!(a->set & bit) || of_a == of_b);
}

static bool has_same_limits(const struct topic_settings *a, const struct topic_settings *b)
{
    return is_same(a, b, SETTING_BIT(DEAD_MAX), a->dead_max, b->dead_max) &&
           is_same(a, b, SETTING_BIT(DEAD_AGE), a->dead_age_ms, b->dead_age_ms);
}

/* It lets dead jobs go, and ends the pause. */
static void call_scan(struct call *c, const struct topic_settings *was)
{
    const struct topic_settings *is = &c->topic->settings;
    int64_t until_ms = is->paused_until_ms;

    if (!memory_topic_exists(c->topic))
        return;
    if (!has_same_limits(was, is))
        memory_topic_expect(c->topic, c->now_ms);
    else if (until_ms && until_ms != was->paused_until_ms && until_ms != SETTINGS_FOREVER)
        memory_topic_expect(c->topic, until_ms);
}

/* ---- the operations ---- */

static enum status answer(struct call *c)
{
    struct settings_row *row = room_get(c->room, sizeof(*row));

    *row = (struct settings_row){c->topic->name, c->topic->settings};
    c->op->out.settings.rows = row;
    c->op->out.settings.count = 1;
    return STATUS_OK;
}

enum status memory_run_configure(struct call *c)
{
    struct topic *topic = c->topic;
    struct topic_settings *settings = &topic->settings, was = *settings;

    if (would_be_over(c))
        return STATUS_OUT_OF_RANGE;
    settings_copy(settings, &c->op->in.configure.settings, c->op->in.configure.mask);
    if (c->op->in.configure.has_pause)
        settings->paused_until_ms = pause_until_ms(c);
    memory_topic_tell_settings(topic);
    if (settings->paused_until_ms < was.paused_until_ms && topic->places[JOB_READY].count)
        memory_topic_announce(topic);
    call_scan(c, &was);
    return answer(c);
}

/* Only that a pause was; and no scan ends it. */
static bool says_nothing(const struct call *c, const struct topic *topic)
{
    return !topic->settings.set && topic->settings.paused_until_ms <= c->now_ms &&
           !memory_topic_exists(topic);
}

static enum status page(struct call *c)
{
    struct settings_row *rows = room_get(c->room, OP_ROWS_MAX * sizeof(*rows));
    struct bytes after = c->op->in.settings.after;
    struct topic *topic = NULL;
    unsigned count = 0;

    while (count < OP_ROWS_MAX &&
           (topic = memory_topic_next(c->bucket, after, memory_topic_has_settings))) {
        after = topic->name;
        if (says_nothing(c, topic))
            topic->settings.paused_until_ms = 0;
        else
            rows[count++] = (struct settings_row){topic->name, topic->settings};
    }
    c->op->out.settings.rows = rows;
    c->op->out.settings.count = count;
    if (topic)
        c->op->out.settings.next = after;
    return STATUS_OK;
}

enum status memory_run_settings(struct call *c)
{
    return c->topic ? answer(c) : page(c);
}
