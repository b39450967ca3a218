/* A connection that another node, or a stranger, has dialed: who is it, and what may it hear?
 *
 *      accepted --> GREETING --hello--> PROVING --right proof--> UP
 *                       |                  |                      |
 *                       +---- 2 s, garbage, wrong proof ----------+---- silence, garbage
 *
 * Before UP a guest is a stranger: it gets this node's name, a random number, and no more. From
 * then on it is told of this process's session, and its questions are answered.
 */
#ifndef DUEQ_HA_PEER_GUEST_H
#define DUEQ_HA_PEER_GUEST_H

#include "base/list.h"
#include "ha/peer/auth.h"
#include "ha/peer/conn.h"
#include "ha/peer/self.h"

struct peer_guest;

/* What all guests share: what they are told, and who is told of them. */
struct peer_host {
    const struct peer_self *self;
    struct coord_credentials mine; /* session 0: none yet */
    bool is_leaving;
    int64_t next_warning_mono_ms;

    bool (*has_room)(const struct peer_host *h); /* for one more that has proven itself */
    void (*on_proven)(struct peer_guest *g);     /* right before it is UP */
    void (*on_end)(struct peer_guest *g);        /* closed, not freed yet */
};

enum peer_guest_state { GUEST_GREETING, GUEST_PROVING, GUEST_UP };

struct peer_guest {
    struct peer_conn conn;
    struct list link; /* the host's */
    struct peer_host *host;
    enum peer_guest_state state;
    struct peer_hellos hellos;
    struct timer timer; /* strangers: the end of patience; UP: of silence */
};

/* Takes a connected socket: non-blocking, close-on-exec. */
struct peer_guest *peer_guest_new(struct peer_host *host, int fd);

/* Without on_end; when the turn of the loop in which it ended is over. */
void peer_guest_free(struct peer_guest *g);

/* Closes it, and calls on_end. */
void peer_guest_end(struct peer_guest *g);

/* Of one that is UP. */
void peer_guest_tell(struct peer_guest *g); /* the host's session */
void peer_guest_say_bye(struct peer_guest *g);

/* Does it say that it is this very process? */
bool peer_guest_is(const struct peer_guest *g, const char *node, uint64_t incarnation);

#endif
