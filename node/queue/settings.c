#include "node/queue/settings.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "node/queue/core.h"
#include "node/queue/hash.h"
#include "node/queue/queue.h"

/* ---- kept, with the configuration's ---- */

struct known_topic {
    UT_hash_handle hh;
    struct list link;
    uint64_t round; /* when it was last met */
    struct topic_settings settings;
    size_t name_len;
    char name[];
};

/* ---- Redis's rows ---- */

static struct known_topic *find_settings(const struct settings_cache *c, struct bytes topic)
{
    struct known_topic *t;

    HASH_FIND(hh, c->by_name, topic.at, topic.len, t);
    return t;
}

static struct known_topic *add_settings(struct settings_cache *c, struct bytes topic)
{
    struct known_topic *t = must(malloc(sizeof(*t) + topic.len));

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

static void drop_settings(struct settings_cache *c, struct known_topic *t)
{
    c->with_history -= has_history(&t->settings);
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): it is in it */
    HASH_DEL(c->by_name, t);
    list_remove(&t->link);
    free(t);
}

static void put_row(struct settings_cache *c, unsigned bucket, const struct settings_row *row)
{
    struct known_topic *t = find_settings(c, row->topic);

    if (row->settings.set == 0 && row->settings.paused_until_ms == 0) {
        if (t)
            drop_settings(c, t);
        return;
    }
    if (!t)
        t = add_settings(c, row->topic);
    c->with_history -= has_history(&t->settings);
    c->with_history += has_history(&row->settings);
    t->settings = row->settings;
    t->round = c->round;
    list_remove(&t->link);
    list_append(&c->by_bucket[bucket], &t->link);
}

/* The rows of an answered SETTINGS or CONFIGURE. A row with nothing set removes the topic's. */
static void put_rows(struct settings_cache *c, const struct op *op)
{
    c->store_ahead_ms = op->now_ms - timers_now(c->core->timers);
    for (unsigned i = 0; i < op->out.settings.count; i++)
        put_row(c, op->bucket, &op->out.settings.rows[i]);
}

static void end_round(struct settings_cache *c, unsigned bucket)
{
    c->is_read[bucket] = true;
    LIST_EACH_SAFE (link, &c->by_bucket[bucket]) {
        struct known_topic *t = CONTAINER_OF(link, struct known_topic, link);

        if (t->round == c->round)
            return;
        drop_settings(c, t);
    }
}

/* ---- what holds ---- */

static bool is_over(const struct settings_cache *c, int64_t paused_until_ms)
{
    return paused_until_ms <= timers_now(c->core->timers) + c->store_ahead_ms;
}

/* Adds from the configuration what is not set yet. */
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
    const struct known_topic *t = find_settings(c, topic);

    *settings = t ? t->settings : (struct topic_settings){0};
    if (is_over(c, settings->paused_until_ms))
        settings->paused_until_ms = 0;
    fill_by_rules(c, topic, settings);
    settings_fill(settings, &settings_built_in);
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
    const struct known_topic *t = find_settings(c, topic);

    return t && t->settings.paused_until_ms > now_ms ? t->settings.paused_until_ms : 0;
}

/* ---- the cache's life ---- */

void settings_cache_init(struct settings_cache *c, struct core *core)
{
    unsigned buckets = core->store->buckets;

    *c = (struct settings_cache){.core = core};
    c->by_bucket = must(calloc(buckets, sizeof(*c->by_bucket)));
    c->is_read = must(calloc(buckets, sizeof(*c->is_read)));
    for (unsigned i = 0; i < buckets; i++)
        list_init(&c->by_bucket[i]);
}

void settings_cache_fini(struct settings_cache *c)
{
    struct known_topic *t, *next;

    HASH_ITER (hh, c->by_name, t, next)
        drop_settings(c, t);
    free(c->by_bucket);
    free(c->is_read);
}

/* ---- what a push gets from its topic ---- */

/* A topic's ttl counts from the due time: else it would forbid long delays. */
static void fill_in(struct op *push, const struct topic_settings *settings)
{
    unsigned open = ~push->in.push.given;
    struct job_rules *rules = &push->in.push.rules;

    if (open & SETTING_BIT(TTR))
        push->in.push.ttr_ms = settings->ttr_ms;
    if (open & SETTING_BIT(PRIORITY))
        rules->priority = settings->priority;
    if (open & SETTING_BIT(MAX_TRIES))
        rules->max_tries = settings->max_tries;
    if (open & SETTING_BIT(BACKOFF))
        rules->backoff = settings->backoff;
    if (open & SETTING_BIT(TTL))
        push->in.push.ttl_ms = settings->ttl_ms;
    push->in.push.ttl_from_due = open & SETTING_BIT(TTL);
    push->in.push.jobs_max = settings->max_jobs;
    push->in.push.bytes_max = settings->max_bytes;
}

static void send_with_settings(void *arg, struct op *push)
{
    struct settings_cache *cache = arg;
    struct topic_settings settings;

    settings_cache_get(cache, push->topic, &settings);
    fill_in(push, &settings);
    core_send(cache->core, push);
}

/* The row that is read ahead is in the cache when the push is sent. */
void settings_send_push(struct settings_cache *cache, struct op *push)
{
    if (!cache->is_read[push->bucket])
        core_send_after_read(cache->core, push, send_with_settings, cache);
    else
        send_with_settings(cache, push);
}

/* ---- Redis's settings, read ---- */

#define REST_MS  1000
#define RETRY_MS 500
#define AT_ONCE  16

struct refresh {
    UT_hash_handle hh;
    struct settings_reader *reader;
    struct list link; /* waiting */
    struct op op;
    unsigned bucket;
    bool is_on_way;
    bool has_changed; /* since it was sent */
    size_t topic_len;
    char topic[];
};

/* For changed topics. The round does not ask this: a store without wake-ups may answer all the
 * same. */
static bool may_read(const struct settings_reader *r)
{
    return r->is_store_up && !r->is_closing;
}

void settings_reader_after(struct settings_reader *r, const struct op *op)
{
    if ((op->verb == OP_SETTINGS || op->verb == OP_CONFIGURE) && op->status == STATUS_OK)
        put_rows(r->cache, op);
}

/* ---- the round ---- */

static void on_page(struct op *op);

static void read_page(struct settings_reader *r)
{
    r->page = (struct op){.verb = OP_SETTINGS, .on_done = on_page, .bucket = r->bucket};
    r->page.in.settings.after = bytes_of(r->after, r->after_len);
    r->is_reading = true;
    core_send(r->core, &r->page);
}

static void begin_bucket(struct settings_reader *r)
{
    r->after_len = 0;
    r->is_outdated = false;
    r->cache->round++;
    read_page(r);
}

static unsigned buckets_of(const struct settings_reader *r)
{
    return r->core->store->buckets;
}

/* The next bucket within reach, from `from` on. False: there is none. */
static bool go_to_next(struct settings_reader *r, unsigned from, bool is_owed)
{
    for (unsigned i = 0; i < buckets_of(r); i++) {
        unsigned bucket = (from + i) % buckets_of(r);

        if (core_is_away(r->core, bucket) || (is_owed && !r->is_owed[bucket]))
            continue;
        r->bucket = bucket;
        return true;
    }
    return false;
}

static bool go_to_owed(struct settings_reader *r)
{
    return go_to_next(r, r->bucket, true);
}

static bool go_on_with_round(struct settings_reader *r)
{
    if (!go_to_next(r, r->round, false))
        return false;
    r->round = r->bucket + 1;
    return true;
}

static void rest(struct settings_reader *r, int64_t ms)
{
    timer_arm(r->core->timers, &r->rest, ms);
}

static void go_on(struct settings_reader *r)
{
    r->bucket++;
    if (go_to_owed(r))
        begin_bucket(r);
    else
        rest(r, REST_MS);
}

/* A bucket that fails must not keep the others from being read, whether owed or in the
 * round. */
static void skip_bucket(struct settings_reader *r)
{
    if (core_is_away(r->core, r->bucket)) {
        go_on(r);
        return;
    }
    r->is_rounds_turn = r->is_owed[r->bucket];
    r->bucket++;
    rest(r, r->is_store_up ? RETRY_MS : REST_MS);
}

static void finish_bucket(struct settings_reader *r)
{
    end_round(r->cache, r->bucket);
    r->is_owed[r->bucket] = r->is_outdated;
    go_on(r);
}

static void on_page(struct op *op)
{
    struct settings_reader *r = CONTAINER_OF(op, struct settings_reader, page);
    struct bytes next = op->out.settings.next;

    r->is_reading = false;
    if (r->is_closing)
        return;
    if (op->status != STATUS_OK || next.len > sizeof(r->after)) {
        LOG_DEBUG("queue", "settings of bucket %u: %s", op->bucket, status_text(op->status));
        skip_bucket(r);
    } else if (next.len > 0) {
        memcpy(r->after, next.at, next.len);
        r->after_len = next.len;
        read_page(r);
    } else {
        finish_bucket(r);
    }
}

static void on_rest(struct timer *timer)
{
    struct settings_reader *r = CONTAINER_OF(timer, struct settings_reader, rest);
    bool is_rounds_turn = r->is_rounds_turn;

    r->is_rounds_turn = false;
    if ((!is_rounds_turn && go_to_owed(r)) || go_on_with_round(r))
        begin_bucket(r);
    else
        rest(r, REST_MS);
}

/* Part of the page being read may be from before the change. */
static void owe(struct settings_reader *r, unsigned bucket)
{
    r->is_owed[bucket] = true;
    r->is_outdated |= r->is_reading && bucket == r->bucket;
}

static void read_owed(struct settings_reader *r)
{
    if (r->is_reading || !go_to_owed(r))
        return;
    timer_disarm(r->core->timers, &r->rest);
    begin_bucket(r);
}

static void read_all(struct settings_reader *r)
{
    for (unsigned i = 0; i < buckets_of(r); i++)
        owe(r, i);
    read_owed(r);
}

/* ---- topics that have changed ---- */

static void on_refreshed(struct op *op);

static struct refresh *find(struct settings_reader *r, struct bytes topic)
{
    struct refresh *f;

    HASH_FIND(hh, r->refreshes, topic.at, topic.len, f);
    return f;
}

static void add(struct settings_reader *r, struct bytes topic)
{
    struct refresh *f = must(calloc(1, sizeof(*f) + topic.len));

    f->reader = r;
    f->bucket = core_bucket_of(r->core, topic);
    f->topic_len = topic.len;
    memcpy(f->topic, topic.at, topic.len);
    list_init(&f->link);
    HASH_ADD(hh, r->refreshes, topic, f->topic_len, f);
    list_append(&r->waiting, &f->link);
}

static void drop(struct settings_reader *r, struct refresh *f)
{
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): it is in it */
    HASH_DEL(r->refreshes, f);
    list_remove(&f->link);
    free(f);
}

static void send(struct settings_reader *r, struct refresh *f)
{
    f->op = (struct op){.verb = OP_SETTINGS, .on_done = on_refreshed};
    f->op.topic = bytes_of(f->topic, f->topic_len);
    f->op.bucket = f->bucket;
    f->is_on_way = true;
    f->has_changed = false;
    r->on_way++;
    core_send(r->core, &f->op);
}

static void send_some(struct settings_reader *r)
{
    struct list *link;

    while (r->on_way < AT_ONCE && (link = list_pop(&r->waiting)))
        send(r, CONTAINER_OF(link, struct refresh, link));
}

static void on_refreshed(struct op *op)
{
    struct refresh *f = CONTAINER_OF(op, struct refresh, op);
    struct settings_reader *r = f->reader;
    bool is_ok = op->status == STATUS_OK;

    r->on_way--;
    f->is_on_way = false;
    if (!may_read(r) || core_is_away(r->core, op->bucket) || (is_ok && !f->has_changed))
        drop(r, f);
    else
        list_append(&r->waiting, &f->link);
    if (is_ok)
        send_some(r);
    else if (may_read(r) && !list_is_empty(&r->waiting))
        timer_arm(r->core->timers, &r->retry, RETRY_MS);
}

static void on_retry(struct timer *timer)
{
    send_some(CONTAINER_OF(timer, struct settings_reader, retry));
}

void settings_reader_refresh(struct settings_reader *r, struct bytes topic)
{
    struct refresh *f;

    if (!may_read(r) || !topic_name_is_valid(topic) ||
        core_is_away(r->core, core_bucket_of(r->core, topic)))
        return;
    f = find(r, topic);
    if (f) {
        f->has_changed = true;
    } else if (HASH_COUNT(r->refreshes) >= REFRESHES_MAX) {
        read_all(r);
    } else {
        add(r, topic);
        send_some(r);
    }
}

/* ---- the reader's life ---- */

static void leave_refreshes(struct settings_reader *r)
{
    struct list *link;

    timer_disarm(r->core->timers, &r->retry);
    while ((link = list_first(&r->waiting)))
        drop(r, CONTAINER_OF(link, struct refresh, link));
}

void settings_reader_set_store(struct settings_reader *r, bool is_up)
{
    r->is_store_up = is_up;
    if (may_read(r)) {
        read_all(r);
    } else {
        memset(r->is_owed, 0, buckets_of(r) * sizeof(*r->is_owed));
        leave_refreshes(r);
    }
}

/* Reads that the store holds for this bucket would keep others waiting. The whole bucket is
 * read when it is back. */
static void leave_bucket(struct settings_reader *r, unsigned bucket)
{
    struct refresh *f, *next;

    if (r->is_reading && r->page.bucket == bucket)
        core_abandon(r->core, &r->page);
    HASH_ITER (hh, r->refreshes, f, next) {
        if (f->bucket != bucket)
            continue;
        if (f->is_on_way)
            core_abandon(r->core, &f->op);
        else
            drop(r, f);
    }
}

void settings_reader_set_bucket(struct settings_reader *r, unsigned bucket)
{
    if (core_is_away(r->core, bucket))
        leave_bucket(r, bucket);
    else if (may_read(r))
        owe(r, bucket);
    if (may_read(r))
        read_owed(r);
}

void settings_reader_close(struct settings_reader *r)
{
    r->is_closing = true;
    timer_disarm(r->core->timers, &r->rest);
    leave_refreshes(r);
}

void settings_reader_init(struct settings_reader *r, struct core *core,
                          struct settings_cache *cache)
{
    *r = (struct settings_reader){.core = core, .cache = cache};
    r->is_owed = must(calloc(core->store->buckets, sizeof(*r->is_owed)));
    list_init(&r->waiting);
    timer_init(&r->rest, on_rest);
    timer_init(&r->retry, on_retry);
    timer_arm(core->timers, &r->rest, REST_MS);
}

void settings_reader_fini(struct settings_reader *r)
{
    settings_reader_close(r);
    free(r->is_owed);
}
