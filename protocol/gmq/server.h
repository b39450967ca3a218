/* The server and its clients, for server.c, turns.c and their tests. */
#ifndef DUEQ_PROTOCOL_GMQ_SERVER_H
#define DUEQ_PROTOCOL_GMQ_SERVER_H

#include "base/buf.h"
#include "base/list.h"
#include "protocol/gmq/gmq.h"
#include "protocol/gmq/codec.h"
#include "protocol/gmq/turns.h"
#include "protocol/conn/port.h"

struct gmq {
    struct port port;
    struct gmq_options options;
    struct buf frame; /* the one being parsed */
    struct buf reply; /* the one being written */
};

/* A connection and what it waits for. Freed when it is closed and has nothing in work. */
struct gmq_client {
    struct port_client base;
    struct gmq *gmq;
    struct gmq_scan scan;
    struct timer arrival; /* armed while a part of a request is there */
    struct gmq_turn turn;
    struct list waiting; /* Pops handed to the queue */
    struct list pushes;  /* Pushes handed to the queue */
    bool is_closed;
};

/* The identity that the client's next request acts as; NULL: there is none, or everybody may do
 * everything. Borrowed until identities change. */
struct identity *gmq_identity_of(struct gmq_client *client);

/* Ends a client that has ended its side and whose next request had no turn in time: it is told,
 * for it may still read. */
void gmq_lose_held(struct gmq_client *client);

#endif
