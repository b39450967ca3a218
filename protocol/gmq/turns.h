/* Turns: when the next request of a client is read, under the limits of its address and of its
 * identity. gmq has no answer that says "too often", so a client over a limit is held, and read
 * no further until its request may begin.
 *
 * The clients of an address that wait for a rate stand in a line, and those of an identity in
 * another: first come, first served. Nothing is taken for a client before it is in front and
 * there is one, so a client that leaves gives its turn to the next, and a new rate holds at
 * once. Only the first of a line has a timer.
 *
 * A client that has ended its side may have left or may still read; nobody can tell. So it
 * comes behind those that have not, and after GMQ_LEAVING_MS without a turn it is told that
 * nothing was done. Else clients that give up and connect again would fill the line.
 *
 * Over HTTP a request of the same identity has its turn as it comes, or is refused: the line
 * and these share what there is (allowance.h).
 */
#ifndef DUEQ_PROTOCOL_GMQ_TURNS_H
#define DUEQ_PROTOCOL_GMQ_TURNS_H

#include <stdbool.h>

#include "base/allowance.h"
#include "base/timer.h"
#include "protocol/access/identity.h"

#define GMQ_LEAVING_MS 5000

struct gmq_client;

struct gmq_turn {
    struct list link;                 /* in a line, or in its peer's `held`, or not */
    struct allowance_line *line;      /* where it stands; NULL: in none */
    struct identity_account *account; /* whose line that is; NULL: its address's */
    struct timer timer; /* in front of a line: there may be a turn; else: it goes on */
    struct timer late;  /* it has ended its side, and waits */
    unsigned paid;      /* turns that its next request has */
    bool is_leaving;    /* it has ended its side */
};

void gmq_turn_init(struct gmq_client *client);

/* May the client's next request begin, as `who` (NULL: nobody)? False: the client is held. */
bool gmq_turn_begin(struct gmq_client *client, const struct identity *who);

/* The request has been read. */
void gmq_turn_over(struct gmq_client *client);

/* The client has ended its side; a while ago, if it was open then. */
void gmq_turn_ended(struct gmq_client *client);

/* The client is closed. */
void gmq_turn_leave(struct gmq_client *client);

/* Its address or its identity has fewer bytes in work than before. */
void gmq_turn_go_on(struct gmq_client *client);

/* Limits, or identities, have changed. */
void gmq_turn_look_again(struct gmq_client *client);

#endif
