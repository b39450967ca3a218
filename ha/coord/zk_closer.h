/* Ends the session of a process that is proven dead: its ephemeral znodes are gone at once.
 *
 * The closer attaches to the session with its id and password on a handle of its own, and
 * closes it; it tries again when the server goes away without confirming the end. Best effort:
 * after the deadline the session's timeout ends it. A few sessions wait in line.
 *
 * Attaching gives the session the timeout that the closer asks for, which stays if this process
 * dies between attaching and closing. The closer asks for its deadline: with the cluster's
 * session timeout as the deadline, no session lasts longer than without the attempt.
 */
#ifndef DUEQ_HA_COORD_ZK_CLOSER_H
#define DUEQ_HA_COORD_ZK_CLOSER_H

#include <stdbool.h>

#include "ha/coord/zk_io.h"

#define ZK_CLOSER_LINE 8

struct zk_closer {
    struct zk_io io;
    struct timer over; /* the deadline; fires at once when the session can be closed */
    struct timer again;
    char *servers;                                 /* for all in line */
    struct coord_credentials line[ZK_CLOSER_LINE]; /* [0]: the session being ended */
    unsigned count;
    int64_t deadline_ms;
    int64_t until_mono_ms;                               /* for [0] */
    bool is_expired;                                     /* [0] was over before */
    void (*on_idle)(struct zk_closer *c, bool is_ended); /* is_ended: of the last; or NULL */
};

void zk_closer_init(struct zk_closer *c, struct loop *loop,
                    void (*on_idle)(struct zk_closer *c, bool is_ended));
void zk_closer_fini(struct zk_closer *c); /* at any time but from inside on_idle */

/* `servers`: "address:port,..."; no names. Arguments are copied. */
void zk_closer_start(struct zk_closer *c, const char *servers,
                     const struct coord_credentials *whose, int64_t deadline_ms);

/* The same for a process without a loop, such as a child of the warden: blocks. Returns 0 when
 * the session is over, also when it was before; 1 when the deadline came first. `servers` may
 * be names. */
int zk_end_session_run(const char *servers, const struct coord_credentials *whose,
                       int64_t deadline_ms);

#endif
