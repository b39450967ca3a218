/* The settings of topics: what Redis and the configuration say, read and kept, and what a push
 * that leaves something open gets from them.
 */
#ifndef DUEQ_NODE_QUEUE_SETTINGS_H
#define DUEQ_NODE_QUEUE_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "base/timer.h"
#include "node/store/op.h"

/* A push gets from its topic's settings what it leaves open (in.push.given), and goes.
 *
 * Before all settings have been read for the first time nobody knows whether the topic has any,
 * and a job must not get wrong ones in silence. Such a push waits until its own topic's
 * settings have been read. So its time is bounded as that of any operation, by the store, and
 * so is the room for those that wait; lining them up here until all is read would need both
 * once more.
 */

struct op;
struct settings_cache;

/* Of a checked PUSH, its bucket set. */
void pushes_send(struct settings_cache *cache, struct op *push);

/* Reads Redis's rows of settings into the cache, and hears when they change.
 *
 * Three ways, one behind the other:
 *   - The store comes up: all buckets are owed, and read page by page, one right behind the
 *     other; and one that was out of reach, when it is back.
 *   - The store says that a topic has changed: it is read. What changes again while its read is
 *     on its way is read once more, so many changes are one read or two. Changes of more topics
 *     than REFRESHES_MAX at once: everything is read, as above.
 *   - Always: one bucket a second, for what was missed; also when the store is not up, for it
 *     may answer all the same, and only have no wake-ups for us.
 * What cannot be read is tried again a moment later, and keeps no other from being read; a
 * topic that has changed, while the store is up. Buckets that are out of reach are left out.
 */

#define REFRESHES_MAX 1000 /* topics that are being read, or wait for it */

struct core;
struct refresh;
struct settings_cache;

struct settings_reader {
    struct core *core;
    struct settings_cache *cache;
    bool is_store_up;
    bool is_closing;

    /* The round through all buckets. */
    struct op page;
    bool is_reading;
    bool is_outdated; /* what is being read: it is owed again */
    unsigned bucket;
    unsigned round;      /* the next one that is read though it is not owed */
    bool is_rounds_turn; /* an owed one could not be read: before it is tried again */
    bool *is_owed;       /* of each bucket: it is to be read without a rest */
    size_t after_len;
    char after[OP_CURSOR_MAX];
    struct timer rest;

    /* Topics that have changed. */
    struct refresh *refreshes; /* hash by topic */
    struct list waiting;
    unsigned on_way;
    struct timer retry;
};

void settings_reader_init(struct settings_reader *r, struct core *core,
                          struct settings_cache *cache);
void settings_reader_fini(struct settings_reader *r);
void settings_reader_set_store(struct settings_reader *r, bool is_up);
void settings_reader_set_bucket(struct settings_reader *r, unsigned bucket);

/* The topic's settings have changed. */
void settings_reader_refresh(struct settings_reader *r, struct bytes topic);

/* An operation has been answered, whoever sent it: its rows are for the cache. */
void settings_reader_after(struct settings_reader *r, const struct op *op);

/* The engine stops: nothing more is read. */
void settings_reader_close(struct settings_reader *r);

/* What each topic's settings are: what Redis has for it, else what the configuration says, else
 * what is built in.
 *
 * Redis's rows are kept here, for every topic that has one, as settings.c reads them; a
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
