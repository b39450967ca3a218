/* The coordinator port on a fake ensemble, for tests and simulation: the same states, rules and
 * time-outs as the real client, in virtual time.
 *
 * The client lives on its node's timers, the ensemble on its own: a node whose timers are not
 * run is a frozen process. The client pings after T/3 without a request, gives a connection up
 * after 2T/3 without an answer, and tries the next one 50 ms later, for ever.
 */
#ifndef DUEQ_HA_FAKE_COORDINATOR_H
#define DUEQ_HA_FAKE_COORDINATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "ha/coord/coordinator.h"
#include "ha/fake/ensemble.h"

struct fake_coordinator {
    struct coordinator base;
    struct fake_client client;
    struct timers *timers;
    int64_t asked_ms;      /* session timeout */
    unsigned connection;   /* number, one higher with each attempt and each end */
    bool is_resumed;       /* this session was connected before */
    bool is_inside;        /* a callback of the port is running */
    bool is_telling;       /* on_done of a call is running */
    struct list in_flight; /* calls */
    struct later ended;    /* calls, to be told */
    struct timer ping;
    struct timer silence; /* the connection, or an attempt, is given up */
    struct timer retry;
};

void fake_coordinator_init(struct fake_coordinator *c, struct fake_ensemble *e,
                           struct timers *timers, int64_t session_ms);

/* On another service than the fake ensemble. */
void fake_coordinator_init_on(struct fake_coordinator *c, const struct fake_service *service,
                              struct timers *timers, int64_t session_ms);

/* The process is gone: no good-bye, no callbacks; the session times out. The coordinator may be
 * initialised again afterwards. */
void fake_coordinator_fini(struct fake_coordinator *c);

/* Breaks the connection, which is then tried anew. Calls in flight end UNKNOWN: the requests
 * are lost, or with `requests_arrive` only the answers. */
void fake_coordinator_cut(struct fake_coordinator *c, bool requests_arrive);

/* Sets the state of the network from now on. */
void fake_coordinator_link(struct fake_coordinator *c, enum fake_link state);

#endif
