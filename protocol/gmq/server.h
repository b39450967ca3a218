/* What server.c and request.c know of each other. Private to gmq/. */
#ifndef DUEQ_PROTOCOL_GMQ_SERVER_H
#define DUEQ_PROTOCOL_GMQ_SERVER_H

#include "base/buf.h"
#include "base/list.h"
#include "protocol/conn/connection.h"
#include "protocol/gmq/gmq.h"
#include "protocol/gmq/codec.h"
#include "protocol/conn/handed.h"
#include "protocol/conn/listener.h"
#include "protocol/conn/peer.h"

struct gmq {
    struct gmq_options options;
    struct port_stats stats;
    struct loop *loop;
    struct queue *queue;
    struct listener listener;
    struct connection_kind kind;
    struct peers peers; /* by address */
    struct list clients;
    struct buf frame; /* the one being parsed */
    struct buf reply; /* the one being written */
    bool is_stopping; /* new requests are refused */
    bool is_closing;  /* and connections end as soon as nothing of theirs is in work */
    void (*on_stopped)(void *arg);
    void *arg;
    struct timer grace;   /* between the two */
    struct timer stopped; /* armed when the last client is gone */
};

/* A connection and what it waits for. Freed when it is closed and has nothing in work. */
struct gmq_client {
    struct connection connection;
    struct gmq *gmq;
    struct list link; /* in clients */
    struct peer *peer;
    struct gmq_scan scan;
    struct timer arrival; /* armed while a part of a request is there */
    struct list waiting;  /* Pops that the queue has */
    struct list pushes;   /* the same */
    struct handed handed;
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
void gmq_requests_hurry(struct gmq_client *client);

/* The client has left, or ended its side: what waits for the store to come back is dropped, and
 * answered, for there may be somebody who reads. */
void gmq_requests_abandon(struct gmq_client *client);

#endif
