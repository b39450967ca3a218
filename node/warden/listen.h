/* The node's listening sockets. The warden binds them before it starts anything, so a port
 * that is taken is found while there is still nothing to undo, and keeps them while a worker
 * is replaced, so that no client is refused meanwhile. Where the clients are to go to another
 * node, the sockets refuse them for a while, and keep their ports.
 */
#ifndef DUEQ_NODE_WARDEN_LISTEN_H
#define DUEQ_NODE_WARDEN_LISTEN_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/status.h"

/* Binds and listens: non-blocking, close-on-exec; the caller closes it. `host` is a name or a
 * numeric address; of a name's addresses the first that this machine has, IPv4 before IPv6.
 * `::` hears IPv4, too. IO_ERROR: the log says why, naming `key`; *fd is untouched. */
enum status listen_open(const char *key, const char *host, unsigned port, int *fd) MUST_CHECK;

/* The same for a socket of this machine: `path` is made, with this mode less the umask, in
 * place of a socket there that nobody listens at. What is wrong is logged at `level`. */
enum status listen_open_path(const char *key, const char *path, mode_t mode,
                             enum log_level level, int *fd) MUST_CHECK;

/* Can no other machine reach it? */
bool listen_is_local(int fd);

/* The kernel sends nothing from an address that has gone: a client connected with it would wait
 * for ever. Connections accepted after this call can still send their end from there. Takes the
 * capability that moves the address (CAP_NET_ADMIN); without it nothing changes. */
void listen_outlive_address(int fd);

/* From now on the kernel refuses new connections, and resets those not accepted yet. The port
 * stays taken. An `fd` of -1 is fine, above and below, too. */
void listen_refuse(int fd);

/* Undoes listen_refuse(). IO_ERROR: another program listens there by now; the log says so,
 * naming `key`. */
enum status listen_again(const char *key, int fd) MUST_CHECK;

/* Adds "address:port" as the system has it: port 0 is replaced by the one it chose; or the path
 * of a socket. */
void listen_print(int fd, struct buf *to);

#endif
