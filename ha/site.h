/* What the parts of ha/ share: the clock, the coordinator, the lease, the next tick; and the
 * calls to the coordinator, which know when they were sent and prove what an answer proves.
 */
#ifndef DUEQ_HA_SITE_H
#define DUEQ_HA_SITE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/timer.h"
#include "ha/coord/coordinator.h"
#include "ha/ha.h"
#include "ha/rule/lease.h"

#define SITE_PATH_MAX 384

struct site {
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

int64_t site_now(const struct site *s);
bool site_is_connected(const struct site *s);
int64_t site_session_ms(const struct site *s); /* T */

/* A tick in the next turn; a tick then at the latest (during a tick only). */
void site_wake(struct site *s);
void site_wake_at(struct site *s, int64_t boot_ms);

/* "<root>/<name>", or "<root>/<name>/<below>" with `below`. */
void site_path(const struct site *s, char path[SITE_PATH_MAX], const char *name,
               const char *below);

struct ask {
    struct coord_call call; /* outputs: during on_answer */
    struct site *site;
    bool is_in_flight;
    unsigned session;
    int64_t sent_boot_ms, acked_boot_ms;
    void (*on_answer)(struct ask *ask); /* a tick follows */
};

void ask_init(struct ask *a, struct site *s, void (*on_answer)(struct ask *ask));

/* One at a time. What is given is borrowed until on_answer. */
void ask_read(struct ask *a, const char *path, bool watches);
void ask_list(struct ask *a, const char *path, bool watches);
void ask_write(struct ask *a, const struct coord_change *changes, unsigned count);

/* Did a server answer, in this session? Else the connection, or the session, was lost. */
bool ask_is_answered(const struct ask *a);

#endif
