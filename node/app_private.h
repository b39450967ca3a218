/* The worker's parts, for app.c (which makes them and joins them) and app_stop.c (which takes
 * them apart). */
#ifndef DUEQ_NODE_APP_PRIVATE_H
#define DUEQ_NODE_APP_PRIVATE_H

#include "base/loop.h"
#include "node/app.h"
#include "node/app_cluster.h"
#include "node/app_options.h"
#include "node/app_store.h"
#include "node/ha_app.h"
#include "node/vip_app.h"
#include "protocol/http/http.h"

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
enum app_phase {
    APP_RUN,
    APP_STOP_LEAD,
    APP_STOP_VIP,
    APP_STOP_CLIENTS,
    APP_STOP_QUEUE,
    APP_STOP_STORE,
    APP_STOP_HOOK,
    APP_STOPPED
};

struct app {
    const struct app_options *options;
    struct conf *conf;
    struct loop *loop;
    struct redis_store *store;
    struct app_store shown_store; /* to HTTP */
    struct queue *queue;
    struct ha_app *ha;
    struct app_cluster cluster;
    struct hooks *hooks;
    struct hook_hold hold;
    struct vip_app *vip;
    struct app_rules rules;
    struct gmq *gmq;   /* NULL: off */
    struct http *http; /* NULL: off */
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
    struct timer waiting; /* until then: a word from time to time */
    char why[384];        /* the answer to "why are you not ready?" */

    enum app_phase phase;
    bool has_successor;    /* when it began to stop */
    unsigned clients_left; /* STOP_CLIENTS: protocols that have not stopped yet */
    struct timer patience; /* with the store: see app_stop.c */
    int64_t stop_by_mono_ms;
    bool is_store_stopping;
    bool is_store_stopped;
};

/* Tells the warden of this process's session with ZooKeeper, if it has not heard of it. The
 * warden ends it when this process is dead: so it must know of each before that can lead, and
 * of none that is over. */
void app_tell_session(struct app *a);

/* Until when the virtual address may be here: the warden renews it for a worker that hangs. */
void app_tell_address(struct app *a);
void app_tell_alone(struct app *a);

/* That vip.hook takes the address, in which processes: the warden ends them with this one. */
void app_tell_take(struct app *a);

/* Joins the virtual address to the lead. */
struct vip_app *app_open_vip(struct app *a);

/* Ends the loop when everything has stopped. Harmless twice. */
void app_stop(struct app *a, const char *reason, int exit_code);

#endif
