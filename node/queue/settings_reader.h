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
#ifndef DUEQ_NODE_QUEUE_SETTINGS_READER_H
#define DUEQ_NODE_QUEUE_SETTINGS_READER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/list.h"
#include "base/timer.h"
#include "node/store/op.h"

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

#endif
