/* Ends the session of a process that is proven dead: its ephemeral znodes are gone at once.
 *
 * Attaches to the session with its id and password on a handle of its own, and closes it;
 * again, when the server goes without having said that it is over. Best effort: what is not
 * done by its deadline the session's timeout does. A few at a time wait in line.
 *
 * Who attaches says a timeout, and from then on the session has that one: a process that dies
 * between attaching and closing leaves it behind. So the deadline is what is asked for: give
 * the cluster's session timeout, and nothing lasts longer than without the attempt.
 */
#ifndef DUEQ_HA_COORD_ZK_CLOSER_H
#define DUEQ_HA_COORD_ZK_CLOSER_H

#include <stdbool.h>

#include "ha/coord/zk_io.h"

#define ZK_CLOSER_LINE 8

struct zk_closer {
    struct zk_io io;
    struct timer over; /* the deadline; now, when it can be closed */
    struct timer again;
    char *servers;                                 /* for all that wait */
    struct coord_credentials line[ZK_CLOSER_LINE]; /* [0]: the one being ended */
    unsigned count;
    int64_t deadline_ms;
    int64_t until_mono_ms;                               /* for [0] */
    bool is_expired;                                     /* [0] was over before */
    void (*on_idle)(struct zk_closer *c, bool is_ended); /* the last one; or NULL */
};

void zk_closer_init(struct zk_closer *c, struct loop *loop,
                    void (*on_idle)(struct zk_closer *c, bool is_ended));
void zk_closer_fini(struct zk_closer *c); /* at any time but from inside on_idle */

/* `servers`: "address:port,..."; no names. Copies what it gets. */
void zk_closer_start(struct zk_closer *c, const char *servers,
                     const struct coord_credentials *whose, int64_t deadline_ms);

#endif
