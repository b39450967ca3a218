/* The warden's state, for start.c (before anything runs) and warden.c (from then on). */
#ifndef DUEQ_NODE_WARDEN_PRIVATE_H
#define DUEQ_NODE_WARDEN_PRIVATE_H

#include <sys/stat.h>

#include "conf/conf.h"
#include "node/warden/redis.h"
#include "node/warden/datadir.h"
#include "node/warden/session_end.h"
#include "node/warden/notify.h"
#include "node/warden/vip.h"
#include "node/warden/child.h"

/* STOP_WORKER and STOP_REDIS begin when the one before is over. */
enum warden_phase { WARDEN_RUN, WARDEN_STOP_WORKER, WARDEN_STOP_REDIS, WARDEN_DONE };

struct warden {
    struct conf *conf;
    const struct conf_request *request;
    struct datadir datadir;
    int port_fds[CONF_PORTS]; /* listening, -1: off */
    char *socket_path;        /* of admin.socket; NULL: there is none, */
    struct stat socket_file;  /* and what we have made there */
    int socket_fd;            /* listens there, -1: none */
    int peer_fd; /* of a cluster's node; until the worker has ended: see ha/peer/link.h */
    uint64_t incarnation; /* random; the same for all its workers */
    int signal_fd;
    bool is_draining;    /* SIGUSR1 has come */
    struct audit *audit; /* open here for the workers, which inherit it and write */
    struct warden_vip vip;
    bool is_refusing; /* the clients' listeners refuse, while the virtual address leaves */
    struct notifier told;
    struct worker_child worker;
    struct session_end session_end;
    struct embedded_redis redis;
    bool has_redis;
    enum warden_phase phase;
    int64_t stop_mono_ms; /* when the phase left RUN */
    bool is_forced;       /* by a second signal */
    int exit_code;
};

/* Directory, ports, virtual address, log, signals: everything that can be refused, with nothing
 * running yet. IO_ERROR: the log says why. `run_worker` gets the warden as its argument. */
enum status warden_prepare(struct warden *w,
                           int (*run_worker)(void *arg, int channel_fd)) MUST_CHECK;

/* Gives back what warden_prepare() took, however far it came. */
void warden_release(struct warden *w);

/* Harmless twice. */
void warden_close_fd(int *fd);
void warden_close_ports(struct warden *w);

/* Removes the path of admin.socket while we listen there: later it could be another node's. */
void warden_remove_socket(struct warden *w);

#endif
