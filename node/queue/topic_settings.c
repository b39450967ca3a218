#include "node/queue/topic_settings.h"

#include <stdlib.h>

#include "node/queue/core.h"
#include "node/queue/hash.h"

struct known_topic {
    UT_hash_handle hh;
    struct list link;
    uint64_t round; /* when it was last met */
    struct topic_settings settings;
    size_t name_len;
    char name[];
};

static const struct topic_settings built_in = {
    .set = SETTINGS_ALL,
    .ttr_ms = 60000,
    .priority = RULES_PRIORITY_DEFAULT,
};

/* ---- Redis's rows ---- */

static struct known_topic *find(const struct settings_cache *c, struct bytes topic)
{
    struct known_topic *t;

    HASH_FIND(hh, c->by_name, topic.at, topic.len, t);
    return t;
}

static struct known_topic *add(struct settings_cache *c, struct bytes topic)
{
    struct known_topic *t = malloc(sizeof(*t) + topic.len);

    if (!t)
        abort();
    t->settings = (struct topic_settings){0};
    t->name_len = topic.len;
    memcpy(t->name, topic.at, topic.len);
    list_init(&t->link);
    HASH_ADD(hh, c->by_name, name, t->name_len, t);
    return t;
}

static bool has_history(const struct topic_settings *settings)
{
    return settings->set & SETTING_BIT(HISTORY) && settings->history;
}

static void drop(struct settings_cache *c, struct known_topic *t)
{
    c->with_history -= has_history(&t->settings);
    HASH_DEL(c->by_name, t);
    list_remove(&t->link);
    free(t);
}

static void put_row(struct settings_cache *c, unsigned bucket, const struct settings_row *row)
{
    struct known_topic *t = find(c, row->topic);

    if (row->settings.set == 0 && row->settings.paused_until_ms == 0) {
        if (t)
            drop(c, t);
        return;
    }
    if (!t)
        t = add(c, row->topic);
    c->with_history -= has_history(&t->settings);
    c->with_history += has_history(&row->settings);
    t->settings = row->settings;
    t->round = c->round;
    list_remove(&t->link);
    list_append(&c->by_bucket[bucket], &t->link);
}

void settings_cache_put(struct settings_cache *c, const struct op *op)
{
    c->store_ahead_ms = op->now_ms - timers_now(c->core->timers);
    for (unsigned i = 0; i < op->out.settings.count; i++)
        put_row(c, op->bucket, &op->out.settings.rows[i]);
}

void settings_cache_begin_round(struct settings_cache *c)
{
    c->round++;
}

void settings_cache_end_round(struct settings_cache *c, unsigned bucket)
{
    c->is_read[bucket] = true;
    LIST_EACH_SAFE (link, &c->by_bucket[bucket]) {
        struct known_topic *t = CONTAINER_OF(link, struct known_topic, link);

        if (t->round == c->round)
            return;
        drop(c, t);
    }
}

/* ---- what holds ---- */

static bool is_over(const struct settings_cache *c, int64_t paused_until_ms)
{
    return paused_until_ms <= timers_now(c->core->timers) + c->store_ahead_ms;
}

/* What the configuration sets, of what is not set yet. */
static void fill_by_rules(const struct settings_cache *c, struct bytes topic,
                          struct topic_settings *settings)
{
    const struct queue_options *options = &c->core->options;

    for (unsigned i = 0; i < options->rule_count; i++) {
        if (settings_rule_matches(&options->rules[i], topic))
            settings_fill(settings, &options->rules[i].settings);
    }
}

void settings_cache_get(const struct settings_cache *c, struct bytes topic,
                        struct topic_settings *settings)
{
    const struct known_topic *t = find(c, topic);

    *settings = t ? t->settings : (struct topic_settings){0};
    if (is_over(c, settings->paused_until_ms))
        settings->paused_until_ms = 0;
    fill_by_rules(c, topic, settings);
    settings_fill(settings, &built_in);
}

void settings_cache_configured(const struct settings_cache *c, struct bytes topic,
                               struct topic_settings *settings)
{
    *settings = (struct topic_settings){0};
    fill_by_rules(c, topic, settings);
}

int64_t settings_cache_paused_until(const struct settings_cache *c, struct bytes topic,
                                    int64_t now_ms)
{
    const struct known_topic *t = find(c, topic);

    return t && t->settings.paused_until_ms > now_ms ? t->settings.paused_until_ms : 0;
}

/* ---- life ---- */

void settings_cache_init(struct settings_cache *c, struct core *core)
{
    unsigned buckets = core->store->buckets;

    *c = (struct settings_cache){.core = core};
    c->by_bucket = calloc(buckets, sizeof(*c->by_bucket));
    c->is_read = calloc(buckets, sizeof(*c->is_read));
    if (!c->by_bucket || !c->is_read)
        abort();
    for (unsigned i = 0; i < buckets; i++)
        list_init(&c->by_bucket[i]);
}

void settings_cache_fini(struct settings_cache *c)
{
    struct known_topic *t, *next;

    HASH_ITER (hh, c->by_name, t, next)
        drop(c, t);
    free(c->by_bucket);
    free(c->is_read);
}
