/* The native API, health for load balancers and metrics for Prometheus, served over HTTP. The
 * contract is doc/http.md.
 *
 *   app.c             the table of paths: to add one, a line there and a handler
 *   jobs.c            push, acknowledge, release, and what else is done to a job
 *   consume.c         pop, and deliveries to follow
 *   topics.c          topics, their jobs, their settings
 *   cluster.c         who leads, and operators' requests
 *   access.c          /v1/access, and the identities that are in Redis
 *   status.c          health, /v1/status, /metrics, openapi.yaml
 *   metrics*.c        the families of /metrics; pure, but for the process's own numbers
 *   call.c            a request that is one operation, or many
 *   page.c            a page of a long list
 *   decode.c          from JSON to operations; object.c: an object by a table; pure
 *   encode.c          and back; pure
 *   cluster_check.c   what is wrong with a cluster; cluster_encode.c: the cluster and the
 *                     store as JSON; pure
 *   report.h          what the node tells
 */
#ifndef DUEQ_PROTOCOL_API_API_H
#define DUEQ_PROTOCOL_API_API_H

#include "protocol/api/report.h"
#include "protocol/conn/port.h"
#include "protocol/http/http.h"

struct loop;
struct queue;
struct registry;

#define API_PORTS_MAX 16

/* What the rest of the node tells. Each may be NULL; called from requests, in the loop. */
struct api_node {
    const char *name; /* this node's, UTF-8; borrowed */
    /* NULL: ready. Else why not: UTF-8, for people, borrowed until the loop turns. */
    const char *(*why_not_ready)(void *arg);
    /* `numbers` comes zeroed; what it points to is borrowed until the loop turns. */
    void (*read_store)(void *arg, struct store_numbers *numbers);
    /* The ports that are open. `ports` has room for API_PORTS_MAX; returns how many there
     * are. */
    unsigned (*read_ports)(void *arg, const struct port_stats **ports);
    const struct cluster_port *cluster; /* borrowed; NULL: there is none */
    void *arg;
};

/* What the handlers need. The owner fills it in, and keeps it for the server's life. */
struct api {
    struct queue *queue;
    struct loop *loop;
    struct registry *registry;
    struct api_node node;
    unsigned metrics_topics; /* topics with series of their own; 0: none */
    int64_t start_mono_ms;
    uint64_t errors[HTTP_ERROR_COUNT]; /* for http_new(): error replies of all its servers */
};

/* For http_new(), with a struct api as its argument: the same at the port for clients, at the
 * one for operators, and at the node's socket. */
extern const struct http_app api_app, api_admin_app, api_socket_app;

/* Reads the cluster as it is now into `room`, and returns it. NULL: this node is standalone;
 * `room` then has its `may_act` and `refused`. */
const struct cluster_status *api_cluster_read(const struct api *api,
                                              struct cluster_status *room);

/* The store as it is now; zero where the node tells nothing of it. */
struct store_numbers api_read_store(const struct api *api);

#endif
