/* An operation on its way, and the queue that it belongs to: for requests.c (waiting and
 * sending), outcomes.c (its beginning, its answer and its end) and replicas.c.
 */
#ifndef DUEQ_NODE_STORE_REDIS_REQUESTS_PRIVATE_H
#define DUEQ_NODE_STORE_REDIS_REQUESTS_PRIVATE_H

#include "base/timer.h"
#include "node/store/redis/throttle.h"
#include "node/store/redis/wait_queue.h"
#include "node/store/redis/wire/reply.h"
#include "node/store/redis/requests.h"
#include "node/store/redis/wire/scripts.h"

struct request {
    struct redis_call call;
    struct redis_requests *queue;
    struct redis_lane *lane; /* where it is in flight, or was last */
    struct op *op;
    struct redis_held held;
    struct list link; /* failing or in the pool; held and in flight: neither */
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

    struct replica_wait wait;  /* answered, and on_done is to come */
    char id[REPLY_NEW_ID_MAX]; /* the id in a push's answer meanwhile */
};

/* A bucket's requests of one kind. */
struct request_line {
    struct redis_hold hold;
    struct list runnable; /* in its lane's: something waits, and the bucket is open */
    unsigned bucket;
};

struct redis_requests {
    const struct redis_store_options *options;
    struct redis_store_stats *stats;
    struct redis_route *route;
    struct redis_marks *marks; /* the route's */
    struct timers *timers;
    const struct store_events *events; /* NULL: nobody listens */
    struct script_keys keys;

    struct request_line lines[REDIS_MARKS_BUCKETS_MAX][REDIS_REPLY_KINDS];
    struct later failing;
    struct list pool;
    unsigned pool_count;
    uint64_t submitted;
    unsigned unfinished; /* requests whose on_done has not returned */

    struct redis_requests_events redirects; /* on_moved NULL: there is one master */
    struct redis_throttle throttle;
    bool is_stopping;
    void (*on_idle)(void *arg); /* NULL: not asked for, or said */
    void *idle_arg;

    /* Size of a topic's last large pop, by crc16: the next pop need not ask first. */
    struct {
        uint16_t topic;
        uint32_t bytes; /* 0: none */
    } large_pops[256];

    char next_place[48];
    struct script_call encoded; /* the command being sent: too large for the stack */
    struct reply_room room;
};

/* ---- outcomes.c ---- */

void request_pool_init(struct redis_requests *q);
void request_pool_fini(struct redis_requests *q); /* all have ended */

struct request *request_new(struct redis_requests *q, struct op *op);

/* The op's status and outputs are set. */
void request_finish(struct request *r);
void request_fail(struct request *r, enum status status);

/* In a later turn: nothing is called back from inside a submission. */
void request_fail_later(struct request *r, enum status status);

/* The status of a request that is not sent any more: `status`, or UNKNOWN where it may have
 * run. */
enum status request_unsent(const struct request *r, enum status status);

void requests_say_when_idle(struct redis_requests *q);

/* Acts on an error that says where the bucket is. False: the error says nothing of that. True:
 * the request is done with. */
bool request_redirect(struct request *r, const char *error);

/* A page of the key space: of one master after the other, where there are several. */
bool request_is_of_all_lanes(const struct request *r);
void request_send_to_its_lane(struct request *r);
struct bytes request_place(const struct request *r); /* what its lane is asked for */
void request_name_next_place(struct request *r);     /* in its answer */

void requests_on_reply(struct redis_call *call, const struct redisReply *reply);

/* ---- requests.c ---- */

/* The lane is connected, and has room. A push whose place in the ledger is gone ends UNKNOWN,
 * later. */
void request_send(struct request *r, struct redis_lane *lane);

/* The reply is larger than the request allowed: it waits until `reply_bytes` have room. */
void request_hold_large(struct request *r, size_t reply_bytes);

/* The request was answered well: a topic whose pop was small is not expected to be large. */
void request_note_size(const struct request *r);

/* The request was sent, and waits to be sent again. False: it must not be. */
bool request_hold_again(struct request *r);

/* The answer has come, or is lost. After a good answer to a probe the requests behind it go;
 * else the next one is the probe. */
void requests_tried(struct request *r, bool is_answered_well);

/* ---- replicas.c ---- */

/* The request is answered, its status and outputs are set. It ends at once, or when replicas
 * have the write. */
void request_await_replicas(struct request *r);

#endif
