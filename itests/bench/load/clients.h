/* Many gmq connections on one epoll loop: requests out, reply lines in.
 *
 * As cheap as it gets, because it shares the machine with what it measures: a reply is found
 * by its line feed and looked at by its owner, nothing is parsed that is not needed. Anything
 * unexpected (a lost connection, an error in a reply) ends the program with a message: a
 * measurement of errors is worth nothing.
 */
#ifndef DUEQ_ITESTS_BENCH_LOAD_CLIENTS_H
#define DUEQ_ITESTS_BENCH_LOAD_CLIENTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* A descriptor in the loop; embedded. */
struct watch {
    int fd;
    void (*on_readable)(struct watch *w);
};

struct client {
    struct watch watch;
    struct buf in;
    unsigned number;
    int64_t sent_us; /* of the newest request, monotonic */
    int step;        /* the owner's */
    char id[24];     /* the owner's */
    void (*on_reply)(struct client *c, struct bytes line);
    void *arg;
};

struct clients {
    int epoll_fd;
    struct client *all;
    unsigned count;
    int64_t now_us; /* monotonic, once a turn */
};

/* Connects `count` clients to loopback. */
void clients_open(struct clients *cs, int64_t port, unsigned count);
void clients_close(struct clients *cs);

/* Watches another descriptor in the same loop. */
void clients_watch(struct clients *cs, struct watch *w);

/* One turn: waits at most `wait_ms`, then calls back for all that is readable. */
void clients_turn(struct clients *cs, int wait_ms);

/* Sends a whole request; loopback and small requests: it never blocks. */
void client_send(struct client *c, const char *text, size_t len);

/* Ends the program: the run is void. */
void die(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

#endif
