/* What the parts of ha/ share: the clock, the coordinator, the lease, the next tick; and the
 * calls to the coordinator, which know when they were sent and prove what an answer proves.
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
    int64_t wake_boot_ms;      /* when the next tick is wanted, collected during one */
    struct write_lease lease;  /* of this session */
    unsigned session;          /* counts them */
    int64_t connected_boot_ms; /* the newest connection is there since */
    unsigned in_flight;        /* calls */
};

int64_t context_now(const struct context *s);
bool context_is_connected(const struct context *s);
int64_t context_session_ms(const struct context *s); /* T */

/* A tick in the next turn; a tick then at the latest (during a tick only). */
void context_wake(struct context *s);
void context_wake_at(struct context *s, int64_t boot_ms);

/* "<root>/<name>", or "<root>/<name>/<below>" with `below`. */
void context_path(const struct context *s, char path[CONTEXT_PATH_MAX], const char *name,
                  const char *below);

struct coord_request {
    struct coord_call call; /* outputs: during on_answer */
    struct context *context;
    bool is_in_flight;
    unsigned session;
    int64_t sent_boot_ms, acked_boot_ms;
    void (*on_answer)(struct coord_request *request); /* a tick follows */
};

void coord_request_init(struct coord_request *a, struct context *s,
                        void (*on_answer)(struct coord_request *request));

/* One at a time. What is given is borrowed until on_answer. */
void coord_request_read(struct coord_request *a, const char *path, bool watches);
void coord_request_list(struct coord_request *a, const char *path, bool watches);
void coord_request_write(struct coord_request *a, const struct coord_change *changes,
                         unsigned count);

/* Did a server answer, in this session? Else the connection, or the session, was lost. */
bool coord_request_is_answered(const struct coord_request *a);

#endif
