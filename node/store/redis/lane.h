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
#include "node/store/redis/breaker.h"
#include "node/store/redis/handshake.h"
#include "node/store/redis/options.h"
#include "node/store/redis/replicas.h"
#include "node/store/redis/wakeups.h"
#include "node/store/redis/wire/link.h"

/* Does Redis's clock run on, or was it set? Each answer of a script brings its time, which lies
 * between the moment the request was sent and the moment the answer was read. So each answer
 * gives a range, as long as the round trip, of how far Redis's clock is ahead of this host's
 * monotonic one. Two ranges further apart than REDIS_CLOCK_JUMP_MS prove a jump: the clock was
 * set, another Redis with another clock has taken over, or this host was asleep. Slow drift is
 * followed from answer to answer; hours without any may end in a jump.
 *
 * Due times, leases and locks go by Redis's clock alone, so nothing is decided by a jump:
 * people have to be told.
 */

#define REDIS_CLOCK_JUMP_MS 1000
#define REDIS_CLOCK_WIDE_MS 500 /* a longer round trip is compared, but changes no range */

/* All zero: nothing was read yet. */
struct redis_clock {
    bool is_known;
    int64_t least_ms, most_ms; /* by which Redis's clock is ahead of ours */
    unsigned said;             /* lines of the log in this second, */
    int64_t said_from_mono_ms; /* and when that second began */
};

/* An answer's time, when its request was sent, and when the answer was read, both by our
 * monotonic clock. Returns by how many ms the clock has jumped at least; below 0: back; 0: no
 * certain jump. Pure. */
int64_t redis_clock_read(struct redis_clock *c, int64_t theirs_ms, int64_t sent_mono_ms,
                         int64_t read_mono_ms);

/* What is known of a request's reply. Requests of one kind never wait for those of another. */
enum redis_reply_kind {
    REDIS_REPLY_SMALL,
    REDIS_REPLY_UNKNOWN, /* perhaps with a body, but not too large to come unasked
                          */
    REDIS_REPLY_LARGE,
    REDIS_REPLY_KINDS
};

/* Fields are for the store's own files to read; where it says so, to write. */
struct redis_lane {
    char name[REDIS_ADDRESS_CHARS]; /* its address, as it was last connected to */
    struct list link_of_all;        /* the owner's */
    unsigned serial;                /* the owner's: greater than that of all older ones */
    const struct redis_store_options *options;
    struct redis_store *store;
    struct redis_store_stats *stats;
    struct redis_link *link;
    struct redis_handshake *handshake;
    struct redis_replicas *replicas; /* NULL: none are waited for */
    struct redis_breaker breaker;
    enum breaker_state breaker_said; /* in the log */
    struct timer breaker_timer;      /* when silence has lasted too long; when to try again */
    int64_t tripped_mono_ms;         /* when the breaker opened last */
    struct redis_clock clock;        /* over all connections */
    struct redis_beat beat;          /* the owner's */
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

/* What a lane tells its store, which has these functions (parts.c, store_cluster.c). */
void redis_store_on_lane_look(struct redis_store *s); /* where is the master? */
void redis_store_on_lane_ready(struct redis_store *s, struct redis_lane *l);
void redis_store_on_lane_closed(struct redis_store *s, struct redis_lane *l); /* it was open */
void redis_store_on_lane_failed(struct redis_store *s);    /* an attempt came to nothing */
void redis_store_on_refused(void *store, const char *why); /* so do follow and the map */
/* The lane's breaker, its weaknesses, or whether it is silent has changed. */
void redis_store_on_lanes_turned(struct redis_store *s);
void redis_store_on_lane_stopped(struct redis_store *s, struct redis_lane *l);

/* Sends what is held for the lane: its breaker lets some requests pass. */
void redis_store_try_lane(struct redis_store *s, struct redis_lane *l);

/* Does a request wait for one of its buckets? */
bool redis_store_waits_for(const struct redis_store *s, const struct redis_lane *l);

/* All are borrowed for its life. `address` with host "": the store is asked for it. */
struct redis_lane *redis_lane_new(struct loop *loop, struct redis_store *store,
                                  const struct redis_store_options *options,
                                  struct redis_store_stats *stats, struct store *port,
                                  const struct redis_address *address, enum redis_kind kind);
void redis_lane_free(struct redis_lane *l); /* stopped, or never started; nothing in flight */

void redis_lane_start(struct redis_lane *l);
void redis_lane_stop(struct redis_lane *l);

/* No bucket goes by the lane any more: it stops, soon. */
void redis_lane_retire(struct redis_lane *l);
void redis_lane_stop_now(struct redis_lane *l); /* stops without waiting any longer */

/* The options have changed. The breaker's state stays, unless the silence is now too long. */
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
           breaker_passes(&l->breaker, (unsigned)l->in_flight);
}

/* A request was sent, or is held because there is no connection; one was answered. See
 * breaker.h. */
void redis_lane_asked(struct redis_lane *l);
void redis_lane_answered(struct redis_lane *l);

/* Looks at an answer's time, 0: it has none. Logs a jump of the clock that due times and leases
 * go by. */
void redis_lane_read_clock(struct redis_lane *l, int64_t theirs_ms, int64_t sent_us);

/* Makes the handshake anew on the open connection. Only when the lane is ready. */
void redis_lane_rehandshake(struct redis_lane *l);

/* For people: "up", "connecting", "refused", "leaving". */
const char *redis_lane_word(const struct redis_lane *l);

/* The lane is ready, and its buckets were asked. */
void redis_lane_set_usable(struct redis_lane *l);

/* Leaves this connection for another, perhaps at a better Redis, because of `error`. All else
 * in flight gets the same answer, and is known to have not run. */
void redis_lane_leave(struct redis_lane *l, const char *error);
void redis_lane_leave_when_answered(struct redis_lane *l);

#endif
