/* TLS from a client's side. The server's certificate is not looked at: it is the bench's own.
 */
#ifndef DUEQ_ITESTS_BENCH_LOAD_SECURE_H
#define DUEQ_ITESTS_BENCH_LOAD_SECURE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct secure; /* one connection's */

/* For the connected `fd`, which stays the caller's. `resumes`: with the last ticket that any
 * connection got, where there is one. */
struct secure *secure_new(int fd, bool resumes);
void secure_free(struct secure *s);

/* A step of the handshake; true when it is over. Waits where the descriptor does. */
bool secure_shake(struct secure *s);

/* Has it got a ticket? It comes behind the handshake, with what is read then. */
bool secure_has_ticket(const struct secure *s);

/* Has it begun anew, without a ticket? */
bool secure_is_full(const struct secure *s);

/* As read() and write(). */
ssize_t secure_read(struct secure *s, void *to, size_t room);
ssize_t secure_write(struct secure *s, const void *at, size_t len);

#endif
