/* One operation on the jobs of one bucket: what the protocols ask for, what the store does.
 *
 * The caller embeds a `struct op` in its own request, fills in the verb and its inputs, and
 * finds the outputs there when `on_done` is called. The rules of every asynchronous call in
 * this house hold:
 *   - on_done comes exactly once, shutdown and lost connections included, and never from
 *     inside the submitting call;
 *   - inputs (topic, id, body, arrays) are borrowed until then;
 *   - outputs are valid only while on_done runs: what is needed longer is copied;
 *   - from on_done on the op is the caller's again (it may be freed or submitted anew there).
 *
 * STATUS_UNKNOWN means that it may have happened; every other failure that it did not.
 */
#ifndef DUEQ_NODE_STORE_OP_H
#define DUEQ_NODE_STORE_OP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/status.h"
#include "node/store/job.h"

/* clang-format off */
/*    verb       word          input beside topic and id; what it does */
#define OP_LIST(X)                                                                             \
    X(PUSH,      "push")      /* push:   put a new job into delayed or ready                */ \
    X(POP,       "pop")       /* pop:    reserve up to count ready jobs                     */ \
    X(DELIVERED, "delivered") /* leases: the consumer has them; real deadlines from now on  */ \
    X(KEEP,      "keep")      /* leases: the consumer is still reading its reply            */ \
    X(RETURN,    "return")    /* leases: the consumer never got them; back, first in line   */ \
    X(ACK,       "ack")       /* lease:  the reserved job is done; gone                     */ \
    X(RELEASE,   "release")   /* lease:  give it back, at once or with a delay              */ \
    X(TOUCH,     "touch")     /* lease:  its deadline is ttr from now                       */ \
    X(CANCEL,    "cancel")    /*         gone, from any state                               */ \
    X(GET,       "get")       /*         look at it                                         */ \
    X(STATS,     "stats")     /*         count the topic's jobs                             */ \
    X(OWNER,     "owner")     /*         (no topic) who has this id, in this bucket         */ \
    X(SCAN,      "scan")      /* scan:   (no topic, no id) move what is due in this bucket  */ \
    X(TOPICS,    "topics")    /* topics: (no topic, no id) some of the bucket's, counted    */
/* clang-format on */

enum op_verb {
#define X(name, word) OP_##name,
    OP_LIST(X)
#undef X
        OP_COUNT
};

#define OP_ITEMS_MAX  64  /* leases in one DELIVERED, KEEP or RETURN; jobs in one POP */
#define OP_TOPICS_MAX 100 /* topics in one TOPICS */

#define OP_POP_BYTES_MAX  (1u << 20) /* of the big bodies of a POP that brings several jobs */
#define OP_BODY_SMALL_MAX 1024       /* bytes of a body that is not big */
#define OP_UNCONFIRMED_MS 5000       /* how long a POP or a KEEP reserves */

/* Proof that a consumer still holds a reserved job. */
struct lease {
    struct bytes id;
    int64_t stamp;
    bool has_ttr;   /* DELIVERED: ttr_ms counts instead of the job's own */
    int64_t ttr_ms; /* 0: the job is done with its delivery */
};

/* How many of a topic's jobs are where, and how long they have been, or will be, there. */
struct topic_stats {
    int64_t delayed, ready, reserved, dead;
    int64_t oldest_ready_ms; /* since the first ready job was due; -1: none, or it is hidden
                              * behind too many that were cancelled */
    int64_t next_due_ms;     /* until the first delayed job is due, 0 if it is; -1: none */
};

struct topic_count {
    struct bytes topic;
    struct topic_stats stats;
};

struct op {
    enum op_verb verb;
    void (*on_done)(struct op *op);

    /* Not for the caller. */
    struct list link;              /* whoever has the op */
    struct core *core;             /* the engine, while it has the op: see core.c */
    void (*answer)(struct op *op); /* the caller's on_done, while the engine listens in */
    int64_t sent_mono_ms;          /* when the engine got it */

    unsigned bucket;    /* crc16(topic) % buckets; the queue sets it, but for TOPICS */
    struct bytes topic; /* all but TOPICS, OWNER and SCAN */
    struct bytes
        id; /* PUSH ("": the store gives one), ACK, RELEASE, TOUCH, CANCEL, GET, OWNER */

    union {
        struct {
            struct bytes body;
            int64_t delay_ms; /* from now on Redis's clock; ignored when at_ms is not 0 */
            int64_t at_ms;    /* absolute due time on Redis's clock, or 0 */
            int64_t ttr_ms;
        } push;
        struct {
            unsigned count; /* 1 to OP_ITEMS_MAX */
            bool id_only;   /* remember the owners, for acks that bring no topic and no stamp */
        } pop;
        struct {
            const struct lease *items; /* all of one topic */
            unsigned count;            /* 1 to OP_ITEMS_MAX */
        } leases;                      /* DELIVERED, KEEP and RETURN */
        struct {
            int64_t stamp;    /* ACK, RELEASE, TOUCH */
            int64_t delay_ms; /* RELEASE: 0 for at once */
            int64_t ttr_ms;   /* TOUCH: 0 for the job's own TTR */
        } lease;
        struct {
            struct bytes after; /* the last answer's `next`; "" at first */
            unsigned limit;     /* 1 to OP_TOPICS_MAX */
        } topics;
        struct {
            unsigned limit; /* move at most so many jobs */
        } scan;
    } in;

    enum status status;
    /* Redis's clock when the script ran; 0 when it did not, or for ACK and OWNER. */
    int64_t now_ms;
    int64_t
        wait_ms; /* this became the bucket's first event, due in so many ms; -1: it did not */

    union {
        struct {
            struct bytes id; /* the given one, or the store's */
            int64_t due_ms;
        } push;
        struct {
            const struct job *jobs; /* state RESERVED */
            unsigned count;         /* fewer than asked: ready is empty now, unless has_more */
            bool has_more;          /* it stopped short: ask again, no wake-up will come */
        } pop;
        struct {
            unsigned
                stale; /* leases that were not valid any more: nothing was changed for them */
        } leases;
        struct job job;           /* GET */
        struct topic_stats stats; /* STATS */
        struct {
            const struct topic_count *rows; /* by name; those that have a job */
            unsigned count;                 /* may be 0 before the end */
            struct bytes next;              /* "" at the end */
            int64_t total; /* topics of the bucket, and some that had a job just now */
        } topics;
        struct {
            struct bytes topic;
            int64_t stamp;
        } owner;
        struct {
            unsigned moved;             /* jobs that changed their place */
            const int64_t *lateness_ms; /* of those that became due: now - due */
            unsigned lateness_count;
            unsigned expired; /* of the moved: reservations that ran out */
            int64_t next_ms;  /* until the bucket's next event; 0: more is due now; -1: none */
            unsigned stuck;   /* topics left alone, because their data contradicts itself */
            struct bytes wrong; /* what is wrong with the first of them, for people */
        } scan;
    } out;
};

/* The verb's word, for logs, metrics and the script's file name. */
const char *op_word(enum op_verb verb);

/* Is it of in.leases, DELIVERED, KEEP or RETURN? */
bool op_is_of_leases(enum op_verb verb);

#endif
