/* The handlers of the API's paths, for app.c. */
#ifndef DUEQ_PROTOCOL_API_HANDLERS_H
#define DUEQ_PROTOCOL_API_HANDLERS_H

#include "protocol/http/exchange.h"

struct api;

static inline struct api *api_of(const struct exchange *x)
{
    return x->arg;
}

/* ---- status.c ---- */

void health_live(struct exchange *x);
void health_ready(struct exchange *x);
void health_leader(struct exchange *x);
void health_standby(struct exchange *x);
void status_get(struct exchange *x);
void openapi_get(struct exchange *x);
void openapi_redirect(struct exchange *x);
void metrics_get(struct exchange *x);

extern const char openapi_text[]; /* openapi.yaml, made a text at build time */

/* ---- access.c ---- */

void access_get(struct exchange *x);
void api_list_identities(struct exchange *x);
void api_put_identity(struct exchange *x);
void api_delete_identity(struct exchange *x);

/* ---- jobs.c ---- */

void api_push(struct exchange *x);
void api_ack_all(struct exchange *x);
void api_lease(struct exchange *x); /* ack, release, touch, bury: by the route's `what` */
void api_get(struct exchange *x);
void api_cancel(struct exchange *x);
void api_run(struct exchange *x);
void api_kick_one(struct exchange *x);
void api_reschedule(struct exchange *x);
void api_history(struct exchange *x);

/* ---- consume.c ---- */

void api_pop(struct exchange *x);
void api_deliveries(struct exchange *x);

/* ---- topics.c ---- */

void api_stats(struct exchange *x);
void api_topics(struct exchange *x);
void api_list(struct exchange *x);
void api_sweep(struct exchange *x); /* kick, purge */
void api_get_settings(struct exchange *x);
void api_set_settings(struct exchange *x);
void api_pause(struct exchange *x);
void api_resume(struct exchange *x);
void api_list_settings(struct exchange *x);

/* ---- cluster.c ---- */

void api_cluster(struct exchange *x);
void api_switchover(struct exchange *x);
void api_failover(struct exchange *x);
void api_cluster_ask(struct exchange *x); /* pause, resume, adopt */
void api_forget(struct exchange *x);

#endif
