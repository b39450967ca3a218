/* What is left of a connection after its session was closed: waits until the server hangs up.
 *
 * The library waits itself, blocking, for as long as the servers take to commit the end of a
 * session: a second and more when a quorum is slow. So its wait is cut short by shutting the
 * reading side, and the socket is kept open here instead. It must be: one that is closed with
 * unread bytes is reset, and the server may never come to read the good-bye.
 *
 * A server that has ended the session answers, and hangs up. The answer is the proof: one that
 * dies, or loses its quorum, hangs up as well. It is still read from here: what comes after the
 * reading side was shut is kept.
 */
#ifndef DUEQ_HA_COORD_ZK_FAREWELL_H
#define DUEQ_HA_COORD_ZK_FAREWELL_H

#include <stdbool.h>

#include "base/loop.h"

struct zk_farewell {
    struct loop *loop;
    int fd; /* -1: nothing */
    struct timer timer;
    int64_t until_mono_ms;
    /* `is_over`: the server has said that the session is; else it has hung up without a word,
     * or had not by the deadline, and nothing is known. Never from inside a call of this file;
     * may be NULL. */
    void (*on_end)(struct zk_farewell *f, bool is_over);
};

void zk_farewell_init(struct zk_farewell *f, struct loop *loop,
                      void (*on_end)(struct zk_farewell *f, bool is_over));

/* Without waiting, without on_end: what is under way is cut off. Harmless twice. */
void zk_farewell_fini(struct zk_farewell *f);

/* A copy of a connected socket, to be taken over by zk_farewell_start(): before the library
 * closes its own, which it then does without waiting. A network that takes nothing now is shut
 * altogether, because the library would wait for seconds until it can send; then, or when
 * there is no descriptor, -1. */
int zk_farewell_prepare(int fd);

/* After the library has closed its own; one that was under way is cut off. */
void zk_farewell_start(struct zk_farewell *f, int fd, int64_t patience_ms);

bool zk_farewell_is_under_way(const struct zk_farewell *f);

/* Where no loop turns any more: blocks until it is over, or for so long. */
void zk_farewell_wait(struct zk_farewell *f, int64_t ms);

#endif
