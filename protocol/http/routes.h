/* From method and path to handler. Private to http/. */
#ifndef DUEQ_PROTOCOL_HTTP_ROUTES_H
#define DUEQ_PROTOCOL_HTTP_ROUTES_H

#include "protocol/http/exchange.h"

/* What a path takes; routes.c has the table. */
enum route_body {
    ROUTE_NO_BODY,    /* a small one is thrown away */
    ROUTE_SMALL_BODY, /* ROUTE_SMALL_BYTES */
    ROUTE_JOBS_BODY,  /* limits.http_body_bytes */
};

#define ROUTE_SMALL_BYTES 65536

struct route {
    const char *method;
    struct bytes
        path; /* a segment may be {topic}, {topics} or {id}, for one that is not empty */
    void (*handle)(struct exchange *x);
    enum route_body body;
    bool is_for_monitors; /* its query is ignored, and it is served over the limits, too */
    const char *query[EXCHANGE_QUERY_MAX]; /* the names it knows, up to the first NULL */
};

/* NO_PATH, or METHOD: not this method on this path. The parameters in the path are put into
 * `x`, still escaped. */
enum http_error route_find(struct exchange *x);

/* Of a path that is not there, and not empty: would it be without the '/' at its end? */
bool route_is_there_without_slash(struct bytes path);

/* Adds the methods of a path, as they stand in an Allow header. */
void route_print_allowed(struct bytes path, struct buf *to);

/* Unescapes what is escaped, reads the query, and gives the exchange to its handler; or
 * answers what is wrong, and counts it as refused. */
void route_take(struct exchange *x);

/* The handlers, by file. */

/* health.c */
void health_live(struct exchange *x);
void health_ready(struct exchange *x);
void health_leader(struct exchange *x);
void health_standby(struct exchange *x);

/* status.c */
void status_get(struct exchange *x);

/* status.c */
void openapi_get(struct exchange *x);
void openapi_lead(struct exchange *x);

/* metrics_get.c */
void metrics_get(struct exchange *x);

/* api_push.c */
void api_push(struct exchange *x);

/* api_acks.c */
void api_ack_all(struct exchange *x);

/* api_pop.c */
void api_pop(struct exchange *x);

/* api_job.c */
void api_ack(struct exchange *x);
void api_release(struct exchange *x);
void api_touch(struct exchange *x);
void api_bury(struct exchange *x);
void api_get(struct exchange *x);
void api_cancel(struct exchange *x);

/* api_move.c */
void api_run(struct exchange *x);
void api_kick_one(struct exchange *x);
void api_reschedule(struct exchange *x);

/* api_history.c */
void api_history(struct exchange *x);

/* api_topics.c */
void api_stats(struct exchange *x);
void api_topics(struct exchange *x);

/* api_topics.c */
void api_list(struct exchange *x);

/* api_topics.c */
void api_kick(struct exchange *x);
void api_purge(struct exchange *x);

/* api_topics.c */
void api_get_settings(struct exchange *x);
void api_set_settings(struct exchange *x);
void api_pause(struct exchange *x);
void api_resume(struct exchange *x);
void api_list_settings(struct exchange *x);

/* api_cluster.c */
void api_cluster(struct exchange *x);
void api_switchover(struct exchange *x);
void api_failover(struct exchange *x);
void api_cluster_pause(struct exchange *x);
void api_cluster_resume(struct exchange *x);
void api_forget(struct exchange *x);
void api_fence_adopt(struct exchange *x);

/* api_handovers.c */
void api_handovers(struct exchange *x);

#endif
