/* The identities that the node acts by, as the configuration has them (access.file,
 * access.in_redis): read, told to the ports, and in the log.
 *
 * A file that cannot be used changes nothing. A worker that has just started knows nothing yet:
 * it refuses everybody, because a node must not open because its file broke.
 */
#ifndef DUEQ_NODE_IDENTITIES_H
#define DUEQ_NODE_IDENTITIES_H

#include "base/status.h"
#include "node/wiring.h"
#include "protocol/access/registry.h"

struct access;
struct conf;
struct port;
struct queue;
struct timers;

struct identities {
    /* The owner's: borrowed, and set before identities_init(). Ports come when they are open.
     */
    const struct conf *conf;
    struct port *const *ports;
    const unsigned *which; /* of conf's each is, or WIRING_SOCKET */
    unsigned port_count;

    struct access *access; /* for the ports */
    struct registry registry;
    bool is_loaded;             /* identities_load() was called */
    bool is_told[WIRING_PORTS]; /* of each port, that it lets nobody in without a token */
};

void identities_init(struct identities *i, struct queue *queue, struct timers *timers);
void identities_fini(struct identities *i);

/* Does what the configuration says: at the start, with ports that are open, and whenever it has
 * changed. */
void identities_load(struct identities *i);

/* Is access.file as it should be? BAD_CONFIG: `why` says what is wrong, for operators. A file
 * that others may read is good, but is warned of: `why` is not empty then. */
enum status identities_check(const struct conf *conf, struct buf *why) MUST_CHECK;

#endif
