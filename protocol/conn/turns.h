/* Turns: as whom the next request of a client acts, when it is read, and how long it may take
 * to arrive. For dialects whose clients cannot say who they are, and that have no answer that
 * says "too often".
 *
 * All clients of such a port act as one identity, `as` (gmq.as; "": none), but those that show
 * a certificate with a name that an identity has. A client over a limit of its address or its
 * identity is held, and read no further until its request may begin.
 *
 * The clients of an address that wait for a rate stand in a line, and those of an identity in
 * another: first come, first served. Nothing is taken for a client before it is in front and
 * there is one, so a client that leaves gives its turn to the next, and a new rate holds at
 * once. Only the first of a line has a timer.
 *
 * A client that has ended its side may have left or may still read; nobody can tell. So it
 * comes behind those that have not, and after PORT_LEAVING_MS without a turn its dialect ends
 * it. Else clients that give up and connect again would fill the line.
 *
 * Over HTTP a request of the same identity has its turn as it comes, or is refused: the line
 * and these share what there is (allowance.h).
 */
#ifndef DUEQ_PROTOCOL_CONN_TURNS_H
#define DUEQ_PROTOCOL_CONN_TURNS_H

#include <stdbool.h>

#include "base/allowance.h"
#include "base/timer.h"
#include "protocol/access/identity.h"
#include "protocol/conn/port.h"

#define PORT_LEAVING_MS 5000

/* Both end a client that is open. */
struct port_turn_ops {
    /* It has ended its side, and its next request had no turn in time. */
    void (*lose)(struct port_client *client);
    /* Its request has not arrived in the time that it has (limits.request_time). */
    void (*time_out)(struct port_client *client);
};

struct port_turn {
    struct port_client *client;
    const struct port_turn_ops *ops;
    struct list link;                 /* in a line, or in its peer's `held`, or not */
    struct allowance_line *line;      /* where it stands; NULL: in none */
    struct identity_account *account; /* whose line that is; NULL: its address's */
    struct timer timer;   /* in front of a line: there may be a turn; else: it goes on */
    struct timer late;    /* it has ended its side, and waits */
    struct timer arrival; /* armed while a part of a request is there */
    unsigned paid;        /* turns that its next request has */
    bool is_leaving;      /* it has ended its side */
};

/* ---- whom clients act as ---- */

/* From now on: where `access` is NULL, or off, everybody may do everything. Both are borrowed
 * until the next call. */
void port_set_access(struct port *p, const struct access *access, const char *as);

bool port_access_is_on(const struct port *p);

/* The identity of the client's next request; NULL: nobody's, or everybody may do everything.
 * `is_ports`: it is `as`. Borrowed until identities change. */
struct identity *port_identity_of(struct port_client *c, bool *is_ports);

/* May a client that is nobody be somebody who is not known so far? */
bool port_identity_may_come(struct port_client *c);

/* May a request that began as `who` go on? False: that one is gone, has changed, is over, or is
 * no longer the port's. */
bool port_identity_holds(const struct port *p, const struct identity *who, bool is_ports);

/* ---- turns ---- */

/* A turn is a part of its client, zeroed, and has its peer once port_join() has been called. */
void port_turn_init(struct port_turn *turn, struct port_client *client,
                    const struct port_turn_ops *ops);

/* May the client's next request begin? False: the client is held, until its identity is known
 * or it has a turn. */
bool port_turn_begin(struct port_turn *turn);

/* The request has been read. */
void port_turn_over(struct port_turn *turn);

/* What has come is read as far as it can be: `has_ended`: with it, a request has arrived
 * completely; `is_inside`: it ends within one, whose time runs from its first byte that is
 * read. */
void port_turn_watch(struct port_turn *turn, bool has_ended, bool is_inside);

/* The client has ended its side; a while ago, if it was open then. */
void port_turn_ended(struct port_turn *turn);

/* The client is closed. */
void port_turn_leave(struct port_turn *turn);

/* A request has so many bytes in work, as `who` (NULL: nobody); and it is answered: clients
 * that wait for that go on from the loop. */
void port_turn_charge(struct port_turn *turn, const struct identity *who, size_t bytes);
void port_turn_release(struct port_turn *turn, const struct identity *who, size_t bytes);

/* Limits, or identities, have changed. */
void port_turn_look_again(struct port_turn *turn);

#endif
