/* One asynchronous connection to Redis that keeps coming back.
 *
 *           start         known     found      connected, TLS and AUTH accepted
 *   STOPPED -----> ASKING ----> LOOKING ---> CONNECTING ---------------> OPEN
 *      ^             ^  |          |             |                        |
 *      |     backoff |  | nowhere  | no such     | refused, too late      | lost, a deadline
 *      |             |  v          v             v                        | passed, reset,
 *      +-- stop --- WAITING <---------------- CLOSING <-------------------+ aimed elsewhere
 *                             all calls failed, on_close or on_failed said
 *
 * ASKING: a link with on_look asks its owner for the address before each attempt; any link
 * waits here while its address is not known. LOOKING: the address of a name is looked up.
 *
 * Each connection is a redis_conn, with a deadline for each call. When the connection is
 * lost all calls in flight end with a NULL reply.
 *
 * Nothing is called back from inside redis_link_send, _reset, _aim, _nowhere or _stop.
 */
#ifndef DUEQ_NODE_STORE_REDIS_LINK_H
#define DUEQ_NODE_STORE_REDIS_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/loop.h"
#include "base/resolve.h"
#include "node/store/redis/wire/address.h"
#include "node/store/redis/wire/conn.h"

/* Where a link connects to: an address, or a name that is looked up for each attempt without
 * stalling the loop (base/resolve.h). Of a name with several addresses the attempts take turns.
 */

struct redis_target {
    struct redis_address address; /* host "": not known yet */
    struct resolve names;
    unsigned turn;   /* of the name's addresses: the attempts so far */
    bool is_looking; /* somebody waits for on_found */

    /* Never from inside a call. `address` is numeric; NULL: there is none, and why. */
    void (*on_found)(struct redis_target *t, const struct redis_address *address,
                     const char *why);
};

void redis_target_init(struct redis_target *t, struct loop *loop,
                       const struct redis_address *address,
                       void (*on_found)(struct redis_target *t,
                                        const struct redis_address *address, const char *why));
void redis_target_fini(struct redis_target *t);

/* True: the address has changed; a lookup under way is dropped. */
bool redis_target_set(struct redis_target *t, const struct redis_address *address);

/* The address to connect to now; or NULL, and on_found comes later. */
const struct redis_address *redis_target_look(struct redis_target *t);

/* For good. False: nothing was looked up; else the loop must turn RESOLVE_DRAIN_TURNS times.
 */
bool redis_target_cancel(struct redis_target *t);

/* Nobody waits for on_found any more. A lookup under way goes on, for the next attempt. */
void redis_target_stop_looking(struct redis_target *t);

struct redis_link_options {
    const char *name;             /* for the log */
    bool is_quiet;                /* does not log why it is closed */
    struct redis_address address; /* host "": not known, redis_link_aim() says it */
    struct redis_login login;
    int64_t timeout_ms; /* to connect; to answer a call */
    int64_t backoff_max_ms;

    /* Asks where to connect to; redis_link_aim() or redis_link_nowhere() answers, not from
     * inside. NULL: always to `address`. */
    void (*on_look)(void *arg);
    void (*on_open)(void *arg);
    void (*on_close)(void *arg);                         /* was open, is not */
    void (*on_failed)(void *arg);                        /* an attempt has ended; may be NULL */
    void (*on_refused)(void *arg, const char *why);      /* TLS or AUTH; it will try again */
    void (*on_message)(void *arg, struct bytes payload); /* to the subscribed channel */
    void (*on_subscribed)(void *arg);
    /* True: though asked, Redis has sent nothing for `silence_ms` (0: never told). False: it
     * answers again. A close ends the silence without a callback. */
    void (*on_silence)(void *arg, bool is_silent);
    int64_t silence_ms;
    void (*on_stopped)(void *arg); /* after redis_link_stop, the last */
    void *arg;
};

struct redis_link;

/* Texts of the options are borrowed for the link's life. */
struct redis_link *redis_link_new(struct loop *loop, const struct redis_link_options *options);
void redis_link_free(struct redis_link *l); /* stopped or never started; NULL is fine */
void redis_link_start(struct redis_link *l);
void redis_link_stop(struct redis_link *l);
bool redis_link_is_open(const struct redis_link *l);

/* Why the last connection, or the last attempt to make one, ended, in printable ASCII, with the
 * address that was tried in front (unless the link has its name from there); "" before the
 * first, and when a connection has settled. Borrowed until the next turn of the loop. */
const char *redis_link_why(const struct redis_link *l);

/* The same without the address: where it was Redis's own text, that. */
const char *redis_link_reason(const struct redis_link *l);

/* Was the last connection given up because an answer did not come in time? */
bool redis_link_was_late(const struct redis_link *l);

/* The link connects there from now on. A connection or an attempt to elsewhere is closed, and
 * the next attempt comes at once. */
void redis_link_aim(struct redis_link *l, const struct redis_address *address);

/* Answers on_look: the address is not known; the link asks again after a pause. Without effect
 * where it has not asked. */
void redis_link_nowhere(struct redis_link *l, const char *why);

/* The address it is at, or goes to; host "": not known. Borrowed until the next
 * redis_link_aim(). */
const struct redis_address *redis_link_address(const struct redis_link *l);

/* Only while open. The arguments are copied. */
void redis_link_send(struct redis_link *l, struct redis_call *call, int argc, const char **argv,
                     const size_t *lens);

/* Only while open, once a connection; afterwards nothing else may be sent on it. */
void redis_link_subscribe(struct redis_link *l, const char *channel);

/* The connection is of no use: closes it and connects anew, after a pause that doubles each
 * time until redis_link_settled(). */
void redis_link_reset(struct redis_link *l, const char *why);

/* The connection has proved good: the next pause is the shortest again. */
void redis_link_settled(struct redis_link *l);

#endif
