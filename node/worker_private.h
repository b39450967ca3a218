/* The worker's parts, for worker.c (which makes them, joins them and takes them apart)
 * and worker_tell.c (which tells the warden of them). */
#ifndef DUEQ_NODE_WORKER_PRIVATE_H
#define DUEQ_NODE_WORKER_PRIVATE_H

#include "base/loop.h"
#include "node/patience.h"
#include "node/worker.h"
#include "node/ports.h"
#include "node/report.h"
#include "node/wiring.h"
#include "node/lead.h"
#include "node/vip/vip_app.h"
#include "protocol/api/api.h"

struct event;

/* Each step begins when the one before it is over.
 *
 *   RUN
 *   STOP_LEAD     the lead is given away, the cluster left; clients are served as before, but
 *                 for those of the virtual address, which are let go
 *   STOP_VIP      until the next leader has that address, or nobody will
 *   STOP_CLIENTS  nobody is accepted, new requests are refused, those in work are answered
 *   STOP_QUEUE    the scanner ends, the last confirmations are sent
 *   STOP_STORE    the links close
 *   STOP_HOOK     until vip.hook, which moves the virtual address, has ended
 *   STOPPED       the loop ends
 */
enum worker_phase {
    WORKER_RUN,
    WORKER_STOP_LEAD,
    WORKER_STOP_VIP,
    WORKER_STOP_CLIENTS,
    WORKER_STOP_QUEUE,
    WORKER_STOP_STORE,
    WORKER_STOP_HOOK,
    WORKER_STOPPED
};

struct worker {
    const struct worker_options *options;
    struct conf *conf;
    struct loop *loop;
    struct redis_store *store;
    struct report_store shown_store; /* as HTTP shows it */
    struct queue *queue;
    struct node_lead *lead;
    struct report_cluster cluster;
    struct hooks *hooks;
    struct hook_hold hold;
    struct vip_app *vip;
    struct wiring_rules rules;
    struct api api; /* what it serves */
    struct ports_from ports_from;
    struct port *ports[CONF_PORTS]; /* those that are open, */
    enum conf_port which[CONF_PORTS];
    unsigned port_count; /* so many */
    struct event *on_term;
    struct event *on_hup;
    struct timer beat;
    int64_t told_session; /* to the warden; 0: none */
    int64_t told_until_boot_ms;
    bool told_alone;
    pid_t take_group, told_take_group; /* vip.hook's; 0: it does not run */
    int exit_code;

    bool has_been_up;     /* the store, with this worker */
    bool has_joined;      /* the cluster, the same */
    struct timer waiting; /* until both are so: logs from time to time */
    char why[384];        /* the answer to "why are you not ready?" */

    enum worker_phase phase;
    bool has_successor;    /* when it began to stop */
    unsigned clients_left; /* STOP_CLIENTS: protocols that have not stopped yet */
    struct timer patience; /* with the store: see worker.c */
    struct patience for_store;
    bool is_store_stopping;
    bool is_store_stopped;
};

/* Tells the warden of this process's ZooKeeper session, if it is news. The warden ends the
 * session when this process is dead, so it must know each session before the node can lead with
 * it, and none that is over. */
void worker_tell_session(struct worker *w);

/* Tells until when the virtual address may be here: the warden renews it for a hanging worker.
 */
void worker_tell_address(struct worker *w);
void worker_tell_alone(struct worker *w);

/* Tells in which process group `vip.hook take` runs: the warden kills it when this process
 * dies. */
void worker_tell_take(struct worker *w);

/* Joins the virtual address to the lead. */
struct vip_app *worker_open_vip(struct worker *w);

/* Ends the loop when everything has stopped. Harmless twice. */
void worker_stop(struct worker *w, const char *reason, int exit_code);

#endif
