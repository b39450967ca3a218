/* A lane: one master as the store sees it (doc/redis-cluster.md). Its command link, handshake,
 * circuit breaker, the answers that wait for its replicas, and what is in flight there. The
 * route (route.h) says which buckets go by which lane.
 *
 *   link open --> handshake --> is_ready --> its buckets raised --> is_usable --> link lost
 *
 * A lane that the map names no more is retired: it waits a moment for what is in flight, and
 * stops. With one Redis, or Sentinels, there is one lane, whose address follow.h knows.
 */
#ifndef DUEQ_NODE_STORE_REDIS_LANE_H
#define DUEQ_NODE_STORE_REDIS_LANE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/loop.h"
#include "node/store/redis/clock.h"
#include "node/store/redis/wait_queue.h"
#include "node/store/redis/handshake.h"
#include "node/store/redis/wire/link.h"
#include "node/store/redis/replicas.h"
#include "node/store/redis/store.h"
#include "node/store/redis/wakeups.h"

struct redis_lane;

/* What is known of a request's reply. Requests of one kind never wait for those of another. */
enum redis_reply_kind {
    REDIS_REPLY_SMALL,
    REDIS_REPLY_UNKNOWN, /* perhaps with a body, but not too large to come unasked
                          */
    REDIS_REPLY_LARGE,
    REDIS_REPLY_KINDS
};

struct redis_lane_events {
    void (*on_look)(void *arg); /* of the link; NULL: the address is fixed */
    void (*on_ready)(void *arg, struct redis_lane *l);
    void (*on_close)(void *arg, struct redis_lane *l);  /* the link was open, and is no more */
    void (*on_failed)(void *arg, struct redis_lane *l); /* an attempt came to nothing */
    void (*on_refused)(void *arg, const char *why);
    /* The lane's breaker, its weaknesses, or whether it is silent has changed. */
    void (*on_turned)(void *arg);
    void (*on_try)(void *arg, struct redis_lane *l); /* its breaker lets some requests pass */
    /* Does a request wait for one of its buckets? */
    bool (*is_waited_for)(void *arg, const struct redis_lane *l);
    void (*on_stopped)(void *arg, struct redis_lane *l);
    void *arg;
};

/* Fields are for the store's own files to read; where it says so, to write. */
struct redis_lane {
    char name[REDIS_ADDRESS_CHARS]; /* its address, as it was last connected to */
    struct list link_of_all;        /* the owner's */
    unsigned serial;                /* the owner's: greater than that of all older ones */
    const struct redis_store_options *options;
    struct redis_lane_events events;
    struct redis_link *link;
    struct redis_handshake *handshake;
    struct redis_replicas *replicas; /* NULL: none are waited for */
    struct redis_gate gate;
    struct redis_clock clock; /* the requests': over all connections */
    struct redis_beat beat;   /* the owner's */
    struct timers *timers;
    bool has_meta;   /* the owner's: it has the slot of <prefix>:meta */
    bool is_ready;   /* the handshake is done; until the link closes */
    bool is_usable;  /* and all of its buckets were asked; until the link closes */
    bool is_leaving; /* this connection is no good: takes its last answers, then another one */
    char leaves_for[128]; /* what Redis said to make it so */
    bool is_ending;       /* what is lost from now on is lost by our own doing */
    bool is_silent;       /* asked, this connection has sent nothing for silence_ms */
    bool is_refused;      /* the last connection was refused; until one is ready */
    unsigned weak;        /* 1 << enum weakness of each */
    bool has_shown_meta;  /* this connection, or is about to */
    bool is_retired;
    bool is_stopped;       /* after a start */
    struct timer retiring; /* look whether it can stop */
    int64_t retired_mono_ms;
    unsigned parts_running;      /* while it stops */
    uint64_t in_flight;          /* the requests' */
    bool is_forgotten[OP_COUNT]; /* the requests': Redis lost a fenced op's script, the next op
                                  * brings the text */
    size_t reply_bytes[REDIS_REPLY_KINDS];   /* the requests': bytes to come at most; 0 of small
                                              * ones */
    struct list runnable[REDIS_REPLY_KINDS]; /* the requests': open buckets where one waits */
    unsigned next_kind; /* the requests': whose turn it is, where several wait */
    unsigned raising;   /* the route's: questions of this round */
};

/* All are borrowed for its life. `address` with host "": on_look's answer says it. */
struct redis_lane *redis_lane_new(struct loop *loop, const struct redis_store_options *options,
                                  const struct redis_address *address, enum redis_kind kind,
                                  struct redis_store_stats *stats,
                                  const struct redis_lane_events *events);
void redis_lane_free(struct redis_lane *l); /* stopped, or never started; nothing in flight */

void redis_lane_start(struct redis_lane *l);
void redis_lane_stop(struct redis_lane *l);

/* No bucket goes by the lane any more: it stops, soon. */
void redis_lane_retire(struct redis_lane *l);
void redis_lane_stop_now(struct redis_lane *l); /* stops without waiting any longer */
void redis_lane_reload(struct redis_lane *l);

const struct redis_address *redis_lane_address(const struct redis_lane *l);

/* Has all been asked, and is it none that is left? */
static inline bool redis_lane_is_connected(const struct redis_lane *l)
{
    return l->is_usable && !l->is_leaving && redis_link_is_open(l->link);
}

/* May one more request go by the lane, which is connected? */
static inline bool redis_lane_has_room(const struct redis_lane *l)
{
    return l->in_flight < l->options->flight_max &&
           redis_gate_passes(&l->gate, (unsigned)l->in_flight);
}

/* Makes the handshake anew on the open connection. Only when the lane is ready. */
void redis_lane_rehandshake(struct redis_lane *l);

/* For people: "up", "connecting", "refused", "leaving". */
const char *redis_lane_word(const struct redis_lane *l);

/* The lane is ready, and its buckets were asked. */
void redis_lane_fit(struct redis_lane *l);

/* Leaves this connection for another, perhaps at a better Redis, because of `error`. All else
 * in flight gets the same answer, and is known to have not run. */
void redis_lane_leave(struct redis_lane *l, const char *error);
void redis_lane_leave_when_answered(struct redis_lane *l);

#endif
