/* A node's client: its connection to the servers, and faults of that.
 *
 * The client tries a random server. A connection that the client has given up goes on at the
 * server until the server notices: requests sent on it may still arrive.
 */
#ifndef DUEQ_HA_SIM_CLIENT_H
#define DUEQ_HA_SIM_CLIENT_H

#include "ha/fake/coordinator.h"

struct sim_conn;

struct sim_client {
    struct fake_coordinator zk;
    struct sim_conn *conn;  /* the newest; NULL: none */
    bool out_held, in_held; /* messages that way wait */
    int64_t slow_ms;        /* added to each way */
    unsigned picked;        /* the server being tried */
};

void sim_client_init(struct sim_client *c, struct timers *timers, int64_t session_ms);
int sim_client_server(const struct sim_client *c); /* the server it is connected to, or -1 */

/* ---- faults ---- */

void sim_client_hold(struct sim_client *c, bool out, bool in);
/* Breaks the connection; `requests_arrive`: requests under way still reach the server. */
void sim_client_break(struct sim_client *c, bool requests_arrive);

/* ---- for the servers ---- */

/* Takes the message, which arrives some time later and after all sent before. */
void sim_client_answer(struct sim_client *c, struct fake_message *m);

#endif
