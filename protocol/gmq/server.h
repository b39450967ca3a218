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
    struct list waiting;  /* Pops that the queue has */
    struct list pushes;   /* the same */
    bool is_closed;
};

/* ---- server.c ---- */

/* The last of a request: counts it as done, and frees a client that waited for it. */
void gmq_client_done(struct gmq_client *client);

/* ---- request.c ---- */

/* Answers a request, or hands it to the queue. One that is not JSON is lost. */
void gmq_request_take(struct gmq_client *client, struct bytes frame);

/* No request was found in what came: nothing is read any more, and the connection ends when
 * the rest has been answered. */
void gmq_request_lose(struct gmq_client *client);

/* Answers one whose bytes were skipped. */
void gmq_request_skip(struct gmq_client *client);

/* Answers one that has not arrived in time, and ends the connection as above. */
void gmq_request_give_up(struct gmq_client *client);

/* The client's Pops wait no longer. */
void gmq_requests_cancel_waits(struct gmq_client *client);

/* The client has left, or ended its side: what waits for the store to come back is dropped, and
 * answered, for there may be somebody who reads. */
void gmq_requests_abandon(struct gmq_client *client);

#endif
