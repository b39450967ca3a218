/* What the session itself cannot tell: would the servers serve a new one, while they do not
 * serve the old one; and what is their tickTime?
 *
 * A server closes the connection of a client that has seen a newer state than its own. Where
 * the ensemble's data were wiped, or are those of an older backup, all servers do so, for ever,
 * and none says that the session is over. From outside that looks like a lost quorum, in which
 * the session must be kept, because it will go on. So a second session is tried beside: while
 * that one lives for two session timeouts and the old one still gets in nowhere, the old one is
 * over.
 */
#ifndef DUEQ_HA_COORD_ZK_PROBE_H
#define DUEQ_HA_COORD_ZK_PROBE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "ha/coord/zk_io.h"

struct zk_probe {
    struct zk_io io;
    int64_t served_mono_ms; /* since when the new session is connected; 0: it is not */
};

void zk_probe_init(struct zk_probe *p, struct loop *loop);
void zk_probe_fini(struct zk_probe *p); /* waits as zk_io_fini() does */

/* Begins, or goes on, while the old session is not connected. True: it is over. */
bool zk_probe_tick(struct zk_probe *p, const char *servers, int64_t session_ms);

/* Harmless when it has not begun. Not from inside a callback of the probe's own handle. */
void zk_probe_stop(struct zk_probe *p);

/* ---- tickTime ---- */

#define ZK_CONF_BYTES 2048

/* Asks one server with `conf`, over a connection of its own. A server that does not have it in
 * 4lw.commands.whitelist does not tell. */
struct zk_conf {
    struct loop *loop;
    struct timer timer; /* looks for what has come */
    int fd;             /* -1: nothing is asked */
    bool is_sent;
    int64_t until_mono_ms;
    char text[ZK_CONF_BYTES];
    size_t len;
    /* The only one for each start; never from inside a call of this file. 0: not told, or not
     * in time. */
    void (*on_tick)(struct zk_conf *c, int64_t tick_ms);
};

void zk_conf_init(struct zk_conf *c, struct loop *loop,
                  void (*on_tick)(struct zk_conf *c, int64_t tick_ms));
void zk_conf_start(struct zk_conf *c, const struct sockaddr *server, socklen_t size,
                   int64_t patience_ms);
bool zk_conf_is_asking(const struct zk_conf *c);
void zk_conf_stop(struct zk_conf *c); /* without on_tick; harmless twice */

#endif
