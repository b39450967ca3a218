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
    X(RETURN,    "return")    /* leases: the consumer never got them; back, first in line   */ \
    X(ACK,       "ack")       /* lease:  the reserved job is done; gone                     */ \
    X(RELEASE,   "release")   /* lease:  give it back, at once or with a delay              */ \
    X(TOUCH,     "touch")     /* lease:  its deadline is ttr from now                       */ \
    X(CANCEL,    "cancel")    /*         gone, from any state                               */ \
    X(GET,       "get")       /*         look at it                                         */ \
    X(STATS,     "stats")     /*         count the topic's jobs                             */ \
    X(OWNER,     "owner")     /*         (no topic) who has this id, in this bucket         */ \
    X(SCAN,      "scan")      /* scan:   (no topic, no id) move what is due in this bucket  */
/* clang-format on */

enum op_verb {
#define X(name, word) OP_##name,
    OP_LIST(X)
#undef X
        OP_COUNT
};

#define OP_ITEMS_MAX 64 /* leases in one DELIVERED or RETURN; jobs in one POP */

/* Proof that a consumer still holds a reserved job. */
struct lease {
    struct bytes id;
    int64_t stamp;
};

struct op {
    enum op_verb verb;
    void (*on_done)(struct op *op);

    /* Not for the caller. */
    struct list link;              /* whoever has the op */
    struct core *core;             /* the engine, while it has the op: see core.c */
    void (*answer)(struct op *op); /* the caller's on_done, while the engine listens in */

    unsigned bucket;    /* crc16(topic) % buckets; the queue sets it */
    struct bytes topic; /* all but OWNER and SCAN */
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
        } leases;                      /* DELIVERED and RETURN */
        struct {
            int64_t stamp;    /* ACK, RELEASE, TOUCH */
            int64_t delay_ms; /* RELEASE: 0 for at once */
            int64_t ttr_ms;   /* TOUCH: 0 for the job's own TTR */
        } lease;
        struct {
            unsigned limit; /* move at most so many jobs */
        } scan;
    } in;

    enum status status;
    int64_t now_ms; /* Redis's clock when the script ran; 0 when it did not, or for OWNER */
    int64_t
        wait_ms; /* this became the bucket's first event, due in so many ms; -1: it did not */

    union {
        struct {
            struct bytes id; /* the given one, or the store's */
            int64_t due_ms;
        } push;
        struct {
            const struct job *jobs; /* state RESERVED; fewer than asked: ready is empty */
            unsigned count;
        } pop;
        struct {
            unsigned
                stale; /* leases that were not valid any more: nothing was changed for them */
        } leases;
        struct job job; /* GET */
        struct {
            int64_t delayed, ready, reserved, dead;
        } stats;
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

#endif
