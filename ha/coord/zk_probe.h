/* Two facts that the session cannot learn itself: whether the servers would serve a new session
 * while they do not serve this one, and their tickTime.
 *
 * A server closes the connection of a client that has seen a newer state than its own. If the
 * ensemble's data were wiped, or come from an older backup, all servers do so for ever, and
 * none says that the session is over. This looks like a lost quorum, in which the session must
 * be kept, because it will go on. So a second session is tried. If the second session lives for
 * two session timeouts while no server takes the old one, the old session is over.
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

/* To be called while the old session is not connected. True: the old session is over. */
bool zk_probe_tick(struct zk_probe *p, const char *servers, int64_t session_ms);

/* Harmless without a probe. Not from inside a callback of the probe's own handle. */
void zk_probe_stop(struct zk_probe *p);

/* ---- tickTime ---- */

#define ZK_CONF_BYTES 2048

/* Asks one server for its tickTime with `conf`, over a connection of its own. A server without
 * `conf` in its 4lw.commands.whitelist does not tell. */
struct zk_conf {
    struct loop *loop;
    struct timer timer; /* polls the socket */
    int fd;             /* -1: no question is under way */
    bool is_sent;
    int64_t until_mono_ms;
    char text[ZK_CONF_BYTES];
    size_t len;
    /* Called once for each start, never from inside a call of this file. 0: not told, or not in
     * time. */
    void (*on_tick)(struct zk_conf *c, int64_t tick_ms);
};

void zk_conf_init(struct zk_conf *c, struct loop *loop,
                  void (*on_tick)(struct zk_conf *c, int64_t tick_ms));
void zk_conf_start(struct zk_conf *c, const struct sockaddr *server, socklen_t size,
                   int64_t patience_ms);
bool zk_conf_is_asking(const struct zk_conf *c);
void zk_conf_stop(struct zk_conf *c); /* without on_tick; harmless twice */

#endif
