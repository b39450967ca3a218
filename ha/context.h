/* The state that all parts of ha/ share: the clock, the coordinator, the lease, the next tick;
 * and calls to the coordinator that note when they were sent and prolong the lease by answers.
 */
#ifndef DUEQ_HA_CONTEXT_H
#define DUEQ_HA_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/timer.h"
#include "ha/coord/coordinator.h"
#include "ha/ha.h"
#include "ha/rule/lease.h"

#define CONTEXT_PATH_MAX 384

struct context {
    const struct ha_options *options;
    struct coordinator *coordinator;
    struct timers *timers;
    struct timer tick;
    int64_t wake_boot_ms;      /* when the next tick is wanted, collected during a tick */
    struct write_lease lease;  /* of this session */
    unsigned session;          /* number of sessions so far */
    int64_t connected_boot_ms; /* when the newest connection was made */
    unsigned in_flight;        /* calls */
};

int64_t context_now(const struct context *c);
bool context_is_connected(const struct context *c);
int64_t context_session_ms(const struct context *c);    /* T */
int64_t context_retry_boot_ms(const struct context *c); /* T/6 from now */

/* Asks for a tick in the next turn; for a tick at `boot_ms` at the latest (during a tick only).
 */
void context_wake(struct context *c);
void context_wake_at(struct context *c, int64_t boot_ms);

/* "<root>/<name>", or "<root>/<name>/<below>" with `below`. */
void context_path(const struct context *c, char path[CONTEXT_PATH_MAX], const char *name,
                  const char *below);

struct coord_request {
    struct coord_call call; /* outputs: during on_answer */
    struct context *context;
    bool is_in_flight;
    unsigned session;
    int64_t sent_boot_ms, acked_boot_ms;
    void (*on_answer)(struct coord_request *request); /* a tick follows */
};

void coord_request_init(struct coord_request *r, struct context *c,
                        void (*on_answer)(struct coord_request *request));

/* A request has one call in flight at a time. Arguments are borrowed until on_answer. */
void coord_request_read(struct coord_request *r, const char *path, bool watches);
void coord_request_list(struct coord_request *r, const char *path, bool watches);
void coord_request_write(struct coord_request *r, const struct coord_change *changes,
                         unsigned count);

/* Did a server answer in this session? False: the connection or the session was lost. */
bool coord_request_is_answered(const struct coord_request *r);

#endif
