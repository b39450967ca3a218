/* A ZooKeeper ensemble in memory and virtual time, as its clients see it: sessions that end by
 * the clock, watches, one tree.
 *
 * Sessions are judged in ticks, rounded up. Without a quorum nothing is answered and no session
 * ends; with the quorum each gets a fresh timeout. It is one server here; fake_coordinator.h
 * has the client's side, and what can be done to its connection.
 */
#ifndef DUEQ_HA_FAKE_ENSEMBLE_H
#define DUEQ_HA_FAKE_ENSEMBLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/timer.h"
#include "ha/fake_tree.h"
#include "ha/fake_wire.h"

struct fake_ensemble;

/* What a client's connection lets through. */
enum fake_link {
    FAKE_LINK_UP,
    FAKE_LINK_REFUSED,  /* attempts to connect are refused; fake_coordinator_cut() breaks it */
    FAKE_LINK_MUTE,     /* all is lost on the way, both ways; nobody is told */
    FAKE_LINK_MUTE_OUT, /* to the ensemble only */
    FAKE_LINK_MUTE_IN,  /* from the ensemble only */
};

struct fake_client;

/* Whom a client talks to: this ensemble, or the simulation's, which is made of servers. */
struct fake_service {
    bool (*can_connect)(const struct fake_client *c);
    void (*send)(struct fake_client *c, struct fake_message *m); /* takes the message */
    void (*release)(struct fake_client *c);                      /* the process is gone */
};

/* A client as the ensemble sees it. */
struct fake_client {
    const struct fake_service *service;
    struct list link;
    struct fake_ensemble *ensemble;
    struct fake_wire up, down;
    enum fake_link state;
    /* The newest connections of which something was lost: nothing sent later arrives. */
    unsigned broken_out, broken_in;
};

struct fake_session {
    struct list link;
    struct fake_ensemble *ensemble;
    struct coord_credentials who;
    int64_t timeout_ms;
    struct timer expiry;
    struct fake_client *client; /* connected last; NULL: it is gone */
    unsigned connection;        /* of that client: requests of an older one are void */
};

struct fake_watch {
    struct list link;
    struct fake_session *session;
    char *path;
    bool is_list;
};

struct fake_ensemble {
    struct timers *timers;
    struct fake_tree tree;
    struct list sessions;
    struct list watches;
    struct list clients;
    int64_t next_session;
    bool has_quorum;

    /* To be set by the test at any time. */
    int64_t delay_ms; /* of each way; default 1 */
    int64_t tick_ms;  /* default 100 */
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

/* For fake_coordinator.c. */
void fake_client_init(struct fake_client *c, struct fake_ensemble *e, struct timers *timers,
                      void (*on_message)(struct fake_wire *w, struct fake_message *m));
void fake_client_fini(struct fake_client *c);
bool fake_client_can_connect(const struct fake_client *c);
void fake_client_send(struct fake_client *c, struct fake_message *m);

#endif
