/* A ZooKeeper ensemble in memory and virtual time, as its clients see it: sessions with
 * timeouts, watches, one tree.
 *
 * Sessions end in whole ticks, rounded up. Without a quorum no request is answered and no
 * session ends; when the quorum is back, each session gets a fresh timeout. The ensemble is one
 * server here; coordinator.h is the client's side, and client.h the connection.
 */
#ifndef DUEQ_HA_FAKE_ENSEMBLE_H
#define DUEQ_HA_FAKE_ENSEMBLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/timer.h"
#include "ha/fake/client.h"
#include "ha/fake/tree.h"

struct fake_session {
    struct list link;
    struct fake_ensemble *ensemble;
    struct coord_credentials who;
    int64_t timeout_ms;
    struct timer expiry;
    struct fake_client *client; /* connected last; NULL: gone */
    unsigned connection;        /* of that client; requests of an older connection are void */
};

struct fake_ensemble {
    struct timers *timers;
    struct fake_tree tree; /* watched by sessions */
    struct list sessions;
    struct list clients;
    int64_t next_session;
    bool has_quorum;

    /* To be set by the test at any time. */
    int64_t delay_ms; /* of each way; default 1 */
    int64_t tick_ms;  /* default 100 */
    bool hides_tick;  /* does not tell clients the tick */
    int64_t least_timeout_ms, most_timeout_ms;
    bool denies; /* refuses credentials, from the next connection on */
};

void fake_ensemble_init(struct fake_ensemble *e, struct timers *timers);
void fake_ensemble_fini(struct fake_ensemble *e); /* after its clients */

/* Without a quorum requests are dropped; clients notice the silence, or fake_coordinator_cut().
 */
void fake_ensemble_set_quorum(struct fake_ensemble *e, bool has_quorum);

/* Requests wait until the ensemble thaws; sessions time out meanwhile. */
void fake_ensemble_freeze(struct fake_ensemble *e, bool is_frozen);

/* Ends the session now, as by a timeout. Does nothing if there is no such session. */
void fake_ensemble_expire(struct fake_ensemble *e, int64_t session);

/* Deletes all znodes, ephemerals too; the sessions stay. */
void fake_ensemble_wipe(struct fake_ensemble *e);

/* ---- for client.c ---- */

/* Serves a request that has arrived. Takes the message; its `who` is the sender's session,
 * except for END_SESSION. */
void fake_ensemble_serve(struct fake_client *c, struct fake_message *m);
void fake_ensemble_forget(const struct fake_client *c); /* its process is gone */

#endif
