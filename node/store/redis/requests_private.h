/* An operation on its way, and the queue that it belongs to: for outcomes.c (its beginning and
 * its end), requests.c (waiting and sending), outcomes.c and replicas.c.
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
    int64_t wait_ms;       /* what a pop that is sent again was told on its way; -1: nothing */
    bool needs_text;       /* Redis has forgotten the script */
    bool was_sent;         /* and was not answered that it was not run */
    bool may_have_run;     /* its answer was lost */
    bool is_abandoned;     /* nobody waits for it */
    struct push_note note; /* of a push that was sent */

    struct replica_wait wait;  /* answered, and not told yet */
    char id[REPLY_NEW_ID_MAX]; /* what the answer of a push borrows meanwhile */
};

/* Those of a bucket, of one kind. */
struct request_line {
    struct redis_hold hold;
    struct list eager; /* of its lane: something waits, and it is open */
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

    /* What the last pop of a topic took that was large: its next one need not ask. By crc16. */
    struct {
        uint16_t topic;
        uint32_t bytes; /* 0: none */
    } large_pops[256];

    char next_place[48];
    struct script_call encoded; /* the one that is being sent: too large for the stack */
    struct reply_room room;
};

/* ---- outcomes.c: its beginning and its end ---- */

void request_pool_init(struct redis_requests *q);
void request_pool_fini(struct redis_requests *q); /* all have ended */

struct request *request_new(struct redis_requests *q, struct op *op);

/* The op's status and outputs are set. */
void request_finish(struct request *r);
void request_fail(struct request *r, enum status status);

/* Nothing is called back from inside a submission. */
void request_fail_later(struct request *r, enum status status);

/* It is not sent any more: `status`, or UNKNOWN where it may have run. */
enum status request_unsent(const struct request *r, enum status status);

void requests_say_when_idle(struct redis_requests *q);

/* ---- requests.c ---- */

/* The lane is connected, and has room. A push whose place in the ledger is gone ends UNKNOWN,
 * later. */
void request_send(struct request *r, struct redis_lane *lane);

/* Its reply is larger than was asked for: it waits until so much has room. */
void request_hold_large(struct request *r, size_t reply_bytes);

/* It is answered well: was a pop as large as it was expected? */
void request_note_size(const struct request *r);

/* It was sent, and waits to be sent again. False: it is not to be. */
bool request_hold_again(struct request *r);

/* Its answer has come, or is lost. Where it was to try whether those behind it can go they do,
 * or the next one tries. */
void requests_tried(struct request *r, bool is_answered_well);

/* ---- outcomes.c ---- */

/* What this error means for where the bucket is. False: nothing. True: it is done with. */
bool request_redirect(struct request *r, const char *error);

/* ---- outcomes.c ---- */

/* A page of the key space: of one master after the other, where there are several. */
bool request_is_of_all_lanes(const struct request *r);
void request_send_to_its_lane(struct request *r);
struct bytes request_place(const struct request *r); /* what its lane is asked for */
void request_name_next_place(struct request *r);     /* in its answer */

/* ---- replicas.c ---- */

/* It is answered, the status and outputs are set. It ends at once, or when replicas have it. */
void request_keep_promise(struct request *r);

/* ---- outcomes.c ---- */

void requests_on_reply(struct redis_call *call, const struct redisReply *reply);

#endif
