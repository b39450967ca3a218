/* Who leads, and what this node does about it: ha/ and the queue joined.
 *
 *   ha says                     this does
 *   LEADER                      queue_lead() with the token
 *   any other role              queue_deactivate(); when all has ended: ha_drained()
 *   the queue, FENCED           ha_fenced()
 *   the store, up or down       ha_store_is()
 *
 * With ha.mode cluster all nodes scan (doc/cluster.md), and the leader alone repairs:
 *   at the start                queue_share() with an empty view: until ZooKeeper has said who
 *                               scans, and where it never does, this node moves what nobody
 *                               else has moved in time
 *   who scans                   queue_share() with that view; the last one stays, also while
 *                               the node leaves the cluster
 *   the store, up or down       ha_scans(), too
 *
 * A standalone node leads all the time, without a token. Where a cluster's leader has been at
 * its store, a standalone node moves nothing: it logs what to do and looks again every few
 * seconds, until an operator has decided.
 */
#ifndef DUEQ_NODE_LEAD_H
#define DUEQ_NODE_LEAD_H

#include <stdbool.h>
#include <stdint.h>

#include "conf/conf.h"
#include "ha/ha.h"

struct adoption;
struct channel_reported;
struct loop;
struct queue;

struct node_lead_options {
    const struct conf *conf; /* borrowed */
    struct loop *loop;
    struct queue *queue;
    const int *port_fds;  /* by port, listening, for their addresses; -1: off */
    int peer_fd;          /* listening; taken over; -1: standalone */
    uint64_t incarnation; /* of the warden */

    /* As in ha.h: this set-up cannot work; the node ends. */
    void (*on_refused)(void *arg, const char *why);
    /* Called last, when all else has been done about the change; may be NULL. */
    void (*on_role)(void *arg, const struct role *role, enum role_state before);
    void *arg;
};

struct node_lead;
struct node_lead *node_lead_new(const struct node_lead_options *options);
void node_lead_free(struct node_lead *l); /* stopped or never started; NULL is fine */
void node_lead_start(struct node_lead *l);

/* Gives the lead away gracefully, and leaves the cluster. on_stopped comes in a later turn,
 * within about two seconds; the store must go on until then. */
void node_lead_stop(struct node_lead *l, void (*on_stopped)(void *arg), void *arg);
void node_lead_store_is(struct node_lead *l, bool is_up);

/* The store is up, and answers or not: decides whether this node can lead, and nothing else. */
void node_lead_store_answers(struct node_lead *l, bool answers);

/* The virtual address could be at this node, or not; what has just happened to it (vip_app.h).
 */
void node_lead_address_is(struct node_lead *l, bool is_possible);
void node_lead_note_address(struct node_lead *l, const char *state);

/* Is there another node that would lead, with the virtual address, if this one gave the lead
 * away now? */
bool node_lead_has_successor(const struct node_lead *l);

/* Gives the store to this cluster, or this standalone node, whatever other cluster has been
 * there; see queue_adopt(). In a cluster only the leader does so, with its token, while
 * ZooKeeper answers. False, and nothing happens: at any other node, or where the store is its
 * own already. The caller sets on_done. */
bool node_lead_adopt(struct node_lead *l, struct adoption *adoption) MUST_CHECK;

/* The adoption has ended well: a standalone node begins to lead at once. A cluster's leader
 * looks by itself, every HA_FENCED_AGAIN_MS. */
void node_lead_adopted(struct node_lead *l);

/* Standalone, and a cluster's leader has been at this store: it moves nothing. */
bool node_lead_is_standalone_fenced(const struct node_lead *l);

/* How many answers of the store said so, since start. */
uint64_t node_lead_standalone_fenced_count(const struct node_lead *l);

/* NULL: the node is standalone. */
struct ha *node_lead_ha(struct node_lead *l);

/* This process's session, for the warden to end when the process is dead; number 0 where there
 * is none, or it is known to be over. NULL is fine. */
struct coord_credentials node_lead_session(const struct node_lead *l);

/* The three tell the warden what is news.
 *
 * The session: the warden must know it before the node can lead with it, and must know none
 * that is over. */
void node_lead_report_session(const struct node_lead *l, struct channel_reported *warden);

/* Until when the virtual address may be here: the warden renews it for a hanging worker. Call
 * it before the address is removed. */
void node_lead_report_address(const struct node_lead *l, struct channel_reported *warden);

/* Whether this node leads, and no other would take over. */
void node_lead_report_no_successor(const struct node_lead *l, struct channel_reported *warden);

/* The number of other nodes that this one is connected with; 0 for a standalone node. */
unsigned node_lead_peers_up(const struct node_lead *l);
unsigned node_lead_peers_plain(const struct node_lead *l); /* of these, without TLS */

#endif
