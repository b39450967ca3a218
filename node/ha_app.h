/* Who leads, and what this node does about it: ha/ and the queue joined.
 *
 *   ha says                     this does
 *   LEADER                      queue_lead() with the token
 *   any other role              queue_deactivate(); when all has ended: ha_drained()
 *   the queue, FENCED           ha_fenced()
 *   the store, up or down       ha_store_is()
 *
 * With ha.mode cluster all nodes scan (node/share_app.h), and the leader alone repairs:
 *   who scans                   queue_share()
 *   the store, up or down       ha_scans(), too
 *
 * A standalone node leads all the time, without a token: see node/lead_alone.h.
 */
#ifndef DUEQ_NODE_HA_APP_H
#define DUEQ_NODE_HA_APP_H

#include <stdbool.h>
#include <stdint.h>

#include "conf/conf.h"
#include "ha/ha.h"

struct adoption;
struct loop;
struct queue;

struct ha_app_options {
    const struct conf *conf; /* borrowed */
    struct loop *loop;
    struct queue *queue;
    int gmq_fd, http_fd;  /* listening, for their addresses; -1: off */
    int peer_fd;          /* listening; taken over; -1: standalone */
    uint64_t incarnation; /* of the warden */

    /* As in ha.h: this set-up cannot work; the node ends. */
    void (*on_refused)(void *arg, const char *why);
    /* After all else has been done about it; NULL: nobody asks. */
    void (*on_role)(void *arg, const struct role *role, enum role_state before);
    void *arg;
};

struct ha_app;

struct ha_app *ha_app_new(const struct ha_app_options *options);
void ha_app_free(struct ha_app *a); /* stopped or never started; NULL is fine */

void ha_app_start(struct ha_app *a);

/* Gives the lead away in order, and leaves the cluster. on_stopped comes in a later turn,
 * within about two seconds; the store must go on until then. */
void ha_app_stop(struct ha_app *a, void (*on_stopped)(void *arg), void *arg);

void ha_app_store_is(struct ha_app *a, bool is_up);

/* It is up, and answers or does not: whether this node can lead, and nothing else. */
void ha_app_store_answers(struct ha_app *a, bool answers);

/* The virtual address could be at this node, or not; what has just happened to it (vip_app.h).
 */
void ha_app_address_is(struct ha_app *a, bool is_possible);
void ha_app_note_address(struct ha_app *a, const char *state);

/* Is there another node that would lead, with the virtual address, if this one gave the lead
 * away now? */
bool ha_app_has_successor(const struct ha_app *a);

/* Gives the store to this cluster, or this standalone node, whatever other cluster has been
 * there; see queue_adopt(). In a cluster only the leader does so, with its token, while
 * ZooKeeper answers it: false, and nothing happens, at any other node, and where the store is
 * its own already. The caller sets on_done. */
bool ha_app_adopt(struct ha_app *a, struct adoption *adoption) MUST_CHECK;

/* Standalone, and a cluster's leader has been at this store: it moves nothing. */
bool ha_app_is_fenced_alone(const struct ha_app *a);
/* Answers that say so, since start. */
uint64_t ha_app_fenced_alone_count(const struct ha_app *a);

/* NULL: the node is standalone. */
struct ha *ha_app_ha(struct ha_app *a);

/* This process's session, for who has to end it when the process is dead; number 0 where there
 * is none, or it is known to be over. NULL is fine. */
struct coord_credentials ha_app_session(const struct ha_app *a);

/* ZooKeeper as this node sees it, and with how many other nodes it is connected; nothing
 * where it is standalone. */
const struct coordinator *ha_app_coordinator(const struct ha_app *a);
unsigned ha_app_peers_up(const struct ha_app *a);

#endif
