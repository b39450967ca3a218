/* The dialing half of the peer link: watches one other node, and asks it questions.
 *
 *              address          connected, TLS        its hello            its proof
 *   RESOLVING ---------> CONNECTING -------> GREETING ---------> PROVING ------------> UP
 *       ^                    ^ |                |                   |                  |
 *       |       after 0 to   | |                |                   |                  |
 *       |       80 ms        | +----------------+-------------------+                  |
 *       |                    |                  |                                      |
 *       +------ WAITING -----+ <----------------+---- closed, refused, silent, 2 s ----+
 *            20 ms to 1 s
 *
 * An end of file is a reason to look at once whether the process is dead: WAITING then goes
 * straight to CONNECTING, a few times. death.h says what the outcome proves.
 *
 * How it speaks: by TLS. Nodes of the version before hang up on TLS; so, where TLS is optional,
 * the next attempt is in plain text then, and the one after that is by TLS again. Anyone on the
 * way can make it look so; but a plain hello is marked (conn.h), and a node with TLS turns it
 * away. Of two secrets the other one is next when the peer did not know this one. Probes are
 * like the connection that ended.
 */
#ifndef DUEQ_HA_PEER_DIALER_H
#define DUEQ_HA_PEER_DIALER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/list.h"
#include "base/resolve.h"
#include "ha/peer/conn.h"
#include "ha/peer/death.h"

/* The wait in ms after so many failed attempts: 20 ms, doubled each time, 1 s at most. The
 * result is a random part of that between a half and all, so that nodes do not retry in step.
 */
int64_t peer_retry_ms(unsigned attempts);

/* The address for an attempt. A name may have several ("address:port,[address]:port"): each
 * attempt takes the next one. False: there is none. */
bool peer_retry_address(const char *servers, unsigned attempts, struct sockaddr_storage *at,
                        int *at_len);

struct peer_server;

enum peer_dial_state {
    DIAL_WAITING,
    DIAL_RESOLVING,
    DIAL_CONNECTING,
    DIAL_GREETING,
    DIAL_PROVING,
    DIAL_UP
};

struct peer_dial {
    const struct peer_self *self;
    const struct peer_server *server; /* knows who has a connection to this process */
    struct list link;                 /* the owner's */
    struct peer_name who;

    enum peer_dial_state state;
    struct peer_conn conn;
    struct resolve resolve;
    struct timer timer; /* WAITING: the next attempt; UP: the next beat; else: a deadline */
    struct peer_hellos hellos;
    struct peer_address at; /* of the connection, or of the attempt */
    unsigned attempts;      /* failed since UP; selects among several addresses */
    bool is_plain;          /* the connection, or the attempt */
    bool has_hung_up;       /* it has ended the last attempt, by TLS, without a word */
    unsigned secret;        /* of the connection, or of the next attempt */
    unsigned strange_ends;  /* attempts in a row whose secret it did not know */
    int64_t heard_mono_ms;
    int64_t next_warning_mono_ms;
    struct peer_watched watched; /* the process of the last UP */
};

/* Dialing starts in the next turn. `self` and `server` are borrowed for the dialer's life. */
void peer_dial_init(struct peer_dial *d, const struct peer_self *self,
                    const struct peer_server *server, const struct peer_name *who);

/* Ends the connection. Its memory must last for this turn of the loop; then peer_dial_fini().
 */
void peer_dial_stop(struct peer_dial *d);
void peer_dial_fini(struct peer_dial *d);

/* Sends the question when UP; else the question is dropped. */
void peer_dial_ask(struct peer_dial *d, const struct peer_question *question);

#endif
