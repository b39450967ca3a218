/* The connection between a client and its ensemble: two wires, and faults of the network.
 *
 * Messages are lost as on a TCP connection: after a lost message no later one arrives. This
 * file has the client's end, for coordinator.c, and the ensemble's.
 */
#ifndef DUEQ_HA_FAKE_CLIENT_H
#define DUEQ_HA_FAKE_CLIENT_H

#include <stdbool.h>

#include "base/list.h"
#include "base/timer.h"
#include "ha/fake/wire.h"

struct fake_client;
struct fake_ensemble;

/* The state of a client's connection. */
enum fake_link {
    FAKE_LINK_UP,
    FAKE_LINK_REFUSED,  /* attempts to connect are refused; fake_coordinator_cut() breaks it */
    FAKE_LINK_MUTE,     /* all messages are lost silently, both ways */
    FAKE_LINK_MUTE_OUT, /* those to the ensemble only */
    FAKE_LINK_MUTE_IN,  /* those from the ensemble only */
};

/* The other end of a client: the fake ensemble, or the simulation's servers. */
struct fake_service {
    bool (*can_connect)(const struct fake_client *c);
    void (*send)(struct fake_client *c, struct fake_message *m); /* takes the message */
    void (*release)(struct fake_client *c);                      /* the process is gone */
};

struct fake_client {
    const struct fake_service *service;
    struct fake_wire down;
    enum fake_link state;

    /* The fake ensemble's. */
    struct list link;
    struct fake_ensemble *ensemble;
    struct fake_wire up;
    /* The newest connections that have lost a message: no later message on them arrives. */
    unsigned broken_out, broken_in;
};

/* A client of the fake ensemble. */
void fake_client_init(struct fake_client *c, struct fake_ensemble *e, struct timers *timers,
                      void (*on_message)(struct fake_wire *w, struct fake_message *m));

/* A client of another service. */
void fake_client_init_on(struct fake_client *c, const struct fake_service *service,
                         struct timers *timers,
                         void (*on_message)(struct fake_wire *w, struct fake_message *m));

void fake_client_fini(struct fake_client *c);

bool fake_client_can_connect(const struct fake_client *c);
void fake_client_send(struct fake_client *c, struct fake_message *m); /* takes it */

/* The ensemble's end. Takes the message. */
void fake_client_answer(struct fake_client *c, struct fake_message *m);

#endif
