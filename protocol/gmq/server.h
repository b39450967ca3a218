/* What server.c and request.c know of each other. Private to gmq/. */
#ifndef DUEQ_PROTOCOL_GMQ_SERVER_H
#define DUEQ_PROTOCOL_GMQ_SERVER_H

#include "base/buf.h"
#include "base/list.h"
#include "protocol/gmq/gmq.h"
#include "protocol/gmq/codec.h"
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
    struct list waiting;  /* Pops handed to the queue */
    struct list pushes;   /* Pushes handed to the queue */
    bool is_closed;
};

/* ---- server.c ---- */

/* The last step of a request: counts it as done, and frees a closed client with nothing else in
 * work. */
void gmq_client_done(struct gmq_client *client);

/* ---- request.c ---- */

/* Answers a request, or hands it to the queue. A frame that is not JSON ends as in
 * gmq_request_lose(). */
void gmq_request_take(struct gmq_client *client, struct bytes frame);

/* The input holds no request: nothing is read any more, and the connection ends when the
 * requests before have been answered. */
void gmq_request_lose(struct gmq_client *client);

/* Answers a request over the limit, whose bytes were skipped. */
void gmq_request_skip(struct gmq_client *client);

/* Answers a request that has not arrived in time, and ends the connection as above. */
void gmq_request_give_up(struct gmq_client *client);

/* The client's Pops wait no longer. */
void gmq_requests_cancel_waits(struct gmq_client *client);

/* The client has left or ended its side: requests that wait for the store to come back are
 * dropped, and answered, for the client may still read. */
void gmq_requests_abandon(struct gmq_client *client);

#endif
