/* Many connections on one epoll loop, each with some places: questions under way.
 *
 * What is asked during a turn of the loop is written at the next turn's begin, in one write a
 * connection; what a full socket does not take waits here. Answers are matched with their
 * place by tag, or by order where the protocol has no tags. A lost connection, or an answer
 * to nothing, ends the program.
 */
#ifndef DUEQ_ITESTS_BENCH_LOAD_CLIENTS_H
#define DUEQ_ITESTS_BENCH_LOAD_CLIENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "itests/bench/load/protocol.h"

#define WORD_ROOM 40

/* A descriptor in the loop; embedded. */
struct watch {
    int fd;
    void (*on_event)(struct watch *w, uint32_t events);
};

struct place {
    struct client *client;
    struct place *next; /* the one asked after it on its connection; or the owner's */
    struct question question;
    bool is_waiting; /* for its answer */
    /* The rest is the owner's. */
    int64_t since_us;                                       /* what is counted began then */
    int64_t idle_us;                                        /* nothing to do since then */
    char id[WORD_ROOM], topic[WORD_ROOM], lease[WORD_ROOM]; /* of question.job */
};

struct client {
    struct watch watch;
    struct secure *secure; /* NULL: plain */
    struct clients *all;
    struct buf in, out;
    bool is_dirty;        /* in the list of those with something to write */
    bool is_blocked;      /* the socket takes no more: told when it does */
    struct client *dirty; /* the next of that list */
    struct place *places;
    struct place *oldest, *newest; /* waiting for their answers, in the order of asking */
};

struct clients {
    const struct protocol *protocol;
    void (*on_answer)(struct place *p, const struct answer *a);
    bool is_secure; /* they speak TLS */
    int epoll_fd;
    unsigned count, places_each;
    struct client *all;
    struct place *places; /* of all, those of a connection together */
    struct client *dirty;
    int64_t now_us; /* monotonic, once a turn */
    uint64_t bytes_sent, bytes_received;
};

/* Connects `count` clients to loopback; port 0 is the protocol's usual one. */
void clients_open(struct clients *cs, int64_t port, unsigned count, unsigned places_each);
void clients_close(struct clients *cs);

/* Watches another descriptor in the same loop; false when epoll cannot (a file). */
bool clients_watch(struct clients *cs, struct watch *w);
void clients_unwatch(struct clients *cs, struct watch *w);

/* One turn: writes what was asked, waits at most `wait_us`, calls back for what came. */
void clients_turn(struct clients *cs, int64_t wait_us);

/* Asks p->question; the tag is set here. */
void place_ask(struct place *p);

/* Keeps the job that was handed over in p->question, for the ack. */
void place_keep_job(struct place *p, const struct answer *a);

#endif
