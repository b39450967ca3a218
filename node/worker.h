/* The worker: everything a node does for its clients, wired together. No logic of its own:
 * it makes the parts, joins them, passes on what the warden wants, and takes them apart in
 * the order in which nothing is lost.
 */
#ifndef DUEQ_NODE_WORKER_H
#define DUEQ_NODE_WORKER_H

#include <stdint.h>

#include "conf/conf.h"
#include "node/warden/redis.h"

struct worker_options {
    struct conf *conf;                        /* borrowed; a reload changes it */
    const struct conf_request *request;       /* where it came from; borrowed */
    const char *redis_socket;                 /* of the embedded Redis; NULL: conf names one */
    const struct embedded_redis_facts *redis; /* of it; NULL: as above */
    const int *port_fds;                      /* by port, listening; -1: off. Taken over */
    int socket_fd;                            /* the same, of admin.socket */
    int peer_fd;                              /* the same; -1: standalone */
    uint64_t incarnation;                     /* the warden's, for the cluster */
    int channel_fd;                           /* to the warden */
    struct audit *audit;                      /* the warden's as it was; borrowed */
    int64_t silence_max_ms;                   /* the warden's patience between two beats */
    int64_t stop_timeout_ms;                  /* the warden's patience after SIGTERM */
    bool store_was_up;                        /* with a worker before this one */
};

/* Runs until SIGTERM, or until the store turns out to be the wrong one. Returns the process's
 * exit code: EX_CONFIG for the latter. Expects the signals blocked, and unblocks those it
 * handles. */
int worker_run(const struct worker_options *options);

#endif
