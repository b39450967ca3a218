/* Tickets, by which a client comes back to a TLS server without the costly half of a handshake.
 * A server keeps nothing of a client that has gone: all of it is in the ticket, encrypted by a
 * key that never leaves this process.
 *
 * Keys change, so that one that leaks opens the tickets of a few hours only. And a ticket is no
 * good any more once a certificate has ended by which its client was known, be it the client's
 * or an authority's on the way to it: the first of these ends stands in the ticket, and in each
 * that the client gets by it. The client then begins anew, and is judged anew. The same where
 * other clients are taken than when it got its ticket.
 */
#ifndef DUEQ_BASE_TLS_TICKETS_H
#define DUEQ_BASE_TLS_TICKETS_H

#define TLS_TICKET_S 7200 /* a ticket is good for so long */

struct tls_context;
struct tls_tickets;

struct tls_tickets *tls_tickets_new(void);

/* When no connection of a context that it serves is left; wipes the keys. NULL is fine. */
void tls_tickets_free(struct tls_tickets *tickets);

void tls_tickets_serve(struct tls_tickets *tickets, struct tls_context *context);

/* To be called every TLS_TICKET_S. What was given since the last call stays good until the
 * next. */
void tls_tickets_change_key(struct tls_tickets *tickets);

#endif
