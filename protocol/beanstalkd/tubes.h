/* Tubes, as far as this node knows them: those that its clients use or watch, with counts.
 *
 * The jobs are the topics'; a tube here is only what beanstalkd says of a tube beside its jobs.
 * A tube that nobody refers to any more is kept for its counts, but only the last
 * TUBES_IDLE_MAX of these.
 */
#ifndef DUEQ_PROTOCOL_BEANSTALKD_TUBES_H
#define DUEQ_PROTOCOL_BEANSTALKD_TUBES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/list.h"

#define TUBES_IDLE_MAX 1000
#define TUBES_SLOTS    1024

struct tube {
    struct list slot;
    struct list place; /* among the referred, or the idle */
    struct bytes name;
    unsigned references; /* by clients and their requests */
    unsigned using, watching, waiting;
    uint64_t total_jobs, deletes, pauses;
    int64_t pause_s; /* of the last pause that came over this node */
    char text[];
};

struct tubes {
    struct list slots[TUBES_SLOTS];
    struct list referred; /* the oldest first */
    struct list idle;
    unsigned count; /* of the referred */
    unsigned idle_count;
};

void tubes_init(struct tubes *tubes);
void tubes_fini(struct tubes *tubes); /* when nobody refers to any */

/* One reference more to the tube of this name, which is made. */
struct tube *tubes_use(struct tubes *tubes, struct bytes name);
void tubes_drop(struct tubes *tubes, struct tube *tube); /* one reference less */

/* NULL: nothing is known of it. */
struct tube *tubes_find(struct tubes *tubes, struct bytes name);

/* ---- what a client watches ---- */

#define WATCH_MAX 64 /* tubes of one client: as many as a pop may have topics */

struct watch {
    struct tube *at[WATCH_MAX]; /* in beanstalkd's order */
    unsigned count;
};

bool watch_has(const struct watch *watch, struct bytes name);

/* False: it has WATCH_MAX already. Nothing happens where it has that tube. */
bool watch_add(struct watch *watch, struct tubes *tubes, struct bytes name);
void watch_remove(struct watch *watch, struct tubes *tubes, struct bytes name);
void watch_clear(struct watch *watch, struct tubes *tubes);

#endif
