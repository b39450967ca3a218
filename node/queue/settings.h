/* The settings of topics: what Redis and the configuration say, read and kept, and what a push
 * gets from them.
 */
#ifndef DUEQ_NODE_QUEUE_SETTINGS_H
#define DUEQ_NODE_QUEUE_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "base/timer.h"
#include "node/store/op.h"

/* A push gets from its topic's settings what it leaves open (in.push.given) and what the topic
 * may have, and goes.
 *
 * Before all settings have been read for the first time nobody knows whether the topic has any,
 * and a job must not get wrong ones in silence. A push then waits until its own topic's
 * settings have been read. So the store bounds its time, as that of any operation, and the room
 * for such pushes; a queue of pushes here would need both bounds once more.
 */

struct op;
struct settings_cache;

/* `push` is a checked PUSH, its bucket is set. */
void settings_send_push(struct settings_cache *cache, struct op *push);

/* Reads Redis's rows of settings into the cache, and hears when they change.
 *
 * Three ways, one behind the other:
 *   - The store comes up: all buckets are owed, and read page by page, one right behind the
 *     other. A bucket that was out of reach is owed when it is back.
 *   - The store says that a topic has changed: it is read. A topic that changes again during
 *     its read is read once more, so many changes are one read or two. Changes of more topics
 *     than REFRESHES_MAX at once: everything is read, as above.
 *   - Always: one bucket a second, for missed changes; also while the store is not up, because
 *     it may answer and only lack wake-ups.
 * A failed read is tried again a moment later, that of a changed topic only while the store is
 * up; it keeps no other bucket or topic from being read. Buckets out of reach are left out.
 */

#define REFRESHES_MAX 1000 /* topics that are being read, or wait for it */

struct core;
struct refresh;

struct settings_reader {
    struct core *core;
    struct settings_cache *cache;
    bool is_store_up;
    bool is_closing;

    /* The round through all buckets. */
    struct op page;
    bool is_reading;
    bool is_outdated; /* the bucket being read: it is owed again */
    unsigned bucket;
    unsigned round;      /* the next bucket that is read without being owed */
    bool is_rounds_turn; /* an owed bucket could not be read: the round's next one comes before
                          * the retry */
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

/* Each topic's settings: Redis's, else the configuration's, else the built-in ones.
 *
 * Redis's rows are kept here, for every topic that has one, as settings.c reads them; a topic
 * without a row costs nothing. The rules of the configuration are looked through each time:
 * after a reload the new ones hold.
 *
 * All of Redis's rows are read bucket by bucket, again and again. A row that a round through
 * its bucket does not meet is gone. A row that is put meanwhile from elsewhere (a change was
 * heard of) counts as met.
 */

struct known_topic;

struct settings_cache {
    struct core *core;
    bool *is_read;               /* of each bucket: all of it, once */
    struct known_topic *by_name; /* hash: the topics with a row */
    struct list *by_bucket;      /* the same; those not met for longest first */
    unsigned with_history;       /* of them: those whose row turns the history on */
    uint64_t round;
    int64_t store_ahead_ms; /* the store's clock - ours, when a row was last put: too low by the
                             * time that answer travelled, or 1 ms too high */
};

void settings_cache_init(struct settings_cache *c, struct core *core);
void settings_cache_fini(struct settings_cache *c);

/* The settings that hold for the topic, all set. A pause that is over is left out. */
void settings_cache_get(const struct settings_cache *c, struct bytes topic,
                        struct topic_settings *settings);

/* The settings that the configuration alone has for the topic. */
void settings_cache_configured(const struct settings_cache *c, struct bytes topic,
                               struct topic_settings *settings);

/* 0: not paused, or the pause is over at `now_ms` of the store's clock. */
int64_t settings_cache_paused_until(const struct settings_cache *c, struct bytes topic,
                                    int64_t now_ms);

#endif
