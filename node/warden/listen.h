/* The node's listening sockets. The warden binds them before it starts anything, so a port
 * that is taken is found while there is still nothing to undo, and keeps them while a worker
 * is replaced, so that no client is refused meanwhile. Where the clients are to go to another
 * node, the sockets refuse them for a while, and keep their ports.
 */
#ifndef DUEQ_NODE_WARDEN_LISTEN_H
#define DUEQ_NODE_WARDEN_LISTEN_H

#include "base/buf.h"
#include "base/status.h"

/* Binds and listens: non-blocking, close-on-exec; the caller closes it. `host` is a name or a
 * numeric address; of a name's addresses the first that this machine has, IPv4 before IPv6.
 * `::` hears IPv4, too. IO_ERROR: the log says why, naming `key`; *fd is untouched. */
enum status listen_open(const char *key, const char *host, unsigned port, int *fd) MUST_CHECK;

/* The kernel sends nothing from an address that it does not have: who is connected with one
 * that has gone would wait for ever. Whoever is accepted behind this call hears his end from
 * there all the same. This takes the capability that moves the address; without it all is as it
 * was. */
void listen_outlive_address(int fd);

/* From now on the kernel refuses who comes, and resets who has come and was not accepted. The
 * port stays taken. -1 is fine, above and below. */
void listen_refuse(int fd);

/* The contrary. IO_ERROR: another program listens there by now; the log says so, naming `key`.
 */
enum status listen_again(const char *key, int fd) MUST_CHECK;

/* Adds "address:port" as the system has it: port 0 is replaced by the one it chose. */
void listen_print(int fd, struct buf *to);

#endif
