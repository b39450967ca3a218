/* A ZooKeeper ensemble in memory and virtual time, as its clients see it: sessions that end by
 * the clock, watches, one tree.
 *
 * Sessions are judged in ticks, rounded up. Without a quorum nothing is answered and no session
 * ends; with the quorum each gets a fresh timeout. It is one server here; fake_coordinator.h
 * has the client's side, and fake_client.h what lies between them.
 */
#ifndef DUEQ_HA_SIM_FAKE_ENSEMBLE_H
#define DUEQ_HA_SIM_FAKE_ENSEMBLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/timer.h"
#include "ha/sim/fake_client.h"
#include "ha/sim/fake_tree.h"
#include "ha/sim/fake_watches.h"

struct fake_session {
    struct list link;
    struct fake_ensemble *ensemble;
    struct coord_credentials who;
    int64_t timeout_ms;
    struct timer expiry;
    struct fake_client *client; /* connected last; NULL: it is gone */
    unsigned connection;        /* of that client: requests of an older one are void */
};

struct fake_ensemble {
    struct timers *timers;
    struct fake_tree tree;
    struct list sessions;
    struct fake_watches watches; /* of sessions */
    struct list clients;
    int64_t next_session;
    bool has_quorum;

    /* To be set by the test at any time. */
    int64_t delay_ms; /* of each way; default 1 */
    int64_t tick_ms;  /* default 100 */
    bool hides_tick;  /* it does not tell its clients */
    int64_t least_timeout_ms, most_timeout_ms;
    bool denies; /* credentials, at the next connection */
};

void fake_ensemble_init(struct fake_ensemble *e, struct timers *timers);
void fake_ensemble_fini(struct fake_ensemble *e); /* after its clients */

/* Without it what arrives is dropped; clients find out by silence, or fake_coordinator_cut().
 */
void fake_ensemble_set_quorum(struct fake_ensemble *e, bool has_quorum);

/* Requests wait, and are done when it thaws; sessions end by the clock meanwhile. */
void fake_ensemble_freeze(struct fake_ensemble *e, bool is_frozen);

/* Now, as if it had been silent for too long. Nothing happens if there is none. */
void fake_ensemble_expire(struct fake_ensemble *e, int64_t session);

/* All data is gone, ephemerals too; the sessions stay. */
void fake_ensemble_wipe(struct fake_ensemble *e);

/* ---- for fake_client.c ---- */

/* A request has arrived. Takes the message; its `who` is the sender's session, but for
 * END_SESSION. */
void fake_ensemble_serve(struct fake_client *c, struct fake_message *m);
void fake_ensemble_forget(const struct fake_client *c); /* its process is gone */

#endif
