#include "node/queue/pushes.h"

#include <stdlib.h>

#include "node/queue/core.h"
#include "node/queue/topic_settings.h"

#define LEFT_TO_THE_TOPIC                                                \
    (SETTING_BIT(TTR) | SETTING_BIT(PRIORITY) | SETTING_BIT(MAX_TRIES) | \
     SETTING_BIT(BACKOFF) | SETTING_BIT(TTL))

/* The read that goes ahead of a push. */
struct early_push {
    struct op read;
    struct settings_cache *cache;
    struct op *push;
};

/* A topic's ttl counts from when the job is due: else it would forbid long delays. */
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
}

static void send_with_settings(struct settings_cache *cache, struct op *push)
{
    struct topic_settings settings;

    settings_cache_get(cache, push->topic, &settings);
    fill_in(push, &settings);
    core_send(cache->core, push);
}

/* The row is in the cache already. */
static void on_read(struct op *op)
{
    struct early_push early = *CONTAINER_OF(op, struct early_push, read);

    free(CONTAINER_OF(op, struct early_push, read));
    early.push->ahead = NULL;
    if (early.read.status == STATUS_OK)
        send_with_settings(early.cache, early.push);
    else
        core_refuse(early.cache->core, early.push, early.read.status);
}

static void read_first(struct settings_cache *cache, struct op *push)
{
    struct early_push *early = calloc(1, sizeof(*early));

    if (!early)
        abort();
    early->cache = cache;
    early->push = push;
    early->read = (struct op){.verb = OP_SETTINGS,
                              .on_done = on_read,
                              .bucket = push->bucket,
                              .topic = push->topic,
                              .is_ahead = true};
    push->ahead = &early->read;
    core_send(cache->core, &early->read);
}

void pushes_send(struct settings_cache *cache, struct op *push)
{
    if (!cache->is_read[push->bucket] && ~push->in.push.given & LEFT_TO_THE_TOPIC)
        read_first(cache, push);
    else
        send_with_settings(cache, push);
}
