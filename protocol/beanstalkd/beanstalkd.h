/* The beanstalkd port: beanstalkd's protocol for its published clients. The contract is
 * doc/beanstalkd.md.
 *
 *   server.c    clients, the bytes that come from them, and whom they act as
 *   commands.c  what each command does, and what is answered
 *   reserve.c   the reserve commands, which may wait
 *   stats.c     counters, the topics walked, and the YAML of both
 *   held.c      the reservations of connections
 *   tubes.c     what clients use and watch
 *   numbers.c   the numbers of jobs
 *   codec.c     lines, commands and replies as bytes; pure
 */
#ifndef DUEQ_PROTOCOL_BEANSTALKD_BEANSTALKD_H
#define DUEQ_PROTOCOL_BEANSTALKD_BEANSTALKD_H

#include "protocol/conn/port.h"

struct access;
struct audit;

struct beanstalkd_options {
    struct port_limits limits;
    struct access
        *access;         /* borrowed for the server's life; NULL: everybody may do everything */
    struct audit *audit; /* borrowed for the server's life; NULL: there is none */
    const char *as;      /* the identity of all clients, "": none; borrowed until a reload */
};

/* Serves what connects to `listen_fd` (bound and listening), and owns it from now on. The
 * options are copied, loop and queue borrowed for its life. Never NULL. */
struct port *beanstalkd_new(const struct beanstalkd_options *options, struct loop *loop,
                            struct queue *queue, int listen_fd);

/* New limits for all connections, from the next command of each on. */
void beanstalkd_reload(struct port *p, const struct beanstalkd_options *options);

#endif
