/* What each topic's settings are: what Redis has for it, else what the configuration says, else
 * what is built in.
 *
 * Redis's rows are kept here, for every topic that has one, as settings_reader.c reads them; a
 * topic without costs nothing. The rules of the configuration are looked through each time:
 * after a reload the new ones hold.
 *
 * The whole of Redis's rows is read bucket by bucket, again and again. What a round through a
 * bucket does not meet any more is gone:
 *
 *   settings_cache_begin_round, settings_cache_put..., settings_cache_end_round
 *
 * A row that is put meanwhile from elsewhere (a change was heard of) counts as met.
 */
#ifndef DUEQ_NODE_QUEUE_TOPIC_SETTINGS_H
#define DUEQ_NODE_QUEUE_TOPIC_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "node/store/op.h"

struct core;
struct known_topic;

struct settings_cache {
    struct core *core;
    bool *is_read;               /* of each bucket: all of it, once */
    struct known_topic *by_name; /* hash: the topics with a row */
    struct list *by_bucket;      /* the same; those not met for longest first */
    unsigned with_history;       /* of them: those whose row turns the history on */
    uint64_t round;
    int64_t store_ahead_ms; /* the store's clock - ours, when a row was last put: less by the
                             * way of that answer, or 1 ms more */
};

void settings_cache_init(struct settings_cache *c, struct core *core);
void settings_cache_fini(struct settings_cache *c);

/* The rows of an answered SETTINGS or CONFIGURE. One with nothing set removes the topic's. */
void settings_cache_put(struct settings_cache *c, const struct op *op);

void settings_cache_begin_round(struct settings_cache *c);
void settings_cache_end_round(struct settings_cache *c, unsigned bucket);

/* What holds for the topic: all are set. It is paused only where that is not over. */
void settings_cache_get(const struct settings_cache *c, struct bytes topic,
                        struct topic_settings *settings);

/* What the configuration alone sets for it. */
void settings_cache_configured(const struct settings_cache *c, struct bytes topic,
                               struct topic_settings *settings);

/* 0: it is not paused, or no more at `now_ms` of the store's clock. */
int64_t settings_cache_paused_until(const struct settings_cache *c, struct bytes topic,
                                    int64_t now_ms);

#endif
