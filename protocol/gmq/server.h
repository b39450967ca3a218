/* The server and its clients, for server.c and its tests. */
#ifndef DUEQ_PROTOCOL_GMQ_SERVER_H
#define DUEQ_PROTOCOL_GMQ_SERVER_H

#include "base/buf.h"
#include "base/list.h"
#include "protocol/gmq/gmq.h"
#include "protocol/gmq/codec.h"
#include "protocol/conn/port.h"
#include "protocol/conn/turns.h"

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
    struct port_turn turn;
    struct list waiting; /* Pops handed to the queue */
    struct list pushes;  /* Pushes handed to the queue */
    bool is_closed;
};

#endif
