/* Would the servers serve a new session, while they do not serve the old one?
 *
 * A server closes the connection of a client that has seen a newer state than its own. Where
 * the ensemble's data were wiped, or are those of an older backup, all servers do so, for ever,
 * and none says that the session is over. From outside that looks like a lost quorum, in which
 * the session must be kept, because it will go on. So a second session is tried beside: while
 * that one lives for two session timeouts and the old one still gets in nowhere, the old one is
 * over.
 */
#ifndef DUEQ_HA_ZK_PROBE_H
#define DUEQ_HA_ZK_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "ha/zk_pump.h"

struct zk_probe {
    struct zk_pump pump;
    int64_t served_mono_ms; /* since when the new session is connected; 0: it is not */
};

void zk_probe_init(struct zk_probe *p, struct loop *loop);
void zk_probe_fini(struct zk_probe *p); /* waits as zk_pump_fini() does */

/* Begins, or goes on, while the old session is not connected. True: it is over. */
bool zk_probe_tick(struct zk_probe *p, const char *servers, int64_t session_ms);

/* Harmless when it has not begun. Not from inside a callback of the probe's own handle. */
void zk_probe_stop(struct zk_probe *p);

#endif
