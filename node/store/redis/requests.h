/* Operations on their way to Redis and back (doc/redis.md).
 *
 *             nobody waits, the bucket is open, room: at once
 *            .---------------------------------------.   .-- surely not run: sent again
 *           /                                         v /  |
 *   submit +---> held -- its bucket is open, room -> in flight ---> on_done
 *          |\    ^ `---- too long, or abandoned:         / link lost
 *          | \   |              UNAVAILABLE             /
 *          | \   `----------- can be retried --------- X
 *          |  `-> too many: TOO_MANY, in a later turn     `-- cannot: UNKNOWN
 *          `----> the breaker is open: UNAVAILABLE, in a later turn
 *
 * Each bucket has a queue of its own, first come, first sent, by the lane that the route names;
 * where buckets of a lane wait for room they take turns. The list that a request is on is its
 * state. An answer that promises something may wait for replicas before on_done (replicas.h).
 *
 * An operation that a scanner's right to act stands behind (TRAIT_FENCED: the leader's, and
 * scans of a share) is never held and never sent again: it goes when it is submitted, before
 * all that wait, or ends UNAVAILABLE.
 */
#ifndef DUEQ_NODE_STORE_REDIS_REQUESTS_H
#define DUEQ_NODE_STORE_REDIS_REQUESTS_H

#include "base/loop.h"
#include "base/timer.h"
#include "node/store/redis/options.h"
#include "node/store/redis/route.h"
#include "node/store/redis/throttle.h"
#include "node/store/redis/wait_queue.h"
#include "node/store/redis/wire/decode.h"
#include "node/store/redis/wire/encode.h"
#include "node/store/store.h"

struct request {
    struct redis_call call;
    struct redis_requests *queue;
    struct redis_lane *lane; /* where it is in flight, or was last */
    struct op *op;
    struct redis_held held;
    struct list link; /* failing, in the pool, or the first of a call that is gathered */
    size_t bytes;
    enum redis_reply_kind kind;
    size_t reply_bytes; /* that may come; of a small one 0 */
    int64_t sent_us;
    int64_t wait_ms;       /* the wait that a pop's earlier answers told; -1: none */
    bool needs_text;       /* Redis has lost the script */
    bool was_sent;         /* and no answer says that it did not run */
    bool may_have_run;     /* its answer was lost */
    bool is_abandoned;     /* nobody waits for it */
    struct push_note note; /* of a push that was sent */

    /* On its way, in a call: */
    struct request *next; /* NULL: the last */
    struct request *last; /* of the first one only, as what follows */
    unsigned count;       /* requests in the call */
    size_t bytes_of_all;  /* while it is gathered */

    struct replica_wait wait;  /* answered, and on_done is to come */
    char id[REPLY_NEW_ID_MAX]; /* the id in a push's answer meanwhile */
};

/* A bucket's requests of one kind. */
struct request_line {
    struct redis_hold hold;
    struct list runnable; /* in its lane's: something waits, and the bucket is open */
    unsigned bucket;
};

#define GATHER_BYTES_MAX 131072 /* of one call; a larger request goes alone */
#define GATHER_ROWS      256
#define GATHER_VERBS     3

/* What this turn has gathered: gather.c. */
struct gathered {
    struct loop *loop;
    struct turn_end end;
    struct list calls; /* the first requests of each, oldest first */
    struct request *rows[GATHER_ROWS][GATHER_VERBS]; /* by topic; in a row by verb */
};

struct redis_requests {
    const struct redis_store_options *options;
    struct redis_store_stats *stats;
    struct redis_route *route;
    struct redis_marks *marks; /* the route's */
    struct timers *timers;
    const struct store_events *events;
    struct script_keys keys;

    struct request_line lines[REDIS_MARKS_BUCKETS_MAX][REDIS_REPLY_KINDS];
    struct later failing;
    struct list pool;
    unsigned pool_count;
    uint64_t submitted;
    unsigned unfinished; /* requests whose on_done has not returned */

    struct redis_throttle throttle;
    bool is_stopping;
    void (*on_idle)(void *arg); /* NULL: not asked for, or said */
    void *idle_arg;

    /* Size of a topic's last large pop, by crc16: the next pop need not ask first. */
    struct {
        uint16_t topic;
        uint32_t bytes; /* 0: none */
    } large_pops[256];

    char next_cursor[48];
    struct gathered gathered;
    struct script_call encoded; /* the command being sent: too large for the stack */
    struct reply_room room;
};

/* ---- for the store ---- */

/* With several masters: the oldest connected lane with this serial, or a higher one; NULL:
 * none. The store has it (store_cluster.c). */
struct redis_lane *redis_store_lane_from(struct redis_store *s, unsigned serial);

/* All are borrowed for the queue's life: the store's options, the counters it keeps, the route,
 * in whose marks it notes answers, and the events of the store's port: due times are told
 * before the answer comes (on_event). */
struct redis_requests *redis_requests_new(struct loop *loop,
                                          const struct redis_store_options *options,
                                          struct redis_store_stats *stats,
                                          struct redis_route *route,
                                          const struct store_events *events);
void redis_requests_free(struct redis_requests *q); /* nothing on its way; NULL is fine */

/* The options have changed. */
void redis_requests_reload(struct redis_requests *q);

void redis_requests_submit(struct redis_requests *q, struct op *op);

/* Nobody waits for it any more: see store_abandon(). */
void redis_requests_abandon(struct redis_requests *q, struct op *op);

/* opened: what the bucket holds goes with the next redis_requests_send(). shut: the bucket is
 * not reached any more. */
void redis_requests_opened(struct redis_requests *q, unsigned bucket);
void redis_requests_shut(struct redis_requests *q, unsigned bucket);

/* Sends what is held for this lane, as far as there is room. */
void redis_requests_send(struct redis_requests *q, struct redis_lane *lane);

/* Does anything wait for one of the lane's buckets? */
bool redis_requests_wait_for(const struct redis_requests *q, const struct redis_lane *lane);

/* Held operations, and those submitted from now on, end with SHUTTING_DOWN. on_idle is called,
 * perhaps at once, when nothing is on its way any more; nothing is submitted after that. */
void redis_requests_stop(struct redis_requests *q, void (*on_idle)(void *arg), void *arg);

/* ---- gather.c ---- */

void request_gather_init(struct gathered *g, struct loop *loop);
void request_gather_fini(struct gathered *g); /* nothing is gathered */

/* May it share a call? A retry may not, because its try may have happened; nor may what the
 * scripts of several know nothing of. */
bool request_may_share(const struct request *r);

/* It is in flight, and its call goes at the end of the turn, or before. */
void request_gather(struct request *r);

/* What is gathered of the request's topic goes now, unless the request is alone on its sender's
 * way; of all topics where it is of none. */
void request_send_gathered_before(const struct request *r);

/* ---- outcomes.c ---- */

void request_pool_init(struct redis_requests *q);
void request_pool_fini(struct redis_requests *q); /* all have ended */

struct request *request_new(struct redis_requests *q, struct op *op);

void request_fail(struct request *r, enum status status);

/* In a later turn: nothing is called back from inside a submission. */
void request_fail_later(struct request *r, enum status status);

/* The status of a request that is not sent any more: `status`, or UNKNOWN where it may have
 * run. */
enum status request_unsent(const struct request *r, enum status status);

void requests_say_when_idle(struct redis_requests *q);

/* A page of the key space: of one master after the other, where there are several. */
bool request_is_of_all_lanes(const struct request *r);
void request_send_to_its_lane(struct request *r);
struct bytes request_cursor(const struct request *r); /* what its lane is asked for */

void requests_on_reply(struct redis_call *call, const struct redisReply *reply);

/* The requests of a call that was not sent: none of them has run by it. */
void requests_on_unsent(struct request *first);

/* ---- requests.c ---- */

/* The lane is connected, and has room. A push whose entry in the ledger is gone ends UNKNOWN,
 * later. */
void request_send(struct request *r, struct redis_lane *lane);

/* The first of a call, and those behind it, which are in flight: sends the call, once more
 * where Redis has not run it. */
void request_send_call(struct request *first);

/* The reply is larger than the request allowed: it waits until `reply_bytes` have room. */
void request_hold_large(struct request *r, size_t reply_bytes);

/* The request was answered well: a topic whose pop was small is not expected to be large. */
void request_note_size(const struct request *r);

/* The request was sent, and waits to be sent again. False: it must not be. */
bool request_hold_again(struct request *r);

/* The answer has come, or is lost. After a good answer to a probe the requests behind it go;
 * else the next one is the probe. */
void requests_tried(struct request *r, bool is_answered_well);

#endif
