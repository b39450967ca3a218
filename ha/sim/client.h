/* A node's client: its way to the servers, and what can be done to that.
 *
 * It tries one of them by chance. A connection that the client has given up goes on at the
 * server, until that notices: what was sent on it may still arrive.
 */
#ifndef DUEQ_HA_SIM_CLIENT_H
#define DUEQ_HA_SIM_CLIENT_H

#include "ha/sim/fake_coordinator.h"

struct sim_conn;

struct sim_client {
    struct fake_coordinator zk;
    struct sim_conn *conn;  /* the newest; NULL: none */
    bool out_held, in_held; /* what is sent waits */
    int64_t slow_ms;        /* added to each way */
    unsigned picked;        /* the server that is tried */
};

void sim_client_init(struct sim_client *c, struct timers *timers, int64_t session_ms);
int sim_client_server(const struct sim_client *c); /* it is connected to; -1 */

/* ---- faults ---- */

void sim_client_hold(struct sim_client *c, bool out, bool in);
/* The connection breaks: what was sent still arrives, or not. */
void sim_client_break(struct sim_client *c, bool requests_arrive);

/* ---- for the servers ---- */

/* Takes the message; it arrives some time later, and after those that were sent before. */
void sim_client_answer(struct sim_client *c, struct fake_message *m);

#endif
