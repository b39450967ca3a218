#include "node/queue/settings_reader.h"

#include <stdlib.h>

#include "base/log.h"
#include "node/queue/core.h"
#include "node/queue/hash.h"
#include "node/queue/names.h"
#include "node/queue/topic_settings.h"

#define REST_MS  1000
#define RETRY_MS 500
#define AT_ONCE  16

struct refresh {
    UT_hash_handle hh;
    struct settings_reader *reader;
    struct list link; /* waiting */
    struct op op;
    bool is_on_way;
    bool has_changed; /* since it was sent */
    size_t topic_len;
    char topic[];
};

/* What is asked of single topics: those that have changed. The round does not ask this: a store
 * that has no wake-ups for us may answer all the same. */
static bool may_read(const struct settings_reader *r)
{
    return r->is_store_up && !r->is_closing;
}

void settings_reader_after(struct settings_reader *r, const struct op *op)
{
    if ((op->verb == OP_SETTINGS || op->verb == OP_CONFIGURE) && op->status == STATUS_OK)
        settings_cache_put(r->cache, op);
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
    settings_cache_begin_round(r->cache);
    read_page(r);
}

static void step(struct settings_reader *r)
{
    r->bucket = (r->bucket + 1) % r->core->store->buckets;
}

/* It must not keep the others from being read; in haste all are read again. */
static void skip_bucket(struct settings_reader *r)
{
    step(r);
    if (r->hurried > 0)
        r->hurried = r->core->store->buckets;
    timer_arm(r->core->timers, &r->rest, r->is_store_up ? RETRY_MS : REST_MS);
}

static void finish_bucket(struct settings_reader *r)
{
    settings_cache_end_round(r->cache, r->bucket);
    step(r);
    if (r->hurried > 0 && --r->hurried == 0)
        r->cache->is_whole = true;
    if (r->hurried > 0)
        begin_bucket(r);
    else
        timer_arm(r->core->timers, &r->rest, REST_MS);
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
    begin_bucket(CONTAINER_OF(timer, struct settings_reader, rest));
}

/* The bucket that is being read does not count: some of it may be from before. */
static void read_all(struct settings_reader *r)
{
    r->hurried = r->core->store->buckets + r->is_reading;
    timer_disarm(r->core->timers, &r->rest);
    if (!r->is_reading)
        begin_bucket(r);
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
    struct refresh *f = calloc(1, sizeof(*f) + topic.len);

    if (!f)
        abort();
    f->reader = r;
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
    f->op.bucket = core_bucket_of(r->core, f->op.topic);
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
    if (!may_read(r) || (is_ok && !f->has_changed))
        drop(r, f);
    else
        list_append(&r->waiting, &f->link);
    if (is_ok)
        send_some(r);
    else if (may_read(r))
        timer_arm(r->core->timers, &r->retry, RETRY_MS);
}

static void on_retry(struct timer *timer)
{
    send_some(CONTAINER_OF(timer, struct settings_reader, retry));
}

void settings_reader_refresh(struct settings_reader *r, struct bytes topic)
{
    struct refresh *f;

    if (!may_read(r) || !topic_name_is_valid(topic))
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

/* ---- life ---- */

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
        r->hurried = 0;
        leave_refreshes(r);
    }
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
    list_init(&r->waiting);
    timer_init(&r->rest, on_rest);
    timer_init(&r->retry, on_retry);
    timer_arm(core->timers, &r->rest, REST_MS);
}

void settings_reader_fini(struct settings_reader *r)
{
    settings_reader_close(r);
}
